/*
 * Nodes of a model cluster and the pods on them: room is taken and given back here alone.
 */
#include "model_parts.h"

#include "base/json.h"
#include "kinds/job_path.h"
#include "kinds/types.h"

#include <inttypes.h>

/* ---- nodes ---- */

static struct model_node *node_of(const struct model *m, const char *name)
{
	vec_foreach (&m->nodes, n)
		if (!(*n)->gone && strcmp((*n)->name, name) == 0)
			return *n;
	return NULL;
}

struct model_node *model_add_node(struct model *m, const char *name, int64_t cpus, int64_t gpus)
{
	struct model_node *n = xcalloc(1, sizeof(*n));

	*n = (struct model_node){
	    .name = xstrdup(name), .cpu_milli = cpus * 1000, .gpus = gpus, .pods = 110};
	vec_push(&m->nodes, n);
	model_tell_node(m, n);
	return n;
}

void model_label_nodes(struct model *m, const char *key, const char *value)
{
	vec_foreach (&m->nodes, n) {
		(*n)->label_key = key;
		(*n)->label_value = value;
		model_tell_node(m, *n);
	}
}

void model_place_node(struct model *m, const char *name, const char *block, const char *rack)
{
	struct model_node *n = node_of(m, name);

	if (!n)
		return;
	n->label_key = "cloud.example.com/block";
	n->label_value = block;
	n->other_key = "cloud.example.com/rack";
	n->other_value = rack;
	model_tell_node(m, n);
}

void model_provision_node(struct model *m, const char *name, const char *mark)
{
	struct model_node *n = model_add_node(m, name, 8, 8);

	n->label_key = "pool";
	n->label_value = "queued";
	n->other_key = mark ? "autoscaling.gke.io/provisioning-request" : NULL;
	n->other_value = mark;
}

void model_remove_node(struct model *m, const char *name)
{
	struct model_node *n = node_of(m, name);
	if (!n)
		return;
	n->gone = true;
	model_tell_node(m, n);
}

void model_set_node(struct model *m, const char *name, bool ready, bool tainted)
{
	struct model_node *n = node_of(m, name);

	n->down = !ready;
	n->tainted = tainted;
	model_tell_node(m, n);
}

/* ---- pods ---- */

static int64_t request(const struct model_pod *p, const char *resource)
{
	for (size_t i = 0; i < p->n_requests; i++)
		if (span_is(p->requests[i].resource, resource))
			return p->requests[i].value;
	return 0;
}

static void take(struct model_node *n, const struct model_pod *p, int sign)
{
	n->cpu_used += sign * request(p, "cpu");
	n->gpus_used += sign * request(p, "nvidia.com/gpu");
	n->pods_used += sign;
}

bool model_pod_works(const struct model_pod *p)
{
	return !p->gone && p->node && p->phase != POD_SUCCEEDED && p->phase != POD_FAILED;
}

void model_pod_leave(struct model *m, struct model_pod *p)
{
	struct model_node *n = model_pod_works(p) ? node_of(m, p->node) : NULL;
	if (n)
		take(n, p, -1);
}

void model_pod_gone(struct model *m, struct model_pod *p)
{
	if (p->gone)
		return;
	model_pod_leave(m, p);
	p->gone = true;
	model_tell_pod(m, p);
}

static struct model_pod *pod_new(struct model *m, const char *ns, const char *name)
{
	struct model_pod *p = xcalloc(1, sizeof(*p));

	p->ns = xstrdup(ns);
	p->name = xstrdup(name);
	p->phase = POD_PENDING;
	p->number = ++m->next_pod;
	vec_push(&m->pods, p);
	return p;
}

struct model_pod *model_add_pod(struct model *m, const char *ns, const char *name, const char *node,
				int64_t cpus)
{
	struct model_pod *p = pod_new(m, ns, name);

	p->requests = xcalloc(1, sizeof(*p->requests));
	p->requests[0] = (struct info_amount){span_of(xstrdup("cpu")), cpus * 1000};
	p->n_requests = 1;
	p->node = xstrdup(node);
	p->phase = POD_RUNNING;
	if (node_of(m, node))
		take(node_of(m, node), p, 1);
	model_tell_pod(m, p);
	return p;
}

void model_end_pod(struct model *m, struct model_pod *p)
{
	model_pod_gone(m, p);
}

const char *model_pod_node(const struct model_copy *c, int64_t index)
{
	vec_foreach (&c->pods, p)
		if (!(*p)->gone && (*p)->index == index)
			return (*p)->node;
	return NULL;
}

/* ---- pods of copies ---- */

static bool is_gated(const struct model_copy *c, struct span template)
{
	struct span part, gates;

	return job_path_find(span_of(c->body), template, &part) == 0 &&
	       json_text_path(part, &gates, "spec", "schedulingGates", NULL) == 0;
}

static void make_pod(struct model *m, struct model_copy *c, const struct job_pod_set *set, size_t i,
		     int64_t n)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "%s-%" PRIu64 "-%zu-%" PRId64, c->name, m->next_uid, i,
		       n);
	struct model_pod *p = pod_new(m, c->ns, name);
	const struct template_info *t = &set->pod;
	p->gone = true; /* until it starts */
	p->epoch = c->epoch;
	p->job_uid = c->job_uid ? xstrdup(c->job_uid) : NULL;
	p->hub_uid = c->hub_uid ? xstrdup(c->hub_uid) : NULL;
	p->set = xstrndup(set->name.ptr, set->name.len);
	p->born_gated = p->gated = is_gated(c, set->path);
	p->index = n;
	if (c->kind->type == TYPE_JOB_SET && set->groups > 0) {
		p->replicas = set->groups;
		p->job_pods = set->count / p->replicas;
	}
	p->requests = xcalloc(t->n_requests + 1, sizeof(*p->requests));
	p->n_requests = t->n_requests;
	for (size_t k = 0; k < t->n_requests; k++)
		p->requests[k] = (struct info_amount){
		    span_make(xstrndup(t->requests[k].resource.ptr, t->requests[k].resource.len),
			      t->requests[k].resource.len),
		    t->requests[k].value};
	vec_push(&c->pods, p);
}

/* The pods of a copy, made when it is created, told of when it starts. */
void model_make_pods(struct model *m, struct model_copy *c, const struct cJSON *tree)
{
	auto_buf digest = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;

	if (!c->kind->is_job || c->kind->digest(c->kind, tree, &digest, NULL) < 0 ||
	    job_digest_unpack(buf_span(&digest), &mem, &d) < 0)
		return;
	vec_clear(&c->pods);
	for (size_t i = 0; i < d.n_pod_sets; i++)
		for (int64_t n = 0; n < d.pod_sets[i].count; n++)
			make_pod(m, c, &d.pod_sets[i], i, n);
	if (!d.submitter)
		return;
	make_pod(m, c, d.submitter, d.n_pod_sets, 0);
	c->pods.items[c->pods.len - 1]->last = true;
}

/* The one or two labels that a node here has. */
static bool node_is(const struct model_node *n, struct span key, struct span value)
{
	return (n->label_key && span_is(key, n->label_key) && span_is(value, n->label_value)) ||
	       (n->other_key && span_is(key, n->other_key) && span_is(value, n->other_value));
}

static bool may_stand(const struct model_node *n, const struct model_pod *p)
{
	struct span key, value;

	if (p->gated)
		return false;
	for (size_t pos = 0; p->held && json_text_next(span_of(p->held), &pos, &key, &value);)
		if (!node_is(n, key, json_text_plain(value)))
			return false;
	return true;
}

bool model_bind_pod(struct model *m, struct model_pod *p)
{
	for (size_t i = 0; i < m->nodes.len; i++) {
		struct model_node *n = m->nodes.items[(i + m->binds_from) % m->nodes.len];
		if (n->gone || n->down || n->tainted ||
		    n->cpu_milli - n->cpu_used < request(p, "cpu") ||
		    n->gpus - n->gpus_used < request(p, "nvidia.com/gpu") ||
		    n->pods - n->pods_used < 1 || !may_stand(n, p))
			continue;
		p->node = xstrdup(n->name);
		p->phase = POD_RUNNING;
		take(n, p, 1);
		model_tell_pod(m, p);
		return true;
	}
	return false;
}

static bool is_lost(const struct model *m, const struct model_pod *p)
{
	const struct model_node *n = p->node ? node_of(m, p->node) : NULL;
	return p->node && (!n || n->down || n->tainted);
}

static void recreate_pod(struct model *m, struct model_copy *c, size_t i)
{
	struct model_pod *old = c->pods.items[i];
	char name[300];

	model_pod_gone(m, old);
	(void)snprintf(name, sizeof(name), "%s-%" PRIu64, c->name, m->next_pod);
	struct model_pod *p = pod_new(m, c->ns, name);
	p->epoch = old->epoch;
	p->job_uid = old->job_uid ? xstrdup(old->job_uid) : NULL;
	p->hub_uid = old->hub_uid ? xstrdup(old->hub_uid) : NULL;
	p->set = xstrdup(old->set);
	p->requests = xcalloc(old->n_requests + 1, sizeof(*p->requests));
	p->n_requests = old->n_requests;
	for (size_t k = 0; k < old->n_requests; k++)
		p->requests[k] =
		    (struct info_amount){span_make(xstrndup(old->requests[k].resource.ptr,
							    old->requests[k].resource.len),
						   old->requests[k].resource.len),
					 old->requests[k].value};
	p->born_gated = p->gated = old->born_gated;
	p->index = old->index;
	p->replicas = old->replicas;
	p->job_pods = old->job_pods;
	c->pods.items[i] = p;
	model_tell_pod(m, p);
}

void model_recreate(struct model *m, struct model_copy *c, bool all)
{
	for (size_t i = 0; i < c->pods.len; i++)
		if (!c->pods.items[i]->gone && !c->pods.items[i]->hung &&
		    (all || is_lost(m, c->pods.items[i])))
			recreate_pod(m, c, i);
}

void model_hang(struct model *m, const char *node)
{
	vec_foreach (&m->pods, it) {
		struct model_pod *p = *it;
		if (!model_pod_works(p) || strcmp(p->node, node) != 0)
			continue;
		p->hung = true;
		model_tell_pod(m, p);
	}
}

void model_unhang(struct model *m, const char *node)
{
	vec_foreach (&m->pods, p)
		if ((*p)->hung && !(*p)->gone && strcmp((*p)->node, node) == 0)
			model_pod_gone(m, *p);
}

size_t model_copy_bound(const struct model_copy *c)
{
	size_t n = 0;

	vec_foreach (&c->pods, p)
		n += model_pod_works(*p);
	return n;
}
