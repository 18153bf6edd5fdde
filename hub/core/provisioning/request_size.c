#include "core/provisioning/request_size.h"

#include "base/json.h"
#include "base/num.h"
#include "core/pod_constraint.h"
#include "kube/field_errors.h"

#include <inttypes.h>

#define CLASS	 "queued-provisioning.gke.io"
#define POOL	 "cloud.google.com/gke-nodepool"
#define HOSTNAME "kubernetes.io/hostname"

/* ---- pods that keep each other away ---- */

static bool has_host_port(const struct cJSON *pod)
{
	int64_t port;

	json_foreach (json_path(pod, "spec", "containers", NULL), container)
		json_foreach (json_get(container, "ports"), p)
			if (json_int64(p, "hostPort", &port) == 0 && port > 0)
				return true;
	return false;
}

/* Only by labels: what expressions say is not looked into. */
static bool selects(const struct cJSON *selector, const struct cJSON *labels)
{
	size_t n = 0;

	json_foreach (json_get(selector, "matchLabels"), l) {
		const char *want = json_value_str(l), *has = json_str(labels, json_key(l));
		if (!want || !has || strcmp(want, has) != 0)
			return false;
		n++;
	}
	return n > 0 && !json_first(json_get(selector, "matchExpressions"));
}

static bool is_alone(const struct cJSON *pod)
{
	const struct cJSON *terms =
	    json_path(pod, "spec", "affinity", "podAntiAffinity",
		      "requiredDuringSchedulingIgnoredDuringExecution", NULL);
	const struct cJSON *labels = json_path(pod, "metadata", "labels", NULL);

	json_foreach (terms, t) {
		const char *key = json_str(t, "topologyKey");
		if (key && strcmp(key, HOSTNAME) == 0 &&
		    selects(json_get(t, "labelSelector"), labels))
			return true;
	}
	return has_host_port(pod);
}

/* ---- pods on machines that are known ---- */

/* How many of these pods the node takes when it is empty. */
static int64_t fits_on(const struct core *c, const struct member *m, uint32_t node,
		       const struct pod_set *set)
{
	int64_t n = cluster_view_node_allocatable(c->fleet, m->view, node, RESOURCE_PODS);

	for (size_t i = 0; i < set->n_requests; i++) {
		const struct request *q = &set->requests[i];
		int64_t has = cluster_view_node_allocatable(c->fleet, m->view, node, q->resource);
		if (q->amount > 0)
			n = num_min(n, has / q->amount);
	}
	return n;
}

/* The most that a node of the pool takes; 0: none is known, or none takes any. */
static int64_t fits_in_pool(struct core *c, const struct member *m, const struct cJSON *pod,
			    const char *pool)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors errors = {0};
	struct template_info info;
	struct pod_set set = {0};
	int64_t most = 0;

	int rc = template_info_decode(pod, "template", &mem, &info, &errors);
	field_errors_done(&errors);
	if (rc < 0 || pod_requests(c, &info, &mem, &set, NULL) < 0)
		return 0;
	map_foreach (&m->nodes, e) {
		uint32_t node = ((const struct member_node *)e->value)->node;
		if (span_is(cluster_view_node_label(c->fleet, m->view, node, SPAN(POOL)), pool))
			most = num_max(most, fits_on(c, m, node, &set));
	}
	return most;
}

/* ---- the request ---- */

/* Nodes that the set takes at least; 1 when nothing is known. *ret_why: static, or NULL. */
static int64_t nodes_of_set(struct core *c, const struct provisioning_request *r,
			    const struct member *m, const struct cJSON *set, const char **ret_why)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
	const char *ref = json_str(json_get(set, "podTemplateRef"), "name");
	struct store_object o;
	auto_json *tree = NULL;
	int64_t count, fits;

	if (!ref || json_int64(set, "count", &count) < 0 ||
	    registry_get(c->batch, kind, span_of(r->ns), span_of(ref), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return 1;
	const struct cJSON *pod = json_get(tree, "template");
	const char *pool = json_str(json_path(pod, "spec", "nodeSelector", NULL), POOL);
	if (is_alone(pod)) {
		*ret_why = "its pods keep each other off a node";
		return count;
	}
	if (count <= REQUEST_MAX_NODES || !pool || m->view == CLUSTER_NONE ||
	    (fits = fits_in_pool(c, m, pod, pool)) < 1)
		return 1;
	*ret_why = "by what fits on the nodes of its pool";
	return (count - 1) / fits + 1;
}

bool request_size_refuses(struct core *c, const struct provisioning_request *r,
			  const struct member *m, struct buf *words)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	const char *why = NULL;
	struct store_object o;
	auto_json *tree = NULL;
	int64_t most = 0;

	if (strcmp(r->class, CLASS) != 0 ||
	    registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return false;
	/* Pods of two sets may share a node: the largest set counts. */
	json_foreach (json_path(tree, "spec", "podSets", NULL), set)
		most = num_max(most, nodes_of_set(c, r, m, set, &why));
	if (most <= REQUEST_MAX_NODES)
		return false;
	buf_addf(words,
		 "TooManyNodes: %" PRId64
		 " nodes would be needed (%s), at most %d can be asked for",
		 most, why ? why : "", REQUEST_MAX_NODES);
	return true;
}
