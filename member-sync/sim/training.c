/*
 * The order of steps is the operator's: accept, suspend or resume, end, pods, then conditions
 * from counts. Conditions are appended, so the order in which they are set is what users see.
 */
#include "member-sync/sim/training.h"

const char *training_kind_name(enum training_kind k)
{
	static const char *const names[] = {"PyTorchJob", "TFJob", "MPIJob"};
	return names[k];
}

bool training_finished(const struct training_state *s)
{
	return conditions_true(&s->conditions, "Succeeded") ||
	       conditions_true(&s->conditions, "Failed");
}

struct step {
	const struct training_spec *spec;
	const char *name;
	const struct pod_view *pods;
	size_t n_pods;
	usec now;
	struct training_state *state;
	struct plan *plan;
};

static void set(struct step *s, const char *type, bool status, const char *verb, const char *words)
{
	const char *kind = training_kind_name(s->spec->kind);
	char reason[56], message[184];
	snprintf(reason, sizeof(reason), "%s%s", kind, verb);
	snprintf(message, sizeof(message), "%s %s %s", kind, s->name, words);
	conditions_set_last(&s->state->conditions, type, status, reason, message, s->now);
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
	for (size_t t = 0; t < s->spec->n_types; t++)
		s->state->replicas[t].active = 0;
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
		set(s, "Running", false, "Suspended", "is suspended.");
	set(s, "Suspended", true, "Suspended", "is suspended.");
	s->state->started = 0;
}

static bool may_restart(const struct training_replica *r, const struct pod_view *p)
{
	if (r->restart == RESTART_EXIT_CODE)
		return p->exit_code >= 128; /* 1..127 are permanent */
	return r->restart != RESTART_NEVER;
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
		if (p->phase == POD_FAILED && !p->deleting && may_restart(r, p))
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

static bool has_type(const struct training_spec *spec, const char *type)
{
	for (size_t t = 0; t < spec->n_types; t++)
		if (strcmp(spec->types[t].type, type) == 0)
			return true;
	return false;
}

/* The type whose success is the job's. */
static const char *leader(const struct training_spec *spec)
{
	if (spec->kind == TRAINING_MPI)
		return "Launcher";
	if (spec->kind == TRAINING_TENSORFLOW && has_type(spec, "Chief"))
		return "Chief";
	return has_type(spec, "Master") ? "Master" : "Worker";
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

static void report_type(struct step *s, size_t t)
{
	const struct training_replica *r = &s->spec->types[t];
	int32_t active = s->state->replicas[t].active, failed = s->state->replicas[t].failed;
	char words[96];
	if (strcmp(r->type, leader(s->spec)) == 0) {
		if (leader_succeeded(s, t)) {
			set(s, "Succeeded", true, "Succeeded", "is successfully completed.");
			end(s);
			return;
		}
		if (active > 0)
			set(s, "Running", true, "Running", "is running.");
	}
	if (!failed || r->replicas <= s->state->replicas[t].succeeded + active)
		return;
	bool permanent = r->restart == RESTART_NEVER;
	for (size_t i = 0; i < s->n_pods && !permanent; i++)
		permanent = s->pods[i].set == (int32_t)t && s->pods[i].phase == POD_FAILED &&
			    !may_restart(r, &s->pods[i]);
	snprintf(words, sizeof(words), "is %s because %d %s replica(s) failed.",
		 permanent ? "failed" : "restarting", failed, r->type);
	set(s, permanent ? "Failed" : "Restarting", true, permanent ? "Failed" : "Restarting",
	    words);
	if (permanent)
		end(s);
}

static bool past_backoff_limit(const struct step *s)
{
	int64_t restarts = 0;
	if (s->spec->backoff_limit < 0)
		return false;
	for (size_t i = 0; i < s->n_pods; i++)
		restarts += s->pods[i].restarts;
	return s->spec->backoff_limit ? restarts >= s->spec->backoff_limit : restarts > 0;
}

static bool past_limits(struct step *s)
{
	usec deadline = 0;
	if (s->spec->active_deadline >= 0 && s->state->started)
		deadline = s->state->started + s->spec->active_deadline * USEC_PER_SEC;
	if (past_backoff_limit(s))
		set(s, "Failed", true, "Failed",
		    "has failed because it has reached the specified backoff limit");
	else if (deadline && s->now >= deadline)
		set(s, "Failed", true, "Failed",
		    "has failed because it was active longer than specified deadline");
	else if (deadline)
		plan_again(s->plan, deadline);
	return training_finished(s->state);
}

bool training_decide(const struct training_spec *spec, const char *name,
		     const struct pod_view *pods, size_t n_pods, usec now,
		     struct training_state *state, struct plan *plan, bool *ret_services)
{
	struct training_state old = *state;
	struct step s = {spec, name, pods, n_pods, now, state, plan};
	*ret_services = false;
	if (!conditions_get(&state->conditions, "Created"))
		set(&s, "Created", true, "Created", "is created.");
	if (training_finished(state)) {
		clean_up(&s);
	} else if (spec->suspend) {
		suspend(&s);
	} else {
		*ret_services = true;
		if (conditions_true(&state->conditions, "Suspended"))
			set(&s, "Suspended", false, "Resumed", "is resumed.");
		if (!state->started)
			state->started = now;
		if (past_limits(&s)) {
			end(&s);
			delete_pods(&s, false);
		} else {
			for (size_t t = 0; t < spec->n_types; t++)
				reconcile_type(&s, t);
			delete_surplus(&s);
			for (size_t t = 0; t < spec->n_types && !training_finished(state); t++)
				report_type(&s, t);
			if (training_finished(state)) {
				vec_clear(&plan->creates);
				vec_clear(&plan->deletes);
				clean_up(&s);
			}
		}
	}
	return memcmp(old.replicas, state->replicas, sizeof(old.replicas)) != 0 ||
	       old.started != state->started || old.completed != state->completed ||
	       !conditions_equal(&old.conditions, &state->conditions);
}
