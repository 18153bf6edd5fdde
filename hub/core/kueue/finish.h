#ifndef CORE_KUEUE_FINISH_H
#define CORE_KUEUE_FINISH_H
/*
 * The job of a workload has ended: Finished is told as Kueue's job controllers tell it, and what
 * the workload holds is free for good. One without a job ends by its creator's word instead
 * (workload_restore.h).
 */
#include "core/kueue/workload.h"

/* Finished, reason Succeeded or Failed, with the sentence of the job's own status
 * (copy_info_words): the status that ended it is in the job's record or in its row. Idempotent in
 * the quota that it gives back. */
void finish_workload(struct core *c, struct workload *w, bool succeeded);
/* Finished, reason OutOfSync: its job, which has stopped, is not the one that it was made for
 * (prebuilt.h). It is over: once that is written the record goes, before its job does. */
void finish_out_of_sync(struct core *c, struct workload *w, const char *words);

#endif
