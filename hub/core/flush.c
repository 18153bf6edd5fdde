#include "core/flush.h"

#include "core/binding.h"
#include "core/capacity.h"
#include "core/dispatch/amend.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/workload_row.h"
#include "core/queue_unit.h"
#include "core/recorder.h"
#include "core/retention.h"
#include "core/suspension.h"

#include <errno.h>

/* status, binding, unit, live row, three retention rows, two rows of a finalizer, spent pods,
 * edits, and two of what it needs. */
#define ROWS_PER_JOB 14

void core_job_dirty(struct core *c, struct job *j)
{
	if (j->dirty)
		return;
	j->dirty = true;
	vec_push(&c->dirty, j);
}

void core_job_freed(struct core *c, struct job *j)
{
	core_job_dirty(c, j);
	size_t at = c->dirty.len - 1; /* where it is if it was not dirty before */
	while (c->dirty.items[at] != j)
		at--;
	if (at < c->n_freed)
		return;
	memmove(c->dirty.items + c->n_freed + 1, c->dirty.items + c->n_freed,
		(at - c->n_freed) * sizeof(*c->dirty.items));
	c->dirty.items[c->n_freed++] = j;
}

static void live_key(const struct job *j, struct buf *out)
{
	buf_addf(out, "%u/%s/%s", j->kind->type, j->ns, j->name);
}

/* Nothing is left to do for it: it needs no record, and none after a restart. A finished job whose
 * copy is to be deleted is not over. */
static bool is_over(const struct job *j)
{
	return j->finished && !j->deleting &&
	       (j->dispatch.step == DISPATCH_FINISHED || j->dispatch.step == DISPATCH_IDLE);
}

/* The row holds what a job without a binding must not lose: its place in the queue. */
static void flush_live(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;
	bool wanted = !j->gone && !is_over(j);

	if (wanted == j->live_row)
		return;
	live_key(j, &key);
	if (wanted)
		registry_put_aux(
		    c->batch, false, STORE_AUX_LIVE, buf_span(&key),
		    span_make((const char *)&j->first_attempt, sizeof(j->first_attempt)));
	else
		registry_delete_aux(c->batch, false, STORE_AUX_LIVE, buf_span(&key));
	j->live_row = wanted;
}

static void flush_status(struct core *c, struct job *j)
{
	struct object_draft draft;
	struct store_object o;

	if (!j->status || j->status_due > c->now)
		return;
	if (!j->gone &&
	    registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &o) == 0 &&
	    memcmp(o.uid, j->uid, STORE_UID_LEN) == 0 &&
	    !span_eq(store_object_part(&o, o.extents.status),
		     span_make(j->status, j->status_len)) &&
	    core_splice_status(c, j->kind, &o, span_make(j->status, j->status_len),
			       j->status_finished, &draft, NULL) == 0) {
		suspension_follow(c, j, &o, &draft);
		(void)core_put(c, j->kind, span_of(j->ns), span_of(j->name), &draft);
	}
	free(j->status);
	j->status = NULL;
	j->status_written = c->now;
}

static void put(struct core *c, const struct job *j, uint16_t type, const char *name, int made,
		struct object_draft *draft)
{
	char text[JOB_TEXT_MAX];

	if (made < 0 || registry_put(c->batch, kind_by_type(c->kinds, type), span_of(j->ns),
				     span_of(name), draft) < 0)
		log_error(c->log, "object of a job not written", "job=\"%s\" name=%s",
			  job_text(j, text), name);
}

/* A job that a policy is to select first is left alone: it has no binding yet. */
static bool is_left_alone(const struct job *j)
{
	return j->hold == HOLD_NO_POLICY && !j->binding_exists && j->dispatch.step == DISPATCH_IDLE;
}

static void flush_binding(struct core *c, struct job *j)
{
	char name[BINDING_NAME_MAX];
	struct object_draft draft;

	j->binding_dirty = false;
	if (j->gone || is_left_alone(j))
		return; /* with its owner the binding is gone */
	put(c, j, TYPE_RESOURCE_BINDING, binding_name(j->kind, j->name, name),
	    binding_draft(c, j, &draft, NULL), &draft);
	j->binding_exists = true;
}

/* The unit goes with the quota that it stands for, not when the collector comes to it: rows must
 * never show more held than there is. */
static void drop_unit(struct core *c, struct job *j)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE_UNIT);
	struct store_object o;

	if (j->unit_exists &&
	    registry_get(c->batch, kind, span_of(j->ns), span_of(j->unit_name), &o) == 0 &&
	    memcmp(o.uid, j->unit_uid, STORE_UID_LEN) == 0)
		core_delete(c, kind, span_of(j->ns), span_of(j->unit_name));
	j->unit_exists = false;
	j->unit_phase = NULL;
	registry_new_uid(c->registry, j->unit_uid); /* of the next one */
}

static void flush_unit(struct core *c, struct job *j)
{
	struct object_draft draft;
	const char *phase = queue_unit_phase(j);

	j->unit_dirty = false;
	if (!j->must_queue && j->unit_exists && !j->gone)
		drop_unit(c, j); /* its policy queues it no longer */
	if (!j->must_queue || j->gone ||
	    (j->unit_phase == phase && phase != NULL && strcmp(phase, UNIT_ENQUEUED) != 0))
		return;
	j->unit_phase = phase;
	put(c, j, TYPE_QUEUE_UNIT, j->unit_name, queue_unit_draft(c, j, &draft, NULL), &draft);
	j->unit_exists = true;
}

static void flush_events(struct core *c, struct job *j)
{
	vec_foreach (&j->events, e) {
		recorder_write(c, j, e);
		free(e->message);
	}
	vec_clear(&j->events);
}

static void finalize(struct core *c, struct job *j)
{
	struct store_object o;
	auto_buf key = BUF_INIT;

	live_key(j, &key);
	registry_delete_aux(c->batch, false, STORE_AUX_LIVE, buf_span(&key));
	drop_unit(c, j);
	if (j->workload)
		workload_drop_row(c, j->workload);
	if (registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &o) == 0 &&
	    memcmp(o.uid, j->uid, STORE_UID_LEN) == 0 && (o.flags & OBJECT_DELETING))
		core_remove_hub_finalizer(c, j->kind, &o);
	j->settled = true;
}

static void flush_job(struct core *c, struct job *j)
{
	capacity_settle(c, j);
	prepare_flush(c, j);
	amend_flush(c, j);
	if (j->finalize) {
		vec_foreach (&j->events, e)
			free(e->message);
		vec_clear(&j->events);
		finalize(c, j);
		return;
	}
	flush_status(c, j);
	if (j->binding_dirty)
		flush_binding(c, j);
	if (j->unit_dirty)
		flush_unit(c, j);
	if (j->workload && j->workload->dirty)
		workload_flush(c, j->workload);
	if (j->workload && j->workload->over)
		prebuilt_ended(c, j->workload);
	flush_live(c, j);
	if (j->retention_dirty)
		retention_write(c, j);
	flush_events(c, j);
	j->settled = is_over(j) && !j->status;
}

static size_t rows_of(const struct job *j)
{
	return ROWS_PER_JOB + (j->workload ? WORKLOAD_ROWS : 0);
}

/* The first `end` of the dirty ones. False when the batch had no room for all of them. */
static bool flush_first(struct core *c, size_t end)
{
	size_t done = 0;

	for (; done < end; done++) {
		struct job *j = c->dirty.items[done];
		if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < rows_of(j) ||
		    recorder_is_behind(c))
			break;
		j->dirty = false;
		flush_job(c, j);
		j->flushed = true;
		vec_push(&c->flushed, j);
	}
	bool all = done == end;
	if (done)
		memmove(c->dirty.items, c->dirty.items + done,
			(c->dirty.len - done) * sizeof(*c->dirty.items));
	c->dirty.len -= done;
	c->n_freed -= done < c->n_freed ? done : c->n_freed;
	return all;
}

bool flush_jobs(struct core *c)
{
	/* What gave quota back goes before what took it, with a job or without. */
	return !flush_first(c, c->n_freed) || !kueue_flush_workloads(c, true) ||
	       !kueue_flush_workloads(c, false) || !flush_first(c, c->dirty.len);
}

bool flush_owes_admissions(const struct core *c)
{
	vec_foreach (&c->dirty, p) {
		const struct job *j = *p;
		if (j->holds && j->must_queue && j->unit_dirty &&
		    (!j->unit_phase || strcmp(j->unit_phase, UNIT_ENQUEUED) == 0))
			return true;
	}
	return false;
}

void flush_committed(struct core *c)
{
	struct VEC(struct job *) flushed = {c->flushed.items, c->flushed.len, c->flushed.cap};

	memset(&c->flushed, 0, sizeof(c->flushed));
	vec_foreach (&flushed, p)
		(*p)->flushed = false;
	vec_foreach (&flushed, p) {
		struct job *j = *p;
		if (j->settled && !j->dirty)
			job_destroy(c, j);
		else
			courier_committed(c, j);
	}
	vec_done(&flushed);
}
