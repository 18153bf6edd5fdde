#ifndef CORE_KUEUE_PODS_READY_H
#define CORE_KUEUE_PODS_READY_H
/*
 * The condition PodsReady, and since when the pods of an admitted workload are not ready
 * (waitForPodsReady, reference/kueue.md 2.8). How long that may last is evict.h's, who waits for it
 * elsewhere ready.h's. Nothing is told where waitForPodsReady is off. Thread: core.
 */
#include "core/kueue/workload.h"

/* PodsReady=False of a job's workload that is not admitted (yet, or any more). */
void pods_ready_begin(struct core *c, struct workload *w);
/* All pods of an admitted one are ready or have succeeded, or not. */
void pods_ready_say(struct core *c, struct workload *w, bool ready);
/* The pods of its job that are ready, or succeeded, are more or fewer. */
void pods_ready_count(struct core *c, struct workload *w);

#endif
