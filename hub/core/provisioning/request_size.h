#ifndef CORE_PROVISIONING_REQUEST_SIZE_H
#define CORE_PROVISIONING_REQUEST_SIZE_H
/*
 * Requests that a member can only refuse, since they are too large. Google's guide to queued
 * provisioning: "a single request can create at most 1000 virtual machines", the most nodes that a
 * node pool has in one zone. It is a limit of this class; others have none that is known.
 *
 * How many nodes a request takes depends on machines that are not there yet, which is for the
 * member to know (its refusal is passed on as it is). Two things the hub can prove: pods that keep
 * each other off a node (a host port; anti-affinity by hostname to pods of their own labels) take
 * one each, and pods that name a node pool of which the member has nodes take as many as fit on
 * those, since a pool has one type of machine. Counted low where it is not certain. Thread: core.
 */
#include "core/provisioning/request.h"

#define REQUEST_MAX_NODES 1000

/* Whether the member would have to make more nodes than it may; then why, appended to `words`. */
bool request_size_refuses(struct core *c, const struct provisioning_request *r,
			  const struct member *m, struct buf *words);

#endif
