#include "core/kueue/workload_read.h"

#include "base/num.h"
#include "core/created_at.h"
#include "core/job.h"
#include "core/kueue/admission.h"
#include "core/kueue/checks_told.h"
#include "core/kueue/evict.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/priority_boost.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/workload_restore.h"

/* ---- what it is, and how it stood ---- */

void workload_read_spec(struct core *c, struct workload *w, const struct store_object *o,
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

static bool is_delayed(const struct store_object *o)
{
	static const char pending[] = "\"delayedTopologyRequest\":\"Pending\"";
	struct span status = store_object_part(o, o->extents.status);

	return status.len && memmem(status.ptr, status.len, pending, sizeof(pending) - 1);
}

void workload_read_new(struct core *c, struct workload *w, const struct store_object *o,
		       const struct workload_digest *d, const struct workload_status *s)
{
	w->exists = true;
	w->deleting = o->flags & OBJECT_DELETING;
	w->revision = o->revision;
	w->created = created_at(o, c->now);
	/* Within one second the order of creation. */
	w->first_order = w->job && !w->prebuilt
			     ? w->job->first_attempt
			     : w->created + (usec)(o->create_revision % USEC_PER_SEC);
	w->queue_order = w->first_order;
	workload_read_spec(c, w, o, d);
	take_standing(c, w, s);
	w->delayed = is_delayed(o);
	workload_enter_queue(c, w, d->queue_name);
}

/* ---- what it holds ---- */

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

void workload_read_holding(struct core *c, struct workload *w, const struct workload_digest *d,
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

void workload_read_checks(struct core *c, struct workload *w, const struct workload_status *s)
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
		w->ahead = w->job && s->n_checks == ours &&
			   !span_is(s->admitted.reason, WORKLOAD_PENDING_PLACEMENT);
		admission_checks_ready(c, w);
	}
	free(checks);
}
