#ifndef QUOTA_TREE_ELASTIC_QUEUE_H
#define QUOTA_TREE_ELASTIC_QUEUE_H
/*
 * Who is next: the queues of an elastic quota tree, one per node (inner nodes and root included),
 * the units that wait in them and the units that were admitted from them.
 *
 * It decides quota only. Core walks the candidates that quota allows and asks placement itself:
 *
 *	while ((u = elastic_queue_next(q))) {
 *		if (placement fits)		elastic_queue_admit(q, u, NULL);
 *		else if (only a change of capacity can help)	elastic_queue_park(q, u);
 *		else (out of budget for this batch)		elastic_queue_skip(q, u);
 *	}
 *	...
 *	elastic_queue_rewind(q);	at the start of the next batch: skipped units are
 *					ready again
 *
 * Order: the queue's priority desc, then the unit's priority desc, first-attempt time asc, name
 * asc. The first four decide between queues too, so one walk serves the whole tree. In a queue of
 * policy Intelligent non-preemptible units go before others of equal priority.
 *
 * Policies (reference/ack-fleet.md section 2.4). A unit "fails" when quota refuses it or when core
 * parked it: a quota that fits but no cluster counts as not fitting.
 *   Priority     a unit that fails is passed over.
 *   Block        nothing behind a failing unit is offered, until it fits, goes, or is overtaken.
 *   Intelligent  while a unit of priority >= threshold waits, as Block; otherwise as Priority.
 *
 * Shapes: core gives each unit a shape number; units of one shape get the same answer from
 * placement. Units of one queue with equal shape, amounts and preemptibility form a lane and stand
 * or fall together; parking one unit parks its shape in every queue, until
 * elastic_queue_wake_shape(). A job whose placement is special (it excludes a cluster, say) has a
 * shape of its own.
 *
 * Cost: adding, removing, admitting and positions are O(log n). A lane that quota refused waits at
 * the node and resource that refused it, filed by what it needs there; a release looks only at the
 * nodes on its own path, and offers from each only the best waiter that the room there could hold.
 * (With lendlimits, a release that a floor absorbs also retries the lanes below that floor that
 * wait above it.)
 *
 * Invariants: a pending unit is in exactly one lane; usage in the tree is exactly the sum of the
 * admitted units' charges; elastic_queue_next() returns a unit that passes quota_tree_test() now;
 * with no change between, it returns the same unit again; every pending unit that is neither behind
 * a blocking head, parked by core nor skipped is refused by quota when next() returns NULL.
 *
 * An edit of the tree: build the new elastic_tree and a new set of queues, restore the admitted
 * units, add the pending ones. It is what a restart does. First-attempt times carry the place.
 *
 * Belongs to one thread. Borrows the tree, which must outlive it and be charged by nobody else.
 */
#include "quota-tree/elastic_tree.h"

struct elastic_queues;
struct elastic_unit;

enum elastic_policy {
	ELASTIC_PRIORITY = 0,
	ELASTIC_BLOCK,
	ELASTIC_INTELLIGENT,
	ELASTIC_POLICY_MAX,
};

#define ELASTIC_PRIORITY_THRESHOLD 4 /* default of the Queue annotation priority-threshold */

const char *elastic_policy_to_string(enum elastic_policy policy); /* "Priority", ...; "" unknown */
/* As Queue.spec.queuePolicy spells it; "" is Priority, the old Round too. -EINVAL otherwise. */
int elastic_policy_from_string(struct span name, enum elastic_policy *ret) MUST_CHECK;

struct elastic_queue_options {
	/* checkQuotaOversold: a unit of a leaf that is not below its min is refused while another
	 * leaf that is below its min has pending units (V20). Looked at for the resources that the
	 * unit asks, jobs excepted. Non-preemptible units stay within min and are not held to it.
	 * Off by default. */
	bool check_oversold;
};

struct elastic_queue_config {
	enum elastic_policy policy;
	int32_t threshold; /* Intelligent only */
	int32_t priority;  /* of the queue among queues; higher is served first */
};

struct elastic_unit_spec {
	uint32_t node;	/* of the tree */
	uint32_t shape; /* see above */
	int32_t priority;
	bool nonpreemptible;
	int64_t first_attempt; /* >= 0, earlier goes first; core's UTC microseconds */
	struct span name;      /* namespace/name, unique; borrowed: must outlive the unit */
	const struct quota_amount *amounts; /* of elastic_tree_request(); copied */
	size_t n_amounts;
	void *owner; /* core's own; never looked at */
};

enum elastic_state {
	ELASTIC_READY = 0, /* its turn comes; not refused since the last change */
	ELASTIC_QUOTA,	   /* refused by quota, see the verdict */
	ELASTIC_MIN,	   /* refused by check_oversold, see `blocker` */
	ELASTIC_PLACEMENT, /* quota fits, core parked its shape */
	ELASTIC_BEHIND,	   /* a failing unit ahead of it blocks its queue, see `ahead` */
	ELASTIC_SKIPPED,   /* until the next rewind, or held */
	ELASTIC_ADMITTED,
	ELASTIC_STATE_MAX,
};

/* Why a unit stands where it stands, computed when asked. */
struct elastic_standing {
	enum elastic_state state;
	uint32_t node;
	size_t position; /* 1-based among the pending units of its queue; 0 if admitted */
	size_t pending;	 /* units pending in its queue */
	struct quota_verdict verdict; /* the refusal if quota refuses now (whatever the state) */
	uint32_t blocker;	      /* ELASTIC_MIN: the leaf below its min; else QUOTA_NO_NODE */
	const struct elastic_unit *ahead; /* ELASTIC_BEHIND: the head of its queue; else NULL */
};

/* Every queue starts with policy Priority, priority 0. `options` may be NULL. */
struct elastic_queues *elastic_queue_create(struct elastic_tree *tree,
					    const struct elastic_queue_options *options);
/* Frees it and all its units; what they charged stays in the tree, which goes with them. */
struct elastic_queues *elastic_queue_destroy(struct elastic_queues *q);

/* Sets policy and priority of a node's queue; its pending units are filed anew, O(k log n). */
void elastic_queue_configure(struct elastic_queues *q, uint32_t node,
			     const struct elastic_queue_config *config);
struct elastic_queue_config elastic_queue_config_of(const struct elastic_queues *q, uint32_t node);

/* Adds a pending unit. The unit is borrowed: it lives until elastic_queue_remove(). */
struct elastic_unit *elastic_queue_add(struct elastic_queues *q,
				       const struct elastic_unit_spec *spec);
/* Adds a unit that is admitted already (restart, edit): charged whatever the limits say.
 * -EOVERFLOW: sums would leave int64; nothing is added. */
int elastic_queue_restore(struct elastic_queues *q, const struct elastic_unit_spec *spec,
			  struct elastic_unit **ret) MUST_CHECK;
/* Removes and frees a unit in any state; what an admitted one was charged is released. */
void elastic_queue_remove(struct elastic_queues *q, struct elastic_unit *unit);
/* Releases an admitted unit and puts it back in its queue, at its old place (failover, a
 * reservation that failed). */
void elastic_queue_requeue(struct elastic_queues *q, struct elastic_unit *unit);

/* The best pending unit that quota allows now, or NULL. It stays pending and is returned again
 * until admitted, parked, skipped, removed, overtaken, or refused after a charge elsewhere. */
struct elastic_unit *elastic_queue_next(struct elastic_queues *q);
/* Charges a pending unit (as next() returned it, or any other whose turn core forces). 0, or
 * -EDQUOT with *ret_verdict (may be NULL) and nothing changed. Block and the oversold check do not
 * apply here: they only choose what next() offers. */
int elastic_queue_admit(struct elastic_queues *q, struct elastic_unit *unit,
			struct quota_verdict *ret_verdict) MUST_CHECK;
/* Placement has nothing for this unit's shape: it and all of its shape wait for
 * elastic_queue_wake_shape(). */
void elastic_queue_park(struct elastic_queues *q, struct elastic_unit *unit);
/* Passes over this unit (and the others of its lane; under Block over its queue) until the next
 * elastic_queue_rewind(). */
void elastic_queue_skip(struct elastic_queues *q, struct elastic_unit *unit);
void elastic_queue_rewind(struct elastic_queues *q);
/* The same until elastic_queue_let_go(): core keeps what it would take for another one. */
void elastic_queue_hold(struct elastic_queues *q, struct elastic_unit *unit);
void elastic_queue_let_go(struct elastic_queues *q);
/* Grows with every release. */
uint64_t elastic_queue_releases(const struct elastic_queues *q);
/* Capacity changed in a way that could help the shape: offer its units again, best first, until one
 * is parked again. */
void elastic_queue_wake_shape(struct elastic_queues *q, uint32_t shape);
void elastic_queue_wake_all_shapes(struct elastic_queues *q);
bool elastic_queue_shape_is_parked(const struct elastic_queues *q, uint32_t shape);
/* Of the units that wait with a parked shape, the first in order that quota would allow now; NULL.
 * O(lanes of the shape). */
struct elastic_unit *elastic_queue_parked_first(const struct elastic_queues *q, uint32_t shape);

/* The first unit of every lane that is not held back by the head of its queue, best first: at most
 * `max` of them, whether or not quota or placement refuses them. O(lanes). */
size_t elastic_queue_heads(const struct elastic_queues *q, struct elastic_unit **out, size_t max);

void *elastic_unit_owner(const struct elastic_unit *unit);
uint32_t elastic_unit_node(const struct elastic_unit *unit);
uint32_t elastic_unit_shape(const struct elastic_unit *unit);
int32_t elastic_unit_priority(const struct elastic_unit *unit);
struct span elastic_unit_name(const struct elastic_unit *unit);
/* The order of candidates over all queues, as above; total, because sequences differ. */
bool elastic_unit_before(const struct elastic_unit *a, const struct elastic_unit *b);
bool elastic_unit_is_admitted(const struct elastic_unit *unit);
/* What it asks; borrowed, lives with the unit. */
struct quota_request elastic_unit_request(const struct elastic_unit *unit);

size_t elastic_queue_pending(const struct elastic_queues *q, uint32_t node);
size_t elastic_queue_pending_total(const struct elastic_queues *q);
size_t elastic_queue_admitted_total(const struct elastic_queues *q);
/* 1-based place in its queue; 0 for an admitted unit. O(log n). */
size_t elastic_queue_position(const struct elastic_queues *q, const struct elastic_unit *unit);
/* The unit at a 1-based place, or NULL. O(log n). */
struct elastic_unit *elastic_queue_at(const struct elastic_queues *q, uint32_t node,
				      size_t position);
/* Why it waits. O(log n + depth), with the oversold check O(leaves). */
void elastic_queue_standing(const struct elastic_queues *q, const struct elastic_unit *unit,
			    struct elastic_standing *ret);

/* Checks the invariants above against a full recomputation; for tests. */
int elastic_queue_check(const struct elastic_queues *q, struct err *reterr) MUST_CHECK;

#endif
