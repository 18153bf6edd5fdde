#include "policies/placement_score.h"

#include "base/num.h"
#include "policies/holes.h"

/* ---- candidates ---- */

static bool names_contain(const struct span *names, size_t n, struct span name)
{
	for (size_t i = 0; i < n; i++)
		if (span_eq(names[i], name))
			return true;
	return false;
}

/* A cluster has several zones: In wants one among the values, NotIn none (Karmada's reading). */
static bool zone_matches(const struct node_expr *e, const struct cluster_spec *c)
{
	bool any = false;

	for (size_t i = 0; i < c->n_zones; i++)
		any |= names_contain(e->values, e->n_values, c->zones[i]);
	return e->op == NODE_OP_NOT_IN ? !any : any;
}

static bool fields_match(const struct cluster_affinity *a, const struct cluster_spec *c)
{
	for (size_t i = 0; i < a->n_fields; i++) {
		const struct node_expr *e = &a->fields[i];
		const struct span *value = span_is(e->key, "provider") ? &c->provider : &c->region;

		if (span_is(e->key, "zone") ? !zone_matches(e, c)
					    : !label_match_expr(e, value->len ? value : NULL))
			return false;
	}
	return true;
}

static bool affinity_selects(const struct cluster_affinity *a, const struct cluster_spec *c)
{
	if (names_contain(a->exclude, a->n_exclude, c->name))
		return false;
	if (a->n_cluster_names && !names_contain(a->cluster_names, a->n_cluster_names, c->name))
		return false;
	if (a->has_labels && !label_match(&a->labels, c->labels, c->n_labels))
		return false;
	return fields_match(a, c);
}

/* The place among the clusters that the queue names. */
static bool find_place(const struct placement_spec *p, const struct cluster_spec *c, uint32_t *ret)
{
	for (uint32_t i = 0; i < p->n_only; i++)
		if (span_eq(p->only[i], c->name)) {
			*ret = i;
			return true;
		}
	return false;
}

static bool find_affinity(const struct placement_spec *p, const struct cluster_spec *c,
			  uint32_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < p->n_affinities; i++)
		if (affinity_selects(&p->affinities[i], c)) {
			*ret = i;
			return true;
		}
	return p->n_affinities == 0;
}

static bool find_group(const struct placement_spec *p, const struct cluster_spec *c, uint32_t *ret)
{
	return find_affinity(p, c, ret) && (!p->n_only || find_place(p, c, ret));
}

static bool serves(const struct cluster_spec *c, const struct api_kind *kind)
{
	if (!kind->kind.len)
		return true;
	for (size_t i = 0; i < c->n_kinds; i++)
		if (span_eq(c->kinds[i].kind, kind->kind) &&
		    span_eq(c->kinds[i].api_version, kind->api_version))
			return true;
	return false;
}

const struct placement_refusal *placement_refused(const struct placement_spec *p,
						  struct span cluster)
{
	for (size_t i = 0; i < p->n_refusals; i++)
		if (span_eq(p->refusals[i].cluster, cluster))
			return &p->refusals[i];
	return NULL;
}

enum verdict_code placement_candidate(const struct fleet *f, const struct ask *a, uint32_t cluster,
				      uint32_t *ret_group)
{
	const struct cluster_spec *c = &f->clusters[cluster].spec;

	if (!find_group(&a->placement, c, ret_group))
		return VERDICT_AFFINITY_MISMATCH;
	const struct placement_refusal *no = placement_refused(&a->placement, c->name);
	if (no && no->failed)
		return VERDICT_FAILED_THERE;
	if (!c->ready)
		return VERDICT_NOT_READY;
	if (!c->fresh)
		return VERDICT_STALE;
	if (c->cordoned)
		return VERDICT_CORDONED;
	if (toleration_first_untolerated(c->taints, c->n_taints, a->placement.tolerations,
					 a->placement.n_tolerations))
		return VERDICT_TAINTED;
	if (!serves(c, &a->kind))
		return VERDICT_API_MISSING;
	return no ? VERDICT_CONFLICT : VERDICT_FITS;
}

enum fit_mode placement_mode(const struct fleet *f, const struct ask *a, uint32_t cluster)
{
	return a->placement.sum_of_free || f->clusters[cluster].spec.sum_of_free ? FIT_SUM
										 : FIT_NODES;
}

/* ---- scores ---- */

#define SHIFT_LOAD  SCORE_RANK
#define SHIFT_LEFT  (SHIFT_LOAD + SCORE_LOAD)
#define SHIFT_LEVEL (SHIFT_LEFT + SCORE_LEFT)
#define SHIFT_GROUP (SHIFT_LEVEL + SCORE_LEVEL)

/* Pods of the largest kind that sums of free still have room for afterwards. */
static bool leftover_of_sums(const struct fleet *f, const struct shape *s, uint32_t cluster,
			     int64_t *ret)
{
	const struct cluster *k = &f->clusters[cluster];
	const struct row *r = s->parts[0].row;
	int64_t left = INT64_MAX;

	for (uint32_t i = 0; i < s->n_need; i++) {
		uint32_t res = s->need[i].resource;
		int64_t over = k->free_sum[res] - k->unplaced_sum[res] - s->need[i].value;
		if (over < 0)
			return false;
		for (uint32_t j = 0; j < r->n_requests; j++)
			if (r->resource[j] == res)
				left = num_min(left, over / r->amount[j]);
	}
	*ret = left;
	return true;
}

static inline const uint32_t *holes_for(const struct fleet *f, uint32_t cluster,
					const struct row *r, bool counted, uint32_t tmp[LEVELS])
{
	if (!counted)
		return holes_of(f, cluster, r, tmp);
	holes_count(f, cluster, r, tmp);
	return tmp;
}

/* The level of the last hole and the leftover, of the largest kind of pod; the others must fit. */
static bool look_at_holes(const struct fleet *f, const struct shape *s, uint32_t cluster,
			  bool counted, uint32_t *ret_level, int64_t *ret_left)
{
	uint32_t tmp[LEVELS];
	int64_t below;

	for (uint32_t p = 1; p < s->n_parts; p++)
		if (holes_sum(holes_for(f, cluster, s->parts[p].row, counted, tmp)) <
		    s->parts[p].count)
			return false;
	const uint32_t *h = holes_for(f, cluster, s->parts[0].row, counted, tmp);
	int64_t left = (int64_t)holes_sum(h) - s->parts[0].count;
	if (left < 0)
		return false;
	*ret_level = holes_level(h, s->parts[0].count, &below);
	*ret_left = left;
	return true;
}

uint64_t placement_score(struct fleet *f, const struct ask *a, uint32_t cluster, uint32_t group,
			 bool counted)
{
	const struct shape *s = a->shape;
	const int64_t most = ((int64_t)1 << SCORE_LEFT) - 1;
	uint32_t level = 0;
	int64_t left = 0;

	if (s->n_parts > 0) {
		bool could = placement_mode(f, a, cluster) == FIT_SUM
				 ? leftover_of_sums(f, s, cluster, &left)
				 : look_at_holes(f, s, cluster, counted, &level, &left);
		if (!could)
			return SCORE_NONE;
	}
	return (uint64_t)group << SHIFT_GROUP | (uint64_t)level << SHIFT_LEVEL |
	       (uint64_t)num_min(left, most) << SHIFT_LEFT |
	       (uint64_t)fleet_load(f, cluster) << SHIFT_LOAD | f->hot[cluster].rank;
}

enum verdict_better placement_score_reason(uint64_t winner, uint64_t other)
{
	uint64_t diff = winner ^ other;

	if (diff >> SHIFT_GROUP)
		return BETTER_GROUP;
	if (diff >> SHIFT_LEVEL)
		return BETTER_HOLES;
	if (diff >> SHIFT_LEFT)
		return BETTER_LEFTOVER;
	if (diff >> SHIFT_LOAD)
		return BETTER_LOAD;
	return BETTER_NAME;
}
