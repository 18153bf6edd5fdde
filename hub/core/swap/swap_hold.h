#ifndef CORE_SWAP_SWAP_HOLD_H
#define CORE_SWAP_SWAP_HOLD_H
/*
 * Room that is kept on another member for a gang that moves there (HOT_SWAP_MOVE), while its copy
 * is being taken away where it was: else whoever asks meanwhile takes it, and the gang was stopped
 * for nothing.
 *
 * A claim in the ledger under a number of its own, since what the gang holds where it was is still
 * charged, and a row of truth "moving/UID" (STORE_AUX_SETTING), so that a restart keeps it. It is
 * out of the way when its own job is decided about, and ends when the job is placed, there or
 * elsewhere, is over, or the member leaves; when its copy has not gone in SWAP_HOLD_MOST, since
 * pods do not end there; and when it was not placed so long after it could be. Core thread only.
 */
#include "core/state.h"
#include "policies/evict_fit.h"
#include "policies/fit.h"

#define SWAP_HOLD_MOST (600 * USEC_PER_SEC)

struct swap_hold {
	uint32_t member; /* by number; 0: nothing is held */
	char *slots;	 /* assignment.h */
	size_t slots_len;
	struct shape *shape; /* NULL after a restart, until the job has one again */
	bool claimed, tried;
	usec until;
};

/* Keeps the slots of the shape on the member for the job, which has a record (swap.h). */
void swap_hold_take(struct core *c, struct job *j, const struct member *to, struct shape *shape,
		    const struct fit_slot *slots, size_t n);
/* Before a decision about the job: its room is free for it. The cluster where that is;
 * CLUSTER_NONE: none is kept. */
uint32_t swap_hold_lift(struct core *c, const struct job *j);
/* The same inside a trial on one member, of which it undoes itself with the end; `job` lives as
 * long as the trial. */
void swap_hold_try(const struct core *c, const struct job *j, struct evict_fit *trial,
		   struct evict_job *job);
/* The cluster where room is kept now; CLUSTER_NONE. */
uint32_t swap_hold_cluster(const struct core *c, const struct job *j);
/* The job was not placed: it is kept as before. Not while victims leave for it: then it has a claim
 * of another kind (kueue/claim.h). */
void swap_hold_back(struct core *c, const struct job *j);
/* Without the row: for the end of the process. */
void swap_hold_free(struct core *c, const struct job *j);
void swap_hold_drop(struct core *c, const struct job *j);
/* Tries to place a job that is free now. False when nothing is to be kept any more. */
bool swap_hold_look(struct core *c, struct job *j);
/* When swap_hold_look() is due. */
usec swap_hold_due(const struct core *c, const struct job *j);
/* The member goes: nothing is kept there any more. */
void swap_hold_leave(struct core *c, const struct member *m);
/* At start, when members and jobs are there. */
void swap_hold_restore(struct core *c);

#endif
