#ifndef CORE_PROVISIONING_REQUEST_CLAIM_H
#define CORE_PROVISIONING_REQUEST_CLAIM_H
/*
 * The room of a ProvisioningRequest from "Provisioned" on until its consumers have taken it: what
 * its pod sets ask is claimed in the ledger, node by node, on the nodes that came for it
 * (request_nodes.h), so that nobody else is placed there meanwhile. What a consumer takes is no
 * longer claimed (request_share.h), the rest is, for others that name the request.
 *
 * A claim stands while the member says Provisioned and something is left. It goes when nothing is,
 * when the booking has expired, the capacity is revoked, the request is deleted or retired, or the
 * member leaves. It is derived: the request's row says who has the nodes, which they are and how
 * much was taken, so that a restart claims as much again before anything is decided.
 * Nodes that the hub has not seen yet are claimed in the batch that tells of them.
 * Thread: core.
 */
#include "core/provisioning/request.h"
#include "policies/evict_fit.h"

/* Makes or drops the claim as the request stands now. */
void request_claim_look(struct core *c, struct provisioning_request *r);
/* Gives it back; without one nothing happens. */
void request_claim_drop(struct core *c, struct provisioning_request *r);
/* No consumer fits on its nodes now: they are looked at whenever something may have changed there,
 * and consumers are told (consumer_news()). */
void request_claim_await(struct core *c, struct provisioning_request *r);
/* Consumers are told now. */
void request_claim_awaited(struct core *c, struct provisioning_request *r);
/* The record goes. */
void request_claim_forget(struct core *c, struct provisioning_request *r);
/* In a trial on one member: what the request claims there is out of the way. *job is the caller's,
 * and lives as long as the trial. */
void request_claim_lift(const struct core *c, const struct provisioning_request *r,
			struct evict_fit *trial, struct evict_job *job);
/* Nodes of the member changed: requests that look at them do so in this batch. */
void request_claim_nodes_changed(struct core *c, const struct member *m);
/* The member leaves the fleet. */
void request_claim_leave(struct core *c, const struct member *m);

#endif
