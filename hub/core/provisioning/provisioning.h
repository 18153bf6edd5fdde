#ifndef CORE_PROVISIONING_PROVISIONING_H
#define CORE_PROVISIONING_PROVISIONING_H
/*
 * ProvisioningRequests in the core: what the rest of it calls. The parts: request.h (the record),
 * request_try.h (copies on members), request_round.h (where to ask), request_row.h (what is
 * written), request_nodes.h (which nodes came), request_claim.h (who else gets them), consumer.h
 * (jobs that take the nodes); core/kueue/provisioning_check.h makes requests for an admission
 * check. Thread: core.
 */
#include "core/provisioning/request.h"

void provisioning_open(struct core *c);
void provisioning_close(struct core *c);

bool provisioning_is_interesting(const struct kind *kind);
/* A ProvisioningRequest or a PodTemplate was committed, or read at start. False: another kind. */
bool provisioning_observe(struct core *c, const struct kind *kind, const struct store_object *o);
bool provisioning_observe_absent(struct core *c, const struct kind *kind, struct span ns,
				 struct span name);
/* At start, when members and nodes are there, before jobs: rows; then objects' own restore. */
int provisioning_restore(struct core *c, struct err *reterr) MUST_CHECK;

void provisioning_timers(struct core *c);
usec provisioning_due(const struct core *c);
/* Rows and statuses into the batch. True when some found no room. */
bool provisioning_flush(struct core *c);
/* The batch is durable: its orders go. */
void provisioning_committed(struct core *c);

/* The member can be asked (again), or is being left. */
void provisioning_member_changed(struct core *c, const struct member *m);
/* Whether copies of requests may still be on the member. Those that are go. */
bool provisioning_is_on(struct core *c, const struct member *m);

#endif
