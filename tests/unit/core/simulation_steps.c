#include "simulation.h"

#include <stdio.h>

static struct sim_job *some_job(struct sim *s)
{
	return s->n_jobs ? &s->jobs[below(s, (unsigned)s->n_jobs)] : NULL;
}

bool sim_exists(struct sim *s, const struct sim_job *j)
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
	j->ns = sim_spaces[below(s, 3)];
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

	if (!j || !j->acknowledged || j->deleted || !sim_exists(s, j))
		return;
	world_send_delete(&s->w, TYPE_JOB, j->ns, j->name);
	j->deleted = true;
}

/* Labels: wherever its copy is, nothing starts anew. */
static void step_edit(struct sim *s)
{
	const struct sim_job *j = some_job(s);
	char text[96];

	if (!j || !j->acknowledged || j->deleted || !sim_exists(s, j))
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

	if (!j || !j->acknowledged || j->deleted || !sim_exists(s, j))
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

bool sim_is_joined(struct sim *s, const struct model *m)
{
	return world_exists(&s->w, TYPE_CLUSTER, "", m->name);
}

static void step_unjoin(struct sim *s)
{
	struct model *m = some_member(s);

	if (!sim_is_joined(s, m))
		return;
	disturb(s);
	world_send_delete(&s->w, TYPE_CLUSTER, "", m->name);
}

static void step_rejoin(struct sim *s)
{
	struct model *m = some_member(s);
	if (!sim_is_joined(s, m))
		world_rejoin(&s->w, m);
}

void sim_declare_dead(struct sim *s, const struct model *m)
{
	if (!sim_is_joined(s, m))
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
	if (!sim_is_joined(s, m))
		return;
	world_push(&s->w, model_stranger(m));
	if (below(s, 2))
		world_turn(&s->w);
	sim_declare_dead(s, m);
	if (sim_is_joined(s, m))
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

void sim_mend_nodes(struct sim *s)
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

void sim_step(struct sim *s)
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
