/*
 * The two versions differ in few things: where a reference points to and what may stand beside it,
 * and how "a number or a text" is said.
 */
#include "kube/openapi_json.h"

#include "base/json.h"
#include "kube/openapi_names.h"
#include "kube/schema_rules.h"

struct writer {
	struct buf *b;
	enum openapi_version version;
};

void openapi_json_key(struct buf *b, const char *key, bool *first)
{
	if (!*first)
		buf_add_char(b, ',');
	*first = false;
	buf_add_json_str(b, span_of(key));
	buf_add_char(b, ':');
}

void openapi_json_text(struct buf *b, const char *key, const char *value, bool *first)
{
	if (!value || !value[0])
		return;
	openapi_json_key(b, key, first);
	buf_add_json_str(b, span_of(value));
}

static void add_texts(struct buf *b, const char *key, const char *const *values, bool *first)
{
	if (!values || !values[0])
		return;
	openapi_json_key(b, key, first);
	buf_add_char(b, '[');
	for (size_t i = 0; values[i]; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, span_of(values[i]));
	}
	buf_add_char(b, ']');
}

static void add_schema(const struct writer *w, const struct schema *s, bool *first);

/* A reference, or the schema itself, as one JSON object. */
static void add_use(const struct writer *w, const struct schema *s, const struct schema_field *f)
{
	struct buf *b = w->b;
	bool first = true;

	buf_add_char(b, '{');
	if (f)
		openapi_json_text(b, "description", f->description, &first);
	if (f && f->default_json) {
		openapi_json_key(b, "default", &first);
		buf_add_str(b, f->default_json);
	}
	if (f) {
		openapi_json_text(b, "x-kubernetes-patch-strategy", f->patch_strategy, &first);
		openapi_json_text(b, "x-kubernetes-patch-merge-key", f->patch_merge_key, &first);
	}
	if (s->name && w->version == OPENAPI_V2) {
		openapi_json_key(b, "$ref", &first);
		buf_addf(b, "\"#/definitions/%s\"", s->name);
	} else if (s->name) {
		openapi_json_key(b, "allOf", &first);
		buf_addf(b, "[{\"$ref\":\"#/components/schemas/%s\"}]", s->name);
	} else {
		add_schema(w, s, &first);
	}
	buf_add_char(b, '}');
}

static void add_fields(const struct writer *w, const struct schema *s, bool *first)
{
	struct buf *b = w->b;
	bool any = false;

	if (s->n_fields == 0)
		return;
	openapi_json_key(b, "properties", first);
	buf_add_char(b, '{');
	for (size_t i = 0; i < s->n_fields; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, span_of(s->fields[i].name));
		buf_add_char(b, ':');
		add_use(w, s->fields[i].schema, &s->fields[i]);
	}
	buf_add_char(b, '}');
	for (size_t i = 0; i < s->n_fields; i++) {
		if (!schema_field_is_required(s, i))
			continue;
		if (!any) {
			openapi_json_key(b, "required", first);
			buf_add_char(b, '[');
		} else {
			buf_add_char(b, ',');
		}
		any = true;
		buf_add_json_str(b, span_of(s->fields[i].name));
	}
	if (any)
		buf_add_char(b, ']');
}

static void add_bounds(struct buf *b, const struct schema *s, bool *first)
{
	if (s->flags & SCHEMA_HAS_MIN) {
		openapi_json_key(b, "minimum", first);
		buf_add_i64(b, s->minimum);
	}
	if (s->flags & SCHEMA_HAS_MAX) {
		openapi_json_key(b, "maximum", first);
		buf_add_i64(b, s->maximum);
	}
	const struct {
		const char *key;
		uint32_t value;
	} sizes[] = {{"minLength", s->min_length},
		     {"maxLength", s->max_length},
		     {"minItems", s->min_items},
		     {"maxItems", s->max_items}};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (!sizes[i].value)
			continue;
		openapi_json_key(b, sizes[i].key, first);
		buf_add_u64(b, sizes[i].value);
	}
	openapi_json_text(b, "pattern", s->pattern, first);
	add_texts(b, "enum", s->enumeration, first);
}

static void add_number(struct buf *b, const char *key, const char *text, bool exclusive,
		       bool *first)
{
	if (!text)
		return;
	openapi_json_key(b, key, first);
	buf_add_str(b, text);
	if (!exclusive)
		return;
	openapi_json_key(b, strcmp(key, "minimum") == 0 ? "exclusiveMinimum" : "exclusiveMaximum",
			 first);
	buf_add_str(b, "true");
}

/* What users' schemas ask of values; the junctors, which tell a reader little, are left out. */
static void add_rules(struct buf *b, const struct schema_rules *r, bool *first)
{
	const struct {
		const char *key;
		uint32_t value;
		bool given;
	} counts[] = {{"minLength", r->min_length, r->min_length},
		      {"maxLength", r->max_length, r->flags & RULES_MAX_LENGTH},
		      {"minItems", r->min_items, r->min_items},
		      {"maxItems", r->max_items, r->flags & RULES_MAX_ITEMS},
		      {"minProperties", r->min_properties, r->min_properties},
		      {"maxProperties", r->max_properties, r->flags & RULES_MAX_PROPERTIES}};

	add_number(b, "minimum", r->flags & RULES_MINIMUM ? r->minimum_text : NULL,
		   r->flags & RULES_EXCLUSIVE_MINIMUM, first);
	add_number(b, "maximum", r->flags & RULES_MAXIMUM ? r->maximum_text : NULL,
		   r->flags & RULES_EXCLUSIVE_MAXIMUM, first);
	add_number(b, "multipleOf", r->flags & RULES_MULTIPLE_OF ? r->multiple_text : NULL, false,
		   first);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		if (!counts[i].given)
			continue;
		openapi_json_key(b, counts[i].key, first);
		buf_add_u64(b, counts[i].value);
	}
	openapi_json_text(b, "pattern", r->pattern, first);
	if (r->enumeration) {
		openapi_json_key(b, "enum", first);
		json_print(r->enumeration, b);
	}
}

/* The members of a schema, without braces and without its own description. */
static void add_schema(const struct writer *w, const struct schema *s, bool *first)
{
	struct buf *b = w->b;
	static const char *const list_types[] = {
	    [SCHEMA_LIST_ATOMIC] = "atomic", [SCHEMA_LIST_SET] = "set", [SCHEMA_LIST_MAP] = "map"};

	if (s->type == SCHEMA_INT_OR_STRING) {
		if (w->version == OPENAPI_V2) { /* has no oneOf */
			openapi_json_text(b, "type", "string", first);
			openapi_json_text(b, "format", "int-or-string", first);
			return;
		}
		openapi_json_key(b, "oneOf", first);
		buf_add_str(b, "[{\"type\":\"integer\"},{\"type\":\"string\"}]");
		openapi_json_text(b, "format", "int-or-string", first);
		return;
	}
	openapi_json_text(b, "type", openapi_type(s), first);
	openapi_json_text(b, "format", openapi_format(s), first);
	add_bounds(b, s, first);
	if (s->rules)
		add_rules(b, s->rules, first);
	add_fields(w, s, first);
	if (s->items) {
		openapi_json_key(b, s->type == SCHEMA_MAP ? "additionalProperties" : "items",
				 first);
		add_use(w, s->items, NULL);
	}
	if (s->type == SCHEMA_ARRAY) {
		openapi_json_text(b, "x-kubernetes-list-type", list_types[s->list_type], first);
		add_texts(b, "x-kubernetes-list-map-keys", s->list_keys, first);
	}
	if (s->flags & SCHEMA_ATOMIC_MAP)
		openapi_json_text(b, "x-kubernetes-map-type", "atomic", first);
	if (s->type == SCHEMA_ANY || (s->flags & SCHEMA_KEEP_UNKNOWN)) {
		openapi_json_key(b, "x-kubernetes-preserve-unknown-fields", first);
		buf_add_str(b, "true");
	}
}

void openapi_json_schema(struct buf *b, const struct schema *s, enum openapi_version version,
			 bool *first)
{
	struct writer w = {b, version};
	add_schema(&w, s, first);
}

void openapi_json_gvk(struct buf *b, const struct kind *k)
{
	buf_addf(b, "{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}", k->group, k->version,
		 k->kind);
}

void openapi_json_kind(struct buf *b, const struct kind *k, enum openapi_version version)
{
	char name[OPENAPI_NAME_MAX];
	bool first = true;

	buf_addf(b, "\"%s\":{", openapi_kind_name(k, name));
	if (k->schema) {
		openapi_json_text(b, "description", k->schema->description, &first);
		openapi_json_schema(b, k->schema, version, &first);
	} else {
		openapi_json_text(b, "type", "object", &first);
	}
	openapi_json_key(b, "x-kubernetes-group-version-kind", &first);
	buf_add_char(b, '[');
	openapi_json_gvk(b, k);
	buf_add_str(b, "]}");
}

void openapi_json_definition(struct buf *b, const struct schema *s, enum openapi_version version)
{
	bool first = true;

	buf_addf(b, "\"%s\":{", s->name);
	openapi_json_text(b, "description", s->description, &first);
	openapi_json_schema(b, s, version, &first);
	buf_add_char(b, '}');
}
