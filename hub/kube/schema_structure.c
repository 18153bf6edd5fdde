/*
 * What a structural schema may be: apiextensions' rules, one node at a time. `level` says where
 * the node stands, since the root, a property, an item and a junctor's branch differ in what
 * they must and must not say.
 */
#include "kube/schema_compile.h"

#include "base/buf.h"
#include "base/json.h"

enum level { LEVEL_ROOT, LEVEL_FIELD, LEVEL_ITEM, LEVEL_BRANCH };

struct check {
	struct buf path;
	struct field_errors *errors;
	size_t nodes;
};

static void walk(struct check *c, const struct cJSON *node, const struct cJSON *outer,
		 enum level level, int depth);

static void cut(struct check *c, size_t at)
{
	c->path.len = at;
	c->path.ptr[at] = '\0';
}

/* An error at the node, or at a member of it. */
static void refuse(struct check *c, const char *member, enum field_reason reason,
		   const struct cJSON *value, const char *words)
{
	auto_buf shown = BUF_INIT;
	size_t at = c->path.len;

	if (member)
		buf_addf(&c->path, ".%s", member);
	if (value)
		json_print(value, &shown);
	field_errors_add(c->errors, reason, c->path.ptr, value ? shown.ptr : NULL, "%s", words);
	cut(c, at);
}

static bool is_set(const struct cJSON *node, const char *key)
{
	const struct cJSON *v = json_get(node, key);
	const char *s = json_value_str(v);

	if (!v || json_is(v, JSON_NULL) || (s && !s[0]))
		return false;
	return !json_is(v, JSON_BOOL) || json_value_bool(v, false);
}

static bool is_text(const struct cJSON *node, const char *key, const char *want)
{
	const char *s = json_str(node, key);
	return s && strcmp(s, want) == 0;
}

static void check_unsupported(struct check *c, const struct cJSON *node)
{
	static const struct {
		const char *key, *words;
	} table[] = {
	    {"$ref", "$ref is not supported"},
	    {"id", "id is not supported"},
	    {"definitions", "definitions is not supported"},
	    {"dependencies", "dependencies is not supported"},
	    {"patternProperties", "patternProperties is not supported"},
	    {"additionalItems", "additionalItems is not supported"},
	    {"uniqueItems",
	     "uniqueItems cannot be set to true since the runtime complexity becomes "
	     "quadratic"},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (is_set(node, table[i].key))
			refuse(c, table[i].key, FIELD_FORBIDDEN, NULL, table[i].words);
	const struct cJSON *values = json_get(node, "additionalProperties");
	if (json_is(values, JSON_BOOL) && !json_value_bool(values, true))
		refuse(c, "additionalProperties", FIELD_FORBIDDEN, NULL,
		       "additionalProperties cannot be set to false");
	else if (values && !json_is(values, JSON_BOOL) && !json_is(values, JSON_OBJECT))
		refuse(c, "additionalProperties", FIELD_INVALID, values,
		       "must be a schema or a boolean");
	if (json_len(json_get(node, "properties")) && is_set(node, "additionalProperties"))
		refuse(c, "additionalProperties", FIELD_FORBIDDEN, NULL,
		       "additionalProperties and properties are mutual exclusive");
	if (json_is(json_get(node, "items"), JSON_ARRAY))
		refuse(c, "items", FIELD_FORBIDDEN, NULL,
		       "items must be a schema object and not an array");
}

static void check_type(struct check *c, const struct cJSON *node, enum level level)
{
	static const char *const types[] = {"array",  "boolean", "integer",
					    "number", "object",	 "string"};
	static const char *const empty[] = {
	    [LEVEL_ROOT] = "must not be empty at the root",
	    [LEVEL_FIELD] = "must not be empty for specified object fields",
	    [LEVEL_ITEM] = "must not be empty for specified array items"};
	const char *type = json_str(node, "type");
	bool free_form = is_set(node, "x-kubernetes-int-or-string") ||
			 is_set(node, "x-kubernetes-preserve-unknown-fields");

	if (!type || !type[0]) {
		if (!free_form || level == LEVEL_ROOT)
			refuse(c, "type", FIELD_REQUIRED, NULL, empty[level]);
		return;
	}
	if (level == LEVEL_ROOT && strcmp(type, "object") != 0) {
		refuse(c, "type", FIELD_INVALID, json_get(node, "type"),
		       "must be object at the root");
		return;
	}
	if (strcmp(type, "null") == 0) {
		refuse(c, "type", FIELD_FORBIDDEN, NULL,
		       "type cannot be set to null, use nullable as an alternative");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (strcmp(types[i], type) == 0)
			return;
	refuse(c, "type", FIELD_NOT_SUPPORTED, json_get(node, "type"),
	       "supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", "
	       "\"string\"");
}

static void check_extensions(struct check *c, const struct cJSON *node)
{
	const struct cJSON *keep = json_get(node, "x-kubernetes-preserve-unknown-fields");

	if (json_is(keep, JSON_BOOL) && !json_value_bool(keep, true))
		refuse(c, "x-kubernetes-preserve-unknown-fields", FIELD_INVALID, keep,
		       "must be true or undefined");
	if (is_set(node, "x-kubernetes-int-or-string") && is_set(node, "type"))
		refuse(c, "type", FIELD_INVALID, json_get(node, "type"),
		       "must be empty if x-kubernetes-int-or-string is true");
	if (!is_set(node, "x-kubernetes-embedded-resource"))
		return;
	if (!is_text(node, "type", "object"))
		refuse(c, "type", FIELD_INVALID, json_get(node, "type"),
		       "must be object if x-kubernetes-embedded-resource is true");
	if (!json_len(json_get(node, "properties")) &&
	    !is_set(node, "x-kubernetes-preserve-unknown-fields"))
		refuse(c, "properties", FIELD_REQUIRED, NULL,
		       "must not be empty if x-kubernetes-embedded-resource is true without "
		       "x-kubernetes-preserve-unknown-fields");
}

static void check_map_keys(struct check *c, const struct cJSON *node)
{
	const struct cJSON *items = json_get(node, "items"),
			   *keys = json_get(node, "x-kubernetes-list-map-keys");
	size_t at = c->path.len, i = 0;

	if (!is_text(items, "type", "object")) {
		refuse(c, "items.type", FIELD_INVALID, json_get(items, "type"),
		       "must be object if parent array's x-kubernetes-list-type is map");
		return;
	}
	if (!json_len(keys))
		refuse(c, "x-kubernetes-list-map-keys", FIELD_REQUIRED, NULL,
		       "must not be empty if x-kubernetes-list-type is map");
	json_foreach (keys, k) {
		const char *name = json_value_str(k);
		const struct cJSON *p = name ? json_path(items, "properties", name, NULL) : NULL;
		bool required = false;
		json_foreach (json_get(items, "required"), r)
			required |= json_equal(r, k);
		buf_addf(&c->path, ".x-kubernetes-list-map-keys[%zu]", i++);
		if (!p)
			refuse(c, NULL, FIELD_INVALID, k,
			       "entries must all be names of item properties");
		else if (!required && !json_get(p, "default"))
			refuse(c, NULL, FIELD_REQUIRED, NULL,
			       "this property is in x-kubernetes-list-map-keys, so it must have a "
			       "default or be a required property");
		cut(c, at);
	}
}

static void check_list_type(struct check *c, const struct cJSON *node)
{
	const struct cJSON *list = json_get(node, "x-kubernetes-list-type"),
			   *map = json_get(node, "x-kubernetes-map-type");

	if (is_set(node, "x-kubernetes-list-type")) {
		if (!is_text(node, "type", "array"))
			refuse(c, "type", FIELD_INVALID, json_get(node, "type"),
			       "must be array if x-kubernetes-list-type is specified");
		if (!is_text(node, "x-kubernetes-list-type", "atomic") &&
		    !is_text(node, "x-kubernetes-list-type", "set") &&
		    !is_text(node, "x-kubernetes-list-type", "map"))
			refuse(c, "x-kubernetes-list-type", FIELD_NOT_SUPPORTED, list,
			       "supported values: \"atomic\", \"map\", \"set\"");
	}
	if (is_text(node, "x-kubernetes-list-type", "map"))
		check_map_keys(c, node);
	else if (json_len(json_get(node, "x-kubernetes-list-map-keys")))
		refuse(c, "x-kubernetes-list-type", FIELD_REQUIRED, NULL,
		       "must be map if x-kubernetes-list-map-keys is non-empty");
	if (!is_set(node, "x-kubernetes-map-type"))
		return;
	if (!is_text(node, "type", "object"))
		refuse(c, "type", FIELD_INVALID, json_get(node, "type"),
		       "must be object if x-kubernetes-map-type is specified");
	if (!is_text(node, "x-kubernetes-map-type", "atomic") &&
	    !is_text(node, "x-kubernetes-map-type", "granular"))
		refuse(c, "x-kubernetes-map-type", FIELD_NOT_SUPPORTED, map,
		       "supported values: \"atomic\", \"granular\"");
}

static void check_values(struct check *c, const struct cJSON *node)
{
	const char *pattern = json_str(node, "pattern");
	char words[SCHEMA_PATTERN_WORDS];

	if (pattern && schema_pattern_problem(pattern, words)) {
		char detail[SCHEMA_PATTERN_WORDS + 80];
		(void)snprintf(detail, sizeof(detail),
			       "must be a valid regular expression, but isn't: %s", words);
		refuse(c, "pattern", FIELD_INVALID, json_get(node, "pattern"), detail);
	}
	if (json_len(json_get(node, "properties")) > SCHEMA_MAX_WIDE_FIELDS - 3)
		refuse(c, "properties", FIELD_TOO_MANY, NULL, "must have at most 1021 items");
}

/* A branch says what values must be, never what they are. */
static void check_branch(struct check *c, const struct cJSON *node, bool type_is_fine)
{
	static const char *const undefined[] = {"nullable",
						"default",
						"description",
						"title",
						"additionalProperties",
						"x-kubernetes-preserve-unknown-fields",
						"x-kubernetes-embedded-resource",
						"x-kubernetes-int-or-string",
						"x-kubernetes-list-type",
						"x-kubernetes-map-type"};

	for (size_t i = 0; i < ARRAY_LEN(undefined); i++)
		if (is_set(node, undefined[i]))
			refuse(c, undefined[i], FIELD_FORBIDDEN, NULL,
			       "must be undefined to be structural");
	if (!type_is_fine && is_set(node, "type"))
		refuse(c, "type", FIELD_FORBIDDEN, NULL, "must be empty to be structural");
}

/* The two ways to say the obvious of an IntOrString: integer, string in this order. */
static bool is_int_or_string_any(const struct cJSON *outer, const struct cJSON *list)
{
	return is_set(outer, "x-kubernetes-int-or-string") && json_len(list) == 2 &&
	       is_text(json_at(list, 0), "type", "integer") &&
	       is_text(json_at(list, 1), "type", "string");
}

static void walk_branch(struct check *c, const struct cJSON *branch, const struct cJSON *outer,
			bool type_is_fine, int depth)
{
	if (!json_is(branch, JSON_OBJECT))
		return;
	check_branch(c, branch, type_is_fine);
	walk(c, branch, outer, LEVEL_BRANCH, depth + 1);
}

static void walk_junctors(struct check *c, const struct cJSON *node, const struct cJSON *outer,
			  int depth)
{
	static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
	size_t at = c->path.len;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct cJSON *list = json_get(node, lists[i]);
		bool fine = i == 1 && is_int_or_string_any(outer, list);
		size_t n = 0;
		json_foreach (list, it) {
			buf_addf(&c->path, ".%s[%zu]", lists[i], n++);
			walk_branch(c, it, outer, fine, depth);
			cut(c, at);
		}
	}
	buf_add_str(&c->path, ".not");
	walk_branch(c, json_get(node, "not"), outer, false, depth);
	cut(c, at);
}

/* In a branch: what the structure outside says of the same place. */
static const struct cJSON *below(const struct cJSON *outer, const char *property)
{
	const struct cJSON *values = json_get(outer, "additionalProperties");
	const struct cJSON *p = json_path(outer, "properties", property, NULL);

	return p ? p : values;
}

static void walk_children(struct check *c, const struct cJSON *node, const struct cJSON *outer,
			  enum level level, int depth)
{
	const struct cJSON *items = json_get(node, "items"),
			   *values = json_get(node, "additionalProperties");
	bool branch = level == LEVEL_BRANCH;
	size_t at = c->path.len;

	json_foreach (json_get(node, "properties"), p) {
		const struct cJSON *o = branch ? below(outer, json_key(p)) : p;
		buf_addf(&c->path, ".properties[%s]", json_key(p));
		if (branch && !o && !is_set(outer, "x-kubernetes-preserve-unknown-fields"))
			refuse(c, NULL, FIELD_REQUIRED, NULL,
			       "must be specified in the structure outside of the junctor too");
		else if (branch)
			walk_branch(c, p, o, false, depth);
		else if (!(level == LEVEL_ROOT && strcmp(json_key(p), "metadata") == 0))
			walk(c, p, p, LEVEL_FIELD, depth + 1);
		cut(c, at);
	}
	if (json_is(items, JSON_OBJECT)) {
		buf_add_str(&c->path, ".items");
		if (branch)
			walk_branch(c, items, json_get(outer, "items"), false, depth);
		else
			walk(c, items, items, LEVEL_ITEM, depth + 1);
		cut(c, at);
	}
	if (json_is(values, JSON_OBJECT) && !branch) {
		buf_add_str(&c->path, ".additionalProperties");
		walk(c, values, values, LEVEL_FIELD, depth + 1);
		cut(c, at);
	}
}

/* Rules of metadata and of a junctor's branches are not run: so they are refused. */
static void refuse_validations(struct check *c, const struct cJSON *node)
{
	if (json_len(json_get(node, "x-kubernetes-validations")))
		refuse(c, "x-kubernetes-validations", FIELD_FORBIDDEN, NULL,
		       "rules are not supported in metadata, allOf, anyOf, oneOf and not");
}

static void check_metadata(struct check *c, const struct cJSON *root)
{
	json_foreach (json_path(root, "properties", "metadata", "properties", NULL), p)
		if (strcmp(json_key(p), "name") != 0 && strcmp(json_key(p), "generateName") != 0)
			refuse(c, "properties[metadata]", FIELD_FORBIDDEN, NULL,
			       "must not specify anything other than name and generateName, but "
			       "metadata is implicitly specified");
	json_foreach (json_path(root, "properties", "metadata", "properties", NULL), p) {
		size_t at = c->path.len;
		buf_addf(&c->path, ".properties[metadata].properties[%s]", json_key(p));
		refuse_validations(c, p);
		check_values(c, p);
		cut(c, at);
	}
}

static void walk(struct check *c, const struct cJSON *node, const struct cJSON *outer,
		 enum level level, int depth)
{
	if (depth > JSON_MAX_DEPTH || c->nodes++ > SCHEMA_COMPILE_MAX_NODES) {
		if (c->nodes++ == SCHEMA_COMPILE_MAX_NODES + 2 || depth > JSON_MAX_DEPTH)
			refuse(c, NULL, FIELD_FORBIDDEN, NULL, "the schema is too large");
		return;
	}
	check_unsupported(c, node);
	check_values(c, node);
	if (level == LEVEL_BRANCH)
		refuse_validations(c, node);
	if (level == LEVEL_ROOT)
		check_metadata(c, node);
	if (level != LEVEL_BRANCH) {
		check_type(c, node, level);
		check_extensions(c, node);
		check_list_type(c, node);
		if (is_text(node, "type", "array") &&
		    !json_is(json_get(node, "items"), JSON_OBJECT))
			refuse(c, "items", FIELD_REQUIRED, NULL, "must be specified");
	}
	walk_children(c, node, outer, level, depth);
	walk_junctors(c, node, outer, depth);
}

void schema_structure_check(const struct cJSON *root, const char *path, struct field_errors *errors)
{
	struct check c = {.errors = errors};

	buf_add_str(&c.path, path);
	walk(&c, root, root, LEVEL_ROOT, 0);
	buf_done(&c.path);
}
