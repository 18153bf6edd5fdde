#include "member-sync/sim/node_pool.h"
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/duration.h"
#include "member-sync/sim/provisioning.h"
#include "member-sync/sim/scheduler_priv.h"

static int read_number(const struct cJSON *annotations, const char *key, int32_t otherwise,
		       int32_t *ret, struct err *reterr)
{
	const char *s = json_str(annotations, key);
	int64_t v = otherwise;
	if (s && num_parse_i64(span_of(s), 0, PROVISIONING_MAX_NODES * 100, &v))
		return err_set(reterr, ERR_INVALID,
			       "metadata.annotations[%s]: \"%s\" is not a number from 0 to %d", key,
			       s, PROVISIONING_MAX_NODES * 100);
	*ret = (int32_t)v;
	return 0;
}

static void make_info(struct node_pool *p)
{
	struct err why = ERR_INIT;
	auto_buf text = BUF_INIT;
	json_print(p->node, &text);
	if (node_info_decode(buf_span(&text), &p->mem, &p->info, &why))
		p->info = (struct node_info){0};
	p->info.ready = true;
	size_t n = 0;
	for (size_t i = 0; i < p->info.n_taints; i++)
		if (!span_is(p->info.taints[i].key, NODE_POOL_QUEUED))
			p->info.taints[n++] = p->info.taints[i];
	p->info.n_taints = n;
}

int node_pool_read(const struct cJSON *node, struct node_pool **ret, struct err *reterr)
{
	const struct cJSON *meta = json_get(node, "metadata");
	const struct cJSON *annotations = json_get(meta, "annotations");
	const char *class = json_str(annotations, NODE_POOL_CLASS);
	const char *delay = json_str(annotations, NODE_POOL_DELAY);
	const char *name = json_str(meta, "name");
	*ret = NULL;
	if (!class)
		return 0;
	struct node_pool *p = xcalloc(1, sizeof(*p));
	int rc = read_number(annotations, NODE_POOL_COUNT, 1, &p->max_nodes, reterr);
	if (!rc)
		rc = read_number(annotations, NODE_POOL_QUOTA, p->max_nodes, &p->quota, reterr);
	if (!rc && delay && duration_parse(span_of(delay), &p->delay))
		rc = err_set(reterr, ERR_INVALID,
			     "metadata.annotations[" NODE_POOL_DELAY "]: \"%s\" is no duration",
			     delay);
	if (rc) {
		node_pool_destroy(p);
		return rc;
	}
	p->name = xstrdup(name);
	p->class = xstrdup(class);
	p->node = json_dup(node);
	struct cJSON *kept = json_get(json_get(p->node, "metadata"), "annotations");
	json_remove(kept, NODE_POOL_CLASS);
	json_remove(kept, NODE_POOL_COUNT);
	json_remove(kept, NODE_POOL_DELAY);
	json_remove(kept, NODE_POOL_QUOTA);
	make_info(p);
	*ret = p;
	return 0;
}

void node_pool_destroy(struct node_pool *p)
{
	if (!p)
		return;
	json_free(p->node);
	arena_done(&p->mem);
	free(p->name);
	free(p->class);
	free(p);
}

static int64_t allocatable(const struct node_pool *p, struct span resource)
{
	for (size_t i = 0; i < p->info.n_allocatable; i++)
		if (span_eq(p->info.allocatable[i].resource, resource))
			return p->info.allocatable[i].value;
	return 0;
}

int64_t node_pool_fits(const struct node_pool *p, const struct template_info *pod)
{
	int64_t n = allocatable(p, SPAN("pods"));
	if (!n)
		n = 110; /* the kubelet's default */
	if (scheduler_filter_node(pod, &p->info) != FILTER_OK)
		return 0;
	for (size_t i = 0; i < pod->n_requests; i++)
		if (pod->requests[i].value > 0)
			n = num_min(n, allocatable(p, pod->requests[i].resource) /
					   pod->requests[i].value);
	return n;
}

const char *node_pool_ticket(struct span ns, struct span request, char out[NODE_POOL_TICKET_MAX])
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */
	for (size_t i = 0; i < ns.len; i++)
		h = (h ^ (unsigned char)ns.ptr[i]) * 1099511628211u;
	h *= 1099511628211u;
	for (size_t i = 0; i < request.len; i++)
		h = (h ^ (unsigned char)request.ptr[i]) * 1099511628211u;
	snprintf(out, NODE_POOL_TICKET_MAX, "%016llx", (unsigned long long)h);
	return out;
}

static void add_taint(struct cJSON *spec, const char *key, const char *value)
{
	struct cJSON *taint = json_object();
	if (!json_is(json_get(spec, "taints"), JSON_ARRAY))
		json_set(spec, "taints", json_array());
	json_set_str(taint, "key", key);
	json_set_str(taint, "value", value);
	json_set_str(taint, "effect", "NoSchedule");
	json_append(json_get(spec, "taints"), taint);
}

struct cJSON *node_pool_make(const struct node_pool *p, struct span ns, struct span request,
			     const char *uid_text, int32_t index, char name[64])
{
	char ticket[NODE_POOL_TICKET_MAX];
	struct cJSON *node = json_dup(p->node);
	struct cJSON *meta = json_ensure_object(node, "metadata");
	struct cJSON *labels = json_ensure_object(meta, "labels");
	struct cJSON *annotations = json_ensure_object(meta, "annotations");
	node_pool_ticket(ns, request, ticket);
	snprintf(name, 64, "%.40s-%.8s-%d", p->name, uid_text, index);
	json_set_str(labels, NODE_POOL_LABEL, ticket);
	json_set_str(labels, NODE_POOL_OF, p->name);
	json_set_str(annotations, NODE_POOL_OWNER, uid_text);
	add_taint(json_ensure_object(node, "spec"), NODE_POOL_LABEL, ticket);
	return node;
}

static void tolerate(struct cJSON *spec, const char *key)
{
	struct cJSON *t = json_object();
	if (!json_is(json_get(spec, "tolerations"), JSON_ARRAY))
		json_set(spec, "tolerations", json_array());
	json_set_str(t, "key", key);
	json_set_str(t, "operator", "Exists");
	json_set_str(t, "effect", "NoSchedule");
	json_append(json_get(spec, "tolerations"), t);
}

void node_pool_admit(const char *ns, const struct cJSON *annotations, struct cJSON *spec)
{
	static const char *const spellings[] = {
	    "autoscaling.x-k8s.io/consume-provisioning-request",
	    "cluster-autoscaler.kubernetes.io/consume-provisioning-request",
	};
	char ticket[NODE_POOL_TICKET_MAX];
	const char *request = NULL;
	for (size_t i = 0; !request && i < ARRAY_LEN(spellings); i++)
		request = json_str(annotations, spellings[i]);
	if (!request || !spec)
		return;
	node_pool_ticket(span_of(ns), span_of(request), ticket);
	json_set_str(json_ensure_object(spec, "nodeSelector"), NODE_POOL_LABEL, ticket);
	tolerate(spec, NODE_POOL_LABEL);
	tolerate(spec, NODE_POOL_QUEUED);
}
