#ifndef CORE_DOMAIN_H
#define CORE_DOMAIN_H
/*
 * The topology domain that a placement chose for each pod set, and how its member keeps to it.
 *
 * The hub decides a member and, for a gang that asks for a topology, on which nodes it would fit;
 * the member's own scheduler binds the pods. What can be enforced from here is enforced by node
 * selectors of the domain's levels in the copy's pod templates:
 *
 *   required            the selectors of the asked level's domain: enforced
 *   preferred           those of the narrowest domain, up to the asked level, in which the decision
 *                       put all pods: enforced; none when they were spread
 *   group               both pod sets get the selectors of their one domain: enforced
 *   slices              of one slice alone: as required. Several slices of one template cannot be
 *                       told apart by its selectors: only the domain of the whole set is enforced,
 *                       that each slice stays in one is the member scheduler's doing. (A JobSet's
 *                       exclusive-topology is enforced on the member, by its own controller.)
 *   unconstrained       nothing to enforce
 *
 * So a TopologyAssignment in a Workload's status (workload_status.h) names the levels that are
 * enforced, and one domain; finer ones, down to nodes, are not known here and not written. The
 * choice stands in the binding's digest while the job holds capacity, and in its annotation
 * muster.dev/topology-domains.
 */
#include "core/state.h"

/* By pod set an object {level: value, ...}, the widest level first, {} where nothing is enforced;
 * NULL when nothing is for any. Caller frees. */
char *domain_choose(const struct core *c, const struct job *j, const struct placement_decision *d);

/* The object of one pod set in such a text, absent when there is none or it is empty. */
struct span domain_of_set(const char *domains, size_t set);
/* Appends a TopologyAssignment of v1beta2: `count` pods in the domain. */
void domain_assignment(struct span domain, int64_t count, struct buf *out);
/* The job's ask, held to the domain that its copy is in: what a running gang can still use. One
 * more reference, or NULL when it has no domain, or that cannot be asked. */
struct ask *domain_ask(struct core *c, struct job *j);
/* What a copy of a job outside any Kueue queue gets: a podSetUpdates array (job_digest.h), nothing
 * when no set has a domain. */
void domain_updates(const struct job *j, struct buf *out);

#endif
