#include "policies/placement.h"

#include "policies/placement_score.h"

enum { EXCLUSIONS_MAX = 64 };

bool placement_is_excluded(const struct placement_exclusion *excluded, size_t n, uint32_t cluster,
			   int64_t now_us)
{
	for (size_t i = 0; i < n; i++)
		if (excluded[i].cluster == cluster && now_us < excluded[i].until_us)
			return true;
	return false;
}

/* Takes excluded clusters out of the tree for one decision. */
static void exclude(struct placer *p, struct ask *a, const struct placement_exclusion *x, size_t n,
		    int64_t now_us)
{
	vec_clear(&p->excluded);
	for (size_t i = 0; i < n && i < EXCLUSIONS_MAX; i++) {
		if (x[i].cluster >= p->f->n_clusters || now_us >= x[i].until_us)
			continue;
		uint64_t score = a->tree[a->leaves + x[i].cluster];
		if (score == SCORE_NONE)
			continue;
		vec_push(&p->excluded, (struct excluded_leaf){x[i].cluster, score});
		placer_set(a, x[i].cluster, SCORE_NONE);
	}
}

static void include_again(struct placer *p, struct ask *a)
{
	for (size_t i = 0; i < p->excluded.len; i++)
		placer_set(a, p->excluded.items[i].cluster, p->excluded.items[i].score);
}

static bool pack(struct placer *p, struct ask *a, uint32_t cluster, uint32_t group,
		 struct placement_decision *ret)
{
	struct fit_result fit;

	p->stats.packings++;
	if (!fit_gang(p->f, cluster, a->shape, placement_mode(p->f, a, cluster), &fit)) {
		p->stats.failed_packings++;
		return false;
	}
	p->stats.placed++;
	*ret = (struct placement_decision){cluster, group, fit.slots, fit.n_slots};
	return true;
}

bool placement_decide(struct placer *p, struct ask *a, const struct placement_exclusion *excluded,
		      size_t n_excluded, int64_t now_us, struct placement_decision *ret)
{
	bool placed = false;

	*ret = (struct placement_decision){.cluster = CLUSTER_NONE};
	p->stats.decisions++;
	placer_refresh(p, a);
	exclude(p, a, excluded, n_excluded, now_us);
	while (!placed && a->tree[1] != SCORE_NONE) {
		uint32_t rank = (uint32_t)(a->tree[1] & ((1u << SCORE_RANK) - 1));
		uint32_t cluster = p->f->by_name[rank];

		placed = pack(p, a, cluster, a->group[cluster], ret);
		/* It stays out until something changes there, so nobody tries the same again. */
		if (!placed)
			placer_set(a, cluster, SCORE_NONE);
	}
	include_again(p, a);
	return placed;
}

bool placement_decide_on(struct placer *p, struct ask *a, uint32_t cluster,
			 struct placement_decision *ret)
{
	uint32_t group;

	*ret = (struct placement_decision){.cluster = CLUSTER_NONE};
	p->stats.decisions++;
	if (!cluster_view_spec(p->f, cluster) ||
	    placement_candidate(p->f, a, cluster, &group) != VERDICT_FITS)
		return false;
	return pack(p, a, cluster, group, ret);
}
