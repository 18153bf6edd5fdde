#ifndef QUOTA_TREE_KUEUE_WAIT_H
#define QUOTA_TREE_KUEUE_WAIT_H
/*
 * The index of what parked classes lack: one wait says that a class needs so much of one (flavor,
 * resource) for one flavor that could serve it. Internal to the queues.
 *
 * Waits of one queue and priority for one cell are a group, in the order in which their classes go;
 * the need is their mark, so that the first of those that some room could help is found at once. A
 * group is filed in its cell by its threshold: what the root of the tree must have free before the
 * least need could be met. A release opens the groups whose threshold it reaches, and no others.
 */
#include "base/err.h"
#include "base/vec.h"
#include "quota-tree/kueue_spec.h"
#include "quota-tree/rank_list.h"
#include "quota-tree/rank_tree.h"

struct kueue_class;
struct kueue_queue;
struct kueue_queues;
struct kueue_tree;

struct kueue_wait_cell { /* one (flavor, resource) of a tree */
	uint32_t flavor, resource;
	struct rank_tree groups; /* of struct kueue_wait_group, by threshold */
};

struct kueue_wait_group { /* the classes of one queue and priority that lack one cell */
	struct kueue_queue *queue;
	struct kueue_wait_cell *cell;
	int32_t priority;
	struct rank_list waits; /* in the order of their classes; marks are needs */
	int64_t least;		/* of the needs; INT64_MAX: nobody waits here */
	struct rank_node by_cell;
	struct kueue_quota quota; /* the queue's own of this cell */
	int64_t threshold; /* what the root must have free before the least need could be met */
	uint32_t number;   /* last tie-break */
	bool open;	   /* in queue->open: something may have come that helps its least need */
};

struct kueue_wait {
	struct kueue_class *class;
	struct kueue_wait_group *group; /* NULL: its flavor lacks nothing now */
	bool in;			/* in group->waits */
	uint32_t flavor;
	int64_t need;
};

/* The group of a cell, made when there is none yet. */
struct kueue_wait_group *kueue_wait_group(struct kueue_queues *q, struct kueue_queue *queue,
					  uint32_t flavor, uint32_t resource, int32_t priority);
/* The cell if anybody of the tree ever waited for it, or NULL. */
struct kueue_wait_cell *kueue_wait_cell(const struct kueue_tree *t, uint32_t flavor,
					uint32_t resource);

/* Into its group and out of it, by the turn that its class has then. */
void kueue_wait_put(struct kueue_wait *w);
void kueue_wait_take(struct kueue_wait *w);
/* Files the group anew after its needs, its queue's usage or its tree changed. */
void kueue_wait_rethreshold(const struct kueue_queues *q, struct kueue_wait_group *g);

/* Frees the groups of a queue, which must be empty; the cells of a tree. */
void kueue_wait_queue_done(struct kueue_queue *queue);
void kueue_wait_tree_done(struct kueue_tree *t);

/* Every wait lies beyond what its class could be given now, in the order of its cell. */
int kueue_wait_check(const struct kueue_queues *q, const struct kueue_queue *queue,
		     struct err *reterr) MUST_CHECK;

#endif
