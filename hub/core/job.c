#include "core/job.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/failover.h"
#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/created_at.h"
#include "core/dispatch/amend.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/workload.h"
#include "core/priority.h"
#include "core/swap/swap.h"
#include "quota-tree/quota_message.h"

#include <stdarg.h>

static struct span key_text(struct buf *b, uint16_t type, struct span ns, struct span name)
{
	buf_clear(b);
	buf_add_u64(b, type);
	buf_add_char(b, '/');
	buf_add_span(b, ns);
	buf_add_char(b, '/');
	buf_add_span(b, name);
	return buf_span(b);
}

static struct span number_key(const uint64_t *number)
{
	return span_make((const char *)number, sizeof(*number));
}

struct job *job_by_key(const struct core *c, uint16_t type, struct span ns, struct span name)
{
	auto_buf b = BUF_INIT;
	return map_get(&c->jobs_by_key, key_text(&b, type, ns, name));
}

struct job *job_by_uid(const struct core *c, struct span uid_text)
{
	return uid_text.len ? map_get(&c->jobs_by_uid, uid_text) : NULL;
}

struct job *job_by_number(const struct core *c, uint64_t number)
{
	return map_get(&c->jobs_by_number, number_key(&number));
}

static int take_digest(struct job *j, struct span digest, struct err *reterr)
{
	char *bytes = xstrndup(digest.ptr, digest.len);

	arena_reset(&j->mem);
	if (job_digest_unpack(span_make(bytes, digest.len), &j->mem, &j->digest) < 0) {
		free(bytes);
		j->digest = (struct job_digest){0};
		return err_set(reterr, ERR_INTERNAL, "the stored digest of %s %s/%s is malformed",
			       j->kind->kind, j->ns, j->name);
	}
	free(j->digest_bytes);
	j->digest_bytes = bytes;
	j->digest_len = digest.len;
	return 0;
}

static void take_flags(struct job *j, const struct store_object *o)
{
	j->deleting = o->flags & OBJECT_DELETING;
	j->generation = object_generation(o);
	j->user_suspended = j->digest.suspend;
	j->finished = o->flags & OBJECT_FINISHED;
}

int job_create(struct core *c, const struct kind *kind, const struct store_object *o,
	       struct job **ret, struct err *reterr)
{
	struct job *j = xcalloc(1, sizeof(*j));
	auto_buf b = BUF_INIT;

	j->kind = kind;
	j->ns = xstrndup(o->key.ns.ptr, o->key.ns.len);
	j->name = xstrndup(o->key.name.ptr, o->key.name.len);
	memcpy(j->uid, o->uid, STORE_UID_LEN);
	object_uid_format(j->uid, j->uid_text);
	int r = take_digest(j, o->digest, reterr);
	if (r < 0) {
		free(j->ns);
		free(j->name);
		arena_done(&j->mem);
		free(j);
		return r;
	}
	j->kind = job_digest_kind(c->kinds, kind, &j->digest);
	take_flags(j, o);
	j->number = ++c->next_job;
	j->created = created_at(o, c->now);
	j->first_attempt = j->created;
	priority_resolve(c, j);
	map_put(&c->jobs_by_key, key_text(&b, kind->type, o->key.ns, o->key.name), j);
	map_put(&c->jobs_by_uid, span_of(j->uid_text), j);
	map_put(&c->jobs_by_number, number_key(&j->number), j);
	*ret = j;
	return 0;
}

/* Its class is another one: what shows its priority is written again. */
static void take_priority(struct core *c, struct job *j)
{
	int32_t was = j->priority;

	priority_resolve(c, j);
	if (j->priority == was)
		return;
	j->binding_dirty = j->unit_dirty = true;
	j->unit_phase = NULL;
	core_job_dirty(c, j);
}

/* It has another number of pod sets: a submitter's pods are behind the last of them again. */
static void renumber_sets(struct job *j, size_t sets, bool submitter)
{
	size_t n = job_n_placed(j), had = sets + submitter, last = j->digest.n_pod_sets;

	if (last == sets && submitter == (j->digest.submitter != NULL))
		return;
	vec_foreach (&j->pods, p)
		if (submitter && (*p)->set == sets)
			(*p)->set = (uint16_t)last;
	if (!j->spent)
		return;
	uint32_t *spent = xcalloc(n, sizeof(*spent));
	memcpy(spent, j->spent, num_min(n, had) * sizeof(*spent));
	if (submitter && j->digest.submitter) {
		if (sets < n)
			spent[sets] = 0;
		spent[last] = j->spent[sets];
	}
	free(j->spent);
	j->spent = spent;
}

bool job_update(struct core *c, struct job *j, const struct store_object *o)
{
	bool changed = !span_eq(o->digest, span_make(j->digest_bytes, j->digest_len));
	bool was_deleting = j->deleting, was_finished = j->finished;

	auto_free char *class =
	    xstrndup(j->digest.priority_class.ptr, j->digest.priority_class.len);
	size_t sets = j->digest.n_pod_sets;
	bool submitter = j->digest.submitter;
	if (changed && take_digest(j, o->digest, NULL) < 0)
		return false;
	renumber_sets(j, sets, submitter);
	take_flags(j, o);
	j->finished = j->finished || was_finished;
	if (changed && !span_is(j->digest.priority_class, class))
		take_priority(c, j);
	return changed || was_deleting != j->deleting;
}

static void drop_from(struct job **items, size_t *len, const struct job *j)
{
	for (size_t i = 0; i < *len; i++) {
		if (items[i] == j) {
			items[i] = items[--*len];
			return;
		}
	}
}

/* The freed ones stay in front. */
static void drop_dirty(struct core *c, const struct job *j)
{
	size_t at = 0;

	while (at < c->dirty.len && c->dirty.items[at] != j)
		at++;
	if (at == c->dirty.len)
		return;
	c->n_freed -= at < c->n_freed;
	c->dirty.len--;
	memmove(c->dirty.items + at, c->dirty.items + at + 1,
		(c->dirty.len - at) * sizeof(*c->dirty.items));
}

void job_destroy(struct core *c, struct job *j)
{
	auto_buf b = BUF_INIT;
	struct span key = key_text(&b, j->kind->type, span_of(j->ns), span_of(j->name));

	if (map_get(&c->jobs_by_key, key) == j)
		map_remove(&c->jobs_by_key, key);
	if (map_get(&c->jobs_by_uid, span_of(j->uid_text)) == j)
		map_remove(&c->jobs_by_uid, span_of(j->uid_text));
	map_remove(&c->jobs_by_number, number_key(&j->number));
	if (j->dirty)
		drop_dirty(c, j);
	if (j->flushed)
		drop_from(c->flushed.items, &c->flushed.len, j);
	core_job_timer_remove(c, j);
	swap_forget(c, j);
	settle_leave_member(c, j, j->dispatch.member);
	vec_foreach (&j->pods, p)
		(*p)->job_at = 0;
	vec_done(&j->pods);
	if (j->workload)
		workload_destroy(c, j->workload);
	prebuilt_forget(c, j);
	if (j->ask)
		pump_leave_ask(c, j->ask);
	placer_ask_unref(c->placer, j->ask);
	fleet_shape_unref(c->fleet, j->shape);
	vec_foreach (&j->events, e)
		free(e->message);
	vec_done(&j->events);
	arena_done(&j->mem);
	free(j->digest_bytes);
	free(j->ns);
	free(j->name);
	free(j->policy_ns);
	free(j->policy_name);
	free(j->assignment);
	free(j->spent);
	failover_free(j);
	free(j->hold_detail);
	free(j->unit_name);
	free(j->elastic_name);
	free(j->dispatch_message);
	free(j->needs);
	free(j->domains);
	free(j->copy_text);
	amend_free(j);
	free(j->status);
	free(j->top_reason);
	free(j);
}

void job_total(const struct job *j, struct elastic_quantity out[JOB_MAX_RESOURCES], size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		const struct job_pod_set *p = &j->digest.pod_sets[i];
		for (size_t k = 0; k < p->pod.n_requests; k++) {
			const struct info_amount *a = &p->pod.requests[k];
			size_t at = 0;
			while (at < n && !span_eq(out[at].resource, a->resource))
				at++;
			if (at == JOB_MAX_RESOURCES)
				continue;
			if (at == n)
				out[n++] = (struct elastic_quantity){a->resource, 0};
			out[at].value = num_add_sat(out[at].value, num_mul_sat(a->value, p->count));
		}
	}
	*ret_n = n;
}

struct span job_queue(const struct core *c, const struct job *j)
{
	if (j->unit && c->quota.tree)
		return elastic_tree_path(c->quota.tree, elastic_unit_node(j->unit));
	if (j->workload && j->workload->queue)
		return j->workload->queue->name;
	return j->digest.queue_name.len ? j->digest.queue_name : SPAN("");
}

int64_t job_pods(const struct job *j)
{
	int64_t n = 0;
	for (size_t i = 0; i < j->digest.n_pod_sets; i++)
		n = num_add_sat(n, j->digest.pod_sets[i].count);
	return n;
}

uint32_t job_pod_set_index(const struct job *j, struct span name)
{
	for (size_t i = 0; i < job_n_placed(j); i++)
		if (span_eq(job_placed(j, i)->name, name))
			return (uint32_t)i;
	return 0;
}

const char *job_text(const struct job *j, char out[JOB_TEXT_MAX])
{
	(void)snprintf(out, JOB_TEXT_MAX, "%s %s/%s", j->kind->kind, j->ns, j->name);
	return out;
}

static void add_event(struct core *c, struct job *j, struct job_event take)
{
	if (j->events.len >= 16) {
		free(take.message);
		return; /* a burst within one batch; the reasons repeat */
	}
	vec_push(&j->events, take);
	core_job_dirty(c, j);
}

void job_event_add(struct core *c, struct job *j, const char *type, const char *reason,
		   const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	add_event(c, j, (struct job_event){type, reason, xstrdup(line), false, NULL});
}

void job_queue_event(struct core *c, struct job *j, const char *type, const char *reason,
		     const char *fmt, ...)
{
	char line[2048];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	add_event(c, j, (struct job_event){type, reason, xstrdup(line), true, NULL});
}

void job_add_totals(const struct job *j, struct buf *out)
{
	struct elastic_quantity sums[JOB_MAX_RESOURCES];
	char text[QUOTA_QUANTITY_MAX];
	size_t n;

	job_total(j, sums, &n);
	buf_add_char(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(out, ',');
		buf_add_json_str(out, sums[i].resource);
		quota_message_quantity(sums[i].resource, sums[i].value, text, sizeof(text));
		buf_addf(out, ":\"%s\"", text);
	}
	buf_add_char(out, '}');
}
