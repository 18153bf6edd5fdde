#ifndef CORE_PROVISIONING_REQUEST_PHASE_H
#define CORE_PROVISIONING_REQUEST_PHASE_H
/*
 * What the status of a ProvisioningRequest says (autoscaling.x-k8s.io/v1, conditions Accepted,
 * Provisioned, Failed, BookingExpired, CapacityRevoked). Pure; status is checked JSON text.
 */
#include "base/buf.h"
#include "policies/provision.h"

/* Later states go before earlier ones: Failed and CapacityRevoked are the end, an expired booking
 * comes after the nodes. No status: PROVISION_PENDING. */
enum provision_phase request_phase(struct span status);
/* "NotProvisioned: The nodes are not all available yet": reason and message of the condition that
 * the phase comes from; of Accepted requests that of Provisioned=False, where it stands. Appends
 * nothing when there are no words. */
void request_phase_words(struct span status, struct buf *out);
/* "Pending", "Accepted", ... Never NULL. */
const char *request_phase_name(enum provision_phase phase);
/* -EINVAL for an unknown word. */
int request_phase_from_name(struct span name, enum provision_phase *ret);

#endif
