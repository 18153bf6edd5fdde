/*
 * A node of the structural part becomes a struct schema; value validations that it has no place
 * for, and all of a junctor's branches, become struct schema_rules beside it.
 */
#include "kube/schema_compile.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "kube/schema_rules.h"
#include "kube/validation_rules.h"

#include <errno.h>

struct compiler {
	struct arena *mem;
	const struct schema *object_meta;
	size_t nodes;
};

static const struct schema any_value = {.type = SCHEMA_ANY, .flags = SCHEMA_KEEP_UNKNOWN};
static const struct schema nullable_any = {.type = SCHEMA_ANY,
					   .flags = SCHEMA_KEEP_UNKNOWN | SCHEMA_NULLABLE};

static const struct schema *compile(struct compiler *c, const struct cJSON *node, int depth);
static const struct schema_rules *compile_rules(struct compiler *c, const struct cJSON *node,
						bool branch, int depth);

static const char *text_of(const struct cJSON *node, const char *key)
{
	const char *s = json_str(node, key);
	return s && s[0] ? s : NULL;
}

static const char *printed(struct compiler *c, const struct cJSON *value)
{
	auto_buf b = BUF_INIT;
	json_print(value, &b);
	return arena_strndup(c->mem, buf_span(&b).ptr, b.len);
}

static const char *const *texts(struct compiler *c, const struct cJSON *list, size_t *ret_n)
{
	size_t n = 0;
	const char **out = arena_array(c->mem, const char *, json_len(list) + 1);

	json_foreach (list, it)
		if (json_value_str(it))
			out[n++] = json_value_str(it);
	if (ret_n)
		*ret_n = n;
	return out;
}

/* A count that is not negative; false when absent. */
static bool count_of(const struct cJSON *node, const char *key, uint32_t *ret)
{
	int64_t v;

	if (json_int64(node, key, &v) < 0 || v < 0)
		return false;
	*ret = v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
	return true;
}

/* ---- rules ---- */

static void set_types(struct schema_rules *r, const char *type)
{
	static const struct {
		const char *name;
		enum json_type type;
	} table[] = {{"string", JSON_STRING}, {"integer", JSON_NUMBER}, {"number", JSON_NUMBER},
		     {"boolean", JSON_BOOL},  {"array", JSON_ARRAY},	{"object", JSON_OBJECT}};

	for (size_t i = 0; type && i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].name, type) != 0)
			continue;
		r->types = 1u << table[i].type;
		r->type_name = table[i].name;
		if (i == 1)
			r->flags |= RULES_INTEGER;
	}
}

static void set_numbers(struct compiler *c, struct schema_rules *r, const struct cJSON *node)
{
	const struct cJSON *min = json_get(node, "minimum"), *max = json_get(node, "maximum"),
			   *of = json_get(node, "multipleOf");

	if (json_is(min, JSON_NUMBER)) {
		r->flags |= RULES_MINIMUM;
		r->flags |=
		    json_bool(node, "exclusiveMinimum", false) ? RULES_EXCLUSIVE_MINIMUM : 0;
		r->minimum = decimal_parse(json_number_text(min));
		r->minimum_text = printed(c, min);
	}
	if (json_is(max, JSON_NUMBER)) {
		r->flags |= RULES_MAXIMUM;
		r->flags |=
		    json_bool(node, "exclusiveMaximum", false) ? RULES_EXCLUSIVE_MAXIMUM : 0;
		r->maximum = decimal_parse(json_number_text(max));
		r->maximum_text = printed(c, max);
	}
	if (json_is(of, JSON_NUMBER)) {
		r->flags |= RULES_MULTIPLE_OF;
		r->multiple = decimal_parse(json_number_text(of));
		r->multiple_text = printed(c, of);
	}
}

static void set_counts(struct schema_rules *r, const struct cJSON *node)
{
	const struct {
		const char *key;
		uint32_t *to;
		uint32_t flag;
	} table[] = {{"minLength", &r->min_length, 0},
		     {"maxLength", &r->max_length, RULES_MAX_LENGTH},
		     {"minItems", &r->min_items, 0},
		     {"maxItems", &r->max_items, RULES_MAX_ITEMS},
		     {"minProperties", &r->min_properties, 0},
		     {"maxProperties", &r->max_properties, RULES_MAX_PROPERTIES}};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (count_of(node, table[i].key, table[i].to))
			r->flags |= table[i].flag;
}

static const struct schema_rules *const *branches(struct compiler *c, const struct cJSON *list,
						  uint16_t *ret_n, int depth)
{
	size_t n = 0;
	const struct schema_rules **out =
	    arena_array(c->mem, const struct schema_rules *, json_len(list) + 1);

	json_foreach (list, it)
		if (n < UINT16_MAX)
			out[n++] = compile_rules(c, it, true, depth + 1);
	*ret_n = (uint16_t)n;
	return out;
}

static void set_junctors(struct compiler *c, struct schema_rules *r, const struct cJSON *node,
			 int depth)
{
	r->all_of = branches(c, json_get(node, "allOf"), &r->n_all, depth);
	r->any_of = branches(c, json_get(node, "anyOf"), &r->n_any, depth);
	r->one_of = branches(c, json_get(node, "oneOf"), &r->n_one, depth);
	if (json_is(json_get(node, "not"), JSON_OBJECT))
		r->negated = compile_rules(c, json_get(node, "not"), true, depth + 1);
}

/* What lies below a branch: it has no structure that would carry it. */
static void set_children(struct compiler *c, struct schema_rules *r, const struct cJSON *node,
			 int depth)
{
	const struct cJSON *properties = json_get(node, "properties");
	struct schema_rules_field *f =
	    arena_array(c->mem, struct schema_rules_field, json_len(properties) + 1);

	json_foreach (properties, p) {
		if (r->n_fields == UINT16_MAX)
			break;
		f[r->n_fields++] =
		    (struct schema_rules_field){json_key(p), compile_rules(c, p, true, depth + 1)};
	}
	r->fields = f;
	if (json_is(json_get(node, "items"), JSON_OBJECT))
		r->items = compile_rules(c, json_get(node, "items"), true, depth + 1);
	if (json_is(json_get(node, "additionalProperties"), JSON_OBJECT))
		r->values =
		    compile_rules(c, json_get(node, "additionalProperties"), true, depth + 1);
	size_t n;
	r->required = texts(c, json_get(node, "required"), &n);
	r->n_required = (uint16_t)num_min(n, UINT16_MAX);
}

static const struct schema_rules *compile_rules(struct compiler *c, const struct cJSON *node,
						bool branch, int depth)
{
	struct schema_rules *r = arena_new(c->mem, struct schema_rules);
	const char *format = text_of(node, "format");

	if (depth > JSON_MAX_DEPTH || c->nodes++ > SCHEMA_COMPILE_MAX_NODES)
		return r;
	if (json_bool(node, "nullable", false))
		r->flags |= RULES_NULLABLE;
	if (json_is(json_get(node, "enum"), JSON_ARRAY))
		r->enumeration = json_get(node, "enum");
	set_numbers(c, r, node);
	set_counts(r, node);
	r->pattern = text_of(node, "pattern");
	if (format && schema_format_is_known(format))
		r->format = format;
	set_junctors(c, r, node, depth);
	if (branch) {
		set_types(r, text_of(node, "type"));
		set_children(c, r, node, depth);
	}
	return r;
}

static bool says_nothing(const struct schema_rules *r)
{
	return !(r->flags & ~(uint32_t)RULES_NULLABLE) && !r->types && !r->enumeration &&
	       !r->min_length && !r->min_items && !r->min_properties && !r->pattern && !r->format &&
	       !r->n_all && !r->n_any && !r->n_one && !r->negated && !r->n_fields && !r->items &&
	       !r->values && !r->n_required;
}

/* ---- structure ---- */

static int by_name(const void *a, const void *b)
{
	const struct schema_field *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static bool is_listed(const struct cJSON *list, const char *name)
{
	json_foreach (list, it)
		if (json_value_str(it) && strcmp(json_value_str(it), name) == 0)
			return true;
	return false;
}

static void add_implied(struct compiler *c, struct schema_field *f, uint16_t *n, bool embedded)
{
	static const struct schema text = {.type = SCHEMA_STRING};
	static const struct schema_field implied[] = {
	    {.name = "apiVersion",
	     .schema = &text,
	     .description = "APIVersion defines the versioned schema of this representation of an "
			    "object: group/version."},
	    {.name = "kind",
	     .schema = &text,
	     .description = "Kind is a string value representing the REST resource this object "
			    "represents."}};

	for (size_t i = 0; i < ARRAY_LEN(implied); i++) {
		f[*n] = implied[i];
		f[(*n)++].required = embedded;
	}
	f[(*n)++] = (struct schema_field){.name = "metadata",
					  .schema = c->object_meta,
					  .description = "Standard object's metadata."};
}

static bool is_implied(const char *name)
{
	return !strcmp(name, "apiVersion") || !strcmp(name, "kind") || !strcmp(name, "metadata");
}

/* properties, required and defaults of an object; those of every object when `whole`. */
static void set_fields(struct compiler *c, struct schema *s, const struct cJSON *node, bool whole,
		       int depth)
{
	const struct cJSON *properties = json_get(node, "properties"),
			   *required = json_get(node, "required");
	size_t most = json_len(properties) + json_len(required) + 3;
	struct schema_field *f = arena_array(c->mem, struct schema_field, most);

	if (whole)
		add_implied(c, f, &s->n_fields, s->flags & SCHEMA_EMBEDDED);
	json_foreach (properties, p) {
		const struct cJSON *value = json_get(p, "default");
		if ((whole && is_implied(json_key(p))) || s->n_fields >= SCHEMA_MAX_WIDE_FIELDS)
			continue;
		f[s->n_fields++] = (struct schema_field){
		    .name = json_key(p),
		    .schema = compile(c, p, depth + 1),
		    .description = text_of(p, "description") ? text_of(p, "description") : "",
		    .default_json = value ? printed(c, value) : NULL,
		    .required = is_listed(required, json_key(p))};
	}
	/* What is required without being described must be there all the same. */
	json_foreach (required, it) {
		const char *name = json_value_str(it);
		if (!name || json_get(properties, name) || (whole && is_implied(name)) ||
		    s->n_fields >= SCHEMA_MAX_WIDE_FIELDS || !(s->flags & SCHEMA_KEEP_UNKNOWN))
			continue;
		f[s->n_fields++] = (struct schema_field){
		    .name = name, .schema = &nullable_any, .description = "", .required = true};
	}
	qsort(f, s->n_fields, sizeof(*f), by_name);
	for (size_t i = 0; i < s->n_fields && s->n_fields <= SCHEMA_MAX_FIELDS; i++) {
		s->required |= (uint64_t)f[i].required << i;
		s->defaulted |= (uint64_t)(f[i].default_json != NULL) << i;
	}
	s->fields = f;
}

static void set_object(struct compiler *c, struct schema *s, const struct cJSON *node, bool root,
		       int depth)
{
	const struct cJSON *values = json_get(node, "additionalProperties");
	const char *map_type = text_of(node, "x-kubernetes-map-type");

	s->type = SCHEMA_OBJECT;
	if (map_type && strcmp(map_type, "atomic") == 0)
		s->flags |= SCHEMA_ATOMIC_MAP;
	if (values && !json_is(values, JSON_NULL) && !json_get(node, "properties") && !root) {
		s->type = SCHEMA_MAP;
		s->items =
		    json_is(values, JSON_OBJECT) ? compile(c, values, depth + 1) : &nullable_any;
		return;
	}
	set_fields(c, s, node, root || (s->flags & SCHEMA_EMBEDDED), depth);
}

static void set_array(struct compiler *c, struct schema *s, const struct cJSON *node, int depth)
{
	const char *list_type = text_of(node, "x-kubernetes-list-type");

	s->type = SCHEMA_ARRAY;
	s->items = json_is(json_get(node, "items"), JSON_OBJECT)
		       ? compile(c, json_get(node, "items"), depth + 1)
		       : &any_value;
	if (list_type && strcmp(list_type, "set") == 0)
		s->list_type = SCHEMA_LIST_SET;
	if (list_type && strcmp(list_type, "map") == 0) {
		s->list_type = SCHEMA_LIST_MAP;
		s->list_keys = texts(c, json_get(node, "x-kubernetes-list-map-keys"), NULL);
	}
}

static void set_scalar(struct schema *s, const char *type, const char *format)
{
	s->type = SCHEMA_ANY;
	if (type && strcmp(type, "string") == 0)
		s->type = SCHEMA_STRING;
	else if (type && strcmp(type, "integer") == 0)
		s->type = SCHEMA_INTEGER;
	else if (type && strcmp(type, "number") == 0)
		s->type = SCHEMA_NUMBER;
	else if (type && strcmp(type, "boolean") == 0)
		s->type = SCHEMA_BOOLEAN;
	if (s->type == SCHEMA_INTEGER && format)
		s->format = strcmp(format, "int32") == 0   ? SCHEMA_INT32
			    : strcmp(format, "int64") == 0 ? SCHEMA_INT64
							   : SCHEMA_PLAIN;
	if (s->type == SCHEMA_ANY)
		s->flags |= SCHEMA_KEEP_UNKNOWN;
}

static bool has_validations_below(const struct schema *s)
{
	for (size_t i = 0; i < s->n_fields; i++)
		if (s->fields[i].schema->has_validations)
			return true;
	return s->items && s->items->has_validations;
}

static struct schema *compile_node(struct compiler *c, const struct cJSON *node, bool root,
				   int depth)
{
	const char *type = text_of(node, "type");
	struct schema *s = arena_new(c->mem, struct schema);

	*s = any_value;
	if (depth > JSON_MAX_DEPTH || c->nodes++ > SCHEMA_COMPILE_MAX_NODES)
		return s;
	*s = (struct schema){0};
	s->description = text_of(node, "description") ? text_of(node, "description") : "";
	if (json_bool(node, "nullable", false))
		s->flags |= SCHEMA_NULLABLE;
	if (json_bool(node, "x-kubernetes-preserve-unknown-fields", false))
		s->flags |= SCHEMA_KEEP_UNKNOWN;
	if (json_bool(node, "x-kubernetes-embedded-resource", false))
		s->flags |= SCHEMA_EMBEDDED;
	if (json_bool(node, "x-kubernetes-int-or-string", false))
		s->type = SCHEMA_INT_OR_STRING;
	else if (root || (type && strcmp(type, "object") == 0) || json_get(node, "properties"))
		set_object(c, s, node, root, depth);
	else if (type && strcmp(type, "array") == 0)
		set_array(c, s, node, depth);
	else
		set_scalar(s, type, text_of(node, "format"));
	const struct schema_rules *r = compile_rules(c, node, false, depth);
	if (!says_nothing(r))
		s->rules = r;
	s->validations =
	    validation_rules_compile(c->mem, s, node, root || (s->flags & SCHEMA_EMBEDDED));
	s->has_validations = s->validations || has_validations_below(s);
	return s;
}

static const struct schema *compile(struct compiler *c, const struct cJSON *node, int depth)
{
	return compile_node(c, node, false, depth);
}

/* metadata is ObjectMeta whatever the schema says; it may ask more of the name. */
static void add_metadata_rules(struct compiler *c, struct schema *root, const struct cJSON *node)
{
	const struct cJSON *meta = json_path(node, "properties", "metadata", NULL);

	if (!json_get(meta, "properties"))
		return;
	struct schema_rules *r = arena_new(c->mem, struct schema_rules);
	struct schema_rules_field *f = arena_new(c->mem, struct schema_rules_field);
	if (root->rules)
		*r = *root->rules;
	*f = (struct schema_rules_field){"metadata", compile_rules(c, meta, true, 1)};
	r->fields = f;
	r->n_fields = 1;
	root->rules = r;
}

const struct schema *schema_compile(struct arena *mem, const struct cJSON *root,
				    const struct schema *object_meta)
{
	struct compiler c = {.mem = mem, .object_meta = object_meta};
	struct schema *s = compile_node(&c, root, true, 0);

	add_metadata_rules(&c, s, root);
	return s;
}

/* ---- defaults ---- */

struct defaults {
	struct compiler c;
	struct buf path;
	struct field_errors *errors;
};

static void cut(struct defaults *d, size_t at)
{
	d->path.len = at;
	d->path.ptr[at] = '\0';
}

static void refuse_default(struct defaults *d, const struct cJSON *value, const char *why)
{
	auto_buf shown = BUF_INIT;

	json_print(value, &shown);
	field_errors_add(d->errors, FIELD_INVALID, d->path.ptr, shown.ptr, "%s", why);
}

static void check_default(struct defaults *d, const struct cJSON *node, const struct cJSON *value)
{
	struct field_errors found = {.n = 0};
	auto_buf unknown = BUF_INIT;
	auto_json *copy = json_dup(value);
	size_t at = d->path.len;

	buf_add_str(&d->path, ".default");
	if (json_is(value, JSON_NULL) && !json_bool(node, "nullable", false))
		refuse_default(d, value, "must not be null");
	else
		schema_apply(compile(&d->c, node, 0), copy, &found, &unknown);
	if (unknown.len) {
		struct span rest = buf_span(&unknown), first = span_split(&rest, '\n');
		char words[300];
		(void)snprintf(words, sizeof(words), "must not have unknown fields: %.*s",
			       (int)(first.len < 200 ? first.len : 200), first.ptr);
		refuse_default(d, value, words);
	}
	for (size_t i = 0; i < found.n; i++) {
		size_t base = d->path.len;
		if (found.items[i].field[0])
			buf_addf(&d->path, ".%s", found.items[i].field);
		field_errors_add(d->errors, found.items[i].reason, d->path.ptr,
				 found.items[i].value, "%s", found.items[i].detail);
		cut(d, base);
	}
	field_errors_done(&found);
	cut(d, at);
}

static void walk_defaults(struct defaults *d, const struct cJSON *node, int depth)
{
	size_t at = d->path.len;

	if (depth > JSON_MAX_DEPTH)
		return;
	if (json_get(node, "default"))
		check_default(d, node, json_get(node, "default"));
	json_foreach (json_get(node, "properties"), p) {
		buf_addf(&d->path, ".properties[%s]", json_key(p));
		walk_defaults(d, p, depth + 1);
		cut(d, at);
	}
	if (json_is(json_get(node, "items"), JSON_OBJECT)) {
		buf_add_str(&d->path, ".items");
		walk_defaults(d, json_get(node, "items"), depth + 1);
		cut(d, at);
	}
	if (json_is(json_get(node, "additionalProperties"), JSON_OBJECT)) {
		buf_add_str(&d->path, ".additionalProperties");
		walk_defaults(d, json_get(node, "additionalProperties"), depth + 1);
		cut(d, at);
	}
}

void schema_defaults_check(const struct cJSON *root, const char *path,
			   const struct schema *object_meta, struct field_errors *errors)
{
	auto_arena mem = ARENA_INIT;
	struct defaults d = {.c = {.mem = &mem, .object_meta = object_meta}, .errors = errors};

	buf_add_str(&d.path, path);
	walk_defaults(&d, root, 0);
	buf_done(&d.path);
}
