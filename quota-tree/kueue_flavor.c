#include "quota-tree/kueue_flavor.h"

#include "quota-tree/kueue_preempt.h"

static void tell(const struct kueue_seek *s, struct kueue_reason reason)
{
	reason.pod_set = s->pod_sets[0];
	vec_push(&s->a->reasons, reason);
}

/* ---- eligibility ---- */

static const struct taint *untolerated(const struct kueue_flavor_spec *flavor,
				       const struct constraint *c)
{
	for (size_t i = 0; i < flavor->n_taints; i++) {
		const struct taint *taint = &flavor->taints[i];
		if (toleration_first_untolerated(taint, 1, c->tolerations, c->n_tolerations) &&
		    toleration_first_untolerated(taint, 1, flavor->tolerations,
						 flavor->n_tolerations))
			return taint;
	}
	return NULL;
}

static bool has_levels(const struct kueue_topology *t, const struct kueue_shape_set *set)
{
	for (size_t i = 0; i < set->n_levels; i++) {
		bool found = false;
		for (size_t k = 0; k < t->n_levels && !found; k++)
			found = span_eq(t->levels[k], set->levels[i]);
		if (!found)
			return false;
	}
	return true;
}

/* hasOverlapWithPodRequestedResources: what transformations made does not count. */
static bool asks_of_group(const struct kueue_seek *s, const struct kueue_shape_set *set)
{
	size_t n = set->asked ? set->n_asked : set->n_requests;

	for (size_t i = 0; i < n; i++) {
		uint32_t resource = set->asked ? set->asked[i] : set->requests[i].resource;
		if (resource != KUEUE_NONE && kueue_node_covering(s->queue, resource) == s->group)
			return true;
	}
	return false;
}

/* checkPodSetAndFlavorMatchForTAS */
static enum kueue_why topology_why(const struct kueue_seek *s, const struct kueue_flavor *flavor,
				   const struct kueue_shape_set *set)
{
	struct span name = flavor->spec.topology;
	const struct kueue_topology *t = name.len ? map_get(&s->f->topologies, name) : NULL;

	if (!s->f->options.topology_aware || (!set->topology && s->queue->topologies_only))
		return KUEUE_WHY_NONE;
	if (!set->topology)
		return t ? KUEUE_WHY_TOPOLOGY_ONLY : KUEUE_WHY_NONE;
	if (name.len == 0) /* It may still provide what the pods themselves do not ask. */
		return asks_of_group(s, set) ? KUEUE_WHY_NO_TOPOLOGY : KUEUE_WHY_NONE;
	if (!t)
		return KUEUE_WHY_TOPOLOGY_UNKNOWN;
	return has_levels(t, set) ? KUEUE_WHY_NONE : KUEUE_WHY_NO_LEVEL;
}

static enum kueue_why why_not(const struct kueue_seek *s, const struct kueue_flavor *flavor,
			      const struct kueue_shape_set *set, const struct taint **ret_taint)
{
	const struct constraint *c = &set->constraint;
	enum kueue_why why = topology_why(s, flavor, set);

	if (why != KUEUE_WHY_NONE)
		return why;
	*ret_taint = untolerated(&flavor->spec, c);
	if (*ret_taint)
		return KUEUE_WHY_TAINT;
	if (!constraint_matches_on(c, flavor->spec.labels, flavor->spec.n_labels, flavor->keys,
				   flavor->spec.n_labels))
		return KUEUE_WHY_AFFINITY;
	return KUEUE_WHY_NONE;
}

static bool is_eligible(const struct kueue_seek *s, uint32_t number)
{
	const struct kueue_flavor *flavor = s->f->flavors.items[number];
	const struct taint *taint = NULL;
	enum kueue_why why = flavor->declared ? KUEUE_WHY_NONE : KUEUE_WHY_NO_FLAVOR;

	for (size_t i = 0; i < s->n_pod_sets && why == KUEUE_WHY_NONE; i++)
		why = why_not(s, flavor, &s->w->shape->sets[s->pod_sets[i]], &taint);
	if (why == KUEUE_WHY_NONE)
		return true;
	tell(s, (struct kueue_reason){
		    .why = why, .flavor = number, .resource = KUEUE_NONE, .taint = taint});
	return false;
}

/* ---- quota ---- */

static bool may_preempt_while_borrowing(const struct kueue_seek *s)
{
	const struct kueue_preemption *p = &s->queue->spec.preemption;

	return p->borrow_within_cohort != KUEUE_PREEMPT_NEVER ||
	       (s->f->options.fair_sharing && p->reclaim_within_cohort != KUEUE_PREEMPT_NEVER);
}

static int64_t assumed(const struct kueue_assignment *a, uint32_t flavor, uint32_t resource)
{
	vec_foreach (&a->uses, use)
		if (use->flavor == flavor && use->resource == resource)
			return use->value;
	return 0;
}

/* fitsResourceQuota. *ret_no_fit: why, where the mode is NO_FIT. */
static struct kueue_grade grade_of(const struct kueue_seek *s, uint32_t flavor,
				   const struct kueue_ask *ask, enum kueue_no_fit *ret_no_fit)
{
	uint32_t at = kueue_row_find(s->queue, kueue_key(flavor, ask->resource));
	const struct kueue_cell *c = &s->queue->tree->cells.items[at];
	int64_t before = assumed(s->a, flavor, ask->resource);
	int64_t value = kueue_amount_add(before, ask->value);
	int64_t available;
	struct kueue_grade g;
	bool may_reclaim;

	if (value > c->potential) {
		tell(s, (struct kueue_reason){.why = KUEUE_WHY_MAX,
					      .flavor = flavor,
					      .resource = ask->resource,
					      .assumed = before,
					      .asked = ask->value,
					      .max = c->potential});
		*ret_no_fit = KUEUE_EXCEEDS_MAX_QUOTA;
		return (struct kueue_grade){KUEUE_NO_FIT, 0};
	}
	g.level = kueue_forest_borrow_level(s->f, s->queue->number, flavor, ask->resource, value,
					    &may_reclaim);
	available = num_max(0, kueue_cell_available(s->queue, at));
	if (value <= available) {
		g.mode = KUEUE_FIT;
		return g;
	}
	tell(s, (struct kueue_reason){.why = KUEUE_WHY_QUOTA,
				      .flavor = flavor,
				      .resource = ask->resource,
				      .missing = kueue_amount_sub(value, available)});
	if (c->nominal >= value || may_reclaim || may_preempt_while_borrowing(s)) {
		g.mode = kueue_preempt_possible(s->f, s->w, flavor, ask->resource, value, &g.level);
		return g;
	}
	*ret_no_fit = KUEUE_WAITING_FOR_QUOTA;
	g.mode = KUEUE_NO_FIT;
	return g;
}

/* ---- fungibility ---- */

/* isPreferred: a over b. */
static bool is_preferred(const struct kueue_seek *s, struct kueue_grade a, struct kueue_grade b)
{
	if (a.mode == KUEUE_NO_FIT)
		return false;
	if (b.mode == KUEUE_NO_FIT)
		return true;
	if ((a.mode == KUEUE_NO_CANDIDATES) != (b.mode == KUEUE_NO_CANDIDATES))
		return b.mode == KUEUE_NO_CANDIDATES;
	if (s->queue->spec.preference == KUEUE_PREEMPTION_OVER_BORROWING)
		return a.level != b.level ? a.level < b.level : a.mode > b.mode;
	return a.mode != b.mode ? a.mode > b.mode : a.level < b.level;
}

/* shouldTryNextFlavor */
static bool goes_on(const struct kueue_seek *s, struct kueue_grade g)
{
	const struct kueue_queue_spec *q = &s->queue->spec;

	if (g.mode == KUEUE_NO_FIT || g.mode == KUEUE_NO_CANDIDATES)
		return true;
	if (g.mode != KUEUE_FIT && q->when_can_preempt == KUEUE_TRY_NEXT_FLAVOR)
		return true;
	return g.level > 0 && q->when_can_borrow == KUEUE_TRY_NEXT_FLAVOR;
}

static void note_no_fit(struct kueue_found *found, enum kueue_no_fit why)
{
	if (!found->attempted || why < found->no_fit)
		found->no_fit = why;
	found->attempted = true;
}

/* How one flavor would do for every resource; the worst of them. */
static struct kueue_grade try_flavor(const struct kueue_seek *s, uint32_t flavor,
				     struct kueue_grade *grades, struct kueue_found *found)
{
	struct kueue_grade worst = {KUEUE_FIT, 0};
	enum kueue_no_fit why = KUEUE_NO_FIT_NONE;

	/* All of them, even after one that does not fit: its users are told of every shortage. */
	for (size_t i = 0; i < s->n_asks; i++) {
		enum kueue_no_fit no_fit = KUEUE_NO_FIT_NONE;

		grades[i] = grade_of(s, flavor, &s->asks[i], &no_fit);
		if (no_fit > why)
			why = no_fit;
		if (is_preferred(s, worst, grades[i]))
			worst = grades[i];
	}
	if (worst.mode == KUEUE_NO_FIT)
		note_no_fit(found, why);
	return worst;
}

/* `told`: where its reasons begin. */
static void note_attempt(const struct kueue_seek *s, uint32_t flavor, enum kueue_mode mode,
			 const struct kueue_grade *grades, size_t told)
{
	struct kueue_attempt attempt = {.pod_set = s->pod_sets[0],
					.flavor = flavor,
					.mode = mode,
					.first_reason = (uint32_t)told,
					.n_reasons = (uint32_t)(s->a->reasons.len - told)};

	for (size_t i = 0; grades && i < s->n_asks; i++)
		if (grades[i].level > attempt.borrow_level)
			attempt.borrow_level = grades[i].level;
	if (s->tells)
		vec_push(&s->a->attempts, attempt);
}

void kueue_flavor_find(const struct kueue_seek *s, struct kueue_found *ret)
{
	bool fungible = s->f->options.flavor_fungibility;
	struct kueue_grade best = {KUEUE_NO_FIT, UINT32_MAX}, grades[KUEUE_MAX_COVERED];
	size_t told = s->a->reasons.len;
	uint32_t last = KUEUE_NONE;

	*ret = (struct kueue_found){.flavor = KUEUE_NONE, .tried = -1};
	for (uint32_t i = s->from; i < s->group->n_flavors; i++) {
		uint32_t flavor = s->group->flavors[i];
		size_t before = s->a->reasons.len;
		struct kueue_grade g;

		last = i;
		if (s->pinned != KUEUE_NONE && flavor != s->pinned)
			continue;
		if (s->refused >> i & 1) {
			tell(s, (struct kueue_reason){.why = KUEUE_WHY_PLACEMENT,
						      .flavor = flavor,
						      .resource = KUEUE_NONE});
			note_no_fit(ret, KUEUE_TOPOLOGY_PLACEMENT_FAILED);
			note_attempt(s, flavor, KUEUE_NO_FIT, NULL, before);
			continue;
		}
		if (!is_eligible(s, flavor)) {
			note_no_fit(ret, KUEUE_NO_MATCHING_FLAVOR);
			note_attempt(s, flavor, KUEUE_NO_FIT, NULL, before);
			continue;
		}
		g = try_flavor(s, flavor, grades, ret);
		note_attempt(s, flavor, g.mode, grades, before);
		bool stops = fungible ? !goes_on(s, g) : g.mode == KUEUE_FIT;
		bool better = fungible ? is_preferred(s, g, best) : g.mode > best.mode;
		if (stops || better) {
			best = g;
			ret->flavor = i;
			memcpy(ret->grades, grades, s->n_asks * sizeof(*grades));
		}
		if (stops)
			break;
	}
	if (fungible && last != s->group->n_flavors - 1)
		ret->tried = (int32_t)last;
	if (best.mode == KUEUE_FIT && !s->tells)
		s->a->reasons.len = told;
}
