#include "member-sync/sim/mpi_operator.h"

#define BACKOFF_LIMIT 6 /* a batch Job's */
#define NO_TYPE	      SIZE_MAX

struct step {
	const struct training_view *v;
	struct training_state *state;
	struct plan *plan;
	size_t launcher, workers; /* replica types */
};

static size_t type_named(const struct training_spec *spec, const char *name)
{
	for (size_t t = 0; t < spec->n_types; t++)
		if (strcmp(spec->types[t].type, name) == 0)
			return t;
	return NO_TYPE;
}

static void set(struct step *s, const char *type, bool status, const char *reason,
		const char *message)
{
	conditions_set_last(&s->state->conditions, type, status, reason, message, s->v->now);
}

/* "MPIJob NAMESPACE/NAME WORDS" */
static void tell(struct step *s, const char *type, bool status, const char *reason,
		 const char *words)
{
	char message[184];

	snprintf(message, sizeof(message), "MPIJob %s/%s %s", s->v->ns, s->v->name, words);
	set(s, type, status, reason, message);
}

static bool is_over(const struct pod_view *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static void delete_pods(struct step *s, size_t type, bool finished_too)
{
	for (size_t i = 0; i < s->v->n_pods; i++) {
		const struct pod_view *p = &s->v->pods[i];
		bool meant = type == NO_TYPE || p->set == (int32_t)type;
		if (meant && !p->deleting && (finished_too || !is_over(p)))
			vec_push(&s->plan->deletes, i);
	}
}

static void clean_up(struct step *s)
{
	enum training_clean clean = s->v->spec->clean;

	if (clean == CLEAN_NONE || s->workers == NO_TYPE)
		return;
	delete_pods(s, s->workers, clean == CLEAN_ALL);
	s->state->replicas[s->workers].active = 0;
}

static void end(struct step *s)
{
	if (!s->state->completed)
		s->state->completed = s->v->now;
	if (s->launcher != NO_TYPE)
		s->state->replicas[s->launcher].active = 0;
	vec_clear(&s->plan->creates);
	vec_clear(&s->plan->deletes);
	clean_up(s);
}

static void fail(struct step *s, const char *reason, const char *message)
{
	set(s, "Failed", true, reason, message);
	end(s);
	if (s->launcher != NO_TYPE)
		delete_pods(s, s->launcher, false);
}

static void suspend(struct step *s)
{
	delete_pods(s, NO_TYPE, true);
	for (size_t t = 0; t < s->v->spec->n_types; t++)
		s->state->replicas[t].active = 0;
	set(s, "Suspended", true, "MPIJobSuspended", "MPIJob suspended");
	tell(s, "Running", false, "MPIJobSuspended", "is suspended.");
}

/* Creates the missing workers, deletes those above the count; returns how many run. */
static int32_t reconcile_workers(struct step *s)
{
	size_t t = s->workers;
	if (t == NO_TYPE)
		return 0;
	int32_t wanted = s->v->spec->types[t].replicas, running = 0;
	auto_free bool *there = xcalloc((size_t)wanted + 1, sizeof(*there));

	s->state->replicas[t].known = true;
	s->state->replicas[t].succeeded = s->state->replicas[t].failed = 0;
	for (size_t i = 0; i < s->v->n_pods; i++) {
		const struct pod_view *p = &s->v->pods[i];
		if (p->set != (int32_t)t)
			continue;
		if (p->index < 0 || p->index >= wanted) {
			if (!p->deleting)
				vec_push(&s->plan->deletes, i);
			continue;
		}
		there[p->index] = true;
		running += p->phase == POD_RUNNING && !p->deleting;
		s->state->replicas[t].succeeded += p->phase == POD_SUCCEEDED;
		s->state->replicas[t].failed += p->phase == POD_FAILED;
	}
	for (int32_t i = 0; i < wanted; i++)
		if (!there[i])
			vec_push(&s->plan->creates,
				 ((struct plan_create){.set = (int32_t)t, .index = i}));
	s->state->replicas[t].active = running;
	return running;
}

static bool is_past_limit(const struct step *s, const struct pod_view *p)
{
	int64_t limit = s->v->spec->backoff_limit, failed = s->state->replicas[s->launcher].failed;

	limit = limit < 0 ? BACKOFF_LIMIT : limit;
	return failed > limit || (p->restarts > 0 && p->restarts >= limit);
}

/* The launcher's pod, of which there is one at a time. */
static void reconcile_launcher(struct step *s, int32_t workers)
{
	const struct training_spec *spec = s->v->spec;
	const struct pod_view *pod = NULL;
	size_t at = 0;

	for (; at < s->v->n_pods && !pod; at++)
		if (s->v->pods[at].set == (int32_t)s->launcher)
			pod = &s->v->pods[at];
	bool all = s->workers == NO_TYPE || workers == spec->types[s->workers].replicas;
	if (!pod) {
		if (!spec->wait_for_workers || all)
			vec_push(&s->plan->creates,
				 (struct plan_create){.set = (int32_t)s->launcher});
		return;
	}
	s->state->replicas[s->launcher].known = true;
	s->state->replicas[s->launcher].active = pod->phase == POD_RUNNING && !pod->deleting;
	if (pod->phase == POD_SUCCEEDED) {
		s->state->replicas[s->launcher].succeeded = 1;
		tell(s, "Succeeded", true, "MPIJobSucceeded", "successfully completed.");
		end(s);
		return;
	}
	if (pod->phase == POD_FAILED && !pod->deleting)
		s->state->replicas[s->launcher].failed++;
	if (!pod->deleting && is_past_limit(s, pod)) {
		/* Behind the slash stands the pod's reason, which a failed container has none of.
		 */
		fail(s, "BackoffLimitExceeded/", "Job has reached the specified backoff limit: ");
		return;
	}
	if (pod->phase == POD_FAILED && !pod->deleting)
		vec_push(&s->plan->deletes, at - 1);
	if (s->state->replicas[s->launcher].active && all)
		tell(s, "Running", true, "MPIJobRunning", "is running.");
}

static void run(struct step *s)
{
	struct training_state *st = s->state;
	int64_t deadline = s->v->spec->active_deadline;

	if (conditions_true(&st->conditions, "Suspended")) {
		set(s, "Suspended", false, "MPIJobResumed", "MPIJob resumed");
		st->started = s->v->now;
	}
	if (!st->started)
		st->started = s->v->now;
	if (deadline >= 0 && s->v->now >= st->started + deadline * USEC_PER_SEC) {
		fail(s, "DeadlineExceeded", "Job was active longer than specified deadline");
		return;
	}
	if (deadline >= 0)
		plan_again(s->plan, st->started + deadline * USEC_PER_SEC);
	int32_t workers = reconcile_workers(s);
	if (s->launcher != NO_TYPE)
		reconcile_launcher(s, workers);
}

bool mpi_operator_decide(const struct training_view *v, struct training_state *state,
			 struct plan *plan)
{
	struct training_state old = *state;
	struct step s = {v, state, plan, type_named(v->spec, "Launcher"),
			 type_named(v->spec, "Worker")};

	if (!conditions_get(&state->conditions, "Created"))
		tell(&s, "Created", true, "MPIJobCreated", "is created.");
	if (training_finished(state))
		clean_up(&s);
	else if (v->spec->suspend)
		suspend(&s);
	else
		run(&s);
	return memcmp(old.replicas, state->replicas, sizeof(old.replicas)) != 0 ||
	       old.started != state->started || old.completed != state->completed ||
	       !conditions_equal(&old.conditions, &state->conditions);
}
