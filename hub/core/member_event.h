#ifndef CORE_MEMBER_EVENT_H
#define CORE_MEMBER_EVENT_H
/*
 * A member's Events about copies and their pods, as Events at the hub (DESIGN section 4, item 5).
 *
 * What a member says of a copy is told of the hub's object: its uid, the member's words, times,
 * count and source. What it says of a pod is told twice: of the pod, which keeps its name and uid
 * at the hub, and of the job, so that `kubectl describe` of the job shows it. The job's are
 * coalesced: one Event for each (job, reason, source), with a count and the last pod's message.
 * They live in the mirror, for an hour like all Events; what is deleted on the member stays until
 * then. An Event that is told again (a relist) changes nothing.
 *
 * An Event may come before the pod that it is about: a few such are kept for some seconds. Events
 * about anything else are dropped, most of them already on the net thread. Thread: core.
 */
#include "core/state.h"

/* FACT_EVENT. At most two rows of the mirror. */
void member_event(struct core *c, struct member *m, const struct fact *f);
/* Tries those again that came early. */
void member_event_retry(struct core *c, struct member *m);
void member_event_free_all(struct member *m);

#endif
