#include "core/kueue/workload_restore.h"

#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/compose.h"
#include "core/kueue/evict.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/ready.h"
#include "core/kueue/reclaimable.h"
#include "core/kueue/workload_read.h"
#include "core/retention.h"

/* ---- committed by somebody else ---- */

static void end_own(struct core *c, struct workload *w)
{
	queue_status_touch(c, w);
	workload_destroy(c, w);
	c->pump_wanted = true;
}

/* Its creator has taken the reservation off, mostly after an eviction. */
static bool was_given_back(const struct workload *w, const struct workload_status *s)
{
	return !w->job && workload_holds_quota(w) && !w->edit &&
	       !(s->quota_reserved.is && s->has_admission);
}

/* Its creator may hold it back, or let it come. */
static void take_requeued(struct workload *w, const struct workload_status *s)
{
	if (!s->requeued.present)
		return;
	w->requeued_false = !s->requeued.is;
	w->requeued_at = s->requeued.since;
	if (w->requeued_false)
		w->evicted_as = evict_reason(s->requeued.reason);
}

static void deactivated_waiting(struct core *c, struct workload *w, const struct workload_status *s)
{
	if (workload_holds_quota(w))
		return;
	if (!s->evicted.is)
		evict_deactivated(c, w);
	if (w->requeues || w->requeue_at) {
		w->requeues = 0;
		w->requeue_at = 0;
		workload_set_requeue(c, w);
	}
}

static void reconcile(struct core *c, struct workload *w, const struct store_object *o,
		      const struct workload_digest *d, const struct workload_status *s)
{
	bool was_inactive = w->inactive;

	workload_read_spec(c, w, o, d);
	if (was_inactive && !w->inactive) {
		w->requeues = 0;
		w->requeue_at = 0;
		workload_set_requeue(c, w);
	} else if (!workload_holds_quota(w) && !w->edit) {
		take_requeued(w, s);
	}
	if (!was_inactive && w->inactive)
		deactivated_waiting(c, w, s);
	if (was_given_back(w, s)) {
		take_requeued(w, s);
		evict_released(c, w);
		return;
	}
	if (!w->job) {
		w->was_ready = s->pods_ready.is;
		ready_review(c, w);
	}
	if (workload_holds_quota(w) && !w->evicted_at)
		workload_read_checks(c, w, s);
	if (!w->job && !workload_holds_quota(w)) {
		workload_enter_queue(c, w, d->queue_name);
		workload_recount(c, w, d);
	} else if (w->prebuilt && !workload_holds_quota(w) && dispatch_is_free(&w->job->dispatch)) {
		struct job *j = w->job;
		settle_offer(c, j);
		if (!j->workload || j->workload->over)
			return;
	} else {
		workload_review(c, w);
	}
	reclaimable_read(c, w, d, s);
}

static void file_new(struct core *c, struct workload *w, const struct workload_digest *d,
		     const struct workload_status *s)
{
	if (s->quota_reserved.is && s->has_admission)
		workload_read_holding(c, w, d, s);
	if (w->unit)
		workload_review(c, w);
	else
		workload_recount(c, w, d);
	reclaimable_read(c, w, d, s);
	if (workload_holds_quota(w) && !w->evicted_at && s->n_checks)
		workload_read_checks(c, w, s);
}

void workload_observe(struct core *c, const struct store_object *o)
{
	struct workload *w = workload_find(c, o->key.ns, o->key.name);
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct workload_status s;

	if (w && memcmp(w->uid, o->uid, STORE_UID_LEN) != 0) {
		if (w->job)
			return;
		end_own(c, w);
		w = NULL;
	}
	if (w && w->over) /* what is written then is looked at */
		return;
	bool over = o->flags & OBJECT_FINISHED;
	if (!w && (o->flags & OBJECT_DELETING))
		core_remove_finalizer(c, kind_by_type(c->kinds, TYPE_WORKLOAD), o, KUEUE_FINALIZER);
	if (workload_digest_unpack(o->digest, &mem, &d) < 0 ||
	    (!w && (over || o->flags & OBJECT_DELETING)))
		return;
	if (!w) {
		workload_status_read(o, &mem, &s);
		w = workload_create(c, o->key.ns, o->key.name, o->uid);
		workload_read_new(c, w, o, &d, &s);
		if (!s.quota_reserved.present)
			workload_tell_new(c, w);
		file_new(c, w, &d, &s);
		if (w->inactive && !c->restoring)
			deactivated_waiting(c, w, &s);
		return;
	}
	w->revision = o->revision;
	w->deleting = o->flags & OBJECT_DELETING;
	if (!w->job && (over || w->deleting)) {
		if (w->deleting)
			core_remove_finalizer(c, kind_by_type(c->kinds, TYPE_WORKLOAD), o,
					      KUEUE_FINALIZER);
		else
			retention_workload(c, o->key.ns, o->key.name, o->uid);
		if (over)
			queue_meter_finished(c, w);
		end_own(c, w);
		return;
	}
	if (w->job && w->deleting) {
		workload_row_lost(c, w);
		return;
	}
	workload_status_read(o, &mem, &s);
	reconcile(c, w, o, &d, &s);
}

/* A job's Workload was deleted by somebody: what it stood for is taken back, and it is made anew
 * (Kueue stops a job whose workload is gone). */
void workload_row_lost(struct core *c, struct workload *w)
{
	static const struct eviction gone = {.reason = "Deactivated", .cause = ""};
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);
	struct store_object o;

	if (workload_holds_quota(w)) {
		evict_workload(c, w, &gone, "The workload was deleted");
		workload_review(c, w);
		return;
	}
	if (registry_get(c->batch, kind, w->ns, w->name, &o) == 0 && (o.flags & OBJECT_DELETING))
		core_remove_finalizer(c, kind, &o, KUEUE_FINALIZER);
}

void workload_gone(struct core *c, struct span ns, struct span name)
{
	struct workload *w = workload_find(c, ns, name);

	if (!w)
		return;
	if (!w->job) {
		end_own(c, w);
		return;
	}
	if (w->prebuilt) {
		prebuilt_gone(c, w);
		return;
	}
	/* The next row is another object. */
	registry_new_uid(c->registry, w->uid);
	object_uid_format(w->uid, w->uid_text);
	w->exists = w->deleting = w->requeued_false = false;
	w->requeued_at = 0;
	w->evicted_as = NULL;
	w->respec = true;
	w->created = c->now;
	w->told = NULL;
	w->answered = false;
	workload_dirty(c, w);
	/* It may be gone because the job asks for something else now. */
	if (dispatch_is_free(&w->job->dispatch))
		settle_offer(c, w->job);
	else
		workload_review(c, w);
}

bool workload_is_own_change(struct core *c, const struct store_object *o)
{
	struct workload *w = workload_find(c, o->key.ns, o->key.name);

	if (!w || !w->own)
		return false;
	w->own = false;
	w->revision = o->revision;
	if (w->released) { /* without quota it follows its job's queue */
		w->released = false;
		return false;
	}
	return !w->deleting; /* its end is looked at when it holds nothing any more */
}

/* ---- of a job ---- */

/* Also one that was named before ShortWorkloadNames was set, or no longer was: another name only
 * when the long one is not short. */
static bool find_of_job(struct core *c, const struct job *j, char name[STORE_MAX_NAME + 1],
			struct store_object *ret)
{
	static const int lengths[] = {COMPOSE_NAME_LONG, COMPOSE_NAME_SHORT};
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);

	if (j->digest.prebuilt.len)
		return registry_get(c->batch, kind, span_of(j->ns), j->digest.prebuilt, ret) == 0 &&
		       prebuilt_belongs(j, ret);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct span at =
		    span_of(compose_name(j->kind, j->name, j->uid_text, lengths[i], name));
		if (registry_get(c->batch, kind, span_of(j->ns), at, ret) == 0)
			return true;
		if (at.len <= COMPOSE_NAME_SHORT)
			return false;
	}
	return false;
}

void workload_restore_job(struct core *c, struct job *j)
{
	char name[STORE_MAX_NAME + 1];
	auto_arena mem = ARENA_INIT;
	struct workload_digest d;
	struct workload_status s;
	struct store_object o;

	if (j->finished || j->workload || !find_of_job(c, j, name, &o) ||
	    (o.flags & OBJECT_FINISHED) || workload_digest_unpack(o.digest, &mem, &d) < 0)
		return;
	workload_status_read(&o, &mem, &s);
	struct workload *w = workload_find(c, o.key.ns, o.key.name);
	if (w && !w->job)
		workload_destroy(c, w);
	w = workload_create(c, o.key.ns, o.key.name, o.uid);
	w->job = j;
	w->prebuilt = j->digest.prebuilt.len > 0;
	j->workload = w;
	workload_read_new(c, w, &o, &d, &s);
	if (s.quota_reserved.is && s.has_admission)
		workload_read_holding(c, w, &d, &s);
	reclaimable_read(c, w, &d, &s);
	if (workload_holds_quota(w) && !w->evicted_at && (s.n_checks || w->prebuilt))
		workload_read_checks(c, w, &s);
	if (workload_holds_quota(w) && w->deleting)
		workload_review(c, w);
}
