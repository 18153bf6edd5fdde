/*
 * What gangs that starve for quota are told is true, in random cohorts with queues that lend,
 * borrow, and keep some back: an adversary keeps every queue full of small jobs that would pass
 * them. Whoever is told a time, and that nobody can take its quota back, has its quota by then, and
 * the time never moves away, once those before it in age have started or have a time themselves;
 * and whoever is told of a time when lenders could take it is told that no bound exists. Several
 * gangs starve at once; none waits for one after it. Nodes are plenty.
 *
 * SIM_SEEDS=first:count runs others than the suite's.
 */
#include "seeds.h"
#include "world.h"

#include "core/kueue/kueue.h"
#include "core/kueue/quota_shadow.h"

#define AFTER	60 /* starvation.after, seconds */
#define STEP	5
#define LONGEST 120
#define SLACK	(2 * STEP) /* looks are made at steps, and what ends is seen a step later */
#define QUEUES	3
#define GANGS	3

struct gang {
	char name[16];
	bool there, placed;
	int n_before;  /* small jobs that are older */
	usec promised; /* by when, 0: nothing was */
};

struct sim {
	struct world w;
	uint64_t random;
	int cpus[QUEUES]; /* nominal */
	int own;	  /* the cohort's */
	int n_small;
	int waiting[QUEUES]; /* number of the last small job, -1: none */
	struct gang gangs[GANGS];
	bool fair;
};

static unsigned long n_promised, n_doubted;

#define below(s, n) seeds_below(&(s)->random, n)

static void run_for(struct sim *s, int seconds)
{
	for (size_t i = 0; i < s->w.n_members; i++)
		s->w.members[i]->run_time = seconds * USEC_PER_SEC;
}

static void open_cohort(struct sim *s)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'Cohort','metadata':{'name':"
		       "'all'},'spec':{'resourceGroups':[{'coveredResources':['cpu'],'flavors':[{"
		       "'name':'f','resources':[{'name':'cpu','nominalQuota':%d}]}]}]}}",
		       s->own);
	assert_int_equal(world_create(&s->w, TYPE_COHORT, text), ERR_NONE);
}

static void open_queue(struct sim *s, int i)
{
	char name[8], local[8], text[1024];
	static const char *const limits[] = {"", "", ",'lendingLimit':2", ",'borrowingLimit':8"};

	(void)snprintf(name, sizeof(name), "q%d", i);
	(void)snprintf(local, sizeof(local), "lq%d", i);
	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'kueue.x-k8s.io/v1beta2','kind':'ClusterQueue','metadata':{"
		       "'name':'%s'},'spec':{'namespaceSelector':{},'cohortName':'all',"
		       "'queueingStrategy':'%s','resourceGroups':[{'coveredResources':['cpu'],"
		       "'flavors':[{'name':'f','resources':[{'name':'cpu','nominalQuota':%d%s}]}]}"
		       "]}}",
		       name, below(s, 3) ? "BestEffortFIFO" : "StrictFIFO", s->cpus[i],
		       limits[below(s, 4)]);
	assert_int_equal(world_create(&s->w, TYPE_CLUSTER_QUEUE, text), ERR_NONE);
	world_local_queue(&s->w, local, name);
}

static void open_sim(struct sim *s, uint64_t seed)
{
	*s = (struct sim){.random = seeds_begin(seed), .fair = seed % 4 == 0};
	s->w.seed = seed * 100003;
	s->w.starve_after = AFTER * USEC_PER_SEC;
	s->w.kueue = s->fair ? "{'fairSharing':{}}" : NULL;
	world_open(&s->w);
	s->w.after_turn = world_check;
	world_flavor(&s->w, "f", "");
	s->own = below(s, 2) ? 4 + (int)below(s, 6) : 0;
	open_cohort(s);
	for (int i = 0; i < QUEUES; i++) {
		s->cpus[i] = below(s, 3) ? (int)below(s, 6) : 0;
		s->waiting[i] = -1;
		open_queue(s, i);
	}
	world_join(&s->w, "c1", 16, 32);
}

static bool is_placed(struct sim *s, const char *name)
{
	const struct job *j = world_record(&s->w, TYPE_JOB, "default", name);
	return !j || j->holds || j->finished;
}

/* limit 0: none */
static void submit(struct sim *s, const char *name, int queue, int cpus, int limit)
{
	char labels[96] = "", local[8];

	(void)snprintf(local, sizeof(local), "lq%d", queue);
	if (limit)
		(void)snprintf(labels, sizeof(labels),
			       ",'kueue.x-k8s.io/max-exec-time-seconds':'%d'", limit);
	world_queued_job(&s->w, name, local, 1, cpus, labels);
	world_settle(&s->w);
}

/* One small job waits in every queue that takes any. */
static void flood(struct sim *s)
{
	char name[32];

	for (int i = 0; i < QUEUES; i++) {
		(void)snprintf(name, sizeof(name), "small-%d", s->waiting[i]);
		if (s->waiting[i] >= 0 && !is_placed(s, name))
			continue;
		s->waiting[i] = s->n_small;
		(void)snprintf(name, sizeof(name), "small-%d", s->n_small++);
		/* Some end early; others only when they are made to. */
		run_for(s, below(s, 3) ? 1000 : 15);
		submit(s, name, i, 1 + (int)below(s, 2), 20 + (int)below(s, LONGEST - 20));
	}
}

static bool is_firm(const struct sim *s, const struct quota_shadow *q)
{
	return q->of.at != KUEUE_SHADOW_NEVER && q->of.lender == KUEUE_NONE &&
	       !(s->fair && q->of.borrows) && quota_shadow_holds(s->w.core, q);
}

/* Nobody who is older may still come to the front. */
static bool is_next(struct sim *s, const struct gang *g)
{
	char name[32];

	for (int i = 0; i < QUEUES; i++) {
		(void)snprintf(name, sizeof(name), "small-%d", s->waiting[i]);
		if (s->waiting[i] < g->n_before && !is_placed(s, name))
			return false;
	}
	for (const struct gang *o = s->gangs; o < g; o++) {
		const struct job *j = world_record(&s->w, TYPE_JOB, "default", o->name);
		const struct quota_shadow *q = o->placed || !j || !j->workload
						   ? NULL
						   : quota_shadow_find(s->w.core, j->workload);
		if (!o->placed && (!q || !is_firm(s, q)))
			return false;
	}
	return true;
}

/* What it is told now, against what it was told. */
static void look(struct sim *s, struct gang *g)
{
	const struct job *j = world_record(&s->w, TYPE_JOB, "default", g->name);
	char path[256];

	g->placed = g->placed || is_placed(s, g->name);
	if (g->placed || !j || !j->workload)
		return;
	if (g->promised && s->w.now > g->promised + SLACK * USEC_PER_SEC)
		fail_msg("%s has no quota at its time", g->name);
	(void)snprintf(path, sizeof(path), "namespaces/default/jobs/%s/why", g->name);
	const char *why = world_query(&s->w, path);
	const struct quota_shadow *q = quota_shadow_find(s->w.core, j->workload);
	if (!q || !quota_shadow_holds(s->w.core, q))
		return;
	bool told = strstr(why, "it has its quota by ") != NULL;
	if (q->of.at == KUEUE_SHADOW_NEVER)
		return;
	/* The fair share of a cohort, and lenders, leave none. */
	assert_int_equal(!is_firm(s, q), strstr(why, "no bound on its wait exists") != NULL);
	assert_true(told);
	if (!is_firm(s, q)) {
		n_doubted++;
		return;
	}
	if (g->promised && q->of.at > g->promised + SLACK * USEC_PER_SEC)
		fail_msg("%s was promised an earlier time", g->name);
	if (!is_next(s, g))
		return;
	n_promised += !g->promised;
	g->promised = q->of.at;
}

static void step(struct sim *s)
{
	flood(s);
	world_advance(&s->w, STEP * USEC_PER_SEC);
	world_settle(&s->w);
	for (int i = 0; i < GANGS; i++)
		if (s->gangs[i].there)
			look(s, &s->gangs[i]);
}

/* As large as its queue could ever have it. */
static void submit_gang(struct sim *s, int i)
{
	struct gang *g = &s->gangs[i];
	int queue = (int)below(s, QUEUES);
	int most = s->own + s->cpus[queue] + (below(s, 2) ? 3 : 0);

	(void)snprintf(g->name, sizeof(g->name), "gang-%d", i);
	g->n_before = s->n_small;
	run_for(s, 60);
	submit(s, g->name, queue, 1 + most / 2 + (int)below(s, (unsigned)(1 + most / 2)),
	       below(s, 4) ? 100 : 0);
	g->there = true;
}

static void run(uint64_t seed)
{
	struct sim s;

	open_sim(&s, seed);
	for (int i = 0; i < 4; i++)
		step(&s);
	for (int i = 0; i < GANGS; i++) {
		submit_gang(&s, i);
		for (unsigned n = below(&s, 6); n > 0; n--)
			step(&s);
	}
	for (int t = 0; t < AFTER + 3 * LONGEST; t += STEP)
		step(&s);
	world_close(&s.w);
}

static void what_a_starving_gang_is_told_is_true(void **state)
{
	n_promised = n_doubted = 0;
	seeds_run(run, 10, NULL);
	print_message("%lu promised, %lu doubted\n", n_promised, n_doubted);
	if (!getenv("SIM_SEEDS")) {
		assert_true(n_promised >= 3);
		assert_true(n_doubted >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(what_a_starving_gang_is_told_is_true, seeds_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
