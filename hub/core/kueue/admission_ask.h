#ifndef CORE_KUEUE_ADMISSION_ASK_H
#define CORE_KUEUE_ADMISSION_ASK_H
/*
 * What a workload asks of a member with the flavors that it would get: the node labels and
 * tolerations of those flavors, those that its checks add, and fewer pods where it is admitted in
 * part, go into what its gang asks. And the asks that no member took: the workload is parked with
 * them, one for each of the flavors that were tried, until placement has room again.
 */
#include "core/kueue/workload.h"

/* What its admission asks of a member, from the record; references as job_ask() makes them. */
int admission_ask(struct core *c, struct workload *w, struct err *reterr) MUST_CHECK;
/* What flavors and counts by pod set (as the record keeps them) add to the pods of its job; by the
 * job's pod sets, memory from `mem`. */
struct job_term *admission_terms(const struct core *c, const struct workload *w,
				 const struct workload_set *sets, size_t n_sets, struct arena *mem);

/* Makes its job's ask; remembers why that cannot be. */
bool admission_ask_make(struct core *c, struct workload *w);
/* No member takes the ask now: the workload's shape waits for it. */
void admission_ask_wait(struct core *c, struct workload *w, struct ask *a);
/* It waits for none any more. */
void admission_ask_drop(struct core *c, struct workload *w);

#endif
