#include "base/json.h"
#include "kueue_world.h"

#include <stdio.h>
#include <stdlib.h>

static void list_usage(struct world *w, uint32_t node, struct texts *out)
{
	for (size_t i = 0; i < w->flavor_names.len; i++)
		for (size_t k = 0; k < w->resource_names.len; k++) {
			uint32_t flavor = kueue_forest_flavor(w->forest, w->flavor_names.items[i]);
			uint32_t resource =
			    kueue_forest_find_resource(w->forest, w->resource_names.items[k]);
			if (flavor == KUEUE_NONE || resource == KUEUE_NONE)
				continue;
			int64_t used = kueue_forest_usage(w->forest, node, flavor, resource);
			if (!used)
				continue;
			auto_buf b = BUF_INIT;
			buf_addf(&b, "%.*s %.*s %.*s %lld",
				 SPAN_ARGS(kueue_forest_name(w->forest, node)),
				 SPAN_ARGS(w->flavor_names.items[i]),
				 SPAN_ARGS(w->resource_names.items[k]), (long long)used);
			texts_push(out, &b);
		}
}

static void list_queue(struct world *w, const char *what, uint32_t queue, struct texts *out)
{
	auto_buf b = BUF_INIT;
	buf_add_span(&b, kueue_forest_name(w->forest, queue));
	struct kueue_counts n = kueue_queues_count(w->queues, queue);
	if (!strcmp(what, "shares")) {
		buf_addf(&b, " %lld",
			 (long long)kueue_share_status(kueue_forest_share(w->forest, queue)));
	} else if (!strcmp(what, "counts")) {
		buf_addf(&b, " %zu %zu %zu", n.pending, n.reserving, n.admitted);
	} else {
		for (size_t i = 0; i < n.pending; i++) {
			struct kueue_workload *r = kueue_queues_at(w->queues, queue, i);
			buf_addf(&b, " %.*s", SPAN_ARGS(r ? r->name : SPAN("?")));
		}
	}
	texts_push(out, &b);
}

static void list(struct world *w, const char *what, struct texts *out)
{
	for (size_t i = 0; i < w->queue_names.len; i++) {
		uint32_t queue = kueue_forest_queue(w->forest, w->queue_names.items[i]);
		if (!strcmp(what, "usage"))
			list_usage(w, queue, out);
		else
			list_queue(w, what, queue, out);
	}
	for (size_t i = 0; i < w->cohort_names.len && !strcmp(what, "usage"); i++) {
		uint32_t cohort = kueue_forest_cohort(w->forest, w->cohort_names.items[i]);
		if (cohort != KUEUE_NONE)
			list_usage(w, cohort, out);
	}
}

static void show(const char *who, const struct texts *t)
{
	printf("  %s:\n", who);
	for (size_t i = 0; i < t->len; i++)
		printf("    %s\n", t->items[i]);
}

static void texts_done(struct texts *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->items[i]);
	vec_done(t);
}

static bool same(const char *what, struct span expected, struct texts *got)
{
	struct texts want = {0};
	size_t pos = 0;
	struct span value;
	while (json_text_next(expected, &pos, NULL, &value)) {
		auto_buf b = BUF_INIT;
		(void)json_text_string(value, &b);
		texts_push(&want, &b);
	}
	bool ok = want.len == got->len;
	for (size_t i = 0; ok && i < want.len; i++)
		ok = !strcmp(want.items[i], got->items[i]);
	if (!ok) {
		printf(" %s differ\n", what);
		show("the model", &want);
		show("the engine", got);
	}
	texts_done(&want);
	return ok;
}

/* "WL REASON|REASON": what an attempt said is one of these. Who was not tried is passed over: not
 * everybody is whom Kueue tries in vain. */
static bool same_reason(const struct world *w, struct span expected)
{
	struct span rest = expected;
	const struct job *job = map_get(&w->jobs, span_split(&rest, ' '));
	enum kueue_state state = job ? kueue_queues_state(job->record) : KUEUE_HELD;
	if (!job || !job->waits || (state != KUEUE_PENDING && state != KUEUE_INADMISSIBLE))
		return true;
	while (rest.len)
		if (span_is(span_split(&rest, '|'), job->why))
			return true;
	printf(" reasons differ\n  the model: %.*s\n  the engine: %s\n", SPAN_ARGS(expected),
	       job->why);
	return false;
}

static bool same_reasons(const struct world *w, struct span expected)
{
	size_t pos = 0;
	struct span value;
	/* With rounds what is tried in vain is tried with another one's flavors left. */
	while (!w->rounds && json_text_next(expected, &pos, NULL, &value))
		if (!same_reason(w, json_text_plain(value)))
			return false;
	return true;
}

int compare_shadows(struct world *w, struct span line, struct err *err)
{
	struct texts got = {0};
	int r = starving_cast(w, line, &got, err);
	if (!r && !same("shadow times", line_member(line, "shadows"), &got))
		r = err_set(err, ERR_INTERNAL, "another shadow time");
	texts_done(&got);
	return r;
}

bool compare_run(struct world *w, struct span expect)
{
	static const char *const parts[] = {"usage", "shares", "counts", "order"};
	struct err err = {0};
	struct texts decisions = {0};
	w->now = line_number(expect, "time", w->now);
	checks_look_back(w);
	decide_run(w, &decisions);
	bool ok = same("decisions", line_member(expect, "decisions"), &decisions);
	texts_done(&decisions);
	ok = ok && same_reasons(w, line_member(expect, "waits"));
	for (size_t i = 0; ok && i < ARRAY_LEN(parts); i++) {
		struct span expected = line_member(expect, parts[i]);
		struct texts got = {0};
		if (!expected.len)
			continue;
		list(w, parts[i], &got);
		ok = same(parts[i], expected, &got);
		texts_done(&got);
	}
	if (ok && (kueue_forest_check(w->forest, &err) || kueue_queues_check(w->queues, &err))) {
		printf(" invariant broken: %s\n", err.text);
		ok = false;
	}
	if (ok && w->trouble)
		printf(" %s\n", w->trouble);
	return ok && !w->trouble;
}
