#include "core/kueue/workload_restore.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/kueue/checks_told.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/compose.h"
#include "core/kueue/evict.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/priority_boost.h"
#include "core/kueue/priority_class.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/ready.h"
#include "core/kueue/reclaimable.h"
#include "core/retention.h"

static usec created_at(const struct store_object *o, usec otherwise)
{
	struct span v;
	usec t;

	if (json_text_path(o->json, &v, "metadata", "creationTimestamp", NULL) < 0 ||
	    clock_parse(json_text_plain(v), &t) < 0)
		return otherwise;
	return t;
}

/* ---- what the row says ---- */

static void take_spec(struct core *c, struct workload *w, const struct store_object *o,
		      const struct workload_digest *d)
{
	w->inactive = d->inactive;
	w->max_execution = d->max_execution_seconds;
	w->priority_source = d->priority_source;
	free(w->priority_class);
	w->priority_class =
	    d->priority_class.len ? xstrndup(d->priority_class.ptr, d->priority_class.len) : NULL;
	w->priority = d->priority;
	w->boost = priority_boost_read(c, o);
	if (w->unit)
		kueue_queues_set_priority(c->kueue->queues, w->unit, workload_priority(w));
}

/* Who was evicted by these goes to the back, until it is admitted again (section 2.1). */
static bool went_to_back(const struct core *c, const struct workload_status *s)
{
	return s->evicted.is && (span_is(s->evicted.reason, "AdmissionCheck") ||
				 (span_is(s->evicted.reason, "PodsReadyTimeout") &&
				  !c->kueue->settings.requeue_by_creation));
}

/* A reason of QuotaReserved=False that no try to schedule gives. */
static bool is_obstacle(struct span reason)
{
	return span_is(reason, "Suspended") || span_is(reason, "Misconfigured") ||
	       span_is(reason, "Deactivated");
}

static void take_standing(const struct core *c, struct workload *w, const struct workload_status *s)
{
	if (went_to_back(c, s))
		w->queue_order = s->evicted.since;
	w->answered =
	    s->quota_reserved.present && !span_is(s->quota_reserved.reason, "PendingEvaluation");
	w->told_wait = !s->quota_reserved.is && is_obstacle(s->quota_reserved.reason);
	w->requeues = s->requeues;
	w->requeue_at = s->requeue_at;
	w->requeued_false = s->requeued.present && !s->requeued.is;
	w->requeued_at = s->requeued.since;
	w->past_execution = s->past_execution;
	if (w->requeued_false)
		w->evicted_as = evict_reason(s->requeued.reason);
	if (!s->quota_reserved.is || !s->has_admission)
		return;
	w->reserved_at = s->quota_reserved.since;
	w->admitted_at = s->admitted.is ? s->admitted.since : 0;
	w->evicted_at = s->evicted.is ? s->evicted.since : 0;
	if (s->evicted.is) {
		w->evicted_as = evict_reason(s->evicted.reason);
		w->evicted_words = xstrndup(s->evicted.message.ptr, s->evicted.message.len);
	}
	/* Since its admission, unless they were ready once. */
	if (w->admitted_at && s->pods_ready.present && !s->pods_ready.is)
		w->unready_since = num_max(s->pods_ready.since, w->admitted_at);
	w->was_ready = s->pods_ready.is || span_is(s->pods_ready.reason, "WaitForRecovery");
}

/* Index of a pod set by name, -1 when the spec has none. */
static int set_index(const struct workload_digest *d, struct span name)
{
	for (size_t i = 0; i < d->n_pod_sets; i++)
		if (span_eq(d->pod_sets[i].name, name))
			return (int)i;
	return -1;
}

struct recorded {
	struct kueue_holding *holdings;
	size_t n_holdings;
	int32_t counts[KUEUE_MAX_POD_SETS];
};

static void take_flavor(struct workload_set *set, uint32_t flavor)
{
	for (uint32_t i = 0; i < set->n_flavors; i++)
		if (set->flavors[i] == flavor)
			return;
	set->flavors[set->n_flavors++] = flavor;
}

/* status.admission in the engine's numbers, and into the record. */
static void take_admission(struct core *c, struct workload *w, const struct workload_digest *d,
			   const struct workload_status *s, struct arena *mem, struct recorded *ret)
{
	struct kueue_forest *f = c->kueue->forest;
	size_t max = 0;

	workload_drop_sets(w);
	w->n_sets = d->n_pod_sets;
	w->sets = xcalloc(w->n_sets + 1, sizeof(*w->sets));
	for (size_t i = 0; i < d->n_pod_sets; i++)
		ret->counts[i] = w->sets[i].count = (int32_t)d->pod_sets[i].count;
	for (size_t i = 0; i < s->n_assignments; i++)
		max += s->assignments[i].n_items;
	ret->holdings = arena_array(mem, struct kueue_holding, max);
	for (size_t i = 0; i < s->n_assignments; i++) {
		const struct workload_assignment *a = &s->assignments[i];
		int set = set_index(d, a->name);
		if (set < 0)
			continue;
		ret->counts[set] = w->sets[set].count = a->count;
		free(w->sets[set].flavors);
		w->sets[set].flavors = xcalloc(a->n_items + 1, sizeof(uint32_t));
		w->sets[set].n_flavors = 0;
		for (size_t k = 0; k < a->n_items; k++) {
			uint32_t flavor = kueue_forest_intern_flavor(f, a->items[k].flavor);
			uint32_t resource = kueue_forest_resource(f, a->items[k].resource);
			take_flavor(&w->sets[set], flavor);
			if (a->items[k].usage > 0)
				ret->holdings[ret->n_holdings++] = (struct kueue_holding){
				    (uint32_t)set, flavor, resource, a->items[k].usage};
		}
	}
}

static enum kueue_state state_of(const struct workload *w)
{
	if (w->evicted_at)
		return KUEUE_EVICTED;
	return w->admitted_at ? KUEUE_ADMITTED : KUEUE_RESERVING;
}

/* Files one that holds quota. */
static void restore_holding(struct core *c, struct workload *w, const struct workload_digest *d,
			    const struct workload_status *s)
{
	struct kueue *k = c->kueue;
	auto_arena mem = ARENA_INIT;
	struct recorded r = {0};
	struct err err = ERR_INIT;

	take_admission(c, w, d, s, &mem, &r);
	struct kueue_workload_spec spec = workload_engine_spec(c, w, d, &mem);
	uint32_t node = kueue_forest_queue(k->forest, s->cluster_queue);
	if (kueue_queues_restore(k->queues, node, &spec, state_of(w), w->reserved_at, r.holdings,
				 r.n_holdings, r.counts, &w->unit, &err) < 0) {
		w->unit = NULL;
		log_error(c->log, "what a workload holds cannot be counted",
			  "workload=%s error=\"%s\"", w->key, err.text);
		return;
	}
	workload_count_usage(c, w);
	if (s->n_checks && !w->evicted_at) {
		provisioning_check_restore(c, w, s);
		provisioning_check_mark(c, w);
	}
	if (w->max_execution || w->unready_since)
		workload_timer(c, w, c->now);
}

/* ---- checks ---- */

static enum kueue_check_state check_state(struct span text)
{
	if (span_is(text, "Ready"))
		return KUEUE_CHECK_READY;
	if (span_is(text, "Retry"))
		return KUEUE_CHECK_RETRY;
	return span_is(text, "Rejected") ? KUEUE_CHECK_REJECTED : KUEUE_CHECK_PENDING;
}

static void look_at_checks(struct core *c, struct workload *w, const struct workload_status *s)
{
	struct kueue_check *checks = xcalloc(s->n_checks + 1, sizeof(*checks));
	size_t ready = 0, ours = 0;

	for (size_t i = 0; i < s->n_checks; i++) {
		const struct workload_check *k = &s->checks[i];
		enum kueue_check_state state = check_state(k->state);
		checks[i] = (struct kueue_check){.name = k->name,
						 .message = k->message,
						 .state = state,
						 .since = k->since,
						 .requeue_after = k->requeue_after};
		bool placed = multikueue_is_check(c, k->name);
		ours += placed; /* it is Ready with the job's place */
		ready += placed || state == KUEUE_CHECK_READY;
	}
	checks_told_review(c, w, s);
	if (!evict_by_checks(c, w, checks, s->n_checks) && w->unit->state == KUEUE_RESERVING &&
	    ready == s->n_checks) {
		w->ahead = w->job && s->n_checks == ours;
		admission_checks_ready(c, w);
	}
	free(checks);
}

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

	take_spec(c, w, o, d);
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
		look_at_checks(c, w, s);
	if (!w->job && !workload_holds_quota(w)) {
		workload_enter_queue(c, w, d->queue_name);
		workload_recount(c, w, d);
	} else {
		workload_review(c, w);
	}
	reclaimable_read(c, w, d, s);
}

static bool is_delayed(const struct store_object *o)
{
	static const char pending[] = "\"delayedTopologyRequest\":\"Pending\"";
	struct span status = store_object_part(o, o->extents.status);

	return status.len && memmem(status.ptr, status.len, pending, sizeof(pending) - 1);
}

static void begin(struct core *c, struct workload *w, const struct store_object *o,
		  const struct workload_digest *d, const struct workload_status *s)
{
	w->exists = true;
	w->deleting = o->flags & OBJECT_DELETING;
	w->revision = o->revision;
	w->created = created_at(o, c->now);
	/* Within one second the order of creation. */
	w->first_order =
	    w->job ? w->job->first_attempt : w->created + (usec)(o->create_revision % USEC_PER_SEC);
	w->queue_order = w->first_order;
	take_spec(c, w, o, d);
	take_standing(c, w, s);
	w->delayed = is_delayed(o);
	workload_enter_queue(c, w, d->queue_name);
}

static void file_new(struct core *c, struct workload *w, const struct workload_digest *d,
		     const struct workload_status *s)
{
	if (s->quota_reserved.is && s->has_admission)
		restore_holding(c, w, d, s);
	if (w->unit)
		workload_review(c, w);
	else
		workload_recount(c, w, d);
	reclaimable_read(c, w, d, s);
	if (workload_holds_quota(w) && !w->evicted_at && s->n_checks)
		look_at_checks(c, w, s);
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
	bool over = o->flags & OBJECT_FINISHED;
	if (!w && (o->flags & OBJECT_DELETING))
		core_remove_finalizer(c, kind_by_type(c->kinds, TYPE_WORKLOAD), o, KUEUE_FINALIZER);
	if (workload_digest_unpack(o->digest, &mem, &d) < 0 ||
	    (!w && (over || o->flags & OBJECT_DELETING)))
		return;
	if (!w) {
		workload_status_read(o, &mem, &s);
		w = workload_create(c, o->key.ns, o->key.name, o->uid);
		begin(c, w, o, &d, &s);
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
	return !w->deleting; /* its end is looked at when it holds nothing any more */
}

/* ---- of a job ---- */

/* Also one that was named before ShortWorkloadNames was set, or no longer was. */
static bool find_of_job(struct core *c, const struct job *j, char name[STORE_MAX_NAME + 1],
			struct store_object *ret)
{
	static const int lengths[] = {COMPOSE_NAME_LONG, COMPOSE_NAME_SHORT};
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++)
		if (registry_get(
			c->batch, kind, span_of(j->ns),
			span_of(compose_name(j->kind, j->name, j->uid_text, lengths[i], name)),
			ret) == 0)
			return true;
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
	j->workload = w;
	begin(c, w, &o, &d, &s);
	if (s.quota_reserved.is && s.has_admission)
		restore_holding(c, w, &d, &s);
	reclaimable_read(c, w, &d, &s);
	if (workload_holds_quota(w) && !w->evicted_at && s.n_checks)
		look_at_checks(c, w, &s);
}
