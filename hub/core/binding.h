#ifndef CORE_BINDING_H
#define CORE_BINDING_H
/*
 * The ResourceBinding: the hub's side of a job's story, as an object that users can read
 * (work.karmada.io/v1alpha2, federation.md 2.3) and as the digest that a restart reads.
 *
 * One per live or finished job, named `<name>-<kind in lower case>`, owned by the job's object.
 * Its annotation muster.dev/queue is the job's queue as of when it was written.
 * The digest is the durable form of the dispatch state: what it says is what happened.
 */
#include "core/state.h"
#include "core/swap/swap.h"

/* Name of a job's binding, into out. */
#define BINDING_NAME_MAX 320
const char *binding_name(const struct kind *kind, const char *job_name, char out[BINDING_NAME_MAX]);

/* The present state of the record as an object. */
int binding_draft(const struct core *c, const struct job *j, struct object_draft *ret,
		  struct err *reterr) MUST_CHECK;

/* The digest of a stored binding back into the record: dispatch (durable part), first attempt,
 * policy, and the identity of the binding. -EINVAL when malformed. */
int binding_restore(struct job *j, const struct store_object *o) MUST_CHECK;

/* Only the dispatch state out of a stored binding's digest. -EINVAL when malformed. */
int binding_dispatch(const struct store_object *o, struct dispatch_state *ret) MUST_CHECK;

/* How far its hot-swap was. */
enum swap_step binding_swap(const struct store_object *o);
/* When its job finished, by the hub's clock; 0: it did not, or an older version wrote it. */
usec binding_finished_at(const struct store_object *o);

/* "{c1:0,[{master 1} {worker 2}]}", or "{c1:3}" for kinds of one template: the Result of the
 * ScheduleBindingSucceed event (ack-fleet.md 1.5). */
void binding_result(const struct job *j, const char *cluster, struct buf *out);

#endif
