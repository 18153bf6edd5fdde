/*
 * What a cluster does about a node whose kubelet is not heard (kube-controller-manager's
 * node-lifecycle and taint-eviction controllers, pod garbage collection), and what the kubelet
 * does when it is back.
 */
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/cluster_priv.h"
#include <errno.h>

#define ANNOTATION     "muster.dev/sim-kubelet"
#define UNREACHABLE    "node.kubernetes.io/unreachable"
#define OUT_OF_SERVICE "node.kubernetes.io/out-of-service"
#define GRACE	       (50 * USEC_PER_SEC) /* --node-monitor-grace-period */

struct sim_silence {
	bool silent; /* else it is back, and its node does not say so yet */
	bool told;   /* the node is not ready */
	usec due;    /* when the node is written */
};

static struct sim_silence *find(const struct cluster *c, struct span node)
{
	return c->silent.len ? map_get(&c->silent, node) : NULL;
}

bool cluster_silence_has(const struct cluster *c, const struct sim_pod *p)
{
	return p->node.len && !p->node_gone && find(c, p->node);
}

bool cluster_silence_in_use(void *arg, const struct kind *k, const struct store_object *o)
{
	const struct cluster *c = arg;
	const struct sim_pod *p;

	if (k != c->pod_kind || !c->silent.len)
		return false;
	p = map_get(&c->pods, span_make((const char *)o->uid, STORE_UID_LEN));
	return p && !sim_pod_over(p) && cluster_silence_has(c, p);
}

/* ---- nodes ---- */

static bool is_annotated(const struct store_object *o)
{
	struct span annotations, value;

	return json_text_member(store_object_part(o, o->extents.metadata), "annotations",
				&annotations) == 0 &&
	       json_text_type(annotations) == JSON_OBJECT &&
	       json_text_member(annotations, ANNOTATION, &value) == 0 &&
	       span_is(json_text_plain(value), "silent");
}

static void wake_pods(struct cluster *c, struct span node)
{
	struct scheduler_node *n = scheduler_find_node(c->scheduler, node);

	for (struct scheduler_pod *p = n ? scheduler_node_pods(n) : NULL; p; p = p->next)
		cluster_timer_set(c, c->now, (struct sim_pod *)p, NULL);
}

bool cluster_silence_observe(struct cluster *c, const struct store_object *o,
			     const struct node_info *info)
{
	struct sim_silence *s = find(c, info->name);
	bool silent = is_annotated(o);

	if (!silent && (!s || info->ready)) {
		if (s)
			wake_pods(c, info->name);
		cluster_silence_forget(c, info->name);
		return false;
	}
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->due = num_add_sat(c->now, GRACE / c->options.time_scale);
		map_put(&c->silent, info->name, s);
	}
	s->silent = silent;
	s->told = !info->ready;
	if (!silent)
		s->due = c->now;
	else if (s->told)
		s->due = INT64_MAX;
	wake_pods(c, info->name);
	return true;
}

void cluster_silence_forget(struct cluster *c, struct span node)
{
	if (c->silent.len)
		free(map_remove(&c->silent, node));
}

static void say_ready(struct cJSON *node, const struct sim_silence *s, const char *time)
{
	json_foreach (json_path(node, "status", "conditions", NULL), it) {
		const char *type = json_str(it, "type");
		if (!type || strcmp(type, "Ready") != 0)
			continue;
		json_set_str(it, "status", s->silent ? "Unknown" : "True");
		json_set_str(it, "reason", s->silent ? "NodeStatusUnknown" : "KubeletReady");
		json_set_str(it, "message",
			     s->silent ? "Kubelet stopped posting node status."
				       : "kubelet is posting ready status");
		json_set_str(it, "lastTransitionTime", time);
		if (!s->silent)
			json_set_str(it, "lastHeartbeatTime", time);
	}
}

static void say_taints(struct cJSON *spec, const struct sim_silence *s, const char *time)
{
	static const char *const effects[] = {"NoSchedule", "NoExecute"};
	struct cJSON *list = json_get(spec, "taints");

	for (struct cJSON *it = json_first(list), *next; it; it = next) {
		const char *key = json_str(it, "key");
		next = json_next(it);
		if (key && strcmp(key, UNREACHABLE) == 0)
			json_remove_child(list, it);
	}
	if (s->silent && !json_is(list, JSON_ARRAY)) {
		list = json_array();
		json_set(spec, "taints", list);
	}
	for (size_t i = 0; s->silent && i < ARRAY_LEN(effects); i++) {
		struct cJSON *taint = json_object();
		json_set_str(taint, "key", UNREACHABLE);
		json_set_str(taint, "effect", effects[i]);
		json_set_str(taint, "timeAdded", time);
		json_append(list, taint);
	}
	if (list && json_len(list) == 0)
		json_remove(spec, "taints");
}

static int write_node(struct cluster *c, struct span name, const struct sim_silence *s)
{
	char time[CLOCK_TEXT_MAX];
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	struct store_object o;
	struct object_draft d;
	int rc = registry_get(c->batch, c->node_kind, SPAN(""), name, &o);

	if (!rc)
		rc = object_tree(&o, &tree, &why);
	if (rc)
		return rc;
	clock_format(c->now, time);
	say_ready(tree, s, time);
	say_taints(json_ensure_object(tree, "spec"), s, time);
	rc = object_draft_from_tree(c->node_kind, tree, &d, &why);
	return rc ? cluster_fail(c, &why)
		  : registry_put(c->batch, c->node_kind, SPAN(""), name, &d);
}

bool cluster_silence_step(struct cluster *c)
{
	map_foreach (&c->silent, e) {
		struct sim_silence *s = e->value;
		if (s->due > c->now)
			continue;
		if (registry_batch_room(c->batch) < 2 * REGISTRY_RESERVE ||
		    registry_batch_full(c->batch))
			return false;
		int rc = write_node(c, span_make(e->key, e->key_len), s);
		if (rc == -EINPROGRESS)
			continue;   /* deleted in this batch */
		s->due = INT64_MAX; /* its commit says what comes next */
	}
	return true;
}

usec cluster_silence_due(const struct cluster *c)
{
	usec due = INT64_MAX;

	map_foreach (&c->silent, e)
		due = num_min(due, ((const struct sim_silence *)e->value)->due);
	return due;
}

/* ---- pods ---- */

/* Deletes it, when its toleration of the node's taints is over. */
static void evict(struct cluster *c, struct sim_pod *p, struct scheduler_node *n)
{
	if (cluster_kubelet_tolerates(c, p, n) == 0 && !p->leave_at)
		p->leave_at = c->now;
	if (!p->leave_at)
		return;
	if (p->leave_at > c->now) {
		cluster_timer_set(c, p->leave_at, p, NULL);
		return;
	}
	int rc = cluster_pods_delete(c, p);
	if (!rc)
		p->evicted = true;
	else if (rc == -ESTALE)
		cluster_timer_set(c, c->now, p, NULL);
}

void cluster_silence_pod(struct cluster *c, struct sim_pod *p)
{
	const struct sim_silence *s = find(c, p->node);
	struct scheduler_node *n = scheduler_find_node(c->scheduler, p->node);

	if (!s->told || !n || sim_pod_over(p))
		return;
	if (p->phase == POD_RUNNING && !p->unheard) {
		p->unheard = true;
		int rc = cluster_kubelet_tell(c, p);
		p->unheard = rc == 0;
		if (!rc || rc == -ESTALE)
			cluster_timer_set(c, c->now, p, NULL);
	} else if (p->deleting && scheduler_node_has_taint(n, SPAN(OUT_OF_SERVICE))) {
		p->lost = p->node_gone = true;
		cluster_timer_set(c, c->now, p, NULL);
	} else if (!p->deleting) {
		evict(c, p, n);
	}
}
