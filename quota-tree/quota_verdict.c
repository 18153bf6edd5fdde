/*
 * What a refusal says, the answer of every node on a path, and the engine's check of itself.
 */
#include "base/num.h"
#include "quota-tree/quota_node.h"
#include <assert.h>

/* What reaches `node` of `asked` at `from` when nothing is charged anywhere: all floors on the way
 * still absorb. */
static int64_t arrives_when_empty(const struct quota_tree *t, uint32_t from, uint32_t node,
				  uint32_t resource, int64_t asked)
{
	for (uint32_t at = from; at != node; at = t->parents[at])
		asked = num_max(0, asked - quota_node_local(t, at, resource));
	return asked;
}

struct quota_verdict quota_node_judge(const struct quota_tree *t, uint32_t from, uint32_t node,
				      uint32_t resource, int64_t asked, int64_t arrives,
				      bool nonpreemptible)
{
	const struct quota_cell *c = &quota_node_cells(t, node)[resource];
	const struct quota_cold *cold = &quota_node_colds(t, node)[resource];
	bool by_firm = nonpreemptible && cold->firm_limit != QUOTA_UNLIMITED;
	struct quota_verdict v = {
	    .node = node,
	    .resource = resource,
	    .request = arrives,
	    .limit = quota_node_scale(t, cold->max),
	    .used = quota_node_used(t, node, resource),
	    .counted = num_add_sat(c->usage, cold->reserved),
	};
	int64_t first = arrives_when_empty(t, from, node, resource, asked);
	v.never = (by_firm && asked > cold->firm_limit) ||
		  ((!by_firm || t->max_binds_all) && first > 0 && first > c->limit);
	struct quota_verdict firm = v;
	firm.request = asked;
	firm.limit = cold->firm_limit;
	firm.used = firm.counted = cold->nonpreemptible_used;

	if (asked > INT64_MAX - v.used) {
		v.reason = QUOTA_OVERFLOW;
		v.limit = INT64_MAX;
		v.request = asked;
		return v;
	}
	if (by_firm && asked > firm.limit - firm.counted) {
		firm.reason = QUOTA_OVER_FIRM;
		return firm;
	}
	if (by_firm && !t->max_binds_all)
		return firm;
	if (arrives > 0 && arrives > c->limit - c->usage)
		v.reason = QUOTA_OVER_MAX;
	return v;
}

/* Whether a stands worse than b: refused for ever, refused, then the fuller by share of its limit.
 */
static bool is_worse(const struct quota_verdict *a, const struct quota_verdict *b)
{
	if (a->never != b->never)
		return a->never;
	if ((a->reason != QUOTA_FITS) != (b->reason != QUOTA_FITS))
		return a->reason != QUOTA_FITS;
	if ((a->limit == QUOTA_UNLIMITED) != (b->limit == QUOTA_UNLIMITED))
		return b->limit == QUOTA_UNLIMITED;
	__int128 full_a = (__int128)a->counted + a->request;
	__int128 full_b = (__int128)b->counted + b->request;
	if (a->limit == 0 || b->limit == 0)
		return a->limit == 0 && b->limit != 0;
	/* a/limit_a > b/limit_b, multiplied out: below 2^64 x 2^63 each. */
	return full_a * b->limit > full_b * a->limit;
}

size_t quota_tree_explain(const struct quota_tree *t, uint32_t node,
			  const struct quota_request *req, struct quota_verdict *out, size_t max)
{
	assert(node < t->n_nodes);
	size_t n = quota_node_amounts(t, req), depth = 0;
	int64_t up[QUOTA_MAX_RESOURCES];
	for (size_t i = 0; i < n; i++)
		up[i] = req->amounts[i].value;
	for (uint32_t at = node; at != QUOTA_NO_NODE; at = t->parents[at], depth++) {
		struct quota_verdict worst = {.node = at, .resource = QUOTA_NO_RESOURCE};
		for (size_t i = 0; i < n; i++) {
			uint32_t r = req->amounts[i].resource;
			struct quota_verdict v = quota_node_judge(
			    t, node, at, r, req->amounts[i].value, up[i], req->nonpreemptible);
			if (i == 0 || is_worse(&v, &worst))
				worst = v;
			const struct quota_cell *c = &quota_node_cells(t, at)[r];
			/* A refused charge moves up as if it were made, unless even that overflows.
			 */
			if (up[i] <= INT64_MAX - c->usage)
				up[i] = quota_cell_up(c->usage, quota_node_local(t, at, r), up[i]);
		}
		if (depth < max)
			out[depth] = worst;
	}
	return depth;
}

/* own(n) is used(n) less what the children used; everything else follows from it. */
static int check_resource(const struct quota_tree *t, uint32_t r, int64_t *own, int64_t *usage,
			  struct err *reterr)
{
	for (uint32_t n = 0; n < t->n_nodes; n++)
		own[n] = quota_node_used(t, n, r);
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		if (t->parents[n] != QUOTA_NO_NODE &&
		    num_sub_overflows(own[t->parents[n]], quota_node_used(t, n, r),
				      &own[t->parents[n]]))
			return err_set(reterr, ERR_INTERNAL, "%s of node %u: sum of children",
				       t->names[r], t->parents[n]);
	}
	memcpy(usage, own, t->n_nodes * sizeof(*usage));
	for (uint32_t n = t->n_nodes; n-- > 0;) {
		const struct quota_cell *c = &quota_node_cells(t, n)[r];
		const struct quota_cold *cold = &quota_node_colds(t, n)[r];
		int64_t used = quota_node_used(t, n, r);
		if (own[n] < 0 || c->usage != usage[n] || c->usage < 0 || used < c->usage ||
		    cold->nonpreemptible_used < 0 || cold->nonpreemptible_used > used)
			return err_set(
			    reterr, ERR_INTERNAL,
			    "%s of node %u: usage %lld is not %lld (own %lld, used %lld)",
			    t->names[r], n, (long long)c->usage, (long long)usage[n],
			    (long long)own[n], (long long)used);
		if (t->parents[n] != QUOTA_NO_NODE)
			usage[t->parents[n]] += num_max(0, c->usage - quota_node_local(t, n, r));
	}
	return 0;
}

int quota_tree_check(const struct quota_tree *t, struct err *reterr)
{
	int64_t *own = xcalloc(t->n_nodes, sizeof(*own));
	int64_t *usage = xcalloc(t->n_nodes, sizeof(*usage));
	int result = 0;
	for (uint32_t r = 0; r < t->n_resources && result == 0; r++)
		result = check_resource(t, r, own, usage, reterr);
	free(own);
	free(usage);
	return result;
}
