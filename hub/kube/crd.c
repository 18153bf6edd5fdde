#include "kube/crd.h"

#include "base/buf.h"
#include "base/json.h"
#include "kube/crd_builtin.h"
#include "kube/crd_version.h"
#include "kube/field_errors.h"
#include "kube/names.h"
#include "kube/schema.h"

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

static void check_label(struct crd_check *c, const struct cJSON *names, const char *key)
{
	const char *s = json_str(names, key);

	if (!s || !s[0])
		crd_refuse(c, key, FIELD_REQUIRED, NULL, "");
	else if (!names_is_dns1035(span_of(s)))
		crd_refuse(c, key, FIELD_INVALID, json_get(names, key),
			   names_dns1035_rule(span_of(s)));
}

static void check_kind_name(struct crd_check *c, const struct cJSON *names, const char *key)
{
	const char *s = json_str(names, key);
	auto_buf lower = BUF_INIT;

	for (const char *p = s; p && *p; p++)
		buf_add_char(&lower, (char)tolower((unsigned char)*p));
	if (!s || !s[0])
		crd_refuse(c, key, FIELD_REQUIRED, NULL, "");
	else if (!names_is_dns1035(buf_span(&lower)))
		crd_refuse(c, key, FIELD_INVALID, json_get(names, key),
			   "may have mixed case, but should otherwise match: a DNS-1035 label");
}

static void check_names(struct crd_check *c, const struct cJSON *names)
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
		crd_refuse(c, "listKind", FIELD_INVALID, json_get(names, "listKind"),
			   "kind and listKind may not be the same");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		size_t n = 0;
		json_foreach (json_get(names, lists[i]), it) {
			buf_addf(&c->path, ".%s[%zu]", lists[i], n++);
			if (!names_is_dns1035(span_of(json_value_str(it))))
				crd_refuse(c, NULL, FIELD_INVALID, it,
					   names_dns1035_rule(span_of(json_value_str(it))));
			crd_cut(c, at);
		}
	}
	crd_cut(c, 0);
}

static bool is_protected(struct span group)
{
	return span_is(group, "k8s.io") || span_is(group, "kubernetes.io") ||
	       span_ends(group, SPAN(".k8s.io")) || span_ends(group, SPAN(".kubernetes.io"));
}

static void check_group(struct crd_check *c, const struct cJSON *object)
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
		crd_refuse(c, "metadata.name", FIELD_INVALID,
			   json_get(json_get(object, "metadata"), "name"),
			   "must be spec.names.plural+\".\"+spec.group");
	if (!group || !group[0]) {
		crd_refuse(c, "spec.group", FIELD_REQUIRED, NULL, "");
		return;
	}
	if (!names_is_dns_subdomain(span_of(group)))
		crd_refuse(c, "spec.group", FIELD_INVALID, json_get(spec, "group"),
			   names_dns_subdomain_rule(span_of(group)));
	else if (!strchr(group, '.'))
		crd_refuse(c, "spec.group", FIELD_INVALID, json_get(spec, "group"),
			   "should be a domain with at least one dot");
	if (is_protected(span_of(group)) &&
	    !(approved &&
	      (strncmp(approved, "https://", 8) == 0 || strncmp(approved, "unapproved", 10) == 0)))
		crd_refuse(c, "metadata.annotations[api-approved.kubernetes.io]", FIELD_REQUIRED,
			   NULL,
			   "protected groups must have approval annotation "
			   "\"api-approved.kubernetes.io\", see "
			   "https://github.com/kubernetes/enhancements/pull/1111");
}

static void check_conversion(struct crd_check *c, const struct cJSON *conversion)
{
	const char *strategy = json_str(conversion, "strategy");

	if (strategy && strcmp(strategy, "None") == 0) {
		if (json_get(conversion, "webhook"))
			crd_refuse(c, "spec.conversion.webhook", FIELD_FORBIDDEN, NULL,
				   "should not be set when strategy is not set to Webhook");
		return;
	}
	if (strategy && strcmp(strategy, "Webhook") == 0)
		crd_refuse(c, "spec.conversion.strategy", FIELD_FORBIDDEN, NULL,
			   "conversion by Webhook is not supported by this server, use None");
	else
		crd_refuse(c, "spec.conversion.strategy", FIELD_NOT_SUPPORTED,
			   json_get(conversion, "strategy"), "supported values: \"None\"");
}

static void check_stored(struct crd_check *c, const struct cJSON *object)
{
	size_t n = 0;

	json_foreach (json_path(object, "status", "storedVersions", NULL), it) {
		bool found = false;
		json_foreach (json_path(object, "spec", "versions", NULL), v)
			found |= json_equal(json_get(v, "name"), it);
		buf_addf(&c->path, "status.storedVersions[%zu]", n++);
		if (!found)
			crd_refuse(c, NULL, FIELD_INVALID, it, "must appear in spec.versions");
		crd_cut(c, 0);
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

static void check_change(struct crd_check *c, const struct cJSON *old, const struct cJSON *object)
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
			crd_refuse(c, path, FIELD_INVALID, b, "field is immutable");
	}
}

void crd_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors)
{
	struct crd_check c = {.errors = errors};
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
		crd_refuse(
		    &c, "spec.preserveUnknownFields", FIELD_INVALID,
		    json_get(spec, "preserveUnknownFields"),
		    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
		    "spec.versions[*].schema instead");
	/* What is stored passed; checking it again on each change of metadata buys nothing. */
	if (!w->old ||
	    !json_equal(json_get(json_get(w->old, "spec"), "versions"), json_get(spec, "versions")))
		crd_check_versions(&c, k, json_get(spec, "versions"));
	check_stored(&c, object);
	if (w->old)
		check_change(&c, w->old, object);
	buf_done(&c.path);
}
