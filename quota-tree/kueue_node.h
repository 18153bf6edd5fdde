#ifndef QUOTA_TREE_KUEUE_NODE_H
#define QUOTA_TREE_KUEUE_NODE_H
/*
 * The memory of a Kueue forest, shared by the files that edit it (kueue_forest.c), compile it
 * (kueue_tree.c), charge and read it (kueue_cell.c, kueue_share.c), and search it (kueue_assign.c,
 * kueue_preempt.c). Private to the engine.
 *
 * Objects are kept as they were set. From them a tree is compiled: rows of slots by node, cells by
 * tree. Between compiles a row only grows (a charge of a cell that nobody lists); indexes of cells
 * stay, pointers to them do not.
 */
#include "base/map.h"
#include "quota-tree/kueue_amount.h"
#include "quota-tree/kueue_workload.h"

struct kueue_cell {	   /* one cache line */
	int64_t nominal;   /* the node's own */
	int64_t subtree;   /* its own, and what children lend */
	int64_t local;	   /* of subtree, what the parent does not see */
	int64_t borrowing; /* QUOTA_UNLIMITED: no limit */
	int64_t potential; /* the most it could ever use */
	int64_t usage;
	uint32_t flavor, resource;
	uint32_t parent; /* in the tree's cells; KUEUE_NONE at the root */
	bool listed;	 /* by the node itself */
	bool stated;	 /* by it or below it: the others only hold what nobody lists */
};

struct kueue_slot {
	uint64_t key; /* kueue_key() */
	uint32_t cell;
};

/* Rows are sorted by resource first: shares sum over the flavors of one resource. */
static inline uint64_t kueue_key(uint32_t flavor, uint32_t resource)
{
	return (uint64_t)resource << 32 | flavor;
}

struct kueue_group { /* a resource group in numbers */
	const uint32_t *resources, *flavors;
	uint32_t n_resources, n_flavors;
	const struct kueue_quota *quotas; /* [flavor * n_resources + resource] */
};

struct kueue_covered {
	uint32_t resource;
	uint32_t group;
};

struct kueue_lendable {
	uint32_t resource;
	int64_t value; /* sum over flavors of what the node could ever use */
};

struct kueue_tree {
	struct VEC(uint32_t) members; /* parents before children */
	struct VEC(struct kueue_cell) cells;
	bool stale;
	uint64_t generation;
};

struct kueue_node {
	uint32_t number;
	struct span name;
	bool queue;    /* else a cohort */
	bool declared; /* an object says so; else it is only named, or still holds charges */
	bool cyclic;   /* its parents end in no root */
	bool has_lendable;
	/* as of the flavors' edit `looked` */
	bool lacks_flavor;
	bool topologies_only; /* every flavor has a topology: all pod sets are placed by it */
	uint64_t looked;
	uint32_t n_wanting; /* nodes whose object names it as parent */
	uint32_t wanted;    /* the parent that its object names */
	uint32_t parent;    /* the same, or KUEUE_NONE in a cycle */
	uint32_t height;    /* distance to the furthest leaf below */
	double weight;

	/* of its object; a queue's in `spec`, which points into mem */
	struct arena mem;
	struct kueue_queue_spec spec;
	const struct kueue_group *groups;
	size_t n_groups;
	const struct kueue_covered *covered; /* sorted by resource */
	size_t n_covered;

	struct kueue_tree *tree;
	struct VEC(struct kueue_slot) row;
	struct VEC(uint32_t) children;		    /* cohorts, then queues, each by name */
	struct VEC(struct kueue_use) held;	    /* usage on its way from one tree to the next */
	struct VEC(struct kueue_lendable) lendable; /* of a cohort, made when first asked */
	uint64_t generation;
	struct rank_tree holders;
	uint64_t mark;	/* of the search that looked at it last */
	uint32_t index; /* its place in that search */
};

struct kueue_flavor {
	struct span name;
	bool declared;
	struct arena mem;
	struct kueue_flavor_spec spec;
	const struct span *keys; /* of the labels */
};

struct kueue_topology {
	struct arena mem;
	const struct span *levels;
	size_t n_levels;
};

struct kueue_names {	    /* numbers for ever */
	struct map numbers; /* number + 1 */
	struct VEC(struct span) names;
};

struct kueue_undo {
	uint32_t node, cell;
	int64_t usage;
};

struct kueue_search; /* scratch of kueue_candidates.c */

struct kueue_forest {
	struct kueue_forest *self; /* to compile when only reading was asked for */
	struct kueue_options options;
	struct map queues, cohorts;	       /* number + 1 */
	struct VEC(struct kueue_node *) nodes; /* NULL: free */
	struct VEC(uint32_t) free_numbers;
	struct map flavor_numbers;
	struct map topologies; /* struct kueue_topology by name */
	uint64_t flavor_edits;
	struct VEC(struct kueue_flavor *) flavors;
	struct kueue_names resources;
	struct VEC(uint32_t) resource_ranks;   /* place of each name in byte order */
	struct VEC(uint32_t) resources_sorted; /* numbers in that order */
	uint32_t pods;			       /* the resource of that name, or KUEUE_NONE */
	struct VEC(struct kueue_tree *) stale;
	struct VEC(struct kueue_undo) journal;
	size_t trials; /* open ones */
	size_t n_cyclic;
	uint64_t marks; /* of searches */
	const double *local_usage;
	size_t n_local_usage;
	struct kueue_search *search;
};

static inline struct kueue_node *kueue_node(const struct kueue_forest *f, uint32_t number)
{
	return f->nodes.items[number];
}

static inline struct kueue_node *kueue_node_parent(const struct kueue_forest *f,
						   const struct kueue_node *n)
{
	return n->parent == KUEUE_NONE ? NULL : f->nodes.items[n->parent];
}

/* ---- kueue_names.c ---- */

/* Maps of names hold number + 1; KUEUE_NONE when absent. */
uint32_t kueue_number_of(const struct map *m, struct span name);
void *kueue_number_value(uint32_t number);
struct span kueue_name_dup(struct span s); /* owned */
int kueue_forest_full(struct err *reterr);
void kueue_topologies_done(struct kueue_forest *f);

/* Brings lacks_flavor and topologies_only up to date. */
void kueue_node_look(const struct kueue_forest *f, struct kueue_node *n);

/* ---- kueue_tree.c ---- */

/* The tree of a node will be compiled before anybody looks again. */
void kueue_tree_spoil(struct kueue_forest *f, struct kueue_node *n);
void kueue_tree_compile(struct kueue_forest *f);
/* While a trial is open nothing is edited; at most a node waits to be buried, and goes on waiting.
 */
static inline void kueue_tree_settle(const struct kueue_forest *f)
{
	if (__builtin_expect(f->stale.len > 0, 0) && f->trials == 0)
		kueue_tree_compile(f->self);
}
/* Whether the way up that objects name ends in a root within the depth allowed. */
bool kueue_node_ends(const struct kueue_forest *f, const struct kueue_node *n);
void kueue_tree_free(struct kueue_tree *t);
/* Not its tree. */
void kueue_node_free(struct kueue_forest *f, struct kueue_node *n);

/* ---- kueue_spec.c: copies in an arena, checks, and numbers for names ---- */

int kueue_spec_check_groups(const struct kueue_group_spec *groups, size_t n,
			    struct err *reterr) MUST_CHECK;
int kueue_spec_check_flavor(const struct kueue_flavor_spec *spec, struct err *reterr) MUST_CHECK;
struct kueue_flavor_spec kueue_spec_dup_flavor(struct arena *a, const struct kueue_flavor_spec *s,
					       const struct span **ret_keys);
const struct kueue_group_spec *
kueue_spec_dup_groups(struct arena *a, const struct kueue_group_spec *groups, size_t n);

/* ---- kueue_cell.c ---- */

/* Index in the tree's cells; KUEUE_NONE when the row has no such cell. */
static inline uint32_t kueue_row_find(const struct kueue_node *n, uint64_t key)
{
	size_t from = 0, to = n->row.len;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		if (n->row.items[mid].key < key)
			from = mid + 1;
		else
			to = mid;
	}
	return from < n->row.len && n->row.items[from].key == key ? n->row.items[from].cell
								  : KUEUE_NONE;
}

static inline struct kueue_cell *kueue_cell(const struct kueue_node *n, uint32_t flavor,
					    uint32_t resource)
{
	uint32_t at = kueue_row_find(n, kueue_key(flavor, resource));
	return at == KUEUE_NONE ? NULL : &n->tree->cells.items[at];
}

/* Subtree quota or nominal below usage plus value: the node would borrow. */
static inline bool kueue_cell_above(const struct kueue_cell *c, int64_t value)
{
	return c->subtree < kueue_amount_add(c->usage, value);
}

/* What is left of the local quota. */
static inline int64_t kueue_cell_local_room(const struct kueue_cell *c)
{
	return kueue_amount_above(c->local, c->usage);
}

/* Debt included: may be negative. */
int64_t kueue_cell_available(const struct kueue_node *queue, uint32_t cell);

/* Group of the queue that covers a resource, or NULL. */
const struct kueue_group *kueue_node_covering(const struct kueue_node *n, uint32_t resource);

/* ---- kueue_candidates.c ---- */

void kueue_search_free(struct kueue_search *s);

#endif
