#include "kube/schema_rules.h"

#include "base/json.h"
#include "kube/schema_walk.h"

#include <errno.h>
#include <stdarg.h>

#define BIT(type) (1u << (type))

static void refuse(struct schema_walk *w, enum field_reason reason, const struct cJSON *value,
		   const char *detail)
{
	auto_buf shown = BUF_INIT;

	json_print(value, &shown);
	schema_walk_refuse(w, reason, shown.ptr, "%s", detail);
}

/* `spec.x in body should ...`, and the value. */
static void refuse_body(struct schema_walk *w, const struct cJSON *value, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
static void refuse_body(struct schema_walk *w, const struct cJSON *value, const char *fmt, ...)
{
	auto_buf path = BUF_INIT, detail = BUF_INIT;
	char what[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	schema_walk_path(w, true, &path);
	buf_addf(&detail, "%s in body %s", path.ptr ? path.ptr : "", what);
	refuse(w, FIELD_INVALID, value, detail.ptr);
}

static bool check_type(struct schema_walk *w, const struct schema_rules *r,
		       const struct cJSON *value)
{
	enum json_type type = json_type_of(value);
	int64_t v;

	if (type == JSON_NULL && (r->flags & RULES_NULLABLE))
		return false; /* fine, and nothing else applies */
	if (!(r->types & BIT(type)) || (type == JSON_NUMBER && (r->flags & RULES_INTEGER) &&
					json_value_int64(value, &v) == -EINVAL)) {
		schema_walk_refuse_type(w, value, r->type_name);
		return false;
	}
	return true;
}

static void check_enum(struct schema_walk *w, const struct schema_rules *r,
		       const struct cJSON *value)
{
	auto_buf detail = BUF_INIT;
	const char *sep = "supported values: ";

	json_foreach (r->enumeration, e)
		if (json_equal(e, value))
			return;
	json_foreach (r->enumeration, e) {
		buf_add_str(&detail, sep);
		if (json_is(e, JSON_STRING)) {
			json_print(e, &detail);
		} else {
			auto_buf text = BUF_INIT;
			json_print(e, &text);
			buf_add_json_str(&detail, buf_span(&text));
		}
		sep = ", ";
	}
	refuse(w, FIELD_NOT_SUPPORTED, value, detail.ptr);
}

static void check_number(struct schema_walk *w, const struct schema_rules *r,
			 const struct cJSON *value)
{
	struct decimal v = decimal_parse(json_number_text(value));

	if (r->flags & RULES_MINIMUM) {
		int c = decimal_cmp(v, r->minimum);
		if (r->flags & RULES_EXCLUSIVE_MINIMUM ? c <= 0 : c < 0)
			refuse_body(w, value, "should be greater than %s%.40s",
				    r->flags & RULES_EXCLUSIVE_MINIMUM ? "" : "or equal to ",
				    r->minimum_text);
	}
	if (r->flags & RULES_MAXIMUM) {
		int c = decimal_cmp(v, r->maximum);
		if (r->flags & RULES_EXCLUSIVE_MAXIMUM ? c >= 0 : c > 0)
			refuse_body(w, value, "should be less than %s%.40s",
				    r->flags & RULES_EXCLUSIVE_MAXIMUM ? "" : "or equal to ",
				    r->maximum_text);
	}
	if ((r->flags & RULES_MULTIPLE_OF) && !decimal_is_multiple(v, r->multiple))
		refuse_body(w, value, "should be a multiple of %.40s", r->multiple_text);
}

static size_t characters(struct span s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.len; i++)
		n += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
	return n;
}

static void check_string(struct schema_walk *w, const struct schema_rules *r,
			 const struct cJSON *value)
{
	struct span text = span_of(json_value_str(value));
	size_t n = characters(text);

	if ((r->flags & RULES_MAX_LENGTH) && n > r->max_length)
		schema_walk_refuse(w, FIELD_TOO_LONG, NULL, "may not be more than %u bytes",
				   r->max_length);
	if (n < r->min_length)
		refuse_body(w, value, "should be at least %u chars long", r->min_length);
	if (r->pattern && !schema_pattern_matches(r->pattern, text))
		refuse_body(w, value, "should match '%.500s'", r->pattern);
	if (r->format && !schema_format_fits(r->format, text)) {
		auto_buf shown = BUF_INIT;
		json_print(value, &shown);
		refuse_body(w, value, "must be of type %s: %.400s", r->format, shown.ptr);
	}
}

static void too_many(struct schema_walk *w, size_t n, uint32_t most, const char *what)
{
	char count[24];

	(void)snprintf(count, sizeof(count), "%zu", n);
	schema_walk_refuse(w, FIELD_TOO_MANY, count, "must have at most %u %s", most, what);
}

static void check_array(struct schema_walk *w, const struct schema_rules *r,
			const struct cJSON *value)
{
	size_t n = 0;

	json_foreach (value, it) {
		if (r->items) {
			schema_walk_push(w, SCHEMA_STEP_INDEX, NULL, n);
			schema_rules_check(w, r->items, it);
			schema_walk_pop(w);
		}
		n++;
	}
	if ((r->flags & RULES_MAX_ITEMS) && n > r->max_items)
		too_many(w, n, r->max_items, "items");
	if (n < r->min_items)
		refuse_body(w, value, "should have at least %u items", r->min_items);
}

static const struct schema_rules *rules_of_field(const struct schema_rules *r, const char *name)
{
	for (size_t i = 0; i < r->n_fields; i++)
		if (strcmp(r->fields[i].name, name) == 0)
			return r->fields[i].rules;
	return NULL;
}

static void check_object(struct schema_walk *w, const struct schema_rules *r,
			 const struct cJSON *value)
{
	size_t n = 0;

	json_foreach (value, it) {
		const struct schema_rules *f = r->n_fields ? rules_of_field(r, json_key(it)) : NULL;
		n++;
		if (!f && !r->values)
			continue;
		schema_walk_push(w, f ? SCHEMA_STEP_FIELD : SCHEMA_STEP_KEY, json_key(it), 0);
		schema_rules_check(w, f ? f : r->values, it);
		schema_walk_pop(w);
	}
	if ((r->flags & RULES_MAX_PROPERTIES) && n > r->max_properties)
		too_many(w, n, r->max_properties, "items");
	if (n < r->min_properties)
		refuse_body(w, value, "should have at least %u properties", r->min_properties);
	for (size_t i = 0; i < r->n_required; i++) {
		if (json_get(value, r->required[i]))
			continue;
		schema_walk_push(w, SCHEMA_STEP_FIELD, r->required[i], 0);
		schema_walk_refuse(w, FIELD_REQUIRED, NULL, "%s", "");
		schema_walk_pop(w);
	}
}

/* ---- junctors ---- */

/* Whether a branch holds; what is wrong goes to `errors`. */
static bool holds(const struct schema_walk *w, const struct schema_rules *branch,
		  const struct cJSON *value, struct field_errors *errors)
{
	struct schema_walk trial = {.errors = errors, .depth = w->depth};
	size_t depth = w->depth < SCHEMA_MAX_DEPTH ? w->depth : SCHEMA_MAX_DEPTH;

	memcpy(trial.path, w->path, depth * sizeof(trial.path[0]));
	schema_rules_check(&trial, branch, value);
	return !field_errors_any(errors);
}

static void merge(struct schema_walk *w, const struct field_errors *from)
{
	for (size_t i = 0; i < from->n; i++)
		field_errors_add(w->errors, from->items[i].reason, from->items[i].field,
				 from->items[i].value, "%s", from->items[i].detail);
}

static void refuse_junctor(struct schema_walk *w, const char *words)
{
	auto_buf path = BUF_INIT;

	schema_walk_path(w, true, &path);
	schema_walk_refuse(w, FIELD_INVALID, "\"\"", "\"%.400s\" %s", path.ptr ? path.ptr : "",
			   words);
}

/* How many of the branches hold; the errors of the one that failed least are kept. */
static size_t count_holding(const struct schema_walk *w, const struct schema_rules *const *branches,
			    size_t n, const struct cJSON *value, bool first_is_enough,
			    struct field_errors *ret_best)
{
	size_t valid = 0;

	for (size_t i = 0; i < n; i++) {
		struct field_errors e = {.n = 0};
		bool fine = holds(w, branches[i], value, &e);
		valid += fine;
		if (!fine && (!ret_best->n || e.n < ret_best->n)) {
			field_errors_done(ret_best);
			*ret_best = e;
		} else {
			field_errors_done(&e);
		}
		if (fine && first_is_enough)
			break;
	}
	return valid;
}

static void check_any(struct schema_walk *w, const struct schema_rules *r,
		      const struct cJSON *value)
{
	struct field_errors best = {.n = 0};

	if (!count_holding(w, r->any_of, r->n_any, value, true, &best)) {
		refuse_junctor(w, "must validate at least one schema (anyOf)");
		merge(w, &best);
	}
	field_errors_done(&best);
}

static void check_one(struct schema_walk *w, const struct schema_rules *r,
		      const struct cJSON *value)
{
	struct field_errors best = {.n = 0};
	size_t valid = count_holding(w, r->one_of, r->n_one, value, false, &best);

	if (valid == 0) {
		refuse_junctor(w, "must validate one and only one schema (oneOf). Found none "
				  "valid");
		merge(w, &best);
	} else if (valid > 1) {
		char words[100];
		(void)snprintf(words, sizeof(words),
			       "must validate one and only one schema (oneOf). Found %zu valid "
			       "alternatives",
			       valid);
		refuse_junctor(w, words);
	}
	field_errors_done(&best);
}

static void check_all(struct schema_walk *w, const struct schema_rules *r,
		      const struct cJSON *value)
{
	bool failed = false;

	for (size_t i = 0; i < r->n_all; i++) {
		struct field_errors e = {.n = 0};
		if (!holds(w, r->all_of[i], value, &e)) {
			merge(w, &e);
			failed = true;
		}
		field_errors_done(&e);
	}
	if (failed)
		refuse_junctor(w, "must validate all the schemas (allOf)");
}

static void check_not(struct schema_walk *w, const struct schema_rules *r,
		      const struct cJSON *value)
{
	struct field_errors e = {.n = 0};

	if (holds(w, r->negated, value, &e))
		refuse_junctor(w, "must not validate the schema (not)");
	field_errors_done(&e);
}

void schema_rules_check(struct schema_walk *w, const struct schema_rules *r,
			const struct cJSON *value)
{
	if (r->types && !check_type(w, r, value))
		return;
	if (r->enumeration)
		check_enum(w, r, value);
	switch (json_type_of(value)) {
	case JSON_NUMBER:
		check_number(w, r, value);
		break;
	case JSON_STRING:
		check_string(w, r, value);
		break;
	case JSON_ARRAY:
		check_array(w, r, value);
		break;
	case JSON_OBJECT:
		check_object(w, r, value);
		break;
	default:
		break;
	}
	if (r->n_any)
		check_any(w, r, value);
	if (r->n_one)
		check_one(w, r, value);
	if (r->n_all)
		check_all(w, r, value);
	if (r->negated)
		check_not(w, r, value);
}
