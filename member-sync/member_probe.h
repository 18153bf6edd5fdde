#ifndef MEMBER_SYNC_MEMBER_PROBE_H
#define MEMBER_SYNC_MEMBER_PROBE_H
/*
 * One look at a member: does it answer, who is it, and (when asked) what does it serve.
 *
 * GET /api/v1/namespaces/kube-system gives life and identity (the namespace's uid names the
 * cluster: DESIGN section 7); then /version, and the discovery document of each group that holds
 * a wanted kind. Requests are urgent and one after the other. A group that answers 404 or 403
 * counts as not served; one that fails in another way leaves its kinds unknown. Belongs to the
 * loop's thread.
 */
#include "member-sync/client.h"
#include "wire/fact.h"

struct member_probe;

struct member_probe_result {
	enum member_condition condition; /* MEMBER_READY: it answered and gave its identity */
	struct err err;			 /* why not */
	bool transport;			 /* the failure was in reaching it, not in what it said */
	uint8_t incarnation[STORE_UID_LEN];
	bool discovered;
	char version[64];     /* gitVersion or "" */
	uint32_t apis, known; /* bits of streams: served; settled by this probe */
};

struct member_probe_options {
	bool discover;
	uint32_t streams; /* wanted ones, bit per enum member_stream */
	usec timeout;	  /* of one request */
	void (*done)(void *arg, const struct member_probe_result *result);
	void *arg;
};

/* done() is called once, later, unless the probe is cancelled; the probe is gone by then. */
struct member_probe *member_probe_start(struct client *c, const struct member_probe_options *o);
struct member_probe *member_probe_cancel(struct member_probe *p); /* NULL is fine; NULL */

#endif
