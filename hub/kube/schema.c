/*
 * The pass over containers: null, unknown, default, required, then down. One visit of every
 * value; the path costs a stack entry until something is wrong.
 */
#include "kube/schema.h"

#include "base/clock.h"
#include "base/json.h"
#include "kube/quantity.h"
#include "kube/schema_rules.h"
#include "kube/schema_walk.h"
#include "kube/validation_rules.h"

static void apply(struct schema_walk *w, const struct schema *s, struct cJSON *value);

const struct schema_field *schema_field_find(const struct schema *s, const char *name)
{
	size_t low = 0, high = s->n_fields;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const char *at = s->fields[mid].name;
		int c = (unsigned char)name[0] - (unsigned char)at[0];
		if (c == 0)
			c = strcmp(name, at);
		if (c == 0)
			return &s->fields[mid];
		if (c < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static void note_unknown(struct schema_walk *w, const char *name)
{
	auto_buf path = BUF_INIT;

	if (!w->unknown || w->n_unknown++ >= SCHEMA_MAX_UNKNOWN)
		return;
	schema_walk_push(w, SCHEMA_STEP_FIELD, name, 0);
	schema_walk_path(w, false, &path);
	schema_walk_pop(w);
	buf_addf(w->unknown, "%s\n", path.ptr);
}

/* Most defaults are scalars or {}: those need no parser. */
static struct cJSON *default_value(const char *text)
{
	struct cJSON *v = NULL;
	size_t n = strlen(text);

	if (text[0] == '"' && !memchr(text, '\\', n))
		return json_new_span(span_make(text + 1, n - 2));
	if (strcmp(text, "{}") == 0)
		return json_object();
	if (text[0] == 't' || text[0] == 'f')
		return json_new_bool(text[0] == 't');
	if (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'))
		return json_new_number(span_make(text, n));
	return json_parse(span_make(text, n), NULL, &v, NULL) < 0 ? NULL : v;
}

static void add_default(struct schema_walk *w, const struct schema_field *f, struct cJSON *object)
{
	bool native = w->native && f->native_json;
	struct cJSON *v = default_value(native ? f->native_json : f->default_json);

	json_add(object, f->name, v);
	if (json_is(v, JSON_NULL))
		return;
	schema_walk_push(w, SCHEMA_STEP_FIELD, f->name, 0);
	apply(w, f->schema, v);
	schema_walk_pop(w);
}

static bool in_metadata(const struct schema_walk *w)
{
	return w->depth && strcmp(w->path[0].name, "metadata") == 0;
}

/* A structure of a Go type is always there: what is asked for is in it. Whether a list of it must
 * have something in it, its kind's rules say. */
static void require(struct schema_walk *w, const struct schema_field *f, struct cJSON *object)
{
	if (w->native &&
	    (f->schema->type == SCHEMA_ARRAY || f->schema->flags & SCHEMA_RULED || in_metadata(w)))
		return;
	bool made = w->native && f->schema->type == SCHEMA_OBJECT && f->schema->n_fields;
	struct cJSON *v = made ? json_object() : NULL;

	if (made)
		json_add(object, f->name, v);
	schema_walk_push(w, SCHEMA_STEP_FIELD, f->name, 0);
	if (made)
		apply(w, f->schema, v);
	else
		schema_walk_refuse(w, FIELD_REQUIRED, NULL, "%s", "");
	schema_walk_pop(w);
}

/* A bit for each field. */
struct seen {
	uint64_t words[SCHEMA_MAX_WIDE_FIELDS / 64];
};

static void see(struct seen *seen, size_t i)
{
	seen->words[i / 64] |= (uint64_t)1 << (i % 64);
}

static bool was_seen(const struct seen *seen, size_t i)
{
	return seen->words[i / 64] >> (i % 64) & 1;
}

static uint64_t defaulted(const struct schema_walk *w, const struct schema *s)
{
	return w->native ? s->native : s->defaulted;
}

static void apply_missing(struct schema_walk *w, const struct schema *s, struct cJSON *object,
			  uint64_t seen)
{
	uint64_t with_default = defaulted(w, s);

	for (uint64_t left = with_default & ~seen; left; left &= left - 1)
		add_default(w, &s->fields[__builtin_ctzll(left)], object);
	for (uint64_t left = s->required & ~with_default & ~seen; left; left &= left - 1)
		require(w, &s->fields[__builtin_ctzll(left)], object);
}

static void apply_missing_wide(struct schema_walk *w, const struct schema *s, struct cJSON *object,
			       const struct seen *seen)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		if (was_seen(seen, i))
			continue;
		if (f->default_json)
			add_default(w, f, object);
		else if (f->required)
			require(w, f, object);
	}
}

static bool is_zero(const struct cJSON *value)
{
	int64_t n;

	switch (json_type_of(value)) {
	case JSON_STRING:
		return !json_value_str(value)[0];
	case JSON_NUMBER:
		return json_value_int64(value, &n) == 0 && n == 0;
	case JSON_BOOL:
		return !json_value_bool(value, true);
	case JSON_ARRAY:
	case JSON_OBJECT:
		return !json_first(value);
	case JSON_NULL:
	case JSON_INVALID:
		break;
	}
	return false;
}

static bool has_type(const struct schema *s, const struct cJSON *value)
{
	static const enum json_type types[] = {
	    [SCHEMA_MAP] = JSON_OBJECT,	   [SCHEMA_ARRAY] = JSON_ARRAY,
	    [SCHEMA_STRING] = JSON_STRING, [SCHEMA_INTEGER] = JSON_NUMBER,
	    [SCHEMA_BOOLEAN] = JSON_BOOL,
	};
	return s->type < ARRAY_LEN(types) && types[s->type] == json_type_of(value);
}

static bool is_time(const struct schema *s)
{
	return s->format == SCHEMA_DATE_TIME || s->format == SCHEMA_MICRO_TIME;
}

/* What a Go struct cannot tell from absence, and what its field does not write. */
static bool says_nothing(const struct schema_walk *w, const struct schema *s,
			 const struct schema_field *f, const struct cJSON *value)
{
	size_t i = (size_t)(f - s->fields);

	if (!w->native)
		return false;
	if (i < SCHEMA_MAX_FIELDS && s->unsaid >> i & 1 && is_zero(value))
		return has_type(f->schema, value);
	if (schema_field_is_required(s, i) && !is_time(f->schema) &&
	    (f->schema->type == SCHEMA_STRING ||
	     (f->schema->type == SCHEMA_INTEGER && f->schema->minimum > 0)))
		return has_type(f->schema, value) && is_zero(value);
	return false;
}

/* The text in which it is printed; NULL where it stays as it is. Owned. */
static struct cJSON *time_reprint(const struct schema *s, const struct cJSON *value)
{
	const char *text = json_value_str(value);
	char canonical[CLOCK_TEXT_MAX];
	usec t;

	if (!text || clock_parse(span_of(text), &t) < 0 ||
	    (s->format == SCHEMA_MICRO_TIME && !schema_is_micro_time(span_of(text))))
		return NULL;
	if (s->format == SCHEMA_MICRO_TIME)
		(void)clock_format_micro(t, canonical);
	else
		(void)clock_format(t, canonical);
	return strcmp(text, canonical) == 0 ? NULL : json_new_str(canonical);
}

/* Kubernetes' own types read quantities and times into numbers, and print these again. */
static void reprint(const struct schema_walk *w, const struct schema *s, struct cJSON *parent,
		    struct cJSON *value)
{
	struct cJSON *printed = NULL;

	if (w->native && s->type == SCHEMA_QUANTITY)
		printed = quantity_reprint(value);
	else if (w->native && is_time(s))
		printed = time_reprint(s, value);
	if (printed)
		json_replace(parent, value, printed);
}

/* Where Go writes a null it is the default. */
static bool keeps_null(const struct schema_walk *w, const struct schema_field *f)
{
	if (f->schema->type == SCHEMA_ANY)
		return true;
	if (w->native)
		return f->native_json && strcmp(f->native_json, "null") == 0;
	return f->schema->flags & SCHEMA_NULLABLE;
}

static void apply_object(struct schema_walk *w, const struct schema *s, struct cJSON *object)
{
	bool wide = s->n_fields > SCHEMA_MAX_FIELDS;
	struct seen seen;

	memset(&seen, 0, wide ? sizeof(seen) : sizeof(seen.words[0]));
	for (struct cJSON *c = json_first(object), *next; c; c = next) {
		const struct schema_field *f = schema_field_find(s, json_key(c));
		next = json_next(c);
		if (!f) {
			bool kept = s->flags & SCHEMA_KEEP_UNKNOWN;
			if (!kept || w->native)
				note_unknown(w, json_key(c));
			if (!kept)
				json_remove_child(object, c);
			continue;
		}
		if (json_is(c, JSON_NULL)) {
			if (!keeps_null(w, f))
				json_remove_child(object, c);
			else
				see(&seen, (size_t)(f - s->fields));
			continue;
		}
		if (says_nothing(w, s, f, c)) {
			json_remove_child(object, c);
			continue;
		}
		see(&seen, (size_t)(f - s->fields));
		if (json_is_lent(c))
			continue;
		schema_walk_push(w, SCHEMA_STEP_FIELD, f->name, 0);
		apply(w, f->schema, c);
		schema_walk_pop(w);
		reprint(w, f->schema, object, c);
	}
	if (wide)
		apply_missing_wide(w, s, object, &seen);
	else if ((defaulted(w, s) | s->required) & ~seen.words[0])
		apply_missing(w, s, object, seen.words[0]);
}

/* A null in a list or map of a Go type is that type's zero value. */
static struct cJSON *zero_of(const struct schema *s)
{
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
		return json_object();
	case SCHEMA_STRING:
		return json_new_str("");
	case SCHEMA_INTEGER:
		return json_new_int(0);
	case SCHEMA_BOOLEAN:
		return json_new_bool(false);
	case SCHEMA_QUANTITY:
		return json_new_str("0");
	case SCHEMA_ANY:
	case SCHEMA_ARRAY:
	case SCHEMA_NUMBER:
	case SCHEMA_INT_OR_STRING:
		break;
	}
	return NULL;
}

static void fill_nulls(const struct schema *s, struct cJSON *container)
{
	for (struct cJSON *c = json_first(container), *next; c; c = next) {
		struct cJSON *zero = json_is(c, JSON_NULL) ? zero_of(s->items) : NULL;
		next = json_next(c);
		if (zero)
			json_replace(container, c, zero);
	}
}

static void apply_map(struct schema_walk *w, const struct schema *s, struct cJSON *map)
{
	if (w->native)
		fill_nulls(s, map);
	for (struct cJSON *c = json_first(map), *next; c; c = next) {
		next = json_next(c);
		if (json_is(c, JSON_NULL) && !(s->items->flags & SCHEMA_NULLABLE)) {
			json_remove_child(map, c);
			continue;
		}
		schema_walk_push(w, SCHEMA_STEP_KEY, json_key(c), 0);
		apply(w, s->items, c);
		schema_walk_pop(w);
		reprint(w, s->items, map, c);
	}
}

static void apply_array(struct schema_walk *w, const struct schema *s, struct cJSON *list)
{
	size_t n = 0;

	if (w->native)
		fill_nulls(s, list);
	json_foreach (list, c) {
		schema_walk_push(w, SCHEMA_STEP_INDEX, NULL, n++);
		apply(w, s->items, c);
		schema_walk_pop(w);
	}
	if (schema_walk_is_ruled(w, s))
		return;
	if (s->max_items && n > s->max_items) {
		char count[24];
		(void)snprintf(count, sizeof(count), "%zu", n);
		schema_walk_refuse(w, FIELD_TOO_MANY, count, "must have at most %u items",
				   s->max_items);
	}
	if (n < s->min_items)
		schema_walk_refuse(w, FIELD_INVALID, n ? NULL : "[]",
				   "should have at least %u items", s->min_items);
	if (s->list_type != SCHEMA_LIST_ATOMIC && !(s->flags & SCHEMA_LAX_KEYS) && !w->native)
		schema_list_check(w, s, list);
}

static void apply(struct schema_walk *w, const struct schema *s, struct cJSON *value)
{
	enum json_type type = json_type_of(value);

	if (w->depth >= SCHEMA_MAX_DEPTH) {
		schema_walk_refuse(w, FIELD_INVALID, NULL, "nested too deeply");
		return;
	}
	if (type == JSON_NULL && (s->flags & SCHEMA_NULLABLE))
		return;
	size_t wrong = w->type_errors;
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
	case SCHEMA_MAP:
		if (type != JSON_OBJECT)
			schema_walk_refuse_type(w, value, "object");
		else if (s->type == SCHEMA_MAP)
			apply_map(w, s, value);
		else if (s->n_fields || !(s->flags & SCHEMA_KEEP_UNKNOWN))
			apply_object(w, s, value);
		break;
	case SCHEMA_ARRAY:
		if (type != JSON_ARRAY)
			schema_walk_refuse_type(w, value, "array");
		else
			apply_array(w, s, value);
		break;
	case SCHEMA_ANY:
	case SCHEMA_STRING:
	case SCHEMA_INTEGER:
	case SCHEMA_NUMBER:
	case SCHEMA_BOOLEAN:
	case SCHEMA_INT_OR_STRING:
	case SCHEMA_QUANTITY:
		schema_value_check(w, s, value);
		break;
	}
	if (s->rules && w->type_errors == wrong)
		schema_rules_check(w, s->rules, value);
}

void schema_apply(const struct schema *s, struct cJSON *object, struct field_errors *errors,
		  struct buf *unknown)
{
	struct schema_walk w = {.errors = errors, .unknown = unknown};

	apply(&w, s, object);
}

size_t schema_apply_kind(const struct kind *k, struct cJSON *object, struct field_errors *errors,
			 struct buf *unknown)
{
	struct schema_walk w = {.errors = errors, .unknown = unknown, .native = k->strategic};

	apply(&w, k->schema, object);
	return w.type_errors;
}

void schema_admit(const struct kind *k, struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors, struct buf *unknown)
{
	if (schema_apply_kind(k, object, errors, unknown))
		return;
	if (k->schema->has_validations && !field_errors_any(errors))
		validation_rules_run(k->schema, object, w->old, errors);
	if (k->default_object)
		k->default_object(k, object, w);
	if (k->validate)
		k->validate(k, object, w, errors);
}

void schema_renew(const struct kind *k, struct cJSON *object)
{
	struct field_errors ignored = {0};

	if (!k->strategic || !k->schema->has_native)
		return;
	auto_json *as_it_was = k->default_object ? json_dup(object) : NULL;
	struct kind_write w = {.old = as_it_was, .subresource = ""};
	if (schema_apply_kind(k, object, &ignored, NULL) == 0 && k->default_object)
		k->default_object(k, object, &w);
	field_errors_done(&ignored);
}
