#include "cluster_model.h"

#include "model_things.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/job_path.h"
#include "kinds/types.h"
#include "kube/patch.h"

#include <assert.h>
#include <inttypes.h>

static enum member_stream stream_of(const struct model *m, uint16_t type)
{
	static const uint16_t types[STREAM_MAX] = {
	    [STREAM_JOBS] = TYPE_JOB,
	    [STREAM_PYTORCHJOBS] = TYPE_PYTORCH_JOB,
	    [STREAM_TFJOBS] = TYPE_TF_JOB,
	    [STREAM_MPIJOBS] = TYPE_MPI_JOB,
	    [STREAM_JOBSETS] = TYPE_JOB_SET,
	    [STREAM_RAYJOBS] = TYPE_RAY_JOB,
	    [STREAM_RAYCLUSTERS] = TYPE_RAY_CLUSTER,
	    [STREAM_XGBOOSTJOBS] = TYPE_XGBOOST_JOB,
	    [STREAM_PADDLEJOBS] = TYPE_PADDLE_JOB,
	    [STREAM_JAXJOBS] = TYPE_JAX_JOB,
	    [STREAM_PROVISIONING_REQUESTS] = TYPE_PROVISIONING_REQUEST,
	};
	if (m->v1beta1 && type == TYPE_PROVISIONING_REQUEST)
		return STREAM_PROVISIONING_REQUESTS_V1BETA1;
	for (enum member_stream s = 0; s < STREAM_MAX; s++)
		if (types[s] == type)
			return s;
	return STREAM_MAX;
}

/* ---- life ---- */

struct model *model_create(const char *name, const struct kind_set *kinds, uint8_t identity)
{
	struct model *m = xcalloc(1, sizeof(*m));

	m->name = xstrdup(name);
	m->kinds = kinds;
	memset(m->incarnation, identity, sizeof(m->incarnation));
	m->revision = 1000;
	m->run_time = USEC_PER_SEC;
	m->out_tail = &m->out_head;
	model_put_thing(m, "/api/v1/namespaces/kube-system", "{}");
	return m;
}

static void copy_free(struct model_copy *c)
{
	free(c->path);
	free(c->ns);
	free(c->name);
	free(c->uid);
	free(c->hub_uid);
	free(c->job_uid);
	free(c->status);
	free(c->body);
	vec_done(&c->pods);
	free(c);
}

static void pod_free(struct model_pod *p)
{
	for (size_t i = 0; i < p->n_requests; i++)
		free((char *)(uintptr_t)p->requests[i].resource.ptr);
	free(p->requests);
	free(p->name);
	free(p->ns);
	free(p->job_uid);
	free(p->hub_uid);
	free(p->set);
	free(p->node);
	free(p->held);
	free(p);
}

static void drop_out(struct model *m)
{
	for (struct fact *f = m->out_head; f;) {
		struct fact *next = f->next;
		fact_destroy(f);
		f = next;
	}
	m->out_head = NULL;
	m->out_tail = &m->out_head;
}

struct model *model_destroy(struct model *m)
{
	if (!m)
		return NULL;
	drop_out(m);
	vec_foreach (&m->all_copies, c)
		copy_free(*c);
	vec_foreach (&m->pods, p)
		pod_free(*p);
	vec_foreach (&m->nodes, n) {
		free((*n)->name);
		free(*n);
	}
	vec_foreach (&m->events, e) {
		free((*e)->copy.status);
		free(*e);
	}
	vec_done(&m->all_copies);
	vec_done(&m->pods);
	vec_done(&m->nodes);
	vec_done(&m->events);
	map_done(&m->copies);
	model_things_free(m);
	free(m->name);
	free(m);
	return NULL;
}

/* ---- what happened ---- */

static struct model_event *tell(struct model *m, enum member_stream s, const void *what, bool gone)
{
	struct model_event *e = xcalloc(1, sizeof(*e));

	*e = (struct model_event){
	    .stream = s, .revision = ++m->revision, .deleted = gone, .what = what};
	vec_push(&m->events, e);
	return e;
}

static void tell_copy(struct model *m, struct model_copy *c)
{
	struct model_event *e = tell(m, stream_of(m, c->kind->type), c, c->gone);

	c->revision = e->revision;
	e->copy = *c;
	e->copy.status = c->status ? xstrdup(c->status) : NULL;
	e->copy.pods.items = NULL;
}

static void tell_pod(struct model *m, struct model_pod *p)
{
	struct model_event *e = tell(m, STREAM_PODS, p, p->gone);

	p->revision = e->revision;
	e->pod_phase = p->phase;
	e->pod_node = p->node;
}

static void tell_node(struct model *m, struct model_node *n)
{
	n->revision = tell(m, STREAM_NODES, n, n->gone)->revision;
}

/* ---- facts ---- */

static struct fact *fact_of(const struct model *m, enum fact_op op, enum member_stream s,
			    uint64_t revision)
{
	struct fact *f = fact_create(op, m->number);

	f->join = m->join;
	memcpy(f->incarnation, m->incarnation, STORE_UID_LEN);
	f->stream = s;
	f->revision = revision;
	return f;
}

static struct span text_in(struct arena *mem, const char *s)
{
	return arena_span(mem, span_of(s));
}

static void fill_copy(const struct model_copy *c, struct arena *mem, struct copy_info *ret)
{
	*ret = (struct copy_info){
	    .type = c->kind->type,
	    .ns = text_in(mem, c->ns),
	    .name = text_in(mem, c->name),
	    .uid = text_in(mem, c->uid),
	    .revision = c->revision,
	    .hub_uid = text_in(mem, c->hub_uid),
	    .job_uid = text_in(mem, c->job_uid),
	    .epoch = c->epoch,
	    .suspended = c->suspended,
	    .deleting = c->deleting,
	    .status = text_in(mem, c->status),
	};
	ret->phase = copy_info_phase(c->kind->type, ret->status);
}

static struct fact *copy_fact(const struct model *m, const struct model_copy *c, bool deleted)
{
	struct fact *f = fact_of(m, FACT_COPY, stream_of(m, c->kind->type), c->revision);

	fill_copy(c, &f->mem, &f->copy);
	f->deleted = deleted;
	return f;
}

static struct span pod_json(const struct model *m, const struct model_pod *p, struct arena *mem)
{
	auto_buf b = BUF_INIT;

	buf_addf(
	    &b,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
	    "\"%s\",\"uid\":\"00000000-0000-4000-8%03x-%012" PRIx64
	    "\",\"labels\":{\"batch.kubernetes.io/job-completion-index\":\"%" PRId64
	    "\"}},\"spec\":{\"containers\":[]%s%s%s}}",
	    p->name, p->ns, m->incarnation[0], p->number, p->index,
	    p->gated ? ",\"schedulingGates\":[{\"name\":\"kueue.x-k8s.io/topology\"}]" : "",
	    p->held ? ",\"nodeSelector\":" : "", p->held ? p->held : "");
	return arena_span(mem, buf_span(&b));
}

static struct fact *pod_fact(const struct model *m, const struct model_pod *p,
			     const struct model_event *e)
{
	const char *node = e ? e->pod_node : p->node;
	struct fact *f = fact_of(m, FACT_POD, STREAM_PODS, e ? e->revision : p->revision);

	f->deleted = e && e->deleted;
	f->pod = (struct pod_info){
	    .ns = text_in(&f->mem, p->ns),
	    .name = text_in(&f->mem, p->name),
	    .revision = f->revision,
	    .node = text_in(&f->mem, node),
	    .phase = e ? e->pod_phase : p->phase,
	    .ready = (e ? e->pod_phase : p->phase) == POD_RUNNING,
	    .hub_uid = text_in(&f->mem, p->hub_uid),
	    .job_uid = text_in(&f->mem, p->job_uid),
	    .pod_set = text_in(&f->mem, p->set),
	    .epoch = p->epoch,
	    .n_requests = p->n_requests,
	};
	f->pod.requests = arena_array(&f->mem, struct info_amount, p->n_requests);
	for (size_t i = 0; i < p->n_requests; i++)
		f->pod.requests[i] = (struct info_amount){
		    arena_span(&f->mem, p->requests[i].resource), p->requests[i].value};
	if (p->hub_uid && !f->deleted)
		f->json = pod_json(m, p, &f->mem);
	return f;
}

static struct fact *node_fact(const struct model *m, const struct model_node *n, bool deleted)
{
	struct fact *f = fact_of(m, FACT_NODE, STREAM_NODES, n->revision);
	struct info_amount *a = arena_array(&f->mem, struct info_amount, 3);

	a[0] = (struct info_amount){SPAN("cpu"), n->cpu_milli};
	a[1] = (struct info_amount){SPAN("nvidia.com/gpu"), n->gpus};
	a[2] = (struct info_amount){SPAN("pods"), n->pods};
	f->deleted = deleted;
	f->node = (struct node_info){.name = text_in(&f->mem, n->name),
				     .revision = n->revision,
				     .allocatable = a,
				     .n_allocatable = 3,
				     .ready = !n->down};
	if (n->tainted) {
		f->node.taints = arena_array(&f->mem, struct info_taint, 1);
		f->node.taints[0] =
		    (struct info_taint){SPAN("maintenance"), SPAN(""), INFO_NO_EXECUTE};
		f->node.n_taints = 1;
	}
	if (n->label_key) {
		f->node.labels = arena_array(&f->mem, struct info_pair, 2);
		f->node.labels[0] =
		    (struct info_pair){span_of(n->label_key), span_of(n->label_value)};
		f->node.n_labels = 1;
		if (n->other_key)
			f->node.labels[f->node.n_labels++] =
			    (struct info_pair){span_of(n->other_key), span_of(n->other_value)};
	}
	return f;
}

struct fact *model_ready(const struct model *m)
{
	struct fact *f = fact_create(FACT_MEMBER, m->number);

	f->join = m->join;
	f->member_state.condition = MEMBER_READY;
	f->member_state.message = arena_strndup(&f->mem, "ok", 2);
	f->member_state.apis = (1u << STREAM_MAX) - 1;
	f->member_state.apis &= ~(1u << (m->v1beta1 ? STREAM_PROVISIONING_REQUESTS
						    : STREAM_PROVISIONING_REQUESTS_V1BETA1));
	f->member_state.apis_known = true;
	memcpy(f->member_state.incarnation, m->incarnation, STORE_UID_LEN);
	memcpy(f->incarnation, m->incarnation, STORE_UID_LEN);
	return f;
}

/* ---- streams ---- */

static void push(struct model *m, struct fact *f)
{
	*m->out_tail = f;
	m->out_tail = &f->next;
}

static void list(struct model *m, enum member_stream s)
{
	m->lists[s]++;
	push(m, fact_of(m, FACT_LIST_BEGIN, s, 0));
	vec_foreach (&m->nodes, n)
		if (s == STREAM_NODES && !(*n)->gone)
			push(m, node_fact(m, *n, false));
	vec_foreach (&m->pods, p)
		if (s == STREAM_PODS && !(*p)->gone)
			push(m, pod_fact(m, *p, NULL));
	map_foreach (&m->copies, e) {
		const struct model_copy *c = e->value;
		if (stream_of(m, c->kind->type) == s && c->hub_uid)
			push(m, copy_fact(m, c, false));
	}
	push(m, fact_of(m, FACT_LIST_END, s, m->revision));
	m->sent[s] = m->revision;
}

void model_join(struct model *m, const struct order *join)
{
	static const uint8_t none[STORE_UID_LEN];

	drop_out(m);
	m->number = join->member;
	m->join = join->id;
	m->joins++;
	m->at = 0;
	m->joined = memcmp(join->incarnation, none, STORE_UID_LEN) == 0 ||
		    memcmp(join->incarnation, m->incarnation, STORE_UID_LEN) == 0;
	if (!m->joined) {
		push(m, model_stranger(m));
		return;
	}
	push(m, model_ready(m));
	for (enum member_stream s = 0; s < STREAM_MAX; s++) {
		m->sent[s] = join->cursors[s];
		if (join->cursors[s] == 0 && s != STREAM_EVENTS)
			list(m, s);
	}
}

void model_relist(struct model *m)
{
	for (enum member_stream s = 0; s < STREAM_EVENTS; s++)
		list(m, s);
}

static struct fact *event_fact(const struct model *m, const struct model_event *e)
{
	if (e->stream == STREAM_NODES)
		return node_fact(m, e->what, e->deleted);
	if (e->stream == STREAM_PODS)
		return pod_fact(m, e->what, e);
	return e->copy.hub_uid ? copy_fact(m, &e->copy, e->deleted) : NULL;
}

struct fact *model_next_fact(struct model *m)
{
	struct fact *f = m->out_head;

	if (f) {
		m->out_head = f->next;
		if (!m->out_head)
			m->out_tail = &m->out_head;
		f->next = NULL;
		return f;
	}
	while (m->joined && m->at < m->events.len && !f) {
		const struct model_event *e = m->events.items[m->at++];
		if (e->revision <= m->sent[e->stream])
			continue;
		m->sent[e->stream] = e->revision;
		f = event_fact(m, e);
	}
	return f;
}

/* ---- nodes and foreign pods ---- */

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
	tell_node(m, n);
	return n;
}

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

static bool is_working(const struct model_pod *p)
{
	return !p->gone && p->node && p->phase != POD_SUCCEEDED && p->phase != POD_FAILED;
}

static void leave(struct model *m, struct model_pod *p)
{
	struct model_node *n = is_working(p) ? node_of(m, p->node) : NULL;
	if (n)
		take(n, p, -1);
}

static void pod_gone(struct model *m, struct model_pod *p)
{
	if (p->gone)
		return;
	leave(m, p);
	p->gone = true;
	tell_pod(m, p);
}

void model_label_nodes(struct model *m, const char *key, const char *value)
{
	vec_foreach (&m->nodes, n) {
		(*n)->label_key = key;
		(*n)->label_value = value;
		tell_node(m, *n);
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
	tell_node(m, n);
}

void model_remove_node(struct model *m, const char *name)
{
	struct model_node *n = node_of(m, name);
	if (!n)
		return;
	n->gone = true;
	tell_node(m, n);
}

void model_set_node(struct model *m, const char *name, bool ready, bool tainted)
{
	struct model_node *n = node_of(m, name);

	n->down = !ready;
	n->tainted = tainted;
	tell_node(m, n);
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
	tell_pod(m, p);
	return p;
}

void model_end_pod(struct model *m, struct model_pod *p)
{
	pod_gone(m, p);
}

/* ---- orders ---- */

static struct fact *result_of(const struct order *o, int code, const char *words)
{
	struct fact *f = fact_create(FACT_RESULT, o->member);

	f->result.order_id = o->id;
	f->result.outcome = OUTCOME_ANSWERED;
	f->result.http_code = code;
	if (code / 100 != 2)
		err_set(&f->result.err, ERR_INVALID, "%s", words);
	return f;
}

/* PATCH of a pod: its gates and its node selectors. */
static struct fact *patch_pod(struct model *m, const struct order *o)
{
	struct arena mem = ARENA_INIT;
	struct model_pod *p = NULL;
	auto_json *was = NULL, *patch = NULL, *now = NULL;
	auto_buf held = BUF_INIT;
	struct err err = ERR_INIT;

	vec_foreach (&m->pods, it) {
		char path[700];
		(void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s", (*it)->ns,
			       (*it)->name);
		if (!(*it)->gone && strcmp(path, o->path) == 0)
			p = *it;
	}
	if (!p)
		return result_of(o, 404, "pods not found");
	if (m->no_patches)
		return result_of(o, 403, "pods is forbidden");
	assert(json_parse(pod_json(m, p, &mem), NULL, &was, &err) == 0);
	arena_done(&mem);
	if (json_parse(span_make(o->body, o->body_len), NULL, &patch, &err) < 0 ||
	    patch_apply(PATCH_JSON, NULL, was, patch, &now, &err) < 0)
		return result_of(o, 422, err.text);
	p->gated = json_len(json_path(now, "spec", "schedulingGates", NULL)) > 0;
	json_print(json_path(now, "spec", "nodeSelector", NULL), &held);
	free(p->held);
	p->held = buf_steal(&held, NULL);
	m->ungated++;
	tell_pod(m, p);
	return result_of(o, 200, "");
}

const char *model_pod_node(const struct model_copy *c, int64_t index)
{
	vec_foreach (&c->pods, p)
		if (!(*p)->gone && (*p)->index == index)
			return (*p)->node;
	return NULL;
}

static struct fact *with_copy(const struct order *o, int code, const struct model_copy *c)
{
	struct fact *f = result_of(o, code, "");

	f->result.has_copy = true;
	fill_copy(c, &f->mem, &f->result.copy);
	return f;
}

struct fact *model_no_answer(const struct order *o, bool sent)
{
	struct fact *f = result_of(o, 0, sent ? "the connection was reset" : "not sent");
	f->result.outcome = sent ? OUTCOME_UNKNOWN : OUTCOME_NOT_SENT;
	return f;
}

/* The job kind, namespace and name that a path speaks of; NULL for other paths. */
static const struct kind *job_path(const struct model *m, const char *path, struct span *ret_ns,
				   struct span *ret_name)
{
	struct span rest = span_of(path);

	if (!span_starts(rest, SPAN("/apis/")))
		return NULL;
	rest = span_make(rest.ptr + 6, rest.len - 6);
	struct span group = span_split(&rest, '/'), version = span_split(&rest, '/');
	(void)span_split(&rest, '/');
	*ret_ns = span_split(&rest, '/');
	struct span plural = span_split(&rest, '/');
	*ret_name = rest;
	const struct kind *k = kind_by_resource(m->kinds, group, version, plural);
	if (k && k->type == TYPE_PROVISIONING_REQUEST)
		return span_is(version, m->v1beta1 ? "v1beta1" : "v1") ? k : NULL;
	return k && k->is_job ? k : NULL;
}

static char *label(const struct cJSON *object, const char *where, const char *key)
{
	const char *v = json_str(json_path(object, "metadata", where, NULL), key);
	return v ? xstrdup(v) : NULL;
}

static void read_copy(struct model_copy *c, const struct cJSON *tree)
{
	char *epoch = label(tree, "annotations", COPY_ANNOTATION_EPOCH);
	auto_buf spec = BUF_INIT, digest = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;

	if (!c->body_read) { /* events borrow them */
		c->hub_uid = label(tree, "labels", COPY_LABEL_HUB_UID);
		c->job_uid = label(tree, "annotations", COPY_ANNOTATION_JOB_UID);
		c->body_read = true;
	}
	if (epoch)
		assert(num_parse_u64(span_of(epoch), UINT64_MAX, &c->epoch) == 0);
	free(epoch);
	json_print(json_get(tree, "spec"), &spec);
	c->suspended = copy_info_suspended(c->kind->type, buf_span(&spec));
	if (c->kind->is_job && c->kind->digest(c->kind, tree, &digest, NULL) == 0 &&
	    job_digest_unpack(buf_span(&digest), &mem, &d) == 0) {
		c->n_pods = 0;
		for (size_t i = 0; i < d.n_pod_sets; i++)
			c->n_pods += d.pod_sets[i].count;
	}
}

static bool is_gated(const struct model_copy *c, struct span template)
{
	struct span part, gates;

	return job_path_find(span_of(c->body), template, &part) == 0 &&
	       json_text_path(part, &gates, "spec", "schedulingGates", NULL) == 0;
}

/* The pods of a copy, made when it is created, told of when it starts. */
static void make_pods(struct model *m, struct model_copy *c, const struct cJSON *tree)
{
	auto_buf digest = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct job_digest d;
	char name[300];

	if (!c->kind->is_job || c->kind->digest(c->kind, tree, &digest, NULL) < 0 ||
	    job_digest_unpack(buf_span(&digest), &mem, &d) < 0)
		return;
	vec_clear(&c->pods);
	for (size_t i = 0; i < d.n_pod_sets; i++) {
		for (int64_t n = 0; n < d.pod_sets[i].count; n++) {
			(void)snprintf(name, sizeof(name), "%s-%" PRIu64 "-%zu-%" PRId64, c->name,
				       m->next_uid, i, n);
			struct model_pod *p = pod_new(m, c->ns, name);
			const struct template_info *t = &d.pod_sets[i].pod;
			p->gone = true; /* until it starts */
			p->epoch = c->epoch;
			p->job_uid = c->job_uid ? xstrdup(c->job_uid) : NULL;
			p->hub_uid = c->hub_uid ? xstrdup(c->hub_uid) : NULL;
			p->set = xstrndup(d.pod_sets[i].name.ptr, d.pod_sets[i].name.len);
			p->born_gated = p->gated = is_gated(c, d.pod_sets[i].path);
			p->index = n;
			p->requests = xcalloc(t->n_requests + 1, sizeof(*p->requests));
			p->n_requests = t->n_requests;
			for (size_t k = 0; k < t->n_requests; k++)
				p->requests[k] = (struct info_amount){
				    span_make(xstrndup(t->requests[k].resource.ptr,
						       t->requests[k].resource.len),
					      t->requests[k].resource.len),
				    t->requests[k].value};
			vec_push(&c->pods, p);
		}
	}
}

static struct fact *create_copy(struct model *m, struct order *o, const struct kind *k,
				struct span ns, const struct cJSON *tree)
{
	const char *name = json_str(json_get(tree, "metadata"), "name");
	auto_buf path = BUF_INIT, space = BUF_INIT;
	char uid[64];

	buf_addf(&path, "%s/%s", o->path, name);
	buf_addf(&space, "/api/v1/namespaces/%.*s", SPAN_ARGS(ns));
	if (!model_things_has(m, buf_span(&space)))
		return result_of(o, 404, "namespaces not found");
	if (map_has(&m->copies, buf_span(&path)))
		return result_of(o, 409, "already exists");
	struct model_copy *c = xcalloc(1, sizeof(*c));
	(void)snprintf(uid, sizeof(uid), "%s-%" PRIu64, m->name, ++m->next_uid);
	*c = (struct model_copy){.kind = k,
				 .path = xstrdup(path.ptr),
				 .ns = xstrndup(ns.ptr, ns.len),
				 .name = xstrdup(name),
				 .uid = xstrdup(uid)};
	c->body = xstrndup(o->body, o->body_len);
	read_copy(c, tree);
	make_pods(m, c, tree);
	vec_push(&m->all_copies, c);
	map_put(&m->copies, buf_span(&path), c);
	tell_copy(m, c);
	m->creates++;
	return with_copy(o, 201, c);
}

static struct fact *post(struct model *m, struct order *o)
{
	struct err err;
	struct span ns, name;
	auto_json *tree = NULL;
	const struct kind *k = job_path(m, o->path, &ns, &name);

	if (o->build && o->build(o, &err) < 0)
		return model_no_answer(o, false);
	if (!k)
		return model_things_call(m, o);
	if (json_parse(span_make(o->body, o->body_len), NULL, &tree, &err) < 0)
		return result_of(o, 400, err.text);
	return create_copy(m, o, k, ns, tree);
}

static struct fact *delete_copy(struct model *m, const struct order *o, struct model_copy *c)
{
	m->deletes++;
	if (!c->deleting) {
		c->deleting = true;
		tell_copy(m, c);
	}
	return with_copy(o, 200, c);
}

static void start_copy(struct model *m, struct model_copy *c, const struct cJSON *tree)
{
	m->starts++;
	++m->next_uid;
	make_pods(m, c, tree);
	vec_foreach (&c->pods, p) {
		(*p)->gone = c->deleting;
		if (!c->deleting)
			tell_pod(m, *p);
	}
}

/* The object as a GET shows it. Owned. */
static struct cJSON *tree_of(const struct model_copy *c)
{
	struct cJSON *tree = NULL, *status = NULL;
	char revision[24];

	assert(json_parse(span_of(c->body), NULL, &tree, NULL) == 0);
	(void)snprintf(revision, sizeof(revision), "%" PRIu64, c->revision);
	json_set_str(json_get(tree, "metadata"), "uid", c->uid);
	json_set_str(json_get(tree, "metadata"), "resourceVersion", revision);
	if (c->status && json_parse(span_of(c->status), NULL, &status, NULL) == 0)
		json_set(tree, "status", status);
	return tree;
}

/* As an API server: preconditions, and what no queue may change of a Job that ran. */
static struct fact *refuse_patch(const struct order *o, const struct model_copy *c,
				 const struct cJSON *was, const struct cJSON *now)
{
	static const char *const fixed[] = {"uid", "resourceVersion"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!json_equal(json_path(was, "metadata", fixed[i], NULL),
				json_path(now, "metadata", fixed[i], NULL)))
			return result_of(o, 409, "the precondition failed");
	if (c->kind->type == TYPE_JOB && json_path(was, "status", "startTime", NULL) &&
	    !json_equal(json_path(was, "spec", "template", NULL),
			json_path(now, "spec", "template", NULL)))
		return result_of(o, 422, "spec.template: field is immutable");
	return NULL;
}

static struct fact *patch_copy(struct model *m, struct order *o, struct model_copy *c)
{
	enum patch_type type = PATCH_MERGE;
	auto_json *patch = NULL, *now = NULL;
	struct err err = ERR_INIT;

	if (o->build && o->build(o, &err) < 0) {
		struct fact *f = model_no_answer(o, false);
		f->result.err = err;
		return f;
	}
	auto_json *was = tree_of(c);
	(void)patch_type_from_media(span_of(o->content_type), &type);
	if (json_parse(span_make(o->body, o->body_len), NULL, &patch, &err) < 0 ||
	    patch_apply(type, c->kind, was, patch, &now, &err) < 0)
		return result_of(o, 422, err.text);
	struct fact *refusal = refuse_patch(o, c, was, now);
	if (refusal)
		return refusal;
	bool suspended = c->suspended;
	auto_buf text = BUF_INIT, status = BUF_INIT;
	json_print(json_get(now, "status"), &status);
	if (status.len && c->status) {
		free(c->status);
		c->status = buf_steal(&status, NULL);
	}
	json_remove(now, "status");
	json_print(now, &text);
	free(c->body);
	c->body = buf_steal(&text, NULL);
	read_copy(c, now);
	if (suspended && !c->suspended)
		start_copy(m, c, now);
	m->stops += !suspended && c->suspended;
	tell_copy(m, c);
	return with_copy(o, 200, c);
}

/* Its controller sees that it is suspended. */
static bool stop_copy(struct model *m, struct model_copy *c)
{
	bool any = false;

	if (copy_phase_is_terminal(c->phase))
		return false;
	vec_foreach (&c->pods, p) {
		any |= !(*p)->gone;
		pod_gone(m, *p);
	}
	if (!any)
		return false;
	auto_buf b = BUF_INIT;
	buf_addf(&b, "{%s\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]}",
		 c->kind->type == TYPE_JOB ? "\"startTime\":\"t\"," : "");
	free(c->status);
	c->status = buf_steal(&b, NULL);
	c->phase = copy_info_phase(c->kind->type, span_of(c->status));
	tell_copy(m, c);
	return true;
}

static struct fact *get_copy(const struct order *o, const struct model_copy *c)
{
	struct fact *f = with_copy(o, 200, c);
	auto_json *tree = tree_of(c);
	auto_buf text = BUF_INIT;

	json_print(tree, &text);
	f->result.body = arena_span(&f->mem, buf_span(&text));
	return f;
}

/* A list of a job's pods that are not over. */
static struct fact *list_pods(const struct model *m, const struct order *o, const char *uid)
{
	size_t n = 0, len = strcspn(uid, "&");

	vec_foreach (&m->all_copies, p) {
		const struct model_copy *c = *p;
		if (strlen(c->job_uid) != len || memcmp(c->job_uid, uid, len) != 0)
			continue;
		vec_foreach (&c->pods, pod)
			n += !(*pod)->gone && (*pod)->phase != POD_SUCCEEDED &&
			     (*pod)->phase != POD_FAILED;
	}
	struct fact *f = result_of(o, 200, "");
	f->result.body = arena_span(&f->mem, n ? SPAN("{\"items\":[{}]}") : SPAN("{\"items\":[]}"));
	return f;
}

struct fact *model_call(struct model *m, struct order *o)
{
	static const uint8_t none[STORE_UID_LEN];

	if (memcmp(o->incarnation, none, STORE_UID_LEN) != 0 &&
	    memcmp(o->incarnation, m->incarnation, STORE_UID_LEN) != 0)
		return model_no_answer(o, false);
	if (strcmp(o->method, "POST") == 0)
		return post(m, o);
	static const char by_job[] = "/pods?labelSelector=muster.dev%2Fjob-uid%3D";
	const char *at = strstr(o->path, by_job);
	if (at)
		return list_pods(m, o, at + sizeof(by_job) - 1);
	struct span path = span_of(o->path);
	if (span_ends(path, SPAN("/status")))
		path.len -= strlen("/status");
	struct model_copy *c = map_get(&m->copies, path);
	if (!c && strcmp(o->method, "PATCH") == 0 && strstr(o->path, "/pods/"))
		return patch_pod(m, o);
	if (!c)
		return model_things_call(m, o);
	if (strcmp(o->method, "GET") == 0)
		return get_copy(o, c);
	if (strcmp(o->method, "PATCH") == 0)
		return patch_copy(m, o, c);
	if (!o->body || !memmem(o->body, o->body_len, c->uid, strlen(c->uid)))
		return result_of(o, 409, "the precondition failed: uid");
	return delete_copy(m, o, c);
}

/* ---- controllers ---- */

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

static bool bind_pod(struct model *m, struct model_pod *p)
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
		tell_pod(m, p);
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

	pod_gone(m, old);
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
	c->pods.items[i] = p;
	tell_pod(m, p);
}

void model_recreate(struct model *m, struct model_copy *c, bool all)
{
	for (size_t i = 0; i < c->pods.len; i++)
		if (!c->pods.items[i]->gone && (all || is_lost(m, c->pods.items[i])))
			recreate_pod(m, c, i);
}

size_t model_copy_bound(const struct model_copy *c)
{
	size_t n = 0;

	vec_foreach (&c->pods, p)
		n += is_working(*p);
	return n;
}

static void set_status(struct model *m, struct model_copy *c, const char *kubeflow,
		       const char *batch)
{
	auto_buf b = BUF_INIT;

	if (c->kind->type == TYPE_JOB_SET)
		buf_addf(&b,
			 "{\"replicatedJobsStatus\":[{\"name\":\"w\",\"ready\":%d,\"active\":%d}],"
			 "\"conditions\":[%s]}",
			 !*batch, !*batch, batch);
	else if (c->kind->type == TYPE_JOB)
		buf_addf(&b, "{\"active\":%" PRId64 ",%s\"conditions\":[%s]}",
			 *batch ? (int64_t)0 : c->n_pods, "\"startTime\":\"t\",", batch);
	else
		buf_addf(&b,
			 "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"},{\"type\":"
			 "\"%s\",\"status\":\"True\"}],\"startTime\":\"t%" PRIu64 "\"}",
			 kubeflow, m->revision);
	free(c->status);
	c->status = buf_steal(&b, NULL);
	c->phase = copy_info_phase(c->kind->type, span_of(c->status));
	tell_copy(m, c);
}

void model_set_status(struct model *m, struct model_copy *c, const char *json)
{
	free(c->status);
	c->status = xstrdup(json);
	for (char *p = c->status; *p; p++)
		if (*p == '\'')
			*p = '"';
	tell_copy(m, c);
}

void model_finish(struct model *m, struct model_copy *c, bool fails)
{
	vec_foreach (&c->pods, p) {
		if ((*p)->gone)
			continue;
		leave(m, *p);
		(*p)->phase = fails ? POD_FAILED : POD_SUCCEEDED;
		tell_pod(m, *p);
	}
	m->finished++;
	set_status(m, c, fails ? "Failed" : "Succeeded",
		   fails ? "{\"type\":\"Failed\",\"status\":\"True\"}"
			 : "{\"type\":\"Complete\",\"status\":\"True\"}");
}

static void copy_gone(struct model *m, struct model_copy *c)
{
	(void)map_remove(&m->copies, span_of(c->path));
	c->gone = true;
	tell_copy(m, c);
}

void model_vanish(struct model *m, struct model_copy *c)
{
	vec_foreach (&c->pods, p)
		pod_gone(m, *p);
	copy_gone(m, c);
}

void model_orphan(struct model *m, struct model_copy *c)
{
	copy_gone(m, c);
}

/* What a Job's own controller gives it. */
static usec deadline_of(const struct model_copy *c)
{
	static const char key[] = "\"activeDeadlineSeconds\":";
	const char *at = c->body ? strstr(c->body, key) : NULL;
	int64_t seconds = 0;

	for (const char *p = at ? at + sizeof(key) - 1 : ""; *p >= '0' && *p <= '9'; p++)
		seconds = num_add_sat(num_mul_sat(seconds, 10), *p - '0');
	return at ? num_mul_sat(seconds, USEC_PER_SEC) : INT64_MAX / 2;
}

static bool step_copy(struct model *m, struct model_copy *c, usec now)
{
	bool all = c->pods.len > 0, any = false;

	if (c->deleting) {
		model_vanish(m, c);
		return true;
	}
	if (!c->kind->is_job)
		return false;
	if (c->suspended)
		return stop_copy(m, c);
	if (c->phase == COPY_SUCCEEDED || c->phase == COPY_FAILED)
		return false;
	vec_foreach (&c->pods, p) {
		if (!(*p)->node)
			any |= bind_pod(m, *p);
		all = all && (*p)->node;
	}
	if (all && c->phase != COPY_RUNNING) {
		c->started = now;
		c->ends = now + num_min(m->run_time, deadline_of(c));
		set_status(m, c, "Running", "");
		return true;
	}
	if (all && c->ends <= now) {
		model_finish(m, c, c->fails);
		return true;
	}
	return any;
}

bool model_step(struct model *m, usec now)
{
	bool any = false;

	vec_foreach (&m->all_copies, c)
		if (!(*c)->gone)
			any |= step_copy(m, *c, now);
	return any;
}

void model_replace(struct model *m, uint8_t identity)
{
	vec_foreach (&m->all_copies, c)
		if (!(*c)->gone)
			model_vanish(m, *c);
	vec_foreach (&m->pods, p)
		pod_gone(m, *p);
	model_things_free(m);
	model_put_thing(m, "/api/v1/namespaces/kube-system", "{}");
	drop_out(m);
	m->joined = false;
	memset(m->incarnation, identity, sizeof(m->incarnation));
}

struct fact *model_stranger(const struct model *m)
{
	struct fact *f = fact_create(FACT_MEMBER, m->number);

	f->join = m->join;
	f->member_state.condition = MEMBER_CHANGED_IDENTITY;
	f->member_state.message = arena_strndup(&f->mem, "another one", 11);
	memcpy(f->member_state.incarnation, m->incarnation, STORE_UID_LEN);
	return f;
}

/* ---- looking ---- */

struct model_copy *model_copy(const struct model *m, const char *ns, const char *name)
{
	map_foreach (&m->copies, e) {
		struct model_copy *c = e->value;
		if (strcmp(c->ns, ns) == 0 && strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

bool model_copy_works(const struct model_copy *c)
{
	vec_foreach (&c->pods, p)
		if (is_working(*p))
			return true;
	return false;
}

size_t model_left(const struct model *m)
{
	return m->copies.len + m->things.len - 1; /* kube-system */
}
