/*
 * A model cluster's life, and its controllers: copies start, run and end here.
 */
#include "cluster_model.h"

#include "model_parts.h"
#include "model_things.h"

#include "base/num.h"
#include "kinds/types.h"

#include <inttypes.h>

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

struct model *model_destroy(struct model *m)
{
	if (!m)
		return NULL;
	model_drop_out(m);
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
		free((*e)->copy.body);
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

void model_replace(struct model *m, uint8_t identity)
{
	vec_foreach (&m->all_copies, c)
		if (!(*c)->gone)
			model_vanish(m, *c);
	vec_foreach (&m->pods, p)
		model_pod_gone(m, *p);
	model_things_free(m);
	model_put_thing(m, "/api/v1/namespaces/kube-system", "{}");
	model_drop_out(m);
	m->joined = false;
	memset(m->incarnation, identity, sizeof(m->incarnation));
}

/* ---- controllers ---- */

/* Its controller sees that it is suspended. */
static bool stop_copy(struct model *m, struct model_copy *c)
{
	bool any = false;

	if (copy_phase_is_terminal(c->phase))
		return false;
	vec_foreach (&c->pods, p) {
		if ((*p)->hung)
			continue;
		any |= !(*p)->gone;
		model_pod_gone(m, *p);
	}
	if (!any)
		return false;
	auto_buf b = BUF_INIT;
	buf_addf(&b, "{%s\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\"}]}",
		 c->kind->type == TYPE_JOB ? "\"startTime\":\"t\"," : "");
	free(c->status);
	c->status = buf_steal(&b, NULL);
	c->phase = copy_info_phase(c->kind->type, span_of(c->status));
	model_tell_copy(m, c);
	return true;
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
	else if (c->kind->type == TYPE_RAY_JOB)
		buf_addf(&b, "{\"jobStatus\":\"%s\",\"jobDeploymentStatus\":\"%s\"}",
			 strcmp(kubeflow, "Running") == 0  ? "RUNNING"
			 : strcmp(kubeflow, "Failed") == 0 ? "FAILED"
							   : "SUCCEEDED",
			 strcmp(kubeflow, "Succeeded") == 0 ? "Complete" : kubeflow);
	else if (c->kind->type == TYPE_JOB)
		buf_addf(&b, "{\"active\":%" PRId64 ",%s\"conditions\":[%s]}",
			 *batch ? (int64_t)0 : c->n_pods, "\"startTime\":\"t\",", batch);
	else
		buf_addf(&b,
			 "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"},{\"type\":"
			 "\"%s\",\"status\":\"True\",\"message\":\"the job is %s\"}],\"startTime\":"
			 "\"t%" PRIu64 "\"}",
			 kubeflow, kubeflow, m->revision);
	free(c->status);
	c->status = buf_steal(&b, NULL);
	c->phase = copy_info_phase(c->kind->type, span_of(c->status));
	model_tell_copy(m, c);
}

void model_set_status(struct model *m, struct model_copy *c, const char *json)
{
	free(c->status);
	c->status = xstrdup(json);
	for (char *p = c->status; *p; p++)
		if (*p == '\'')
			*p = '"';
	model_tell_copy(m, c);
}

void model_finish(struct model *m, struct model_copy *c, bool fails)
{
	vec_foreach (&c->pods, p) {
		if ((*p)->gone)
			continue;
		model_pod_leave(m, *p);
		(*p)->phase = fails ? POD_FAILED : POD_SUCCEEDED;
		model_tell_pod(m, *p);
	}
	m->finished++;
	set_status(
	    m, c, fails ? "Failed" : "Succeeded",
	    fails ? "{\"type\":\"Failed\",\"status\":\"True\",\"message\":\"Job has reached the "
		    "specified backoff limit\"}"
		  : "{\"type\":\"Complete\",\"status\":\"True\",\"message\":\"Reached expected "
		    "number of succeeded pods\"}");
}

static void copy_gone(struct model *m, struct model_copy *c)
{
	(void)map_remove(&m->copies, span_of(c->path));
	c->gone = true;
	model_tell_copy(m, c);
}

void model_vanish(struct model *m, struct model_copy *c)
{
	vec_foreach (&c->pods, p)
		model_pod_gone(m, *p);
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
		bool hung = false;
		vec_foreach (&c->pods, p)
			hung |= (*p)->hung && !(*p)->gone;
		if (!hung)
			model_vanish(m, c);
		return !hung;
	}
	if (!c->kind->is_job)
		return false;
	if (c->suspended)
		return stop_copy(m, c);
	if (c->phase == COPY_SUCCEEDED || c->phase == COPY_FAILED)
		return false;
	vec_foreach (&c->pods, p) {
		if (!(*p)->node && (all || !(*p)->last))
			any |= model_bind_pod(m, *p);
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
		if (model_pod_works(*p))
			return true;
	return false;
}

size_t model_left(const struct model *m)
{
	return m->copies.len + m->things.len - 1; /* kube-system */
}
