#ifndef CORE_PRIORITY_H
#define CORE_PRIORITY_H
/*
 * Priorities of jobs, by Kubernetes' rules for pods (plugin/pkg/admission/priority): the class that
 * a job names is resolved to a number once, when the hub first looks at the job, and the number
 * stays with the job (in its binding). So a class that goes, or a default that moves to another
 * class, changes nothing for jobs that are there, waiting or not; a class's value itself cannot
 * change. A job without a class gets the global default's value, else 0; of several defaults the
 * lowest counts.
 *
 * One difference: where Kubernetes refuses a pod whose class does not exist, the hub takes the job,
 * queues it as if it named none, and resolves it when such a class comes.
 */
#include "core/state.h"

/* A PriorityClass was committed (or read at start): jobs that wait for it to exist get its value.
 */
void priority_observe(struct core *c, const struct store_object *class);
void priority_forget(struct core *c, struct span name);
/* Sets j->priority and j->priority_pending from what the job names. */
void priority_resolve(const struct core *c, struct job *j);
/* A user's create or update of a class: refused (ERR_FORBIDDEN, in cmd->err) when it makes a second
 * default. */
int priority_admit_command(struct core *c, struct command *cmd);
/* The value of a PriorityClass; false when there is none of this name. */
bool priority_value(const struct core *c, struct span name, int32_t *ret);
/* Whether its class lets the job take room from others (preemptionPolicy; without a class it may).
 */
bool priority_preempts(const struct core *c, const struct job *j);
/* Drops all classes from memory. */
void priority_close(struct core *c);

#endif
