#ifndef API_AWAIT_REVISION_H
#define API_AWAIT_REVISION_H
/*
 * Reads of a revision that is not there yet.
 *
 * A client that was told of a revision elsewhere (by another server of the same store, or by a
 * write of its own that overtook the answer) may ask for what is not older. kube-apiserver waits
 * three seconds for it and then says 504 "Too large resource version"
 * (storage/cacher/watch_cache.go); so does this. The call waits on the loop, with its seat, and
 * goes on when a commit has brought the revision: nobody asks in between. While nobody waits a
 * commit costs one load.
 *
 * A watch from the future waits as well, and is then refused like a list: upstream's would say
 * nothing for ever, where a client whose server lost its store reads all again.
 */
#include "api/call.h"

/* For a get, list or watch whose resourceVersion its store has not reached. True: it has the call,
 * and `go` is called on the loop when the revision is there, or has not come in time; the verb
 * itself tells which. False: nothing is to be waited for. Loop only. */
bool await_revision(struct call *c, void (*go)(struct call *c));

/* Core's thread: a commit of the listener's backend is out. */
void await_revision_committed(struct api_listener *l);
/* Loop, about once a second: those who waited long enough go on; all of them when the front ends.
 */
void await_revision_tick(struct api *a, usec now, bool all);

/* Before the listener's first call. */
void await_revision_init(struct api_listener *l);

#endif
