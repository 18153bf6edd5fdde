/*
 * The whole core against members that lose answers, list anew, and run other people's luck, with
 * a hub that is killed at any turn. What must hold is looked at after every turn (world_check);
 * at the end everything has to come to rest: every acknowledged job is finished or waits with a
 * reason, nothing is left on members, nothing in memory.
 *
 * SIM_SEEDS=first:count runs others than the suite's. SIM_TRACE=j7 tells every change of that job's
 * record.
 */
#include "seeds.h"
#include "world.h"

#include "core/job.h"
#include "core/member.h"
#include "kube/object.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_JOBS 24
#define STEPS	 400

struct sim_job {
	char name[32];
	const char *ns;
	bool acknowledged, deleted, suspended, disturbed, impossible, fails;
};

struct sim {
	struct world w;
	uint64_t random;
	struct sim_job jobs[MAX_JOBS];
	size_t n_jobs;
	uint64_t restarts, lost;
	uint8_t identities;
	bool shrunk;   /* the tree was edited: usage may stand above max */
	bool fails;    /* nodes do, and some jobs are urgent */
	bool failover; /* jobs do, and leave for another cluster then */
	bool reclaims; /* the tree takes jobs back from borrowers */
};

#define below(s, n) seeds_below(&(s)->random, n)

static const char *const spaces[] = {"team-a", "team-b", "default"};

/* Every other seed with reclaim. */
static void put_tree(struct sim *s, int max_a, bool reclaims)
{
	char text[1024];

	(void)snprintf(
	    text, sizeof(text),
	    "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree','metadata':{"
	    "'name':'tree','namespace':'kube-system'},'spec':{'root':{'name':'root','attributes':{"
	    "%s},'min':{'cpu':16},'max':{'cpu':16},'children':[{'name':'a','namespaces':['team-a'],'min':{'cpu':4},"
	    "'max':{'cpu':%d,'kube-queue/max-jobs':3}},{'name':'b','namespaces':['team-b'],'min':{"
	    "'cpu':4},'max':{'cpu':14}}]}}}",
	    reclaims ? "'reclaim-policy':'ReclaimMin','reclaim-protect-time':'1s'" : "", max_a);
	assert_int_equal(world_create(&s->w, TYPE_ELASTIC_QUOTA_TREE, text), ERR_NONE);
}

static void trace(struct world *w)
{
	static char last[512];

	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		if (strcmp(j->name, getenv("SIM_TRACE")) != 0)
			continue;
		auto_free char *line = world_job_line(w, j);
		if (strncmp(line, last, sizeof(last) - 1) != 0)
			print_message("turn %" PRIu64 " %s", w->turns, line);
		(void)snprintf(last, sizeof(last), "%s", line);
	}
	world_check(w);
}

/* At once, or after a while. */
static const char *failover_of(uint64_t seed)
{
	return seed & 1 ? ",'failover':{'application':{'purgeMode':'Directly','decisionConditions':"
			  "{'tolerationSeconds':0}}}"
			: ",'failover':{'application':{'purgeMode':'Directly','decisionConditions':"
			  "{'tolerationSeconds':2}}}";
}

static void open_sim(struct sim *s, uint64_t seed)
{
	char text[1024];

	*s = (struct sim){.random = seeds_begin(seed)};
	s->w.seed = seed * 100003;
	s->w.keep_finished = 3600 * USEC_PER_SEC;
	world_open(&s->w);
	s->w.after_turn = getenv("SIM_TRACE") ? trace : world_check;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s'}}",
			       spaces[i]);
		assert_int_equal(world_create(&s->w, TYPE_NAMESPACE, text), ERR_NONE);
	}
	s->reclaims = seed & 1;
	put_tree(s, 12, s->reclaims);
	s->failover = seed % 3 == 1;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(
		    text, sizeof(text),
		    "{'apiVersion':'policy.karmada.io/v1alpha1','kind':'PropagationPolicy',"
		    "'metadata':{'name':'p','namespace':'%s'},'spec':{'suspension':{'scheduling':"
		    "true}%s,'resourceSelectors':[{'apiVersion':'batch/v1','kind':'Job'}],"
		    "'placement':{'customSchedulingType':'Gang'}}}",
		    spaces[i], s->failover ? failover_of(seed / 3) : "");
		assert_int_equal(world_create(&s->w, TYPE_PROPAGATION_POLICY, text), ERR_NONE);
	}
	s->fails = seed % 4 == 2;
	if (s->fails)
		assert_int_equal(
		    world_create(&s->w, TYPE_PRIORITY_CLASS,
				 "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
				 "'metadata':{'name':'urgent'},'value':1000}"),
		    ERR_NONE);
	world_join(&s->w, "c1", s->fails ? 3 : 1, 4 + (int)below(s, s->fails ? 2 : 10));
	world_join(&s->w, "c2", 1 + (int)below(s, 2), 6);
	if (below(s, 2))
		world_join(&s->w, "c3", 1, 8);
}

/* ---- steps ---- */

static struct sim_job *some_job(struct sim *s)
{
	return s->n_jobs ? &s->jobs[below(s, (unsigned)s->n_jobs)] : NULL;
}

static bool exists(struct sim *s, const struct sim_job *j)
{
	return world_exists(&s->w, TYPE_JOB, j->ns, j->name);
}

static void step_create(struct sim *s)
{
	if (s->n_jobs == MAX_JOBS)
		return;
	struct sim_job *j = &s->jobs[s->n_jobs++];
	int pods = 1 + (int)below(s, 3), cpus = 1 + (int)below(s, 2);

	j->impossible = below(s, 20) == 0;
	j->ns = spaces[below(s, 3)];
	(void)snprintf(j->name, sizeof(j->name), "j%zu", s->n_jobs);
	auto_free char *text = world_job_text(j->ns, j->name, pods, j->impossible ? 100 : cpus,
					      below(s, 3) ? "" : ",'labels':{'x':'y'}");
	auto_buf urgent = BUF_INIT;
	if (s->fails && below(s, 2)) {
		char *spec = strstr(text, "'containers'");
		buf_add(&urgent, text, (size_t)(spec - text));
		buf_addf(&urgent, "'priorityClassName':'urgent',%s", spec);
	}
	world_send_create(&s->w, TYPE_JOB, urgent.len ? urgent.ptr : text);
	for (int i = 0; s->w.waiting && i < 200; i++)
		world_turn(&s->w);
	assert_int_equal(s->w.waiting, 0);
	j->acknowledged = s->w.err.kind == ERR_NONE;
}

static void step_delete(struct sim *s)
{
	struct sim_job *j = some_job(s);

	if (!j || !j->acknowledged || j->deleted || !exists(s, j))
		return;
	world_send_delete(&s->w, TYPE_JOB, j->ns, j->name);
	j->deleted = true;
}

/* Labels: wherever its copy is, nothing starts anew. */
static void step_edit(struct sim *s)
{
	const struct sim_job *j = some_job(s);
	char text[96];

	if (!j || !j->acknowledged || j->deleted || !exists(s, j))
		return;
	(void)snprintf(text, sizeof(text), "{'metadata':{'labels':{'edit':'%u','l%u':%s}}}",
		       below(s, 1000), below(s, 4), below(s, 2) ? "'x'" : "null");
	world_send_patch(&s->w, TYPE_JOB, j->ns, j->name, text);
	for (int i = 0; s->w.waiting && i < 200; i++)
		world_turn(&s->w);
}

static void step_suspend(struct sim *s)
{
	struct sim_job *j = some_job(s);

	if (!j || !j->acknowledged || j->deleted || !exists(s, j))
		return;
	j->suspended = !j->suspended;
	j->disturbed = true;
	world_send_patch(&s->w, TYPE_JOB, j->ns, j->name,
			 j->suspended ? "{'spec':{'suspend':true}}" : "{'spec':{'suspend':false}}");
	for (int i = 0; s->w.waiting && i < 200; i++)
		world_turn(&s->w);
	if (s->w.err.kind != ERR_NONE)
		j->suspended = !j->suspended; /* a conflict: the hub wrote first */
}

static void give(struct sim *s, struct order *o, struct fact *answer)
{
	for (size_t i = 0; i < s->w.orders.len; i++)
		if (s->w.orders.items[i] == o)
			s->w.orders.items[i] = s->w.orders.items[--s->w.orders.len];
	order_destroy(o);
	world_push(&s->w, answer);
}

static void step_answer(struct sim *s, bool healthy)
{
	if (s->w.orders.len == 0)
		return;
	struct order *o = s->w.orders.items[below(s, (unsigned)s->w.orders.len)];
	struct model *m = world_member(&s->w, o->member);
	unsigned luck = healthy || !m ? 0 : below(s, 100);

	if (!m) {
		give(s, o, model_no_answer(o, false));
	} else if (luck < 80) {
		give(s, o, model_call(m, o));
	} else if (luck < 90) {
		struct fact *f = model_call(m, o);
		fact_destroy(f);
		give(s, o, model_no_answer(o, true));
		s->lost++;
	} else if (luck < 95) {
		give(s, o, model_no_answer(o, true));
		s->lost++;
	} else {
		give(s, o, model_no_answer(o, false));
	}
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

static void step_vanish(struct sim *s)
{
	struct model *m = some_member(s);

	map_foreach (&m->copies, e) {
		struct model_copy *c = e->value;
		if (below(s, 4))
			continue;
		for (size_t i = 0; i < s->n_jobs; i++)
			if (strcmp(s->jobs[i].name, c->name) == 0)
				s->jobs[i].disturbed = true;
		model_vanish(m, c);
		return;
	}
}

static void step_restart(struct sim *s)
{
	s->restarts++;
	world_restart(&s->w);
}

/* Pods that are assumed on a node that takes none are moved on in memory alone. */
static bool some_node_is_lost(struct sim *s)
{
	for (size_t i = 0; i < s->w.n_members; i++)
		vec_foreach (&s->w.members[i]->nodes, n)
			if ((*n)->down || (*n)->tainted)
				return true;
	return false;
}

/* Memory that is built from the store is the one that there was. */
static void step_compare(struct sim *s)
{
	world_run(&s->w);
	if (some_node_is_lost(s)) {
		step_restart(s);
		return;
	}
	auto_free char *before = world_memory(&s->w);
	step_restart(s);
	world_run(&s->w);
	auto_free char *after = world_memory(&s->w);
	struct span a = span_of(before), b = span_of(after);
	while (a.len || b.len) {
		struct span was = span_split(&a, '\n'), is = span_split(&b, '\n');
		if (!span_eq(was, is))
			fail_msg("a restart changed memory from\n%.*s\nto\n%.*s", SPAN_ARGS(was),
				 SPAN_ARGS(is));
	}
}

/* A member goes: what is not over may have to run again elsewhere. Also what has no copy there yet,
 * since the hub may be sending one. */
static void disturb(struct sim *s)
{
	for (size_t i = 0; i < s->n_jobs; i++)
		if (world_record(&s->w, TYPE_JOB, s->jobs[i].ns, s->jobs[i].name))
			s->jobs[i].disturbed = true;
}

static bool is_joined(struct sim *s, const struct model *m)
{
	return world_exists(&s->w, TYPE_CLUSTER, "", m->name);
}

static void step_unjoin(struct sim *s)
{
	struct model *m = some_member(s);

	if (!is_joined(s, m))
		return;
	disturb(s);
	world_send_delete(&s->w, TYPE_CLUSTER, "", m->name);
}

static void step_rejoin(struct sim *s)
{
	struct model *m = some_member(s);
	if (!is_joined(s, m))
		world_rejoin(&s->w, m);
}

static void declare_dead(struct sim *s, const struct model *m)
{
	if (!is_joined(s, m))
		return;
	world_send_patch(&s->w, TYPE_CLUSTER, "", m->name,
			 "{'metadata':{'annotations':{'muster.dev/dead':'true'}}}");
	for (int i = 0; s->w.waiting && i < 200; i++)
		world_turn(&s->w);
}

/* The cluster burns down and is built anew; its operator says so, and unjoins it. */
static void step_replace(struct sim *s)
{
	struct model *m = some_member(s);

	disturb(s);
	model_replace(m, (uint8_t)(100 + ++s->identities));
	if (!is_joined(s, m))
		return;
	world_push(&s->w, model_stranger(m));
	if (below(s, 2))
		world_turn(&s->w);
	declare_dead(s, m);
	if (is_joined(s, m))
		world_send_delete(&s->w, TYPE_CLUSTER, "", m->name);
}

static void step_no_space(struct sim *s)
{
	store_faulty_fail(s->w.truth, STORE_CALL_APPLY, 1, ERR_NO_SPACE, false);
	world_turn(&s->w);
	store_faulty_fail(s->w.truth, STORE_CALL_APPLY, 0, ERR_NONE, false);
	s->w.now += 2 * USEC_PER_SEC;
	world_turn(&s->w);
}

static void step_tree(struct sim *s)
{
	char text[256];
	int max = 6 + (int)below(s, 8);

	s->shrunk = true;
	(void)snprintf(text, sizeof(text),
		       "{'spec':{'root':{'children':[{'name':'a','namespaces':['team-a'],'min':{"
		       "'cpu':4},'max':{'cpu':%d}},{'name':'b','namespaces':['team-b'],'min':{"
		       "'cpu':4},'max':{'cpu':14}}]}}}",
		       max);
	world_send_patch(&s->w, TYPE_ELASTIC_QUOTA_TREE, "kube-system", "tree", text);
}

/* A node fails, or is well again; or controllers make anew what stood on such nodes. */
static void step_node(struct sim *s)
{
	struct model *m = some_member(s);
	unsigned dice = below(s, 4);

	disturb(s);
	if (dice < 3 && m->nodes.len) {
		struct model_node *n = m->nodes.items[below(s, (unsigned)m->nodes.len)];
		if (!n->gone)
			model_set_node(m, n->name, dice != 1, dice == 2);
		return;
	}
	map_foreach (&m->copies, e)
		if (below(s, 2))
			model_recreate(m, e->value, false);
}

/* Some copies come to a bad end. */
static void step_fail(struct sim *s)
{
	struct model *m = some_member(s);

	map_foreach (&m->copies, e) {
		struct model_copy *copy = e->value;
		if (below(s, 3))
			continue;
		for (size_t i = 0; i < s->n_jobs; i++)
			if (strcmp(s->jobs[i].name, copy->name) == 0)
				s->jobs[i].disturbed = s->jobs[i].fails = copy->fails = true;
	}
}

static void mend_nodes(struct sim *s)
{
	for (size_t i = 0; i < s->w.n_members; i++) {
		struct model *m = s->w.members[i];
		map_foreach (&m->copies, e)
			model_recreate(m, e->value, false);
		vec_foreach (&m->nodes, n)
			if ((*n)->down || (*n)->tainted)
				model_set_node(m, (*n)->name, true, false);
	}
}

static void step(struct sim *s)
{
	if (s->fails && below(s, 12) == 0)
		step_node(s);
	if (s->failover && below(s, 10) == 0)
		step_fail(s);
	if (below(s, 40) == 0)
		step_edit(s);
	unsigned dice = below(s, 1000);

	if (dice < 90)
		step_create(s);
	else if (dice < 110)
		step_delete(s);
	else if (dice < 130)
		step_suspend(s);
	else if (dice < 430)
		step_answer(s, false);
	else if (dice < 580)
		step_stream(s);
	else if (dice < 700)
		(void)model_step(some_member(s), s->w.now);
	else if (dice < 710)
		model_relist(some_member(s));
	else if (dice < 716)
		step_vanish(s);
	else if (dice < 730)
		step_restart(s);
	else if (dice < 735)
		step_no_space(s);
	else if (dice < 740)
		step_tree(s);
	else if (dice < 744)
		step_compare(s);
	else if (dice < 746)
		step_unjoin(s);
	else if (dice < 748)
		step_replace(s);
	else if (dice < 754)
		step_rejoin(s);
	else if (dice < 800)
		s->w.now += below(s, 400) * USEC_PER_MS;
	else
		world_turn(&s->w);
}

/* ---- the end ---- */

static bool is_over(struct sim *s, const struct sim_job *j)
{
	const char *end = world_field(&s->w, TYPE_JOB, j->ns, j->name, "status.conditions.0.type");

	return strcmp(end, "Complete") == 0 || (j->fails && strcmp(end, "Failed") == 0);
}

static size_t unsettled(struct sim *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct sim_job *j = &s->jobs[i];
		if (!j->acknowledged || j->impossible)
			continue;
		if (j->deleted)
			n += exists(s, j);
		else
			n += !is_over(s, j);
	}
	return n;
}

static void come_to_rest(struct sim *s)
{
	if (s->fails)
		mend_nodes(s);
	world_settle(&s->w);
	world_advance(&s->w, 40 * USEC_PER_SEC);
	world_settle(&s->w);
	for (size_t i = 0; i < s->w.n_members; i++) {
		const struct model *m = s->w.members[i];
		/* What the operator said may have met a conflict, or a store without room. */
		if (is_joined(s, m) && !m->joined) {
			declare_dead(s, m);
			(void)world_delete(&s->w, TYPE_CLUSTER, "", m->name);
		}
		world_settle(&s->w);
		if (!is_joined(s, m))
			world_rejoin(&s->w, m);
	}
	for (size_t i = 0; i < s->n_jobs; i++) {
		struct sim_job *j = &s->jobs[i];
		world_settle(&s->w);
		if (j->deleted && exists(s, j)) /* it may have been refused */
			(void)world_delete(&s->w, TYPE_JOB, j->ns, j->name);
		if (j->suspended && !j->deleted && exists(s, j))
			(void)world_patch(&s->w, TYPE_JOB, j->ns, j->name,
					  "{'spec':{'suspend':false}}");
	}
	for (int i = 0; i < 200 && unsettled(s) > 0; i++) {
		world_settle(&s->w);
		world_advance(&s->w, USEC_PER_SEC);
	}
	for (int i = 0; i < 3; i++) {
		world_settle(&s->w);
		world_advance(&s->w, 40 * USEC_PER_SEC);
	}
	world_settle(&s->w);
}

static int count_row(void *arg, struct span key, struct span value)
{
	(void)key;
	(void)value;
	++*(size_t *)arg;
	return 0;
}

static size_t live_rows(struct sim *s)
{
	auto_reader *r = NULL;
	size_t n = 0;

	assert_int_equal(store_read_begin(s->w.truth, &r, NULL), 0);
	assert_int_equal(store_scan_aux(r, STORE_AUX_LIVE, SPAN(""), count_row, &n), 0);
	return n;
}

static size_t copies_of(struct sim *s, const struct sim_job *j)
{
	size_t n = 0;
	for (size_t i = 0; i < s->w.n_members; i++)
		n += model_copy(s->w.members[i], j->ns, j->name) != NULL;
	return n;
}

static void check_job(struct sim *s, const struct sim_job *j)
{
	const struct job *record = world_record(&s->w, TYPE_JOB, j->ns, j->name);

	if (j->deleted || !j->acknowledged) {
		if (exists(s, j) || record || copies_of(s, j))
			fail_msg("deleted job %s left: object %d record %d copies %zu", j->name,
				 exists(s, j), record != NULL, copies_of(s, j));
		return;
	}
	if (!exists(s, j))
		fail_msg("acknowledged job %s is lost", j->name);
	if (j->impossible) {
		if (!record || !(record->top_reason || record->unit) || copies_of(s, j))
			fail_msg("impossible job %s waits without a reason", j->name);
		return;
	}
	if (!is_over(s, j))
		fail_msg("job %s did not finish: %s", j->name,
			 record ? dispatch_step_name(record->dispatch.step) : "no record");
	if (record)
		fail_msg("finished job %s has a record", j->name);
	if (copies_of(s, j) > 1)
		fail_msg("finished job %s has %zu copies", j->name, copies_of(s, j));
}

static void check_once(struct sim *s)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		size_t runs = 0;
		/* Who was stopped for an owner runs again. */
		if (s->jobs[i].disturbed ||
		    (s->reclaims && world_events(&s->w, s->jobs[i].name, "Preempted", "") > 0))
			continue;
		for (size_t m = 0; m < s->w.n_members; m++)
			vec_foreach (&s->w.members[m]->all_copies, c)
				runs += strcmp((*c)->name, s->jobs[i].name) == 0 &&
					!(*c)->suspended && (*c)->started > 0;
		if (runs > 1)
			fail_msg("job %s ran %zu times", s->jobs[i].name, runs);
	}
}

static void check_end(struct sim *s)
{
	size_t waiting = 0;

	for (size_t i = 0; i < s->n_jobs; i++) {
		check_job(s, &s->jobs[i]);
		waiting += s->jobs[i].impossible && s->jobs[i].acknowledged && !s->jobs[i].deleted;
	}
	check_once(s);
	assert_int_equal(s->w.core->jobs_by_number.len, waiting);
	assert_int_equal(live_rows(s), waiting);
	assert_int_equal(ledger_count(s->w.core->ledger), 0);
	assert_int_equal(s->w.core->calls.len, 0);
	assert_int_equal(s->w.orders.len, 0);
	if (waiting == 0)
		assert_int_equal(world_used(&s->w, "root", "cpu"), 0);
}

static void run_seed(uint64_t seed)
{
	struct sim *s = xcalloc(1, sizeof(*s));

	open_sim(s, seed);
	for (int i = 0; i < STEPS; i++)
		step(s);
	come_to_rest(s);
	check_end(s);
	world_close(&s->w);
	free(s);
}

static void everything_settles_whatever_happens(void **state)
{
	/* A job that failed on a cluster whose unjoin was not over before a restart. */
	static const uint64_t more[] = {50185, 0};
	(void)state;
	seeds_run(run_seed, 300, more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(everything_settles_whatever_happens, seeds_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
