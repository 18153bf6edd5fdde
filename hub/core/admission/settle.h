#ifndef CORE_ADMISSION_SETTLE_H
#define CORE_ADMISSION_SETTLE_H
/*
 * A job between its states: offered for placement, placed, finished, taken back, gone.
 *
 * Quota and capacity are held together or not at all (DESIGN section 4, item 3), and given back
 * exactly once: job->holds says whether they are held.
 */
#include "core/state.h"

/* Looks at the job anew: its policy, whether anything holds it, its queue; and files it where it
 * waits. For jobs without a placement only; filing again is fine. */
void settle_offer(struct core *c, struct job *j);
/* Whether a job that is about to be made will be one of Kueue's queues'. */
bool settle_goes_to_queue(struct core *c, const struct kind *kind, struct span ns, struct span name,
			  const struct job_digest *digest);
/* Takes it out of wherever it waits. */
void settle_withdraw(struct core *c, struct job *j);
/* Keeps the job from being offered, with the words that its users read; and lets go of that. */
void settle_hold(struct core *c, struct job *j, enum job_hold why, const char *detail);
void settle_unhold(struct job *j);
/* The top reason of a job that waits: shown by its binding. */
void settle_tell(struct core *c, struct job *j, const char *reason);
/* The policy that the job was offered under. */
const struct propagation_policy *settle_policy(const struct core *c, const struct job *j);
/* A decision: charges quota and ledger and starts the dispatch. */
void settle_place(struct core *c, struct job *j, const struct placement_decision *d);
/* Gives back what is held; idempotent. */
void settle_release(struct core *c, struct job *j);
/* Puts the job on its member's list and takes it off; each is O(1), leaving twice is fine. */
void settle_enter_member(struct member *m, struct job *j);
void settle_leave_member(struct core *c, struct job *j, uint32_t number);
/* The dispatch is back at idle after a placement on member `was`. */
void settle_idle(struct core *c, struct job *j, uint32_t was);
/* Its copy is suspended where it is, without pods: it waits for a placement. */
void settle_parked(struct core *c, struct job *j);
/* It is not where it was parked any more, or is taken away from there: it waits for no placement
 * until its absence is proven. */
void settle_unparked(struct core *c, struct job *j);
/* The copy's status is terminal. */
void settle_finished(struct core *c, struct job *j);
/* The hub's object: its user suspended or resumed it, deleted it, or it is gone. */
void settle_changed(struct core *c, struct job *j, bool asks_changed);
/* Its user edited it: a placed job starts anew with that, or its copy is edited too. */
void settle_edited(struct core *c, struct job *j);

#endif
