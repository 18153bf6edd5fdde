#ifndef CORE_DISPATCH_H
#define CORE_DISPATCH_H
/*
 * The life of one placement on one member, as a pure function: (state, event, now) -> plan.
 *
 * Guarantee (DESIGN section 7; reliability-performance.md I1, I4): a job runs on at most one
 * member at any instant, ever. It follows from four rules that this module alone enforces:
 *  1. The decision (member, epoch) is durable before the first order about it.
 *  2. The copy is created SUSPENDED, carrying the hub object's uid and the epoch. Its uid on the
 *     member is durable before it is unsuspended, and the unsuspend names that uid, so that a
 *     late one cannot start another copy.
 *  3. The job is free for another placement (DISPATCH_IDLE) only after absence is proven: the copy
 *     is deleted with a uid precondition, then read as gone, and then the member itself lists no
 *     pod of the job that is not over (what the stream of pods has told may lag behind: it only
 *     says when it is worth asking); or the operator declared the member dead.
 *  4. An outcome that nobody knows is resolved by reading, never by assuming.
 * A copy that turns up without belonging to the current epoch never runs (rule 2: it is suspended)
 * and is deleted. A foreign object of the same name is a conflict: reported, never touched.
 *
 * An evicted job is not deleted but parked: its copy is suspended and marked with the next epoch,
 * by one patch that demands the uid and the epoch that stand there; its pods are proven gone, as
 * above; then it holds nothing (DISPATCH_PARKED) and may be placed anew. Every start demands the
 * copy's uid AND epoch, so that one which was lost on its way starts nothing that was parked since.
 * Placed on the same member, the copy is written for the new epoch while it is suspended, and
 * started; placed on another, it first goes (DISPATCH_LEAVING), by rule 3, and only then does
 * anything begin there. A copy that cannot be parked, because its member refuses, is deleted.
 *
 * What users write into a job while its copy runs is carried over to the copy (AMEND): it is read,
 * and patched as it was read, so that a patch which comes late changes nothing. The state only
 * knows that there is something to carry over (`edited`); what that is, and whether it is still
 * lacking after a restart, is the caller's to know (amend.h).
 *
 * plan.durable says that plan.next must be committed before plan.order is sent. The caller then
 * performs the order and feeds its outcome back. Live operation, restart and the simulation tests
 * run the same function; on restart the caller loads the durable state and sends EVENT_RESTARTED.
 * No I/O, no clock, no allocation.
 */
#include "base/clock.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

#define DISPATCH_UID_MAX 64 /* a uid's text on a member, NUL included */

/* A restart takes a durable DECIDED for CREATING, which thus needs no commit of its own. */
enum dispatch_step {
	DISPATCH_IDLE = 0,     /* no placement: the job may be placed anywhere */
	DISPATCH_DECIDED = 1,  /* durable decision; the way is prepared (namespace, dependencies) */
	DISPATCH_CREATING = 2, /* a create may be under way, or have landed */
	DISPATCH_SUSPENDED = 3, /* the copy exists, its uid is known; not yet started */
	DISPATCH_STARTED = 4,	/* unsuspended (or about to be: the start is repeated until seen) */
	DISPATCH_FINISHED = 5,	/* terminal status recorded; the copy stays for its readers */
	DISPATCH_WITHDRAWING = 6, /* a stored intent: delete the copy, prove absence */
	DISPATCH_CONFLICT = 7,	  /* a foreign object holds the name on the member */
	DISPATCH_STOPPING = 8, /* a stored intent: suspend the copy, prove that its pods are gone */
	DISPATCH_PARKED = 9,   /* suspended, without pods, holds nothing: may be placed anew */
	DISPATCH_RESUMING = 10, /* placed where it is parked: the copy is written for this epoch */
	DISPATCH_LEAVING = 11,	/* placed on `target`; first the parked copy goes */
	DISPATCH_STEP_MAX,
};

struct dispatch_state {
	enum dispatch_step step;
	uint32_t member; /* where its copy is, or is to be */
	uint32_t target; /* LEAVING: where it is placed; may be `member`, for a copy made anew */
	uint64_t epoch;	 /* grows with every decision for this job, and when it is parked */
	char uid[DISPATCH_UID_MAX]; /* of the copy; "" until known */
	bool start_seen;	    /* STARTED: the member confirmed it */
	bool copy_gone;		    /* WITHDRAWING, LEAVING: read as absent; pods may remain */
	bool released; /* WITHDRAWING, STOPPING: was parked, or never began: nothing is held */
	/* not durable */
	bool edited;	   /* the copy lacks what users have written into the job since */
	bool copy_stopped; /* STOPPING: seen suspended and marked; pods may remain */
	bool in_flight;	   /* an order waits for its outcome */
	bool reading;	   /* that order is a read, of the copy or of pods */
	uint32_t failures; /* in a row, for the back-off */
	usec retry_at;	   /* 0: nothing is waiting for time */
};

enum dispatch_event_kind {
	EVENT_DECIDED,	       /* placement chose `member`; the epoch becomes old + 1 */
	EVENT_DURABLE,	       /* the state that was to be durable is committed */
	EVENT_PREPARED,	       /* namespace and dependencies are in place */
	EVENT_CREATED,	       /* create answered: exists, ours, this epoch; `uid` */
	EVENT_REFUSED,	       /* the order in flight was answered with a refusal */
	EVENT_READ_OURS,       /* a read or the stream shows our copy of this epoch */
	EVENT_READ_STALE,      /* shows a copy with our job's uid but another epoch or uid */
	EVENT_READ_FOREIGN,    /* a read shows an object that is not ours under the name */
	EVENT_READ_ABSENT,     /* a read (not a list cache) answered 404 */
	EVENT_STARTED,	       /* the unsuspend was answered 2xx */
	EVENT_DELETE_ANSWERED, /* the delete was answered 2xx (accepted), not yet seen gone */
	EVENT_GONE,	       /* the stream shows the copy deleted */
	EVENT_PODS_GONE,       /* the stream shows no pod of the job on the member any more */
	EVENT_PODS_ABSENT,     /* the member listed none */
	EVENT_PODS_LEFT,       /* it listed some */
	EVENT_UNKNOWN,	       /* the order in flight has an unknown outcome */
	EVENT_NOT_SENT,	       /* the order in flight was certainly not sent */
	EVENT_FINISHED,	       /* the copy's status is terminal */
	EVENT_WITHDRAW,	       /* delete, failover: the copy goes */
	EVENT_STOP,	       /* eviction, suspend by the user: the copy stays, parked */
	EVENT_STOPPED,	       /* the stop was answered 2xx; `epoch` */
	EVENT_REWRITTEN,       /* the rewrite was answered 2xx */
	EVENT_UNFIT,	       /* the parked copy cannot become what is to run: make it anew */
	EVENT_EDITED,	       /* the copy lacks an edit of the job */
	EVENT_AMENDED,	       /* the amendment was answered 2xx */
	EVENT_AMEND_REFUSED,   /* the member does not take it: the copy goes on without */
	EVENT_MEMBER_DEAD,     /* the operator declared it: absence is granted */
	EVENT_TIMER,	       /* retry_at has come */
	EVENT_RESTARTED,       /* the process started again; in-flight orders are lost */
	EVENT_KIND_MAX,
};

struct dispatch_event {
	enum dispatch_event_kind kind;
	uint32_t member; /* DECIDED */
	const char *uid; /* CREATED, READ_OURS, READ_STALE */
	uint64_t epoch;	 /* READ_OURS, STOPPED: as the copy says */
	bool suspended;	 /* READ_OURS: as the member shows it */
	bool pods_gone;	 /* GONE, READ_ABSENT, READ_FOREIGN: whether the stream shows no pod */
	bool has_text;	 /* READ_OURS: a read's answer, and the caller keeps the copy's text */
};

enum dispatch_order {
	DISPATCH_ORDER_NONE,
	DISPATCH_ORDER_PREPARE, /* namespace, PriorityClasses, dependencies */
	DISPATCH_ORDER_CREATE,
	DISPATCH_ORDER_READ,
	DISPATCH_ORDER_START,	  /* unsuspend; plan.uid and plan.copy_epoch as preconditions */
	DISPATCH_ORDER_DELETE,	  /* with plan.uid as precondition */
	DISPATCH_ORDER_READ_PODS, /* a list of the job's pods that are not over, of any epoch */
	DISPATCH_ORDER_STOP,	  /* suspend, and mark with epoch + 1; preconditions as of START */
	/* The suspended copy, as it was just read, becomes what the hub wants to run in this epoch.
	 */
	DISPATCH_ORDER_REWRITE,
	DISPATCH_ORDER_AMEND, /* the running copy, as it was just read, is edited as its job was */
	DISPATCH_ORDER_MAX,
};

struct dispatch_plan {
	struct dispatch_state next;
	enum dispatch_order order;
	char uid[DISPATCH_UID_MAX]; /* START, STOP, REWRITE, AMEND, DELETE: whose */
	uint64_t copy_epoch;	    /* START, STOP: what the copy has to say */
	bool durable;		    /* commit `next` before sending `order` */
	bool freed; /* quota and capacity may be given back (again: giving back is idempotent) */
};

/* What to do about an event. An event that says nothing new gives the state back, no order.
 * Member numbers of events are checked by the caller (stale facts are dropped at the core's
 * door), except for DECIDED. */
struct dispatch_plan dispatch_next(const struct dispatch_state *state,
				   const struct dispatch_event *event, usec now);

/* Whether a copy stands, or may, that is not to go: what is written into the job now has to be
 * carried over to it. */
bool dispatch_has_standing_copy(const struct dispatch_state *state);
/* Whether the job may be placed: it has no placement, or is parked. */
bool dispatch_is_free(const struct dispatch_state *state);
/* Whether quota and capacity are held for it, on which member: `target` of one that leaves. */
bool dispatch_holds(const struct dispatch_state *state, uint32_t *ret_member);
/* Whether a copy with this uid and epoch is the state's own. */
bool dispatch_owns(const struct dispatch_state *state, struct span uid, uint64_t epoch);

const char *dispatch_step_name(enum dispatch_step step);
const char *dispatch_order_name(enum dispatch_order order);

/* Back-off after n failures in a row: 100 ms doubling to 30 s. */
usec dispatch_backoff(uint32_t failures);

#endif
