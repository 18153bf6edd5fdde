#ifndef CORE_DISPATCH_PLAN_H
#define CORE_DISPATCH_PLAN_H
/*
 * Internal to dispatch.h's functions: the handlers of its events, by file. Each writes the plan;
 * none looks at anything else.
 */
#include "core/dispatch/dispatch.h"

/* A member that refuses a stop so often in a row cannot suspend it: the copy is deleted. */
#define DISPATCH_STOP_TRIES 4

/* ---- dispatch_park.c: stopped, parked, resumed where it is, or left for another member ---- */

/* EVENT_STOP. */
void dispatch_stop(struct dispatch_plan *p);
/* The copy of one that is STOPPING, PARKED or RESUMING, as a read or the stream shows it. */
void dispatch_park_seen(struct dispatch_plan *p, const struct dispatch_event *e, usec now);
/* EVENT_STOPPED, EVENT_REWRITTEN, EVENT_UNFIT. */
void dispatch_park_answer(struct dispatch_plan *p, const struct dispatch_event *e, usec now);
/* EVENT_DECIDED for a parked one. */
void dispatch_place_parked(struct dispatch_plan *p, uint32_t member);
/* The copy goes, then the placement of this epoch begins on `member`. No order yet. */
void dispatch_leave_for(struct dispatch_plan *p, uint32_t member);
/* It is gone: begins there. */
void dispatch_arrive(struct dispatch_plan *p);
/* The placement to come is given back; the copy still goes. */
void dispatch_forgo_target(struct dispatch_plan *p);
void dispatch_become_parked(struct dispatch_plan *p);

/* ---- dispatch_absence.c ---- */

/* A copy ought to be there, its uid known. */
bool dispatch_has_copy(const struct dispatch_state *s);
void dispatch_stale(struct dispatch_plan *p, const struct dispatch_event *e);
void dispatch_foreign(struct dispatch_plan *p, const struct dispatch_event *e, usec now);
void dispatch_absent(struct dispatch_plan *p, const struct dispatch_event *e, usec now);
void dispatch_gone(struct dispatch_plan *p, const struct dispatch_event *e, usec now);
/* EVENT_PODS_GONE, EVENT_PODS_ABSENT, EVENT_PODS_LEFT. */
void dispatch_pods(struct dispatch_plan *p, enum dispatch_event_kind kind, usec now);

/* ---- dispatch.c ---- */

void dispatch_order(struct dispatch_plan *p, enum dispatch_order o);
void dispatch_retry_later(struct dispatch_plan *p, usec now);
void dispatch_become_idle(struct dispatch_plan *p);
void dispatch_withdraw(struct dispatch_plan *p);

#endif
