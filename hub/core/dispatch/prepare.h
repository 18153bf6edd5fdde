#ifndef CORE_DISPATCH_PREPARE_H
#define CORE_DISPATCH_PREPARE_H
/*
 * What a copy needs on its member before it comes: the namespace, the PriorityClasses that its
 * pods name, and its dependencies (ConfigMaps, Secrets, PVCs, ServiceAccounts) when the policy
 * says propagateDeps. One thing after the other; dependency.h makes sure of each.
 *
 * A placement of a job with dependencies has a row in truth, "need/MEMBER/JOBUID", from the commit
 * of its decision until its copy is proven gone: so what several copies need is counted, also over
 * restarts and for finished jobs, which have no record.
 */
#include "core/dispatch/dependency.h"
#include "core/state.h"

/* Goes on with the job's list; feeds EVENT_PREPARED at its end, EVENT_WITHDRAW at a conflict. */
void prepare_step(struct core *c, struct job *j, struct member *m);
/* The answer of dependency_ensure(), later. words: of a failure, or NULL. */
void prepare_told(struct core *c, struct member *m, uint64_t job, uint64_t epoch,
		  enum dependency_answer answer, const char *words);
/* A create was refused: the namespace may have been deleted under us. */
void prepare_forget(struct core *c, struct member *m, const struct job *j);

/* Whether the job's list has this object. */
bool prepare_needs(const struct core *c, const struct job *j, const struct kind *kind,
		   const char *ns, const char *name);
/* The clusters on which something of the job's list is in conflict; in `mem`. */
size_t prepare_refusals(const struct core *c, const struct job *j, struct arena *mem,
			const struct placement_refusal **ret);

/* Writes or deletes the row when the placement came or went. One row. */
void prepare_flush(struct core *c, struct job *j);
/* The job's record was read from the store. */
void prepare_revive(struct core *c, struct job *j);

#endif
