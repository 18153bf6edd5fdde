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

/* The path of what is at hand, put together when something is refused: PATH, then `list` with
 * its index unless NULL, then `below`. */
struct place {
	const char *path, *list;
	size_t index;
	const char *below;
};

struct decoder {
	struct arena *mem;
	struct field_errors *errors;
	bool failed;
};

static void place_text(const struct place *at, char out[PATH_TEXT])
{
	if (at->list)
		(void)snprintf(out, PATH_TEXT, "%.300s%s[%zu]%s", at->path, at->list, at->index,
			       at->below);
	else
		(void)snprintf(out, PATH_TEXT, "%.400s%s", at->path, at->below);
}

static void refuse(struct decoder *d, const struct place *at, const char *key,
		   const struct cJSON *bad, const char *detail)
{
	auto_buf value = BUF_INIT, field = BUF_INIT;
	char path[PATH_TEXT];

	place_text(at, path);
	buf_addf(&field, key ? "%s[%s]" : "%s", path, key);
	if (bad)
		json_print(bad, &value);
	field_errors_add(d->errors, FIELD_INVALID, field.ptr, bad ? value.ptr : NULL, "%s", detail);
	d->failed = true;
}

/* fill_in: only resources that are not named yet. */
static void read_amounts(struct decoder *d, const struct cJSON *resources, const struct place *at,
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
			refuse(d, at, name, q, quantity_error_text(r));
		else if (!fill_in || !pod_amounts_has(to, resource))
			pod_amounts_set(to, resource, amount);
	}
}

static void read_container(struct decoder *d, const struct cJSON *container, struct place *at,
			   bool init, struct pod_requests *requests)
{
	const struct cJSON *resources = json_get(container, "resources");
	const char *restart = json_str(container, "restartPolicy");
	struct pod_amounts amounts = {.n = 0};

	at->below = ".resources.requests";
	read_amounts(d, json_get(resources, "requests"), at, false, &amounts);
	at->below = ".resources.limits";
	read_amounts(d, json_get(resources, "limits"), at, true, &amounts);
	bool sidecar = init && restart && strcmp(restart, "Always") == 0;
	pod_requests_add(requests,
			 sidecar ? POD_SIDECAR
			 : init	 ? POD_INIT_CONTAINER
				 : POD_CONTAINER,
			 &amounts);
}

static void read_containers(struct decoder *d, const struct cJSON *spec, const char *path,
			    bool init, struct pod_requests *requests)
{
	struct place at = {.path = path,
			   .list = init ? ".spec.initContainers" : ".spec.containers"};

	json_foreach (json_get(spec, init ? "initContainers" : "containers"), c) {
		read_container(d, c, &at, init, requests);
		at.index++;
	}
}

static void read_requests(struct decoder *d, const struct cJSON *spec, const char *path,
			  struct template_info *t)
{
	struct pod_requests requests = {.running = {.n = 0}};
	struct pod_amounts overhead = {.n = 0}, total;
	struct place at = {.path = path, .below = ".spec.resources.requests"};
	char text[PATH_TEXT];

	read_containers(d, spec, path, false, &requests);
	read_containers(d, spec, path, true, &requests);
	total = *pod_requests_total(&requests, NULL);
	/* KEP-2837: what the pod as a whole requests replaces what its containers add up to. */
	read_amounts(d, json_path(spec, "resources", "requests", NULL), &at, false, &total);
	at.below = ".spec.overhead";
	read_amounts(d, json_get(spec, "overhead"), &at, false, &overhead);
	for (size_t i = 0; i < overhead.n; i++)
		pod_amounts_add(&total, overhead.items[i].resource, overhead.items[i].value);
	at.below = ".spec.containers";
	if (total.overflow)
		refuse(d, &at, NULL, NULL, "the sum of the pod's requests must fit in 64 bits");
	if (total.dropped || overhead.dropped) {
		place_text(&at, text);
		field_errors_add(d->errors, FIELD_TOO_MANY, text, NULL,
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
			      const struct place *at, struct info_term *term)
{
	json_foreach (list, e) {
		struct info_requirement *q = &term->requirements[term->n_requirements];
		const struct cJSON *values = json_get(e, "values");
		if (op_from(json_str(e, "operator"), &q->op) < 0) {
			refuse(d, at, NULL, json_get(e, "operator"),
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
	struct place at = {.path = path,
			   .list = ".spec.affinity.nodeAffinity.requiredDuringScheduling"
				   "IgnoredDuringExecution.nodeSelectorTerms",
			   .below = ""};
	size_t n = json_len(terms);

	if (!json_is(required, JSON_OBJECT))
		return;
	t->n_affinity = n ? n : 1;
	t->affinity = arena_array(d->mem, struct info_term, t->n_affinity);
	json_foreach (terms, term) {
		const struct cJSON *labels = json_get(term, "matchExpressions");
		const struct cJSON *fields = json_get(term, "matchFields");
		struct info_term *to = &t->affinity[at.index];
		to->requirements = arena_array(d->mem, struct info_requirement,
					       json_len(labels) + json_len(fields));
		read_requirements(d, labels, false, &at, to);
		read_requirements(d, fields, true, &at, to);
		at.index++;
	}
}

static void read_tolerations(struct decoder *d, const struct cJSON *list, const char *path,
			     struct template_info *t)
{
	struct place at = {.path = path, .list = ".spec.tolerations", .below = ""};
	size_t n = json_len(list);

	t->tolerations = n ? arena_array(d->mem, struct info_toleration, n) : NULL;
	json_foreach (list, o) {
		struct info_toleration *to = &t->tolerations[t->n_tolerations];
		const char *op = json_str(o, "operator");
		if (op && op[0] && strcmp(op, "Equal") != 0 && strcmp(op, "Exists") != 0) {
			refuse(d, &at, NULL, json_get(o, "operator"),
			       "operator must be Equal or Exists");
			at.index++;
			continue;
		}
		const char *effect = json_str(o, "effect");
		to->any_effect = !effect || !effect[0];
		if (!to->any_effect && info_effect_from(span_of(effect), &to->effect) < 0) {
			refuse(d, &at, NULL, json_get(o, "effect"), "not a taint effect");
			at.index++;
			continue;
		}
		to->op = op && strcmp(op, "Exists") == 0 ? TOLERATE_EXISTS : TOLERATE_EQUAL;
		to->key = text(d, o, "key");
		if (to->key.ptr && !to->key.len)
			to->key = SPAN_NONE;
		to->value = text(d, o, "value");
		to->limited = json_int64(o, "tolerationSeconds", &to->seconds) == 0;
		if (to->seconds < 0)
			to->seconds = 0; /* as Kubernetes reads it: at once */
		t->n_tolerations++;
		at.index++;
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
