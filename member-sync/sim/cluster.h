#ifndef MEMBER_SYNC_SIM_CLUSTER_H
#define MEMBER_SYNC_SIM_CLUSTER_H
/*
 * One simulated member cluster: a store, the registry over it, an inbox for its API front, and
 * the controllers that make jobs run: scheduler, kubelets, Job, JobSet, the training operator's six
 * kinds, RayJob and RayCluster.
 *
 * Everything happens in steps on one core thread, shared by all clusters of a process. A step is
 * one batch of the registry: commands from the API, pods whose time has come, pods to schedule,
 * jobs whose state changed, background work; then the commit, then the caches learn what was
 * committed, then the answers go out. Controllers are level-triggered: a job is looked at when
 * it, one of its pods or a child changed, and decides from typed records in memory; objects are
 * parsed once when they come. Work that an earlier change of the same batch overtook waits for
 * the next one.
 *
 * A commit that fails releases nothing; the caches are then rebuilt from the store. The caches
 * are also how a restart goes on: whatever is decided can be decided again from the objects.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "registry/inbox.h"

struct cluster;

struct cluster_options {
	const char *name;
	const char *data_dir;	/* NULL: in memory, no runs.jsonl */
	const char *nodes_file; /* read when the cluster is new */
	int32_t time_scale;	/* divides simulated durations; at least 1 */
	uint64_t seed;
	size_t map_bytes; /* of the store; 0: its default */
	bool events;	  /* whether controllers write Events */
	bool sync;	  /* commits wait for the disk */
	struct wakeup *wakeup;
	const struct log *log; /* borrowed; may be NULL */
	const char *version;
};

/* Opens the store, makes what every cluster is born with (namespaces default, kube-system,
 * kube-public and kube-node-lease, the nodes), loads the caches. */
int cluster_open(const struct cluster_options *o, struct cluster **ret,
		 struct err *reterr) MUST_CHECK;
struct cluster *cluster_close(struct cluster *c); /* NULL is fine; returns NULL */

struct backend *cluster_backend(struct cluster *c);
const char *cluster_name(const struct cluster *c);
/* No more commands from the API. */
void cluster_shut(struct cluster *c);

/* One batch at `now`. *ret_due: when the next is needed, 0 at once, INT64_MAX after a command.
 * An error of kind ERR_INTERNAL ends the process (the disk failed); others are passing. */
int cluster_step(struct cluster *c, usec now, usec *ret_due, struct err *reterr) MUST_CHECK;

struct cluster_stats {
	size_t nodes, pods, pods_pending, jobs; /* in the caches: what is not over */
	uint64_t steps, pods_started, pods_ended;
};
void cluster_stats(const struct cluster *c, struct cluster_stats *ret);

#endif
