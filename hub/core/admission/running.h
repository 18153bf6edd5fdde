#ifndef CORE_ADMISSION_RUNNING_H
#define CORE_ADMISSION_RUNNING_H
/*
 * Who runs on which member, and until when at the latest: what a promise to one that starves is
 * made of (starvation.h, policies/reservation.h).
 */
#include "core/state.h"
#include "policies/reservation.h"

/* Made when somebody asks, at most once a turn. Zero it before; arena_done(&mem) afterwards. */
struct running {
	struct arena mem;
	struct reservation_cluster *clusters;
	size_t n;
	bool done;
};
void running_gather(struct core *c, struct running *r);

/* When the job, which has a place, ends at the latest: now for one that is leaving it,
 * RESERVATION_NEVER for one without a limit. */
int64_t running_end(const struct core *c, const struct job *j);

/* How long the job may run from its start: its own deadline, or what is left of its Workload's
 * maximum execution time; RESERVATION_NEVER: no limit. j NULL is a job without one. */
int64_t running_limit(const struct job *j);

#endif
