#include "member-sync/reflector.h"

#define X REFLECTOR_INVALID
static const int transitions[REFLECTOR_STATE_MAX][REFLECTOR_EVENT_MAX] = {
    /* clang-format off: columns START_LIST, START_WATCH, PAGE, LISTED, OPENED, ENDED, FAILED,
	 * GONE, MISSING, STOP */
    [REFLECTOR_IDLE] = {REFLECTOR_LISTING, REFLECTOR_SYNCED, X, X, X, X, X, X, REFLECTOR_ABSENT,
			REFLECTOR_IDLE},
    [REFLECTOR_LISTING] = {X, X, REFLECTOR_LISTING, REFLECTOR_SYNCED, X, X, REFLECTOR_BACKOFF,
			   REFLECTOR_LISTING, REFLECTOR_ABSENT, REFLECTOR_IDLE},
    [REFLECTOR_SYNCED] = {X, X, X, X, REFLECTOR_WATCHING, X, REFLECTOR_BACKOFF, REFLECTOR_LISTING,
			  REFLECTOR_ABSENT, REFLECTOR_IDLE},
    [REFLECTOR_WATCHING] = {X, X, X, X, X, REFLECTOR_SYNCED, REFLECTOR_BACKOFF, REFLECTOR_LISTING,
			    REFLECTOR_ABSENT, REFLECTOR_IDLE},
    [REFLECTOR_BACKOFF] = {REFLECTOR_LISTING, REFLECTOR_SYNCED, X, X, X, X, X, X, REFLECTOR_ABSENT,
			   REFLECTOR_IDLE},
    [REFLECTOR_ABSENT] = {REFLECTOR_LISTING, REFLECTOR_SYNCED, X, X, X, X, X, X, REFLECTOR_ABSENT,
			  REFLECTOR_IDLE},
    /* clang-format on */
};
#undef X

enum reflector_state reflector_next(enum reflector_state state, enum reflector_event event)
{
	return (enum reflector_state)transitions[state][event];
}

const char *reflector_state_name(enum reflector_state state)
{
	static const char *const names[REFLECTOR_STATE_MAX] = {
	    [REFLECTOR_IDLE] = "idle",	     [REFLECTOR_LISTING] = "listing",
	    [REFLECTOR_SYNCED] = "synced",   [REFLECTOR_WATCHING] = "watching",
	    [REFLECTOR_BACKOFF] = "backoff", [REFLECTOR_ABSENT] = "absent",
	};
	return state >= 0 && state < REFLECTOR_STATE_MAX ? names[state] : "invalid";
}
