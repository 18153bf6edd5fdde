#ifndef CORE_SUSPENSION_H
#define CORE_SUSPENSION_H
/*
 * The suspend field of a job that one of Kueue's queues admits, as its user sees it: true while it
 * waits, false once it was started, true again when it is taken back. It belongs to the queue; what
 * the job's user wrote there says nothing (DESIGN section 4, item 1), and stays in the digest.
 *
 * The field costs no row of its own: it is set in the row that makes the job, and changes with the
 * status of the first pods. metadata.generation counts what users change, and this they do not.
 *
 * Core thread only.
 */
#include "core/state.h"
#include "wire/command.h"

/* A job that is created with a queue's name, in a namespace that queues manage, is suspended, as
 * Kueue's webhook has it; so is one that comes to a LocalQueue "default", or has to wait for a name
 * (manageJobsWithoutQueueName). */
void suspension_admit(struct core *c, struct command *cmd);
/* An update of a job that waits or runs by a LocalQueue which it does not name (the namespace's
 * "default"): the field stays what it was, and a warning says so, as the kinds have it for jobs
 * that name theirs. */
void suspension_keep(struct core *c, struct command *cmd);
/* A new status of the job is about to be written: the field follows what became of the job. Nothing
 * for a job without a Workload. `old` is what is stored: managedFields say that we changed it. */
void suspension_follow(const struct core *c, const struct job *j, const struct store_object *old,
		       struct object_draft *d);
/* Whether a job that has just come is suspended: by a queue, or by its user. */
bool suspension_begins(struct core *c, const struct job *j);
/* Whether the field of a job of this kind says true. */
bool suspension_is_on(const struct kind *k, const struct object_draft *d);

#endif
