#ifndef QUOTA_TREE_QUOTA_NODE_H
#define QUOTA_TREE_QUOTA_NODE_H
/*
 * The memory of a quota tree, shared by the files that build it (quota_build.c), change it
 * (quota_tree.c) and explain it (quota_verdict.c). Private to the engine.
 *
 * Rows are node-major and start on cache lines: up to four resources of a node are one line, and a
 * walk to the root touches one line per level. Where no node has a floor, usage is used and nothing
 * is local: the second array does not exist then. What only verdicts and non-preemptible requests
 * read is apart.
 */
#include "quota-tree/quota_tree.h"

#define QUOTA_LINE_BYTES 64

struct quota_cell {
	int64_t usage; /* counted - reserved */
	int64_t limit; /* max x oversell - reserved, at least -1; QUOTA_UNLIMITED */
};

struct quota_lend {
	int64_t local; /* of usage, the part that the parent does not see */
	int64_t used;
};

struct quota_cold {
	int64_t nominal;
	int64_t max;	    /* QUOTA_UNLIMITED */
	int64_t firm;	    /* QUOTA_UNLIMITED */
	int64_t firm_limit; /* firm x oversell */
	int64_t reserved;   /* floors held below while nothing runs */
	int64_t floor;
	int64_t nonpreemptible_used;
	bool stated;
};

struct quota_tree {
	uint32_t n_nodes;
	uint32_t n_resources;
	uint32_t *parents;
	uint8_t *depths;
	uint8_t *inner;		  /* 1: has children */
	uint32_t stride;	  /* cells of a row, n_resources and padding */
	struct quota_cell *cells; /* n_nodes x stride, aligned */
	struct quota_lend *lends; /* n_nodes x n_resources, NULL without floors */
	struct quota_cold *colds; /* n_nodes x n_resources */
	char **names;		  /* of the resources */
	int64_t oversell_permille;
	bool max_binds_all;
};

static inline struct quota_cell *quota_node_cells(const struct quota_tree *t, uint32_t node)
{
	return t->cells + (size_t)node * t->stride;
}

static inline struct quota_lend *quota_node_lends(const struct quota_tree *t, uint32_t node)
{
	return t->lends ? t->lends + (size_t)node * t->n_resources : NULL;
}

static inline struct quota_cold *quota_node_colds(const struct quota_tree *t, uint32_t node)
{
	return t->colds + (size_t)node * t->n_resources;
}

static inline int64_t quota_node_used(const struct quota_tree *t, uint32_t node, uint32_t r)
{
	const struct quota_lend *lends = quota_node_lends(t, node);
	return lends ? lends[r].used : quota_node_cells(t, node)[r].usage;
}

static inline int64_t quota_node_local(const struct quota_tree *t, uint32_t node, uint32_t r)
{
	const struct quota_lend *lends = quota_node_lends(t, node);
	return lends ? lends[r].local : 0;
}

/* What of d more (or less) at a cell its parent sees. No overflow: usage + d was checked. */
static inline int64_t quota_cell_up(int64_t usage, int64_t local, int64_t d)
{
	int64_t before = usage > local ? usage - local : 0;
	int64_t after = usage + d > local ? usage + d - local : 0;
	return after - before;
}

/* Max times the oversell rate, rounded down; stays unlimited. */
int64_t quota_node_scale(const struct quota_tree *t, int64_t value);

/* Number of amounts that name a resource of the tree; asserts that the list is well formed. */
size_t quota_node_amounts(const struct quota_tree *t, const struct quota_request *req);

/* The verdict of `node` on one resource of a request that entered at `from`; `arrives` is what
 * reaches the node, `asked` what was asked below. */
struct quota_verdict quota_node_judge(const struct quota_tree *t, uint32_t from, uint32_t node,
				      uint32_t resource, int64_t asked, int64_t arrives,
				      bool nonpreemptible);

#endif
