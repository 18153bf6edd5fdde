#ifndef CORE_KUEUE_PREEMPTED_H
#define CORE_KUEUE_PREEMPTED_H
/*
 * Whom a workload of Kueue's queues has preempted and still waits for, and by whom one was
 * preempted.
 *
 * The first is what the last cycle that preempted for it decided: names, looked up when somebody
 * asks, so that a victim that is gone, or is another one by now, costs nothing. After a restart the
 * preemptor is tried again and takes the same victims first, since they are evicted already
 * (reference/kueue.md 2.6): the list is made anew by that. The second is in the victim's
 * conditions.
 */
#include "core/kueue/workload.h"

/* Those that it waits for from now on. True when one is among them that was not before. */
bool preempted_take(struct workload *w, const struct kueue_victims *victims);
void preempted_drop(struct workload *w);
/* Of these who has not given its quota back yet, in the order of the decision: their number, and
 * the first `max` into out. */
size_t preempted_left(const struct core *c, const struct workload *w, const struct workload **out,
		      size_t max);
/* ": Job default/low on gpu-a, Job default/low-2 on gpu-a and 3 more". */
void preempted_words(const struct core *c, const struct kueue_victims *victims, struct buf *out);
/* The job for which a workload was told these words (evict_preempted); NULL when it is not known,
 * or is over. */
const struct job *preempted_by(const struct core *c, struct span words);

#endif
