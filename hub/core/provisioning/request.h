#ifndef CORE_PROVISIONING_REQUEST_H
#define CORE_PROVISIONING_REQUEST_H
/*
 * The record of one ProvisioningRequest of the hub, and of its copies on members.
 *
 * A request is a user's own, or was made by an admission check for a Workload (its owner then). In
 * both cases a copy of it, with its PodTemplates, goes to members in turn (policies/provision.h
 * decides to which); the hub's object shows the status of the copy that counts. One try is one
 * copy: its life is that of a job's copy (core/dispatch/dispatch.h), where "start" is the writing
 * of the PodTemplates, which the copy owns on the member, and no pods are to be waited for. So a
 * try is durable before its first call, an outcome that nobody knows is resolved by reading, and a
 * deletion is a stored intent.
 *
 * One row in truth, "provision/UID" (STORE_AUX_SETTING), from the commit of the first try until
 * the hub's object is gone and every copy is proven absent. Thread: core.
 */
#include "core/dispatch/dispatch.h"
#include "core/state.h"
#include "policies/provision.h"

#define REQUEST_MAX_RUN ((usec)7 * 86400 * USEC_PER_SEC)

struct request_try {
	uint32_t member;
	struct dispatch_state dispatch;
	enum provision_phase phase;
	usec since;	     /* when it was decided */
	usec provisioned_at; /* 0: not */
	char *nodes;	     /* by which its nodes are known: request_nodes.h; or NULL */
	/* not durable */
	enum dispatch_order order; /* to send with the next commit */
	char order_uid[DISPATCH_UID_MAX];
	uint64_t order_id; /* in flight, 0 none */
	bool durable_wanted;
	bool preparing;		/* its namespace is being made sure of */
	uint64_t copy_revision; /* of the newest state that was seen */
	bool copy_seen;		/* during a relist */
	bool templates_stand, template_read;
	size_t template_at; /* next one to write */
	char *status;	    /* the copy's, JSON; or NULL */
	char *message;	    /* why the member did not take it; or NULL */
};

struct provisioning_request {
	uint64_t number; /* for calls */
	char *ns, *name;
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	char *class;	/* provisioningClassName, "" while only the row is known */
	char *workload; /* whose check made it, or NULL */
	usec max_run;
	bool exists;   /* the hub's object, not being deleted */
	bool complete; /* its PodTemplates are there */
	bool kept;     /* nodes came once: no other member is asked any more */
	bool retired;  /* the reservation that it was made for is over */
	bool taken;    /* jobs that name it have taken all of it */
	/* What each of them has taken: request_share.h. */
	struct VEC(struct request_share *) shares;
	/* request_claim.h: room is claimed; it is to be, and the nodes are not to be seen. */
	bool claimed, unclaimed;
	bool awaited;	/* a consumer waits for room on its nodes */
	uint64_t epoch; /* of its last try */
	struct VEC(struct request_try *) tries;
	enum provision_verdict verdict;
	usec retry_after; /* with PROVISION_RETRY */
	usec again;	  /* decided anew at this time */
	bool no_candidates;
	bool crowded; /* clusters that could be asked have as many waiting requests as they may */
	/* rows */
	bool row, row_dirty, status_dirty, dirty, flushed;
};

struct provisioning {
	struct map by_number, by_uid; /* -> struct provisioning_request */
	struct map by_name;	      /* ns/name -> the one whose object is there */
	uint64_t next_number;
	struct VEC(struct provisioning_request *) dirty, flushed;
	struct VEC(uint64_t) consumers; /* numbers of jobs that wait for one: consumer.h */
	size_t n_watched;		/* requests that are unclaimed or awaited */
	usec due; /* the earliest time at which something is to be done; INT64_MAX */
};

struct provisioning_request *request_find(const struct core *c, struct span ns, struct span name);
struct provisioning_request *request_by_uid(const struct core *c, struct span uid_text);
struct provisioning_request *request_by_number(const struct core *c, uint64_t number);
struct provisioning_request *request_add(struct core *c, struct span ns, struct span name,
					 const uint8_t uid[STORE_UID_LEN]);
/* Out of all maps and lists. The row is left as it is. */
void request_destroy(struct core *c, struct provisioning_request *r);

struct request_try *request_try_add(struct provisioning_request *r, uint32_t member);
/* NULL when this member was not asked. */
struct request_try *request_try_on(const struct provisioning_request *r, uint32_t member);
/* The one whose nodes are there (Provisioned, or its booking has expired since); NULL. */
struct request_try *request_winner(const struct provisioning_request *r);
/* The one whose status the hub shows: the winner, else the oldest that is under way, else the last;
 * NULL before the first. */
struct request_try *request_shown(const struct provisioning_request *r);

/* The next flush looks at it. */
void request_dirty(struct core *c, struct provisioning_request *r);
/* Decided anew not later than `when`. */
void request_due(struct core *c, struct provisioning_request *r, usec when);

#endif
