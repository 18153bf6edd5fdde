#include "policies/placement_spec.h"

static int too_many(struct err *reterr, const char *field, size_t n, size_t max)
{
	return err_set_field(reterr, ERR_INVALID, field, "has %zu entries, at most %zu are allowed",
			     n, max);
}

static int check_affinity(const struct cluster_affinity *a, size_t i, struct err *reterr)
{
	char path[96];

	snprintf(path, sizeof(path), "spec.placement.clusterAffinities[%zu]", i);
	if (a->name.len > PLACEMENT_MAX_NAME_LEN)
		return err_set_field(reterr, ERR_INVALID, path,
				     "affinityName of %zu characters, at most %d are allowed",
				     a->name.len, PLACEMENT_MAX_NAME_LEN);
	if (a->n_cluster_names > PLACEMENT_MAX_NAMES)
		return too_many(reterr, path, a->n_cluster_names, PLACEMENT_MAX_NAMES);
	if (a->n_exclude > PLACEMENT_MAX_NAMES)
		return too_many(reterr, path, a->n_exclude, PLACEMENT_MAX_NAMES);
	if (a->n_fields > POD_SET_MAX_EXPRS || a->labels.n_exprs > POD_SET_MAX_EXPRS)
		return too_many(reterr, path, a->n_fields + a->labels.n_exprs, POD_SET_MAX_EXPRS);
	for (size_t f = 0; f < a->n_fields; f++)
		if (!span_is(a->fields[f].key, "provider") &&
		    !span_is(a->fields[f].key, "region") && !span_is(a->fields[f].key, "zone"))
			return err_set_field(
			    reterr, ERR_INVALID, path,
			    "fieldSelector key %.*s, must be provider, region or zone",
			    SPAN_ARGS(a->fields[f].key));
	return 0;
}

int placement_spec_check(const struct placement_spec *s, struct err *reterr)
{
	if (s->n_affinities > PLACEMENT_MAX_AFFINITIES)
		return too_many(reterr, "spec.placement.clusterAffinities", s->n_affinities,
				PLACEMENT_MAX_AFFINITIES);
	if (s->n_tolerations > POD_SET_MAX_TOLERATIONS)
		return too_many(reterr, "spec.placement.clusterTolerations", s->n_tolerations,
				POD_SET_MAX_TOLERATIONS);
	if (s->n_spread > POD_SET_MAX_TERMS)
		return too_many(reterr, "spec.placement.spreadConstraints", s->n_spread,
				POD_SET_MAX_TERMS);
	if (s->n_only > PLACEMENT_MAX_AFFINITIES)
		return too_many(reterr, "clusters of the queue", s->n_only,
				PLACEMENT_MAX_AFFINITIES);
	for (size_t i = 0; i < s->n_affinities; i++) {
		int r = check_affinity(&s->affinities[i], i, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

struct placement_spec placement_spec_dup(struct arena *a, const struct placement_spec *from)
{
	struct placement_spec to = *from;
	struct cluster_affinity *aff = arena_array(a, struct cluster_affinity, from->n_affinities);
	struct toleration *tol = arena_array(a, struct toleration, from->n_tolerations);
	struct spread_constraint *spread = arena_array(a, struct spread_constraint, from->n_spread);
	struct placement_refusal *refusals =
	    arena_array(a, struct placement_refusal, from->n_refusals);

	for (size_t i = 0; i < from->n_affinities; i++) {
		const struct cluster_affinity *x = &from->affinities[i];
		aff[i] = *x;
		aff[i].name = arena_span(a, x->name);
		aff[i].cluster_names = label_values_dup(a, x->cluster_names, x->n_cluster_names);
		aff[i].exclude = label_values_dup(a, x->exclude, x->n_exclude);
		aff[i].labels = label_selector_dup(a, &x->labels);
		aff[i].fields = label_exprs_dup(a, x->fields, x->n_fields);
	}
	for (size_t i = 0; i < from->n_tolerations; i++) {
		tol[i] = from->tolerations[i];
		tol[i].key = arena_span(a, from->tolerations[i].key);
		tol[i].value = arena_span(a, from->tolerations[i].value);
	}
	for (size_t i = 0; i < from->n_spread; i++) {
		spread[i] = from->spread[i];
		spread[i].field = arena_span(a, from->spread[i].field);
		spread[i].label = arena_span(a, from->spread[i].label);
	}
	for (size_t i = 0; i < from->n_refusals; i++)
		refusals[i] = (struct placement_refusal){arena_span(a, from->refusals[i].cluster),
							 arena_span(a, from->refusals[i].why),
							 from->refusals[i].failed};
	to.only = label_values_dup(a, from->only, from->n_only);
	to.affinities = aff;
	to.tolerations = tol;
	to.spread = spread;
	to.refusals = refusals;
	return to;
}
