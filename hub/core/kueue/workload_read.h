#ifndef CORE_KUEUE_WORKLOAD_READ_H
#define CORE_KUEUE_WORKLOAD_READ_H
/*
 * What the row of a Workload says, taken into its record: what it is, how it stood when the row was
 * written, what it holds, and what its checks say. When that is looked at, and what else follows,
 * is workload_restore.c's. Thread: core.
 */
#include "core/kueue/workload.h"
#include "core/kueue/workload_status.h"

/* Its spec; the engine hears another priority. */
void workload_read_spec(struct core *c, struct workload *w, const struct store_object *o,
			const struct workload_digest *d);
/* All of a row whose record has just been made (its job is set, if it has one), and into its queue;
 * what it holds apart. */
void workload_read_new(struct core *c, struct workload *w, const struct store_object *o,
		       const struct workload_digest *d, const struct workload_status *s);
/* Files one that holds quota (status.admission is there) with the engine. What cannot be counted
 * there is logged, and left without its quota. */
void workload_read_holding(struct core *c, struct workload *w, const struct workload_digest *d,
			   const struct workload_status *s);
/* Of one that holds quota and is not evicted: it may be evicted by its checks, or admitted. */
void workload_read_checks(struct core *c, struct workload *w, const struct workload_status *s);

#endif
