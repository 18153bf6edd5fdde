#include "core/admission/settle.h"

#include "core/admission/elastic_wait.h"
#include "core/admission/failover.h"
#include "core/admission/pump.h"
#include "core/assignment.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/dispatch/amend.h"
#include "core/dispatch/courier.h"
#include "core/domain.h"
#include "core/job.h"
#include "core/kueue/evict.h"
#include "core/kueue/finish.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/prebuilt.h"
#include "core/kueue/workload.h"
#include "core/kueue/workload_sync.h"
#include "core/member.h"
#include "core/priority.h"
#include "core/provisioning/consumer.h"
#include "core/quota.h"
#include "core/retention.h"
#include "core/swap/swap.h"
#include "quota-tree/quota_message.h"

void settle_hold(struct core *c, struct job *j, enum job_hold why, const char *detail)
{
	static const char *const reasons[HOLD_MAX] = {
	    [HOLD_SUSPENDED] = "Suspended",
	    [HOLD_NO_POLICY] = "NoPolicy",
	    [HOLD_NO_QUOTA] = "NoElasticQuota",
	    [HOLD_NO_QUEUE] = "QueueNotFound",
	    [HOLD_POLICY_SUSPENDED] = "Suspended",
	    [HOLD_QUEUE] = "QueueInactive",
	    [HOLD_TOPOLOGY] = "TopologyPlacementFailed",
	    [HOLD_PROVISIONING] = "WaitingForProvisioning",
	    [HOLD_PREBUILT] = "PrebuiltWorkloadNotFound",
	};
	bool news = j->hold != why || !j->hold_detail || strcmp(j->hold_detail, detail) != 0;
	bool told = j->top_reason && strcmp(j->top_reason, reasons[why]) == 0;

	j->hold = why;
	if (!news)
		return;
	free(j->hold_detail);
	j->hold_detail = xstrdup(detail);
	free(j->top_reason);
	j->top_reason = xstrdup(reasons[why]);
	j->binding_dirty = j->unit_dirty = true;
	if (!told && (why == HOLD_NO_QUOTA || why == HOLD_NO_QUEUE || why == HOLD_QUEUE ||
		      why == HOLD_TOPOLOGY || why == HOLD_PREBUILT))
		job_event_add(c, j, "Warning", "ScheduleBindingFailed", "%s", detail);
	core_job_dirty(c, j);
}

void settle_unhold(struct job *j)
{
	j->hold = HOLD_NONE;
	free(j->hold_detail);
	j->hold_detail = NULL;
}

void settle_tell(struct core *c, struct job *j, const char *reason)
{
	if (j->top_reason && strcmp(j->top_reason, reason) == 0)
		return;
	free(j->top_reason);
	j->top_reason = xstrdup(reason);
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

static const struct propagation_policy *match(const struct core *c, const struct kind *kind,
					      struct span ns, struct span name,
					      const struct job_digest *digest,
					      const struct propagation_policy *first)
{
	auto_arena mem = ARENA_INIT;
	char api_version[KIND_API_VERSION_MAX];
	struct label *labels = arena_array(&mem, struct label, digest->n_labels);
	const struct propagation_object o = {
	    .api_version =
		span_of(kind_api_version(job_digest_kind(c->kinds, kind, digest), api_version)),
	    .kind = span_of(kind->kind),
	    .ns = ns,
	    .name = name,
	    .labels = labels,
	    .n_labels = digest->n_labels,
	};

	for (size_t i = 0; i < digest->n_labels; i++)
		labels[i] = (struct label){digest->labels[i].key, digest->labels[i].value};
	return first && propagation_selects(first, &o) ? first : propagation_match(c->policies, &o);
}

/* A claimed job keeps its policy: no later one takes it away, however high its priority, while the
 * first exists and selects the job, or has already placed it (Karmada; federation.md 2.1). */
static const struct propagation_policy *policy_of(const struct core *c, const struct job *j)
{
	const struct propagation_policy *p = NULL;

	if (j->policy_name)
		p = propagation_index_get(c->policies,
					  j->policy_ns ? span_of(j->policy_ns) : SPAN_NONE,
					  span_of(j->policy_name));
	if (p && j->replacements > 0)
		return p;
	return match(c, j->kind, span_of(j->ns), span_of(j->name), &j->digest, p);
}

const struct propagation_policy *settle_policy(const struct core *c, const struct job *j)
{
	const struct propagation_policy *p = NULL;

	if (j->policy_name)
		p = propagation_index_get(c->policies,
					  j->policy_ns ? span_of(j->policy_ns) : SPAN_NONE,
					  span_of(j->policy_name));
	return p ? p : propagation_builtin();
}

static void take_policy(struct job *j, const struct propagation_policy *p)
{
	free(j->policy_ns);
	free(j->policy_name);
	j->policy_ns = p->ns.ptr && p->ns.len ? xstrndup(p->ns.ptr, p->ns.len) : NULL;
	j->policy_name = p->name.len ? xstrndup(p->name.ptr, p->name.len) : NULL;
	j->must_queue = p->suspend_scheduling;
	j->propagate_deps = p->propagate_deps;
}

void settle_withdraw(struct core *c, struct job *j)
{
	pump_remove(c, j);
	if (j->unit && !j->holds)
		quota_dequeue(c, j);
}

/* Whether something keeps it from being offered at all; says why. */
static bool is_held(struct core *c, struct job *j, const struct propagation_policy *p, bool queued)
{
	if (!p) {
		settle_hold(c, j, HOLD_NO_POLICY, "No PropagationPolicy selects the job.");
		return true;
	}
	/* A Kueue queue owns the field: what its user wrote there says nothing. */
	if (j->user_suspended && !queued) {
		settle_hold(c, j, HOLD_SUSPENDED, "The job is suspended by its own field.");
		return true;
	}
	if (p->suspend_dispatching) {
		settle_hold(c, j, HOLD_POLICY_SUSPENDED, "The policy suspends dispatching.");
		return true;
	}
	auto_buf words = BUF_MAX(4096);
	if (consumer_is_held(c, j, &words)) {
		settle_hold(c, j, HOLD_PROVISIONING, words.ptr ? words.ptr : "");
		return true;
	}
	return false;
}

/* The LocalQueue that a job waits in; one named "default" is asked last. False: none of Kueue's
 * business. An empty name: it waits for one to be named (manageJobsWithoutQueueName). `elastic`: a
 * policy suspends its scheduling. */
static bool queue_of(struct core *c, struct span ns, struct span named, bool elastic,
		     struct span *ret)
{
	const struct local_queue *q;

	*ret = SPAN_NONE;
	if (!kueue_manages(c, ns))
		return false;
	if (named.len || elastic) {
		*ret = named;
		return ret->len > 0;
	}
	q = local_queue_find(c, ns, SPAN("default"));
	if (q && q->exists)
		*ret = SPAN("default");
	return ret->len > 0 || c->kueue->settings.manage_unqueued;
}

bool settle_goes_to_queue(struct core *c, const struct kind *kind, struct span ns, struct span name,
			  const struct job_digest *digest)
{
	struct span unused;

	if (digest->queue_name.len)
		return kueue_manages(c, ns);
	const struct propagation_policy *p = match(c, kind, ns, name, digest, NULL);
	return (p || !c->settings.require_policy) &&
	       queue_of(c, ns, SPAN_NONE, p && p->suspend_scheduling, &unused);
}

static void offer_to_queue(struct core *c, struct job *j, const struct propagation_policy *p,
			   struct span queue)
{
	struct err err = ERR_INIT;

	/* What is wrong with its topology is told by the queue, when the levels are known. */
	if ((job_ask(c, j, p, &err) < 0 && job_ask_anywhere(c, j, p, &err) < 0) ||
	    (!j->digest.prebuilt.len && !workload_of_job(c, j, queue, &err)))
		settle_hold(c, j, HOLD_QUEUE, err.text);
	else if (j->digest.prebuilt.len)
		prebuilt_offer(c, j, queue);
	c->pump_wanted = true;
}

void settle_offer(struct core *c, struct job *j)
{
	const struct propagation_policy *p = policy_of(c, j);
	struct err err = ERR_INIT;

	settle_withdraw(c, j);
	if (!dispatch_is_free(&j->dispatch) || j->finished || j->deleting || j->gone)
		return;
	if (!p && !c->settings.require_policy)
		p = propagation_builtin();
	if (p) {
		bool queued = j->must_queue;
		take_policy(j, p);
		if (queued && !j->must_queue) {
			j->unit_dirty = true;
			core_job_dirty(c, j);
		}
		if (!j->binding_exists) {
			j->binding_dirty = true;
			core_job_dirty(c, j);
		}
	}
	if (j->priority_pending) {
		priority_resolve(c, j);
		j->binding_dirty = j->binding_dirty || !j->priority_pending;
	}
	if (!j->elastic_name) {
		auto_buf name = BUF_INIT;
		buf_addf(&name, "%s/%s/%s", j->ns, j->name, j->kind->kind);
		j->elastic_name = buf_steal(&name, NULL);
	}
	struct span queue;
	bool managed = queue_of(c, span_of(j->ns), j->digest.queue_name, j->must_queue, &queue);
	j->must_queue = j->must_queue && !managed;
	if (!managed && j->workload)
		workload_leave(c, j->workload);
	if (is_held(c, j, p, managed)) {
		if (j->workload)
			workload_review(c, j->workload);
		return;
	}
	if (managed) {
		offer_to_queue(c, j, p, queue);
		return;
	}
	if (job_ask(c, j, p, &err) < 0) {
		bool topology = job_ask_anywhere(c, j, p, NULL) == 0;
		settle_hold(c, j, topology ? HOLD_TOPOLOGY : HOLD_NO_QUOTA, err.text);
		return;
	}
	if (j->must_queue && quota_enqueue(c, j, false, &err) < 0) {
		settle_hold(c, j, HOLD_NO_QUOTA, err.text);
		return;
	}
	settle_unhold(j);
	if (j->must_queue) {
		j->unit_dirty = true;
		core_job_dirty(c, j);
	} else {
		pump_add(c, j);
	}
	c->pump_wanted = true;
}

void settle_place(struct core *c, struct job *j, const struct placement_decision *d)
{
	struct member *m = member_by_view(c, d->cluster);
	auto_buf result = BUF_INIT;

	if (!m || ledger_assume(c->ledger, j->number, j->shape, d->cluster, d->slots, d->n_slots, 0,
				NULL) < 0)
		return;
	if (j->unit && !elastic_unit_is_admitted(j->unit)) {
		if (elastic_queue_admit(c->quota.queues, j->unit, NULL) < 0) {
			ledger_drop(c->ledger, j->number);
			return;
		}
		elastic_wait_took(c, j->unit);
	}
	pump_remove(c, j);
	swap_placed(c, j);
	j->holds = true;
	consumer_placed(c, j);
	free(j->assignment);
	j->assignment =
	    assignment_pack(c->fleet, d->cluster, d->slots, d->n_slots, &j->assignment_len);
	char *domains = domain_choose(c, j, d);
	free(j->domains);
	j->domains = domains;
	j->decided_at = c->now;
	j->dequeued_at = c->now;
	j->phase = COPY_CREATED;
	j->replacements++;
	j->live_pods = j->ready_pods = j->ready_beside = 0;
	if (j->dispatch.step == DISPATCH_IDLE) {
		j->copy_revision = 0;
		settle_enter_member(m, j);
	}
	free(j->top_reason);
	j->top_reason = NULL;
	free(j->dispatch_message);
	j->dispatch_message = NULL;
	m->status_dirty = true;
	c->quota.status_dirty = true;
	c->counters.admitted++;
	binding_result(j, m->name, &result);
	job_event_add(c, j, "Normal", "ScheduleBindingSucceed",
		      "Binding has been scheduled successfully. Result: %s", result.ptr);
	j->unit_dirty = true;
	courier_feed(c, j, &(struct dispatch_event){EVENT_DECIDED, .member = m->number});
}

static void release_workload(struct core *c, struct job *j)
{
	if (j->finished)
		finish_workload(c, j->workload, j->phase == COPY_SUCCEEDED);
	else if (j->deleting || j->gone)
		workload_withdraw(c, j->workload);
	else
		evict_released(c, j->workload);
}

void settle_release(struct core *c, struct job *j)
{
	if (!j->holds)
		return;
	j->holds = false;
	swap_released(c, j);
	free(j->assignment);
	j->assignment = NULL;
	j->assignment_len = 0;
	free(j->domains);
	j->domains = NULL;
	free(j->spent);
	j->spent = NULL;
	(void)ledger_drop(c->ledger, j->number);
	if (j->unit && (j->finished || j->deleting || j->gone || j->user_suspended))
		quota_dequeue(c, j);
	else if (j->unit)
		elastic_queue_requeue(c->quota.queues, j->unit);
	c->quota.status_dirty = c->quota.reclaim_wanted = true;
	j->unit_dirty = true;
	c->pump_wanted = true;
	core_job_freed(c, j);
	if (j->workload)
		release_workload(c, j);
}

void settle_enter_member(struct member *m, struct job *j)
{
	vec_push(&m->jobs, j->number);
	j->member_at = m->jobs.len;
}

void settle_leave_member(struct core *c, struct job *j, uint32_t number)
{
	struct member *m = member_by_number(c, number);

	if (!m || !j->member_at)
		return;
	struct job *last = job_by_number(c, m->jobs.items[--m->jobs.len]);
	if (last && last != j) {
		m->jobs.items[j->member_at - 1] = last->number;
		last->member_at = j->member_at;
	}
	j->member_at = 0;
	m->status_dirty = true;
	if (m->deleting)
		m->unjoin_at = c->now;
}

/* What its copy said last is not true of a job that nobody runs: it is as it was when it came. */
static void forget_run(struct core *c, struct job *j)
{
	struct buf status = BUF_INIT;

	job_accepted_status(j->kind, j->name, j->workload || j->user_suspended, j->created,
			    &status);
	if (!status.len)
		buf_add_str(&status, "{}");
	free(j->status);
	j->status = buf_steal(&status, &j->status_len);
	j->status_finished = false;
	j->status_due = c->now;
}

void settle_idle(struct core *c, struct job *j, uint32_t was)
{
	settle_leave_member(c, j, was);
	j->live_pods = j->ready_pods = j->ready_beside = 0;
	if (j->deleting || j->gone) {
		quota_dequeue(c, j);
		j->finalize = true;
	} else if (!j->finished) {
		failover_idle(c, j, was);
		j->phase = COPY_CREATED;
		forget_run(c, j);
		settle_offer(c, j);
	}
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

void settle_parked(struct core *c, struct job *j)
{
	j->live_pods = j->ready_pods = j->ready_beside = 0;
	j->binding_dirty = true;
	core_job_dirty(c, j);
	if (j->deleting || j->gone) {
		courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
	} else if (!j->finished && !failover_parked(c, j)) {
		j->phase = COPY_CREATED;
		settle_offer(c, j);
	}
}

void settle_unparked(struct core *c, struct job *j)
{
	settle_withdraw(c, j);
	if (j->workload)
		workload_review(c, j->workload);
}

void settle_finished(struct core *c, struct job *j)
{
	if (j->finished)
		return;
	j->finished = true;
	c->counters.finished++;
	courier_feed(c, j, &(struct dispatch_event){EVENT_FINISHED});
	settle_release(c, j);
	retention_keep(c, j);
	j->binding_dirty = j->unit_dirty = true;
	core_job_dirty(c, j);
}

void settle_changed(struct core *c, struct job *j, bool asks_changed)
{
	if (j->deleting || j->gone) {
		settle_withdraw(c, j);
		/* It waits no more, though a copy may be there. Quota without nodes: what its rows
		 * held is given back before others take it. */
		if (!j->holds && j->workload) {
			if (workload_holds_quota(j->workload))
				core_job_freed(c, j);
			workload_withdraw(c, j->workload);
		}
		if (j->dispatch.step == DISPATCH_IDLE) {
			j->finalize = true;
			core_job_dirty(c, j);
			return;
		}
		courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
		return;
	}
	if (j->finished)
		return;
	if (!dispatch_is_free(&j->dispatch)) {
		if (j->user_suspended && !j->workload)
			courier_feed(c, j, &(struct dispatch_event){EVENT_STOP});
		return;
	}
	if (asks_changed || j->hold != HOLD_NONE)
		settle_offer(c, j);
}

void settle_edited(struct core *c, struct job *j)
{
	if (j->finished || j->deleting || j->gone || workload_sync(c, j))
		return;
	if (!j->workload)
		capacity_reshape(c, j);
	amend_begin(c, j);
}
