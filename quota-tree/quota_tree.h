#ifndef QUOTA_TREE_QUOTA_TREE_H
#define QUOTA_TREE_QUOTA_TREE_H
/*
 * The quota engine: a forest of nodes that count what is charged below them, and refuse what
 * would not fit.
 *
 * Pure arithmetic on int64 (milli-units of cpu, bytes, counts): no I/O, clock, JSON or log, and
 * no names of nodes; a dialect (elastic_tree.h, later Kueue's) compiles its objects to a
 * quota_spec and keeps the names. A resource is a dense index into the tree's own small table of
 * names; a dialect with flavors interns "flavor/resource" as one name. Test, charge and release
 * cost O(depth x amounts) and touch one row of small cells per node on the path.
 *
 * Terms, per node and resource:
 *   nominal      what the node owns (ElasticQuotaTree: min)
 *   borrowing    how far above nominal it may go; max = nominal + borrowing
 *   lending      how much of nominal others may use while the node does not; the rest,
 *                floor = max(0, nominal - lending), is held for the node alone. Unset
 *                (QUOTA_UNLIMITED): all of it may be lent, floor = 0
 *   firm         the most that non-preemptible requests may hold together (elastic: min)
 *   used         everything charged to the node and below it
 *   counted      what the node's max is compared with: its own charges, plus for each child
 *                max(child's counted, child's floor) ("used+reserved" in messages)
 *
 * Inside, the constant part of `counted` (`reserved`: the floors that stand below even when
 * nothing runs) is taken out once, at build: a node holds usage = counted - reserved,
 * limit = max - reserved, and local = the part of usage that the parent does not see. So a tree
 * starts at zero and what moves up is max(0, usage - local), which is also Kueue's cohort
 * arithmetic (reference: pkg/cache/scheduler/resource_node.go, localQuota and usage), where limit
 * is the subtree's quota plus the borrowing limit.
 *
 * Invariants (quota_tree_check() tests them; so do the property tests after every step):
 *   I1  used(n) = own(n) + sum of used(children); own(n) >= 0
 *   I2  usage(n) = own(n) + sum over children of max(0, usage(c) - local(c))
 *   I3  0 <= usage <= used: nothing overflows, because used of the root bounds every number below
 *       it, and a charge that would push that beyond INT64_MAX is refused
 *   I4  quota_tree_charge() never raises a node's usage while it stands, or would end, above its
 *       limit. Sole exception: non-preemptible requests are held to `firm` instead where a node has
 *       one, because min is a promise (V18 of the ElasticQuotaTree vectors); spec.max_binds_all
 *       takes the exception away
 *   I5  usage is a function of what is charged now, never of the order of charges and releases
 *
 * An edit of limits or topology builds a new tree and charges it again with
 * quota_tree_charge_forced(), which may leave a node above its max (then I4 refuses more). That is
 * the same code path as a restart.
 *
 * Belongs to one thread; quota_tree_dup() gives a trial copy to another.
 */
#include "base/err.h"
#include "base/span.h"
#include <stdint.h>

#define QUOTA_UNLIMITED	  INT64_MAX
#define QUOTA_NO_NODE	  UINT32_MAX
#define QUOTA_NO_RESOURCE UINT32_MAX

/* Bounds of one tree. A cell costs 32 bytes hot and 64 cold: 2^21 of them are 192 MiB, the worst
 * that an admin's object of legal size can cost. */
#define QUOTA_MAX_RESOURCES 64
#define QUOTA_MAX_NODES	    (1u << 17)
#define QUOTA_MAX_DEPTH	    16
#define QUOTA_MAX_CELLS	    (1u << 21)
#define QUOTA_MAX_OVERSELL  1000000 /* thousandths: a thousandfold */

/* What one node says of one resource. A node that does not name a resource does not limit it
 * (its ancestors still do). All numbers >= 0. */
struct quota_limit {
	struct span resource;
	int64_t nominal;
	int64_t borrowing; /* QUOTA_UNLIMITED: no max here */
	int64_t lending;   /* QUOTA_UNLIMITED: all of nominal */
	int64_t firm;	   /* QUOTA_UNLIMITED: non-preemptible requests are held to max, like all */
};

struct quota_node_spec {
	uint32_t parent; /* index of an EARLIER node; QUOTA_NO_NODE for a root */
	const struct quota_limit *limits;
	size_t n_limits;
};

struct quota_spec {
	const struct quota_node_spec *nodes; /* parents before children */
	size_t n_nodes;
	/* Rate by which max and firm are multiplied, in thousandths, rounded down; 0 means 1000. */
	int64_t oversell_permille; /* at most QUOTA_MAX_OVERSELL */
	/* Non-preemptible requests are held to max as well as to firm. */
	bool max_binds_all;
};

/* A part of a request. Lists of them are sorted by resource, each resource at most once, values
 * > 0; quota_amount_add() builds them. Indexes that the tree does not have are ignored: nobody
 * limits that resource. */
struct quota_amount {
	uint32_t resource;
	int64_t value;
};

struct quota_request {
	const struct quota_amount *amounts;
	size_t n_amounts;
	bool nonpreemptible;
};

enum quota_reason {
	QUOTA_FITS = 0,
	QUOTA_OVER_MAX,	 /* counted + request > max */
	QUOTA_OVER_FIRM, /* non-preemptible used + request > firm (min) */
	QUOTA_OVERFLOW,	 /* the sums would leave int64 */
	QUOTA_REASON_MAX,
};

/* One node's answer about one resource. `request` is what arrives at this node (the part that the
 * floors below it do not absorb); `limit` is max, or firm for QUOTA_OVER_FIRM, times the oversell
 * rate; `used` is the true use of the subtree, or its non-preemptible use for QUOTA_OVER_FIRM;
 * `counted` is what the limit is compared with. Refused means counted + request > limit. */
struct quota_verdict {
	uint32_t node;
	uint32_t resource;
	enum quota_reason reason;
	bool never; /* would be refused even if nothing were charged anywhere */
	int64_t request;
	int64_t limit;
	int64_t used;
	int64_t counted;
};

/* Every number that a node keeps for a resource, for status, screens and tests. */
struct quota_state {
	bool stated;		  /* the node itself names the resource */
	int64_t nominal;	  /* as in the spec (0 when not stated) */
	int64_t nominal_oversold; /* nominal times the oversell rate */
	int64_t max;		  /* nominal + borrowing; QUOTA_UNLIMITED */
	int64_t max_oversold;	  /* max times the oversell rate */
	int64_t firm;		  /* as in the spec; QUOTA_UNLIMITED */
	int64_t floor;		  /* held back from others: max(0, nominal - lending) */
	int64_t used;
	int64_t counted;
	int64_t nonpreemptible_used;
};

struct quota_tree;

/*
 * Builds a tree with nothing charged. Refuses with ERR_INVALID and a field path "nodes[i]..." a
 * parent that is not earlier, depth above QUOTA_MAX_DEPTH, more nodes, resources or cells than the
 * bounds, a resource named twice in a node, a negative number, and floors whose sum leaves int64.
 * That children together own more than their parent is the dialect's business.
 */
int quota_tree_create(const struct quota_spec *spec, struct quota_tree **ret,
		      struct err *reterr) MUST_CHECK;
struct quota_tree *quota_tree_destroy(struct quota_tree *tree); /* accepts NULL, returns NULL */
/* A copy with all usage, to try charges on (plan, preview, victim search). */
struct quota_tree *quota_tree_dup(const struct quota_tree *tree);

uint32_t quota_tree_n_nodes(const struct quota_tree *tree);
uint32_t quota_tree_n_resources(const struct quota_tree *tree);
uint32_t quota_tree_parent(const struct quota_tree *tree, uint32_t node); /* QUOTA_NO_NODE: root */
uint32_t quota_tree_depth(const struct quota_tree *tree, uint32_t node);  /* a root's is 1 */
bool quota_tree_is_leaf(const struct quota_tree *tree, uint32_t node);
int64_t quota_tree_oversell_permille(const struct quota_tree *tree);
/* Borrowed; lives with the tree. */
struct span quota_tree_resource_name(const struct quota_tree *tree, uint32_t resource);
/* -ENOENT when no node names it: then nothing limits it, and it needs no charge. */
int quota_tree_find_resource(const struct quota_tree *tree, struct span name,
			     uint32_t *ret) MUST_CHECK;

/*
 * Adds value to the entry of `resource` in a sorted list of at most `max`, or inserts it. A value
 * of 0 adds nothing. ERR_INVALID: negative, or the sum leaves int64; ERR_TOO_LARGE: list full.
 */
int quota_amount_add(struct quota_amount *amounts, size_t *n, size_t max, uint32_t resource,
		     int64_t value, struct err *reterr) MUST_CHECK;

/* Whether the request fits at `node` and every ancestor. On false, *ret_verdict (may be NULL)
 * tells the refusal nearest to the node, and there the lowest resource index. */
bool quota_tree_test(const struct quota_tree *tree, uint32_t node, const struct quota_request *req,
		     struct quota_verdict *ret_verdict);

/* Tests, and charges all or nothing. 0, or -EDQUOT with *ret_verdict (may be NULL) filled. */
int quota_tree_charge(struct quota_tree *tree, uint32_t node, const struct quota_request *req,
		      struct quota_verdict *ret_verdict) MUST_CHECK;

/* Charges what already runs: limits do not apply. 0, or -EOVERFLOW and nothing is charged. */
int quota_tree_charge_forced(struct quota_tree *tree, uint32_t node,
			     const struct quota_request *req) MUST_CHECK;

/* Takes back one earlier charge of the same request at the same node (programmer's error
 * otherwise: asserted). */
void quota_tree_release(struct quota_tree *tree, uint32_t node, const struct quota_request *req);

/*
 * One verdict for EVERY node from `node` up to its root, in that order, refusing or not: each tells
 * the resource that stands worst there (refused before fitting, then least room left). Returns the
 * number of nodes on the path; writes at most `max` of them. A request that asks nothing of the
 * tree's resources gets QUOTA_NO_RESOURCE. A request never fits when any verdict says `never`.
 */
size_t quota_tree_explain(const struct quota_tree *tree, uint32_t node,
			  const struct quota_request *req, struct quota_verdict *out, size_t max);

/* The most of one resource that a preemptible request at `node` could be charged now; 0 when the
 * path is full or over, QUOTA_UNLIMITED minus what is used when nothing limits it. */
int64_t quota_tree_headroom(const struct quota_tree *tree, uint32_t node, uint32_t resource);
/* Room left under this node's own limit alone; negative while it is over. `firm` asks for the room
 * of non-preemptible requests. QUOTA_UNLIMITED when unlimited. */
int64_t quota_tree_room(const struct quota_tree *tree, uint32_t node, uint32_t resource, bool firm);
/* The part of this node's usage that its parent does not see: what a floor absorbs. */
int64_t quota_tree_local(const struct quota_tree *tree, uint32_t node, uint32_t resource);
/* Whether any node has a floor (else what arrives at a node is always the whole request). */
bool quota_tree_has_floors(const struct quota_tree *tree);

void quota_tree_get(const struct quota_tree *tree, uint32_t node, uint32_t resource,
		    struct quota_state *ret);

/* Recomputes every number from what is charged at the nodes themselves and compares (I1 to I3).
 * O(nodes x resources). ERR_INTERNAL with the first difference. */
int quota_tree_check(const struct quota_tree *tree, struct err *reterr) MUST_CHECK;

#endif
