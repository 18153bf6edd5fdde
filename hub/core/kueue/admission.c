#include "core/kueue/admission.h"

#include "core/admission/pump.h"
#include "core/admission/settle.h"
#include "core/admission/starvation.h"
#include "core/domain.h"
#include "core/job.h"
#include "core/kueue/admission_ask.h"
#include "core/kueue/admission_record.h"
#include "core/kueue/check_updates.h"
#include "core/kueue/claim.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/evict.h"
#include "core/kueue/multikueue.h"
#include "core/kueue/pods_ready.h"
#include "core/kueue/preempted.h"
#include "core/kueue/provisioning_check.h"
#include "core/kueue/queue_meter.h"
#include "core/kueue/queue_status.h"
#include "core/kueue/quota_wait.h"
#include "core/kueue/ready.h"
#include "core/kueue/room.h"
#include "core/kueue/workload_restore.h"
#include "core/provisioning/consumer.h"
#include "quota-tree/kueue_message.h"

#include <inttypes.h>

#define MAX_CHECKS     8
#define CONSIDERED_MAX 900 /* of the 1024 bytes of an event */

/* Takes nodes for it, in the batch that takes its quota. */
static bool place(struct core *c, struct workload *w)
{
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct placement_decision d;
	struct job *j = w->job;

	if (!j)
		return true;
	if (!admission_ask_make(c, w))
		return false;
	size_t n = starvation_exclude(c, j, excluded);
	/* What it claims is in the way of itself; lifting that wakes others, so not in vain. */
	if (claim_fits(c, w))
		claim_drop(c, w);
	if (!consumer_decide(c, j, excluded, n, &d)) {
		admission_ask_wait(c, w, j->ask);
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
	w->admitted_at = w->admitted_before ? w->admitted_before : c->now;
	w->admitted_before = 0;
	w->was_ready = false;
	w->unready_since = 0;
	if (w->max_execution)
		workload_timer(
		    c, w, w->admitted_at + (w->max_execution - w->past_execution) * USEC_PER_SEC);
	if (w->job)
		pods_ready_say(c, w, false);
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
	if (w->job && w->job->domains && !domain_is_exclusive(w->job))
		workload_set_domains(c, w, w->job->domains);
	multikueue_placed(c, w);
	queue_meter_admitted(c, w, had_checks);
	if (w->delayed)
		workload_end_delay(c, w);
	w->delayed = false;
	start_clock(c, w);
	workload_count_usage(c, w);
}

/* Who was sent to the back for an eviction that is over is as old as it is (reference/kueue.md
 * 2.1): nobody younger preempts it as newer. */
static void take_own_place(struct core *c, struct workload *w)
{
	if (w->queue_order == w->first_order)
		return;
	w->queue_order = w->first_order;
	kueue_queues_set_queue_order(c->kueue->queues, w->unit, w->first_order);
}

/* `considered`: the flavors that were looked at before, or "". */
static void reserved(struct core *c, struct workload *w, const struct kueue_assignment *a,
		     const char *considered, const char *const *checks, size_t n_checks)
{
	struct span queue = kueue_forest_name(c->kueue->forest, w->unit->queue);

	c->counters.reserved++;
	queue_meter_reserved(c, w);
	w->reserved_at = c->now;
	w->told = NULL;
	w->answered = true;
	w->requeue_at = 0;
	take_own_place(c, w);
	admission_ask_drop(c, w);
	preempted_drop(w);
	workload_set_admission(c, w, admission_record_text(c, w, a, checks, n_checks, &w->delayed));
	w->delay_told = false;
	workload_set_condition(c, w, "QuotaReserved", true, "QuotaReserved",
			       "Quota reserved in ClusterQueue %.*s", SPAN_ARGS(queue));
	workload_clear_condition(c, w, "Evicted", "QuotaReserved");
	workload_clear_condition(c, w, "Preempted", "QuotaReserved");
	workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "QuotaReserved",
		       "Quota reserved in ClusterQueue %.*s, wait time since queued was %" PRId64
		       "s%s%s",
		       SPAN_ARGS(queue), (c->now - workload_queued_since(w)) / USEC_PER_SEC,
		       considered[0] ? "; Flavors considered: " : "", considered);
	if (n_checks) {
		workload_set_checks(c, w, checks, n_checks);
		if (multikueue_others(c, checks, n_checks) && c->kueue->settings.observability)
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
	return cluster_queue_checks(c, workload_cluster_queue(c, e->workload->owner),
				    &e->assignment, checks, MAX_CHECKS);
}

/* Before its quota is charged. */
static void tell_considered(struct core *c, const struct kueue_entry *e, char *out, size_t size)
{
	struct kueue_assignment told = {0};
	struct kueue_forest *f = c->kueue->forest;

	out[0] = '\0';
	if (kueue_assign_attempts(f, e->workload, &e->assignment, &told))
		(void)kueue_message_considered(f, e->workload, &told, out, size);
	kueue_assignment_done(&told);
}

static bool try_entry(struct core *c, struct kueue_entry *e, bool promised)
{
	struct workload *w = e->workload->owner;
	const char *checks[MAX_CHECKS];
	char considered[CONSIDERED_MAX];
	size_t n = checks_of(c, e, checks);
	bool waits = multikueue_others(c, checks, n) > 0;

	admission_record_take(w, &e->assignment);
	bool placed = !waits && place(c, w);
	/* One that starves has its quota now, and a cluster that is kept free for it. */
	w->ahead = !waits && !placed && promised && starvation_promise(c, w->job);
	if (!waits && !placed && !w->ahead) {
		workload_drop_sets(w);
		return false;
	}
	quota_wait_took(c, w, e->assignment.uses.items, e->assignment.uses.len);
	tell_considered(c, e, considered, sizeof(considered));
	kueue_cycle_admit(c->kueue->queues, e, !placed);
	c->counters.decisions[KUEUE_RESERVES]++;
	reserved(c, w, &e->assignment, considered, checks, n);
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

static bool is_reason(const struct kueue_entry *e, const char *reason)
{
	return e->reason && strcmp(e->reason, reason) == 0;
}

/* Whether it waits for quota: that others hold, or for which it has waited already, and which is
 * kept for it while it looks for a cluster. */
static void note_wait(struct core *c, const struct kueue_entry *e)
{
	struct workload *w = e->workload->owner;
	bool lacks =
	    is_reason(e, "WaitingForQuota") || is_reason(e, "WaitingForPreemptedWorkloads");
	bool unplaced = w->short_of_quota && is_reason(e, "TopologyPlacementFailed");

	if (lacks && w->job)
		w->job->unplaced_since = 0;
	quota_wait_note(c, w, lacks || unplaced);
}

static void tell_entry(struct core *c, const struct kueue_entry *e)
{
	struct workload *w = e->workload->owner;
	auto_buf text = BUF_MAX(4096);

	note_wait(c, e);
	if (!e->reason || !e->reason[0] || (w->told && strcmp(w->told, e->reason) == 0))
		return;
	buf_add_str(&text, e->message ? e->message : "");
	if (is_reason(e, "TopologyPlacementFailed") && w->job)
		buf_addf(&text, "%s%s", text.len ? ": " : "",
			 w->misasked ? w->misasked : pump_summary(c, w->job->ask));
	if (is_reason(e, "WaitingForPreemptedWorkloads") && e->victims.items.len)
		preempted_words(c, &e->victims, &text);
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

	if (!w->job || w->job->digest.provisioning_request.len ||
	    multikueue_others(c, checks, checks_of(c, e, checks)))
		return e->victims.items.len > 0;
	admission_record_take(w, &e->assignment);
	bool fine = admission_ask_make(c, w);
	workload_drop_sets(w);
	if (fine && room_choose(c, e))
		return true;
	if (fine)
		admission_ask_wait(c, w, w->job->ask);
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
	/* Others than it was told of: what its condition says of them is over. */
	if (preempted_take(w, &e->victims))
		w->told = NULL;
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

/* The one that starves and would be passed by it with these flavors; NULL. */
static const struct workload *passes(struct core *c, const struct kueue_entry *e)
{
	struct workload *w = e->workload->owner;
	const struct kueue_assignment *a = &e->assignment;
	const struct workload *first = quota_wait_first(c, w, a->uses.items, a->uses.len);

	if (first)
		quota_wait_refused(c, w, first, a->uses.items, a->uses.len);
	return first;
}

/* Tries its flavors one after the other, as the engine gives them, until it starts or somebody
 * leaves for it. An entry that gets no answer is tried again in the next cycle. */
static void run_entry(struct core *c, struct kueue_entry *e, struct victims *victims)
{
	struct workload *w = e->workload->owner;
	bool promised = is_to_be_promised(c, w);
	bool refused = false;

	if (e->kind != KUEUE_ENTRY_FITS || !ready_blocks(c))
		admission_ask_drop(c, w);
	while (e->kind != KUEUE_ENTRY_WAITS) {
		bool in_order = !passes(c, e);
		refused = refused || !in_order;
		if (in_order && e->kind == KUEUE_ENTRY_FITS &&
		    (is_blocked(c, w) || try_entry(c, e, promised)))
			return;
		if (in_order && e->kind == KUEUE_ENTRY_PREEMPTS && is_worth_it(c, e)) {
			run_preemption(c, e, victims);
			c->counters.decisions[KUEUE_PREEMPTS]++;
			return;
		}
		if (!kueue_cycle_refuse(c->kueue->queues, e))
			break;
	}
	if (!refused)
		tell_entry(c, e);
	c->counters.decisions[KUEUE_WAITS]++;
}

static bool run_cycle(struct core *c)
{
	struct kueue_queues *q = c->kueue->queues;
	struct victims victims = {0};
	uint64_t reserved = c->counters.reserved;
	struct kueue_entry *e;

	quota_wait_sweep(c);
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

/* What its checks ask of its pods cannot be; nor is it tried again. */
static bool is_contradicted(struct core *c, struct workload *w)
{
	auto_buf words = BUF_MAX(4096);

	if (!w->job || !check_updates_conflict(c, w, &words))
		return false;
	evict_by_conflict(c, w, words.ptr);
	return true;
}

bool admission_start(struct core *c, struct workload *w)
{
	if (!w->unit || w->unit->state != KUEUE_RESERVING || !w->ready_to_place ||
	    is_contradicted(c, w) || !place(c, w))
		return false;
	bool had_checks = !w->ahead;
	w->ready_to_place = w->ahead = false;
	admission_ask_drop(c, w);
	kueue_queues_admitted(c->kueue->queues, w->unit);
	admitted(c, w, had_checks);
	return true;
}

void admission_give_back(struct core *c, struct workload *w)
{
	if (!w->ahead)
		return;
	w->ahead = w->ready_to_place = false;
	admission_ask_drop(c, w);
	evict_released(c, w);
	workload_set_condition(c, w, "QuotaReserved", false, workload_pending_reason(c),
			       "No member cluster can be kept free for the workload");
}

/* All checks are Ready, and its places are not found yet: Kueue's second pass. */
static void tell_delay(struct core *c, struct workload *w)
{
	if (!w->delayed || w->delay_told)
		return;
	w->delay_told = true;
	workload_set_condition(c, w, "Admitted", false, "PendingDelayedTopologyRequests",
			       "There are pending delayed topology requests");
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
		if (w->ready_to_place && w->unit && w->unit->state == KUEUE_RESERVING) {
			k->placing.items[kept++] = w;
			tell_delay(c, w);
		} else {
			w->ready_to_place = false;
		}
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
	run_placing(c);
	quota_wait_sweep(c);
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
