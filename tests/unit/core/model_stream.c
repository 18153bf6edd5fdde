/*
 * The streams of a model cluster: what happened there, as facts for the hub.
 */
#include "model_parts.h"

#include "kinds/types.h"
#include "kube/copy_reclaim.h"

#include <inttypes.h>

enum member_stream model_stream_of(const struct model *m, uint16_t type)
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
	if (m->lacks & 1u << STREAM_MPIJOBS && type == TYPE_MPI_JOB)
		return STREAM_MPIJOBS_V2BETA1;
	for (enum member_stream s = 0; s < STREAM_MAX; s++)
		if (types[s] == type)
			return s;
	return STREAM_MAX;
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

void model_tell_copy(struct model *m, struct model_copy *c)
{
	struct model_event *e = tell(m, model_stream_of(m, c->kind->type), c, c->gone);

	c->revision = e->revision;
	e->copy = *c;
	e->copy.status = c->status ? xstrdup(c->status) : NULL;
	e->copy.body = c->body ? xstrdup(c->body) : NULL;
	e->copy.pods.items = NULL;
}

void model_tell_pod(struct model *m, struct model_pod *p)
{
	struct model_event *e = tell(m, STREAM_PODS, p, p->gone);

	p->revision = e->revision;
	e->pod_phase = p->phase;
	e->pod_node = p->node;
	e->pod_hung = p->hung;
}

void model_tell_node(struct model *m, struct model_node *n)
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

void model_fill_copy(const struct model_copy *c, struct arena *mem, struct copy_info *ret)
{
	struct span spec;

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
	if (c->body && json_text_member(span_of(c->body), "spec", &spec) == 0)
		ret->n_reclaimable =
		    copy_reclaim_read(c->kind->type, spec, ret->status, mem, &ret->reclaimable);
}

static struct fact *copy_fact(const struct model *m, const struct model_copy *c, bool deleted)
{
	struct fact *f = fact_of(m, FACT_COPY, model_stream_of(m, c->kind->type), c->revision);

	model_fill_copy(c, &f->mem, &f->copy);
	f->deleted = deleted;
	return f;
}

static void add_job_labels(const struct model_pod *p, struct buf *out)
{
	if (p->replicas)
		buf_addf(out,
			 ",\"jobset.sigs.k8s.io/job-index\":\"%" PRId64
			 "\",\"jobset.sigs.k8s.io/replicatedjob-replicas\":\"%" PRId64 "\"",
			 p->index / p->job_pods, p->replicas);
}

struct span model_pod_json(const struct model *m, const struct model_pod *p, struct arena *mem)
{
	auto_buf b = BUF_INIT, more = BUF_INIT;

	add_job_labels(p, &more);
	buf_addf(
	    &b,
	    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
	    "\"%s\",\"uid\":\"00000000-0000-4000-8%03x-%012" PRIx64
	    "\",\"labels\":{\"batch.kubernetes.io/job-completion-index\":\"%" PRId64
	    "\"%s}%s},\"spec\":{\"containers\":[]%s%s%s}}",
	    p->name, p->ns, m->incarnation[0], p->number,
	    p->replicas ? p->index % p->job_pods : p->index, more.ptr ? more.ptr : "",
	    p->hung ? ",\"deletionTimestamp\":\"2023-11-14T22:13:30Z\","
		      "\"deletionGracePeriodSeconds\":30"
		    : "",
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
	    .deleting = e ? e->pod_hung : p->hung,
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
		f->json = model_pod_json(m, p, &f->mem);
	return f;
}

static struct fact *node_fact(const struct model *m, const struct model_node *n, bool deleted)
{
	struct fact *f = fact_of(m, FACT_NODE, STREAM_NODES, n->revision);
	struct info_amount *a = arena_array(&f->mem, struct info_amount, 4);

	a[0] = (struct info_amount){SPAN("cpu"), n->cpu_milli};
	a[1] = (struct info_amount){SPAN("nvidia.com/gpu"), n->gpus};
	a[2] = (struct info_amount){SPAN("pods"), n->pods};
	a[3] =
	    (struct info_amount){SPAN("memory"), INT64_C(64) << 30}; /* more than pods here ask */
	f->deleted = deleted;
	f->node = (struct node_info){.name = text_in(&f->mem, n->name),
				     .revision = n->revision,
				     .allocatable = a,
				     .n_allocatable = 4,
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
	f->member_state.apis &= ~m->lacks;
	f->member_state.apis_known = true;
	memcpy(f->member_state.incarnation, m->incarnation, STORE_UID_LEN);
	memcpy(f->incarnation, m->incarnation, STORE_UID_LEN);
	return f;
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

/* ---- streams ---- */

void model_drop_out(struct model *m)
{
	for (struct fact *f = m->out_head; f;) {
		struct fact *next = f->next;
		fact_destroy(f);
		f = next;
	}
	m->out_head = NULL;
	m->out_tail = &m->out_head;
}

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
		if (model_stream_of(m, c->kind->type) == s && c->hub_uid)
			push(m, copy_fact(m, c, false));
	}
	push(m, fact_of(m, FACT_LIST_END, s, m->revision));
	m->sent[s] = m->revision;
}

void model_join(struct model *m, const struct order *join)
{
	static const uint8_t none[STORE_UID_LEN];

	model_drop_out(m);
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
