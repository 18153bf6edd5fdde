#include "kinds/volume_claim.h"

#include "kinds/hooks.h"
#include "kinds/label_selector_rules.h"
#include "kube/meta.h"
#include "kube/names.h"
#include "kube/quantity.h"

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* ---- access ---- */

static bool is_in(const char *const *list, const char *s)
{
	for (; *list; list++)
		if (is(s, *list))
			return true;
	return false;
}

static void check_modes(const struct cJSON *modes, const struct at *at, struct field_errors *errors)
{
	static const char *const known[] = {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
					    "ReadWriteOncePod", NULL};
	bool alone = false, other = false;

	if (!json_first(modes))
		refuse_at(errors, FIELD_REQUIRED, NULL, "at least 1 access mode is required", at);
	json_foreach (modes, m) {
		const char *mode = json_value_str(m);
		if (!is_in(known, mode))
			refuse_unsupported(errors, mode, known, at);
		else if (is(mode, "ReadWriteOncePod"))
			alone = true;
		else
			other = true;
	}
	if (alone && other)
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may not use ReadWriteOncePod with other access modes", at);
}

/* ---- size ---- */

/* The path leaves `requests` out, as upstream's does. */
static void check_size(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *size = json_path(spec, "resources", "requests", "storage", NULL);
	const struct at *here = AT_KEY(AT_FIELD(at, "resources"), "storage");
	int64_t bytes = 1;

	if (!size)
		refuse_at(errors, FIELD_REQUIRED, NULL, "", here);
	else if (quantity_from_node(size, QUANTITY_NEGATIVE, &bytes) == 0 && bytes <= 0)
		refuse_at(errors, FIELD_INVALID, size, "must be greater than zero", here);
}

/* ---- what it is filled from ---- */

static void check_source(const struct cJSON *source, const struct at *at,
			 struct field_errors *errors)
{
	const char *group = json_str(source, "apiGroup"), *kind = json_str(source, "kind");
	const char *ns = json_str(source, "namespace");

	if (!source)
		return;
	if (!json_str(source, "name"))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "name"));
	if (!kind)
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "kind"));
	if ((!group || !group[0]) && !is(kind, "PersistentVolumeClaim"))
		refuse_text_at(errors, FIELD_INVALID, kind ? kind : "",
			       "must be 'PersistentVolumeClaim' when referencing the default "
			       "apiGroup",
			       at);
	if (group && group[0])
		refuse_unfit(errors, group, names_is_dns_subdomain, names_dns_subdomain_rule,
			     AT_FIELD(at, "apiGroup"));
	if (ns && ns[0])
		refuse_unfit(errors, ns, names_is_dns_label, names_dns_label_rule,
			     AT_FIELD(at, "namespace"));
}

static void check_sources(const struct cJSON *spec, const struct at *at,
			  struct field_errors *errors)
{
	const struct cJSON *one = json_get(spec, "dataSource");
	const struct cJSON *other = json_get(spec, "dataSourceRef");
	static const char *const same[] = {"apiGroup", "kind", "name"};
	const char *ns = json_str(other, "namespace");

	check_source(one, AT_FIELD(at, "dataSource"), errors);
	check_source(other, AT_FIELD(at, "dataSourceRef"), errors);
	if (!one || !other)
		return;
	if (ns && ns[0]) {
		refuse_at(errors, FIELD_INVALID, one,
			  "may not be specified when dataSourceRef.namespace is specified", at);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		const struct cJSON *a = json_get(one, same[i]), *b = json_get(other, same[i]);
		if (a && b ? !json_equal(a, b) : a != b) {
			refuse_at(errors, FIELD_INVALID, one, "must match dataSourceRef", at);
			return;
		}
	}
}

/* ---- */

static void check_class(const struct cJSON *spec, const char *field, const struct at *at,
			struct field_errors *errors)
{
	const char *name = json_str(spec, field);

	if (name && name[0])
		refuse_unfit(errors, name, names_is_dns_subdomain, names_dns_subdomain_rule,
			     AT_FIELD(at, field));
}

void volume_claim_check(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	char path[REFUSE_PATH_MAX];

	check_modes(json_get(spec, "accessModes"), AT_FIELD(at, "accessModes"), errors);
	if (json_get(spec, "selector"))
		label_selector_rules_check_core(json_get(spec, "selector"),
						at_text(AT_FIELD(at, "selector"), path), errors);
	check_size(spec, at, errors);
	check_class(spec, "storageClassName", at, errors);
	check_class(spec, "volumeAttributesClassName", at, errors);
	check_sources(spec, at, errors);
}

void volume_claim_check_template(const struct cJSON *claim, const struct at *at,
				 struct field_errors *errors)
{
	const struct cJSON *meta = json_get(claim, "metadata");
	const struct at *here = AT_FIELD(at, "metadata");
	char path[REFUSE_PATH_MAX];

	if (json_get(meta, "labels"))
		meta_validate_labels(json_get(meta, "labels"),
				     at_text(AT_FIELD(here, "labels"), path), errors);
	if (json_get(meta, "annotations"))
		meta_validate_annotations(json_get(meta, "annotations"),
					  at_text(AT_FIELD(here, "annotations"), path), errors);
	json_foreach (meta, m)
		if (strcmp(json_key(m), "labels") != 0 && strcmp(json_key(m), "annotations") != 0)
			refuse_at(errors, FIELD_FORBIDDEN, NULL, "cannot be set",
				  AT_FIELD(here, json_key(m)));
	volume_claim_check(json_get(claim, "spec"), AT_FIELD(at, "spec"), errors);
}

/* ---- the kind ---- */

void persistent_volume_claim_validate(const struct kind *k, const struct cJSON *object,
				      const struct kind_write *w, struct field_errors *errors)
{
	(void)k;
	if (w->subresource[0] ||
	    (w->old && json_equal(json_get(w->old, "spec"), json_get(object, "spec"))))
		return;
	volume_claim_check(json_get(object, "spec"), AT_ROOT("spec"), errors);
}

/* One value has two names: what one of them says counts for both, unless it is of another
 * namespace (pkg/registry/core/persistentvolumeclaim). */
void persistent_volume_claim_default(const struct kind *k, struct cJSON *object,
				     const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");
	const struct cJSON *one = json_get(spec, "dataSource");
	const struct cJSON *other = json_get(spec, "dataSourceRef");

	(void)k;
	if (w->subresource[0] || w->old)
		return;
	if (one && !other)
		json_set(spec, "dataSourceRef", json_dup(one));
	else if (other && !one && !json_str(other, "namespace"))
		json_set(spec, "dataSource", json_dup(other));
}
