#include "kinds/label_selector_rules.h"

#include "kinds/refuse.h"
#include "kube/meta.h"
#include "kube/names.h"

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* `none`: what counts where a key or an operator is missing; NULL: the schema speaks of it. */
static void check_requirement(const struct cJSON *e, const char *path, const char *none,
			      struct field_errors *errors)
{
	const char *op = json_str(e, "operator") ? json_str(e, "operator") : none;
	const char *key = json_str(e, "key") ? json_str(e, "key") : none;
	const struct cJSON *values = json_get(e, "values");
	bool compares = is(op, "In") || is(op, "NotIn");
	size_t i = 0;

	if (compares && !json_first(values))
		refuse(errors, FIELD_REQUIRED, NULL,
		       "must be specified when `operator` is 'In' or 'NotIn'", "%s.values", path);
	else if ((is(op, "Exists") || is(op, "DoesNotExist")) && json_first(values))
		refuse(errors, FIELD_FORBIDDEN, NULL,
		       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
		       "%s.values", path);
	else if (op && !compares && !is(op, "Exists") && !is(op, "DoesNotExist"))
		refuse_text(errors, FIELD_INVALID, op, "not a valid selector operator",
			    "%s.operator", path);
	if (key && !names_is_qualified(span_of(key)))
		refuse_text(errors, FIELD_INVALID, key, names_qualified_rule(span_of(key)),
			    "%s.key", path);
	json_foreach (values, v) {
		const char *value = json_value_str(v);
		if (value && !names_is_label_value(span_of(value)))
			refuse_text(errors, FIELD_INVALID, value,
				    names_label_value_rule(span_of(value)), "%s.values[%zu]", path,
				    i);
		i++;
	}
}

static void check(const struct cJSON *selector, const char *path, const char *none,
		  struct field_errors *errors)
{
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	if (json_first(json_get(selector, "matchLabels"))) {
		(void)snprintf(below, sizeof(below), "%.400s.matchLabels", path);
		meta_validate_labels(json_get(selector, "matchLabels"), below, errors);
	}
	json_foreach (json_get(selector, "matchExpressions"), e) {
		(void)snprintf(below, sizeof(below), "%.400s.matchExpressions[%zu]", path, i++);
		check_requirement(e, below, none, errors);
	}
}

void label_selector_rules_check(const struct cJSON *selector, const char *path,
				struct field_errors *errors)
{
	check(selector, path, NULL, errors);
}

void label_selector_rules_check_core(const struct cJSON *selector, const char *path,
				     struct field_errors *errors)
{
	check(selector, path, "", errors);
}
