#include "kube/crd_version.h"

#include "base/json.h"
#include "kube/jsonpath.h"
#include "kube/names.h"
#include "kube/schema_compile.h"
#include "kube/selector_match.h"
#include "kube/validation_rules.h"

#include <ctype.h>
#include <errno.h>

void crd_cut(struct crd_check *c, size_t at)
{
	c->path.len = at;
	c->path.ptr[at] = '\0';
}

void crd_refuse(struct crd_check *c, const char *member, enum field_reason reason,
		const struct cJSON *value, const char *words)
{
	auto_buf shown = BUF_INIT;
	size_t at = c->path.len;

	if (member)
		buf_addf(&c->path, "%s%s", at ? "." : "", member);
	if (value)
		json_print(value, &shown);
	field_errors_add(c->errors, reason, c->path.ptr, value ? shown.ptr : NULL, "%s", words);
	crd_cut(c, at);
}

#define NO_SIMPLE_PATH "must be a simple json path starting with ."
#define COLUMN_TYPES   "must be one of boolean,date,integer,number,string"

/* ".spec.replicas": names and dots alone. Below `root` (".spec.") unless NULL. */
static bool is_simple_path(const char *path, const char *root)
{
	size_t depth = 0;

	if (!path || path[0] != '.' || (root && strncmp(path, root, strlen(root)) != 0))
		return false;
	for (const char *p = path; *p; p++) {
		if (*p == '.' && (p[1] == '\0' || p[1] == '.'))
			return false;
		if (*p != '.' && !isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return false;
		depth += *p == '.';
	}
	return depth <= SELECTOR_FIELD_DEPTH;
}

static void check_scale(struct crd_check *c, const struct cJSON *version)
{
	const struct cJSON *scale = json_path(version, "subresources", "scale", NULL);
	const struct {
		const char *key, *root, *words;
	} table[] = {
	    {"specReplicasPath", ".spec.", "should be a json path under .spec"},
	    {"statusReplicasPath", ".status.", "should be a json path under .status"},
	};
	const char *selector = json_str(scale, "labelSelectorPath");
	size_t at = c->path.len;

	if (!json_is(scale, JSON_OBJECT))
		return;
	buf_add_str(&c->path, ".subresources.scale");
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *path = json_str(scale, table[i].key);
		if (!path || !path[0])
			crd_refuse(c, table[i].key, FIELD_REQUIRED, NULL, "");
		else if (path[0] != '.')
			crd_refuse(c, table[i].key, FIELD_INVALID, json_get(scale, table[i].key),
				   NO_SIMPLE_PATH);
		else if (!is_simple_path(path, table[i].root))
			crd_refuse(c, table[i].key, FIELD_INVALID, json_get(scale, table[i].key),
				   table[i].words);
	}
	if (selector && selector[0] && !is_simple_path(selector, ".spec.") &&
	    !is_simple_path(selector, ".status."))
		crd_refuse(
		    c, "labelSelectorPath", FIELD_INVALID, json_get(scale, "labelSelectorPath"),
		    selector[0] == '.' ? "should be a json path under either .spec or .status"
				       : NO_SIMPLE_PATH);
	crd_cut(c, at);
}

static bool is_one_of(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], text) == 0)
			return true;
	return false;
}

static void check_column(struct crd_check *c, const struct cJSON *column)
{
	static const char *const types[] = {"integer", "number", "string", "boolean", "date"};
	static const char *const formats[] = {"int32", "int64", "float",     "double",
					      "byte",  "date",	"date-time", "password"};
	const char *name = json_str(column, "name"), *type = json_str(column, "type"),
		   *format = json_str(column, "format"), *path = json_str(column, "jsonPath");
	struct span ignored;

	if (!name || !name[0])
		crd_refuse(c, "name", FIELD_REQUIRED, NULL, "");
	if (!type || !type[0])
		crd_refuse(c, "type", FIELD_REQUIRED, NULL, COLUMN_TYPES);
	else if (!is_one_of(type, types, ARRAY_LEN(types)))
		crd_refuse(c, "type", FIELD_INVALID, json_get(column, "type"), COLUMN_TYPES);
	if (format && format[0] && !is_one_of(format, formats, ARRAY_LEN(formats)))
		crd_refuse(c, "format", FIELD_INVALID, json_get(column, "format"),
			   "must be one of byte,date,date-time,double,float,int32,int64,password");
	if (!path || !path[0])
		crd_refuse(c, "JSONPath", FIELD_REQUIRED, NULL, "");
	else if (path[0] != '.')
		crd_refuse(c, "JSONPath", FIELD_INVALID, json_get(column, "jsonPath"),
			   NO_SIMPLE_PATH);
	else if (jsonpath_first(path, SPAN("{}"), &ignored) == -EINVAL)
		crd_refuse(c, "JSONPath", FIELD_INVALID, json_get(column, "jsonPath"),
			   "is an invalid or unsupported path");
}

static void check_columns(struct crd_check *c, const struct cJSON *version)
{
	size_t at = c->path.len, n = 0;

	json_foreach (json_get(version, "additionalPrinterColumns"), it) {
		buf_addf(&c->path, ".additionalPrinterColumns[%zu]", n++);
		check_column(c, it);
		crd_cut(c, at);
	}
}

static const struct cJSON *schema_at(const struct cJSON *schema, const char *path)
{
	struct span rest = span_of(path + 1);

	while (rest.ptr && schema) {
		char name[256];
		struct span step = span_split(&rest, '.');
		(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(step));
		schema = json_path(schema, "properties", name, NULL);
	}
	return schema;
}

static void check_selectable(struct crd_check *c, const struct cJSON *version)
{
	const struct cJSON *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
	size_t at = c->path.len, n = 0;

	json_foreach (json_get(version, "selectableFields"), it) {
		const char *path = json_str(it, "jsonPath");
		const struct cJSON *p;
		buf_addf(&c->path, ".selectableFields[%zu]", n++);
		if (!path || !path[0])
			crd_refuse(c, "jsonPath", FIELD_REQUIRED, NULL, "");
		else if (!is_simple_path(path, NULL) || strncmp(path, ".metadata.", 10) == 0)
			crd_refuse(c, "jsonPath", FIELD_INVALID, json_get(it, "jsonPath"),
				   "is an invalid path: only simple paths outside metadata are "
				   "allowed");
		else if (!(p = schema_at(schema, path)) || !json_str(p, "type") ||
			 !strstr("string boolean integer", json_str(p, "type")))
			crd_refuse(c, "jsonPath", FIELD_INVALID, json_get(it, "jsonPath"),
				   "is an invalid path: must be a field of type string, boolean or "
				   "integer");
		crd_cut(c, at);
	}
}

/* What all versions share apiextensions keeps, and shows, once for all of them. */
static bool is_shared(const struct cJSON *versions, const char *member)
{
	const struct cJSON *first = json_get(json_first(versions), member);

	json_foreach (versions, v)
		if (!json_equal(json_get(v, member), first))
			return false;
	return true;
}

/* One member of the n-th version, unless it was checked with the first one's. */
static void check_shared(struct crd_check *c, const struct cJSON *versions,
			 const struct cJSON *version, const char *member,
			 void (*check)(struct crd_check *c, const struct cJSON *version))
{
	bool shared = is_shared(versions, member);
	struct buf own = c->path;

	if (shared && version != json_first(versions))
		return;
	if (shared) {
		c->path = BUF_INIT;
		buf_add_str(&c->path, "spec");
	}
	check(c, version);
	if (shared) {
		buf_done(&c->path);
		c->path = own;
	}
}

static void check_schema(struct crd_check *c, const struct kind *k, const struct cJSON *version,
			 bool shared)
{
	const struct cJSON *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
	auto_buf path = BUF_INIT;

	if (!schema) {
		crd_refuse(c, "schema.openAPIV3Schema", FIELD_REQUIRED, NULL,
			   "schemas are required");
		return;
	}
	buf_addf(&path, "%s.openAPIV3Schema", shared ? "spec.validation" : c->path.ptr);
	if (!shared) {
		buf_clear(&path);
		buf_addf(&path, "%s.schema.openAPIV3Schema", c->path.ptr);
	}
	size_t before = c->errors->n;
	schema_structure_check(schema, path.ptr, c->errors);
	if (c->errors->n != before)
		return;
	auto_arena mem = ARENA_INIT;
	schema_defaults_check(schema, path.ptr, crd_object_meta(k), c->errors);
	validation_rules_check(schema, path.ptr, schema_compile(&mem, schema, crd_object_meta(k)),
			       c->errors);
}

static void check_version(struct crd_check *c, const struct kind *k, const struct cJSON *versions,
			  const struct cJSON *version)
{
	bool shared = is_shared(versions, "schema");
	const char *name = json_str(version, "name");

	if (!name || !names_is_dns1035(span_of(name)))
		crd_refuse(c, "name", FIELD_INVALID, json_get(version, "name"),
			   names_dns1035_rule(span_of(name)));
	if (!shared || version == json_first(versions))
		check_schema(c, k, version, shared);
	check_shared(c, versions, version, "additionalPrinterColumns", check_columns);
	check_shared(c, versions, version, "selectableFields", check_selectable);
	check_shared(c, versions, version, "subresources", check_scale);
}

void crd_check_versions(struct crd_check *c, const struct kind *k, const struct cJSON *versions)
{
	size_t n = 0, storage = 0, served = 0;

	json_foreach (versions, v) {
		for (const struct cJSON *o = json_first(versions); o != v; o = json_next(o))
			if (json_equal(json_get(o, "name"), json_get(v, "name"))) {
				crd_refuse(c, "spec.versions", FIELD_INVALID, json_get(v, "name"),
					   "must contain unique version names");
				break;
			}
		buf_addf(&c->path, "spec.versions[%zu]", n);
		check_version(c, k, versions, v);
		crd_cut(c, 0);
		storage += json_bool(v, "storage", false);
		served += json_bool(v, "served", false);
		n++;
	}
	(void)served;
	if (storage != 1)
		crd_refuse(c, "spec.versions", FIELD_INVALID, NULL,
			   "must have exactly one version marked as storage version");
}
