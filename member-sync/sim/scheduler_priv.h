#ifndef MEMBER_SYNC_SIM_SCHEDULER_PRIV_H
#define MEMBER_SYNC_SIM_SCHEDULER_PRIV_H
/*
 * The scheduler's records, shared by its files: scheduler.c (nodes, shapes, placing),
 * scheduler_filter.c, scheduler_affinity.c and scheduler_explain.c.
 */
#include "base/map.h"
#include "base/vec.h"
#include "member-sync/sim/scheduler.h"

#define SCHEDULER_MAX_RESOURCES 32 /* distinct names on one member; more are never available */

struct scheduler_node {
	struct arena mem;
	struct node_info info;
	int64_t free[SCHEDULER_MAX_RESOURCES];
	int64_t allocatable[SCHEDULER_MAX_RESOURCES];
	struct scheduler_pod *pods;
	bool gone;
};

struct request {
	int resource; /* -1: no node has it */
	int64_t value;
};

enum filter { FILTER_OK, FILTER_SELECTOR, FILTER_TAINT, FILTER_UNSCHEDULABLE, FILTER_NOT_READY };

struct scheduler_shape {
	struct arena mem;
	struct scheduler_needs needs;
	struct request *requests;
	size_t n_requests;
	int main; /* resource that decides between nodes */
	/* caches, each with the generation it is of */
	unsigned char *filters; /* enum filter per node slot */
	uint64_t filters_at;
	uint64_t hopeless_at; /* 0: not known */
	char why[320];
	size_t last; /* slot + 1 of the node that took the last pod; 0: none */
	size_t users;
	char *key; /* owned */
	size_t key_len;
};

struct scheduler {
	struct VEC(
	    struct scheduler_node *) nodes; /* in order of arrival; removed ones stay, gone */
	struct map by_name;
	struct map shapes;
	struct map resources; /* name -> index + 1 */
	int pods_resource;
	uint64_t nodes_generation, free_generation;
	size_t n_alive, n_anti; /* bound pods with anti-affinity terms */
};

/* ---- scheduler_filter.c: one node, looked at alone ---- */
const struct info_pair *scheduler_find_label(const struct info_pair *labels, size_t n,
					     struct span key);
/* Whether labels satisfy every requirement. */
bool scheduler_match(const struct info_requirement *r, size_t n_requirements,
		     const struct info_pair *labels, size_t n);
/* The first of kube-scheduler's filters that says no; resources are not among them. */
enum filter scheduler_filter_node(const struct template_info *pod, const struct node_info *n);

/* ---- scheduler_affinity.c: pods that attract and repel each other ---- */
/* Marks the nodes that the pod's own terms forbid, and those where bound pods' anti-affinity
 * keeps it out. `banned` has a flag per node slot. */
void scheduler_apply_terms(const struct scheduler *s, const struct scheduler_pod *p, bool *banned);

/* ---- scheduler_explain.c ---- */
/* The request that a node has too little for, NULL when it fits. */
const struct request *scheduler_lacking(const struct scheduler *s, const struct scheduler_node *n,
					const struct scheduler_shape *shape);
/* Fills shape->why: "0/N nodes are available: ...". Filters must be fresh. */
void scheduler_explain(const struct scheduler *s, struct scheduler_shape *shape,
		       const bool *banned);

#endif
