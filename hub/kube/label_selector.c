/*
 * metav1.LabelSelector objects: selector_add_label_selector() of kube/selector.h.
 */
#include "base/json.h"
#include "kube/names.h"
#include "kube/selector.h"
#include "kube/selector_match.h"

#include <errno.h>

#define PATH_MAX_TEXT 256

struct reader {
	struct selector *selector;
	struct field_errors *errors;
	bool failed;
};

static void refuse(struct reader *r, enum field_reason reason, const char *path, const char *key,
		   const struct cJSON *bad, const char *detail)
{
	auto_buf field = BUF_INIT;
	auto_buf value = BUF_INIT;

	buf_addf(&field, "%s.%s", path, key);
	if (bad)
		json_print(bad, &value);
	field_errors_add(r->errors, reason, field.ptr, bad ? value.ptr : NULL, "%s", detail);
	r->failed = true;
}

static struct selector_requirement *add(struct reader *r, const char *path)
{
	struct selector_requirement *q = selector_add(r->selector);

	if (!q) {
		field_errors_add(r->errors, FIELD_TOO_MANY, path, NULL,
				 "must have at most %d requirements", SELECTOR_MAX_REQUIREMENTS);
		r->failed = true;
	}
	return q;
}

static void read_match_labels(struct reader *r, const struct cJSON *labels, const char *path)
{
	json_foreach (labels, l) {
		struct span key = span_of(json_key(l)), value = span_of(json_value_str(l));
		if (!names_is_qualified(key)) {
			refuse(r, FIELD_INVALID, path, "matchLabels", l, names_qualified_rule(key));
			continue;
		}
		if (!value.ptr || !names_is_label_value(value)) {
			refuse(r, FIELD_INVALID, path, "matchLabels", l,
			       names_label_value_rule(value));
			continue;
		}
		struct selector_requirement *q = add(r, path);
		if (!q)
			return;
		q->key = arena_span(&r->selector->mem, key);
		q->op = SELECTOR_IN;
		q->values = arena_array(&r->selector->mem, struct span, 1);
		q->values[0] = arena_span(&r->selector->mem, value);
		q->n_values = 1;
	}
}

static int find_op(const char *name, enum selector_op *ret)
{
	static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist"};
	for (size_t i = 0; name && i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum selector_op)i;
			return 0;
		}
	}
	return -ENOENT;
}

static void read_values(struct reader *r, struct selector_requirement *q,
			const struct cJSON *values, const char *path)
{
	size_t n = json_len(values);

	if (n > SELECTOR_MAX_VALUES) {
		refuse(r, FIELD_TOO_MANY, path, "values", NULL, "too many values");
		return;
	}
	q->values = arena_array(&r->selector->mem, struct span, n);
	json_foreach (values, v) {
		struct span value = span_of(json_value_str(v));
		if (!value.ptr || !names_is_label_value(value)) {
			refuse(r, FIELD_INVALID, path, "values", v, names_label_value_rule(value));
			return;
		}
		q->values[q->n_values++] = arena_span(&r->selector->mem, value);
	}
}

static void read_expression(struct reader *r, const struct cJSON *e, const char *path)
{
	struct selector_requirement q = {0};
	const struct cJSON *values = json_get(e, "values");
	const char *key = json_str(e, "key");
	bool wants_values;

	if (!key || !names_is_qualified(span_of(key))) {
		refuse(r, FIELD_INVALID, path, "key", json_get(e, "key"),
		       names_qualified_rule(span_of(key)));
		return;
	}
	if (find_op(json_str(e, "operator"), &q.op) < 0) {
		refuse(r, FIELD_INVALID, path, "operator", json_get(e, "operator"),
		       "not a valid selector operator");
		return;
	}
	wants_values = q.op == SELECTOR_IN || q.op == SELECTOR_NOT_IN;
	if (wants_values && json_len(values) == 0) {
		refuse(r, FIELD_REQUIRED, path, "values", NULL,
		       "must be specified when `operator` is 'In' or 'NotIn'");
		return;
	}
	if (!wants_values && json_len(values) > 0) {
		refuse(r, FIELD_FORBIDDEN, path, "values", NULL,
		       "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
		return;
	}
	q.key = arena_span(&r->selector->mem, span_of(key));
	read_values(r, &q, values, path);
	struct selector_requirement *place = r->failed ? NULL : add(r, path);
	if (place)
		*place = q;
}

int selector_add_label_selector(struct selector *s, const struct cJSON *label_selector,
				const char *path, struct field_errors *errors)
{
	struct reader r = {.selector = s, .errors = errors};
	char below[PATH_MAX_TEXT];
	size_t i = 0;

	read_match_labels(&r, json_get(label_selector, "matchLabels"), path);
	json_foreach (json_get(label_selector, "matchExpressions"), e) {
		(void)snprintf(below, sizeof(below), "%s.matchExpressions[%zu]", path, i++);
		read_expression(&r, e, below);
	}
	return r.failed ? err_errno(ERR_INVALID) : 0;
}
