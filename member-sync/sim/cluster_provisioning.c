#include "member-sync/sim/cluster_provisioning.h"
#include "base/json.h"
#include "base/num.h"
#include "kube/field_errors.h"
#include "member-sync/sim/codec.h"
#include "member-sync/sim/node_pool.h"
#include "member-sync/sim/provisioning.h"
#include <errno.h>

#define POOL_ROW "sim.pool."

struct request_node {
	char *name;
	const struct node_pool *pool;
	usec idle_since; /* 0: has pods, or was not looked at */
	bool cordoned;
};

struct request_set {
	char *pod_template;
	int32_t count;
};

struct provisioning_request {
	char *ns, *name, *class; /* owned; NULL while only its nodes are known */
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	uint64_t revision;
	usec max_run;
	struct VEC(struct request_set) sets;
	struct provisioning_state state;
	bool gone, ours;
	/* for which pool, once that is known */
	bool resolved;
	const struct node_pool *pool;
	int32_t need;
	char refusal[160];
	struct VEC(struct request_node) nodes;
};

struct provisioning {
	struct cluster *c;
	struct VEC(struct node_pool *) pools;
	struct map requests; /* uid -> struct provisioning_request */
	usec due;
};

/* ---- records ---- */

static struct span uid_key(const uint8_t uid[STORE_UID_LEN])
{
	return span_make((const char *)uid, STORE_UID_LEN);
}

static struct provisioning_request *record(struct provisioning *p, const uint8_t uid[STORE_UID_LEN])
{
	struct provisioning_request *r = map_get(&p->requests, uid_key(uid));
	if (r)
		return r;
	r = xcalloc(1, sizeof(*r));
	memcpy(r->uid, uid, STORE_UID_LEN);
	object_uid_format(uid, r->uid_text);
	r->gone = true;
	map_put(&p->requests, uid_key(r->uid), r);
	return r;
}

static void clear_spec(struct provisioning_request *r)
{
	vec_foreach (&r->sets, s)
		free(s->pod_template);
	vec_clear(&r->sets);
	free(r->ns);
	free(r->name);
	free(r->class);
	r->ns = r->name = r->class = NULL;
}

static void forget(struct provisioning *p, struct provisioning_request *r)
{
	clear_spec(r);
	vec_foreach (&r->nodes, n)
		free(n->name);
	vec_done(&r->nodes);
	vec_done(&r->sets);
	map_remove(&p->requests, uid_key(r->uid));
	free(r);
}

struct provisioning *cluster_provisioning_create(struct cluster *c)
{
	struct provisioning *p = xcalloc(1, sizeof(*p));
	p->c = c;
	return p;
}

struct provisioning *cluster_provisioning_destroy(struct provisioning *p)
{
	if (!p)
		return NULL;
	map_foreach (&p->requests, e)
		forget(p, e->value);
	map_done(&p->requests);
	vec_foreach (&p->pools, pool)
		node_pool_destroy(*pool);
	vec_done(&p->pools);
	free(p);
	return NULL;
}

/* ---- pools ---- */

int cluster_provisioning_add_pool(struct registry_batch *b, const struct cJSON *node,
				  bool *ret_pool, struct err *reterr)
{
	char key[sizeof(POOL_ROW) + STORE_MAX_NAME];
	struct node_pool *pool;
	auto_buf text = BUF_INIT;
	int rc = node_pool_read(node, &pool, reterr);
	*ret_pool = pool != NULL;
	if (rc || !pool)
		return rc;
	snprintf(key, sizeof(key), POOL_ROW "%s", pool->name);
	json_print(node, &text);
	registry_put_aux(b, false, STORE_AUX_SETTING, span_of(key), buf_span(&text));
	node_pool_destroy(pool);
	return 0;
}

static int load_pool(void *arg, struct span key, struct span value)
{
	struct provisioning *p = arg;
	struct node_pool *pool = NULL;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int rc = json_parse(value, NULL, &tree, &why);
	if (!rc)
		rc = node_pool_read(tree, &pool, &why);
	if (pool)
		vec_push(&p->pools, pool);
	return rc;
}

int cluster_provisioning_load(struct provisioning *p, struct store_reader *r, struct err *reterr)
{
	int rc = store_scan_aux(r, STORE_AUX_SETTING, SPAN(POOL_ROW), load_pool, p);
	return rc ? err_set(reterr, ERR_INTERNAL, "cannot read the node pools") : 0;
}

static const struct node_pool *pool_named(const struct provisioning *p, const char *name)
{
	vec_foreach (&p->pools, pool)
		if (name && strcmp((*pool)->name, name) == 0)
			return *pool;
	return NULL;
}

/* ---- what is observed ---- */

static void read_spec(struct provisioning *p, struct provisioning_request *r,
		      const struct cJSON *tree)
{
	const struct cJSON *spec = json_get(tree, "spec");
	const char *run = json_str(json_get(spec, "parameters"), "maxRunDurationSeconds");
	int64_t seconds;
	r->max_run = PROVISIONING_MAX_RUN;
	if (run &&
	    num_parse_i64(span_of(run), 1, PROVISIONING_MAX_RUN / USEC_PER_SEC, &seconds) == 0)
		r->max_run = seconds * USEC_PER_SEC;
	r->class = xstrdup(json_str(spec, "provisioningClassName"));
	json_foreach (json_get(spec, "podSets"), set) {
		const char *name = json_str(json_get(set, "podTemplateRef"), "name");
		struct request_set one = {xstrdup(name ? name : ""), codec_count(set, "count", 0)};
		vec_push(&r->sets, one);
	}
	codec_conditions(json_get(tree, "status"), &r->state.conditions);
	r->resolved = false;
	p->due = 0;
}

void cluster_provisioning_add(struct cluster *c, const struct store_object *o)
{
	struct provisioning *p = c->provisioning;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	if (object_tree(o, &tree, &why)) {
		log_warn(c->options.log, "request left alone", "request=%.*s cause=\"%s\"",
			 SPAN_ARGS(o->key.name), why.text);
		return;
	}
	struct provisioning_request *r = record(p, o->uid);
	clear_spec(r);
	r->gone = (o->flags & OBJECT_DELETING) != 0;
	r->revision = o->revision;
	r->ns = xstrndup(o->key.ns.ptr, o->key.ns.len);
	r->name = xstrndup(o->key.name.ptr, o->key.name.len);
	read_spec(p, r, tree);
}

void cluster_provisioning_observe(struct provisioning *p, const struct registry_change *ch)
{
	if (ch->kind->type == TYPE_POD_TEMPLATE) {
		p->due = 0; /* a request may have waited for it */
		return;
	}
	struct provisioning_request *r = map_get(&p->requests, uid_key(ch->object.uid));
	if (ch->op == STORE_PUT && r && r->ours) {
		r->revision = ch->object.revision;
		r->ours = false;
	} else if (ch->op == STORE_PUT) {
		cluster_provisioning_add(p->c, &ch->object);
	} else if (r) {
		r->gone = true;
		p->due = 0;
	}
}

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
	struct provisioning_request *r = record(p, uid);
	if (gone) {
		drop_node(p, r, o->key.name);
		return;
	}
	struct request_node *there = find_node(r, o->key.name);
	bool cordoned = json_bool(json_get(tree, "spec"), "unschedulable", false);
	struct request_node n = {
	    .pool = pool_named(p, json_str(json_get(meta, "labels"), NODE_POOL_OF)),
	    .cordoned = cordoned};
	p->due = 0;
	if (there) {
		there->cordoned = cordoned;
		return;
	}
	n.name = xstrndup(o->key.name.ptr, o->key.name.len);
	vec_push(&r->nodes, n);
}

/* ---- which pool, how many nodes ---- */

/* -ENOENT: the PodTemplate is not there yet. */
static int read_template(struct provisioning *p, const struct provisioning_request *r,
			 const char *name, struct arena *mem, struct template_info *ret)
{
	struct cluster *c = p->c;
	const struct kind *k = kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
	struct field_errors errors = {0};
	struct store_object o;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int rc = registry_get(c->batch, k, span_of(r->ns), span_of(name), &o);
	if (!rc)
		rc = object_tree(&o, &tree, &why);
	if (!rc && template_info_decode(json_get(tree, "template"), "template", mem, ret, &errors))
		rc = -EINVAL;
	field_errors_done(&errors);
	return rc;
}

/* Nodes of the pool that all pod sets need; 0 when one of them fits none. */
static int64_t count_nodes(const struct node_pool *pool, const struct provisioning_request *r,
			   const struct template_info *templates)
{
	int64_t nodes = 0;
	for (size_t i = 0; i < r->sets.len; i++) {
		int64_t fits = node_pool_fits(pool, &templates[i]);
		if (!fits)
			return 0;
		nodes += (r->sets.items[i].count + fits - 1) / fits;
	}
	return nodes;
}

static void choose_pool(struct provisioning *p, struct provisioning_request *r,
			const struct template_info *templates)
{
	r->pool = NULL;
	snprintf(r->refusal, sizeof(r->refusal),
		 "No node pool of class %.80s could ever hold these pods", r->class);
	vec_foreach (&p->pools, pool) {
		if (strcmp((*pool)->class, r->class) != 0)
			continue;
		int64_t need = count_nodes(*pool, r, templates);
		if (!need || (need > (*pool)->max_nodes && need <= PROVISIONING_MAX_NODES))
			continue;
		r->pool = *pool;
		r->need = (int32_t)num_min(need, INT32_MAX);
		return;
	}
}

static bool serves(const struct provisioning *p, const char *class)
{
	vec_foreach (&p->pools, pool)
		if (strcmp((*pool)->class, class) == 0)
			return true;
	return false;
}

/* False while it cannot be known. */
static bool resolve(struct provisioning *p, struct provisioning_request *r)
{
	struct arena mem = ARENA_INIT;
	if (r->resolved)
		return true;
	struct template_info *templates = arena_array(&mem, struct template_info, r->sets.len);
	int rc = 0;
	for (size_t i = 0; !rc && i < r->sets.len; i++)
		rc = read_template(p, r, r->sets.items[i].pod_template, &mem, &templates[i]);
	if (rc == -EINVAL) {
		r->pool = NULL;
		snprintf(r->refusal, sizeof(r->refusal), "A pod template cannot be understood");
	}
	if (!rc)
		choose_pool(p, r, templates);
	arena_done(&mem);
	r->resolved = !rc || rc == -EINVAL;
	return r->resolved;
}

/* ---- acting ---- */

static usec scaled(const struct provisioning *p, usec d)
{
	return d / p->c->options.time_scale;
}

static bool batch_has_room(const struct provisioning *p)
{
	return registry_batch_room(p->c->batch) >= 2 * REGISTRY_RESERVE &&
	       !registry_batch_full(p->c->batch);
}

static void put_status(struct provisioning *p, struct provisioning_request *r)
{
	struct cluster *c = p->c;
	struct store_object o;
	struct object_draft d;
	struct err why = ERR_INIT;
	auto_buf status = BUF_INIT;
	char ticket[NODE_POOL_TICKET_MAX];
	if (cluster_current(c, c->provisioning_kind, span_of(r->ns), span_of(r->name), r->revision,
			    &o)) {
		p->due = 0; /* overtaken: the next step sees what became of it */
		return;
	}
	buf_add_str(&status, "{\"conditions\":");
	conditions_print(&r->state.conditions, CONDITIONS_META, &status);
	if (conditions_true(&r->state.conditions, "Accepted"))
		buf_addf(&status, ",\"provisioningClassDetails\":{\"" NODE_POOL_DETAIL "\":\"%s\"}",
			 node_pool_ticket(span_of(r->ns), span_of(r->name), ticket));
	buf_add_char(&status, '}');
	if (object_draft_splice_status(&o, buf_span(&status), false, &d, &why)) {
		cluster_fail(c, &why);
		return;
	}
	r->ours =
	    registry_put(c->batch, c->provisioning_kind, span_of(r->ns), span_of(r->name), &d) == 0;
}

/* False when the batch is full. */
static bool create_nodes(struct provisioning *p, struct provisioning_request *r)
{
	int32_t made = (int32_t)r->nodes.len;
	for (int32_t i = 0; made < r->need && i < r->need; i++) {
		struct err why = ERR_INIT;
		char name[64];
		auto_json *node =
		    node_pool_make(r->pool, span_of(r->ns), span_of(r->name), r->uid_text, i, name);
		if (find_node(r, span_of(name)))
			continue;
		if (!batch_has_room(p))
			return false;
		if (cluster_nodes_put(p->c, p->c->batch, node, name, &why)) {
			cluster_fail(p->c, &why);
			return true;
		}
		made++;
	}
	return true;
}

static bool is_idle(const struct provisioning *p, const struct request_node *n)
{
	return n->idle_since && p->c->now >= n->idle_since + scaled(p, PROVISIONING_BOOKING);
}

static bool remove_nodes(struct provisioning *p, struct provisioning_request *r, bool all)
{
	vec_foreach (&r->nodes, n) {
		if (!all && !is_idle(p, n))
			continue;
		if (!batch_has_room(p))
			return false;
		(void)!registry_delete(p->c->batch, p->c->node_kind, SPAN(""), span_of(n->name),
				       PROPAGATE_BACKGROUND);
	}
	return true;
}

/* Nobody may take the nodes of a request that is gone: not even one of the same name. */
static bool cordon(struct provisioning *p, struct provisioning_request *r)
{
	vec_foreach (&r->nodes, n) {
		struct store_object o;
		struct object_draft d;
		struct err why = ERR_INIT;
		auto_json *tree = NULL;
		struct cluster *c = p->c;
		if (n->cordoned)
			continue;
		if (!batch_has_room(p))
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

/* ---- deciding ---- */

static int32_t count_idle(struct provisioning *p, struct provisioning_request *r)
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

static void count_others(struct provisioning *p, const struct provisioning_request *of,
			 struct provisioning_view *v)
{
	int64_t taken = 0;
	map_foreach (&p->requests, e) {
		const struct provisioning_request *r = e->value;
		vec_foreach (&r->nodes, n)
			taken += n->pool == of->pool;
		if (r == of)
			continue;
		v->accepted += !r->gone && provisioning_waits(&r->state);
		if (!r->gone && r->pool == of->pool && provisioning_holds_room(&r->state))
			taken += r->need - (int32_t)r->nodes.len;
	}
	if (!of->pool)
		return;
	v->pool_room = (int32_t)(of->pool->max_nodes - taken);
	v->quota_room = (int32_t)(of->pool->quota - taken);
}

/* False when the batch is full. */
static bool look(struct provisioning *p, struct provisioning_request *r, usec *due)
{
	struct provisioning_plan plan;
	struct provisioning_view v = {
	    .now = p->c->now,
	    .gone = r->gone,
	    .nodes = (int32_t)r->nodes.len,
	    .booking = scaled(p, PROVISIONING_BOOKING),
	    .max_run = scaled(p, r->max_run),
	    .scan = scaled(p, PROVISIONING_SCAN),
	};
	if (!batch_has_room(p))
		return false;
	if (!r->gone && (!serves(p, r->class) || !resolve(p, r)))
		return true;
	v.idle = count_idle(p, r);
	v.refusal = r->pool ? NULL : r->refusal;
	v.need = r->need;
	if (r->pool) {
		v.pool = r->pool->name;
		v.quota = r->pool->quota;
		v.delay = scaled(p, r->pool->delay);
	}
	count_others(p, r, &v);
	if (provisioning_decide(&v, &r->state, &plan))
		put_status(p, r);
	if (plan.again < *due)
		*due = plan.again;
	if (r->gone && !cordon(p, r))
		return false;
	switch (plan.action) {
	case PROVISIONING_CREATE:
		return create_nodes(p, r);
	case PROVISIONING_REMOVE_IDLE:
		return remove_nodes(p, r, false);
	case PROVISIONING_REMOVE_ALL:
		return remove_nodes(p, r, true);
	default:
		return true;
	}
}

usec cluster_provisioning_due(const struct provisioning *p)
{
	return p->due;
}

bool cluster_provisioning_step(struct provisioning *p)
{
	bool all = true;
	if (p->c->now < p->due)
		return true;
	usec due = INT64_MAX;
	p->due = INT64_MAX; /* a change during the commit sets it back */
	map_foreach (&p->requests, e) {
		struct provisioning_request *r = e->value;
		if (r->gone && !r->nodes.len)
			forget(p, r);
		else
			all = all && look(p, r, &due);
	}
	if (!all)
		due = 0;
	if (due < p->due)
		p->due = due;
	return all;
}
