/*
 * Nodes that are asked for under members that lose answers, autoscalers that accept, fail, expire
 * and revoke as they like, a hub that is killed at any turn, and users who change their minds. At
 * any time a job of a queue with a check runs where its nodes are, or nowhere; at the end
 * everything completes, and no request is left anywhere.
 *
 * SIM_SEEDS=first:count runs others than the suite's.
 */
#include "seeds.h"
#include "world.h"

#include "core/assignment.h"
#include "core/kueue/kueue.h"
#include "core/kueue/provisioning_check.h"
#include "core/member.h"
#include "core/provisioning/request.h"
#include "core/provisioning/request_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_JOBS     10
#define MAX_REQUESTS 6
#define STEPS	     400

struct sim {
	struct world w;
	uint64_t random;
	size_t n_jobs, n_requests, n_nodes;
	bool marked; /* its members' nodes say whose they are */
	bool deleted[MAX_JOBS], refused[MAX_JOBS];
};

#define API "'apiVersion':'kueue.x-k8s.io/v1beta2','kind':"
#define IS(type)                                                                                   \
	"{'type':'" type "','status':'True','reason':'" type "','message':'','lastTransitionTime'" \
	":'2026-01-01T00:00:00Z'}"

static const char *const states[] = {
    "{'conditions':[" IS("Accepted") "]}",
    "{'conditions':[" IS("Accepted") "," IS("Provisioned") "]}",
    "{'conditions':[" IS("Failed") "]}",
    "{'conditions':[" IS("Accepted") "," IS("Provisioned") "," IS("BookingExpired") "]}",
    "{'conditions':[" IS("Accepted") "," IS("Provisioned") "," IS("CapacityRevoked") "]}",
};

#define below(s, n) seeds_below(&(s)->random, n)

static void must(struct sim *s, uint16_t type, const char *text)
{
	assert_int_equal(world_create(&s->w, type, text), ERR_NONE);
}

/* A node that came for somebody is counted on by nobody else. */
static void check_nodes(struct world *w, const struct job *j, const struct member *m,
			const struct request_try *t)
{
	auto_arena mem = ARENA_INIT;
	struct fit_slot *slots;

	if (m->view == CLUSTER_NONE)
		return;
	size_t n = assignment_unpack(w->core->fleet, m->view,
				     span_make(j->assignment, j->assignment_len), &mem, &slots);
	for (size_t i = 0; i < n; i++) {
		struct span mark = cluster_view_node_label(w->core->fleet, m->view, slots[i].node,
							   SPAN(REQUEST_NODE_LABEL));
		if (mark.len && (!t->nodes || !span_is(mark, t->nodes)))
			fail_msg("%s counts on a node of another request", j->name);
	}
}

/* A job that holds nodes through a check holds them where its request has them; a copy that is
 * parked elsewhere holds nothing, and goes first. */
static void check_places(struct world *w)
{
	world_check(w);
	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		bool known;
		if (!j->holds || !j->workload || !j->workload->provisioning ||
		    j->workload->evicted_at || j->deleting || j->gone)
			continue;
		const struct provisioning_request *r =
		    provisioning_check_request(w->core, j->workload, &known);
		const struct member *m = member_placed(w->core, j);
		const struct request_try *t = r && m ? request_try_on(r, m->number) : NULL;
		if (r && r->exists && !t)
			fail_msg("%s runs where no nodes were asked for", j->name);
		if (t && !t->provisioned_at)
			fail_msg("%s runs where its nodes never came", j->name);
		if (t)
			check_nodes(w, j, m, t);
	}
}

static void open_sim(struct sim *s, uint64_t seed)
{
	*s = (struct sim){.random = seeds_begin(seed)};
	s->w.seed = seed * 100003;
	s->marked = seed & 1;
	s->w.keep_finished = 3600 * USEC_PER_SEC;
	s->w.provision_parallel = 1 + (uint32_t)below(s, 2);
	s->w.provision_patience = (below(s, 2) ? 5 : 600) * USEC_PER_SEC;
	s->w.provision_discovery = 2 * USEC_PER_SEC;
	world_open(&s->w);
	s->w.after_turn = check_places;
	must(s, TYPE_RESOURCE_FLAVOR,
	     "{" API "'ResourceFlavor','metadata':{'name':'f'},'spec':{}}");
	must(s, TYPE_ADMISSION_CHECK,
	     "{" API "'AdmissionCheck','metadata':{'name':'prov'},'spec':{'controllerName':"
	     "'kueue.x-k8s.io/provisioning-request','parameters':{'apiGroup':'kueue.x-k8s.io',"
	     "'kind':'ProvisioningRequestConfig','name':'config'}}}");
	must(s, TYPE_PROVISIONING_REQUEST_CONFIG,
	     "{" API "'ProvisioningRequestConfig','metadata':{'name':'config'},'spec':{"
	     "'provisioningClassName':'queued','retryStrategy':{'backoffLimitCount':2,"
	     "'backoffBaseSeconds':1,'backoffMaxSeconds':2}}}");
	must(s, TYPE_CLUSTER_QUEUE,
	     "{" API "'ClusterQueue','metadata':{'name':'cq'},'spec':{'namespaceSelector':{},"
	     "'admissionChecksStrategy':{'admissionChecks':[{'name':'prov'}]},'resourceGroups':[{"
	     "'coveredResources':['cpu'],'flavors':[{'name':'f','resources':[{'name':'cpu',"
	     "'nominalQuota':6}]}]}]}}");
	must(s, TYPE_LOCAL_QUEUE,
	     "{" API "'LocalQueue','metadata':{'name':'lq','namespace':'default'},'spec':{"
	     "'clusterQueue':'cq'}}");
	must(s, TYPE_POD_TEMPLATE,
	     "{'apiVersion':'v1','kind':'PodTemplate','metadata':{'name':'pod','namespace':"
	     "'default'},'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}");
	world_join(&s->w, "c1", 0, 8);
	world_join(&s->w, "c2", 0, 8);
	world_settle(&s->w);
}

/* ---- steps ---- */

static void await(struct sim *s)
{
	for (int i = 0; s->w.waiting && i < 200; i++)
		world_turn(&s->w);
	assert_int_equal(s->w.waiting, 0);
}

static void job_name(size_t i, char out[32])
{
	(void)snprintf(out, 32, "j%zu", i);
}

static void step_create(struct sim *s)
{
	char name[32];

	if (s->n_jobs == MAX_JOBS)
		return;
	job_name(s->n_jobs, name);
	auto_free char *text =
	    world_job_text("default", name, 1 + (int)below(s, 2), 1 + (int)below(s, 2),
			   ",'labels':{'kueue.x-k8s.io/queue-name':'lq'}");
	world_send_create(&s->w, TYPE_JOB, text);
	await(s);
	s->refused[s->n_jobs++] = s->w.err.kind != ERR_NONE;
}

static void step_delete(struct sim *s)
{
	char name[32];
	size_t i = s->n_jobs ? below(s, (unsigned)s->n_jobs) : 0;

	job_name(i, name);
	if (!s->n_jobs || s->deleted[i] || !world_exists(&s->w, TYPE_JOB, "default", name))
		return;
	s->deleted[i] = true;
	world_send_delete(&s->w, TYPE_JOB, "default", name);
	await(s);
}

/* A few names, again and again. */
static void step_request(struct sim *s, bool create)
{
	char name[32];
	auto_buf text = BUF_INIT;

	(void)snprintf(name, sizeof(name), "r%u", below(s, 3));
	if (create && s->n_requests++ < MAX_REQUESTS) {
		buf_addf(&text,
			 "{'apiVersion':'autoscaling.x-k8s.io/v1','kind':'ProvisioningRequest',"
			 "'metadata':{'name':'%s','namespace':'default'},'spec':{"
			 "'provisioningClassName':'queued','podSets':[{'count':1,"
			 "'podTemplateRef':{'name':'pod'}}]}}",
			 name);
		world_send_create(&s->w, TYPE_PROVISIONING_REQUEST, text.ptr);
	} else {
		world_send_delete(&s->w, TYPE_PROVISIONING_REQUEST, "default", name);
	}
	await(s);
}

static void step_active(struct sim *s)
{
	char name[32], workload[STORE_MAX_NAME + 1];
	size_t i = s->n_jobs ? below(s, (unsigned)s->n_jobs) : 0;

	job_name(i, name);
	const struct job *j = world_record(&s->w, TYPE_JOB, "default", name);
	if (!j || !j->workload || !j->workload->exists)
		return;
	(void)snprintf(workload, sizeof(workload), "%.*s", SPAN_ARGS(j->workload->name));
	world_send_patch(&s->w, TYPE_WORKLOAD, "default", workload,
			 below(s, 2) ? "{'spec':{'active':true}}" : "{'spec':{'active':false}}");
	await(s);
}

static void step_answer(struct sim *s)
{
	if (s->w.orders.len == 0)
		return;
	struct order *o = s->w.orders.items[below(s, (unsigned)s->w.orders.len)];
	unsigned luck = below(s, 100);

	if (luck < 85)
		world_answer(&s->w, o);
	else
		world_lose(&s->w, o, luck < 93);
}

static struct model *some_member(struct sim *s)
{
	return s->w.members[below(s, (unsigned)s->w.n_members)];
}

static void step_stream(struct sim *s)
{
	struct model *m = some_member(s);
	struct fact *f;

	for (unsigned n = 1 + below(s, 8); n > 0 && (f = model_next_fact(m)); n--)
		world_push(&s->w, f);
}

/* ---- autoscalers ---- */

static int state_of(const struct model_copy *c)
{
	if (!c->status)
		return -1;
	if (strstr(c->status, "CapacityRevoked"))
		return 4;
	if (strstr(c->status, "BookingExpired"))
		return 3;
	if (strstr(c->status, "Failed"))
		return 2;
	return strstr(c->status, "Provisioned") ? 1 : 0;
}

static void become(struct sim *s, struct model *m, struct model_copy *c, int state)
{
	auto_buf status = BUF_INIT;
	char name[32];

	if (state == 1 && state_of(c) < 1) {
		(void)snprintf(name, sizeof(name), "n%zu", s->n_nodes++);
		model_provision_node(m, name, s->marked ? c->uid : NULL);
	}
	buf_addf(&status, "{%s",
		 s->marked ? "'provisioningClassDetails':{'ResizeRequestName':'" : "");
	buf_addf(&status, "%s%s%s", s->marked ? c->uid : "", s->marked ? "'}," : "",
		 states[state] + 1);
	model_set_status(m, c, status.ptr);
}

static void look_at(struct sim *s, struct model *m, struct model_copy *c, bool good)
{
	int state = state_of(c);

	if (c->deleting || c->gone || c->kind->type != TYPE_PROVISIONING_REQUEST)
		return;
	if (state < 0)
		become(s, m, c, good || below(s, 5) ? 0 : 2);
	else if (state == 0 && (good || below(s, 3)))
		become(s, m, c, good || below(s, 5) ? 1 : 2);
	else if ((state == 1 || state == 3) && !good && below(s, 12) == 0)
		become(s, m, c, state == 1 && below(s, 2) ? 3 : 4);
}

static void scale(struct sim *s, struct model *m, bool good)
{
	struct VEC(struct model_copy *) all = {0};

	map_foreach (&m->copies, e)
		vec_push(&all, e->value);
	vec_foreach (&all, c)
		if (good || below(s, 2))
			look_at(s, m, *c, good);
	vec_done(&all);
}

static void step(struct sim *s)
{
	unsigned dice = below(s, 1000);

	if (dice < 60)
		step_create(s);
	else if (dice < 75)
		step_delete(s);
	else if (dice < 90)
		step_active(s);
	else if (dice < 120)
		step_request(s, below(s, 3) > 0);
	else if (dice < 420)
		step_answer(s);
	else if (dice < 570)
		step_stream(s);
	else if (dice < 660)
		scale(s, some_member(s), false);
	else if (dice < 720)
		(void)model_step(some_member(s), s->w.now);
	else if (dice < 750)
		world_restart(&s->w);
	else if (dice < 820)
		s->w.now += below(s, 1500) * USEC_PER_MS;
	else
		world_turn(&s->w);
}

/* ---- the end ---- */

static size_t unsettled(struct sim *s)
{
	size_t n = 0;
	char name[32];

	for (size_t i = 0; i < s->n_jobs; i++) {
		job_name(i, name);
		if (s->refused[i])
			continue;
		if (s->deleted[i])
			n += world_exists(&s->w, TYPE_JOB, "default", name);
		else
			n += strcmp(world_field(&s->w, TYPE_JOB, "default", name,
						"status.conditions.0.type"),
				    "Complete") != 0;
	}
	return n;
}

static void activate_all(struct sim *s)
{
	struct VEC(char *) names = {0};

	map_foreach (&s->w.core->kueue->workloads, e) {
		const struct workload *w = e->value;
		if (w->job && w->inactive)
			vec_push(&names, xstrndup(w->name.ptr, w->name.len));
	}
	vec_foreach (&names, n) {
		(void)world_patch(&s->w, TYPE_WORKLOAD, "default", *n, "{'spec':{'active':true}}");
		free(*n);
	}
	vec_done(&names);
}

static void come_to_rest(struct sim *s)
{
	char name[32];

	for (int i = 0; i < 300 && (i < 3 || unsettled(s) > 0); i++) {
		world_settle(&s->w);
		activate_all(s);
		for (size_t m = 0; m < s->w.n_members; m++)
			scale(s, s->w.members[m], true);
		world_settle(&s->w);
		world_advance(&s->w, USEC_PER_SEC);
	}
	for (int i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "r%d", i);
		if (world_exists(&s->w, TYPE_PROVISIONING_REQUEST, "default", name))
			assert_int_equal(
			    world_delete(&s->w, TYPE_PROVISIONING_REQUEST, "default", name),
			    ERR_NONE);
	}
	for (int i = 0; i < 40; i++) {
		world_settle(&s->w);
		world_advance(&s->w, USEC_PER_SEC);
	}
}

static void check_end(struct sim *s)
{
	if (unsettled(s)) {
		auto_free char *memory = world_memory(&s->w);
		fail_msg("%zu jobs never came to rest:\n%s", unsettled(s), memory);
	}
	assert_int_equal(world_count(&s->w, TYPE_PROVISIONING_REQUEST, "default"), 0);
	assert_int_equal(s->w.core->provisioning->by_number.len, 0);
	for (size_t i = 0; i < s->w.n_members; i++)
		map_foreach (&s->w.members[i]->copies, e)
			assert_int_not_equal(((struct model_copy *)e->value)->kind->type,
					     TYPE_PROVISIONING_REQUEST);
}

static void run_seed(uint64_t seed)
{
	struct sim s;

	open_sim(&s, seed);
	for (int i = 0; i < STEPS; i++)
		step(&s);
	come_to_rest(&s);
	check_end(&s);
	world_close(&s.w);
}

static void everything_completes_and_nothing_is_left(void **state)
{
	(void)state;
	seeds_run(run_seed, 12, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(everything_completes_and_nothing_is_left, seeds_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
