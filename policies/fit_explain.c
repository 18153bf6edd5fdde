#include "policies/fit.h"

#include "base/num.h"
#include "policies/cluster_nodes.h"
#include "policies/fit_levels.h"
#include "policies/fit_scratch.h"
#include "policies/fit_sets.h"
#include "policies/fit_topology.h"
#include "policies/holes.h"
#include "policies/node_state.h"
#include "policies/row.h"

/* What the nodes of a cluster are to one row. Nodes that are cordoned or not ready may come back:
 * they count in `total` and `whole`, not in `free`. */
struct survey {
	uint32_t known, match, tainted, off;
	struct taint taint;
	int64_t free[RESOURCE_MAX], free_node[RESOURCE_MAX];   /* sum; most on one node */
	int64_t total[RESOURCE_MAX], total_node[RESOURCE_MAX]; /* the same of allocatable */
	int64_t whole; /* pods that would fit if nodes were empty */
};

static void survey_node(const struct fleet *f, const struct cluster *k, uint32_t node,
			const struct row *r, struct survey *s)
{
	uint32_t state = k->spots[node].state;
	const struct node_class *c = &f->classes[f->states[state].node_class];
	const int64_t *all = k->allocatable + (size_t)node * f->stride;
	const int64_t *free = node_state_free(f, state);

	s->off += !c->usable;
	s->whole += row_pods(r, all);
	for (uint32_t j = 0; j < f->stride; j++) {
		s->total[j] += all[j];
		s->total_node[j] = num_max(s->total_node[j], all[j]);
		if (!c->usable)
			continue;
		s->free[j] += cluster_nodes_positive(free[j]);
		s->free_node[j] = num_max(s->free_node[j], free[j]);
	}
}

static void survey_nodes(const struct fleet *f, const struct cluster *k, const struct row *r,
			 struct survey *s)
{
	*s = (struct survey){0};
	for (uint32_t i = 0; i < k->n_nodes; i++) {
		if (k->spots[i].state == STATE_NONE || !k->nodes[i].known)
			continue;
		const struct node_class *c = &f->classes[f->states[k->spots[i].state].node_class];
		s->known++;
		if (!row_matches_labels(r, c))
			continue;
		s->match++;
		const struct taint *taint = row_untolerated(r, c);
		if (taint) {
			s->tainted++;
			s->taint = *taint;
			continue;
		}
		survey_node(f, k, i, r, s);
	}
}

static void put_survey(const struct survey *s, struct fit_misfit *ret)
{
	ret->nodes_match = s->match;
	ret->nodes_tainted = s->tainted;
	ret->nodes_off = s->off;
	ret->taint = s->taint;
}

/* The resource that is shortest, as a share of what is needed; UINT32_MAX when none is. */
static uint32_t shortest(const struct shape_part *p, const int64_t *have)
{
	uint32_t worst = UINT32_MAX;
	int64_t worst_have = 1, worst_need = 0;

	for (uint32_t i = 0; i < p->row->n_requests; i++) {
		uint32_t res = p->row->resource[i];
		int64_t need = num_mul_sat(p->row->amount[i], p->count);
		if (have[res] >= need)
			continue;
		/* have / need < worst_have / worst_need, or the same and a device */
		__int128 a = (__int128)have[res] * worst_need, b = (__int128)worst_have * need;
		if (worst == UINT32_MAX || a < b || (a == b && p->row->extended >> res & 1)) {
			worst = res;
			worst_have = have[res];
			worst_need = need;
		}
	}
	return worst;
}

static int64_t asked(const struct row *r, uint32_t res)
{
	for (uint32_t i = 0; i < r->n_requests; i++)
		if (r->resource[i] == res)
			return r->amount[i];
	return 0;
}

/* The resource that lets fewest pods onto the node that has most of it; devices win ties. */
static uint32_t tightest(const struct row *r, const int64_t *most_on_node)
{
	uint32_t best = r->resource[0];
	int64_t best_pods = INT64_MAX;

	for (uint32_t i = 0; i < r->n_requests; i++) {
		uint32_t res = r->resource[i];
		int64_t pods = num_max(most_on_node[res], 0) / r->amount[i];
		if (pods < best_pods || (pods == best_pods && r->extended >> res & 1)) {
			best = res;
			best_pods = pods;
		}
	}
	return best;
}

static void put_amounts(const struct shape_part *p, const struct survey *s, uint32_t res,
			struct fit_misfit *ret)
{
	ret->resource = res;
	ret->per_pod = asked(p->row, res);
	ret->need = num_mul_sat(ret->per_pod, p->count);
	ret->free = s->free[res];
	ret->total = s->total[res];
	ret->largest_node = ret->reason == FIT_TOO_SMALL ? s->total_node[res] : s->free_node[res];
}

/* Enough in sum, so pods are what can be counted. */
static void put_pods(const struct shape_part *p, const struct survey *s, struct fit_misfit *ret)
{
	const int64_t *most = ret->reason == FIT_TOO_SMALL ? s->total_node : s->free_node;

	ret->in_pods = true;
	ret->resource = tightest(p->row, most);
	ret->per_pod = asked(p->row, ret->resource);
	ret->largest_node = num_max(most[ret->resource], 0);
	ret->need = p->count;
	ret->free = ret->largest;
	ret->total = s->whole;
}

/* One part alone: true when it is the reason. */
static bool explain_part(struct fleet *f, uint32_t cluster, const struct shape_part *p,
			 struct fit_misfit *ret)
{
	struct survey s;
	uint32_t holes[LEVELS], res = UINT32_MAX;

	holes_count(f, cluster, p->row, holes);
	ret->largest = holes_sum(holes);
	if (ret->largest >= p->count)
		return false;
	survey_nodes(f, &f->clusters[cluster], p->row, &s);
	put_survey(&s, ret);
	if (s.known == 0) {
		ret->reason = FIT_NO_NODES;
	} else if (s.match == 0) {
		ret->reason = FIT_AFFINITY_MISMATCH;
	} else if (s.tainted == s.match) {
		ret->reason = FIT_TAINTED;
	} else if (s.whole < p->count) {
		ret->reason = FIT_TOO_SMALL;
		res = shortest(p, s.total);
	} else if (s.off + s.tainted == s.match) {
		ret->reason = FIT_UNSCHEDULABLE;
	} else {
		res = shortest(p, s.free);
		ret->reason = res == UINT32_MAX ? FIT_FRAGMENTED : FIT_INSUFFICIENT_FREE;
	}
	if (res != UINT32_MAX)
		put_amounts(p, &s, res, ret);
	else
		put_pods(p, &s, ret);
	return true;
}

static uint32_t set_of_part(const struct shape *shape, uint32_t part)
{
	for (uint32_t set = 0; set < shape->spec.n_sets; set++)
		if (shape->part_of_set[set] == part)
			return set;
	return FIT_WHOLE_GANG;
}

/* Sums over the whole gang: true when some resource is short. */
static bool explain_sum(const struct fleet *f, uint32_t cluster, const struct shape *shape,
			bool with_unplaced, struct fit_misfit *ret)
{
	const struct cluster *k = &f->clusters[cluster];

	for (uint32_t i = 0; i < shape->n_need; i++) {
		uint32_t res = shape->need[i].resource;
		int64_t need = shape->need[i].value;
		int64_t free = k->free_sum[res] - (with_unplaced ? k->unplaced_sum[res] : 0);
		if (need <= free)
			continue;
		ret->reason = k->n_known == 0		       ? FIT_NO_NODES
			      : need > k->allocatable_sum[res] ? FIT_TOO_SMALL
							       : FIT_INSUFFICIENT_FREE;
		ret->resource = res;
		ret->need = need;
		ret->free = num_max(free, 0);
		ret->total = k->allocatable_sum[res];
		return true;
	}
	return false;
}

/* Each kind of pod has room by itself, all together have not. */
static void explain_together(struct fleet *f, uint32_t cluster, const struct shape *shape,
			     struct fit_misfit *ret)
{
	uint32_t all;

	if (explain_sum(f, cluster, shape, false, ret))
		return;
	ret->reason = FIT_FRAGMENTED;
	ret->in_pods = true;
	ret->topology = shape->exclusive || shape->leveled;
	if (shape->leveled) {
		ret->set = fit_levels_misfit(f, cluster, shape, &ret->need, &ret->largest);
	} else if (shape->exclusive) {
		ret->largest = fit_topology_groups(f, cluster, shape, &all);
		ret->need = all;
	} else {
		ret->largest = fit_sets_pack_some(f, cluster, shape);
		ret->need = job_shape_pods(&shape->spec);
	}
	ret->free = ret->largest;
}

void fit_explain(struct fleet *f, uint32_t cluster, const struct shape *shape, enum fit_mode mode,
		 struct fit_misfit *ret)
{
	struct fit_result result;

	*ret = (struct fit_misfit){.resource = RESOURCE_MAX, .set = FIT_WHOLE_GANG};
	if (fit_gang(f, cluster, shape, mode, &result))
		return;
	if (mode == FIT_SUM) {
		explain_sum(f, cluster, shape, true, ret);
		return;
	}
	for (uint32_t p = 0; p < shape->n_parts; p++)
		if (explain_part(f, cluster, &shape->parts[p], ret)) {
			ret->set = set_of_part(shape, p);
			return;
		}
	*ret = (struct fit_misfit){.resource = RESOURCE_MAX, .set = FIT_WHOLE_GANG};
	explain_together(f, cluster, shape, ret);
}
