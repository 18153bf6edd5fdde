#ifndef CORE_KUEUE_REQUEUE_H
#define CORE_KUEUE_REQUEUE_H
/*
 * The condition Requeued: who was evicted and has given its quota back waits in its queue's heap,
 * or beside it until something undoes what it was evicted for (reference/kueue.md 1.4 and 2.3).
 *
 * Which it is says quota-tree/kueue_lifecycle.h; here it is told. The creator of a Workload without
 * a job may have said it before. Thread: core.
 */
#include "core/kueue/workload.h"

/* It has given its quota back: Requeued, with `words` where nothing better is known. Nothing for
 * one that was not evicted, or that its creator holds back. */
void requeue_tell(struct core *c, struct workload *w, const char *words);
/* Requeued=False that what has happened since undoes becomes True. */
void requeue_look_back(struct core *c, struct workload *w);

#endif
