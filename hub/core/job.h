#ifndef CORE_JOB_H
#define CORE_JOB_H
/*
 * The record of one live job: identity, what it asks, where it stands.
 *
 * Records exist for jobs that wait, run, or whose copy is not proven gone. Finding one is by key
 * (the hub's object), by uid (labels of copies and pods) or by number (ledger, orders).
 */
#include "core/state.h"

/* A record from a stored job object, in core's maps; dispatch idle, nothing charged. A malformed
 * digest is ERR_INTERNAL. */
int job_create(struct core *c, const struct kind *kind, const struct store_object *o,
	       struct job **ret, struct err *reterr) MUST_CHECK;
/* Takes digest, flags and revision of a newer version of the object. True when something that
 * queueing or placement reads has changed. */
bool job_update(struct core *c, struct job *j, const struct store_object *o);
/* Out of all maps and lists, and freed. Quota and ledger must have been given back. */
void job_destroy(struct core *c, struct job *j);

struct job *job_by_key(const struct core *c, uint16_t type, struct span ns, struct span name);
struct job *job_by_uid(const struct core *c, struct span uid_text);
struct job *job_by_number(const struct core *c, uint64_t number);

/* References the shape and the ask of this job for a policy; gives back older ones. ERR_INVALID
 * when the shape is beyond limits. */
int job_ask(struct core *c, struct job *j, const struct propagation_policy *policy,
	    struct err *reterr) MUST_CHECK;
/* What an admission adds to a pod set: node labels and tolerations of its flavors, fewer pods. */
struct job_term {
	const struct label *labels;
	size_t n_labels;
	const struct toleration *tolerations;
	size_t n_tolerations;
	int64_t count;	      /* pods; -1: all that it asks */
	struct span topology; /* that its flavors name; absent: none does */
};
/* The same for pods as they will be: `terms` by pod set. */
int job_ask_with(struct core *c, struct job *j, const struct propagation_policy *policy,
		 const struct job_term *terms, struct err *reterr) MUST_CHECK;
/* The same for a question: the job keeps the ask that it has. placer_ask_unref() is the caller's.
 */
int job_ask_trial(struct core *c, struct job *j, const struct propagation_policy *policy,
		  const struct job_term *terms, struct ask **ret, struct err *reterr) MUST_CHECK;
/* As job_ask(), without the topology that its pod sets ask for. */
int job_ask_anywhere(struct core *c, struct job *j, const struct propagation_policy *policy,
		     struct err *reterr) MUST_CHECK;

/* The job's whole request as (resource, amount) sums over all pods; *ret_n entries, at most
 * JOB_MAX_RESOURCES. Saturates. Spans borrow from the digest. */
#define JOB_MAX_RESOURCES 64
void job_total(const struct job *j, struct elastic_quantity out[JOB_MAX_RESOURCES], size_t *ret_n);
/* The same as a Kubernetes ResourceList, in JSON. */
void job_add_totals(const struct job *j, struct buf *out);

/* The path of its quota node, or the queue that it names; "" for none. Borrowed. */
struct span job_queue(const struct core *c, const struct job *j);

/* Pods of all sets. */
int64_t job_pods(const struct job *j);

/* What takes room on nodes: its own pod sets and, behind them, a RayJob's submitter. That one is of
 * no gang and has, by default, no quota; but without room for it the job would never start. */
static inline size_t job_n_placed(const struct job *j)
{
	return j->digest.n_pod_sets + (j->digest.submitter ? 1 : 0);
}
static inline bool job_is_submitter(const struct job *j, size_t set)
{
	return j->digest.submitter && set == j->digest.n_pod_sets;
}
static inline const struct job_pod_set *job_placed(const struct job *j, size_t set)
{
	return set < j->digest.n_pod_sets ? &j->digest.pod_sets[set] : j->digest.submitter;
}
/* Index of one of these by name; 0 when there is no such set. */
uint32_t job_pod_set_index(const struct job *j, struct span name);

/* "PyTorchJob default/name" for logs. Returns out. */
#define JOB_TEXT_MAX 384
const char *job_text(const struct job *j, char out[JOB_TEXT_MAX]);

/* Adds an event to record with the next flush; message is formatted. type: Normal or Warning. */
void job_event_add(struct core *c, struct job *j, const char *type, const char *reason,
		   const char *fmt, ...) PRINTF_LIKE(5, 6);

/* The same, as Kueue's controller of the kind. */
void job_queue_event(struct core *c, struct job *j, const char *type, const char *reason,
		     const char *fmt, ...) PRINTF_LIKE(5, 6);

#endif
