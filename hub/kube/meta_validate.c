/*
 * The checks of metadata: meta_validate() of kube/meta.h. Paths and words are those of
 * apimachinery's ValidateObjectMeta.
 */
#include "base/json.h"
#include "kinds/types.h"
#include "kube/meta.h"
#include "kube/names.h"

static void refuse_str(struct field_errors *errors, const char *path, const char *value,
		       const char *rule)
{
	auto_buf shown = BUF_INIT;
	buf_add_json_str(&shown, span_of(value));
	field_errors_add(errors, FIELD_INVALID, path, shown.ptr, "%s", rule);
}

static void validate_name(const struct cJSON *metadata, const struct kind *k,
			  struct field_errors *errors)
{
	const char *name = json_str(metadata, "name");
	const char *rule = names_dns_subdomain_rule();
	bool ok;

	if (!name || !name[0]) {
		field_errors_add(errors, FIELD_REQUIRED, "metadata.name", NULL, "%s",
				 "name or generateName is required");
		return;
	}
	if (k->type == TYPE_NAMESPACE) {
		rule = names_dns_label_rule();
		ok = names_is_dns_label(span_of(name));
	} else if (strcmp(k->group, "rbac.authorization.k8s.io") == 0) {
		rule = "may not be '.' or '..' and may not contain '/' or '%'";
		ok = names_is_path_segment(span_of(name));
	} else {
		ok = names_is_dns_subdomain(span_of(name));
	}
	if (!ok)
		refuse_str(errors, "metadata.name", name, rule);
}

void meta_validate_labels(const struct cJSON *labels, const char *path, struct field_errors *errors)
{
	json_foreach (labels, l) {
		const char *value = json_value_str(l);
		if (!names_is_qualified(span_of(json_key(l))))
			refuse_str(errors, path, json_key(l), names_qualified_rule());
		if (!value)
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL,
					 "the value of %.100s must be a string", json_key(l));
		else if (!names_is_label_value(span_of(value)))
			refuse_str(errors, path, value, names_label_value_rule());
	}
}

/* Keys are compared in lower case, as upstream: "Example.com/x" is fine for an annotation. */
static bool is_annotation_key(const char *key)
{
	char lower[NAMES_MAX_SUBDOMAIN + NAMES_MAX_LABEL + 2];
	size_t len = strlen(key);

	if (len >= sizeof(lower))
		return false;
	for (size_t i = 0; i <= len; i++)
		lower[i] = key[i] >= 'A' && key[i] <= 'Z' ? (char)(key[i] | 0x20) : key[i];
	return names_is_qualified(span_make(lower, len));
}

void meta_validate_annotations(const struct cJSON *annotations, const char *path,
			       struct field_errors *errors)
{
	size_t total = 0;

	json_foreach (annotations, a) {
		const char *value = json_value_str(a);
		if (!is_annotation_key(json_key(a)))
			refuse_str(errors, path, json_key(a), names_qualified_rule());
		if (!value)
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL,
					 "the value of %.100s must be a string", json_key(a));
		total += strlen(json_key(a)) + (value ? strlen(value) : 0);
	}
	if (total > META_MAX_ANNOTATIONS)
		field_errors_add(errors, FIELD_TOO_LONG, path, NULL,
				 "may not be more than %zu bytes", META_MAX_ANNOTATIONS);
}

static void validate_finalizers(const struct cJSON *finalizers, struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (finalizers, f) {
		char path[64];
		const char *name = json_value_str(f);
		(void)snprintf(path, sizeof(path), "metadata.finalizers[%zu]", i++);
		if (!name)
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL, "%s",
					 "must be of type string");
		else if (!names_is_qualified(span_of(name)))
			refuse_str(errors, path, name, names_qualified_rule());
	}
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void validate_owner(const struct cJSON *owner, size_t index, struct field_errors *errors)
{
	static const char *const required[] = {"apiVersion", "kind", "name", "uid"};

	for (size_t i = 0; i < ARRAY_LEN(required); i++) {
		char path[80];
		if (or_empty(json_str(owner, required[i]))[0])
			continue;
		(void)snprintf(path, sizeof(path), "metadata.ownerReferences[%zu].%s", index,
			       required[i]);
		field_errors_add(errors, FIELD_REQUIRED, path, NULL, "%s", "must not be empty");
	}
}

static void validate_owners(const struct cJSON *owners, struct field_errors *errors)
{
	const struct cJSON *controller = NULL;
	size_t i = 0;

	json_foreach (owners, o) {
		validate_owner(o, i++, errors);
		if (!json_bool(o, "controller", false))
			continue;
		if (controller)
			field_errors_add(
			    errors, FIELD_INVALID, "metadata.ownerReferences", NULL,
			    "Only one reference can have Controller set to true. Found "
			    "\"true\" in references for %.100s and %.100s",
			    or_empty(json_str(controller, "name")), or_empty(json_str(o, "name")));
		controller = o;
	}
}

void meta_validate(const struct cJSON *object, const struct kind *k, struct field_errors *errors)
{
	const struct cJSON *metadata = json_get(object, "metadata");

	validate_name(metadata, k, errors);
	meta_validate_labels(json_get(metadata, "labels"), "metadata.labels", errors);
	meta_validate_annotations(json_get(metadata, "annotations"), "metadata.annotations",
				  errors);
	validate_finalizers(json_get(metadata, "finalizers"), errors);
	validate_owners(json_get(metadata, "ownerReferences"), errors);
}
