#ifndef QUOTA_TREE_KUEUE_CLASS_H
#define QUOTA_TREE_KUEUE_CLASS_H
/*
 * What kueue_queues.c, kueue_heap.c, kueue_parked.c, kueue_usage.c, kueue_order.c and kueue_cycle.c
 * share: the records behind struct kueue_queues. Internal.
 *
 * A class is the workloads of one lane that get one answer: same shape, same priority. It is awake
 * or parked as a whole, and ordered in its lane by its first member. A queue has one lane of
 * classes; with AdmissionFairSharing it has one for each LocalQueue, and the lane of least usage
 * goes first. A LocalQueue always has a lane, for positions and counts.
 *
 * A parked class is filed (kueue_parked.c) so that what could help it finds it:
 *	waits		one for each flavor that could serve it: a cell that is short, and how much
 *of it is needed there restless	nothing it lacks could be named: tried at every release in
 *the tree reserving	hopeless, but a try would hold capacity for the round: tried when others are
 *	refused		by placement: woken with its shape
 */
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_queues.h"

struct kueue_queue;
struct kueue_tree;

struct kueue_wait_cell { /* one (flavor, resource) of a tree */
	uint32_t flavor, resource;
	struct rank_tree groups; /* of struct kueue_wait_group, by threshold */
};

struct kueue_wait_group { /* the classes of one queue and priority that lack one cell */
	struct kueue_queue *queue;
	struct kueue_wait_cell *cell;
	int32_t priority;
	struct rank_tree waits; /* by need */
	struct rank_node by_cell;
	struct kueue_quota quota; /* the queue's own of this cell */
	int64_t threshold; /* what the root must have free before the least need could be met */
	uint32_t number;   /* last tie-break */
	bool open;	   /* in queue->open: something may have come that helps its least need */
};

/* What kueue_workload_cmp() looks at first, of a class' head: kept beside the nodes that are
 * compared by it, for the head itself is two cache lines away. */
struct kueue_wait_turn {
	int64_t queue_order;
	int32_t priority;
	bool sticky;
};

struct kueue_wait {
	struct kueue_class *class;
	struct kueue_wait_group *group;
	uint32_t flavor;
	int64_t need;
	uint64_t sequence;
	struct rank_node by_group;
	struct kueue_wait_turn turn; /* of its class while it is in the group */
	struct kueue_wait *best;     /* whose class goes first, of its subtree */
	struct kueue_wait_turn best_turn;
};

struct kueue_consumed {
	uint32_t resource;
	double value;
};
struct kueue_held {
	uint32_t resource;
	int64_t value;
};

struct kueue_class {
	struct kueue_lane *lane;
	struct kueue_shape *shape;
	int32_t priority;
	const struct kueue_workload *alone; /* a class of its own, or NULL */
	struct rank_tree members;	    /* by_class */
	struct kueue_workload *head;	    /* its first member, by which it is filed in the lane */
	struct rank_node by_lane;	    /* in lane->awake or lane->parked */
	bool parked;
	bool restless, reserving, due;
	uint64_t tried_wake;	   /* the tree's wake number when it was tried last */
	uint64_t least_wake;	   /* the least of its subtree in lane->parked */
	const char *reason;	   /* why it is parked */
	struct kueue_link woken;   /* in tree->restless, ->reserving or ->due */
	struct kueue_link refused; /* in q->refused[shape] */
	struct kueue_link empty;   /* in tree->empty: parked, and its last member went */
	struct VEC(struct kueue_wait *) waits;
	/* what one flavor must have for the pod set that found none, by resource */
	struct VEC(struct kueue_held) demand;
};

struct kueue_lane {
	struct kueue_queue *queue;
	uint32_t local;		  /* KUEUE_NONE: the queue's own lane */
	struct rank_tree pending; /* listed workloads: by_local, or by_queue in the queue's own */
	struct rank_tree awake, parked; /* classes */
	size_t reserving, admitted;
	/* AdmissionFairSharing */
	double weight;
	double usage; /* what orders it */
	int64_t last_sample;
	struct VEC(struct kueue_consumed) consumed; /* decayed */
	struct VEC(struct kueue_consumed) penalty;  /* of entry, until the next sample */
	struct VEC(struct kueue_held) held;	    /* by its admitted workloads */
};

/* What the holders of one queue hold, by cell and priority: sorted. */
struct kueue_prio_use {
	uint32_t flavor, resource;
	int32_t priority;
	int64_t value;
};

struct kueue_queue {
	uint32_t node;
	struct kueue_tree *tree;
	struct kueue_lane own;
	struct VEC(struct kueue_lane *) locals;
	struct kueue_workload *preemptor; /* at most one; sticky under BestEffortFIFO */
	size_t in_tree;			  /* its place in tree->queues */
	bool strict, fair, always_reclaims;
	bool removed;	/* the forest has no such queue (any more) */
	size_t n_awake; /* classes */
	/* While a class is awake, and until nobody moves after that: up to this wake all parked
	 * ones had their turn. What stands behind a head that stays has not. */
	uint64_t settled;
	uint64_t slept; /* tree->quiets when the last class fell asleep */
	/* its head that goes through its flavors, while the tree stands so */
	const struct kueue_workload *trying;
	uint64_t trying_changes;
	uint32_t tries;		/* UINT32_MAX: through all of them */
	uint64_t turns_changes; /* how often its preemptor changed while the tree stood so */
	uint32_t turns;
	struct kueue_link live; /* in tree->live while a class is awake or a group open */
	struct VEC(struct kueue_prio_use) prio_uses;
	struct VEC(struct kueue_wait_group *) groups, open;
};

struct kueue_tree {
	uint32_t root;
	struct VEC(struct kueue_queue *) queues;
	struct kueue_link live; /* queues with awake classes */
	struct kueue_link restless, reserving, due, empty;
	size_t n_empty;
	struct VEC(struct kueue_wait_cell *) cells;
	uint64_t wake;	  /* counts what would wake the whole tree in Kueue */
	uint64_t settled; /* up to here every class of a queue that sleeps has had its turn */
	uint64_t quiets;  /* counts how often nobody moved any more */
	bool dirty;	  /* a round may change something */
	bool moved;	  /* this round changed something */
	bool again;	  /* an entry was left without an answer */
	bool reshaped;	  /* a queue came or went since the last edit was told */
	bool asked;	  /* in q->asked: a release since the last cycle, or dirty */
	uint64_t changes; /* counts whatever could change an answer */
};

enum kueue_outcome {			 /* of an entry, for the requeue (2.3) */
		     KUEUE_OUT_NONE = 0, /* not processed, or not answered: to the heap */
		     KUEUE_OUT_ADMITTED,
		     KUEUE_OUT_NO_FIT,
		     KUEUE_OUT_NO_CANDIDATES,
		     KUEUE_OUT_PREEMPTING,
		     KUEUE_OUT_SKIPPED,
		     KUEUE_OUT_DEFERRED,
};

struct kueue_level { /* of the tournament: a node on the path, with the entry charged */
	uint32_t node;
	bool borrows;
	struct kueue_share share;
};

struct kueue_heat { /* an entry of a round */
	struct kueue_entry pub;
	struct kueue_queue *queue;
	enum kueue_outcome outcome;
	bool popped;
	bool out;			       /* of the tournament */
	bool refused;			       /* by placement */
	bool deferred;			       /* fits once the victims of others are gone */
	struct VEC(struct kueue_use) promised; /* charged until the end of the round */
	size_t n_levels;
	bool levels_known;
	struct kueue_level levels[KUEUE_MAX_DEPTH + 1];
};

struct kueue_queues {
	struct kueue_forest *forest;
	struct kueue_options options;
	struct kueue_shapes shapes;
	struct VEC(struct kueue_queue *) by_node; /* NULL: nobody was ever there */
	struct VEC(struct kueue_tree *) trees;	  /* by root node; NULL: none */
	struct map classes;
	struct VEC(
	    struct kueue_link *) refused; /* by shape number: classes that placement refused */
	struct VEC(struct kueue_tree *) asked;
	struct kueue_link unlisted; /* held workloads that no lane knows */
	uint64_t cycle, sequence;
	uint32_t groups;
	/* the round */
	bool in_cycle, in_round;
	int64_t now;
	size_t mark;
	struct VEC(struct kueue_heat *) heats; /* entries; memory is kept */
	size_t n_heats, n_popped;
	struct kueue_heat *current;
	struct VEC(struct kueue_tree *) round_trees;
	struct VEC(struct kueue_workload *) preempted;	 /* by this round */
	struct VEC(struct kueue_workload *) admitted;	 /* by this round */
	struct VEC(struct kueue_workload *) evictions;	 /* to be filed at its end */
	struct VEC(struct kueue_consumed) usage_weights; /* by resource */
	struct VEC(double) local_usage;			 /* by local number, for the forest */
	char *text;					 /* the sentence of the current entry */
};

/* ---- links ---- */

static inline void kueue_link_init(struct kueue_link *l)
{
	l->prev = l->next = l;
}
static inline bool kueue_link_is_in(const struct kueue_link *l)
{
	return l->next && l->next != l;
}
static inline void kueue_link_put(struct kueue_link *ring, struct kueue_link *l)
{
	l->prev = ring->prev;
	l->next = ring;
	ring->prev->next = l;
	ring->prev = l;
}
static inline void kueue_link_take(struct kueue_link *l)
{
	if (!l->next)
		return;
	l->prev->next = l->next;
	l->next->prev = l->prev;
	l->prev = l->next = NULL;
}

/* ---- kueue_heap.c: lanes, classes, heads ---- */

struct kueue_queue *kueue_heap_queue(struct kueue_queues *q, uint32_t node);	/* makes it */
struct kueue_lane *kueue_heap_local(struct kueue_queue *queue, uint32_t local); /* makes it */
struct kueue_lane *kueue_heap_find_local(const struct kueue_queue *queue, uint32_t local);
void kueue_heap_done(struct kueue_queues *q);
/* Which tree the queue stands in and what its spec says, anew; true when either changed. */
bool kueue_heap_sync(struct kueue_queues *q, struct kueue_queue *queue);
void kueue_tree_ask(struct kueue_queues *q, struct kueue_tree *t);
/* Puts a pending workload where it belongs (class, lane, positions) and takes it out. */
void kueue_heap_enter(struct kueue_queues *q, struct kueue_workload *w);
void kueue_heap_leave(struct kueue_queues *q, struct kueue_workload *w);
void kueue_queue_sync_live(struct kueue_queue *queue);
/* Positions only: of a held workload that is listed. */
void kueue_heap_list(struct kueue_workload *w, struct kueue_queue *queue);
void kueue_heap_unlist(struct kueue_workload *w, struct kueue_queue *queue);
/* Between them the members' order may change. */
void kueue_heap_lift(struct kueue_queues *q, struct kueue_workload *w);
void kueue_heap_drop(struct kueue_queues *q, struct kueue_workload *w);
/* Every parked class of the queue; classes of the tree whose members went. */
void kueue_heap_wake(struct kueue_queues *q, struct kueue_queue *queue);
void kueue_heap_forget_empty(struct kueue_queues *q, struct kueue_tree *t);
struct kueue_workload *kueue_heap_head(const struct kueue_queue *queue);
void kueue_class_wake(struct kueue_queues *q, struct kueue_class *c);
void kueue_class_park(struct kueue_queues *q, struct kueue_class *c, const char *reason);
/* Files a parked class anew in its lane after tried_wake was set. */
void kueue_class_refile(struct kueue_class *c);
/* The first class of the queue, before `w` in order, that has not had its turn since the tree's
 * last wake; NULL: none. */
struct kueue_class *kueue_heap_ghost(const struct kueue_queue *queue,
				     const struct kueue_workload *w);
uint64_t kueue_heap_settled(const struct kueue_queue *queue);
/* Nobody moves any more: every parked class has had its turn, but those behind heads that stay. */
void kueue_tree_settle_turns(struct kueue_tree *t);
/* With fair sharing among LocalQueues: the class of equal workloads in another lane, or NULL. */
struct kueue_class *kueue_heap_sibling(const struct kueue_queues *q, const struct kueue_class *c,
				       struct kueue_lane *lane);

/* ---- kueue_bound.c ---- */

/* All that the queue's own policy could take from its own holders for this priority. */
int64_t kueue_bound_own(const struct kueue_queue *queue, const struct kueue_queue_spec *spec,
			uint32_t flavor, uint32_t resource, int32_t priority);
/* Whether the queue may take from others although it borrows. */
bool kueue_bound_is_unknown(const struct kueue_queues *q, const struct kueue_queue_spec *spec);
int64_t kueue_bound_free(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
			 uint32_t resource);
/* No try of this priority can be given more of the cell than this, now. */
int64_t kueue_bound_of(const struct kueue_queues *q, const struct kueue_queue *queue,
		       uint32_t flavor, uint32_t resource, int32_t priority);

/* ---- kueue_parked.c: what a parked class lacks ---- */

/* Files a class that was just parked after this attempt. */
void kueue_parked_file(struct kueue_queues *q, struct kueue_class *c,
		       const struct kueue_assignment *a, bool reserves);
void kueue_parked_clear(struct kueue_queues *q, struct kueue_class *c);
/* Nothing tells what it lacks: it is tried at every release in its tree. */
void kueue_parked_make_restless(struct kueue_class *c);
/* Around a change of its head. */
void kueue_parked_lift(struct kueue_class *c);
void kueue_parked_drop(struct kueue_class *c);
/* The first class of the queue's open groups that could be helped now and has not had its turn;
 * NULL: none. Groups that hold no such class are closed. */
struct kueue_class *kueue_parked_best(struct kueue_queues *q, struct kueue_queue *queue);
/* Holders of the queue changed: `uses` were charged (sign 1) or released (-1). */
void kueue_parked_count(struct kueue_queue *queue, const struct kueue_workload *w, int sign);
struct kueue_quota kueue_parked_quota(const struct kueue_queues *q, uint32_t node, uint32_t flavor,
				      uint32_t resource);
/* Quota was charged: some classes may have new victims. */
void kueue_parked_charged(struct kueue_queues *q, struct kueue_queue *queue,
			  const struct kueue_use *uses, size_t n);
/* Quota was given back: what would wake the whole tree. */
void kueue_parked_released(struct kueue_queues *q, struct kueue_queue *queue,
			   const struct kueue_use *uses, size_t n);
/* Wakes those whose only effect would be what they hold back from others. */
void kueue_parked_reserving(struct kueue_queues *q, struct kueue_tree *t);
void kueue_parked_wake_tree(struct kueue_queues *q, struct kueue_tree *t);
/* Frees the groups of a queue, which must be empty. */
void kueue_parked_queue_done(struct kueue_queue *queue);
void kueue_parked_tree_done(struct kueue_tree *t);
/* Every wait lies beyond what its class could be given now, in the order of its cell. */
int kueue_parked_check(const struct kueue_queues *q, const struct kueue_queue *queue,
		       struct err *reterr) MUST_CHECK;

/* ---- kueue_queues.c ---- */

/* Charges what w->uses says and files it; it stands in no class. */
void kueue_queue_hold_quota(struct kueue_queues *q, struct kueue_queue *queue,
			    struct kueue_workload *w, enum kueue_state state);
/* At most one waits for its victims; NULL: nobody. */
void kueue_queue_set_preemptor(struct kueue_queues *q, struct kueue_queue *queue,
			       struct kueue_workload *w);
void kueue_refused_put(struct kueue_queues *q, struct kueue_class *c);

/* ---- kueue_usage.c ---- */

void kueue_usage_changed(struct kueue_queues *q, struct kueue_lane *lane);
/* The workload was admitted (sign 1) or its quota released (-1). */
void kueue_usage_count(struct kueue_queues *q, const struct kueue_workload *w, int sign);
void kueue_usage_penalize(struct kueue_queues *q, const struct kueue_workload *w);
void kueue_usage_done(struct kueue_lane *lane);

/* ---- kueue_requeue.c ---- */

/* Puts an entry back after its round, by its outcome. */
void kueue_requeue(struct kueue_queues *q, struct kueue_heat *h);

/* ---- kueue_order.c ---- */

/* Sorts the entries of a round that begins; the next one then (2.2, 2.7); NULL: none is left. */
void kueue_order_begin(struct kueue_queues *q);
struct kueue_heat *kueue_order_pop(struct kueue_queues *q);
/* The forest changed under the entries of this queue's tree. */
void kueue_order_charged(struct kueue_queues *q, const struct kueue_queue *queue);

#endif
