/*
 * Checks and spec.active of a scenario: the engine's rules (kueue_lifecycle.h) decide, and what
 * they say is done to its queues as core does it (hub/core/kueue/evict.c).
 */
#include "base/json.h"
#include "kueue_world.h"
#include "quota-tree/kueue_lifecycle.h"

#define SECOND	   ((int64_t)1000000)
#define MAX_CHECKS 8

static struct kueue_life life_of(const struct job *job)
{
	return (struct kueue_life){
	    .inactive = job->inactive,
	    .admitted = job->record->state == KUEUE_ADMITTED,
	    .evicted = job->record->state == KUEUE_EVICTED,
	    .requeue_at = job->requeue_at,
	};
}

static void carry_out(struct world *w, struct job *job, const struct kueue_loss_plan *p,
		      int64_t now)
{
	if (p->loss == KUEUE_KEEPS)
		return;
	job->requeue_at = p->requeue_at;
	job->inactive = job->inactive || p->loss == KUEUE_DEACTIVATES;
	job->evicted_as = p->reason;
	if (p->to_back)
		kueue_queues_set_queue_order(w->queues, job->record, now);
	kueue_queues_evicted(w->queues, job->record);
}

static enum kueue_check_state state_of(struct span check)
{
	return line_is(check, "state", "Ready")	     ? KUEUE_CHECK_READY
	       : line_is(check, "state", "Retry")    ? KUEUE_CHECK_RETRY
	       : line_is(check, "state", "Rejected") ? KUEUE_CHECK_REJECTED
						     : KUEUE_CHECK_PENDING;
}

static bool is_for(const struct world *w, struct span flavors, uint32_t flavor)
{
	struct span name = kueue_forest_flavor_name(w->forest, flavor), value;
	size_t pos = 0;

	while (json_text_next(flavors, &pos, NULL, &value))
		if (span_eq(json_text_plain(value), name))
			return true;
	return line_count(flavors) == 0;
}

bool checks_apply(struct world *w, struct span queue, const struct kueue_assignment *a)
{
	const struct span *checks = map_get(&w->checks, queue);
	struct span value;
	size_t pos = 0;

	while (checks && checks->len && json_text_next(*checks, &pos, NULL, &value))
		vec_foreach (&a->choices, c)
			if (c->flavor != KUEUE_NONE &&
			    is_for(w, line_member(value, "flavors"), c->flavor))
				return true;
	return false;
}

void checks_say(struct world *w, struct job *job, struct span line)
{
	struct kueue_check checks[MAX_CHECKS];
	struct span list = line_member(line, "checks"), value;
	int64_t now = line_number(line, "now", 0);
	size_t n = 0, ready = 0, pos = 0;
	while (list.len && n < MAX_CHECKS && json_text_next(list, &pos, NULL, &value)) {
		checks[n] = (struct kueue_check){
		    .name = line_text(w, value, "name"),
		    .state = state_of(value),
		    .since = line_number(value, "since", 0) * SECOND,
		    .requeue_after = line_number(value, "after", 0),
		};
		ready += checks[n++].state == KUEUE_CHECK_READY;
	}
	struct kueue_life life = life_of(job);
	struct kueue_loss_plan p = kueue_lifecycle_checked(&life, checks, n, now * SECOND);
	carry_out(w, job, &p, now);
	if (p.loss == KUEUE_KEEPS && job->record->state == KUEUE_RESERVING && ready == n)
		kueue_queues_admitted(w->queues, job->record);
}

void checks_deactivate(struct world *w, struct job *job)
{
	job->inactive = true;
	if (!kueue_workload_holds_quota(job->record)) {
		job->requeue_at = 0;
		kueue_queues_hold(w->queues, job->record, false);
		return;
	}
	struct kueue_life life = life_of(job);
	struct kueue_loss_plan p = kueue_lifecycle_stopped(&life);
	carry_out(w, job, &p, 0);
}

void checks_activate(struct world *w, struct job *job)
{
	job->inactive = false;
	job->requeue_at = 0;
	if (job->record->state == KUEUE_HELD)
		kueue_queues_unhold(w->queues, job->record);
}

static bool may_come_back(const struct job *job, int64_t now)
{
	const char *as = job->evicted_as ? job->evicted_as : "Preempted", *message;
	struct kueue_life life = life_of(job);

	return !job->inactive &&
	       kueue_lifecycle_back(&life, as, true, true, now * SECOND, &message);
}

void checks_keep_back(struct world *w, struct job *job, int64_t now)
{
	if (!may_come_back(job, now))
		kueue_queues_hold(w->queues, job->record, !job->inactive);
}

void checks_look_back(struct world *w)
{
	map_foreach (&w->jobs, e) {
		struct job *job = e->value;
		if (job->record->state != KUEUE_HELD || !job->requeue_at ||
		    !may_come_back(job, w->now))
			continue;
		job->requeue_at = 0;
		kueue_queues_unhold(w->queues, job->record);
	}
}
