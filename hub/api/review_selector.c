#include "api/review_selector.h"

#include "base/json.h"
#include "kube/field_errors.h"
#include "kube/names.h"
#include "kube/selector.h"

#define PATH "spec.resourceAttributes."

/* One requirement; `path` names it. */
struct part {
	const struct cJSON *values;
	const char *key, *operator;
	char path[128];
	struct field_errors *errors;
};

static void refuse_part(const struct part *p, const char *member, enum field_reason reason,
			const char *value, const char *detail)
{
	char path[sizeof(p->path) + 32];
	auto_buf shown = BUF_INIT;

	(void)snprintf(path, sizeof(path), "%s.%s", p->path, member);
	if (value)
		buf_add_json_str(&shown, span_of(value));
	field_errors_add(p->errors, reason, path, value ? shown.ptr : NULL, "%s", detail);
}

static bool operator_is(const struct part *p, const char *one, const char *other)
{
	return strcmp(p->operator, one) == 0 || strcmp(p->operator, other) == 0;
}

static void check_number(const struct part *p)
{
	size_t n = json_len(p->values);

	if (operator_is(p, "In", "NotIn") && n == 0)
		refuse_part(p, "values", FIELD_REQUIRED, NULL,
			    "must be specified when `operator` is 'In' or 'NotIn'");
	if (operator_is(p, "Exists", "DoesNotExist") && n > 0)
		refuse_part(p, "values", FIELD_FORBIDDEN, NULL,
			    "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

/* Of labels, keys and values have a grammar too. */
static void check_label(const struct part *p)
{
	size_t i = 0;

	if (!p->key[0])
		refuse_part(p, "key", FIELD_INVALID, "", "name part must be non-empty");
	if (!names_is_qualified(span_of(p->key)))
		refuse_part(p, "key", FIELD_INVALID, p->key, names_qualified_rule(span_of(p->key)));
	json_foreach (p->values, v) {
		const char *text = json_value_str(v);
		char member[32];
		(void)snprintf(member, sizeof(member), "values[%zu]", i++);
		if (text && !names_is_label_value(span_of(text)))
			refuse_part(p, member, FIELD_INVALID, text,
				    names_label_value_rule(span_of(text)));
	}
}

static void check_part(const struct cJSON *one, const char *which, size_t i, bool of_labels,
		       struct field_errors *errors)
{
	const char *key = json_str(one, "key"), *operator= json_str(one, "operator");
	struct part p = {.values = json_get(one, "values"),
			 .key = key ? key : "",
			 .operator= operator
			 ?
			 operator: "",
			 .errors = errors };

	(void)snprintf(p.path, sizeof(p.path), PATH "%s.requirements[%zu]", which, i);
	if (!of_labels && !p.key[0])
		refuse_part(&p, "key", FIELD_REQUIRED, NULL, "must be specified");
	check_number(&p);
	if (of_labels)
		check_label(&p);
}

static void check_selector(const struct cJSON *selector, const char *which, bool of_labels,
			   struct field_errors *errors)
{
	const struct cJSON *list = json_get(selector, "requirements");
	const char *raw = json_str(selector, "rawSelector");
	char path[96];
	size_t i = 0;

	if (!json_is(selector, JSON_OBJECT))
		return;
	if (raw && raw[0] && json_len(list)) {
		auto_buf shown = BUF_INIT;
		buf_add_json_str(&shown, span_of(raw));
		(void)snprintf(path, sizeof(path), PATH "%s.rawSelector", which);
		field_errors_add(errors, FIELD_INVALID, path, shown.ptr, "%s",
				 "may not specified at the same time as requirements");
	}
	if ((!raw || !raw[0]) && !json_len(list)) {
		(void)snprintf(path, sizeof(path), PATH "%s.requirements", which);
		field_errors_add(
		    errors, FIELD_REQUIRED, path, NULL,
		    "when " PATH "%s is specified, requirements or rawSelector is required", which);
	}
	json_foreach (list, one)
		check_part(one, which, i++, of_labels, errors);
}

void review_check_selectors(const struct cJSON *resource, struct field_errors *errors)
{
	check_selector(json_get(resource, "fieldSelector"), "fieldSelector", false, errors);
	check_selector(json_get(resource, "labelSelector"), "labelSelector", true, errors);
}

/* ---- raw ones ---- */

/* The term's value: no comma or equals sign in it, and no escapes but of these and of themselves.
 */
static bool is_value(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '\\') {
			if (++i == s.len || !strchr("\\,=", s.ptr[i]))
				return false;
		} else if (s.ptr[i] == '=') {
			return false;
		}
	}
	return true;
}

/* name=value, name==value or name!=value, as fields.ParseSelector splits it. */
static bool is_field_term(struct span term)
{
	for (size_t i = 0; i < term.len; i++) {
		size_t op = 0;
		if (term.ptr[i] == '\\')
			i++;
		else if (term.ptr[i] == '!' && i + 1 < term.len && term.ptr[i + 1] == '=')
			op = 2;
		else if (term.ptr[i] == '=')
			op = i + 1 < term.len && term.ptr[i + 1] == '=' ? 2 : 1;
		if (op)
			return is_value(span_make(term.ptr + i + op, term.len - i - op));
	}
	return false;
}

static bool reads_fields(struct span raw)
{
	for (size_t from = 0, i = 0; i <= raw.len; i++) {
		if (i < raw.len && raw.ptr[i] == '\\') {
			i++;
			continue;
		}
		if (i < raw.len && raw.ptr[i] != ',')
			continue;
		if (i > from && !is_field_term(span_make(raw.ptr + from, i - from)))
			return false;
		from = i + 1;
	}
	return true;
}

static bool reads_labels(struct span raw)
{
	auto_selector s = SELECTOR_INIT;

	return selector_add_labels(&s, raw, NULL) == 0;
}

void review_unread_selectors(const struct cJSON *resource, struct buf *out)
{
	static const char words[] = "%s" PATH "%s ignored due to parse error";
	const char *fields = json_str(json_get(resource, "fieldSelector"), "rawSelector");
	const char *labels = json_str(json_get(resource, "labelSelector"), "rawSelector");

	if (fields && !reads_fields(span_of(fields)))
		buf_addf(out, words, out->len ? "; " : "", "fieldSelector");
	if (labels && !reads_labels(span_of(labels)))
		buf_addf(out, words, out->len ? "; " : "", "labelSelector");
}
