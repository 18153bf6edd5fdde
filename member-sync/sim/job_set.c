#include "member-sync/sim/job_set.h"
#include "base/num.h"
#include "kube/schema.h"

void job_set_plan_done(struct job_set_plan *p)
{
	vec_done(&p->creates);
	vec_done(&p->deletes);
	vec_done(&p->suspends);
	vec_done(&p->events);
}

void job_set_state_done(struct job_set_state *s)
{
	for (size_t i = 0; i < JOB_SET_MAX_REPLICATED; i++) {
		free(s->job_restarts[i]);
		s->job_restarts[i] = NULL;
	}
}

struct job_set_restarts job_set_job_restarts(const struct job_set_state *s, int32_t set,
					     int32_t index)
{
	if (index < 0 || index >= JOB_SET_MAX_RESTARTED || !s->job_restarts[set])
		return (struct job_set_restarts){0};
	return s->job_restarts[set][index];
}

struct job_set_restarts *job_set_add_restarts(struct job_set_state *s, int32_t set, int32_t index)
{
	if (index < 0 || index >= JOB_SET_MAX_RESTARTED)
		return NULL;
	if (!s->job_restarts[set])
		s->job_restarts[set] =
		    xcalloc(JOB_SET_MAX_RESTARTED, sizeof(*s->job_restarts[set]));
	return &s->job_restarts[set][index];
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

static void tell(struct step *s, bool warning, const char *reason, const char *message)
{
	struct job_set_event e = {.warning = warning};

	(void)snprintf(e.reason, sizeof(e.reason), "%s", reason);
	(void)snprintf(e.message, sizeof(e.message), "%s", message);
	vec_push(&s->plan->events, e);
	s->changed = true;
}

static void condition(struct step *s, const char *type, bool status, const char *reason,
		      const char *message)
{
	const struct condition *was = conditions_get(&s->state->conditions, type);

	/* A condition appears only when it is true for the first time; later it flips. */
	if (was ? was->status == status : !status)
		return;
	if (conditions_set(&s->state->conditions, type, status, reason, message, s->now))
		tell(s, strcmp(type, "Failed") == 0, reason, message);
}

#define RESTARTING "RestartingJobSet"

/* The restart of the whole set that is under way is over. */
static void restarted(struct step *s, const char *reason, const char *message)
{
	condition(s, RESTARTING, false, reason, message);
}

/* Of an earlier attempt, of the whole set or of this Job alone: on its way out. */
static bool is_previous(const struct step *s, const struct job_set_child *c)
{
	return c->attempt < s->state->restarts ||
	       c->job_attempt < job_set_job_restarts(s->state, c->set, c->index).all;
}

static bool is_current(const struct step *s, const struct job_set_child *c)
{
	return !is_previous(s, c) && !c->deleting;
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
	restarted(s, completed ? "JobSetCompleted" : "JobSetFailed",
		  completed ? "jobset completed" : "jobset failed");
	s->state->terminal = completed ? "Completed" : "Failed";
	for (size_t i = 0; i < s->n; i++)
		if (!s->children[i].complete && !s->children[i].failed && !s->children[i].deleting)
			vec_push(&s->plan->deletes, i);
}

static bool has_reason(const struct job_set_rule *r, const struct job_set_child *c)
{
	for (size_t i = 0; i < r->n_reasons; i++)
		if (strcmp(r->reasons[i], c->reason) == 0)
			return true;
	return r->n_reasons == 0;
}

static bool has_message(const struct job_set_rule *r, const struct job_set_child *c)
{
	for (size_t i = 0; i < r->n_patterns; i++)
		if (schema_pattern_matches(r->patterns[i], span_of(c->message ? c->message : "")))
			return true;
	return r->n_patterns == 0;
}

static bool matches(const struct job_set_rule *r, const struct job_set_child *c)
{
	if (r->targets && !(r->targets & (1u << c->set)))
		return false;
	return has_reason(r, c) && has_message(r, c);
}

/* Told as JobSet's controller does; "applying RestartJobSet failure policy action (first failed
 * job: a-0)". */
static void tell_action(struct step *s, const char *action, const struct job_set_child *first)
{
	char reason[80], text[184];

	(void)snprintf(reason, sizeof(reason), "%sFailurePolicyAction", action);
	(void)snprintf(text, sizeof(text),
		       "applying %s failure policy action (first failed job: %s)", action,
		       first->name);
	tell(s, true, reason, text);
}

static void restart(struct step *s, bool counted, const struct job_set_rule *rule,
		    const struct job_set_child *first)
{
	char reason[160] = "DefaultFailurePolicy";

	s->state->restarts++;
	s->state->restarts_counted += counted;
	s->changed = s->plan->restarted = true;
	tell_action(s, counted ? "RestartJobSet" : "RestartJobSetAndIgnoreMaxRestarts", first);
	if (rule)
		(void)snprintf(reason, sizeof(reason), "FailurePolicy_%s", rule->name);
	condition(s, RESTARTING, true, reason, "jobset is restarting");
}

static void restart_job(struct step *s, const struct job_set_child *failed, bool counted)
{
	struct job_set_restarts *r = job_set_add_restarts(s->state, failed->set, failed->index);
	if (!r)
		return;
	r->all++;
	r->counted += counted;
	s->changed = s->plan->restarted = true;
	tell_action(s, counted ? "RestartJob" : "RestartJobAndIgnoreMaxRestarts", failed);
}

/* What is held against maxRestarts: restarts of the whole set and of single Jobs. */
static int64_t counted_restarts(const struct step *s)
{
	int64_t sum = s->state->restarts_counted;
	for (size_t j = 0; j < s->spec->n_jobs; j++)
		for (int32_t i = 0; s->state->job_restarts[j] && i < JOB_SET_MAX_RESTARTED; i++)
			sum += s->state->job_restarts[j][i].counted;
	return sum;
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
	const struct job_set_rule *rule = NULL;
	if (!s->spec->has_failure_policy) {
		fail(s, "FailedJobs", "jobset failed due to one or more job failures", first);
		return;
	}
	for (size_t r = 0; r < s->spec->n_rules; r++) {
		const struct job_set_child *hit = first_failure(s, &s->spec->rules[r]);
		if (!hit)
			continue;
		first = hit;
		rule = &s->spec->rules[r];
		action = rule->action;
		break;
	}
	if (action == ACTION_FAIL)
		fail(s, "FailJobSetFailurePolicyAction",
		     "applying FailJobSet failure policy action", first);
	else if (action == ACTION_RESTART_FREE)
		restart(s, false, rule, first);
	else if (action == ACTION_RESTART_JOB_FREE)
		restart_job(s, first, false);
	else if (counted_restarts(s) >= s->spec->max_restarts)
		fail(s, "ReachedMaxRestarts",
		     "jobset failed due to reaching max number of restarts", first);
	else if (action == ACTION_RESTART_JOB)
		restart_job(s, first, true);
	else
		restart(s, true, rule, first);
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

static bool is_ready_again(const struct step *s, const struct job_set_counts counts[])
{
	for (size_t j = 0; j < s->spec->n_jobs; j++)
		if (!all_started(s, j, counts))
			return false;
	return true;
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
			vec_push(&s->plan->creates,
				 ((struct job_set_create){
				     (int32_t)j, (int32_t)i, s->state->restarts,
				     job_set_job_restarts(s->state, (int32_t)j, (int32_t)i).all}));
}

/* BlockingRecreate: the whole set is gone before any of it comes back. */
static bool is_blocked(const struct step *s)
{
	for (size_t i = 0; s->spec->blocking && i < s->n; i++)
		if (is_previous(s, &s->children[i]))
			return true;
	return false;
}

static void manage(struct step *s, const struct job_set_counts counts[])
{
	bool waits = false, blocked = is_blocked(s);
	for (size_t i = 0; i < s->n; i++) {
		const struct job_set_child *c = &s->children[i];
		if (c->deleting || c->complete || c->failed)
			continue;
		if (c->suspended != s->spec->suspend &&
		    (s->spec->suspend || may_start(s, (size_t)c->set, counts)))
			vec_push(&s->plan->suspends, i);
	}
	for (size_t j = 0; j < s->spec->n_jobs; j++) {
		if (!blocked && may_start(s, j, counts))
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

void job_set_spec_done(struct job_set_spec *s)
{
	for (size_t i = 0; i < s->n_rules; i++)
		for (size_t k = 0; k < s->rules[i].n_patterns; k++)
			free(s->rules[i].patterns[k]);
	s->n_rules = 0;
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
		if (is_previous(&s, &children[i]) && !children[i].deleting)
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
	if (spec->suspend) {
		condition(&s, "Suspended", true, "SuspendedJobs", "jobset is suspended");
		restarted(&s, "JobSetSuspended", "jobset is suspended");
	} else {
		condition(&s, "Suspended", false, "ResumeJobs", "jobset is resumed");
	}
	if (is_ready_again(&s, counts))
		restarted(&s, "JobsReady", "all jobs of the jobset are ready");
	manage(&s, counts);
	return s.changed;
}
