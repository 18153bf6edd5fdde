/*
 * The status is written before pods are made: when a batch fills up, the rest of the work waits
 * in the queue and is decided anew from what was committed.
 */
#include "member-sync/sim/job_sync.h"
#include "member-sync/sim/job_codec.h"
#include "member-sync/sim/job_pods.h"
#include "member-sync/sim/mpi_operator.h"
#include <errno.h>

struct sync {
	struct cluster *c;
	struct sim_job *j;
	struct store_object object;
	struct plan plan;
	struct VEC(struct pod_view) views;
	bool again; /* something is left for the next batch */
};

static void view_pods(struct sync *s)
{
	vec_foreach (&s->j->pods, p)
		vec_push(&s->views, cluster_pods_view(*p));
}

static int put_status(struct sync *s)
{
	struct cluster *c = s->c;
	struct sim_job *j = s->j;
	struct object_draft d;
	struct err why = ERR_INIT;
	auto_buf status = BUF_INIT;
	job_codec_print_status(j, &status);
	int rc = object_draft_splice_status(&s->object, buf_span(&status), cluster_jobs_finished(j),
					    &d, &why);
	if (rc)
		return cluster_fail(c, &why);
	j->ours = true;
	return registry_put(c->batch, j->kind, span_of(j->ns), span_of(j->name), &d);
}
/* Rows that one pod may need (pod, service, Event), and its job's status. */
#define ROWS_PER_POD 4

static bool has_room(const struct sync *s)
{
	return registry_batch_room(s->c->batch) >= ROWS_PER_POD + REGISTRY_RESERVE &&
	       !registry_batch_full(s->c->batch);
}

static void carry_out(struct sync *s)
{
	/* Pods first leave, then come: what goes makes room. */
	vec_foreach (&s->plan.deletes, i) {
		if (!has_room(s)) {
			s->again = true;
			return;
		}
		if (cluster_pods_delete(s->c, s->j->pods.items[*i]) == -ESTALE)
			s->again = true;
	}
	vec_foreach (&s->plan.creates, slot) {
		if (!has_room(s)) {
			s->again = true;
			return;
		}
		/* A pod of that name on its way out, or in this batch: decide again later. */
		if (job_pods_create(s->c, s->j, slot))
			s->again = s->again || !registry_batch_empty(s->c->batch);
	}
}

static void drop_services(struct sync *s)
{
	struct sim_job *j = s->j;
	for (size_t t = 0; t < j->spec.training.n_types; t++) {
		for (int32_t i = 0; i < j->spec.training.types[t].replicas; i++) {
			struct plan_create slot = {(int32_t)t, i, 0};
			if (!has_room(s)) {
				s->again = true;
				return;
			}
			job_pods_drop_service(s->c, j, &slot);
		}
	}
	j->has_services = false;
}

static void sync_training(struct sync *s)
{
	struct sim_job *j = s->j;
	bool services = false, changed;
	const struct training_view v = {
	    .spec = &j->spec.training,
	    .ns = j->ns,
	    .name = j->name,
	    .pods = s->views.items,
	    .n_pods = s->views.len,
	    .now = s->c->now,
	};
	if (v.spec->kind == TRAINING_MPI_BETA)
		changed = mpi_operator_decide(&v, &j->state.training, &s->plan);
	else
		changed = training_decide(&v, &j->state.training, &s->plan, &services);
	if (changed)
		(void)!put_status(s);
	if (j->has_services && !services)
		drop_services(s);
	carry_out(s);
}

static void sync_batch(struct sync *s)
{
	struct sim_job *j = s->j;
	struct conditions *conditions = &j->state.batch.conditions;
	bool was = conditions_true(conditions, "Suspended");
	if (batch_job_decide(&j->spec.batch, s->views.items, s->views.len, s->c->now,
			     &j->state.batch, &s->plan))
		(void)!put_status(s);
	bool is = conditions_true(conditions, "Suspended");
	if (j->ours && is != was)
		cluster_event(s->c, j->kind, span_of(j->ns), span_of(j->name), span_of(j->uid_text),
			      "job-controller", false, is ? "Suspended" : "Resumed", "%s",
			      is ? "Job suspended" : "Job resumed");
	carry_out(s);
	if (cluster_jobs_finished(j) && j->ours)
		cluster_event(s->c, j->kind, span_of(j->ns), span_of(j->name), span_of(j->uid_text),
			      "job-controller",
			      !conditions_true(&j->state.batch.conditions, "Complete"),
			      conditions_true(&j->state.batch.conditions, "Complete")
				  ? "Completed"
				  : conditions_get(&j->state.batch.conditions, "Failed")->reason,
			      "%s",
			      conditions_true(&j->state.batch.conditions, "Complete")
				  ? "Job completed"
				  : conditions_get(&j->state.batch.conditions, "Failed")->message);
}

static void sync_ray(struct sync *s)
{
	struct sim_job *j = s->j;
	if (ray_job_decide(&j->spec.ray, s->views.items, s->views.len, s->c->now, &j->state.ray,
			   &s->plan))
		(void)!put_status(s);
	carry_out(s);
}

static void sync_ray_cluster(struct sync *s)
{
	struct sim_job *j = s->j;
	if (ray_cluster_decide(&j->spec.ray_cluster, s->views.items, s->views.len, s->c->now,
			       &j->state.ray_cluster, &s->plan))
		(void)!put_status(s);
	carry_out(s);
}

static struct job_set_child child_view(const struct sim_job *k)
{
	const struct condition *failed = conditions_get(&k->state.batch.conditions, "Failed");
	struct job_set_child v = {
	    .set = k->set,
	    .index = k->index,
	    .attempt = k->attempt,
	    .job_attempt = k->job_attempt,
	    .deleting = k->deleting,
	    .suspended = k->spec.batch.suspend,
	    .complete = conditions_true(&k->state.batch.conditions, "Complete"),
	    .failed = failed && failed->status,
	    .name = k->name,
	    .active = k->state.batch.active,
	    .ready = k->state.batch.ready,
	    .succeeded = k->state.batch.succeeded,
	};
	if (v.failed) {
		snprintf(v.reason, sizeof(v.reason), "%s", failed->reason);
		v.message = failed->message;
		v.failed_at = failed->changed;
	}
	return v;
}

/* Its pods first, as JobSet's controller has it: its name is free when they are gone. */
static int delete_child(struct sync *s, struct sim_job *k)
{
	struct store_object o;
	int rc = cluster_current(s->c, k->kind, span_of(k->ns), span_of(k->name), k->revision, &o);
	if (!rc)
		rc = registry_remove(s->c->batch, k->kind, span_of(k->ns), span_of(k->name),
				     PROPAGATE_FOREGROUND);
	if (!rc)
		k->deleting = true;
	return rc;
}

static void carry_out_children(struct sync *s, const struct job_set_plan *plan)
{
	struct sim_job *j = s->j;
	int rc = 0;
	vec_foreach (&plan->deletes, i) {
		if (!has_room(s) || delete_child(s, j->children.items[*i]) == -ESTALE)
			s->again = true;
	}
	vec_foreach (&plan->suspends, i) {
		if (!has_room(s) ||
		    cluster_children_suspend(s->c, j->children.items[*i], &s->object,
					     j->spec.job_set->suspend) == -ESTALE)
			s->again = true;
	}
	if (plan->creates.len)
		rc = cluster_children_create(s->c, j, &s->object, plan->creates.items,
					     plan->creates.len);
	s->again |= rc == -ENOSPC;
}

static void sync_job_set(struct sync *s)
{
	struct sim_job *j = s->j;
	struct VEC(struct job_set_child) views = {0};
	struct job_set_plan plan = {0};
	vec_foreach (&j->children, k)
		vec_push(&views, child_view(*k));
	bool changed = job_set_decide(j->spec.job_set, views.items, views.len, s->c->now,
				      j->state.job_set, &plan);
	/* Children are made from the object as it was read: put_status() replaces it. */
	carry_out_children(s, &plan);
	if (changed && put_status(s) == 0)
		vec_foreach (&plan.events, e)
			cluster_event(s->c, s->j->kind, span_of(s->j->ns), span_of(s->j->name),
				      span_of(s->j->uid_text), "jobset", e->warning, e->reason,
				      "%s", e->message);
	/* It is decided first, and carried out when looked at again. */
	s->again |= plan.restarted;
	job_set_plan_done(&plan);
	vec_done(&views);
}

/* ---- any job ---- */

static void look_after_ttl(struct sync *s)
{
	struct sim_job *j = s->j;
	if (!cluster_jobs_finished(j))
		return;
	if (!j->finished_at)
		j->finished_at = s->c->now;
	if (j->ttl < 0 || j->parent)
		return;
	usec at = j->finished_at + j->ttl * USEC_PER_SEC;
	if (s->c->now < at)
		plan_again(&s->plan, at);
	else
		(void)!registry_remove(s->c->batch, j->kind, span_of(j->ns), span_of(j->name),
				       PROPAGATE_BACKGROUND);
}

static bool has_cluster_pods(const struct sim_job *j)
{
	vec_foreach (&j->pods, p)
		if (!ray_job_is_submitter(&j->spec.ray, (*p)->set))
			return true;
	return false;
}

/* Over, and nobody will ask about it. */
static bool is_done_with(const struct sim_job *j)
{
	if (j->queued || j->parent || j->ttl >= 0 || j->ours || !cluster_jobs_finished(j))
		return false;
	if (j->type == SIM_RAY && j->spec.ray.shutdown && has_cluster_pods(j))
		return false;
	return j->heap_slot == 0;
}

void job_sync(struct cluster *c, struct sim_job *j)
{
	struct sync s = {.c = c, .j = j};
	if (j->deleting || j->managed_elsewhere)
		return;
	int rc =
	    cluster_current(c, j->kind, span_of(j->ns), span_of(j->name), j->revision, &s.object);
	if (rc == -ESTALE)
		cluster_jobs_enqueue(c, j);
	if (rc)
		return;
	view_pods(&s);
	switch (j->type) {
	case SIM_BATCH:
		sync_batch(&s);
		break;
	case SIM_JOB_SET:
		sync_job_set(&s);
		break;
	case SIM_TRAINING:
		sync_training(&s);
		break;
	case SIM_RAY:
		sync_ray(&s);
		break;
	case SIM_RAY_CLUSTER:
		sync_ray_cluster(&s);
		break;
	}
	look_after_ttl(&s);
	if (s.again)
		cluster_jobs_enqueue(c, j);
	else if (s.plan.again)
		cluster_timer_set(c, s.plan.again, NULL, j);
	plan_done(&s.plan);
	vec_done(&s.views);
	if (is_done_with(j))
		cluster_jobs_forget(c, j);
}
