#ifndef KUBE_POD_REQUESTS_H
#define KUBE_POD_REQUESTS_H
/*
 * What a pod asks of its node, from what its containers ask: the larger of what runs together at
 * the end (containers and sidecars) and of what each init container needs at its turn (itself and
 * the sidecars started before it), and the overhead on top (KEP-753; the scheduler's
 * resourcehelper.PodRequests).
 *
 * Internal to hub/kube. Amounts are never negative; at most POD_REQUESTS_MAX resources, more are
 * dropped and marked. Sums that leave int64 stay at its end and are marked.
 */
#include "base/arena.h"
#include "base/span.h"
#include "kube/node_info.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POD_REQUESTS_MAX 64

struct pod_amounts {
	struct info_amount items[POD_REQUESTS_MAX];
	size_t n;
	bool overflow; /* a sum did not fit */
	bool dropped;  /* too many resources */
};

void pod_amounts_add(struct pod_amounts *a, struct span resource, int64_t value);
/* Raises to at least `value`. */
void pod_amounts_raise(struct pod_amounts *a, struct span resource, int64_t value);
/* Sets, whatever stood there. */
void pod_amounts_set(struct pod_amounts *a, struct span resource, int64_t value);
bool pod_amounts_has(const struct pod_amounts *a, struct span resource);
/* A copy in the arena, strings too; zero amounts are left out. */
struct info_amount *pod_amounts_take(const struct pod_amounts *a, struct arena *mem, size_t *ret_n);

enum pod_container { POD_CONTAINER, POD_INIT_CONTAINER, POD_SIDECAR };

struct pod_requests {
	struct pod_amounts running;  /* containers and all sidecars */
	struct pod_amounts sidecars; /* those named so far */
	struct pod_amounts init;     /* highest need of an init container's turn */
};

/* In the order of the pod's spec, init containers and sidecars among each other. */
void pod_requests_add(struct pod_requests *r, enum pod_container what,
		      const struct pod_amounts *container);
/* The pod's amounts, into r->running. overhead may be NULL. */
const struct pod_amounts *pod_requests_total(struct pod_requests *r,
					     const struct pod_amounts *overhead);

#endif
