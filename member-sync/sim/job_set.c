#include "member-sync/sim/job_set.h"
#include "base/num.h"

void job_set_plan_done(struct job_set_plan *p)
{
	vec_done(&p->creates);
	vec_done(&p->deletes);
	vec_done(&p->suspends);
}

bool job_set_finished(const struct job_set_state *s)
{
	return conditions_true(&s->conditions, "Completed") ||
	       conditions_true(&s->conditions, "Failed");
}

struct step {
	const struct job_set_spec *spec;
	const struct job_set_child *children;
	size_t n;
	usec now;
	struct job_set_state *state;
	struct job_set_plan *plan;
	bool changed;
};

static void condition(struct step *s, const char *type, bool status, const char *reason,
		      const char *message)
{
	/* A condition appears only when it is true for the first time; later it flips. */
	if (!status && !conditions_get(&s->state->conditions, type))
		return;
	s->changed |= conditions_set(&s->state->conditions, type, status, reason, message, s->now);
}

/* A child of the present attempt; older ones are on their way out. */
static bool is_current(const struct step *s, const struct job_set_child *c)
{
	return c->attempt >= s->state->restarts && !c->deleting;
}

static bool is_ready(const struct step *s, const struct job_set_child *c)
{
	const struct job_set_replicated *r = &s->spec->jobs[c->set];
	int64_t want =
	    r->completions >= 0 ? num_min(r->parallelism, r->completions) : r->parallelism;
	return c->ready + c->succeeded >= want;
}

static void count(struct step *s, struct job_set_counts counts[])
{
	memset(counts, 0, JOB_SET_MAX_REPLICATED * sizeof(*counts));
	for (size_t i = 0; i < s->n; i++) {
		const struct job_set_child *c = &s->children[i];
		if (!is_current(s, c))
			continue;
		struct job_set_counts *n = &counts[c->set];
		n->succeeded += c->complete;
		n->failed += c->failed;
		if (c->complete || c->failed)
			continue;
		n->suspended += c->suspended;
		n->active += c->active > 0;
		n->ready += !c->suspended && is_ready(s, c);
	}
	s->changed |=
	    !s->state->counted || memcmp(counts, s->state->counts, sizeof(s->state->counts)) != 0;
	memcpy(s->state->counts, counts, sizeof(s->state->counts));
	s->state->counted = true;
}

static void finish(struct step *s, bool completed, const char *reason, const char *message)
{
	condition(s, completed ? "Completed" : "Failed", true, reason, message);
	s->state->terminal = completed ? "Completed" : "Failed";
	for (size_t i = 0; i < s->n; i++)
		if (!s->children[i].complete && !s->children[i].failed && !s->children[i].deleting)
			vec_push(&s->plan->deletes, i);
}

static bool matches(const struct job_set_rule *r, const struct job_set_child *c)
{
	if (r->targets && !(r->targets & (1u << c->set)))
		return false;
	for (size_t i = 0; i < r->n_reasons; i++)
		if (strcmp(r->reasons[i], c->reason) == 0)
			return true;
	return r->n_reasons == 0;
}

static void restart(struct step *s, bool counted)
{
	s->state->restarts++;
	s->state->restarts_counted += counted;
	s->changed = true;
}

static void fail(struct step *s, const char *reason, const char *words,
		 const struct job_set_child *first)
{
	char text[184];
	snprintf(text, sizeof(text), "%s (first failed job: %s)", words, first->name);
	finish(s, false, reason, text);
}

/* The earliest failure that a rule speaks of, or any when rule is NULL. */
static const struct job_set_child *first_failure(const struct step *s,
						 const struct job_set_rule *rule)
{
	const struct job_set_child *first = NULL;
	for (size_t i = 0; i < s->n; i++) {
		const struct job_set_child *c = &s->children[i];
		if (c->failed && is_current(s, c) && (!rule || matches(rule, c)) &&
		    (!first || c->failed_at < first->failed_at))
			first = c;
	}
	return first;
}

/* The first rule that speaks of a failure decides; without one the JobSet starts again. */
static void on_failure(struct step *s, const struct job_set_child *first)
{
	enum job_set_action action = ACTION_RESTART;
	if (!s->spec->has_failure_policy) {
		fail(s, "FailedJobs", "jobset failed due to one or more job failures", first);
		return;
	}
	for (size_t r = 0; r < s->spec->n_rules; r++) {
		const struct job_set_child *hit = first_failure(s, &s->spec->rules[r]);
		if (!hit)
			continue;
		first = hit;
		action = s->spec->rules[r].action;
		break;
	}
	if (action == ACTION_FAIL)
		fail(s, "FailJobSetFailurePolicyAction",
		     "applying FailJobSet failure policy action", first);
	else if (action == ACTION_RESTART_FREE)
		restart(s, false);
	else if (s->state->restarts_counted >= s->spec->max_restarts)
		fail(s, "ReachedMaxRestarts",
		     "jobset failed due to reaching max number of restarts", first);
	else
		restart(s, true);
}

static bool succeeded(const struct step *s, const struct job_set_counts counts[])
{
	bool any = false, all = true;
	for (size_t j = 0; j < s->spec->n_jobs; j++) {
		if (s->spec->success_targets && !(s->spec->success_targets & (1u << j)))
			continue;
		any |= counts[j].succeeded > 0;
		all &= counts[j].succeeded >= s->spec->jobs[j].replicas;
	}
	return s->spec->any_success ? any : all;
}

static bool all_started(const struct step *s, size_t j, const struct job_set_counts counts[])
{
	return counts[j].ready + counts[j].succeeded >= s->spec->jobs[j].replicas;
}

/* Whether replicated job j may be created now. */
static bool may_start(const struct step *s, size_t j, const struct job_set_counts counts[])
{
	const struct job_set_replicated *r = &s->spec->jobs[j];
	if (s->spec->suspend)
		return true; /* created suspended, so order does not matter yet */
	if (r->depends_on >= 0) {
		size_t d = (size_t)r->depends_on;
		if (r->depends_complete)
			return counts[d].succeeded >= s->spec->jobs[d].replicas;
		return all_started(s, d, counts);
	}
	for (size_t i = 0; s->spec->in_order && i < j; i++)
		if (!all_started(s, i, counts))
			return false;
	return true;
}

static void create_missing(struct step *s, size_t j)
{
	size_t replicas = s->spec->jobs[j].replicas > 0 ? (size_t)s->spec->jobs[j].replicas : 0;
	auto_free bool *there = xcalloc(replicas, sizeof(*there));
	for (size_t i = 0; i < s->n; i++) {
		const struct job_set_child *c = &s->children[i];
		if (c->set == (int32_t)j && c->index >= 0 && (size_t)c->index < replicas)
			there[c->index] = true;
	}
	for (size_t i = 0; i < replicas; i++)
		if (!there[i])
			vec_push(&s->plan->creates, (struct job_set_create){(int32_t)j, (int32_t)i,
									    s->state->restarts});
}

static void manage(struct step *s, const struct job_set_counts counts[])
{
	bool waits = false;
	for (size_t i = 0; i < s->n; i++) {
		const struct job_set_child *c = &s->children[i];
		if (c->deleting || c->complete || c->failed)
			continue;
		if (c->suspended != s->spec->suspend &&
		    (s->spec->suspend || may_start(s, (size_t)c->set, counts)))
			vec_push(&s->plan->suspends, i);
	}
	for (size_t j = 0; j < s->spec->n_jobs; j++) {
		if (may_start(s, j, counts))
			create_missing(s, j);
		waits |= !all_started(s, j, counts);
	}
	if (!s->spec->in_order || s->spec->suspend)
		return;
	if (waits)
		condition(s, "StartupPolicyInProgress", true, "InOrderStartupPolicyInProgress",
			  "in order startup policy is in progress");
	else {
		condition(s, "StartupPolicyInProgress", false, "InOrderStartupPolicyInProgress",
			  "in order startup policy is in progress");
		condition(s, "StartupPolicyCompleted", true, "InOrderStartupPolicyCompleted",
			  "in order startup policy has completed");
	}
}

bool job_set_decide(const struct job_set_spec *spec, const struct job_set_child *children,
		    size_t n_children, usec now, struct job_set_state *state,
		    struct job_set_plan *plan)
{
	struct step s = {spec, children, n_children, now, state, plan, false};
	struct job_set_counts counts[JOB_SET_MAX_REPLICATED];
	if (job_set_finished(state))
		return false;
	count(&s, counts);
	for (size_t i = 0; i < n_children; i++)
		if (children[i].attempt < state->restarts && !children[i].deleting)
			vec_push(&plan->deletes, i);
	const struct job_set_child *failed = first_failure(&s, NULL);
	if (failed) {
		on_failure(&s, failed);
		return s.changed;
	}
	if (n_children && succeeded(&s, counts)) {
		finish(&s, true, "AllJobsCompleted", "jobset completed successfully");
		return s.changed;
	}
	if (spec->suspend)
		condition(&s, "Suspended", true, "SuspendedJobs", "jobset is suspended");
	else
		condition(&s, "Suspended", false, "ResumeJobs", "jobset is resumed");
	manage(&s, counts);
	return s.changed;
}
