#include "base/json.h"
#include "member-sync/sim/provisioning_priv.h"

static struct request_node *find_node(struct provisioning_request *r, struct span name)
{
	vec_foreach (&r->nodes, n)
		if (span_is(name, n->name))
			return n;
	return NULL;
}

static void drop_node(struct provisioning *p, struct provisioning_request *r, struct span name)
{
	struct request_node *n = find_node(r, name);
	p->due = 0;
	if (!n)
		return;
	free(n->name);
	*n = r->nodes.items[--r->nodes.len];
}

void cluster_provisioning_node(struct provisioning *p, const struct store_object *o, bool gone)
{
	uint8_t uid[STORE_UID_LEN];
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	if (!memmem(o->json.ptr, o->json.len, NODE_POOL_OWNER, strlen(NODE_POOL_OWNER)) ||
	    object_tree(o, &tree, &why))
		return;
	const struct cJSON *meta = json_get(tree, "metadata");
	const char *owner = json_str(json_get(meta, "annotations"), NODE_POOL_OWNER);
	if (!owner || object_uid_parse(span_of(owner), uid))
		return;
	struct provisioning_request *r = provisioning_record(p, uid);
	if (gone) {
		drop_node(p, r, o->key.name);
		return;
	}
	struct request_node *there = find_node(r, o->key.name);
	bool cordoned = json_bool(json_get(tree, "spec"), "unschedulable", false);
	struct request_node n = {
	    .pool = provisioning_pool_named(p, json_str(json_get(meta, "labels"), NODE_POOL_OF)),
	    .cordoned = cordoned};
	p->due = 0;
	if (there) {
		there->cordoned = cordoned;
		return;
	}
	n.name = xstrndup(o->key.name.ptr, o->key.name.len);
	vec_push(&r->nodes, n);
}

static bool is_idle(const struct provisioning *p, const struct request_node *n)
{
	return n->idle_since &&
	       p->c->now >= n->idle_since + provisioning_scaled(p, PROVISIONING_BOOKING);
}

int32_t provisioning_count_idle(struct provisioning *p, struct provisioning_request *r)
{
	struct cluster *c = p->c;
	int32_t idle = 0;
	vec_foreach (&r->nodes, n) {
		struct scheduler_node *at = scheduler_find_node(c->scheduler, span_of(n->name));
		if (at && scheduler_node_pods(at))
			n->idle_since = 0;
		else if (!n->idle_since)
			n->idle_since = c->now;
		idle += is_idle(p, n);
	}
	return idle;
}

bool provisioning_create_nodes(struct provisioning *p, struct provisioning_request *r)
{
	int32_t made = (int32_t)r->nodes.len;
	for (int32_t i = 0; made < r->need && i < r->need; i++) {
		struct err why = ERR_INIT;
		char name[64];
		auto_json *node =
		    node_pool_make(r->pool, span_of(r->ns), span_of(r->name), r->uid_text, i, name);
		if (find_node(r, span_of(name)))
			continue;
		if (!provisioning_batch_has_room(p))
			return false;
		if (cluster_nodes_put(p->c, p->c->batch, node, name, &why)) {
			cluster_fail(p->c, &why);
			return true;
		}
		made++;
	}
	return true;
}

bool provisioning_remove_nodes(struct provisioning *p, struct provisioning_request *r, bool all)
{
	vec_foreach (&r->nodes, n) {
		if (!all && !is_idle(p, n))
			continue;
		if (!provisioning_batch_has_room(p))
			return false;
		(void)!registry_delete(p->c->batch, p->c->node_kind, SPAN(""), span_of(n->name),
				       PROPAGATE_BACKGROUND);
	}
	return true;
}

bool provisioning_cordon(struct provisioning *p, struct provisioning_request *r)
{
	vec_foreach (&r->nodes, n) {
		struct store_object o;
		struct object_draft d;
		struct err why = ERR_INIT;
		auto_json *tree = NULL;
		struct cluster *c = p->c;
		if (n->cordoned)
			continue;
		if (!provisioning_batch_has_room(p))
			return false;
		if (registry_get(c->batch, c->node_kind, SPAN(""), span_of(n->name), &o) ||
		    object_tree(&o, &tree, &why))
			continue;
		json_set_bool(json_ensure_object(tree, "spec"), "unschedulable", true);
		if (object_draft_from_tree(c->node_kind, tree, &d, &why) == 0)
			(void)!registry_put(c->batch, c->node_kind, SPAN(""), span_of(n->name), &d);
	}
	return true;
}
