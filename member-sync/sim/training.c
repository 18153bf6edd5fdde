/*
 * The order of steps is the operator's: accept, suspend or resume, end, pods, then conditions
 * from counts. Conditions are appended, so the order in which they are set is what users see.
 */
#include "member-sync/sim/training.h"

const char *training_kind_name(enum training_kind k)
{
	static const char *const names[] = {"PyTorchJob", "TFJob",  "MPIJob", "XGBoostJob",
					    "PaddleJob",  "JAXJob", "MPIJob"};
	return names[k];
}

bool training_finished(const struct training_state *s)
{
	return conditions_true(&s->conditions, "Succeeded") ||
	       conditions_true(&s->conditions, "Failed");
}

struct step {
	const struct training_spec *spec;
	const char *ns, *name;
	const struct pod_view *pods;
	size_t n_pods;
	usec now;
	struct training_state *state;
	struct plan *plan;
};

static void set(struct step *s, const char *type, bool status, const char *verb,
		const char *message)
{
	char reason[56];
	snprintf(reason, sizeof(reason), "%s%s", training_kind_name(s->spec->kind), verb);
	conditions_set_last(&s->state->conditions, type, status, reason, message, s->now);
}

/* "PyTorchJob NAME WORDS" */
static void tell(struct step *s, const char *type, bool status, const char *verb, const char *words)
{
	char message[184];
	snprintf(message, sizeof(message), "%s %s %s", training_kind_name(s->spec->kind), s->name,
		 words);
	set(s, type, status, verb, message);
}

/* As tell(), with the namespace before the name. */
static void tell_in_namespace(struct step *s, const char *type, const char *verb, const char *words)
{
	char message[184];
	snprintf(message, sizeof(message), "%s %s/%s %s", training_kind_name(s->spec->kind), s->ns,
		 s->name, words);
	set(s, type, true, verb, message);
}

static void delete_pods(struct step *s, bool finished_too)
{
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		bool over = p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
		if (!p->deleting && (finished_too || !over))
			vec_push(&s->plan->deletes, i);
	}
}

static void end(struct step *s)
{
	if (!s->state->completed)
		s->state->completed = s->now;
}

/* What still runs when the job has succeeded counts as succeeded. Of a failed job the counts stay
 * as they were: the operator looks no more. */
static void fold_active(struct training_state *st, size_t n_types)
{
	for (size_t t = 0; t < n_types; t++) {
		st->replicas[t].succeeded += st->replicas[t].active;
		st->replicas[t].active = 0;
	}
}

static void clean_up(struct step *s)
{
	if (s->spec->clean != CLEAN_NONE)
		delete_pods(s, s->spec->clean == CLEAN_ALL);
}

static void suspend(struct step *s)
{
	delete_pods(s, true);
	for (size_t t = 0; t < s->spec->n_types; t++)
		s->state->replicas[t].active = 0;
	if (conditions_true(&s->state->conditions, "Running"))
		tell(s, "Running", false, "Suspended", "is suspended.");
	tell(s, "Suspended", true, "Suspended", "is suspended.");
	s->state->started = 0;
}

/* Whether a failed pod is made anew. In an MPIJob only ExitCode does that: the other policies
 * restart its containers in place, and a pod that failed all the same is lost. */
static bool may_restart(const struct step *s, const struct training_replica *r,
			const struct pod_view *p)
{
	if (r->restart == RESTART_EXIT_CODE)
		return p->exit_code >= 128; /* 1..127 are permanent */
	return r->restart != RESTART_NEVER && s->spec->kind != TRAINING_MPI;
}

/* Counts one type's pods, deletes those that are to be tried again, and creates missing ones. */
static void reconcile_type(struct step *s, size_t t)
{
	const struct training_replica *r = &s->spec->types[t];
	int32_t active = 0, succeeded = 0, failed = 0;
	size_t wanted = r->replicas > 0 ? (size_t)r->replicas : 0;
	auto_free bool *there = xcalloc(wanted, sizeof(*there));
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		if (p->set != (int32_t)t || p->index < 0 || (size_t)p->index >= wanted)
			continue;
		there[p->index] = true;
		active += p->phase == POD_RUNNING && !p->deleting;
		succeeded += p->phase == POD_SUCCEEDED;
		failed += p->phase == POD_FAILED;
		if (p->phase == POD_FAILED && !p->deleting && may_restart(s, r, p))
			vec_push(&s->plan->deletes, i);
	}
	for (size_t i = 0; i < wanted; i++)
		if (!there[i])
			vec_push(&s->plan->creates,
				 (struct plan_create){.set = (int32_t)t, .index = (int32_t)i});
	s->state->replicas[t].known = true;
	s->state->replicas[t].active = active;
	s->state->replicas[t].succeeded = succeeded;
	s->state->replicas[t].failed = failed;
}

static void delete_surplus(struct step *s)
{
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		bool wanted = p->set >= 0 && (size_t)p->set < s->spec->n_types &&
			      p->index < s->spec->types[p->set].replicas;
		if (!wanted && !p->deleting)
			vec_push(&s->plan->deletes, i);
	}
}

bool training_has_type(const struct training_spec *spec, const char *type)
{
	for (size_t t = 0; t < spec->n_types; t++)
		if (strcmp(spec->types[t].type, type) == 0)
			return true;
	return false;
}

/* The type whose success is the job's. */
static const char *leader(const struct training_spec *spec)
{
	if (spec->kind == TRAINING_MPI || spec->kind == TRAINING_MPI_BETA)
		return "Launcher";
	if (spec->kind == TRAINING_TENSORFLOW && training_has_type(spec, "Chief"))
		return "Chief";
	return training_has_type(spec, "Master") ? "Master" : "Worker";
}

static bool worker_zero_done(const struct step *s, size_t t)
{
	for (size_t i = 0; i < s->n_pods; i++)
		if (s->pods[i].set == (int32_t)t && s->pods[i].index == 0)
			return s->pods[i].phase == POD_SUCCEEDED;
	return false;
}

static bool leader_succeeded(const struct step *s, size_t t)
{
	const struct training_spec *spec = s->spec;
	int32_t succeeded = s->state->replicas[t].succeeded;
	if (succeeded >= spec->types[t].replicas)
		return true;
	if (strcmp(spec->types[t].type, "Worker") != 0)
		return false;
	if (spec->kind == TRAINING_TENSORFLOW)
		return !spec->all_workers && worker_zero_done(s, t);
	return spec->elastic && succeeded > 0;
}

bool training_is_master(const struct training_spec *spec, size_t type, int32_t index)
{
	const char *lead = leader(spec);
	/* A TFJob may have both a chief and a master. */
	if (spec->kind == TRAINING_TENSORFLOW && strcmp(lead, "Chief") == 0 &&
	    strcmp(spec->types[type].type, "Master") == 0)
		return true;
	return strcmp(spec->types[type].type, lead) == 0 &&
	       (strcmp(lead, "Worker") != 0 || index == 0);
}

/* The operator's controllers do not word these alike: the namespace stands in what is said of
 * TFJobs, and of PyTorchJobs whose workers decide. */
static void report_leader(struct step *s, size_t t)
{
	bool workers = strcmp(s->spec->types[t].type, "Worker") == 0;
	bool in_namespace = workers || s->spec->kind == TRAINING_TENSORFLOW;
	if (leader_succeeded(s, t)) {
		if (in_namespace)
			tell_in_namespace(s, "Succeeded", "Succeeded", "successfully completed.");
		else
			tell(s, "Succeeded", true, "Succeeded", "is successfully completed.");
		end(s);
		fold_active(s->state, s->spec->n_types);
	} else if (s->state->replicas[t].active > 0) {
		if (in_namespace)
			tell_in_namespace(s, "Running", "Running", "is running.");
		else
			tell(s, "Running", true, "Running", "is running.");
	}
}

static void report_failure(struct step *s, size_t t)
{
	const struct training_replica *r = &s->spec->types[t];
	int32_t failed = s->state->replicas[t].failed;
	bool permanent = false, tf = s->spec->kind == TRAINING_TENSORFLOW;
	char words[96];
	for (size_t i = 0; i < s->n_pods && !permanent; i++)
		permanent = s->pods[i].set == (int32_t)t && s->pods[i].phase == POD_FAILED &&
			    !may_restart(s, r, &s->pods[i]);
	snprintf(words, sizeof(words), "%s because %d %s replica(s) failed.",
		 !permanent ? "is restarting"
		 : tf	    ? "has failed"
			    : "is failed",
		 failed, r->type);
	if (!permanent) {
		tell(s, "Restarting", true, "Restarting", words);
		return;
	}
	if (tf)
		tell_in_namespace(s, "Failed", "Failed", words);
	else
		tell(s, "Failed", true, "Failed", words);
	end(s);
}

static void report_type(struct step *s, size_t t)
{
	if (strcmp(s->spec->types[t].type, leader(s->spec)) == 0)
		report_leader(s, t);
	if (!training_finished(s->state) && s->state->replicas[t].failed > 0)
		report_failure(s, t);
}

/* Restarts in place, and pods that failed since the last look. Of the latter the operator knows
 * no number: its count of retries is always 0, so they pass a limit of 0 only. */
static bool past_backoff_limit(const struct step *s)
{
	int64_t restarts = 0, failed = 0, known = 0, active = 0, wanted = 0;
	if (s->spec->backoff_limit < 0)
		return false;
	for (size_t i = 0; i < s->n_pods; i++) {
		const struct pod_view *p = &s->pods[i];
		restarts += p->phase == POD_RUNNING ? p->restarts : 0;
		failed += p->phase == POD_FAILED;
		active += p->phase != POD_FAILED && p->phase != POD_SUCCEEDED && !p->deleting;
	}
	for (size_t t = 0; t < s->spec->n_types; t++) {
		known += s->state->replicas[t].failed;
		wanted += s->spec->types[t].replicas;
	}
	if (s->spec->backoff_limit)
		return restarts >= s->spec->backoff_limit;
	return restarts > 0 || (failed > known && active != wanted);
}

static bool past_limits(struct step *s)
{
	usec deadline = 0;
	const char *words = NULL;
	char message[184];
	if (s->spec->active_deadline >= 0 && s->state->started)
		deadline = s->state->started + s->spec->active_deadline * USEC_PER_SEC;
	if (past_backoff_limit(s))
		words = "it has reached the specified backoff limit";
	else if (deadline && s->now >= deadline)
		words = "it was active longer than specified deadline";
	else if (deadline)
		plan_again(s->plan, deadline);
	if (!words)
		return false;
	snprintf(message, sizeof(message), "Job %s has failed because %s", s->name, words);
	set(s, "Failed", true, "Failed", message);
	end(s);
	return true;
}

/* One look at a job that is neither over nor suspended. */
static void run(struct step *s, bool *ret_services)
{
	const struct training_spec *spec = s->spec;
	struct training_state *st = s->state;
	if (conditions_true(&st->conditions, "Suspended"))
		tell(s, "Suspended", false, "Resumed", "is resumed.");
	if (!st->started)
		st->started = s->now;
	if (past_limits(s)) {
		delete_pods(s, true); /* cleanPodPolicy is about jobs that ended before */
		return;
	}
	*ret_services = true;
	for (size_t t = 0; t < spec->n_types; t++)
		reconcile_type(s, t);
	delete_surplus(s);
	for (size_t t = 0; t < spec->n_types && !training_finished(st); t++)
		report_type(s, t);
	if (training_finished(st)) {
		vec_clear(&s->plan->creates);
		vec_clear(&s->plan->deletes);
		clean_up(s);
	}
}

bool training_decide(const struct training_view *v, struct training_state *state, struct plan *plan,
		     bool *ret_services)
{
	struct training_state old = *state;
	struct step s = {v->spec, v->ns, v->name, v->pods, v->n_pods, v->now, state, plan};
	*ret_services = false;
	if (!conditions_get(&state->conditions, "Created"))
		tell(&s, "Created", true, "Created", "is created.");
	if (training_finished(state)) {
		clean_up(&s);
		/* Services go with the pods that they stand for. */
		*ret_services = v->spec->clean == CLEAN_NONE && v->n_pods > 0;
	} else if (v->spec->suspend) {
		suspend(&s);
	} else {
		run(&s, ret_services);
	}
	return memcmp(old.replicas, state->replicas, sizeof(old.replicas)) != 0 ||
	       old.started != state->started || old.completed != state->completed ||
	       !conditions_equal(&old.conditions, &state->conditions);
}
