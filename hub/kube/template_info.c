/*
 * The scheduling part of a pod template: template_info_decode() of kube/pod_info.h. Works on the
 * tree, since a worker has one anyway, and names every bad quantity by its path.
 */
#include "base/json.h"
#include "kube/field_errors.h"
#include "kube/info_codec.h"
#include "kube/pod_info.h"
#include "kube/pod_requests.h"
#include "kube/quantity.h"

#include <errno.h>

#define PATH_TEXT 512

struct decoder {
	struct arena *mem;
	struct field_errors *errors;
	bool failed;
};

static void refuse(struct decoder *d, const char *path, const char *key, const struct cJSON *bad,
		   const char *detail)
{
	auto_buf value = BUF_INIT, field = BUF_INIT;

	buf_addf(&field, key ? "%s[%s]" : "%s", path, key);
	if (bad)
		json_print(bad, &value);
	field_errors_add(d->errors, FIELD_INVALID, field.ptr, bad ? value.ptr : NULL, "%s", detail);
	d->failed = true;
}

/* fill_in: only resources that are not named yet. */
static void read_amounts(struct decoder *d, const struct cJSON *resources, const char *path,
			 bool fill_in, struct pod_amounts *to)
{
	json_foreach (resources, q) {
		const char *name = json_key(q);
		struct span resource = span_of(name);
		int64_t amount = 0;
		if (!name)
			return;
		int r = quantity_from_node(q, quantity_unit(resource), &amount);
		if (r < 0)
			refuse(d, path, name, q, quantity_error_text(r));
		else if (!fill_in || !pod_amounts_has(to, resource))
			pod_amounts_set(to, resource, amount);
	}
}

static void read_container(struct decoder *d, const struct cJSON *container, const char *path,
			   bool init, struct pod_requests *requests)
{
	const struct cJSON *resources = json_get(container, "resources");
	const char *restart = json_str(container, "restartPolicy");
	struct pod_amounts amounts = {.n = 0};
	char below[PATH_TEXT];

	(void)snprintf(below, sizeof(below), "%.400s.resources.requests", path);
	read_amounts(d, json_get(resources, "requests"), below, false, &amounts);
	(void)snprintf(below, sizeof(below), "%.400s.resources.limits", path);
	read_amounts(d, json_get(resources, "limits"), below, true, &amounts);
	bool sidecar = init && restart && strcmp(restart, "Always") == 0;
	pod_requests_add(requests,
			 sidecar ? POD_SIDECAR
			 : init	 ? POD_INIT_CONTAINER
				 : POD_CONTAINER,
			 &amounts);
}

static void read_containers(struct decoder *d, const struct cJSON *spec, const char *path,
			    const char *key, struct pod_requests *requests)
{
	char below[PATH_TEXT];
	size_t i = 0;

	json_foreach (json_get(spec, key), c) {
		(void)snprintf(below, sizeof(below), "%.300s.spec.%s[%zu]", path, key, i++);
		read_container(d, c, below, strcmp(key, "initContainers") == 0, requests);
	}
}

static void read_requests(struct decoder *d, const struct cJSON *spec, const char *path,
			  struct template_info *t)
{
	struct pod_requests requests = {.running = {.n = 0}};
	struct pod_amounts overhead = {.n = 0}, total;
	char below[PATH_TEXT];

	read_containers(d, spec, path, "containers", &requests);
	read_containers(d, spec, path, "initContainers", &requests);
	total = *pod_requests_total(&requests, NULL);
	/* KEP-2837: what the pod as a whole requests replaces what its containers add up to. */
	(void)snprintf(below, sizeof(below), "%.400s.spec.resources.requests", path);
	read_amounts(d, json_path(spec, "resources", "requests", NULL), below, false, &total);
	(void)snprintf(below, sizeof(below), "%.400s.spec.overhead", path);
	read_amounts(d, json_get(spec, "overhead"), below, false, &overhead);
	for (size_t i = 0; i < overhead.n; i++)
		pod_amounts_add(&total, overhead.items[i].resource, overhead.items[i].value);
	(void)snprintf(below, sizeof(below), "%.400s.spec.containers", path);
	if (total.overflow)
		refuse(d, below, NULL, NULL, "the sum of the pod's requests must fit in 64 bits");
	if (total.dropped || overhead.dropped) {
		field_errors_add(d->errors, FIELD_TOO_MANY, below, NULL,
				 "a pod must name at most %d resources", POD_REQUESTS_MAX);
		d->failed = true;
	}
	t->requests = pod_amounts_take(&total, d->mem, &t->n_requests);
}

static struct span text(struct decoder *d, const struct cJSON *object, const char *key)
{
	return arena_span(d->mem, span_of(json_str(object, key)));
}

static void read_node_selector(struct decoder *d, const struct cJSON *selector,
			       struct template_info *t)
{
	size_t n = json_len(selector);

	t->node_selector = n ? arena_array(d->mem, struct info_pair, n) : NULL;
	json_foreach (selector, s) {
		struct span value = span_of(json_value_str(s));
		if (json_key(s) && value.ptr)
			t->node_selector[t->n_node_selector++] = (struct info_pair){
			    arena_span(d->mem, span_of(json_key(s))), arena_span(d->mem, value)};
	}
}

static int op_from(const char *name, enum match_op *ret)
{
	static const char *const names[] = {
	    [MATCH_IN] = "In",	       [MATCH_NOT_IN] = "NotIn",
	    [MATCH_EXISTS] = "Exists", [MATCH_DOES_NOT_EXIST] = "DoesNotExist",
	    [MATCH_GT] = "Gt",	       [MATCH_LT] = "Lt",
	};
	for (size_t i = 0; name && i < ARRAY_LEN(names); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum match_op)i;
			return 0;
		}
	}
	return -ENOENT;
}

static void read_requirements(struct decoder *d, const struct cJSON *list, bool is_field,
			      const char *path, struct info_term *term)
{
	json_foreach (list, e) {
		struct info_requirement *q = &term->requirements[term->n_requirements];
		const struct cJSON *values = json_get(e, "values");
		if (op_from(json_str(e, "operator"), &q->op) < 0) {
			refuse(d, path, NULL, json_get(e, "operator"),
			       "not a valid selector operator");
			continue;
		}
		q->key = text(d, e, "key");
		q->is_field = is_field;
		q->values = arena_array(d->mem, struct span, json_len(values));
		json_foreach (values, v)
			if (json_value_str(v))
				q->values[q->n_values++] =
				    arena_span(d->mem, span_of(json_value_str(v)));
		term->n_requirements++;
	}
}

/* A requirement that names no term can be met by no node: kept as one term that matches none. */
static void read_affinity(struct decoder *d, const struct cJSON *spec, const char *path,
			  struct template_info *t)
{
	const struct cJSON *required =
	    json_path(spec, "affinity", "nodeAffinity",
		      "requiredDuringSchedulingIgnoredDuringExecution", NULL);
	const struct cJSON *terms = json_get(required, "nodeSelectorTerms");
	size_t n = json_len(terms), i = 0;
	char below[PATH_TEXT];

	if (!json_is(required, JSON_OBJECT))
		return;
	t->n_affinity = n ? n : 1;
	t->affinity = arena_array(d->mem, struct info_term, t->n_affinity);
	json_foreach (terms, term) {
		const struct cJSON *labels = json_get(term, "matchExpressions");
		const struct cJSON *fields = json_get(term, "matchFields");
		struct info_term *to = &t->affinity[i];
		(void)snprintf(below, sizeof(below),
			       "%.250s.spec.affinity.nodeAffinity.requiredDuringScheduling"
			       "IgnoredDuringExecution.nodeSelectorTerms[%zu]",
			       path, i++);
		to->requirements = arena_array(d->mem, struct info_requirement,
					       json_len(labels) + json_len(fields));
		read_requirements(d, labels, false, below, to);
		read_requirements(d, fields, true, below, to);
	}
}

static void read_tolerations(struct decoder *d, const struct cJSON *list, const char *path,
			     struct template_info *t)
{
	size_t n = json_len(list), i = 0;
	char below[PATH_TEXT];

	t->tolerations = n ? arena_array(d->mem, struct info_toleration, n) : NULL;
	json_foreach (list, o) {
		struct info_toleration *to = &t->tolerations[t->n_tolerations];
		const char *op = json_str(o, "operator");
		(void)snprintf(below, sizeof(below), "%.400s.spec.tolerations[%zu]", path, i++);
		if (op && op[0] && strcmp(op, "Equal") != 0 && strcmp(op, "Exists") != 0) {
			refuse(d, below, NULL, json_get(o, "operator"),
			       "operator must be Equal or Exists");
			continue;
		}
		const char *effect = json_str(o, "effect");
		to->any_effect = !effect || !effect[0];
		if (!to->any_effect && info_effect_from(span_of(effect), &to->effect) < 0) {
			refuse(d, below, NULL, json_get(o, "effect"), "not a taint effect");
			continue;
		}
		to->op = op && strcmp(op, "Exists") == 0 ? TOLERATE_EXISTS : TOLERATE_EQUAL;
		to->key = text(d, o, "key");
		if (to->key.ptr && !to->key.len)
			to->key = SPAN_NONE;
		to->value = text(d, o, "value");
		t->n_tolerations++;
	}
}

int template_info_decode(const struct cJSON *pod_template, const char *path, struct arena *mem,
			 struct template_info *ret, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(pod_template, "spec");
	struct decoder d = {.mem = mem, .errors = errors};
	struct template_info t = {0};

	read_requests(&d, spec, path, &t);
	read_node_selector(&d, json_get(spec, "nodeSelector"), &t);
	read_affinity(&d, spec, path, &t);
	read_tolerations(&d, json_get(spec, "tolerations"), path, &t);
	t.priority_class = text(&d, spec, "priorityClassName");
	if (t.priority_class.ptr && !t.priority_class.len)
		t.priority_class = SPAN_NONE;
	if (d.failed)
		return err_errno(ERR_INVALID);
	*ret = t;
	return 0;
}
