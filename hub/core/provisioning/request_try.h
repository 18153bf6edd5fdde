#ifndef CORE_PROVISIONING_REQUEST_TRY_H
#define CORE_PROVISIONING_REQUEST_TRY_H
/*
 * Carries the tries of requests out: turns dispatch's orders into calls on members, and outcomes
 * and stream facts into its events, as core/dispatch/courier.h does for jobs' copies. What a
 * copy's status says becomes the try's phase, and the request is decided anew (request_round.h).
 */
#include "core/dispatch/courier.h"
#include "core/provisioning/request.h"

/* Feeds one event and acts on the plan. */
void request_try_feed(struct core *c, struct provisioning_request *r, struct request_try *t,
		      const struct dispatch_event *e);
/* The request's row of this batch is durable: sends what waited for it. */
void request_try_committed(struct core *c, struct provisioning_request *r);

/* FACT_RESULT of a call with CALL_REQUEST. */
void request_try_outcome(struct core *c, const struct call *call, const struct order_outcome *r);
/* FACT_COPY of a ProvisioningRequest that one of our tries made. False: it is nobody's. */
bool request_try_copy(struct core *c, struct member *m, const struct fact *f);
void request_try_list_begin(struct core *c, const struct member *m);
/* Absence from a list is a reason to read. */
void request_try_list_end(struct core *c, const struct member *m);
/* A namespace stands on the member, or cannot: preparations go on. */
void request_try_told(struct core *c, const struct member *m);
/* What waited for its back-off is tried now. */
void request_try_member_ready(struct core *c, const struct member *m);

#endif
