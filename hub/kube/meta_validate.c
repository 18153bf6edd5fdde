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

/* What is wrong with a name of this kind; NULL: nothing. */
static const char *name_fault(const struct kind *k, struct span name)
{
	if (k->type == TYPE_NAMESPACE)
		return names_is_dns_label(name) ? NULL : names_dns_label_rule(name);
	if (strcmp(k->group, "rbac.authorization.k8s.io") == 0 ||
	    (k->type == TYPE_EVENT && !k->group[0]))
		return names_is_path_segment(name) ? NULL : names_path_segment_rule(name);
	return names_is_dns_subdomain(name) ? NULL : names_dns_subdomain_rule(name);
}

/* The base of generated names goes before letters, so it may end in a dash. */
static void validate_base(const char *base, const struct kind *k, struct field_errors *errors)
{
	auto_buf masked = BUF_INIT;
	const char *fault;

	if (!base || !base[0])
		return;
	buf_add_str(&masked, base);
	if (masked.len > 1 && masked.ptr[masked.len - 1] == '-')
		masked.ptr[masked.len - 1] = 'a';
	fault = name_fault(k, buf_span(&masked));
	if (fault)
		refuse_str(errors, "metadata.generateName", base, fault);
}

static void validate_name(const struct cJSON *metadata, const struct kind *k,
			  struct field_errors *errors)
{
	const char *name = json_str(metadata, "name"), *fault;

	validate_base(json_str(metadata, "generateName"), k, errors);
	if (!name || !name[0]) {
		field_errors_add(errors, FIELD_REQUIRED, "metadata.name", NULL, "%s",
				 "name or generateName is required");
		return;
	}
	fault = name_fault(k, span_of(name));
	if (fault)
		refuse_str(errors, "metadata.name", name, fault);
}

void meta_validate_labels(const struct cJSON *labels, const char *path, struct field_errors *errors)
{
	json_foreach (labels, l) {
		const char *value = json_value_str(l);
		if (!names_is_qualified(span_of(json_key(l))))
			refuse_str(errors, path, json_key(l),
				   names_qualified_rule(span_of(json_key(l))));
		if (!value)
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL,
					 "the value of %.100s must be a string", json_key(l));
		else if (!names_is_label_value(span_of(value)))
			refuse_str(errors, path, value, names_label_value_rule(span_of(value)));
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
			refuse_str(errors, path, json_key(a),
				   names_qualified_rule(span_of(json_key(a))));
		if (!value)
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL,
					 "the value of %.100s must be a string", json_key(a));
		total += strlen(json_key(a)) + (value ? strlen(value) : 0);
	}
	if (total > META_MAX_ANNOTATIONS)
		field_errors_add(errors, FIELD_TOO_LONG, path, NULL,
				 "may not be more than %zu bytes", META_MAX_ANNOTATIONS);
}

static void refuse_tree(struct field_errors *errors, const char *path, const struct cJSON *value,
			const char *words)
{
	auto_buf shown = BUF_INIT;
	json_print(value, &shown);
	field_errors_add(errors, FIELD_INVALID, path, shown.ptr, "%s", words);
}

/* Objects of built-in kinds know three names without a prefix (core validation). */
static bool is_core_finalizer(const char *name)
{
	static const char *const standard[] = {"kubernetes", "orphan", "foregroundDeletion"};

	for (size_t i = 0; i < ARRAY_LEN(standard); i++)
		if (strcmp(name, standard[i]) == 0)
			return true;
	return strchr(name, '/');
}

static void refuse_plain(const char *name, size_t index, struct field_errors *errors)
{
	char path[64];
	(void)snprintf(path, sizeof(path), "metadata.finalizers[%zu]", index);
	refuse_str(errors, path, name,
		   "name is neither a standard finalizer name nor is it fully qualified");
}

static void validate_finalizers(const struct cJSON *finalizers, const struct kind *k,
				struct field_errors *errors)
{
	size_t i = 0;
	static const char path[] = "metadata.finalizers";
	bool orphan = false, foreground = false;

	json_foreach (finalizers, f) {
		const char *name = json_value_str(f);
		if (!name) {
			field_errors_add(errors, FIELD_TYPE_INVALID, path, NULL, "%s",
					 "must be of type string");
			continue;
		}
		if (!names_is_qualified(span_of(name)))
			refuse_str(errors, path, name, names_qualified_rule(span_of(name)));
		if (k->strategic && !is_core_finalizer(name))
			refuse_plain(name, i, errors);
		i++;
		orphan |= strcmp(name, "orphan") == 0;
		foreground |= strcmp(name, "foregroundDeletion") == 0;
	}
	if (orphan && foreground)
		refuse_tree(errors, path, finalizers,
			    "finalizer orphan and foregroundDeletion cannot be both set");
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static void validate_owner(const struct cJSON *owner, struct field_errors *errors)
{
	static const char *const required[] = {"apiVersion", "kind", "name", "uid"};

	for (size_t i = 0; i < ARRAY_LEN(required); i++) {
		char path[80];
		if (or_empty(json_str(owner, required[i]))[0])
			continue;
		(void)snprintf(path, sizeof(path), "metadata.ownerReferences.%s", required[i]);
		field_errors_add(errors, FIELD_INVALID, path, "\"\"", "%s",
				 i == 0 ? "version must not be empty" : "must not be empty");
	}
	/* Events come and go by themselves: what they owned would go with them. */
	if (strcmp(or_empty(json_str(owner, "apiVersion")), "v1") == 0 &&
	    strcmp(or_empty(json_str(owner, "kind")), "Event") == 0)
		refuse_tree(errors, "metadata.ownerReferences", owner,
			    "/v1, Kind=Event is disallowed from being an owner");
}

static void refuse_controllers(const struct cJSON *owners, const struct cJSON *first,
			       const struct cJSON *other, struct field_errors *errors)
{
	auto_buf shown = BUF_INIT;
	json_print(owners, &shown);
	field_errors_add(errors, FIELD_INVALID, "metadata.ownerReferences", shown.ptr,
			 "Only one reference can have Controller set to true. Found \"true\" in "
			 "references for %.100s/%.100s and %.100s/%.100s",
			 or_empty(json_str(first, "kind")), or_empty(json_str(first, "name")),
			 or_empty(json_str(other, "kind")), or_empty(json_str(other, "name")));
}

static void validate_owners(const struct cJSON *owners, struct field_errors *errors)
{
	const struct cJSON *controller = NULL;

	json_foreach (owners, o) {
		validate_owner(o, errors);
		if (!json_bool(o, "controller", false))
			continue;
		if (controller)
			refuse_controllers(owners, controller, o, errors);
		else
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
	validate_finalizers(json_get(metadata, "finalizers"), k, errors);
	validate_owners(json_get(metadata, "ownerReferences"), errors);
}
