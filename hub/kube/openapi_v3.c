#include "kube/openapi_v3.h"

#include "base/json.h"
#include "kube/openapi_names.h"
#include "kube/schema_rules.h"

#include <inttypes.h>

static void add_key(struct buf *b, const char *key, bool *first)
{
	if (!*first)
		buf_add_char(b, ',');
	*first = false;
	buf_add_json_str(b, span_of(key));
	buf_add_char(b, ':');
}

static void add_text(struct buf *b, const char *key, const char *value, bool *first)
{
	if (!value || !value[0])
		return;
	add_key(b, key, first);
	buf_add_json_str(b, span_of(value));
}

static void add_texts(struct buf *b, const char *key, const char *const *values, bool *first)
{
	if (!values || !values[0])
		return;
	add_key(b, key, first);
	buf_add_char(b, '[');
	for (size_t i = 0; values[i]; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, span_of(values[i]));
	}
	buf_add_char(b, ']');
}

static void add_schema(struct buf *b, const struct schema *s, bool *first);

/* A reference, or the schema itself, as one JSON object. */
static void add_use(struct buf *b, const struct schema *s, const struct schema_field *f)
{
	bool first = true;

	buf_add_char(b, '{');
	if (f)
		add_text(b, "description", f->description, &first);
	if (f && f->default_json) {
		add_key(b, "default", &first);
		buf_add_str(b, f->default_json);
	}
	if (f) {
		add_text(b, "x-kubernetes-patch-strategy", f->patch_strategy, &first);
		add_text(b, "x-kubernetes-patch-merge-key", f->patch_merge_key, &first);
	}
	if (s->name) {
		add_key(b, "allOf", &first);
		buf_addf(b, "[{\"$ref\":\"#/components/schemas/%s\"}]", s->name);
	} else {
		add_schema(b, s, &first);
	}
	buf_add_char(b, '}');
}

static void add_fields(struct buf *b, const struct schema *s, bool *first)
{
	bool any = false;

	if (s->n_fields == 0)
		return;
	add_key(b, "properties", first);
	buf_add_char(b, '{');
	for (size_t i = 0; i < s->n_fields; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, span_of(s->fields[i].name));
		buf_add_char(b, ':');
		add_use(b, s->fields[i].schema, &s->fields[i]);
	}
	buf_add_char(b, '}');
	for (size_t i = 0; i < s->n_fields; i++) {
		if (!schema_field_is_required(s, i))
			continue;
		if (!any) {
			add_key(b, "required", first);
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
		add_key(b, "minimum", first);
		buf_add_i64(b, s->minimum);
	}
	if (s->flags & SCHEMA_HAS_MAX) {
		add_key(b, "maximum", first);
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
		add_key(b, sizes[i].key, first);
		buf_add_u64(b, sizes[i].value);
	}
	add_text(b, "pattern", s->pattern, first);
	add_texts(b, "enum", s->enumeration, first);
}

static void add_number(struct buf *b, const char *key, const char *text, bool exclusive,
		       bool *first)
{
	if (!text)
		return;
	add_key(b, key, first);
	buf_add_str(b, text);
	if (!exclusive)
		return;
	add_key(b, strcmp(key, "minimum") == 0 ? "exclusiveMinimum" : "exclusiveMaximum", first);
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
		add_key(b, counts[i].key, first);
		buf_add_u64(b, counts[i].value);
	}
	add_text(b, "pattern", r->pattern, first);
	if (r->enumeration) {
		add_key(b, "enum", first);
		json_print(r->enumeration, b);
	}
}

/* The members of a schema, without braces and without its own description. */
static void add_schema(struct buf *b, const struct schema *s, bool *first)
{
	static const char *const list_types[] = {
	    [SCHEMA_LIST_ATOMIC] = "atomic", [SCHEMA_LIST_SET] = "set", [SCHEMA_LIST_MAP] = "map"};

	if (s->type == SCHEMA_INT_OR_STRING) {
		add_key(b, "oneOf", first);
		buf_add_str(b, "[{\"type\":\"integer\"},{\"type\":\"string\"}]");
		add_text(b, "format", "int-or-string", first);
		return;
	}
	add_text(b, "type", openapi_type(s), first);
	add_text(b, "format", openapi_format(s), first);
	add_bounds(b, s, first);
	if (s->rules)
		add_rules(b, s->rules, first);
	add_fields(b, s, first);
	if (s->items) {
		add_key(b, s->type == SCHEMA_MAP ? "additionalProperties" : "items", first);
		add_use(b, s->items, NULL);
	}
	if (s->type == SCHEMA_ARRAY) {
		add_text(b, "x-kubernetes-list-type", list_types[s->list_type], first);
		add_texts(b, "x-kubernetes-list-map-keys", s->list_keys, first);
	}
	if (s->flags & SCHEMA_ATOMIC_MAP)
		add_text(b, "x-kubernetes-map-type", "atomic", first);
	if (s->type == SCHEMA_ANY || (s->flags & SCHEMA_KEEP_UNKNOWN)) {
		add_key(b, "x-kubernetes-preserve-unknown-fields", first);
		buf_add_str(b, "true");
	}
}

static void add_gvk(struct buf *b, const struct kind *k)
{
	buf_addf(b, "{\"group\":\"%s\",\"version\":\"%s\",\"kind\":\"%s\"}", k->group, k->version,
		 k->kind);
}

/* ---- paths ---- */

static void add_query(struct buf *b, const char *name, bool first)
{
	buf_addf(b, "%s{\"name\":\"%s\",\"in\":\"query\",\"schema\":{\"type\":\"string\"}}",
		 first ? "" : ",", name);
}

static void add_operation(struct buf *b, const struct kind *k, const char *method)
{
	bool patch = strcmp(method, "patch") == 0;
	char name[OPENAPI_NAME_MAX];

	buf_addf(b, "\"%s\":{\"operationId\":\"%s%s%s\",\"parameters\":[", method, method,
		 k->version, k->kind);
	if (patch) {
		add_query(b, "dryRun", true);
		add_query(b, "fieldManager", false);
		add_query(b, "fieldValidation", false);
		add_query(b, "force", false);
	}
	buf_add_char(b, ']');
	if (patch) {
		buf_add_str(b, ",\"requestBody\":{\"content\":{\"application/json-patch+json\":{},"
			       "\"application/merge-patch+json\":{},"
			       "\"application/apply-patch+yaml\":{}");
		if (k->strategic)
			buf_add_str(b, ",\"application/strategic-merge-patch+json\":{}");
		buf_add_str(b, "}}");
	}
	buf_addf(
	    b,
	    ",\"responses\":{\"200\":{\"description\":\"OK\",\"content\":{\"application/json\":"
	    "{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}}}}"
	    ",\"x-kubernetes-group-version-kind\":",
	    openapi_kind_name(k, name));
	add_gvk(b, k);
	buf_add_char(b, '}');
}

static void add_path(struct buf *b, const struct kind *k)
{
	char root[KIND_API_VERSION_MAX + 16];

	if (k->group[0])
		(void)snprintf(root, sizeof(root), "/apis/%s/%s", k->group, k->version);
	else
		(void)snprintf(root, sizeof(root), "/api/%s", k->version);
	buf_addf(b, "\"%s%s/%s/{name}\":{", root,
		 k->scope == KIND_NAMESPACED ? "/namespaces/{namespace}" : "", k->plural);
	add_operation(b, k, "get");
	if (k->verbs == KIND_VERBS_ALL) {
		buf_add_char(b, ',');
		add_operation(b, k, "patch");
	}
	buf_add_char(b, '}');
}

/* ---- documents ---- */

static void add_kind(struct buf *b, const struct kind *k)
{
	char name[OPENAPI_NAME_MAX];
	bool first = true;

	buf_addf(b, "\"%s\":{", openapi_kind_name(k, name));
	if (k->schema) {
		add_text(b, "description", k->schema->description, &first);
		add_schema(b, k->schema, &first);
	} else {
		add_text(b, "type", "object", &first);
	}
	add_key(b, "x-kubernetes-group-version-kind", &first);
	buf_add_char(b, '[');
	add_gvk(b, k);
	buf_add_str(b, "]}");
}

static void add_definition(struct buf *b, const struct schema *s)
{
	bool first = true;

	buf_addf(b, "\"%s\":{", s->name);
	add_text(b, "description", s->description, &first);
	add_schema(b, s, &first);
	buf_add_char(b, '}');
}

static bool is_in(const struct kind *k, struct span group, struct span version)
{
	return k->verbs != KIND_VERBS_NONE && span_is(group, k->group) &&
	       span_is(version, k->version);
}

bool openapi_v3_document(const struct kind_set *set, struct span group, struct span version,
			 struct buf *out)
{
	struct openapi_definitions d = {0};
	bool any = false;

	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (!is_in(k, group, version))
			continue;
		buf_add_str(out, any ? ","
				     : "{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"Kubernetes\","
				       "\"version\":\"v1\"},\"paths\":{");
		any = true;
		char name[OPENAPI_NAME_MAX];
		add_path(out, k);
		map_put(&d.seen, span_of(openapi_kind_name(k, name)), &d);
		openapi_definitions_add(&d, k);
	}
	if (any) {
		bool first = true;
		buf_add_str(out, "},\"components\":{\"schemas\":{");
		for (size_t i = 0; i < set->n_kinds; i++) {
			if (!is_in(set->kinds[i], group, version))
				continue;
			if (!first)
				buf_add_char(out, ',');
			first = false;
			add_kind(out, set->kinds[i]);
		}
		vec_foreach (&d.list, s) {
			buf_add_char(out, ',');
			add_definition(out, *s);
		}
		buf_add_str(out, "}}}");
	}
	openapi_definitions_done(&d);
	return any;
}

static bool is_first_of_version(const struct kind_set *set, size_t at)
{
	const struct kind *k = set->kinds[at];

	for (size_t i = 0; i < at; i++)
		if (is_in(set->kinds[i], span_of(k->group), span_of(k->version)))
			return false;
	return true;
}

void openapi_v3_index(const struct kind_set *set, struct buf *out)
{
	bool first = true;

	buf_add_str(out, "{\"paths\":{");
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		struct buf doc = BUF_MAX((size_t)64 << 20);
		char path[KIND_API_VERSION_MAX + 16];
		uint64_t hash = 14695981039346656037u;
		if (k->verbs == KIND_VERBS_NONE || !is_first_of_version(set, i))
			continue;
		(void)openapi_v3_document(set, span_of(k->group), span_of(k->version), &doc);
		for (size_t n = 0; n < doc.len; n++)
			hash = (hash ^ (unsigned char)doc.ptr[n]) * 1099511628211u;
		buf_done(&doc);
		if (k->group[0])
			(void)snprintf(path, sizeof(path), "apis/%s/%s", k->group, k->version);
		else
			(void)snprintf(path, sizeof(path), "api/%s", k->version);
		buf_addf(out,
			 "%s\"%s\":{\"serverRelativeURL\":\"/openapi/v3/%s?hash=%016" PRIX64 "\"}",
			 first ? "" : ",", path, path, hash);
		first = false;
	}
	buf_add_str(out, "}}");
}
