#ifndef CORE_STOPPING_H
#define CORE_STOPPING_H
/*
 * A job that was told to stop on its member, and what it waits for: its pods there that are not
 * over. Somebody else may wait for it in turn (admission/awaited.h).
 *
 * Read when somebody asks, from the records of its pods, and of the few that are named from their
 * objects; nothing is kept or written, so a pod that ends costs nothing. When a pod was deleted is
 * its member's word, by its member's clock: it is passed on as it stands. Core's thread.
 */
#include "core/state.h"

#define STOPPING_PODS 5 /* that are named */

bool stopping_is(const struct job *j);
/* Its pods on the member that it leaves which are not over. */
size_t stopping_pods(const struct job *j);
/* Of these one whose node is lost, so that nobody ends it there; NULL. */
const struct member_pod *stopping_stuck(const struct core *c, const struct job *j);

/* {"kind":...,"namespace":...,"name":...,"cluster":...,"podsLeft":N,"pods":[{"name":...,"node":...,
 * "state":"Terminating","since":...,"nodeLost":false}]}: those whose nodes are lost first, then by
 * name. `since`: when it was told to stop, 0 unknown. */
void stopping_add(struct core *c, const struct job *j, usec since, struct buf *b);
/* "Job default/low on gpu-a (3 pods left)"; with a pod: "...; pod low-2 on node n3 is
 * Terminating)".
 */
void stopping_words(struct core *c, const struct job *j, bool with_pod, struct buf *out);
/* "3 pods left; pod low-2 on node n3 is Terminating" alone. */
void stopping_pod_words(struct core *c, const struct job *j, bool with_pod, struct buf *out);

#endif
