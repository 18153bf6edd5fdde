#include "quota-tree/kueue_spec.h"

#include "quota-tree/kueue_node.h"

struct kueue_options kueue_options_default(void)
{
	return (struct kueue_options){
	    .partial_admission = true,
	    .flavor_fungibility = true,
	    .topology_aware = true,
	    .priority_sorting_within_cohort = true,
	    .equivalence_hashing = true,
	    .preempt_within_nominal = true,
	    .prioritize_non_borrowing = true,
	    .recompute_on_overlap = true,
	    .preserve_scan_progress = true,
	};
}

static int too_many(struct err *reterr, const char *field, size_t n, size_t max)
{
	return err_set_field(reterr, ERR_INVALID, field, "has %zu entries, at most %zu are allowed",
			     n, max);
}

/* A name that stands in two groups (or twice in one). */
static bool is_repeated(const struct kueue_group_spec *groups, size_t n, bool flavors,
			struct span *ret_name)
{
	struct map seen = MAP_INIT;
	bool repeated = false;

	for (size_t g = 0; g < n && !repeated; g++) {
		const struct span *names = flavors ? groups[g].flavors : groups[g].resources;
		size_t n_names = flavors ? groups[g].n_flavors : groups[g].n_resources;

		for (size_t i = 0; i < n_names && !repeated; i++) {
			*ret_name = names[i];
			repeated = map_put(&seen, names[i], &seen) != NULL;
		}
	}
	map_done(&seen);
	return repeated;
}

static int check_quotas(const struct kueue_group_spec *g, size_t at, struct err *reterr)
{
	for (size_t i = 0; i < g->n_flavors * g->n_resources; i++) {
		const struct kueue_quota *q = &g->quotas[i];
		char field[96];

		if (q->nominal >= 0 && q->borrowing >= 0 && q->lending >= 0)
			continue;
		snprintf(field, sizeof(field),
			 "spec.resourceGroups[%zu].flavors[%zu].resources[%zu]", at,
			 i / g->n_resources, i % g->n_resources);
		return err_set_field(reterr, ERR_INVALID, field, "must not be negative");
	}
	return 0;
}

int kueue_spec_check_groups(const struct kueue_group_spec *groups, size_t n, struct err *reterr)
{
	struct span name;

	if (n > KUEUE_MAX_GROUPS)
		return too_many(reterr, "spec.resourceGroups", n, KUEUE_MAX_GROUPS);
	for (size_t g = 0; g < n; g++) {
		char field[96];

		snprintf(field, sizeof(field), "spec.resourceGroups[%zu].flavors", g);
		if (groups[g].n_flavors > KUEUE_MAX_FLAVORS)
			return too_many(reterr, field, groups[g].n_flavors, KUEUE_MAX_FLAVORS);
		snprintf(field, sizeof(field), "spec.resourceGroups[%zu].coveredResources", g);
		if (groups[g].n_resources > KUEUE_MAX_COVERED)
			return too_many(reterr, field, groups[g].n_resources, KUEUE_MAX_COVERED);
		int r = check_quotas(&groups[g], g, reterr);
		if (r < 0)
			return r;
	}
	for (int flavors = 0; flavors < 2; flavors++)
		if (is_repeated(groups, n, flavors, &name))
			return err_set_field(reterr, ERR_INVALID, "spec.resourceGroups",
					     "%s %.*s stands in more than one place",
					     flavors ? "flavor" : "resource", SPAN_ARGS(name));
	return 0;
}

int kueue_spec_check_flavor(const struct kueue_flavor_spec *s, struct err *reterr)
{
	if (s->n_labels > KUEUE_MAX_LABELS)
		return too_many(reterr, "spec.nodeLabels", s->n_labels, KUEUE_MAX_LABELS);
	if (s->n_taints > KUEUE_MAX_LABELS)
		return too_many(reterr, "spec.nodeTaints", s->n_taints, KUEUE_MAX_LABELS);
	if (s->n_tolerations > KUEUE_MAX_LABELS)
		return too_many(reterr, "spec.tolerations", s->n_tolerations, KUEUE_MAX_LABELS);
	return 0;
}

struct kueue_flavor_spec kueue_spec_dup_flavor(struct arena *a, const struct kueue_flavor_spec *s,
					       const struct span **ret_keys)
{
	const struct constraint own = {
	    .selector = s->labels,
	    .n_selector = s->n_labels,
	    .tolerations = s->tolerations,
	    .n_tolerations = s->n_tolerations,
	};
	struct constraint copy = constraint_dup(a, &own);
	struct taint *taints = arena_array(a, struct taint, s->n_taints);
	struct span *keys = arena_array(a, struct span, s->n_labels);

	for (size_t i = 0; i < s->n_taints; i++) {
		taints[i] = s->taints[i];
		taints[i].key = arena_span(a, taints[i].key);
		taints[i].value = arena_span(a, taints[i].value);
	}
	for (size_t i = 0; i < s->n_labels; i++)
		keys[i] = copy.selector[i].key;
	*ret_keys = keys;
	return (struct kueue_flavor_spec){
	    .name = arena_span(a, s->name),
	    .labels = copy.selector,
	    .n_labels = copy.n_selector,
	    .taints = taints,
	    .n_taints = s->n_taints,
	    .tolerations = copy.tolerations,
	    .n_tolerations = copy.n_tolerations,
	    .topology = arena_span(a, s->topology),
	};
}

const struct kueue_group_spec *
kueue_spec_dup_groups(struct arena *a, const struct kueue_group_spec *groups, size_t n)
{
	struct kueue_group_spec *to = arena_array(a, struct kueue_group_spec, n);

	for (size_t g = 0; g < n; g++) {
		size_t cells = groups[g].n_flavors * groups[g].n_resources;
		struct kueue_quota *quotas = arena_array(a, struct kueue_quota, cells);

		if (cells)
			memcpy(quotas, groups[g].quotas, cells * sizeof(*quotas));
		to[g] = (struct kueue_group_spec){
		    .resources = label_values_dup(a, groups[g].resources, groups[g].n_resources),
		    .n_resources = groups[g].n_resources,
		    .flavors = label_values_dup(a, groups[g].flavors, groups[g].n_flavors),
		    .n_flavors = groups[g].n_flavors,
		    .quotas = quotas,
		};
	}
	return to;
}
