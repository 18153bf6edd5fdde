#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/codec.h"
#include "member-sync/sim/provisioning_priv.h"

/* ---- records ---- */

static struct span uid_key(const uint8_t uid[STORE_UID_LEN])
{
	return span_make((const char *)uid, STORE_UID_LEN);
}

struct provisioning_request *provisioning_record(struct provisioning *p,
						 const uint8_t uid[STORE_UID_LEN])
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
	struct provisioning_request *r = provisioning_record(p, o->uid);
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

/* ---- deciding ---- */

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
	    .booking = provisioning_scaled(p, PROVISIONING_BOOKING),
	    .max_run = provisioning_scaled(p, r->max_run),
	    .scan = provisioning_scaled(p, PROVISIONING_SCAN),
	};
	if (!provisioning_batch_has_room(p))
		return false;
	if (!r->gone && (!provisioning_serves(p, r->class) || !provisioning_resolve(p, r)))
		return true;
	v.idle = provisioning_count_idle(p, r);
	v.refusal = r->pool ? NULL : r->refusal;
	v.need = r->need;
	if (r->pool) {
		v.pool = r->pool->name;
		v.quota = r->pool->quota;
		v.delay = provisioning_scaled(p, r->pool->delay);
	}
	count_others(p, r, &v);
	if (provisioning_decide(&v, &r->state, &plan))
		put_status(p, r);
	if (plan.again < *due)
		*due = plan.again;
	if (r->gone && !provisioning_cordon(p, r))
		return false;
	switch (plan.action) {
	case PROVISIONING_CREATE:
		return provisioning_create_nodes(p, r);
	case PROVISIONING_REMOVE_IDLE:
		return provisioning_remove_nodes(p, r, false);
	case PROVISIONING_REMOVE_ALL:
		return provisioning_remove_nodes(p, r, true);
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
