#ifndef CORE_KUEUE_WORKLOAD_STATUS_H
#define CORE_KUEUE_WORKLOAD_STATUS_H
/*
 * The status of a Workload: read from its text, and edited as a tree at the moment of writing.
 *
 * Nothing of it is kept in memory but what decides: what others write there (Finished, states of
 * checks, reclaimablePods) stands beside what the core writes, so every write starts from the
 * stored text and changes only what the edit names.
 */
#include "core/kueue/workload.h"

/* ---- reading ---- */

struct workload_condition {
	bool is; /* True */
	bool present;
	usec since;
	struct span reason, message;
};

struct workload_assignment { /* one of status.admission.podSetAssignments */
	struct span name;
	int32_t count;
	struct {
		struct span resource, flavor;
		int64_t usage;
	} * items;
	size_t n_items;
};

struct workload_check {
	struct span name, state, message;
	int64_t requeue_after; /* seconds, 0: none */
	int64_t retries;
	usec since;
};

struct workload_status {
	struct workload_condition quota_reserved, admitted, evicted, requeued, finished, pods_ready;
	bool has_admission;
	struct span cluster_queue;
	struct workload_assignment *assignments;
	size_t n_assignments;
	struct workload_check *checks;
	size_t n_checks;
	usec requeue_at; /* 0: none */
	int32_t requeues;
	int64_t past_execution;
	struct span *reclaimable_names;
	int32_t *reclaimable;
	size_t n_reclaimable;
};

/* From a row; memory from `mem`, texts borrowed from the tree that it keeps there. What is
 * malformed counts as absent. */
void workload_status_read(const struct store_object *o, struct arena *mem,
			  struct workload_status *ret);

/* ---- editing ---- */

/* Sets a condition with the next write; of one type the last call counts. `reason` is static. */
void workload_set_condition(struct core *c, struct workload *w, const char *type, bool status,
			    const char *reason, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* Of a condition that stands True: it becomes False, saying what it was. Others are let be. */
void workload_clear_condition(struct core *c, struct workload *w, const char *type,
			      const char *reason);
/* status.admission: JSON text, or NULL to take it away. */
void workload_set_admission(struct core *c, struct workload *w, char *take_json);
/* status.admission: the topologyAssignment of each pod set that has a domain (core/domain.h). */
void workload_set_domains(struct core *c, struct workload *w, const char *domains);
/* status.admission: its pod sets' delayedTopologyRequests become Ready. */
void workload_end_delay(struct core *c, struct workload *w);
/* status.unhealthyNodes: nodes of its topologyAssignment that failed, at most
 * WORKLOAD_MAX_UNHEALTHY; n 0: they are replaced. They go with the admission. */
#define WORKLOAD_MAX_UNHEALTHY 8
void workload_set_unhealthy(struct core *c, struct workload *w, const char *const *nodes, size_t n);
/* status.reclaimablePods: a JSON list, "" to take it away. */
void workload_set_reclaimable(struct core *c, struct workload *w, char *take_json);
/* Every check begins (again) as Pending: those named, or with n 0 those that stand. One that stood
 * at Retry counts one retry more, one at Ready or Rejected counts from none, one that is Pending is
 * left as it is. */
void workload_set_checks(struct core *c, struct workload *w, const char *const *names, size_t n);
/* The state of one check, by the hub's own controller. */
struct workload_check_edit {
	const char *name, *state, *message;
	int64_t requeue_after; /* seconds; 0: none */
	const char *updates;   /* podSetUpdates as JSON; NULL: none */
};
void workload_set_check(struct core *c, struct workload *w, const struct workload_check_edit *e);
/* status.clusterName: where it runs. It goes with the admission. */
void workload_set_cluster(struct core *c, struct workload *w, const char *cluster);
/* status.requeueState as the record has it. */
void workload_set_requeue(struct core *c, struct workload *w);
/* status.schedulingStats: one more eviction. Both static. */
void workload_count_eviction(struct core *c, struct workload *w, const char *reason,
			     const char *cause);
/* spec.active becomes false with the next write. */
void workload_deactivate(struct core *c, struct workload *w);

/* The status text with the edit applied, into `out`; *ret_finished as it then is. */
void workload_status_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			   bool *ret_finished);
/* Whether the edit records an admission; is about checks; deactivates. */
bool workload_edit_admits(const struct workload *w);
bool workload_edit_has_checks(const struct workload *w);
bool workload_edit_deactivates(const struct workload *w);
void workload_edit_free(struct workload *w);

#endif
