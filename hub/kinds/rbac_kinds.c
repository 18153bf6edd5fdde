/* Hooks of the RBAC kinds (pkg/apis/rbac/validation; the defaults of rbac/v1). */
#include "base/json.h"
#include "kinds/cells.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/label_selector_rules.h"
#include "kinds/refuse.h"
#include "kinds/types.h"
#include "kube/names.h"

#define RBAC_GROUP "rbac.authorization.k8s.io"

/* ---- Role, ClusterRole ---- */

static void check_rule(const struct cJSON *rule, bool namespaced, size_t i,
		       struct field_errors *errors)
{
	const struct cJSON *urls = json_get(rule, "nonResourceURLs");

	if (!json_len(json_get(rule, "verbs")))
		refuse(errors, FIELD_REQUIRED, NULL, "verbs must contain at least one value",
		       "rules[%zu].verbs", i);
	if (json_len(urls)) {
		if (namespaced)
			refuse(errors, FIELD_INVALID, urls,
			       "namespaced rules cannot apply to non-resource URLs",
			       "rules[%zu].nonResourceURLs", i);
		if (json_len(json_get(rule, "apiGroups")) ||
		    json_len(json_get(rule, "resources")) ||
		    json_len(json_get(rule, "resourceNames")))
			refuse(errors, FIELD_INVALID, urls,
			       "rules cannot apply to both regular resources and non-resource URLs",
			       "rules[%zu].nonResourceURLs", i);
		return;
	}
	if (!json_len(json_get(rule, "apiGroups")))
		refuse(errors, FIELD_REQUIRED, NULL,
		       "resource rules must supply at least one api group", "rules[%zu].apiGroups",
		       i);
	if (!json_len(json_get(rule, "resources")))
		refuse(errors, FIELD_REQUIRED, NULL,
		       "resource rules must supply at least one resource", "rules[%zu].resources",
		       i);
}

/* A list that is empty is none, which Go writes so. */
void role_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	const struct cJSON *rules = json_get(object, "rules");

	(void)k;
	(void)w;
	if (json_is(rules, JSON_ARRAY) && !json_first(rules))
		json_set(object, "rules", json_null());
}

void role_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		   struct field_errors *errors)
{
	const struct cJSON *aggregation = json_get(object, "aggregationRule");
	char path[80];
	size_t i = 0;

	(void)w;
	json_foreach (json_get(object, "rules"), rule)
		check_rule(rule, k->type == TYPE_ROLE, i++, errors);
	i = 0;
	json_foreach (json_get(aggregation, "clusterRoleSelectors"), selector) {
		size_t before = errors->n;
		(void)snprintf(path, sizeof(path), "aggregationRule.clusterRoleSelectors[%zu]",
			       i++);
		label_selector_rules_check_core(selector, path, errors);
		if (errors->n > before)
			refuse(errors, FIELD_INVALID, selector, "invalid label selector.", "%s",
			       path);
	}
	if (json_is(aggregation, JSON_OBJECT) &&
	    !json_len(json_get(aggregation, "clusterRoleSelectors")))
		refuse(errors, FIELD_REQUIRED, NULL,
		       "at least one clusterRoleSelector required if aggregationRule is non-nil",
		       "aggregationRule.clusterRoleSelectors");
}

/* ---- RoleBinding, ClusterRoleBinding ---- */

static bool is_account(const struct cJSON *subject)
{
	const char *kind = json_str(subject, "kind");
	return kind && strcmp(kind, "ServiceAccount") == 0;
}

void role_binding_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	(void)k;
	(void)w;
	struct cJSON *ref = json_get(object, "roleRef");
	const char *of = json_str(ref, "apiGroup");

	if (of && !of[0])
		json_set_str(ref, "apiGroup", RBAC_GROUP);
	if (!json_first(json_get(object, "subjects")))
		json_remove(object, "subjects");
	json_foreach (json_get(object, "subjects"), s) {
		const char *kind = json_str(s, "kind"), *group = json_str(s, "apiGroup");
		bool person = kind && (!strcmp(kind, "User") || !strcmp(kind, "Group"));
		if (person && (!group || !group[0]))
			json_set_str(s, "apiGroup", RBAC_GROUP);
	}
}

static void check_account(const struct cJSON *s, bool namespaced, size_t i,
			  struct field_errors *errors)
{
	const char *group = json_str(s, "apiGroup"), *name = json_str(s, "name");
	const char *ns = json_str(s, "namespace");

	if (name && name[0] && !names_is_dns_subdomain(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name, names_dns_subdomain_rule(span_of(name)),
			    "subjects[%zu].name", i);
	if (group && group[0])
		refuse_text(errors, FIELD_NOT_SUPPORTED, group, "supported values: \"\"",
			    "subjects[%zu].apiGroup", i);
	if (!namespaced && (!ns || !ns[0]))
		refuse(errors, FIELD_REQUIRED, NULL, "", "subjects[%zu].namespace", i);
}

static void check_subject(const struct cJSON *s, bool namespaced, size_t i,
			  struct field_errors *errors)
{
	const char *kind = json_str(s, "kind"), *group = json_str(s, "apiGroup");

	if (is_account(s)) {
		check_account(s, namespaced, i, errors);
	} else if (kind && (!strcmp(kind, "User") || !strcmp(kind, "Group"))) {
		if (group && strcmp(group, RBAC_GROUP) != 0)
			refuse_text(errors, FIELD_NOT_SUPPORTED, group,
				    "supported values: \"" RBAC_GROUP "\"",
				    "subjects[%zu].apiGroup", i);
	} else {
		refuse_text(errors, FIELD_NOT_SUPPORTED, kind ? kind : "",
			    "supported values: \"Group\", \"ServiceAccount\", \"User\"",
			    "subjects[%zu].kind", i);
	}
}

static void check_role_ref(const struct cJSON *ref, bool namespaced, struct field_errors *errors)
{
	const char *group = json_str(ref, "apiGroup"), *kind = json_str(ref, "kind");
	const char *name = json_str(ref, "name");
	bool known =
	    kind && (!strcmp(kind, "ClusterRole") || (namespaced && !strcmp(kind, "Role")));

	if (!group || strcmp(group, RBAC_GROUP) != 0)
		refuse_text(errors, FIELD_NOT_SUPPORTED, group ? group : "",
			    "supported values: \"" RBAC_GROUP "\"", "roleRef.apiGroup");
	if (!known)
		refuse_text(errors, FIELD_NOT_SUPPORTED, kind ? kind : "",
			    namespaced ? "supported values: \"Role\", \"ClusterRole\""
				       : "supported values: \"ClusterRole\"",
			    "roleRef.kind");
	if (name && !names_is_path_segment(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name,
			    "may not be '.' or '..' and may not contain '/' or '%'",
			    "roleRef.name");
}

void role_binding_validate(const struct kind *k, const struct cJSON *object,
			   const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *ref = json_get(object, "roleRef");
	bool namespaced = k->type == TYPE_ROLE_BINDING;
	size_t i = 0;

	check_role_ref(ref, namespaced, errors);
	json_foreach (json_get(object, "subjects"), s)
		check_subject(s, namespaced, i++, errors);
	if (w->old && !json_equal(json_get(w->old, "roleRef"), ref))
		refuse(errors, FIELD_INVALID, ref, "cannot change roleRef", "roleRef");
}

static void add_subjects(struct cJSON *cells, const struct cJSON *subjects, const char *kind)
{
	auto_buf text = BUF_INIT;

	json_foreach (subjects, s) {
		const char *of = json_str(s, "kind"), *name = json_str(s, "name");
		const char *ns = json_str(s, "namespace");
		if (!of || strcmp(of, kind) != 0)
			continue;
		buf_addf(&text, "%s", text.len ? ", " : "");
		if (is_account(s))
			buf_addf(&text, "%s/", ns ? ns : "");
		buf_addf(&text, "%s", name ? name : "");
	}
	cells_add_text(cells, text.ptr, "");
}

void role_binding_cells(const struct kind *k, const struct cJSON *object, usec now,
			struct cJSON *cells)
{
	const struct cJSON *ref = json_get(object, "roleRef"), *of = json_get(object, "subjects");
	const char *kind = json_str(ref, "kind"), *name = json_str(ref, "name");
	auto_buf role = BUF_INIT;

	(void)k;
	(void)now;
	buf_addf(&role, "%s/%s", kind ? kind : "", name ? name : "");
	cells_add_text(cells, role.ptr, "");
	add_subjects(cells, of, "User");
	add_subjects(cells, of, "Group");
	add_subjects(cells, of, "ServiceAccount");
}
