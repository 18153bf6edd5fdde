#include "kinds/pod_template.h"

#include "base/map.h"
#include "kinds/pod_affinity.h"
#include "kinds/pod_volumes.h"
#include "kinds/refuse.h"
#include "kube/meta.h"
#include "kube/names.h"
#include "kube/quantity.h"

/* Paths are put together when something is refused, which is nearly never. */
struct pod_check {
	const char *path; /* of the template or, with `below` "", of the spec */
	const char *below;
	const char *list; /* the container at hand: spec.LIST[INDEX] */
	size_t index;
	struct field_errors *errors;
	struct map containers, volumes; /* names seen */
};

#define IN_SPEC		"%.300s%s"
#define SPEC_OF(c)	(c)->path, (c)->below
#define IN_CONTAINER	IN_SPEC ".%s[%zu]"
#define CONTAINER_OF(c) SPEC_OF(c), (c)->list, (c)->index

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

static void check_amount_names(struct pod_check *c, const struct cJSON *amounts, const char *which)
{
	json_foreach (amounts, q)
		if (!is_resource_name(json_key(q)))
			refuse_text(c->errors, FIELD_INVALID, json_key(q),
				    "must be a standard resource type or fully qualified",
				    IN_CONTAINER ".resources.%s[%.100s]", CONTAINER_OF(c), which,
				    json_key(q));
}

static void check_resources(struct pod_check *c, const struct cJSON *container)
{
	const struct cJSON *resources = json_get(container, "resources");
	const struct cJSON *limits = json_get(resources, "limits");
	const struct cJSON *requests = json_get(resources, "requests");

	check_amount_names(c, limits, "limits");
	check_amount_names(c, requests, "requests");
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
		refuse(c->errors, FIELD_INVALID, q, detail,
		       IN_CONTAINER ".resources.requests[%.80s]", CONTAINER_OF(c), json_key(q));
	}
}

/* ---- containers ---- */

static void check_mounts(struct pod_check *c, const struct cJSON *container, const char *which)
{
	size_t i = 0;

	json_foreach (json_get(container, which), m) {
		const char *name = json_str(m, "name");
		if (!empty(name) && !map_has(&c->volumes, span_of(name)))
			refuse_text(c->errors, FIELD_INVALID, name, "must be the name of a volume",
				    IN_CONTAINER ".%s[%zu].name", CONTAINER_OF(c), which, i);
		i++;
	}
}

static void check_env(struct pod_check *c, const struct cJSON *container)
{
	size_t i = 0;

	json_foreach (json_get(container, "env"), e) {
		const char *name = json_str(e, "name");
		const struct cJSON *from = json_get(e, "valueFrom");
		if (name && strchr(name, '='))
			refuse_text(c->errors, FIELD_INVALID, name,
				    "an environment variable name may not contain '='",
				    IN_CONTAINER ".env[%zu].name", CONTAINER_OF(c), i);
		if (from && !empty(json_str(e, "value")))
			refuse_text(c->errors, FIELD_INVALID, "",
				    "may not be specified when `value` is not empty",
				    IN_CONTAINER ".env[%zu].valueFrom", CONTAINER_OF(c), i);
		else if (from && json_len(from) != 1)
			refuse(c->errors, FIELD_INVALID, from,
			       "must specify one of: `fieldRef`, `resourceFieldRef`, "
			       "`configMapKeyRef` or `secretKeyRef`",
			       IN_CONTAINER ".env[%zu].valueFrom", CONTAINER_OF(c), i);
		i++;
	}
}

static void check_env_from(struct pod_check *c, const struct cJSON *container)
{
	static const char *const sources[] = {"configMapRef", "secretRef"};
	size_t i = 0;

	json_foreach (json_get(container, "envFrom"), from) {
		size_t n = 0;
		for (size_t k = 0; k < ARRAY_LEN(sources); k++) {
			const struct cJSON *ref = json_get(from, sources[k]);
			n += ref != NULL;
			if (ref && empty(json_str(ref, "name")))
				refuse(c->errors, FIELD_REQUIRED, NULL, "",
				       IN_CONTAINER ".envFrom[%zu].%s.name", CONTAINER_OF(c), i,
				       sources[k]);
		}
		if (n != 1)
			refuse_text(c->errors, FIELD_INVALID, "",
				    n ? "may not have more than one field specified at a time"
				      : "must specify one of: `configMapRef` or `secretRef`",
				    IN_CONTAINER ".envFrom", CONTAINER_OF(c));
		i++;
	}
}

static void check_container(struct pod_check *c, const struct cJSON *container)
{
	const char *name = json_str(container, "name");

	if (!empty(name) && map_put(&c->containers, span_of(name), c))
		refuse_text(c->errors, FIELD_DUPLICATE, name, "", IN_CONTAINER ".name",
			    CONTAINER_OF(c));
	if (empty(json_str(container, "image")))
		refuse(c->errors, FIELD_REQUIRED, NULL, "", IN_CONTAINER ".image", CONTAINER_OF(c));
	check_env(c, container);
	check_env_from(c, container);
	check_mounts(c, container, "volumeMounts");
	check_mounts(c, container, "volumeDevices");
	check_resources(c, container);
}

static void check_containers(struct pod_check *c, const struct cJSON *spec, const char *which)
{
	c->list = which;
	c->index = 0;
	json_foreach (json_get(spec, which), container) {
		check_container(c, container);
		c->index++;
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
		       IN_SPEC ".tolerations[%zu].operator", SPEC_OF(c), i);
	if (empty(json_str(t, "key")) && (!op || strcmp(op, "Exists") != 0))
		refuse_text(c->errors, FIELD_INVALID, op ? op : "",
			    "operator must be Exists when `key` is empty, which means \"match all "
			    "values and all keys\"",
			    IN_SPEC ".tolerations[%zu].operator", SPEC_OF(c), i);
	if (json_get(t, "tolerationSeconds") && (!effect || strcmp(effect, "NoExecute") != 0))
		refuse_text(c->errors, FIELD_INVALID, effect ? effect : "",
			    "effect must be 'NoExecute' when `tolerationSeconds` is set",
			    IN_SPEC ".tolerations[%zu].effect", SPEC_OF(c), i);
}

static void check_name(struct pod_check *c, const struct cJSON *spec, const char *field)
{
	const char *name = json_str(spec, field);

	if (!empty(name) && !names_is_dns_subdomain(span_of(name)))
		refuse_text(c->errors, FIELD_INVALID, name, names_dns_subdomain_rule(span_of(name)),
			    IN_SPEC ".%s", SPEC_OF(c), field);
}

/* Labels, annotations and the like: `below` is only written for those that are there. */
static void check_map(const struct cJSON *map, const char *path, const char *below,
		      void (*check)(const struct cJSON *map, const char *path,
				    struct field_errors *errors),
		      struct field_errors *errors)
{
	char whole[REFUSE_PATH_MAX];

	if (!json_first(map))
		return;
	(void)snprintf(whole, sizeof(whole), "%.300s%s", path, below);
	check(map, whole, errors);
}

static void check_spec(const struct cJSON *spec, const char *path, const char *below,
		       struct field_errors *errors)
{
	struct pod_check c = {.path = path, .below = below, .errors = errors};
	char whole[REFUSE_PATH_MAX];
	size_t i = 0;

	(void)snprintf(whole, sizeof(whole), IN_SPEC, SPEC_OF(&c));
	note_volumes(&c, spec);
	if (json_get(spec, "volumes"))
		pod_volumes_check(json_get(spec, "volumes"), whole, errors);
	if (below[0] && json_first(json_get(spec, "ephemeralContainers")))
		refuse(errors, FIELD_FORBIDDEN, NULL,
		       "ephemeral containers not allowed in pod template",
		       "%.400s.ephemeralContainers", whole);
	pod_affinity_check(spec, whole, errors);
	if (!json_first(json_get(spec, "containers")))
		refuse(errors, FIELD_REQUIRED, NULL, "", IN_SPEC ".containers", SPEC_OF(&c));
	check_containers(&c, spec, "initContainers");
	check_containers(&c, spec, "containers");
	check_map(json_get(spec, "nodeSelector"), path,
		  below[0] ? ".spec.nodeSelector" : ".nodeSelector", meta_validate_labels, errors);
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
	const struct cJSON *spec = json_get(pod_template, "spec");

	/* without `.metadata`, as upstream names them */
	check_map(json_get(meta, "labels"), path, ".labels", meta_validate_labels, errors);
	check_map(json_get(meta, "annotations"), path, ".annotations", meta_validate_annotations,
		  errors);
	if (spec)
		check_spec(spec, path, ".spec", errors);
	else
		refuse(errors, FIELD_REQUIRED, NULL, "", "%.300s.spec", path);
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
