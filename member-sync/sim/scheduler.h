#ifndef MEMBER_SYNC_SIM_SCHEDULER_H
#define MEMBER_SYNC_SIM_SCHEDULER_H
/*
 * The simulated kube-scheduler: one pod, one node, no gangs, no preemption.
 *
 * Filters: node ready and schedulable, node selector, required node affinity, taints, required
 * pod affinity and anti-affinity by topology (both ways, as upstream), resources, pod count.
 * Among nodes that fit, the one that is left with least of the pod's main resource is taken (an
 * extended resource when it asks for one, else cpu), the earlier node on a tie: deterministic,
 * and large holes stay for large pods.
 *
 * Pods with the same needs share a shape. What a shape's node filters say is computed once per
 * change of nodes, the node that took its last pod is tried first, and a shape that found no
 * node is not tried again before something was freed. So thousands of alike pods a second cost
 * little more than their bookkeeping.
 *
 * Pure, but for its own memory: no store, no JSON, no time. One thread.
 */
#include "base/arena.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"
#include <stdbool.h>
#include <stdint.h>

struct scheduler;
struct scheduler_node;
struct scheduler_shape;

struct scheduler_term { /* one required pod (anti-)affinity term */
	bool anti;
	struct span topology_key;
	struct info_requirement *requirements; /* of its label selector */
	size_t n_requirements;
	struct span *namespaces; /* none: the pod's own */
	size_t n_namespaces;
};

struct scheduler_needs {
	struct template_info pod;
	struct scheduler_term *terms;
	size_t n_terms;
};

/* A pod as the scheduler knows it; embedded in its owner's record, which keeps all it points
 * to until scheduler_unbind(). */
struct scheduler_pod {
	struct scheduler_shape *shape;
	struct span ns;
	const struct info_pair *labels;
	size_t n_labels;
	/* the scheduler's: */
	struct scheduler_node *node; /* NULL: not bound */
	struct scheduler_pod *next, **at;
};

struct scheduler *scheduler_create(void);
struct scheduler *scheduler_destroy(struct scheduler *s); /* NULL is fine; returns NULL */

/* Adds a node or changes it; copies. Pods bound to it stay. */
void scheduler_set_node(struct scheduler *s, const struct node_info *n);
/* Pods bound to it must have been unbound. Unknown names are fine. */
void scheduler_remove_node(struct scheduler *s, struct span name);
struct scheduler_node *scheduler_find_node(struct scheduler *s, struct span name);
struct span scheduler_node_name(const struct scheduler_node *n);
/* First pod bound to a node; follow pod->next. */
struct scheduler_pod *scheduler_node_pods(const struct scheduler_node *n);
bool scheduler_node_ready(const struct scheduler_node *n);
bool scheduler_node_has_taint(const struct scheduler_node *n, struct span key);
/* For how many seconds pods of the shape tolerate the node's NoExecute taints, the least of their
 * tolerationSeconds: 0 not at all, INT64_MAX without end. */
int64_t scheduler_tolerated_for(const struct scheduler_node *n,
				const struct scheduler_shape *shape);
size_t scheduler_node_count(const struct scheduler *s);

/* The shape of a key that its owner chose (equal keys, equal needs), or NULL. Each get and add
 * is given back with scheduler_release_shape(), after the last unbind. */
struct scheduler_shape *scheduler_get_shape(struct scheduler *s, struct span key);
/* Makes the shape; the needs are copied as far as they point into `take_mem`, which it owns. */
struct scheduler_shape *scheduler_add_shape(struct scheduler *s, struct span key,
					    const struct scheduler_needs *needs,
					    struct arena *take_mem);
void scheduler_release_shape(struct scheduler *s, struct scheduler_shape *shape); /* NULL: fine */

/* The node for an unbound pod, or NULL; then *ret_why (when not NULL) is a borrowed sentence in
 * the words of kube-scheduler, good until the next call. Changes nothing that shows. */
struct scheduler_node *scheduler_place(struct scheduler *s, const struct scheduler_pod *p,
				       const char **ret_why);
/* Whether scheduler_place() would surely say no again: nothing was freed since. */
bool scheduler_is_hopeless(const struct scheduler *s, const struct scheduler_pod *p);

/* Grows whenever a pod that found no node might find one now. */
uint64_t scheduler_generation(const struct scheduler *s);

/* Charges the pod to the node, whether it fits or not (it may come from outside). */
void scheduler_bind(struct scheduler *s, struct scheduler_pod *p, struct scheduler_node *n);
void scheduler_unbind(struct scheduler *s, struct scheduler_pod *p); /* fine when unbound */

#endif
