#include "core/policy_spec.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"

static struct span text_of(const struct cJSON *object, const char *key)
{
	return span_of(json_str(object, key));
}

static const struct span *strings_of(const struct cJSON *list, struct arena *mem, size_t *ret_n)
{
	struct span *out = arena_array(mem, struct span, json_len(list));
	size_t n = 0;

	json_foreach (list, s)
		if (json_value_str(s))
			out[n++] = span_of(json_value_str(s));
	*ret_n = n;
	return out;
}

static const struct node_expr *exprs_of(const struct cJSON *list, struct arena *mem, size_t *ret_n)
{
	struct node_expr *out = arena_array(mem, struct node_expr, json_len(list));
	size_t n = 0;

	json_foreach (list, e) {
		enum node_op op = node_op_from_string(text_of(e, "operator"));
		if (op == NODE_OP_INVALID)
			continue;
		out[n].key = text_of(e, "key");
		out[n].op = op;
		out[n].values = strings_of(json_get(e, "values"), mem, &out[n].n_values);
		n++;
	}
	*ret_n = n;
	return out;
}

static void selector_of(const struct cJSON *in, struct arena *mem, struct label_selector *ret)
{
	const struct cJSON *labels = json_get(in, "matchLabels");
	struct label *out = arena_array(mem, struct label, json_len(labels));

	json_foreach (labels, l)
		if (json_value_str(l))
			out[ret->n_match_labels++] =
			    (struct label){span_of(json_key(l)), span_of(json_value_str(l))};
	ret->match_labels = out;
	ret->exprs = exprs_of(json_get(in, "matchExpressions"), mem, &ret->n_exprs);
}

static void affinity_of(const struct cJSON *in, struct arena *mem, struct cluster_affinity *ret)
{
	const struct cJSON *labels = json_get(in, "labelSelector");

	ret->name = text_of(in, "affinityName");
	ret->cluster_names = strings_of(json_get(in, "clusterNames"), mem, &ret->n_cluster_names);
	ret->exclude = strings_of(json_get(in, "exclude"), mem, &ret->n_exclude);
	ret->has_labels = labels != NULL;
	if (labels)
		selector_of(labels, mem, &ret->labels);
	ret->fields =
	    exprs_of(json_path(in, "fieldSelector", "matchExpressions", NULL), mem, &ret->n_fields);
}

static void affinities_of(const struct cJSON *placement, struct arena *mem,
			  struct placement_spec *ret)
{
	const struct cJSON *one = json_get(placement, "clusterAffinity");
	const struct cJSON *many = json_get(placement, "clusterAffinities");
	size_t n = json_len(many) + (one != NULL);
	struct cluster_affinity *out = arena_array(mem, struct cluster_affinity, n);

	if (one)
		affinity_of(one, mem, &out[ret->n_affinities++]);
	json_foreach (many, a)
		affinity_of(a, mem, &out[ret->n_affinities++]);
	ret->affinities = out;
}

static void tolerations_of(const struct cJSON *list, struct arena *mem, struct placement_spec *ret)
{
	struct toleration *out = arena_array(mem, struct toleration, json_len(list));

	json_foreach (list, t) {
		enum taint_effect effect = taint_effect_from_string(
		    json_str(t, "effect") ? text_of(t, "effect") : SPAN(""));
		if (effect == TAINT_EFFECT_INVALID)
			continue;
		out[ret->n_tolerations++] = (struct toleration){
		    .key = text_of(t, "key"),
		    .value = text_of(t, "value"),
		    .exists = span_is(text_of(t, "operator"), "Exists"),
		    .effect = effect,
		};
	}
	ret->tolerations = out;
}

static void spread_of(const struct cJSON *list, struct arena *mem, struct placement_spec *ret)
{
	struct spread_constraint *out = arena_array(mem, struct spread_constraint, json_len(list));

	json_foreach (list, s) {
		struct spread_constraint *x = &out[ret->n_spread++];
		x->field = text_of(s, "spreadByField");
		x->label = text_of(s, "spreadByLabel");
		(void)json_int64(s, "minGroups", &x->min_groups);
		(void)json_int64(s, "maxGroups", &x->max_groups);
	}
	ret->spread = out;
}

static void placement_of(const struct cJSON *object, struct arena *mem, struct placement_spec *ret)
{
	const struct cJSON *placement = json_path(object, "spec", "placement", NULL);
	const struct cJSON *scheduling = json_get(placement, "replicaScheduling");
	const char *capacity =
	    json_str(json_path(object, "metadata", "annotations", NULL), "muster.dev/capacity");

	affinities_of(placement, mem, ret);
	tolerations_of(json_get(placement, "clusterTolerations"), mem, ret);
	spread_of(json_get(placement, "spreadConstraints"), mem, ret);
	ret->replica_scheduling = span_is(text_of(scheduling, "replicaSchedulingType"), "Divided")
				      ? REPLICA_DIVIDED
				      : REPLICA_DUPLICATED;
	ret->gang = span_is(text_of(scheduling, "customSchedulingType"), "Gang");
	ret->sum_of_free = capacity && strcmp(capacity, "sum") == 0;
}

static void resources_of(const struct cJSON *list, struct arena *mem,
			 struct propagation_policy *ret)
{
	struct resource_selector *out = arena_array(mem, struct resource_selector, json_len(list));

	json_foreach (list, s) {
		struct resource_selector *x = &out[ret->n_selectors++];
		const struct cJSON *labels = json_get(s, "labelSelector");
		x->api_version = text_of(s, "apiVersion");
		x->kind = text_of(s, "kind");
		x->ns = text_of(s, "namespace");
		x->name = text_of(s, "name");
		x->has_labels = labels != NULL;
		if (labels)
			selector_of(labels, mem, &x->labels);
		if (x->ns.len == 0)
			x->ns = SPAN_NONE;
		if (x->name.len == 0)
			x->name = SPAN_NONE;
	}
	ret->selectors = out;
}

static struct failover_rule failover_of(const struct cJSON *application)
{
	int64_t toleration = FAILOVER_TOLERATION_DEFAULT, grace = FAILOVER_GRACE_DEFAULT;

	(void)json_int64(json_get(application, "decisionConditions"), "tolerationSeconds",
			 &toleration);
	(void)json_int64(application, "gracePeriodSeconds", &grace);
	return (struct failover_rule){
	    .enabled = application != NULL,
	    .purge = failover_purge_from_string(text_of(application, "purgeMode")),
	    .toleration_us = num_mul_sat(toleration, USEC_PER_SEC),
	    .grace_us = num_mul_sat(grace, USEC_PER_SEC),
	};
}

void policy_spec_decode(const struct cJSON *object, bool cluster_wide, struct arena *mem,
			struct propagation_policy *ret)
{
	const struct cJSON *meta = json_get(object, "metadata"), *spec = json_get(object, "spec");
	const struct cJSON *suspension = json_get(spec, "suspension");

	*ret = (struct propagation_policy){
	    .ns = cluster_wide ? SPAN_NONE : text_of(meta, "namespace"),
	    .name = text_of(meta, "name"),
	    .suspend_scheduling = json_bool(suspension, "scheduling", false),
	    .suspend_dispatching = json_bool(suspension, "dispatching", false),
	    .propagate_deps = json_bool(spec, "propagateDeps", false),
	    .preserve_on_deletion = json_bool(spec, "preserveResourcesOnDeletion", false),
	    .failover = failover_of(json_path(spec, "failover", "application", NULL)),
	};
	(void)json_int64(spec, "priority", &ret->priority);
	resources_of(json_get(spec, "resourceSelectors"), mem, ret);
	placement_of(object, mem, &ret->placement);
}
