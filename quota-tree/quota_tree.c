/*
 * Test, charge, release: one walk to the root each. A charge is a test and then an apply, so that
 * it is all or nothing; the apply recomputes what moves up from the same cells, which are in the
 * cache by then.
 */
#include "quota-tree/quota_tree.h"
#include "base/num.h"
#include "quota-tree/quota_node.h"
#include <assert.h>
#include <errno.h>

size_t quota_node_amounts(const struct quota_tree *t, const struct quota_request *req)
{
	size_t n = 0;
	for (size_t i = 0; i < req->n_amounts; i++) {
		assert(req->amounts[i].value > 0);
		assert(i == 0 || req->amounts[i - 1].resource < req->amounts[i].resource);
		n += req->amounts[i].resource < t->n_resources;
	}
	return n;
}

int quota_amount_add(struct quota_amount *amounts, size_t *n, size_t max, uint32_t resource,
		     int64_t value, struct err *reterr)
{
	if (value < 0)
		return err_set(reterr, ERR_INVALID, "a request must not be negative");
	size_t at = 0;
	while (at < *n && amounts[at].resource < resource)
		at++;
	if (value == 0)
		return 0;
	if (at < *n && amounts[at].resource == resource) {
		if (num_add_overflows(amounts[at].value, value, &amounts[at].value))
			return err_set(reterr, ERR_INVALID, "the sum of the request is too large");
		return 0;
	}
	if (*n >= max)
		return err_set(reterr, ERR_TOO_LARGE, "more than %zu resources in one request",
			       max);
	memmove(amounts + at + 1, amounts + at, (*n - at) * sizeof(*amounts));
	amounts[at] = (struct quota_amount){resource, value};
	(*n)++;
	return 0;
}

/* Whether one cell refuses d more of a request that asks `asked` below it. */
static inline bool cell_refuses(const struct quota_tree *t, const struct quota_cell *c,
				int64_t used, const struct quota_cold *cold, int64_t asked,
				int64_t d, bool nonpreemptible)
{
	if (asked > INT64_MAX - used)
		return true;
	if (nonpreemptible && cold->firm_limit != QUOTA_UNLIMITED) {
		if (asked > cold->firm_limit - cold->nonpreemptible_used)
			return true;
		if (!t->max_binds_all)
			return false;
	}
	return d > 0 && d > c->limit - c->usage;
}

/* The nodes from `node` to its root. Their rows are asked for before the first is needed: in a
 * large tree the walk would otherwise wait for memory once a level. */
static inline size_t walk(const struct quota_tree *t, uint32_t node, uint32_t *path)
{
	size_t depth = 0;
	for (; node != QUOTA_NO_NODE; node = t->parents[node]) {
		__builtin_prefetch(quota_node_cells(t, node), 1);
		path[depth++] = node;
	}
	return depth;
}

/* The common case, no floors and preemptible: usage is used, and what stays below a limit stays
 * below INT64_MAX, so that one comparison says all. False: look closer. */
static bool fits_plainly(const struct quota_tree *t, const uint32_t *path, size_t depth,
			 const struct quota_request *req, size_t n)
{
	for (size_t k = 0; k < depth; k++) {
		const struct quota_cell *cells = quota_node_cells(t, path[k]);
		for (size_t i = 0; i < n; i++) {
			const struct quota_cell *c = &cells[req->amounts[i].resource];
			if (req->amounts[i].value > c->limit - c->usage)
				return false;
		}
	}
	return true;
}

static bool test_path(const struct quota_tree *t, const uint32_t *path, size_t depth,
		      const struct quota_request *req, size_t n, struct quota_verdict *ret_verdict)
{
	if (!t->lends && !req->nonpreemptible && fits_plainly(t, path, depth, req, n))
		return true;
	int64_t up[QUOTA_MAX_RESOURCES];
	for (size_t i = 0; i < n; i++)
		up[i] = req->amounts[i].value;
	for (size_t k = 0; k < depth; k++) {
		const struct quota_cell *cells = quota_node_cells(t, path[k]);
		const struct quota_lend *lends = quota_node_lends(t, path[k]);
		const struct quota_cold *colds = quota_node_colds(t, path[k]);
		for (size_t i = 0; i < n; i++) {
			uint32_t r = req->amounts[i].resource;
			int64_t asked = req->amounts[i].value;
			const struct quota_cell *c = &cells[r];
			if (cell_refuses(t, c, lends ? lends[r].used : c->usage, &colds[r], asked,
					 up[i], req->nonpreemptible)) {
				if (ret_verdict)
					*ret_verdict =
					    quota_node_judge(t, path[0], path[k], r, asked, up[i],
							     req->nonpreemptible);
				return false;
			}
			if (lends)
				up[i] = quota_cell_up(c->usage, lends[r].local, up[i]);
		}
	}
	return true;
}

bool quota_tree_test(const struct quota_tree *t, uint32_t node, const struct quota_request *req,
		     struct quota_verdict *ret_verdict)
{
	assert(node < t->n_nodes);
	uint32_t path[QUOTA_MAX_DEPTH];
	size_t depth = walk(t, node, path);
	return test_path(t, path, depth, req, quota_node_amounts(t, req), ret_verdict);
}

/* Moves a checked charge (sign 1) or release (sign -1) along the path. */
static void apply(struct quota_tree *t, const uint32_t *path, size_t depth,
		  const struct quota_request *req, size_t n, int64_t sign)
{
	int64_t up[QUOTA_MAX_RESOURCES];
	for (size_t i = 0; i < n; i++)
		up[i] = sign * req->amounts[i].value;
	for (size_t k = 0; k < depth; k++) {
		struct quota_cell *cells = quota_node_cells(t, path[k]);
		struct quota_lend *lends = quota_node_lends(t, path[k]);
		for (size_t i = 0; i < n; i++) {
			uint32_t r = req->amounts[i].resource;
			struct quota_cell *c = &cells[r];
			int64_t d = up[i];
			if (lends) {
				up[i] = quota_cell_up(c->usage, lends[r].local, d);
				lends[r].used += sign * req->amounts[i].value;
			}
			c->usage += d;
			assert(c->usage >= 0 && (!lends || lends[r].used >= c->usage));
		}
		if (!req->nonpreemptible)
			continue;
		struct quota_cold *colds = quota_node_colds(t, path[k]);
		for (size_t i = 0; i < n; i++) {
			struct quota_cold *cold = &colds[req->amounts[i].resource];
			cold->nonpreemptible_used += sign * req->amounts[i].value;
			assert(cold->nonpreemptible_used >= 0);
		}
	}
}

int quota_tree_charge(struct quota_tree *t, uint32_t node, const struct quota_request *req,
		      struct quota_verdict *ret_verdict)
{
	assert(node < t->n_nodes);
	uint32_t path[QUOTA_MAX_DEPTH];
	size_t depth = walk(t, node, path), n = quota_node_amounts(t, req);
	if (!test_path(t, path, depth, req, n, ret_verdict))
		return -EDQUOT;
	apply(t, path, depth, req, n, 1);
	return 0;
}

int quota_tree_charge_forced(struct quota_tree *t, uint32_t node, const struct quota_request *req)
{
	assert(node < t->n_nodes);
	uint32_t path[QUOTA_MAX_DEPTH];
	size_t depth = walk(t, node, path), n = quota_node_amounts(t, req);
	for (size_t i = 0; i < n; i++) {
		/* Nothing below the root has more used than the root. */
		int64_t used = quota_node_used(t, path[depth - 1], req->amounts[i].resource);
		if (req->amounts[i].value > INT64_MAX - used)
			return -EOVERFLOW;
	}
	apply(t, path, depth, req, n, 1);
	return 0;
}

void quota_tree_release(struct quota_tree *t, uint32_t node, const struct quota_request *req)
{
	assert(node < t->n_nodes);
	uint32_t path[QUOTA_MAX_DEPTH];
	size_t depth = walk(t, node, path);
	apply(t, path, depth, req, quota_node_amounts(t, req), -1);
}

int64_t quota_tree_room(const struct quota_tree *t, uint32_t node, uint32_t resource, bool firm)
{
	assert(node < t->n_nodes && resource < t->n_resources);
	if (firm) {
		const struct quota_cold *cold = &quota_node_colds(t, node)[resource];
		if (cold->firm_limit == QUOTA_UNLIMITED)
			return QUOTA_UNLIMITED;
		return cold->firm_limit - cold->nonpreemptible_used;
	}
	const struct quota_cell *c = &quota_node_cells(t, node)[resource];
	return c->limit == QUOTA_UNLIMITED ? QUOTA_UNLIMITED : c->limit - c->usage;
}

int64_t quota_tree_local(const struct quota_tree *t, uint32_t node, uint32_t resource)
{
	assert(node < t->n_nodes && resource < t->n_resources);
	return quota_node_local(t, node, resource);
}

int64_t quota_tree_headroom(const struct quota_tree *t, uint32_t node, uint32_t resource)
{
	assert(node < t->n_nodes && resource < t->n_resources);
	uint32_t path[QUOTA_MAX_DEPTH];
	size_t n = walk(t, node, path);
	int64_t used_at_root = quota_node_used(t, path[n - 1], resource);
	int64_t room = INT64_MAX;
	/* Down from the root: what the parent still takes, and before it what is held here alone.
	 */
	for (size_t i = n; i-- > 0;) {
		const struct quota_cell *c = &quota_node_cells(t, path[i])[resource];
		int64_t local = quota_node_local(t, path[i], resource);
		int64_t held = local > c->usage ? local - c->usage : 0;
		room = num_min(num_add_sat(held, room), c->limit - c->usage);
		room = num_max(room, 0);
	}
	return num_min(room, INT64_MAX - used_at_root);
}

void quota_tree_get(const struct quota_tree *t, uint32_t node, uint32_t resource,
		    struct quota_state *ret)
{
	assert(node < t->n_nodes && resource < t->n_resources);
	const struct quota_cell *c = &quota_node_cells(t, node)[resource];
	const struct quota_cold *cold = &quota_node_colds(t, node)[resource];
	*ret = (struct quota_state){
	    .stated = cold->stated,
	    .nominal = cold->nominal,
	    .nominal_oversold = quota_node_scale(t, cold->nominal),
	    .max = cold->max,
	    .max_oversold = quota_node_scale(t, cold->max),
	    .firm = cold->firm,
	    .floor = cold->floor,
	    .used = quota_node_used(t, node, resource),
	    .counted = num_add_sat(c->usage, cold->reserved),
	    .nonpreemptible_used = cold->nonpreemptible_used,
	};
}
