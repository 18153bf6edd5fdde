/*
 * Each flavor is tried as a recomputation would: all choices are pinned to what the nomination
 * gave, those of one resource group to the flavor in question.
 */
#include "quota-tree/kueue_explain.h"

#include "quota-tree/kueue_node.h"

struct look {
	struct kueue_forest *f;
	struct kueue_workload probe; /* the workload, as if it had tried nothing */
	const struct kueue_node *queue;
	uint32_t *pins;
	struct kueue_assignment a;
	struct kueue_explanation *ret;
};

void kueue_explanation_done(struct kueue_explanation *e)
{
	kueue_assignment_done(&e->assignment);
	kueue_victims_done(&e->victims);
	vec_done(&e->flavors);
	vec_done(&e->reasons);
}

const char *kueue_mode_to_string(enum kueue_mode mode)
{
	static const char *const names[] = {[KUEUE_NO_FIT] = "NoFit",
					    [KUEUE_NO_CANDIDATES] = "NoCandidates",
					    [KUEUE_PREEMPT] = "Preempt",
					    [KUEUE_RECLAIM] = "Reclaim",
					    [KUEUE_FIT] = "Fit"};
	return (size_t)mode < ARRAY_LEN(names) ? names[mode] : "";
}

/* Pins what the group covers of a pod set. */
static void pin(const struct look *l, uint32_t set, const struct kueue_group *group,
		uint32_t flavor)
{
	const struct kueue_assignment *a = &l->ret->assignment;

	for (uint32_t c = a->first_choice[set]; c < a->first_choice[set + 1]; c++)
		if (kueue_node_covering(l->queue, a->choices.items[c].resource) == group)
			l->pins[c] = flavor == KUEUE_NONE ? a->choices.items[c].flavor : flavor;
}

/* False when the attempt ended before it came to this flavor. */
static bool try_flavor(struct look *l, uint32_t set, const struct kueue_group *group,
		       uint32_t flavor)
{
	struct kueue_explanation *e = l->ret;
	struct kueue_flavor_verdict v = {
	    .pod_set = set, .flavor = flavor, .mode = KUEUE_FIT, .first_reason = e->reasons.len};
	bool found = false;

	pin(l, set, group, flavor);
	kueue_assign(l->f, &l->probe, NULL, &l->a);
	for (uint32_t c = l->a.first_choice[set]; c < l->a.first_choice[set + 1]; c++) {
		const struct kueue_choice *choice = &l->a.choices.items[c];
		if (kueue_node_covering(l->queue, choice->resource) != group ||
		    choice->flavor != flavor)
			continue;
		found = true;
		v.mode = choice->mode < v.mode ? choice->mode : v.mode;
		v.borrow_level =
		    choice->borrow_level > v.borrow_level ? choice->borrow_level : v.borrow_level;
	}
	vec_foreach (&l->a.reasons, r)
		if (r->pod_set == set && r->flavor == flavor)
			vec_push(&e->reasons, *r);
	v.n_reasons = e->reasons.len - v.first_reason;
	if (!found && !v.n_reasons)
		return false;
	if (!found)
		v.mode = KUEUE_NO_FIT;
	vec_push(&e->flavors, v);
	return true;
}

static bool try_group(struct look *l, uint32_t set, const struct kueue_group *group)
{
	for (uint32_t i = 0; i < group->n_flavors; i++)
		if (l->ret->flavors.len == KUEUE_MAX_EXPLAINED ||
		    !try_flavor(l, set, group, group->flavors[i]))
			return false;
	pin(l, set, group, KUEUE_NONE);
	return true;
}

static bool is_leader(const struct kueue_shape *shape, uint32_t set)
{
	for (uint32_t i = 0; i < set && shape->sets[set].group.len; i++)
		if (span_eq(shape->sets[i].group, shape->sets[set].group))
			return false;
	return true;
}

/* False when later pod sets were not reached. */
static bool try_set(struct look *l, uint32_t set)
{
	const struct kueue_assignment *a = &l->ret->assignment;
	uint32_t done = 0; /* resource groups, as bits */

	for (uint32_t c = a->first_choice[set]; c < a->first_choice[set + 1]; c++) {
		const struct kueue_group *group =
		    kueue_node_covering(l->queue, a->choices.items[c].resource);
		uint32_t bit = group ? 1u << (group - l->queue->groups) : 0;
		if (!group || done & bit)
			continue;
		done |= bit;
		if (!try_group(l, set, group))
			return false;
	}
	return true;
}

void kueue_explain(struct kueue_forest *f, const struct kueue_workload *w,
		   struct kueue_explanation *ret)
{
	struct look l = {.f = f, .probe = *w, .ret = ret};

	vec_clear(&ret->flavors);
	vec_clear(&ret->reasons);
	vec_clear(&ret->victims.items);
	l.probe.tried = NULL;
	l.probe.n_tried = 0;
	l.probe.pinned = NULL;
	kueue_nominate(f, &l.probe, &ret->assignment, &ret->victims);
	l.queue = kueue_node(f, w->queue);
	l.pins = xcalloc(ret->assignment.choices.len + 1, sizeof(*l.pins));
	for (size_t i = 0; i < ret->assignment.choices.len; i++)
		l.pins[i] = ret->assignment.choices.items[i].flavor;
	l.probe.pinned = l.pins;
	for (uint32_t i = 0; i < w->shape->n_sets; i++)
		if (is_leader(w->shape, i) && !try_set(&l, i))
			break;
	free(l.pins);
	kueue_assignment_done(&l.a);
}
