#include "policies/placement_score.h"

static const enum verdict_code code_of_misfit[FIT_REASON_MAX] = {
    [FIT_OK] = VERDICT_FITS,
    [FIT_INSUFFICIENT_FREE] = VERDICT_INSUFFICIENT_FREE,
    [FIT_FRAGMENTED] = VERDICT_GANG_FRAGMENTED,
    [FIT_TOO_SMALL] = VERDICT_TOO_SMALL,
    [FIT_AFFINITY_MISMATCH] = VERDICT_NODE_AFFINITY,
    [FIT_TAINTED] = VERDICT_NODE_TAINTED,
    [FIT_UNSCHEDULABLE] = VERDICT_NODES_UNAVAILABLE,
    [FIT_NO_NODES] = VERDICT_NO_NODES,
};

/* The exclusion that lasts longest. */
static const struct placement_exclusion *exclusion_of(const struct placement_exclusion *x, size_t n,
						      uint32_t cluster, int64_t now_us)
{
	const struct placement_exclusion *longest = NULL;

	for (size_t i = 0; i < n; i++)
		if (x[i].cluster == cluster && now_us < x[i].until_us &&
		    (!longest || x[i].until_us > longest->until_us))
			longest = &x[i];
	return longest;
}

static void add_facts(const struct fleet *f, const struct ask *a, struct verdict *v)
{
	const struct cluster_spec *c = &f->clusters[v->cluster].spec;

	if (v->code == VERDICT_NOT_READY)
		v->since_us = c->ready_since_us;
	if (v->code == VERDICT_STALE)
		v->since_us = c->fresh_since_us;
	if (v->code == VERDICT_CONFLICT || v->code == VERDICT_FAILED_THERE)
		v->why = placement_refused(&a->placement, c->name)->why;
	if (v->code == VERDICT_TAINTED)
		v->taint = *toleration_first_untolerated(
		    c->taints, c->n_taints, a->placement.tolerations, a->placement.n_tolerations);
}

/* The verdict of one cluster as if it were alone, and its score when the gang fits there. */
static uint64_t judge(struct placer *p, struct ask *a, const struct placement_exclusion *excluded,
		      size_t n_excluded, int64_t now_us, uint32_t cluster, struct verdict *v)
{
	struct fit_result fit;
	enum fit_mode mode = placement_mode(p->f, a, cluster);

	*v = (struct verdict){
	    .cluster = cluster,
	    .better = CLUSTER_NONE,
	    .shape = a->shape,
	    .api_version = a->kind.api_version,
	    .kind = a->kind.kind,
	};
	v->code = placement_candidate(p->f, a, cluster, &v->group);
	add_facts(p->f, a, v);
	if (v->code != VERDICT_FITS)
		return SCORE_NONE;
	if (!fit_gang(p->f, cluster, a->shape, mode, &fit)) {
		fit_explain(p->f, cluster, a->shape, mode, &v->fit);
		v->code = code_of_misfit[v->fit.reason];
		return SCORE_NONE;
	}
	const struct placement_exclusion *x = exclusion_of(excluded, n_excluded, cluster, now_us);
	if (x) {
		v->until_us = x->until_us;
		v->code = x->reserved ? VERDICT_RESERVED : VERDICT_BACKOFF;
		return SCORE_NONE;
	}
	return placement_score(p->f, a, cluster, v->group, true);
}

size_t placement_explain(struct placer *p, struct ask *a,
			 const struct placement_exclusion *excluded, size_t n_excluded,
			 int64_t now_us, struct verdict *verdicts, size_t cap)
{
	uint32_t n = cluster_view_count(p->f);
	uint64_t best = SCORE_NONE;
	struct VEC(uint64_t) scores = {0};

	for (uint32_t i = 0; i < n; i++) {
		struct verdict v;
		uint64_t score =
		    judge(p, a, excluded, n_excluded, now_us, cluster_view_by_name(p->f, i), &v);
		if (i < cap)
			verdicts[i] = v;
		vec_push(&scores, score);
		best = score < best ? score : best;
	}
	for (uint32_t i = 0; i < n && i < cap; i++) {
		if (scores.items[i] == SCORE_NONE || scores.items[i] == best)
			continue;
		verdicts[i].code = VERDICT_LOWER_SCORE;
		verdicts[i].better = p->f->by_name[best & ((1u << SCORE_RANK) - 1)];
		verdicts[i].better_by = placement_score_reason(best, scores.items[i]);
	}
	vec_done(&scores);
	return n;
}

bool placement_never_fits(const struct verdict *verdicts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!verdict_is_never(verdicts[i].code))
			return false;
	return n > 0;
}
