#ifndef CORE_PROVISIONING_REQUEST_SHARE_H
#define CORE_PROVISIONING_REQUEST_SHARE_H
/*
 * How much of a ProvisioningRequest the jobs that name it have taken. Several may share one: each
 * takes as many of the request's pods as it has itself, those of its own size first, when it is
 * placed for the first time. What is left stays claimed for the others (request_claim.h). A job's
 * share is taken for good: when it ends or is evicted, its nodes are the cluster's own.
 *
 * Durable in the request's row, by the jobs' uids, so that nobody is counted twice. Thread: core.
 */
#include "core/provisioning/request.h"

/* The job, which names the request, was placed. True when that takes something more. */
bool request_share_take(struct core *c, struct provisioning_request *r, const struct job *j);
/* Pods of the request's pod set `set`, of `count`, that nobody has taken. */
int64_t request_share_left(const struct provisioning_request *r, size_t set, int64_t count);

/* Of the row: "taken", true where nothing is left or nobody counted, and "shares". */
void request_share_write(const struct provisioning_request *r, struct cJSON *row);
void request_share_read(struct provisioning_request *r, const struct cJSON *row);
void request_share_done(struct provisioning_request *r);

#endif
