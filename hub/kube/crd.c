#include "kube/crd.h"

#include "base/buf.h"
#include "base/json.h"
#include "kube/crd_builtin.h"
#include "kube/field_errors.h"
#include "kube/jsonpath.h"
#include "kube/names.h"
#include "kube/schema_compile.h"
#include "kube/selector_match.h"
#include "kube/validation_rules.h"

#include <ctype.h>
#include <errno.h>

const char *crd_storage_version(const struct cJSON *object)
{
	json_foreach (json_path(object, "spec", "versions", NULL), v)
		if (json_bool(v, "storage", false))
			return json_str(v, "name");
	return NULL;
}

const struct schema *crd_object_meta(const struct kind *crd_kind)
{
	const struct schema_field *f = schema_field_find(crd_kind->schema, "metadata");
	return f ? f->schema : NULL;
}

/* ---- defaults ---- */

static bool is_listed(const struct cJSON *list, const char *text)
{
	json_foreach (list, it)
		if (json_value_str(it) && strcmp(json_value_str(it), text) == 0)
			return true;
	return false;
}

static void default_names(struct cJSON *names)
{
	const char *kind = json_str(names, "kind"), *singular = json_str(names, "singular"),
		   *list = json_str(names, "listKind");
	auto_buf b = BUF_INIT;

	if (!kind || !kind[0])
		return;
	if (!singular || !singular[0]) {
		for (const char *c = kind; *c; c++)
			buf_add_char(&b, (char)tolower((unsigned char)*c));
		json_set_str(names, "singular", b.ptr);
	}
	if (!list || !list[0]) {
		buf_clear(&b);
		buf_addf(&b, "%sList", kind);
		json_set_str(names, "listKind", b.ptr);
	}
}

/* apiextensions' strategy: a version that was ever the storage version stays on the list until
 * somebody migrated the objects and took it off through status. */
static void default_status(struct cJSON *object)
{
	const char *storage = crd_storage_version(object);
	struct cJSON *status = json_ensure_object(object, "status"), *stored;

	if (!status || !storage)
		return;
	stored = json_get(status, "storedVersions");
	if (!json_is(stored, JSON_ARRAY)) {
		stored = json_array();
		json_set(status, "storedVersions", stored);
	}
	if (!is_listed(stored, storage))
		json_append(stored, json_new_str(storage));
	if (!json_get(status, "acceptedNames")) {
		struct cJSON *names = json_ensure_object(status, "acceptedNames");
		json_set_str(names, "kind", "");
		json_set_str(names, "plural", "");
	}
	if (!json_get(status, "conditions"))
		json_set(status, "conditions", json_array());
}

void crd_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");
	struct cJSON *conversion = json_ensure_object(spec, "conversion");

	(void)k;
	default_names(json_get(spec, "names"));
	if (conversion && !json_str(conversion, "strategy"))
		json_set_str(conversion, "strategy", "None");
	if (strcmp(w->subresource, "status") != 0)
		default_status(object);
}

/* ---- checks ---- */

struct check {
	struct buf path;
	struct field_errors *errors;
};

static void cut(struct check *c, size_t at)
{
	c->path.len = at;
	c->path.ptr[at] = '\0';
}

static void refuse(struct check *c, const char *member, enum field_reason reason,
		   const struct cJSON *value, const char *words)
{
	auto_buf shown = BUF_INIT;
	size_t at = c->path.len;

	if (member)
		buf_addf(&c->path, "%s%s", at ? "." : "", member);
	if (value)
		json_print(value, &shown);
	field_errors_add(c->errors, reason, c->path.ptr, value ? shown.ptr : NULL, "%s", words);
	cut(c, at);
}

static void check_label(struct check *c, const struct cJSON *names, const char *key)
{
	const char *s = json_str(names, key);

	if (!s || !s[0])
		refuse(c, key, FIELD_REQUIRED, NULL, "");
	else if (!names_is_dns1035(span_of(s)))
		refuse(c, key, FIELD_INVALID, json_get(names, key), names_dns1035_rule(span_of(s)));
}

static void check_kind_name(struct check *c, const struct cJSON *names, const char *key)
{
	const char *s = json_str(names, key);
	auto_buf lower = BUF_INIT;

	for (const char *p = s; p && *p; p++)
		buf_add_char(&lower, (char)tolower((unsigned char)*p));
	if (!s || !s[0])
		refuse(c, key, FIELD_REQUIRED, NULL, "");
	else if (!names_is_dns1035(buf_span(&lower)))
		refuse(c, key, FIELD_INVALID, json_get(names, key),
		       "may have mixed case, but should otherwise match: a DNS-1035 label");
}

static void check_names(struct check *c, const struct cJSON *names)
{
	const char *kind = json_str(names, "kind"), *list = json_str(names, "listKind");
	static const char *const lists[] = {"shortNames", "categories"};

	buf_add_str(&c->path, "spec.names");
	size_t at = c->path.len;
	check_label(c, names, "plural");
	check_label(c, names, "singular");
	check_kind_name(c, names, "kind");
	check_kind_name(c, names, "listKind");
	if (kind && list && strcmp(kind, list) == 0)
		refuse(c, "listKind", FIELD_INVALID, json_get(names, "listKind"),
		       "kind and listKind may not be the same");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t n = 0;
		json_foreach (json_get(names, lists[i]), it) {
			buf_addf(&c->path, ".%s[%zu]", lists[i], n++);
			if (!names_is_dns1035(span_of(json_value_str(it))))
				refuse(c, NULL, FIELD_INVALID, it,
				       names_dns1035_rule(span_of(json_value_str(it))));
			cut(c, at);
		}
	}
	cut(c, 0);
}

static bool is_protected(struct span group)
{
	return span_is(group, "k8s.io") || span_is(group, "kubernetes.io") ||
	       span_ends(group, SPAN(".k8s.io")) || span_ends(group, SPAN(".kubernetes.io"));
}

static void check_group(struct check *c, const struct cJSON *object)
{
	const struct cJSON *spec = json_get(object, "spec"),
			   *notes = json_path(object, "metadata", "annotations", NULL);
	const char *group = json_str(spec, "group"),
		   *plural = json_str(json_get(spec, "names"), "plural"),
		   *name = json_str(json_get(object, "metadata"), "name"),
		   *approved = json_str(notes, "api-approved.kubernetes.io");
	auto_buf want = BUF_INIT;

	buf_addf(&want, "%s.%s", plural ? plural : "", group ? group : "");
	if (!name || strcmp(name, want.ptr) != 0)
		refuse(c, "metadata.name", FIELD_INVALID,
		       json_get(json_get(object, "metadata"), "name"),
		       "must be spec.names.plural+\".\"+spec.group");
	if (!group || !group[0]) {
		refuse(c, "spec.group", FIELD_REQUIRED, NULL, "");
		return;
	}
	if (!names_is_dns_subdomain(span_of(group)))
		refuse(c, "spec.group", FIELD_INVALID, json_get(spec, "group"),
		       names_dns_subdomain_rule(span_of(group)));
	else if (!strchr(group, '.'))
		refuse(c, "spec.group", FIELD_INVALID, json_get(spec, "group"),
		       "should be a domain with at least one dot");
	if (is_protected(span_of(group)) &&
	    !(approved &&
	      (strncmp(approved, "https://", 8) == 0 || strncmp(approved, "unapproved", 10) == 0)))
		refuse(c, "metadata.annotations[api-approved.kubernetes.io]", FIELD_REQUIRED, NULL,
		       "protected groups must have approval annotation "
		       "\"api-approved.kubernetes.io\", see "
		       "https://github.com/kubernetes/enhancements/pull/1111");
}

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

static void check_scale(struct check *c, const struct cJSON *scale)
{
	const struct {
		const char *key, *root, *words;
	} table[] = {
	    {"specReplicasPath", ".spec.", "should be a json path under .spec"},
	    {"statusReplicasPath", ".status.", "should be a json path under .status"},
	};
	const char *selector = json_str(scale, "labelSelectorPath");

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		const char *path = json_str(scale, table[i].key);
		if (!path || !path[0])
			refuse(c, table[i].key, FIELD_REQUIRED, NULL, "");
		else if (!is_simple_path(path, table[i].root))
			refuse(c, table[i].key, FIELD_INVALID, json_get(scale, table[i].key),
			       table[i].words);
	}
	if (selector && selector[0] && !is_simple_path(selector, ".spec.") &&
	    !is_simple_path(selector, ".status."))
		refuse(c, "labelSelectorPath", FIELD_INVALID, json_get(scale, "labelSelectorPath"),
		       "should be a json path under either .spec or .status");
}

static void check_columns(struct check *c, const struct cJSON *columns)
{
	static const char *const types[] = {"integer", "number", "string", "boolean", "date"};
	size_t at = c->path.len, n = 0;

	json_foreach (columns, it) {
		const char *name = json_str(it, "name"), *type = json_str(it, "type"),
			   *path = json_str(it, "jsonPath");
		struct span ignored;
		bool known = false;
		buf_addf(&c->path, ".additionalPrinterColumns[%zu]", n++);
		if (!name || !name[0])
			refuse(c, "name", FIELD_REQUIRED, NULL, "");
		for (size_t i = 0; type && i < ARRAY_LEN(types); i++)
			known |= strcmp(types[i], type) == 0;
		if (!known)
			refuse(c, "type", FIELD_INVALID, json_get(it, "type"),
			       "must be one of boolean,date,integer,number,string");
		if (!path || !path[0])
			refuse(c, "jsonPath", FIELD_REQUIRED, NULL, "");
		else if (jsonpath_first(path, SPAN("{}"), &ignored) == -EINVAL)
			refuse(c, "jsonPath", FIELD_INVALID, json_get(it, "jsonPath"),
			       "is an invalid or unsupported path");
		cut(c, at);
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

static void check_selectable(struct check *c, const struct cJSON *version)
{
	const struct cJSON *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
	size_t at = c->path.len, n = 0;

	json_foreach (json_get(version, "selectableFields"), it) {
		const char *path = json_str(it, "jsonPath");
		const struct cJSON *p;
		buf_addf(&c->path, ".selectableFields[%zu]", n++);
		if (!path || !path[0])
			refuse(c, "jsonPath", FIELD_REQUIRED, NULL, "");
		else if (!is_simple_path(path, NULL) || strncmp(path, ".metadata.", 10) == 0)
			refuse(c, "jsonPath", FIELD_INVALID, json_get(it, "jsonPath"),
			       "is an invalid path: only simple paths outside metadata are "
			       "allowed");
		else if (!(p = schema_at(schema, path)) || !json_str(p, "type") ||
			 !strstr("string boolean integer", json_str(p, "type")))
			refuse(c, "jsonPath", FIELD_INVALID, json_get(it, "jsonPath"),
			       "is an invalid path: must be a field of type string, boolean or "
			       "integer");
		cut(c, at);
	}
}

/* apiextensions shows a schema that all versions share where it keeps it. */
static bool is_shared(const struct cJSON *versions)
{
	const struct cJSON *first = json_get(json_first(versions), "schema");

	json_foreach (versions, v)
		if (!json_equal(json_get(v, "schema"), first))
			return false;
	return true;
}

static void check_schema(struct check *c, const struct kind *k, const struct cJSON *version,
			 bool shared)
{
	const struct cJSON *schema = json_path(version, "schema", "openAPIV3Schema", NULL);
	auto_buf path = BUF_INIT;

	if (!schema) {
		refuse(c, "schema.openAPIV3Schema", FIELD_REQUIRED, NULL, "schemas are required");
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

static void check_version(struct check *c, const struct kind *k, const struct cJSON *version,
			  bool check_its_schema, bool shared)
{
	const struct cJSON *scale = json_path(version, "subresources", "scale", NULL);
	const char *name = json_str(version, "name");

	if (!name || !names_is_dns1035(span_of(name)))
		refuse(c, "name", FIELD_INVALID, json_get(version, "name"),
		       names_dns1035_rule(span_of(name)));
	if (check_its_schema)
		check_schema(c, k, version, shared);
	check_columns(c, json_get(version, "additionalPrinterColumns"));
	check_selectable(c, version);
	if (json_is(scale, JSON_OBJECT)) {
		size_t at = c->path.len;
		buf_add_str(&c->path, ".subresources.scale");
		check_scale(c, scale);
		cut(c, at);
	}
}

static void check_versions(struct check *c, const struct kind *k, const struct cJSON *versions)
{
	bool shared = is_shared(versions);
	size_t n = 0, storage = 0, served = 0;

	json_foreach (versions, v) {
		for (const struct cJSON *o = json_first(versions); o != v; o = json_next(o))
			if (json_equal(json_get(o, "name"), json_get(v, "name"))) {
				refuse(c, "spec.versions", FIELD_INVALID, json_get(v, "name"),
				       "must contain unique version names");
				break;
			}
		buf_addf(&c->path, "spec.versions[%zu]", n);
		check_version(c, k, v, !shared || n == 0, shared);
		cut(c, 0);
		storage += json_bool(v, "storage", false);
		served += json_bool(v, "served", false);
		n++;
	}
	(void)served;
	if (storage != 1)
		refuse(c, "spec.versions", FIELD_INVALID, NULL,
		       "must have exactly one version marked as storage version");
}

static void check_conversion(struct check *c, const struct cJSON *conversion)
{
	const char *strategy = json_str(conversion, "strategy");

	if (strategy && strcmp(strategy, "None") == 0) {
		if (json_get(conversion, "webhook"))
			refuse(c, "spec.conversion.webhook", FIELD_FORBIDDEN, NULL,
			       "should not be set when strategy is not set to Webhook");
		return;
	}
	if (strategy && strcmp(strategy, "Webhook") == 0)
		refuse(c, "spec.conversion.strategy", FIELD_FORBIDDEN, NULL,
		       "conversion by Webhook is not supported by this server, use None");
	else
		refuse(c, "spec.conversion.strategy", FIELD_NOT_SUPPORTED,
		       json_get(conversion, "strategy"), "supported values: \"None\"");
}

static void check_stored(struct check *c, const struct cJSON *object)
{
	size_t n = 0;

	json_foreach (json_path(object, "status", "storedVersions", NULL), it) {
		bool found = false;
		json_foreach (json_path(object, "spec", "versions", NULL), v)
			found |= json_equal(json_get(v, "name"), it);
		buf_addf(&c->path, "status.storedVersions[%zu]", n++);
		if (!found)
			refuse(c, NULL, FIELD_INVALID, it, "must appear in spec.versions");
		cut(c, 0);
	}
}

static bool is_established(const struct cJSON *object)
{
	json_foreach (json_path(object, "status", "conditions", NULL), it) {
		const char *type = json_str(it, "type"), *status = json_str(it, "status");
		if (type && status && strcmp(type, "Established") == 0)
			return strcmp(status, "True") == 0;
	}
	return false;
}

static void check_change(struct check *c, const struct cJSON *old, const struct cJSON *object)
{
	static const char *const fixed[][2] = {
	    {"group", NULL}, {"scope", NULL}, {"names", "kind"}, {"names", "plural"}};

	if (!is_established(old))
		return;
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		const struct cJSON *a = json_path(old, "spec", fixed[i][0], fixed[i][1], NULL),
				   *b = json_path(object, "spec", fixed[i][0], fixed[i][1], NULL);
		char path[40];
		(void)snprintf(path, sizeof(path), "spec.%s%s%s", fixed[i][0],
			       fixed[i][1] ? "." : "", fixed[i][1] ? fixed[i][1] : "");
		if (!json_equal(a, b))
			refuse(c, path, FIELD_INVALID, b, "field is immutable");
	}
}

void crd_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors)
{
	struct check c = {.errors = errors};
	const struct cJSON *spec = json_get(object, "spec");

	/* The core leaves it as it is, whatever is asked. */
	if (w->old
		? json_path(w->old, "metadata", "annotations", CRD_BUILTIN_ANNOTATION, NULL) != NULL
		: crd_builtin_has(w->kinds, json_str(json_get(object, "metadata"), "name")))
		return;
	buf_add_str(&c.path, "");
	if (strcmp(w->subresource, "status") == 0) {
		check_stored(&c, object);
		buf_done(&c.path);
		return;
	}
	check_group(&c, object);
	check_names(&c, json_get(spec, "names"));
	check_conversion(&c, json_get(spec, "conversion"));
	if (json_bool(spec, "preserveUnknownFields", false))
		refuse(&c, "spec.preserveUnknownFields", FIELD_INVALID,
		       json_get(spec, "preserveUnknownFields"),
		       "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
		       "spec.versions[*].schema instead");
	/* What is stored passed; checking it again on each change of metadata buys nothing. */
	if (!w->old ||
	    !json_equal(json_get(json_get(w->old, "spec"), "versions"), json_get(spec, "versions")))
		check_versions(&c, k, json_get(spec, "versions"));
	check_stored(&c, object);
	if (w->old)
		check_change(&c, w->old, object);
	buf_done(&c.path);
}
