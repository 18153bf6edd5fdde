#ifndef CORE_KUEUE_ADMISSION_RECORD_H
#define CORE_KUEUE_ADMISSION_RECORD_H
/*
 * What a Workload's admission gives it: by pod set, pods and flavors; as the core keeps it while
 * the workload holds its quota, and as status.admission tells it (reference/kueue.md section 1.4).
 */
#include "core/kueue/workload.h"

/* Counts and distinct flavors by pod set into w->sets, in place of those there. */
void admission_record_take(struct workload *w, const struct kueue_assignment *a);
/* The JSON of status.admission; caller frees. */
char *admission_record_text(const struct core *c, const struct workload *w,
			    const struct kueue_assignment *a);

#endif
