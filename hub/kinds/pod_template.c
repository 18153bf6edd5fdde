#include "kinds/pod_template.h"

#include "base/map.h"
#include "kinds/refuse.h"
#include "kube/meta.h"
#include "kube/names.h"
#include "kube/quantity.h"

struct pod_check {
	const char *path; /* of the spec */
	struct field_errors *errors;
	struct map containers, volumes; /* names seen */
};

static bool empty(const char *s)
{
	return !s || !s[0];
}

/* ---- resources ---- */

static bool is_resource_name(const char *name)
{
	struct span s = span_of(name);
	if (strchr(name, '/'))
		return names_is_qualified(s);
	return span_is(s, "cpu") || span_is(s, "memory") || span_is(s, "ephemeral-storage") ||
	       span_starts(s, SPAN("hugepages-"));
}

static void check_amount_names(struct pod_check *c, const struct cJSON *amounts, const char *path,
			       const char *which)
{
	json_foreach (amounts, q)
		if (!is_resource_name(json_key(q)))
			refuse_text(c->errors, FIELD_INVALID, json_key(q),
				    "must be a standard resource type or fully qualified",
				    "%.400s.resources.%s[%.100s]", path, which, json_key(q));
}

static void check_resources(struct pod_check *c, const struct cJSON *container, const char *path)
{
	const struct cJSON *resources = json_get(container, "resources");
	const struct cJSON *limits = json_get(resources, "limits");
	const struct cJSON *requests = json_get(resources, "requests");

	check_amount_names(c, limits, path, "limits");
	check_amount_names(c, requests, path, "requests");
	json_foreach (requests, q) {
		const struct cJSON *limit = json_get(limits, json_key(q));
		unsigned unit = quantity_unit(span_of(json_key(q)));
		char detail[192];
		int64_t wanted, most;
		if (!limit || quantity_from_node(q, unit, &wanted) < 0 ||
		    quantity_from_node(limit, unit, &most) < 0 || wanted <= most)
			continue;
		(void)snprintf(detail, sizeof(detail), "must be less than or equal to %.80s limit",
			       json_key(q));
		refuse(c->errors, FIELD_INVALID, q, detail, "%.400s.resources.requests[%.80s]",
		       path, json_key(q));
	}
}

/* ---- containers ---- */

static void check_mounts(struct pod_check *c, const struct cJSON *container, const char *path,
			 const char *which)
{
	size_t i = 0;

	json_foreach (json_get(container, which), m) {
		const char *name = json_str(m, "name");
		if (!empty(name) && !map_has(&c->volumes, span_of(name)))
			refuse_text(c->errors, FIELD_INVALID, name, "must be the name of a volume",
				    "%.400s.%s[%zu].name", path, which, i);
		i++;
	}
}

static void check_env(struct pod_check *c, const struct cJSON *container, const char *path)
{
	size_t i = 0;

	json_foreach (json_get(container, "env"), e) {
		const char *name = json_str(e, "name");
		const struct cJSON *from = json_get(e, "valueFrom");
		if (name && strchr(name, '='))
			refuse_text(c->errors, FIELD_INVALID, name,
				    "an environment variable name may not contain '='",
				    "%.400s.env[%zu].name", path, i);
		if (from && !empty(json_str(e, "value")))
			refuse_text(c->errors, FIELD_INVALID, "",
				    "may not be specified when `value` is not empty",
				    "%.400s.env[%zu].valueFrom", path, i);
		else if (from && json_len(from) != 1)
			refuse(c->errors, FIELD_INVALID, from,
			       "must specify one of: `fieldRef`, `resourceFieldRef`, "
			       "`configMapKeyRef` or `secretKeyRef`",
			       "%.400s.env[%zu].valueFrom", path, i);
		i++;
	}
}

static void check_container(struct pod_check *c, const struct cJSON *container, const char *path)
{
	const char *name = json_str(container, "name");

	if (!empty(name) && map_put(&c->containers, span_of(name), c))
		refuse_text(c->errors, FIELD_DUPLICATE, name, "", "%.400s.name", path);
	if (empty(json_str(container, "image")))
		refuse(c->errors, FIELD_REQUIRED, NULL, "", "%.400s.image", path);
	check_env(c, container, path);
	check_mounts(c, container, path, "volumeMounts");
	check_mounts(c, container, path, "volumeDevices");
	check_resources(c, container, path);
}

static void check_containers(struct pod_check *c, const struct cJSON *spec, const char *which)
{
	char path[REFUSE_PATH_MAX];
	size_t i = 0;

	json_foreach (json_get(spec, which), container) {
		(void)snprintf(path, sizeof(path), "%.300s.%s[%zu]", c->path, which, i++);
		check_container(c, container, path);
	}
}

/* ---- the rest of the spec ---- */

static void note_volumes(struct pod_check *c, const struct cJSON *spec)
{
	json_foreach (json_get(spec, "volumes"), v)
		if (!empty(json_str(v, "name")))
			(void)map_put(&c->volumes, span_of(json_str(v, "name")), c);
}

static void check_toleration(struct pod_check *c, const struct cJSON *t, size_t i)
{
	const char *op = json_str(t, "operator"), *effect = json_str(t, "effect");

	if (op && strcmp(op, "Exists") == 0 && !empty(json_str(t, "value")))
		refuse(c->errors, FIELD_INVALID, json_get(t, "value"),
		       "value must be empty when `operator` is 'Exists'",
		       "%.300s.tolerations[%zu].operator", c->path, i);
	if (empty(json_str(t, "key")) && (!op || strcmp(op, "Exists") != 0))
		refuse_text(c->errors, FIELD_INVALID, op ? op : "",
			    "operator must be Exists when `key` is empty, which means \"match all "
			    "values and all keys\"",
			    "%.300s.tolerations[%zu].operator", c->path, i);
	if (json_get(t, "tolerationSeconds") && (!effect || strcmp(effect, "NoExecute") != 0))
		refuse_text(c->errors, FIELD_INVALID, effect ? effect : "",
			    "effect must be 'NoExecute' when `tolerationSeconds` is set",
			    "%.300s.tolerations[%zu].effect", c->path, i);
}

static void check_name(struct pod_check *c, const struct cJSON *spec, const char *field)
{
	const char *name = json_str(spec, field);

	if (!empty(name) && !names_is_dns_subdomain(span_of(name)))
		refuse_text(c->errors, FIELD_INVALID, name, names_dns_subdomain_rule(), "%.300s.%s",
			    c->path, field);
}

void pod_template_check_spec(const struct cJSON *spec, const char *path,
			     struct field_errors *errors)
{
	struct pod_check c = {.path = path, .errors = errors};
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	note_volumes(&c, spec);
	if (!json_first(json_get(spec, "containers")))
		refuse(errors, FIELD_REQUIRED, NULL, "", "%.300s.containers", path);
	check_containers(&c, spec, "initContainers");
	check_containers(&c, spec, "containers");
	(void)snprintf(below, sizeof(below), "%.300s.nodeSelector", path);
	meta_validate_labels(json_get(spec, "nodeSelector"), below, errors);
	json_foreach (json_get(spec, "tolerations"), t)
		check_toleration(&c, t, i++);
	check_name(&c, spec, "priorityClassName");
	check_name(&c, spec, "serviceAccountName");
	map_done(&c.containers);
	map_done(&c.volumes);
}

void pod_template_check(const struct cJSON *pod_template, const char *path,
			struct field_errors *errors)
{
	const struct cJSON *meta = json_get(pod_template, "metadata");
	char below[REFUSE_PATH_MAX];

	(void)snprintf(below, sizeof(below), "%.300s.metadata.labels", path);
	meta_validate_labels(json_get(meta, "labels"), below, errors);
	(void)snprintf(below, sizeof(below), "%.300s.metadata.annotations", path);
	meta_validate_annotations(json_get(meta, "annotations"), below, errors);
	(void)snprintf(below, sizeof(below), "%.300s.spec", path);
	if (json_get(pod_template, "spec"))
		pod_template_check_spec(json_get(pod_template, "spec"), below, errors);
	else
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s", below);
}

static struct cJSON *find_container(const struct cJSON *pod_template, const char *name)
{
	json_foreach (json_path(pod_template, "spec", "containers", NULL), c) {
		const char *n = json_str(c, "name");
		if (n && strcmp(n, name) == 0)
			return c;
	}
	return NULL;
}

void pod_template_require_container(const struct cJSON *pod_template, const char *path,
				    const char *name, struct field_errors *errors)
{
	char detail[128];

	if (find_container(pod_template, name))
		return;
	(void)snprintf(detail, sizeof(detail), "must have at least one container with name %.60s",
		       name);
	refuse(errors, FIELD_REQUIRED, NULL, detail, "%.300s.spec.containers", path);
}
