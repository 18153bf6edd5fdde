/*
 * What gangs of the quota tree that starve for quota are told is true, in random trees of three
 * leaves: an adversary keeps every leaf full of small jobs that would pass them. Whoever is told a
 * time, and of nobody who could take its quota back, has its quota by then, and the time never
 * moves away, once those before it in age have started or have a time themselves. Several gangs
 * starve at once. Nodes are plenty.
 *
 * SIM_SEEDS=first:count runs others than the suite's.
 */
#include "seeds.h"
#include "world.h"

#define AFTER	60 /* starvation.after, seconds */
#define STEP	5
#define LONGEST 120
#define SLACK	(2 * STEP) /* looks are made at steps, and what ends is seen a step later */
#define LEAVES	3
#define GANGS	3

struct gang {
	char name[16], ns[8];
	bool there, placed;
	int n_before;		       /* small jobs that are older */
	char promised[CLOCK_TEXT_MAX]; /* by when, "" nothing was */
};

struct sim {
	struct world w;
	uint64_t random;
	int root, min[LEAVES];
	int n_small;
	int waiting[LEAVES]; /* number of the last small job, -1: none */
	struct gang gangs[GANGS];
};

static unsigned long n_promised, n_doubted;

#define below(s, n) seeds_below(&(s)->random, n)

static void run_for(struct sim *s, int seconds)
{
	s->w.members[0]->run_time = seconds * USEC_PER_SEC;
}

static void open_tree(struct sim *s)
{
	auto_buf b = BUF_INIT;

	s->root = 8 + (int)below(s, 8);
	buf_addf(&b,
		 "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree',"
		 "'metadata':{'name':'tree','namespace':'kube-system'},'spec':{'root':{'name':"
		 "'root','min':{'cpu':%d},'max':{'cpu':%d},'children':[",
		 s->root, s->root);
	for (int i = 0; i < LEAVES; i++) {
		char ns[8];
		(void)snprintf(ns, sizeof(ns), "ns%d", i);
		world_space(&s->w, ns);
		s->min[i] = (int)below(s, (unsigned)s->root / 3);
		s->waiting[i] = -1;
		buf_addf(&b,
			 "%s{'name':'leaf%d','namespaces':['%s'],'min':{'cpu':%d},'max':{'cpu':%d}"
			 "}",
			 i ? "," : "", i, ns, s->min[i],
			 below(s, 3) ? s->root : s->min[i] + 4 + (int)below(s, 4));
	}
	buf_add_str(&b, "]}}}");
	assert_int_equal(world_create(&s->w, TYPE_ELASTIC_QUOTA_TREE, b.ptr), ERR_NONE);
	for (int i = 0; i < LEAVES; i++) {
		char ns[8];
		(void)snprintf(ns, sizeof(ns), "ns%d", i);
		world_policy(&s->w, ns, ",'suspension':{'scheduling':true}");
	}
}

static void open_sim(struct sim *s, uint64_t seed)
{
	*s = (struct sim){.random = seeds_begin(seed)};
	s->w.seed = seed * 100003;
	s->w.starve_after = AFTER * USEC_PER_SEC;
	world_open(&s->w);
	s->w.after_turn = world_check;
	open_tree(s);
	world_join(&s->w, "c1", 16, 32);
}

static bool is_placed(struct sim *s, const char *ns, const char *name)
{
	const struct job *j = world_record(&s->w, TYPE_JOB, ns, name);
	return !j || j->holds || j->finished;
}

/* limit 0: none */
static void submit(struct sim *s, const char *ns, const char *name, int cpus, int limit)
{
	auto_free char *text = world_job_text(ns, name, 1, cpus, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'spec':{");

	buf_add(&b, text, (size_t)(spec - text));
	buf_add_str(&b, "'spec':{");
	if (limit)
		buf_addf(&b, "'activeDeadlineSeconds':%d,", limit);
	buf_add_str(&b, spec + strlen("'spec':{"));
	assert_int_equal(world_create(&s->w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(&s->w);
}

/* One small job waits in every leaf. */
static void flood(struct sim *s)
{
	char name[32], ns[8];

	for (int i = 0; i < LEAVES; i++) {
		(void)snprintf(ns, sizeof(ns), "ns%d", i);
		(void)snprintf(name, sizeof(name), "small-%d", s->waiting[i]);
		if (s->waiting[i] >= 0 && !is_placed(s, ns, name))
			continue;
		s->waiting[i] = s->n_small;
		(void)snprintf(name, sizeof(name), "small-%d", s->n_small++);
		/* Some end early; others only when they are made to. */
		run_for(s, below(s, 3) ? 1000 : 15);
		submit(s, ns, name, 1 + (int)below(s, 2), 20 + (int)below(s, LONGEST - 20));
	}
}

/* The time that it is told, and whether nobody could take its quota back; "" when no time is. */
static bool told(struct sim *s, const struct gang *g, char when[CLOCK_TEXT_MAX])
{
	static const char by[] = "it has its quota by ";
	char path[256];

	when[0] = '\0';
	(void)snprintf(path, sizeof(path), "namespaces/%s/jobs/%s/why", g->ns, g->name);
	const char *why = world_query(&s->w, path), *at = strstr(why, by);
	if (!at)
		return false;
	at += strlen(by);
	(void)snprintf(when, CLOCK_TEXT_MAX, "%.*s", (int)strcspn(at, " "), at);
	return strstr(why, "no bound on its wait exists") == NULL;
}

/* Nobody who is older may still come to the front. */
static bool is_next(struct sim *s, const struct gang *g)
{
	char name[32], ns[8], when[CLOCK_TEXT_MAX];

	for (int i = 0; i < LEAVES; i++) {
		(void)snprintf(ns, sizeof(ns), "ns%d", i);
		(void)snprintf(name, sizeof(name), "small-%d", s->waiting[i]);
		if (s->waiting[i] < g->n_before && !is_placed(s, ns, name))
			return false;
	}
	for (const struct gang *o = s->gangs; o < g; o++)
		if (!o->placed && !told(s, o, when))
			return false;
	return true;
}

/* Whether a is later than b by more than what looks leave open. */
static bool is_past(const char *a, const char *b)
{
	usec x, y;

	assert_int_equal(clock_parse(span_of(a), &x), 0);
	assert_int_equal(clock_parse(span_of(b), &y), 0);
	return x > y + SLACK * USEC_PER_SEC;
}

/* What it is told now, against what it was told. */
static void look(struct sim *s, struct gang *g)
{
	char when[CLOCK_TEXT_MAX], now[CLOCK_TEXT_MAX];

	g->placed = g->placed || is_placed(s, g->ns, g->name);
	if (g->placed)
		return;
	if (g->promised[0] && is_past(clock_format(s->w.now, now), g->promised))
		fail_msg("%s has no quota at its time", g->name);
	bool firm = told(s, g, when);
	n_doubted += when[0] && !firm;
	if (!firm || !is_next(s, g))
		return;
	if (g->promised[0] && is_past(when, g->promised))
		fail_msg("%s was promised an earlier time", g->name);
	n_promised += !g->promised[0];
	(void)snprintf(g->promised, sizeof(g->promised), "%s", when);
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

static void submit_gang(struct sim *s, int i)
{
	struct gang *g = &s->gangs[i];
	int leaf = (int)below(s, LEAVES);
	int most = s->min[leaf] + (int)below(s, 6);

	(void)snprintf(g->name, sizeof(g->name), "gang-%d", i);
	(void)snprintf(g->ns, sizeof(g->ns), "ns%d", leaf);
	g->n_before = s->n_small;
	run_for(s, 60);
	submit(s, g->ns, g->name, 3 + most / 2 + (int)below(s, (unsigned)(1 + most / 2)),
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

static void what_a_starving_gang_of_the_tree_is_told_is_true(void **state)
{
	n_promised = n_doubted = 0;
	seeds_run(run, 8, NULL);
	print_message("%lu promised, %lu doubted\n", n_promised, n_doubted);
	if (!getenv("SIM_SEEDS")) {
		assert_true(n_promised >= 3);
		assert_true(n_doubted >= 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(what_a_starving_gang_of_the_tree_is_told_is_true, seeds_tell),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
