#include "kinds/pod_placement.h"

#include "base/num.h"
#include "kinds/label_selector_rules.h"
#include "kube/names.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

static void check_label_key(const char *key, const struct at *at, struct field_errors *errors)
{
	refuse_unfit(errors, key ? key : "", names_is_qualified, names_qualified_rule, at);
}

static void check_selector(const struct cJSON *selector, const struct at *at,
			   struct field_errors *errors)
{
	char path[REFUSE_PATH_MAX];

	if (selector)
		label_selector_rules_check_core(selector, at_text(at, path), errors);
}

/* ---- nodes ---- */

/* How many values the operator takes; the words when these are not so many. */
static const char *count_problem(const char *op, size_t n)
{
	if (is(op, "In") || is(op, "NotIn"))
		return n ? NULL : "must be specified when `operator` is 'In' or 'NotIn'";
	if (is(op, "Gt") || is(op, "Lt"))
		return n == 1 ? NULL
			      : "must be specified single value when `operator` is 'Lt' or 'Gt'";
	return NULL;
}

static void check_expression(const struct cJSON *e, bool strict, const struct at *at,
			     struct field_errors *errors)
{
	const char *op = json_str(e, "operator");
	const struct cJSON *values = json_get(e, "values");
	const struct at *at_values = AT_FIELD(at, "values");
	const char *problem = count_problem(op, json_len(values));
	bool alone = is(op, "Exists") || is(op, "DoesNotExist");
	size_t i = 0;

	if (problem)
		refuse_at(errors, FIELD_REQUIRED, NULL, problem, at_values);
	else if (alone && json_first(values))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
			  at_values);
	else if (!alone && !is(op, "In") && !is(op, "NotIn") && !is(op, "Gt") && !is(op, "Lt"))
		refuse_text_at(errors, FIELD_INVALID, op ? op : "", "not a valid selector operator",
			       AT_FIELD(at, "operator"));
	check_label_key(json_str(e, "key"), AT_FIELD(at, "key"), errors);
	json_foreach (strict ? values : NULL, v)
		refuse_unfit(errors, json_value_str(v), names_is_label_value,
			     names_label_value_rule, AT_INDEX(at_values, i++));
}

/* Of its fields a node's name alone can be asked for. */
static void check_field(const struct cJSON *e, const struct at *at, struct field_errors *errors)
{
	const char *op = json_str(e, "operator"), *key = json_str(e, "key");
	const struct cJSON *values = json_get(e, "values");
	size_t i = 0;

	if (!is(op, "In") && !is(op, "NotIn"))
		refuse_text_at(errors, FIELD_INVALID, op ? op : "", "not a valid selector operator",
			       AT_FIELD(at, "operator"));
	else if (json_len(values) != 1)
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "must be only one value when `operator` is 'In' or 'NotIn' for node "
			  "field selector",
			  AT_FIELD(at, "values"));
	if (!is(key, "metadata.name")) {
		refuse_text_at(errors, FIELD_INVALID, key ? key : "",
			       "not a valid field selector key", AT_FIELD(at, "key"));
		return;
	}
	json_foreach (values, v)
		refuse_unfit(errors, json_value_str(v), names_is_dns_subdomain,
			     names_dns_subdomain_rule, AT_INDEX(AT_FIELD(at, "values"), i++));
}

static void check_node_term(const struct cJSON *term, bool strict, const struct at *at,
			    struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(term, "matchExpressions"), e)
		check_expression(e, strict, AT_INDEX(AT_FIELD(at, "matchExpressions"), i++),
				 errors);
	i = 0;
	json_foreach (json_get(term, "matchFields"), e)
		check_field(e, AT_INDEX(AT_FIELD(at, "matchFields"), i++), errors);
}

static void check_weight(const struct cJSON *of, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *weight = json_get(of, "weight");
	int64_t v = 0;

	(void)json_value_int64(weight, &v);
	if (v < 1 || v > 100)
		refuse_at(errors, FIELD_INVALID, weight, "must be in the range 1-100",
			  AT_FIELD(at, "weight"));
}

/* What is only liked may ask for values that no label can have. */
static void check_nodes(const struct cJSON *affinity, const struct at *at,
			struct field_errors *errors)
{
	const struct cJSON *required = json_get(affinity, REQUIRED);
	const struct at *terms = AT_FIELD(AT_FIELD(at, REQUIRED), "nodeSelectorTerms");
	size_t i = 0;

	if (required && !json_first(json_get(required, "nodeSelectorTerms")))
		refuse_at(errors, FIELD_REQUIRED, NULL, "must have at least one node selector term",
			  terms);
	json_foreach (json_get(required, "nodeSelectorTerms"), term)
		check_node_term(term, true, AT_INDEX(terms, i++), errors);
	i = 0;
	json_foreach (json_get(affinity, PREFERRED), liked) {
		const struct at *here = AT_INDEX(AT_FIELD(at, PREFERRED), i++);
		check_weight(liked, here, errors);
		check_node_term(json_get(liked, "preference"), false, AT_FIELD(here, "preference"),
				errors);
	}
}

/* ---- neighbours ---- */

static bool has_text(const struct cJSON *list, const char *text)
{
	json_foreach (list, v)
		if (is(json_value_str(v), text))
			return true;
	return false;
}

static void check_label_keys(const struct cJSON *of, const char *field, const struct at *at,
			     struct field_errors *errors)
{
	const struct cJSON *keys = json_get(of, field);
	size_t i = 0;

	if (!json_first(keys))
		return;
	if (!json_get(of, "labelSelector")) {
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "must not be specified when labelSelector is not set",
			  AT_FIELD(at, field));
		return;
	}
	json_foreach (keys, k)
		check_label_key(json_value_str(k), AT_INDEX(AT_FIELD(at, field), i++), errors);
}

static void check_match_keys(const struct cJSON *of, const struct at *at,
			     struct field_errors *errors)
{
	size_t i = 0;

	check_label_keys(of, "matchLabelKeys", at, errors);
	check_label_keys(of, "mismatchLabelKeys", at, errors);
	json_foreach (json_get(of, "matchLabelKeys"), k) {
		const char *key = json_value_str(k);
		if (has_text(json_get(of, "mismatchLabelKeys"), key))
			refuse_text_at(errors, FIELD_INVALID, key,
				       "exists in both matchLabelKeys and mismatchLabelKeys",
				       AT_INDEX(AT_FIELD(at, "matchLabelKeys"), i));
		i++;
	}
}

static void check_pod_term(const struct cJSON *term, const struct at *at,
			   struct field_errors *errors)
{
	const char *key = json_str(term, "topologyKey");

	check_selector(json_get(term, "labelSelector"), AT_FIELD(at, "labelSelector"), errors);
	check_selector(json_get(term, "namespaceSelector"), AT_FIELD(at, "namespaceSelector"),
		       errors);
	json_foreach (json_get(term, "namespaces"), ns)
		refuse_unfit(errors, json_value_str(ns), names_is_dns_label, names_dns_label_rule,
			     AT_FIELD(at, "namespace"));
	check_match_keys(term, at, errors);
	check_label_key(key, AT_FIELD(at, "topologyKey"), errors);
}

static void check_neighbours(const struct cJSON *affinity, const struct at *at,
			     struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(affinity, REQUIRED), term)
		check_pod_term(term, AT_INDEX(AT_FIELD(at, REQUIRED), i++), errors);
	i = 0;
	json_foreach (json_get(affinity, PREFERRED), liked) {
		const struct at *here = AT_INDEX(AT_FIELD(at, PREFERRED), i++);
		check_weight(liked, here, errors);
		check_pod_term(json_get(liked, "podAffinityTerm"),
			       AT_FIELD(here, "podAffinityTerm"), errors);
	}
}

/* ---- spreading ---- */

static bool same_spread(const struct cJSON *a, const struct cJSON *b)
{
	return json_equal(json_get(a, "topologyKey"), json_get(b, "topologyKey")) &&
	       json_equal(json_get(a, "whenUnsatisfiable"), json_get(b, "whenUnsatisfiable"));
}

static void check_repeated(const struct cJSON *spread, const struct at *at,
			   struct field_errors *errors)
{
	for (const struct cJSON *next = json_next(spread); next; next = json_next(next))
		if (same_spread(spread, next)) {
			refuse_at(errors, FIELD_DUPLICATE, json_get(spread, "topologyKey"), "",
				  AT_FIELD(at, "{topologyKey, whenUnsatisfiable}"));
			return;
		}
}

static void check_spread(const struct cJSON *spread, const struct at *at,
			 struct field_errors *errors)
{
	static const char *const ways[] = {"DoNotSchedule", "ScheduleAnyway", NULL};
	const struct cJSON *domains = json_get(spread, "minDomains");
	const char *otherwise = json_str(spread, "whenUnsatisfiable");
	int64_t skew = 0;

	(void)json_int64(spread, "maxSkew", &skew);
	if (skew <= 0)
		refuse_at(errors, FIELD_INVALID, json_get(spread, "maxSkew"),
			  "must be greater than zero", AT_FIELD(at, "maxSkew"));
	if (!is(otherwise, ways[0]) && !is(otherwise, ways[1]))
		refuse_unsupported(errors, otherwise ? otherwise : "", ways,
				   AT_FIELD(at, "whenUnsatisfiable"));
	check_repeated(spread, at, errors);
	if (domains && !is(otherwise, "DoNotSchedule"))
		refuse_at(errors, FIELD_INVALID, domains,
			  "can only use minDomains if whenUnsatisfiable=DoNotSchedule",
			  AT_FIELD(at, "minDomains"));
	check_match_keys(spread, at, errors);
	check_selector(json_get(spread, "labelSelector"), AT_FIELD(at, "labelSelector"), errors);
}

/* ---- tolerations ---- */

static void check_value(const struct cJSON *t, const char *op, const struct at *at,
			struct field_errors *errors)
{
	const char *value = json_str(t, "value") ? json_str(t, "value") : "";

	if (is(op, "Exists")) {
		if (value[0])
			refuse_text_at(errors, FIELD_INVALID, value,
				       "value must be empty when `operator` is 'Exists'",
				       AT_FIELD(at, "operator"));
	} else if (!op || !op[0] || is(op, "Equal")) {
		refuse_unfit(errors, value, names_is_label_value, names_label_value_rule,
			     AT_FIELD(at, "operator"));
	}
}

static void check_toleration(const struct cJSON *t, const struct at *at,
			     struct field_errors *errors)
{
	static const char *const operators[] = {"Equal", "Exists", "Lt", "Gt", NULL};
	const char *op = json_str(t, "operator"), *key = json_str(t, "key");
	const char *effect = json_str(t, "effect");

	if (key && key[0])
		check_label_key(key, AT_FIELD(at, "key"), errors);
	else if (!is(op, "Exists"))
		refuse_text_at(errors, FIELD_INVALID, op ? op : "",
			       "operator must be Exists when `key` is empty, which means \"match "
			       "all values and all keys\"",
			       AT_FIELD(at, "operator"));
	if (json_get(t, "tolerationSeconds") && !is(effect, "NoExecute"))
		refuse_text_at(errors, FIELD_INVALID, effect ? effect : "",
			       "effect must be 'NoExecute' when `tolerationSeconds` is set",
			       AT_FIELD(at, "effect"));
	if (is(op, "Lt") || is(op, "Gt")) /* behind a gate that is off by default */
		refuse_unsupported(errors, op, operators, AT_FIELD(at, "operator"));
	check_value(t, op, at, errors);
}

void pod_placement_check(const struct cJSON *pod, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *affinity = json_get(pod, "affinity");
	const struct at *at_affinity = AT_FIELD(at, "affinity");
	size_t i = 0;

	check_nodes(json_get(affinity, "nodeAffinity"), AT_FIELD(at_affinity, "nodeAffinity"),
		    errors);
	check_neighbours(json_get(affinity, "podAffinity"), AT_FIELD(at_affinity, "podAffinity"),
			 errors);
	check_neighbours(json_get(affinity, "podAntiAffinity"),
			 AT_FIELD(at_affinity, "podAntiAffinity"), errors);
	json_foreach (json_get(pod, "topologySpreadConstraints"), s)
		check_spread(s, AT_INDEX(AT_FIELD(at, "topologySpreadConstraints"), i++), errors);
	i = 0;
	json_foreach (json_get(pod, "tolerations"), t)
		check_toleration(t, AT_INDEX(AT_FIELD(at, "tolerations"), i++), errors);
}
