#ifndef QUOTA_TREE_ELASTIC_CHECK_H
#define QUOTA_TREE_ELASTIC_CHECK_H
/*
 * The rules of an ElasticQuotaTree (elastic_tree.h tells which), and its nodes in preorder.
 * Private to elastic_tree.c, which puts the public names on it.
 */
#include "quota-tree/elastic_tree.h"

#define ELASTIC_PREEMPT_LOWER "PreemptLowerPriority"
#define ELASTIC_RECLAIM_MIN   "ReclaimMin"

struct elastic_flat {
	const struct elastic_node_spec *spec;
	uint32_t parent; /* QUOTA_NO_NODE for the root */
	uint32_t place;	 /* among its parent's children */
	uint32_t depth;	 /* a root's is 1 */
};

/* 0: no error, and *ret_flat (owned, free()) holds the nodes. Else as elastic_tree_validate;
 * *ret_flat is untouched. */
int elastic_check(const struct elastic_node_spec *root, struct elastic_problems *problems,
		  struct elastic_flat **ret_flat, size_t *ret_n, struct err *reterr) MUST_CHECK;

#endif
