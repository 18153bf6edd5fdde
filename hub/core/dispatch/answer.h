#ifndef CORE_DISPATCH_ANSWER_H
#define CORE_DISPATCH_ANSWER_H
/*
 * What an answered order says of a job's copy, and what the copy says of its job: events of the
 * state machine, and the status that goes to the hub's object.
 */
#include "core/state.h"

/* The words of the last failure, for verdicts; "" or NULL takes them away. */
void answer_note(struct job *j, const char *text);
/* Whether the copy is the one that the dispatch speaks of. */
bool answer_is_current(const struct job *j, const struct copy_info *copy);
/* The event that a copy's present state amounts to; its uid is put into `uid`. */
struct dispatch_event answer_reading(const struct core *c, const struct job *j,
				     const struct copy_info *copy, char uid[DISPATCH_UID_MAX]);
/* Takes status and phase from it, when it is no older than what was seen, and ends the job with it.
 */
void answer_seen(struct core *c, struct job *j, const struct copy_info *copy);
/* The job's order in flight was answered. */
void answer_take(struct core *c, struct job *j, enum dispatch_order what,
		 const struct order_outcome *r);
/* It was not: nobody knows what became of it, or it was not sent. */
void answer_none(struct core *c, struct job *j, enum dispatch_order what,
		 const struct order_outcome *r);

#endif
