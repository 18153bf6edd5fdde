#ifndef QUOTA_TREE_ELASTIC_TREE_H
#define QUOTA_TREE_ELASTIC_TREE_H
/*
 * The ElasticQuotaTree dialect (scheduling.sigs.k8s.io/v1beta1): a plain spec, its validation, and
 * its compilation to the quota engine, with lookups from a job's label or namespace to its node.
 *
 * Numbers are int64: milli-units for the resource "cpu", whole units (bytes, counts) for any other.
 * `kube-queue/max-jobs` is a resource like any other, of which each unit takes 1; it binds by max
 * only. Every tree counts jobs, whether or not it limits them.
 *
 * Readings taken (reference/ack-fleet.md sections 2.2 and 5):
 *   - min > max at a node: refused. The sum of children's min above the parent's min: refused; for
 *     this a parent without a min owns 0, a root without a min its max. A parent's min above the
 * sum is headroom.
 *   - root min != max: accepted with a warning (the vendor's own sample breaks the rule); max is
 * the total.
 *   - a missing min is 0; a missing max is unlimited at that node, its ancestors still cap. For
 *     non-preemptible jobs a node that states neither does not bind that resource.
 *   - a child's max may exceed its parent's.
 *   - namespaces only on leaves, each in one leaf, names unique over the tree.
 *   - the root is called "root": another name is accepted with a warning and replaced.
 *   - lendlimit: a node counts upward as max(used, min - lendlimit); a resource that the lendlimit
 *     does not name may be lent whole.
 *
 * Belongs to one thread. Holds copies of all names; the spec may go once it is built.
 */
#include "quota-tree/quota_tree.h"

#define ELASTIC_MAX_DEPTH	QUOTA_MAX_DEPTH
#define ELASTIC_MAX_NODES	100000
#define ELASTIC_MAX_CHILDREN	10000 /* of one node */
#define ELASTIC_MAX_NAMESPACES	10000 /* of one leaf */
#define ELASTIC_MAX_NAME	253   /* bytes of a node's name; a label value holds 63 of them */
#define ELASTIC_MAX_PATH	1024  /* bytes of root/a/b */
#define ELASTIC_JOBS_RESOURCE	"kube-queue/max-jobs"
#define ELASTIC_REQUEST_AMOUNTS QUOTA_MAX_RESOURCES
#define ELASTIC_RECLAIM_PROTECT ((int64_t)120 * 1000000) /* us; where nothing is stated */

struct elastic_quantity {
	struct span resource;
	int64_t value;
};

struct elastic_list {
	const struct elastic_quantity *items;
	size_t len;
};

/* The first entry of a resource, borrowed; NULL when there is none. */
const struct elastic_quantity *elastic_list_get(const struct elastic_list *list,
						struct span resource);

/* spec.root and each of its children, as decoded. All spans borrowed. */
struct elastic_node_spec {
	struct span name;
	const struct span *namespaces;
	size_t n_namespaces;
	struct elastic_list min, max;
	struct elastic_list lendlimit; /* attribute alibabacloud.com/lendlimit */
	/* attribute preempt-policy, empty or PreemptLowerPriority: kept for the preemption part */
	struct span preempt_policy;
	/* The root's attributes reclaim-policy (empty, Never or ReclaimMin) and
	 * reclaim-protect-time, in microseconds: elastic_reclaim.h. Elsewhere they do nothing. */
	struct span reclaim_policy;
	bool has_reclaim_protect;
	int64_t reclaim_protect;
	const struct elastic_node_spec *children;
	size_t n_children;
};

struct elastic_options {
	int64_t oversell_permille; /* 0 means 1000 */
	bool max_binds_all;	   /* see quota_spec */
};

/* One thing wrong, or worth a warning. `field` is a path such as spec.root.children[2].min.cpu, or
 * ...min[nvidia.com/gpu]; `text` tells the rule and both numbers. */
struct elastic_problem {
	bool warning;
	char field[192];
	char text[320];
};

/* Caller-supplied, bounded: what does not fit is counted only. */
struct elastic_problems {
	struct elastic_problem *items;
	size_t max;
	size_t len;	 /* <= max */
	size_t n_errors; /* all found, also those dropped */
	size_t n_warnings;
};

struct elastic_tree;

/*
 * Validates the whole spec and collects every problem (may be NULL). 0 when there is no error
 * (warnings may be there), else ERR_INVALID with the first error's field and text in *reterr.
 */
int elastic_tree_validate(const struct elastic_node_spec *root, struct elastic_problems *problems,
			  struct err *reterr) MUST_CHECK;

/* Validates and compiles. As elastic_tree_validate, plus what quota_tree_create refuses. */
int elastic_tree_create(const struct elastic_node_spec *root, const struct elastic_options *options,
			struct elastic_problems *problems, struct elastic_tree **ret,
			struct err *reterr) MUST_CHECK;
struct elastic_tree *elastic_tree_destroy(struct elastic_tree *tree); /* accepts NULL */

/* The engine below, borrowed. Nodes are numbered in preorder, children in spec order, 0 is root. */
struct quota_tree *elastic_tree_quota(struct elastic_tree *tree);
const struct quota_tree *elastic_tree_quota_const(const struct elastic_tree *tree);

/* Node by short name or full path (root/a/b): a label's value. -ENOENT. */
int elastic_tree_find(const struct elastic_tree *tree, struct span name, uint32_t *ret) MUST_CHECK;
/* Leaf that owns the namespace. -ENOENT. */
int elastic_tree_find_namespace(const struct elastic_tree *tree, struct span ns,
				uint32_t *ret) MUST_CHECK;
/*
 * A job's node: label quota.scheduling.alibabacloud.com/name, else
 * quota.scheduling.koordinator.sh/name, else its namespace (pass SPAN_NONE for an absent label; a
 * label that is there decides, even when no node has that name). ERR_NOT_FOUND with "the job
 * doesn't belong to any elastic quota".
 */
int elastic_tree_resolve(const struct elastic_tree *tree, struct span alibabacloud_label,
			 struct span koordinator_label, struct span ns, uint32_t *ret,
			 struct err *reterr) MUST_CHECK;

/* Names of a node; borrowed, NUL-terminated, live with the tree. */
struct span elastic_tree_name(const struct elastic_tree *tree, uint32_t node);
struct span elastic_tree_path(const struct elastic_tree *tree, uint32_t node);
size_t elastic_tree_n_namespaces(const struct elastic_tree *tree, uint32_t node);
struct span elastic_tree_namespace(const struct elastic_tree *tree, uint32_t node, size_t i);
bool elastic_tree_preempts_lower(const struct elastic_tree *tree, uint32_t node);
/* Whether owners take back their min from those who borrowed it (reclaim-policy: ReclaimMin), and
 * for how long after its admission a job is spared, microseconds. */
bool elastic_tree_reclaims(const struct elastic_tree *tree);
int64_t elastic_tree_reclaim_protect(const struct elastic_tree *tree);
/* The subtree of a node is [node, end): preorder. */
uint32_t elastic_tree_subtree_end(const struct elastic_tree *tree, uint32_t node);
/* Index of ELASTIC_JOBS_RESOURCE. */
uint32_t elastic_tree_jobs_resource(const struct elastic_tree *tree);

/*
 * What a job asks of this tree: its resource list with the names resolved (equal names are summed,
 * those that the tree does not name are dropped) and one job. Writes at most
 * ELASTIC_REQUEST_AMOUNTS entries to `amounts`. ERR_INVALID with the resource as field: negative,
 * or the sum leaves int64.
 */
int elastic_tree_request(const struct elastic_tree *tree, const struct elastic_quantity *items,
			 size_t n_items, struct quota_amount *amounts, size_t *ret_n,
			 struct err *reterr) MUST_CHECK;

#endif
