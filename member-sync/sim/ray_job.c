#include "member-sync/sim/ray_job.h"

static const char *const texts[] = {
    "",
    "PENDING",
    "RUNNING",
    "STOPPED",
    "SUCCEEDED",
    "FAILED",
    "Initializing",
    "Running",
    "Complete",
    "Failed",
    "Suspending",
    "Suspended",
    "Retrying",
    "Waiting",
    "AppFailed",
    "DeadlineExceeded",
    "SubmissionFailed",
};

#define MAX_SUBMITTERS 3 /* the backoffLimit of 2 that KubeRay gives their Job, and the first */

const char *ray_job_text(struct span text)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (span_is(text, texts[i]))
			return texts[i];
	return NULL;
}

bool ray_job_finished(const struct ray_job_state *s)
{
	return strcmp(s->deployment, "Complete") == 0 || strcmp(s->deployment, "Failed") == 0;
}

bool ray_job_is_submitter(const struct ray_job_spec *spec, int32_t set)
{
	return set >= 0 && (size_t)set == spec->n_sets;
}

/* Of the cluster alone, or the submitter's too. */
static void delete_pods(const struct ray_job_spec *spec, const struct pod_view *pods, size_t n,
			bool submitter, struct plan *plan)
{
	for (size_t i = 0; i < n; i++)
		if (!pods[i].deleting && (submitter || !ray_job_is_submitter(spec, pods[i].set)))
			vec_push(&plan->deletes, i);
}

static void end(struct ray_job_state *s, const char *job, const char *deployment,
		const char *reason, const char *message, usec now)
{
	s->job = job;
	s->deployment = deployment;
	s->reason = reason;
	s->message = message;
	s->ended = now;
}

struct step {
	const struct ray_job_spec *spec;
	const struct pod_view *pods;
	size_t n;
	usec now;
	struct ray_job_state *state;
	struct plan *plan;
};

/* Creates what is missing of the present cluster. True when every pod of it runs. */
static bool bring_up(struct step *s)
{
	bool all = true;
	for (size_t set = 0; set < s->spec->n_sets; set++) {
		size_t want = (size_t)s->spec->pods[set];
		auto_free bool *there = xcalloc(want, sizeof(*there));
		for (size_t i = 0; i < s->n; i++) {
			const struct pod_view *p = &s->pods[i];
			if (p->set != (int32_t)set || p->attempt != s->state->attempt ||
			    p->index < 0 || (size_t)p->index >= want)
				continue;
			there[p->index] = true;
			all &= p->phase == POD_RUNNING;
		}
		for (size_t i = 0; i < want; i++) {
			if (there[i])
				continue;
			all = false;
			vec_push(&s->plan->creates,
				 (struct plan_create){(int32_t)set, (int32_t)i, s->state->attempt});
		}
	}
	return all;
}

static bool lost_a_pod(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->pods[i].attempt == s->state->attempt && s->pods[i].phase == POD_FAILED &&
		    !ray_job_is_submitter(s->spec, s->pods[i].set))
			return true;
	return false;
}

static void fail_or_retry(struct step *s, const char *reason, const char *message)
{
	struct ray_job_state *st = s->state;
	st->failed++;
	delete_pods(s->spec, s->pods, s->n, st->failed <= s->spec->backoff_limit, s->plan);
	if (st->failed > s->spec->backoff_limit) {
		end(st, "FAILED", "Failed", reason, message, s->now);
		return;
	}
	st->deployment = "Retrying";
	st->job = "";
	st->running = 0;
	st->attempt++;
	st->has_cluster = false;
	plan_again(s->plan, s->now);
}

/* The cluster is up: the submitter's pod, and another when it failed. True when one of them runs
 * or has run to its end. */
static bool submit(struct step *s)
{
	struct ray_job_state *st = s->state;
	int32_t made = 0, failed = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct pod_view *p = &s->pods[i];
		if (!ray_job_is_submitter(s->spec, p->set) || p->attempt != st->attempt)
			continue;
		made++;
		failed += p->phase == POD_FAILED;
		if (p->phase == POD_RUNNING || p->phase == POD_SUCCEEDED)
			return true;
	}
	if (failed >= MAX_SUBMITTERS) {
		delete_pods(s->spec, s->pods, s->n, false, s->plan);
		st->failed++;
		end(st, "", "Failed", "SubmissionFailed", "the submitter failed", s->now);
	} else if (made == failed) {
		vec_push(&s->plan->creates,
			 (struct plan_create){(int32_t)s->spec->n_sets, made, st->attempt});
	}
	return false;
}

/* Whether the entrypoint has been handed over. */
static bool is_submitted(struct step *s)
{
	switch (s->spec->submission) {
	case RAY_K8S_JOB:
		s->state->deployment = "Running";
		return submit(s);
	case RAY_INTERACTIVE:
		s->state->deployment = s->spec->submitted ? "Running" : "Waiting";
		return s->spec->submitted;
	case RAY_HTTP:
	case RAY_SIDECAR:
	default:
		s->state->deployment = "Running";
		return true;
	}
}

/* The first submitter follows the entrypoint's log to its end. */
static bool is_followed(const struct step *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct pod_view *p = &s->pods[i];
		if (ray_job_is_submitter(s->spec, p->set) && p->attempt == s->state->attempt &&
		    p->index == 0 && !p->deleting && p->phase == POD_RUNNING)
			return true;
	}
	return false;
}

static void drive(struct step *s)
{
	struct ray_job_state *st = s->state;
	usec deadline = 0;
	if (!st->started)
		st->started = s->now;
	if (s->spec->active_deadline >= 0)
		deadline = st->started + s->spec->active_deadline * USEC_PER_SEC;
	if (deadline && s->now >= deadline) {
		delete_pods(s->spec, s->pods, s->n, true, s->plan);
		end(st, "FAILED", "Failed", "DeadlineExceeded",
		    "The RayJob has passed the activeDeadlineSeconds.", s->now);
		return;
	}
	if (deadline)
		plan_again(s->plan, deadline);
	if (!st->has_cluster) {
		st->has_cluster = true;
		st->deployment = "Initializing";
	}
	if (lost_a_pod(s)) {
		fail_or_retry(s, "AppFailed", "a pod of the cluster failed");
		return;
	}
	bool up = bring_up(s);
	if (up && is_submitted(s) && !st->running) {
		st->running = s->now;
		st->job = "RUNNING";
	}
	if (!st->running || ray_job_finished(st))
		return;
	if (s->now < st->running + s->spec->duration) {
		plan_again(s->plan, st->running + s->spec->duration);
		return;
	}
	if (is_followed(s))
		return; /* its end is a change that is looked at */
	vec_clear(&s->plan->creates);
	if (s->spec->exit_code == 0) {
		st->succeeded++;
		end(st, "SUCCEEDED", "Complete", "", "Job finished successfully.", s->now);
	} else if (s->spec->backoff_limit > st->failed) {
		fail_or_retry(s, "AppFailed", "the entrypoint failed");
	} else {
		st->failed++;
		end(st, "FAILED", "Failed", "AppFailed", "Job entrypoint command failed", s->now);
	}
}

static bool same(const struct ray_job_state *a, const struct ray_job_state *b)
{
	return a->job == b->job && a->deployment == b->deployment && a->reason == b->reason &&
	       a->message == b->message && a->attempt == b->attempt &&
	       a->has_cluster == b->has_cluster && a->failed == b->failed &&
	       a->succeeded == b->succeeded && a->started == b->started && a->ended == b->ended;
}

bool ray_job_decide(const struct ray_job_spec *spec, const struct pod_view *pods, size_t n_pods,
		    usec now, struct ray_job_state *state, struct plan *plan)
{
	struct ray_job_state old = *state;
	struct step s = {spec, pods, n_pods, now, state, plan};
	if (ray_job_finished(state)) {
		usec at = state->ended + spec->ttl * USEC_PER_SEC;
		if (spec->shutdown && now >= at)
			delete_pods(spec, pods, n_pods, false, plan);
		else if (spec->shutdown)
			plan_again(plan, at);
		return false;
	}
	if (!spec->suspend) {
		drive(&s);
		if (ray_job_finished(state) && spec->shutdown)
			plan_again(plan, state->ended + spec->ttl * USEC_PER_SEC);
	} else if (n_pods) {
		state->deployment = "Suspending";
		delete_pods(spec, pods, n_pods, true, plan);
	} else {
		state->deployment = "Suspended";
		state->job = "";
		state->attempt += state->has_cluster;
		state->has_cluster = false;
		state->started = state->running = 0;
	}
	return !same(&old, state);
}
