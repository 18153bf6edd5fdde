#include "core/kueue/admission.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/job.h"
#include "core/kueue/admission_record.h"
#include "core/kueue/claim.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/evict.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_meter.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/ready.h"
#include "core/kueue/room.h"
#include "core/kueue/topology.h"
#include "core/kueue/workload_restore.h"
#include "core/provisioning/consumer.h"

#include <inttypes.h>

#define MAX_CHECKS 8

/* ---- what it asks of a member ---- */

static void add_flavor(const struct core *c, uint32_t flavor, struct arena *mem, struct job_term *t)
{
	const struct kueue_flavor_spec *s = kueue_forest_flavor_spec(c->kueue->forest, flavor);

	if (!s)
		return;
	struct label *labels = arena_array(mem, struct label, t->n_labels + s->n_labels);
	struct toleration *tolerations =
	    arena_array(mem, struct toleration, t->n_tolerations + s->n_tolerations);
	for (size_t i = 0; i < t->n_labels; i++)
		labels[i] = t->labels[i];
	for (size_t i = 0; i < s->n_labels; i++)
		labels[t->n_labels++] = s->labels[i];
	for (size_t i = 0; i < t->n_tolerations; i++)
		tolerations[i] = t->tolerations[i];
	for (size_t i = 0; i < s->n_tolerations; i++)
		tolerations[t->n_tolerations++] = s->tolerations[i];
	t->labels = labels;
	t->tolerations = tolerations;
}

struct job_term *admission_terms(const struct core *c, const struct workload *w,
				 const struct workload_set *sets, size_t n_sets, struct arena *mem)
{
	const struct job *j = w->job;
	size_t n = j->digest.n_pod_sets;
	struct job_term *terms = arena_array(mem, struct job_term, n);

	for (size_t i = 0; i < n; i++) {
		terms[i].count = -1;
		if (i >= n_sets)
			continue;
		if (sets[i].count < j->digest.pod_sets[i].count)
			terms[i].count = sets[i].count;
		for (uint32_t k = 0; k < sets[i].n_flavors; k++) {
			struct span topology = topology_of_flavor(c, sets[i].flavors[k]);
			add_flavor(c, sets[i].flavors[k], mem, &terms[i]);
			if (topology.len)
				terms[i].topology = topology;
		}
	}
	return terms;
}

int admission_ask(struct core *c, struct workload *w, struct err *reterr)
{
	struct job *j = w->job;
	auto_arena mem = ARENA_INIT;

	return job_ask_with(c, j, settle_policy(c, j),
			    admission_terms(c, w, w->sets, w->n_sets, &mem), reterr);
}

static void drop_asks(struct core *c, struct workload *w)
{
	vec_foreach (&w->asks, a) {
		pump_leave_ask(c, *a);
		placer_ask_unref(c->placer, *a);
	}
	vec_done(&w->asks);
	if (!w->lacking_at)
		return;
	struct kueue *k = c->kueue;
	struct workload *last = k->lacking.items[--k->lacking.len];
	k->lacking.items[w->lacking_at - 1] = last;
	last->lacking_at = w->lacking_at;
	w->lacking_at = 0;
}

void workload_forget_asks(struct core *c, struct workload *w)
{
	/* Others of its shape may be parked behind it: one of them tries for itself. */
	if (w->asks.len && w->unit)
		kueue_queues_wake_shape(c->kueue->queues, w->unit->shape->number);
	drop_asks(c, w);
}

static void wait_for(struct core *c, struct workload *w, struct ask *a)
{
	vec_foreach (&w->asks, p)
		if (*p == a)
			return;
	vec_push(&w->asks, ask_dup_ref(a));
	pump_enter_ask(c, a);
	pump_park(c, a, w->unit->shape->number);
	if (!w->lacking_at) {
		vec_push(&c->kueue->lacking, w);
		w->lacking_at = c->kueue->lacking.len;
	}
	starvation_parked(c, w->job);
}

/* Makes its job's ask; remembers why that cannot be. */
static bool asked(struct core *c, struct workload *w)
{
	struct err err = ERR_INIT;
	bool fine = admission_ask(c, w, &err) == 0;

	free(w->misasked);
	w->misasked = fine ? NULL : xstrdup(err.text);
	return fine;
}

/* Takes nodes for it, in the batch that takes its quota. */
static bool place(struct core *c, struct workload *w)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;
	struct job *j = w->job;

	if (!j)
		return true;
	if (!asked(c, w))
		return false;
	size_t n = starvation_exclude(c, j, excluded);
	/* What it claims is in the way of itself; lifting that wakes others, so not in vain. */
	if (claim_fits(c, w))
		claim_drop(c, w);
	if (!consumer_decide(c, j, excluded, n, &d)) {
		wait_for(c, w, j->ask);
		return false;
	}
	if (w->claims) {
		claim_drop(c, w);
		(void)consumer_decide(c, j, excluded, n, &d);
	}
	settle_place(c, j, &d);
	return j->holds;
}

/* ---- admitted ---- */

static void start_clock(struct core *c, struct workload *w)
{
	w->admitted_at = c->now;
	w->was_ready = false;
	w->unready_since = 0;
	if (w->max_execution)
		workload_timer(c, w,
			       c->now + (w->max_execution - w->past_execution) * USEC_PER_SEC);
	if (w->job)
		evict_pods_ready(c, w, false);
}

static void admitted(struct core *c, struct workload *w, bool had_checks)
{
	struct span queue = kueue_forest_name(c->kueue->forest, w->unit->queue);

	workload_set_condition(c, w, "Admitted", true, "Admitted", "The workload is admitted");
	workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "Admitted",
		       "Admitted by ClusterQueue %.*s, wait time since reservation was %" PRId64
		       "s",
		       SPAN_ARGS(queue), (c->now - w->reserved_at) / USEC_PER_SEC);
	if (w->job)
		job_queue_event(c, w->job, "Normal", "Started", "Admitted by clusterQueue %.*s",
				SPAN_ARGS(queue));
	if (w->job && w->job->domains)
		workload_set_domains(c, w, w->job->domains);
	queue_meter_admitted(c, w, had_checks);
	start_clock(c, w);
	workload_count_usage(c, w);
}

static void reserved(struct core *c, struct workload *w, const struct kueue_assignment *a,
		     const char *const *checks, size_t n_checks)
{
	struct span queue = kueue_forest_name(c->kueue->forest, w->unit->queue);

	c->counters.reserved++;
	queue_meter_reserved(c, w);
	w->reserved_at = c->now;
	w->told = NULL;
	w->requeue_at = 0;
	drop_asks(c, w);
	workload_set_admission(c, w, admission_record_text(c, w, a));
	workload_set_condition(c, w, "QuotaReserved", true, "QuotaReserved",
			       "Quota reserved in ClusterQueue %.*s", SPAN_ARGS(queue));
	workload_clear_condition(c, w, "Evicted", "QuotaReserved");
	workload_clear_condition(c, w, "Preempted", "QuotaReserved");
	workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "QuotaReserved",
		       "Quota reserved in ClusterQueue %.*s, wait time since queued was %" PRId64
		       "s",
		       SPAN_ARGS(queue), (c->now - w->queue_order) / USEC_PER_SEC);
	if (n_checks) {
		workload_set_checks(c, w, checks, n_checks);
		if (c->kueue->settings.observability)
			workload_set_condition(c, w, "Admitted", false,
					       "UnsatisfiedAdmissionChecks",
					       "The workload has not all checks ready");
		provisioning_check_mark(c, w);
	}
	workload_count_usage(c, w);
}

/* ---- the cycle ---- */

static size_t checks_of(const struct core *c, const struct kueue_entry *e,
			const char *checks[MAX_CHECKS])
{
	const struct kueue_assignment *a = &e->assignment;

	return cluster_queue_checks(c, workload_cluster_queue(c, e->workload->owner), a->uses.items,
				    a->uses.len, checks, MAX_CHECKS);
}

static bool try_entry(struct core *c, struct kueue_entry *e, bool promised)
{
	struct workload *w = e->workload->owner;
	const char *checks[MAX_CHECKS];
	size_t n = checks_of(c, e, checks);

	admission_record_take(w, &e->assignment);
	bool placed = n == 0 && place(c, w);
	/* One that starves has its quota now, and a cluster that is kept free for it. */
	w->ahead = n == 0 && !placed && promised && starvation_promise(c, w->job);
	if (n == 0 && !placed && !w->ahead) {
		workload_drop_sets(w);
		return false;
	}
	kueue_cycle_admit(c->kueue->queues, e, !placed);
	c->counters.decisions[KUEUE_RESERVES]++;
	reserved(c, w, &e->assignment, checks, n);
	if (placed)
		admitted(c, w, false);
	else if (w->ahead)
		admission_checks_ready(c, w);
	return true;
}

/* Whether the entry may be promised a cluster: it starves, and of the flavors that no member took
 * none has room now. */
static bool is_to_be_promised(struct core *c, const struct workload *w)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;

	if (!w->asks.len || !starvation_wants(c, w->job))
		return false;
	size_t n = starvation_exclude(c, w->job, excluded);
	vec_foreach (&w->asks, a)
		if (placement_decide(c->placer, *a, excluded, n, c->now, &d))
			return false;
	return true;
}

static void tell_entry(struct core *c, const struct kueue_entry *e)
{
	struct workload *w = e->workload->owner;
	auto_buf text = BUF_MAX(4096);

	quota_wait_note(c, w, e->reason && strcmp(e->reason, "WaitingForQuota") == 0);
	if (!e->reason || !e->reason[0] || (w->told && strcmp(w->told, e->reason) == 0))
		return;
	buf_add_str(&text, e->message ? e->message : "");
	if (strcmp(e->reason, "TopologyPlacementFailed") == 0 && w->job)
		buf_addf(&text, "%s%s", text.len ? ": " : "",
			 w->misasked ? w->misasked : pump_summary(c, w->job->ask));
	workload_tell(c, w, e->reason, text.ptr ? text.ptr : "");
}

struct victim {
	struct workload *workload, *preemptor;
	enum kueue_preempt_reason reason;
};
struct victims VEC(struct victim);

/* Whether its gang could start once they are gone; else it waits for the room that it lacks. One
 * with checks takes quota alone now, and who waits for provisioned nodes looks for no others. */
static bool is_worth_it(struct core *c, struct kueue_entry *e)
{
	struct workload *w = e->workload->owner;
	const char *checks[MAX_CHECKS];

	if (!w->job || w->job->digest.provisioning_request.len || checks_of(c, e, checks))
		return e->victims.items.len > 0;
	admission_record_take(w, &e->assignment);
	bool fine = asked(c, w);
	workload_drop_sets(w);
	if (fine && room_choose(c, e))
		return true;
	if (fine)
		wait_for(c, w, w->job->ask);
	return false;
}

/* The engine files the victims as evicted now; what follows from that comes after the cycle. */
static void run_preemption(struct core *c, struct kueue_entry *e, struct victims *victims)
{
	struct workload *w = e->workload->owner;

	for (size_t i = 0; i < e->victims.items.len; i++) {
		const struct kueue_victim *v = &e->victims.items.items[i];
		vec_push(victims, (struct victim){v->workload->owner, w, v->reason});
	}
	kueue_cycle_preempt(c->kueue->queues, e);
	tell_entry(c, e);
}

/* Whether nobody may start before all those who did have their pods ready. */
static bool is_blocked(struct core *c, struct workload *w)
{
	if (!ready_blocks(c))
		return false;
	c->kueue->blocked = true;
	workload_tell(c, w, "WaitingForPodsReady",
		      "waiting for all admitted workloads to be in PodsReady condition");
	return true;
}

/* Tries its flavors one after the other, as the engine gives them, until it starts or somebody
 * leaves for it. An entry that gets no answer is tried again in the next cycle. */
static void run_entry(struct core *c, struct kueue_entry *e, struct victims *victims)
{
	struct workload *w = e->workload->owner;
	bool promised = is_to_be_promised(c, w);
	const struct workload *starves =
	    e->kind == KUEUE_ENTRY_WAITS ? NULL : quota_wait_first(c, w);

	if (starves) {
		while (kueue_cycle_refuse(c->kueue->queues, e) && e->kind != KUEUE_ENTRY_WAITS)
			;
		quota_wait_refused(c, w, starves);
		c->counters.decisions[KUEUE_WAITS]++;
		return;
	}
	if (e->kind != KUEUE_ENTRY_FITS || !ready_blocks(c))
		drop_asks(c, w);
	while (e->kind != KUEUE_ENTRY_WAITS) {
		if (e->kind == KUEUE_ENTRY_FITS && (is_blocked(c, w) || try_entry(c, e, promised)))
			return;
		if (e->kind == KUEUE_ENTRY_PREEMPTS && is_worth_it(c, e)) {
			run_preemption(c, e, victims);
			c->counters.decisions[KUEUE_PREEMPTS]++;
			return;
		}
		if (!kueue_cycle_refuse(c->kueue->queues, e))
			break;
	}
	tell_entry(c, e);
	c->counters.decisions[KUEUE_WAITS]++;
}

static bool run_cycle(struct core *c)
{
	struct kueue_queues *q = c->kueue->queues;
	struct victims victims = {0};
	uint64_t reserved = c->counters.reserved;
	struct kueue_entry *e;

	kueue_cycle_begin(q, c->now);
	while (c->pump_budget > 0 && !c->kueue->blocked && (e = kueue_cycle_next(q))) {
		c->pump_budget--;
		run_entry(c, e, &victims);
	}
	bool more = kueue_cycle_end(q);
	c->counters.cycles[c->counters.reserved != reserved]++;
	claim_sweep(c);
	vec_foreach (&victims, v)
		evict_preempted(c, v->workload, v->preemptor, v->reason);
	vec_done(&victims);
	return more && !c->kueue->blocked;
}

/* ---- checks ---- */

void admission_checks_ready(struct core *c, struct workload *w)
{
	if (w->ready_to_place)
		return;
	w->ready_to_place = true;
	vec_push(&c->kueue->placing, w);
	c->pump_wanted = true;
}

bool admission_start(struct core *c, struct workload *w)
{
	if (!w->unit || w->unit->state != KUEUE_RESERVING || !w->ready_to_place || !place(c, w))
		return false;
	bool had_checks = !w->ahead;
	w->ready_to_place = w->ahead = false;
	drop_asks(c, w);
	kueue_queues_admitted(c->kueue->queues, w->unit);
	admitted(c, w, had_checks);
	return true;
}

void admission_give_back(struct core *c, struct workload *w)
{
	if (!w->ahead)
		return;
	w->ahead = w->ready_to_place = false;
	drop_asks(c, w);
	evict_released(c, w);
	workload_set_condition(c, w, "QuotaReserved", false, "Pending",
			       "No member cluster can be kept free for the workload");
}

static void run_placing(struct core *c)
{
	struct kueue *k = c->kueue;
	size_t kept = 0;

	for (size_t i = 0; i < k->placing.len; i++) {
		struct workload *w = k->placing.items[i];
		if (!w)
			continue;
		(void)admission_start(c, w);
		if (w->ready_to_place && w->unit && w->unit->state == KUEUE_RESERVING)
			k->placing.items[kept++] = w;
		else
			w->ready_to_place = false;
	}
	k->placing.len = kept;
}

bool admission_run(struct core *c)
{
	struct kueue *k = c->kueue;

	/* The queues are not those that this commit, or the last one, wrote. */
	if (k->edited || c->observed.len)
		return kueue_queues_is_due(k->queues);
	claim_sweep(c);
	quota_wait_sweep(c);
	run_placing(c);
	k->blocked = k->blocked && ready_blocks(c);
	if (k->blocked)
		return false;
	while (kueue_queues_is_due(k->queues)) {
		if (c->pump_budget == 0)
			return true;
		if (!run_cycle(c))
			break;
	}
	return kueue_queues_is_due(k->queues) && c->pump_budget == 0;
}
