/*
 * What a dispatch state says by itself, and the names of steps and orders (dispatch.h).
 */
#include "base/compat.h"
#include "core/dispatch/dispatch.h"

bool dispatch_has_standing_copy(const struct dispatch_state *s)
{
	return s->step == DISPATCH_CREATING || s->step == DISPATCH_CONFLICT ||
	       s->step == DISPATCH_SUSPENDED || s->step == DISPATCH_STARTED ||
	       s->step == DISPATCH_STOPPING || s->step == DISPATCH_PARKED ||
	       s->step == DISPATCH_RESUMING;
}

bool dispatch_is_free(const struct dispatch_state *s)
{
	return s->step == DISPATCH_IDLE || s->step == DISPATCH_PARKED;
}

bool dispatch_holds(const struct dispatch_state *s, uint32_t *ret_member)
{
	*ret_member = s->step == DISPATCH_LEAVING ? s->target : s->member;
	return !dispatch_is_free(s) && s->step != DISPATCH_FINISHED && !s->released;
}

bool dispatch_owns(const struct dispatch_state *s, struct span uid, uint64_t epoch)
{
	return s->uid[0] ? span_is(uid, s->uid) : epoch == s->epoch;
}

const char *dispatch_step_name(enum dispatch_step step)
{
	static const char *const names[DISPATCH_STEP_MAX] = {
	    "Idle",	   "Decided",  "Creating", "Suspended", "Started",  "Finished",
	    "Withdrawing", "Conflict", "Stopping", "Parked",	"Resuming", "Leaving",
	};
	return step >= DISPATCH_IDLE && step < DISPATCH_STEP_MAX ? names[step] : "Unknown";
}

const char *dispatch_order_name(enum dispatch_order o)
{
	static const char *const names[DISPATCH_ORDER_MAX] = {
	    "none",   "prepare",   "create", "read",	"start",
	    "delete", "read pods", "stop",   "rewrite", "amend",
	};
	return o >= DISPATCH_ORDER_NONE && o < DISPATCH_ORDER_MAX ? names[o] : "unknown";
}

usec dispatch_backoff(uint32_t failures)
{
	usec wait = 100 * USEC_PER_MS;

	for (uint32_t i = 0; i < failures && wait < 30 * USEC_PER_SEC; i++)
		wait *= 2;
	return wait < 30 * USEC_PER_SEC ? wait : 30 * USEC_PER_SEC;
}
