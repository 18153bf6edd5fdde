#ifndef API_TURNS_H
#define API_TURNS_H
/*
 * Whose turn it is: every admitted call takes seats of the front's fair queue (fair_queue.h) before
 * its verb begins, and gives them back when it is answered.
 *
 * A list, and a deletion of many, take more seats than one object does. Watches and what goes
 * through to a member are long-running: they hold no seat, and are counted against their own
 * bound. Administrators, and whoever asks how the server is, never wait (Kubernetes' exempt level).
 * Those who waited begin a few at a time, so that the loop is never held for more than a
 * millisecond. Belongs to the loop's thread.
 */
#include "api/call.h"

/* Fills a->fair by a->options. Its end is fair_queue_done(). */
void turns_init(struct api *a);

/* Watches, and what goes through to a member. */
bool turns_is_long_running(const struct call *c);
/* Begins the call (route_begin) at once, or when its turn comes, or answers 429. */
void turns_enter(struct call *c);

/* The call is over: gives its seat to who waits. Fine when it has none. */
void turns_release(struct call *c);

/* The headers of Priority and Fairness that an answer of the call has, each line ended by CRLF: by
 * which rule (exempt, or users) and at which level it was queued, as uids that never change. There
 * are no such objects to look up here. Nothing for who is not known, and for what goes through to a
 * member, which is not queued (kube-apiserver's filters/priority-and-fairness). Static. */
struct span turns_headers(const struct call *c);

#endif
