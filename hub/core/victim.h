#ifndef CORE_VICTIM_H
#define CORE_VICTIM_H
/*
 * A job as a victim of evict_fit.h: the pods that go when it goes. All that take back jobs for the
 * room of another see them so: preemption in Kueue's queues, reclaim in the elastic tree, hot-swap.
 * Core's thread.
 */
#include "core/state.h"
#include "policies/evict_fit.h"

/* Those of its pods that stand on nodes of this member (by number). What the ledger knows of the
 * job, its charge, needs none. Arrays from `mem`, amounts borrowed from the pods. */
struct evict_job victim_of(const struct job *j, uint32_t member, struct arena *mem);

/* The same, made once for a job in a search: `seen` maps numbers of jobs (8 bytes) to records in
 * `mem`. All lookups of a job are for one member, the one where it is placed. */
const struct evict_job *victim_find(struct map *seen, const struct job *j, uint32_t member,
				    struct arena *mem);

#endif
