#ifndef CORE_DOMAIN_H
#define CORE_DOMAIN_H
/*
 * The topology domain that a placement chose for each pod set, and how its member keeps to it.
 *
 * The hub decides a member and, for a gang that asks for a topology, on which nodes it would fit;
 * the member's own scheduler binds the pods. What one domain holds whole is enforced by node
 * selectors of its levels in the copy's pod templates. A set that stands in several domains cannot
 * be told apart by its template: its pods are born with the scheduling gate
 * kueue.x-k8s.io/topology, and are let go one by one with the selectors of their own domain
 * (dispatch/ungater.h), as Kueue does on its own cluster.
 *
 *   required            the selectors of the asked level's domain
 *   preferred           those of the narrowest domain, up to the asked level, in which the decision
 *                       put all pods; those that were spread are gated, each held to a domain of
 *                       the asked level
 *   group               both pod sets get the selectors of their one domain
 *   slices              of one slice alone: as required. Several are gated: by their index, where
 *                       the kind gives one, each run of slice-size pods is held to one domain of
 *                       the (smallest) slices' level
 *   exclusive           of a JobSet (exclusive-topology): gated, each child Job held to the domain
 *                       that was chosen for it. JobSet's controller and the scheduler alone would
 *                       take any domain, also what is left of one that lost a node, where the rest
 *                       of the Job then finds no room. With hotSwap.enabled: false nothing is
 *                       gated, and the member chooses; nor with JobSet's node-selector strategy,
 *                       where labels of the nodes say whose they are
 *   unconstrained       nothing to enforce
 *
 * So a TopologyAssignment in a Workload's status (workload_status.h) names the levels and domains
 * that are enforced; finer ones, down to nodes, are the member's to choose and not written, and
 * nothing of an exclusive topology, of which Kueue does not know. The
 * choice stands in the binding's digest while the job holds capacity, and in its annotation
 * muster.dev/topology-domains. One that would be longer than 192 KiB is not enforced.
 */
#include "core/state.h"

#define DOMAIN_GATE  "kueue.x-k8s.io/topology"
#define DOMAIN_GATES "[{\"name\":\"" DOMAIN_GATE "\"}]"

/* By pod set an object {level: value, ...}, the widest level first, {} where nothing is enforced;
 * or, for one in several domains, an array: that object of what they share, then for each domain,
 * in the order of their values, an object of its other levels and the number of its pods. NULL when
 * nothing is for any. Caller frees. */
char *domain_choose(const struct core *c, const struct job *j, const struct placement_decision *d);

/* The object of what all pods of a set share, absent when there is none or it is empty. */
struct span domain_of_set(const char *domains, size_t set);
/* The array of a set in several domains, else absent. */
struct span domain_spread(const char *domains, size_t set);
/* Whether the job has an exclusive topology. */
bool domain_is_exclusive(const struct job *j);
/* Whether any set of the job is in several. */
bool domain_is_spread(const struct job *j);
/* The next domain of such an array, *pos 0 at first: its own labels and its pods. */
bool domain_next(struct span spread, size_t *pos, struct span *ret_labels, int64_t *ret_count);
/* Appends a TopologyAssignment of v1beta2; `count`: the pods of a set in one domain. False, and
 * nothing appended, when nothing is enforced. */
bool domain_assignment(const char *domains, size_t set, int64_t count, struct buf *out);
/* The job's ask, held to the domain that its copy is in: what a running gang can still use. One
 * more reference, or NULL when it has no domain, or that cannot be asked. */
struct ask *domain_ask(struct core *c, struct job *j);
/* What a copy of a job outside any Kueue queue gets: a podSetUpdates array (job_digest.h), nothing
 * when no set has a domain. */
void domain_updates(const struct job *j, struct buf *out);

#endif
