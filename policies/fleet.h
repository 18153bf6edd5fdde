#ifndef POLICIES_FLEET_H
#define POLICIES_FLEET_H
/*
 * Inside the fleet: private to this folder. cluster_view.h is the outside.
 *
 * How decisions stay cheap
 *
 * - A *row* is what one pod of some set asks of a node. Sets that ask the same share a row.
 * - A *class* is what rows may ask about a node besides amounts: labels that some row names,
 *   taints, usable or not. Labels that nobody asks for (the host name) do not make classes.
 * - A *state* is (class, free amounts). Nodes in one state are alike for every row. A charge moves
 *   a node to another state; states are shared by the whole fleet and stay cached for a while
 *   when no node is in them.
 * - Rows in use by a decision have a *lane*. Every state knows, for each lane, its *fill*: how
 *   many pods of the row fit on such a node (low 12 bits), and on which *level* that hole is
 *   (high 4 bits): 0..7 for holes of 1, 2, 3-4, ... 65 and more pods, plus 8 when the node has
 *   devices free that the row does not ask for. Ascending fills are the order in which holes
 *   are filled, so that the small go first and devices stay free for whom they suit.
 * - Every cluster has, for each lane, the sum of pods that fit by level: its *holes*. Their sum is
 * how many pods fit in all. A node's move subtracts its old fill and adds the new one. So "does a
 *   gang of one kind fit, and which holes would it take" is a prefix sum of 16 numbers.
 *
 * Invariants, checked by fleet_verify(): every known node is in the group of its state; holes,
 * sums and counts equal a recomputation from the nodes.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "policies/cluster_view.h"

enum {
	LANES_MAX = 512, /* 64 bytes a cluster and 2 a state each: 32 MiB at 1,000 clusters */
	LEVELS = 16,
	FILL_BITS = 12,
	FILL_MAX = (1 << FILL_BITS) - 1, /* pods on one node */
	STATES_CACHED = 1024, /* states without nodes that are kept, a few hundred bytes each */
};
#define LANE_NONE  UINT32_MAX
#define STATE_NONE UINT32_MAX
#define CLASS_NONE UINT32_MAX

static inline uint32_t fill_pods(uint32_t fill)
{
	return fill & FILL_MAX;
}

static inline uint32_t fill_level(uint32_t fill)
{
	return fill >> FILL_BITS;
}

struct row {
	struct arena arena;
	struct pod_set pods; /* canonical, in the arena */
	struct span key;     /* in fleet.rows, in the arena */
	uint32_t refs;
	uint32_t lane;	    /* LANE_NONE while no decision needs it */
	uint32_t lane_refs; /* asks that do */
	uint32_t n_requests;
	uint32_t resource[POD_SET_MAX_REQUESTS + 1];
	int64_t amount[POD_SET_MAX_REQUESTS + 1];
	uint64_t mask;	    /* resources asked */
	uint64_t extended;  /* of those, devices */
	uint64_t hash_step; /* of the amounts, see node_state.c */
};

/* Sets of a shape that share a row, together. */
struct shape_part {
	struct row *row;
	int64_t count;
};

struct shape {
	struct arena arena;
	struct job_shape spec; /* canonical, in the arena */
	struct span key;
	uint32_t refs, id;
	uint32_t n_parts; /* without sets of no pods; largest pods first */
	struct shape_part *parts;
	uint32_t *part_of_set; /* UINT32_MAX for a set of no pods */
	uint64_t mask;	       /* resources asked by any part */
	uint32_t n_need;
	struct amount *need; /* of the whole gang, saturating */
	bool exclusive;	     /* has an exclusive topology */
	bool leveled;	     /* has not, and some set asks for a topology */
};

struct node_class {
	uint32_t refs; /* states; 0 marks a free slot */
	bool usable;
	struct span key;      /* in fleet.class_ids; owned */
	struct label *labels; /* in question only; texts borrowed from the ids below */
	uint32_t n_labels;
	struct taint *taints; /* NoSchedule and NoExecute only */
	uint32_t n_taints;
	uint32_t *ids; /* references held in the intern table */
	uint32_t n_ids;
	uint64_t accepts[LANES_MAX / 64]; /* usable, labels match, taints tolerated */
};

struct node_state {
	uint64_t hash;
	uint64_t devices; /* extended resources that are free here */
	uint32_t node_class;
	uint32_t refs; /* nodes; 0 and not cached marks a free slot */
	uint32_t prev,
	    next; /* in the list of cached states without nodes; next also in free slots */
	bool cached;
};

/* Where a node stands now: what charges and packings touch, kept small and together. */
struct node_spot {
	uint32_t state;	     /* STATE_NONE marks a free slot */
	uint32_t prev, next; /* in its group; next also in free slots */
	uint32_t charges;    /* pods and assumed pods on it, plus one while it is known */
};

/* What is known of a node. */
struct node {
	uint32_t name;	    /* interned */
	uint32_t exclusive; /* of the charges, pods of exclusive jobs */
	uint32_t n_labels;
	uint32_t n_taints;
	struct node_label {
		uint32_t key, value;
	} * labels; /* sorted by key id; owned with references */
	struct node_taint {
		uint32_t key, value;
		enum taint_effect effect;
	} * taints; /* owned with references */
	bool known; /* not a placeholder */
	bool ready, unschedulable;
};

/* The nodes of one cluster that are in one state. */
struct node_group {
	uint32_t state;
	uint32_t head; /* node */
	uint32_t n;
};

struct cluster {
	bool used;
	struct arena arena;	  /* of spec */
	struct cluster_spec spec; /* deep copy */
	struct node *nodes;
	struct node_spot *spots; /* of the same nodes */
	int64_t *allocatable;	 /* stride amounts per node */
	uint32_t n_nodes, cap_nodes, free_node;
	uint32_t n_known, n_usable;
	struct map by_name; /* node name -> number + 1 */
	struct node_group *groups;
	uint32_t n_groups, cap_groups;
	uint32_t *slots; /* group + 1 by state, open addressing */
	uint32_t n_slots;
	/* Sums over usable nodes, by resource. */
	int64_t allocatable_sum[RESOURCE_MAX];
	int64_t free_sum[RESOURCE_MAX];	    /* negatives as zero */
	int64_t used_sum[RESOURCE_MAX];	    /* allocatable - free, as it is */
	int64_t assumed_sum[RESOURCE_MAX];  /* by the ledger, on any node */
	int64_t unplaced_sum[RESOURCE_MAX]; /* by the ledger, on no node (sum-of-free mode) */
	uint8_t load_shift[RESOURCE_MAX];
	/* What waiting.c has not looked at yet. */
	uint64_t freed; /* resources of which some node got more */
	bool changed;	/* something other than amounts: candidates may differ */
	bool pending;	/* is in fleet.pending */
};

/* What a decision reads of every changed cluster, kept together. */
struct cluster_hot {
	uint64_t version;
	uint64_t spec_version; /* of the last change to something other than amounts */
	uint64_t load_version; /* of `load` */
	uint32_t prev, next;   /* in order of last change */
	uint32_t rank;	       /* in order of name */
	uint32_t load;	       /* largest share of a resource in use, thousandths */
};

struct fit_scratch; /* fit.c's */

struct fleet {
	struct intern names;
	struct resource_table resources;
	uint32_t stride;   /* amounts per vector: 8, 16, 32 or 64 */
	uint64_t extended; /* mask of device resources */
	uint32_t n_masked; /* resources looked at for `extended` */

	struct map rows;     /* key -> struct row */
	struct map shapes;   /* key -> struct shape */
	struct map interest; /* label key -> count of rows that name it, as a pointer */
	struct VEC(uint32_t) free_shape_ids;
	uint32_t n_shape_ids;

	struct node_class *classes;
	uint32_t n_classes, cap_classes, free_class;
	struct map class_ids; /* key -> number + 1 */

	struct node_state *states;
	int64_t *state_free;  /* stride each */
	uint16_t *state_fill; /* cap_lanes each */
	uint32_t n_states, cap_states, free_state;
	uint32_t *state_slots, n_state_slots, n_live_states;
	uint32_t cached_head, cached_tail, n_cached;
	int64_t *vector;  /* one vector of scratch */
	struct arena tmp; /* what is measured before it is kept */

	struct row *lanes[LANES_MAX];
	uint32_t n_lanes, cap_lanes; /* highest lane in use + 1; a multiple of 32 */

	struct cluster *clusters;
	struct cluster_hot *hot;
	uint32_t *holes;		   /* cap_lanes * LEVELS per cluster */
	uint32_t n_clusters, cap_clusters; /* slots */
	uint32_t n_used;
	uint32_t *by_name;		      /* n_used clusters in order of name */
	struct map cluster_ids;		      /* name -> number + 1 */
	uint32_t last_changed, first_changed; /* ends of the change list */
	uint64_t version;
	uint64_t roster_version;      /* of the last cluster added or removed */
	struct VEC(uint32_t) pending; /* clusters for waiting.c */

	struct fit_scratch *scratch;
	const struct ledger *ledger; /* what is assumed on the nodes; NULL: nothing */
	bool trial;		     /* evict_fit.c tries something: no move is a change now */
};

/* Makes the vectors wide enough for all known resources. Call it before using an index. */
void fleet_widen(struct fleet *f);
/* Marks a cluster as changed now; `spec`: in something other than amounts. */
void fleet_touch(struct fleet *f, uint32_t cluster, bool spec);
/* Load of a cluster in thousandths. */
uint32_t fleet_load(struct fleet *f, uint32_t cluster);
static inline uint32_t *fleet_holes(const struct fleet *f, uint32_t cluster, uint32_t lane)
{
	return f->holes + ((size_t)cluster * f->cap_lanes + lane) * LEVELS;
}
/* For tests: recomputes everything that is kept incrementally. NULL when all is well, else what
 * is not. */
const char *fleet_verify(struct fleet *f);

#endif
