/*
 * Shadow times of a scenario: who waits, and who ends when, is given; the engine says when those
 * that wait will have their quota.
 */
#include "base/json.h"
#include "kueue_world.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_WAITING = 8, MAX_HOLDERS = 512 };

static size_t list_endings(struct world *w, struct span ends, uint32_t root,
			   struct kueue_ending *out)
{
	size_t n = 0;
	map_foreach (&w->jobs, e) {
		const struct job *job = e->value;
		struct kueue_workload *r = job->record;
		char name[64];
		if (!kueue_workload_holds_quota(r) || n == MAX_HOLDERS ||
		    kueue_forest_root(w->forest, r->queue) != root)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(job->name));
		out[n++] = (struct kueue_ending){
		    .at = line_number(ends, name, KUEUE_SHADOW_NEVER),
		    .queue = r->queue,
		    .uses = r->uses,
		    .n_uses = r->n_uses,
		    .holder = r,
		};
	}
	kueue_ending_sort(out, n);
	return n;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void describe(const struct world *w, const struct kueue_shadow *s, struct buf *b)
{
	struct texts uses = {0};
	buf_add_span(b, s->workload->name);
	if (s->at == KUEUE_SHADOW_NEVER) {
		buf_add_str(b, " never");
		return;
	}
	buf_addf(b, " %lld", (long long)s->at);
	for (size_t i = 0; i < s->n_uses; i++) {
		const struct kueue_use *u = &s->uses[i];
		auto_buf one = BUF_INIT;
		if (!u->value)
			continue;
		buf_addf(&one, " %.*s %.*s %lld",
			 SPAN_ARGS(kueue_forest_flavor_name(w->forest, u->flavor)),
			 SPAN_ARGS(kueue_forest_resource_name(w->forest, u->resource)),
			 (long long)u->value);
		texts_push(&uses, &one);
	}
	if (uses.len)
		qsort(uses.items, uses.len, sizeof(*uses.items), by_text);
	vec_foreach (&uses, text) {
		buf_add_str(b, *text);
		free(*text);
	}
	vec_done(&uses);
}

int starving_cast(struct world *w, struct span line, struct texts *out, struct err *err)
{
	struct kueue_ending endings[MAX_HOLDERS];
	struct kueue_shadow shadows[MAX_WAITING] = {0}, *all[MAX_WAITING];
	struct span list = line_member(line, "waits"), value;
	size_t n = 0, pos = 0;
	while (list.len && n < MAX_WAITING && json_text_next(list, &pos, NULL, &value)) {
		const struct job *job = map_get(&w->jobs, line_text(w, value, "name"));
		if (!job || kueue_workload_holds_quota(job->record))
			return err_set(err, ERR_INTERNAL, "who waits is not there");
		shadows[n] =
		    (struct kueue_shadow){.queue = job->record->queue,
					  .workload = job->record,
					  .limit = line_number(value, "limit", KUEUE_SHADOW_NEVER)};
		all[n] = &shadows[n];
		n++;
	}
	if (!n)
		return err_set(err, ERR_INTERNAL, "nobody waits");
	size_t n_endings = list_endings(w, line_member(line, "ends"),
					kueue_forest_root(w->forest, shadows[0].queue), endings);
	kueue_shadow_cast(w->forest, all, n, endings, n_endings, line_number(line, "now", 0));
	int r = passing_compare(w, line, all, n, err);
	for (size_t i = 0; i < n; i++) {
		auto_buf b = BUF_INIT;
		describe(w, all[i], &b);
		texts_push(out, &b);
		kueue_shadow_done(all[i]);
	}
	return r;
}
