#ifndef CORE_KUEUE_CHECKS_TOLD_H
#define CORE_KUEUE_CHECKS_TOLD_H
/*
 * What the checks that a job waits for say, as an event of the job: UpdatedAdmissionCheck. Kueue
 * tells it at every look (pkg/controller/jobframework, recordAdmissionCheckUpdate); here it is told
 * when the words have changed.
 */
#include "core/kueue/workload_status.h"

/* Looks at the status as it now is in the row. Nothing is told of a workload without a job, of one
 * that holds no quota, is admitted, or is being evicted, nor of checks that are not Pending or say
 * nothing. */
void checks_told_review(struct core *c, struct workload *w, const struct workload_status *s);

#endif
