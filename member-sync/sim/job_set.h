#ifndef MEMBER_SYNC_SIM_JOB_SET_H
#define MEMBER_SYNC_SIM_JOB_SET_H
/*
 * JobSet as its controller drives it (kubernetes-api.md 4.1): child Jobs by name, restarts,
 * success and failure policies, suspend, dependsOn and the old startup policy.
 *
 * A restart makes all Jobs anew (RestartJobSet), or the failed one alone (RestartJob); what counts
 * towards maxRestarts is the sum of both. With restartStrategy BlockingRecreate no Job is made
 * while one of an earlier attempt is left; else each comes as soon as its name is free.
 *
 * Every condition that changes, and every restart, is an Event in the condition's words. While a
 * restart of the whole set is under way RestartingJobSet is true, for the rule that asked for it:
 * until all Jobs are ready, or the set is over or suspended.
 *
 * Pure: from the spec and what is known of the child Jobs to a new status and a plan over them.
 * Not simulated: in-place restarts, volume claim policies.
 */
#include "base/vec.h"
#include "member-sync/sim/conditions.h"
#include <stdint.h>

#define JOB_SET_MAX_REPLICATED 32
#define JOB_SET_MAX_RULES      20
#define JOB_SET_MAX_RESTARTED  1024 /* replicas of a replicated job with per-job restarts */

enum job_set_action {
	ACTION_RESTART,
	ACTION_RESTART_FREE, /* does not count towards maxRestarts */
	ACTION_RESTART_JOB,
	ACTION_RESTART_JOB_FREE,
	ACTION_FAIL,
};

struct job_set_replicated {
	char name[64];
	char group[64]; /* groupName; "default" */
	int32_t replicas;
	int64_t parallelism, completions; /* of the job template, for readiness */
	int32_t depends_on;		  /* index of the replicated job it waits for; -1 */
	bool depends_complete;		  /* waits for Complete, else for Ready */
};

struct job_set_rule {
	char name[132];
	enum job_set_action action;
	uint32_t targets;    /* bit per replicated job; 0: all */
	char reasons[4][40]; /* onJobFailureReasons; none: all */
	size_t n_reasons;
	char *patterns[8]; /* onJobFailureMessagePatterns, owned by the spec; none: all */
	size_t n_patterns;
};

struct job_set_spec {
	struct job_set_replicated jobs[JOB_SET_MAX_REPLICATED];
	size_t n_jobs;
	struct job_set_rule rules[JOB_SET_MAX_RULES];
	size_t n_rules;
	bool has_failure_policy;
	int32_t max_restarts;
	bool any_success;	  /* successPolicy.operator Any */
	uint32_t success_targets; /* bit per replicated job; 0: all */
	bool suspend, in_order;
	bool blocking;	    /* restartStrategy BlockingRecreate */
	bool restarts_jobs; /* some rule restarts single Jobs */
	int64_t ttl;	    /* seconds after it finished; -1: never */
};

struct job_set_child {	     /* a child Job that exists */
	int32_t set, index;  /* replicated job and its index */
	int32_t attempt;     /* label restart-attempt */
	int32_t job_attempt; /* label job-restart-attempt; 0 without */
	bool deleting, suspended, complete, failed;
	char reason[56];     /* of its Failed condition */
	const char *message; /* the same; borrowed, NULL without */
	usec failed_at;
	const char *name;
	int64_t active, ready, succeeded;
};

struct job_set_counts {
	int32_t ready, succeeded, failed, active, suspended;
};

/* Of one Job, by its replicated job and index. */
struct job_set_restarts {
	int32_t all, counted;
};

struct job_set_state {
	struct conditions conditions;
	int32_t restarts, restarts_counted;
	const char *terminal; /* "", "Completed" or "Failed"; static text */
	struct job_set_counts counts[JOB_SET_MAX_REPLICATED];
	bool counted; /* counts have been written once */
	/* Owned; NULL until a Job of it was restarted alone. */
	struct job_set_restarts *job_restarts[JOB_SET_MAX_REPLICATED];
};

struct job_set_create {
	int32_t set, index, attempt, job_attempt;
};

struct job_set_event {
	bool warning;
	char reason[80];
	char message[184];
};

struct job_set_plan {
	struct VEC(struct job_set_create) creates;
	struct VEC(size_t) deletes;  /* indexes into the children */
	struct VEC(size_t) suspends; /* whose suspend field must be changed to the spec's */
	struct VEC(struct job_set_event) events;
	bool restarted; /* something is to be made anew: look again at once */
};

void job_set_state_done(struct job_set_state *s);
/* Restarts of one Job alone. */
struct job_set_restarts job_set_job_restarts(const struct job_set_state *s, int32_t set,
					     int32_t index);
/* The place of them, made when it is not there; NULL beyond JOB_SET_MAX_RESTARTED. */
struct job_set_restarts *job_set_add_restarts(struct job_set_state *s, int32_t set, int32_t index);
void job_set_plan_done(struct job_set_plan *p);
bool job_set_finished(const struct job_set_state *s);
/* Frees what the spec owns. */
void job_set_spec_done(struct job_set_spec *s);
/* state is the last one and becomes the next; true when it changed. */
bool job_set_decide(const struct job_set_spec *spec, const struct job_set_child *children,
		    size_t n_children, usec now, struct job_set_state *state,
		    struct job_set_plan *plan);

#endif
