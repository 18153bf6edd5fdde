#include "member-sync/sim/batch_job.h"
#include "base/num.h"
#include <errno.h>

/* JobReady and friends: the controller waits 10 s after the first failure, doubled for each
 * further one up to 10 minutes (k8s pkg/controller/job backoff). */
#define FIRST_BACKOFF (10 * USEC_PER_SEC)
#define MOST_BACKOFF  (600 * USEC_PER_SEC)

void batch_job_state_done(struct batch_job_state *s)
{
	free(s->done);
	free(s->failed_indexes);
	s->done = s->failed_indexes = NULL;
}

bool batch_job_finished(const struct batch_job_state *s)
{
	return conditions_true(&s->conditions, "Complete") ||
	       conditions_true(&s->conditions, "Failed");
}

int64_t batch_job_wanted(const struct batch_job_spec *spec)
{
	return spec->completions >= 0 ? spec->completions : 1;
}

struct step {
	const struct batch_job_spec *spec;
	const struct pod_view *pods;
	size_t n_pods;
	usec now;
	struct batch_job_state *state;
	struct plan *plan;
	bool changed;
	usec last_failure;
	int64_t restarts;
	int64_t terminating;
	const struct pod_view *fatal; /* matches a rule that fails the job */
	size_t fatal_rule;
};

static bool is_over(const struct pod_view *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static void condition(struct step *s, const char *type, bool status, const char *reason,
		      const char *message)
{
	s->changed |= conditions_set(&s->state->conditions, type, status, reason, message, s->now);
}

static bool has_index(const struct step *s, const struct pod_view *p)
{
	return p->index >= 0 && p->index < s->spec->completions;
}

static void mark(struct step *s, bool **flags, int32_t index)
{
	if (!*flags)
		*flags = xcalloc((size_t)s->spec->completions, sizeof(bool));
	s->changed |= !(*flags)[index];
	(*flags)[index] = true;
}

static int64_t count_marked(const struct step *s, const bool *flags)
{
	int64_t n = 0;
	for (int64_t i = 0; flags && i < s->spec->completions; i++)
		n += flags[i];
	return n;
}

static bool is_per_index(const struct step *s)
{
	return s->spec->indexed && s->spec->policy && s->spec->policy->limit_per_index >= 0;
}

/* True when the failure counts. */
static bool count_failure(struct step *s, const struct pod_view *p)
{
	size_t rule = 0;
	enum batch_action action = batch_policy_judge(s->spec->policy, p, &rule);
	if (action == BATCH_IGNORE)
		return false;
	if (action == BATCH_FAIL_JOB && !s->fatal) {
		s->fatal = p;
		s->fatal_rule = rule;
	}
	if (action == BATCH_FAIL_INDEX && is_per_index(s) && has_index(s, p))
		mark(s, &s->state->failed_indexes, p->index);
	if (p->finished > s->last_failure)
		s->last_failure = p->finished;
	return true;
}

/* Marks the indexes whose pods failed too often. */
static void judge_indexes(struct step *s)
{
	if (!is_per_index(s))
		return;
	auto_free int32_t *failures = xcalloc((size_t)s->spec->completions, sizeof(*failures));
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		if (p->phase == POD_FAILED && has_index(s, p) &&
		    batch_policy_judge(s->spec->policy, p, NULL) != BATCH_IGNORE &&
		    ++failures[p->index] > s->spec->policy->limit_per_index)
			mark(s, &s->state->failed_indexes, p->index);
	}
}

static void set_count(struct step *s, int64_t *field, int64_t value)
{
	s->changed |= *field != value;
	*field = value;
}

/* podReplacementPolicy: a pod that is on its way out has failed, or with a failure policy only when
 * it is over. */
static bool is_replaced(const struct step *s, const struct pod_view *p)
{
	return p->evicted && !(s->spec->policy && s->spec->policy->n_failure);
}

static void count(struct step *s)
{
	int64_t active = 0, ready = 0, succeeded = s->state->gone_succeeded,
		failed = s->state->gone_failed;
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		if (p->attempt >= s->state->attempts)
			s->state->attempts = p->attempt + 1;
		if (p->phase == POD_SUCCEEDED) {
			succeeded++;
			if (s->spec->indexed && has_index(s, p))
				mark(s, &s->state->done, p->index);
		} else if (p->phase == POD_FAILED) {
			failed += count_failure(s, p);
		} else if (p->deleting) {
			s->terminating++;
			failed += is_replaced(s, p) && count_failure(s, p);
		} else {
			active++;
			ready += p->ready;
			s->restarts += p->restarts;
		}
	}
	set_count(s, &s->state->active, active);
	set_count(s, &s->state->ready, ready);
	judge_indexes(s);
	set_count(s, &s->state->succeeded,
		  s->spec->indexed ? count_marked(s, s->state->done) : succeeded);
	set_count(s, &s->state->failed, failed);
}

static void delete_active(struct step *s, int64_t most)
{
	for (size_t i = s->n_pods; i-- > 0 && most > 0;) {
		if (is_over(&s->pods[i]) || s->pods[i].deleting)
			continue;
		vec_push(&s->plan->deletes, i);
		most--;
	}
}

static void fail(struct step *s, const char *reason, const char *message)
{
	condition(s, "FailureTarget", true, reason, message);
	delete_active(s, INT64_MAX);
	/* Failed only when no pod is left running, as the controller does since 1.31. */
	if (s->state->active + s->terminating == 0)
		condition(s, "Failed", true, reason, message);
}

static void fail_by_rule(struct step *s)
{
	char message[184];
	batch_policy_explain(s->spec->policy, s->fatal_rule, s->fatal, message, sizeof(message));
	fail(s, "PodFailurePolicy", message);
}

static bool check_indexes(struct step *s)
{
	if (!is_per_index(s))
		return false;
	int64_t failed = count_marked(s, s->state->failed_indexes);
	int64_t most = s->spec->policy->max_failed_indexes;
	if (most >= 0 && failed > most)
		fail(s, "MaxFailedIndexesExceeded",
		     "Job has exceeded the specified maximal number of failed indexes");
	else if (failed && failed + s->state->succeeded >= s->spec->completions)
		fail(s, "FailedIndexes", "Job has failed indexes");
	else
		return false;
	return true;
}

static bool check_limits(struct step *s)
{
	const struct condition *target = conditions_get(&s->state->conditions, "FailureTarget");
	usec deadline = 0;
	if (s->spec->active_deadline >= 0 && s->state->started)
		deadline = s->state->started + s->spec->active_deadline * USEC_PER_SEC;
	int64_t limit = s->spec->backoff_limit;
	bool restarted = limit ? s->restarts >= limit : s->restarts > 0;
	if (target && target->status) {
		struct condition copy = *target;
		fail(s, copy.reason, copy.message);
	} else if (s->fatal) {
		fail_by_rule(s);
	} else if (s->state->failed > limit || restarted) {
		fail(s, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
	} else if (deadline && s->now >= deadline) {
		fail(s, "DeadlineExceeded", "Job was active longer than specified deadline");
	} else if (!check_indexes(s)) {
		if (deadline)
			plan_again(s->plan, deadline);
		return false;
	}
	return true;
}

static void complete(struct step *s, const char *reason, const char *message)
{
	delete_active(s, INT64_MAX);
	condition(s, "SuccessCriteriaMet", true, reason, message);
	if (s->state->active + s->terminating == 0) {
		condition(s, "Complete", true, reason, message);
		s->state->completed = s->now;
	}
}

static bool check_complete(struct step *s)
{
	char message[64];
	bool all = s->spec->completions >= 0 ? s->state->succeeded >= s->spec->completions
					     : s->state->succeeded > 0 && s->state->active == 0;
	int rule = s->spec->indexed
		       ? batch_policy_met(s->spec->policy, s->state->done, s->spec->completions)
		       : -1;
	if (rule >= 0) {
		snprintf(message, sizeof(message), "Matched rules at index %d", rule);
		complete(s, "SuccessPolicy", message);
	} else if (all) {
		complete(s, "CompletionsReached", "Reached expected number of succeeded pods");
	}
	return rule >= 0 || all;
}

/* After so many failures, the last one then. */
static bool must_wait(struct step *s, int64_t failures, usec last)
{
	if (!last || failures == 0)
		return false;
	usec wait = FIRST_BACKOFF;
	for (int64_t i = 1; i < failures && wait < MOST_BACKOFF; i++)
		wait *= 2;
	wait = (wait < MOST_BACKOFF ? wait : MOST_BACKOFF) / s->spec->time_scale;
	if (s->now >= last + wait)
		return false;
	plan_again(s->plan, last + wait);
	return true;
}

/* With a limit per index each index waits for itself: one that keeps failing holds no other up. */
static bool index_must_wait(struct step *s, int64_t index)
{
	int64_t failures = 0;
	usec last = 0;

	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		if (p->index != index || p->phase != POD_FAILED ||
		    batch_policy_judge(s->spec->policy, p, NULL) == BATCH_IGNORE)
			continue;
		failures++;
		last = p->finished > last ? p->finished : last;
	}
	return must_wait(s, failures, last);
}

static void create(struct step *s, int32_t index)
{
	vec_push(&s->plan->creates,
		 (struct plan_create){.index = index, .attempt = s->state->attempts});
	s->state->attempts++;
}

static void create_indexed(struct step *s, int64_t most)
{
	auto_free bool *taken = xcalloc((size_t)s->spec->completions, sizeof(bool));
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		/* A pod that ends soon still holds its index. */
		if (p->index >= 0 && p->index < s->spec->completions && p->phase != POD_FAILED &&
		    !is_replaced(s, p))
			taken[p->index] = true;
	}
	for (int64_t i = 0; i < s->spec->completions && most > 0; i++) {
		if (taken[i] || (s->state->done && s->state->done[i]) ||
		    (s->state->failed_indexes && s->state->failed_indexes[i]))
			continue;
		if (is_per_index(s) && index_must_wait(s, i))
			continue;
		create(s, (int32_t)i);
		most--;
	}
}

static void manage_pods(struct step *s)
{
	int64_t want = s->spec->parallelism;
	if (s->spec->completions >= 0)
		want = num_min(want, s->spec->completions - s->state->succeeded -
					 count_marked(s, s->state->failed_indexes));
	else if (s->state->succeeded > 0)
		want = num_min(want, s->state->active); /* winding down */
	if (s->state->active > want) {
		delete_active(s, s->state->active - want);
		return;
	}
	if (s->state->active == want)
		return;
	if (!is_per_index(s) && must_wait(s, s->state->failed, s->last_failure))
		return;
	if (s->spec->indexed)
		create_indexed(s, want - s->state->active);
	else
		for (int64_t i = s->state->active; i < want; i++)
			create(s, -1);
}

bool batch_job_decide(const struct batch_job_spec *spec, const struct pod_view *pods, size_t n_pods,
		      usec now, struct batch_job_state *state, struct plan *plan)
{
	struct step s = {
	    .spec = spec, .pods = pods, .n_pods = n_pods, .now = now, .state = state, .plan = plan};
	if (batch_job_finished(state))
		return false;
	count(&s);
	if (check_limits(&s) || check_complete(&s))
		return s.changed;
	if (spec->suspend) {
		delete_active(&s, INT64_MAX);
		if (!conditions_true(&state->conditions, "Suspended"))
			condition(&s, "Suspended", true, "JobSuspended", "Job suspended");
		s.changed |= state->started != 0;
		state->started = 0;
		return s.changed;
	}
	if (conditions_true(&state->conditions, "Suspended"))
		condition(&s, "Suspended", false, "JobResumed", "Job resumed");
	if (!state->started) {
		state->started = now;
		s.changed = true;
		if (spec->active_deadline >= 0)
			plan_again(plan, now + spec->active_deadline * USEC_PER_SEC);
	}
	manage_pods(&s);
	return s.changed;
}

/* ---- completedIndexes ---- */

void batch_job_print_indexes(const bool *done, int64_t n, struct buf *out)
{
	bool first = true;
	for (int64_t i = 0; done && i < n; i++) {
		if (!done[i])
			continue;
		int64_t last = i;
		while (last + 1 < n && done[last + 1])
			last++;
		if (!first)
			buf_add_char(out, ',');
		first = false;
		buf_add_i64(out, i);
		if (last > i) {
			/* two in a row are written "1,2", three or more "1-3" */
			buf_add_char(out, last == i + 1 ? ',' : '-');
			buf_add_i64(out, last);
		}
		i = last;
	}
}

int batch_job_parse_indexes(struct span text, bool *done, int64_t n)
{
	if (n <= 0)
		return text.len ? -EINVAL : 0;
	while (text.ptr && text.len) {
		struct span range = span_split(&text, ',');
		struct span from = span_split(&range, '-');
		uint64_t a, b;
		if (num_parse_u64(from, (uint64_t)n - 1, &a))
			return -EINVAL;
		b = a;
		if (range.ptr && (num_parse_u64(range, (uint64_t)n - 1, &b) || b < a))
			return -EINVAL;
		for (uint64_t i = a; i <= b; i++)
			done[i] = true;
	}
	return 0;
}
