/*
 * Who gives back what an owner has a right to. The vectors V3, V4, V23 to V25 and V28 are those of
 * reference/ack-fleet.md section 4; jobs of one pod stand for its pods.
 */
#include "quota-tree/elastic_reclaim.h"
#include "testing.h"

enum { MAX_JOBS = 32 };
#define GPU "nvidia.com/gpu"

struct pool {
	struct elastic_tree *tree;
	struct quota_tree *quota;
	struct elastic_reclaim_options options;
	struct elastic_job jobs[MAX_JOBS];
	struct quota_amount amounts[MAX_JOBS][ELASTIC_REQUEST_AMOUNTS]; /* never reused */
	size_t n, used;
	struct elastic_victims victims;
	int64_t now;
};

static struct pool pool_make(const struct elastic_node_spec *root)
{
	struct pool p = {.now = 1000};
	struct err err = ERR_INIT;
	if (elastic_tree_create(root, NULL, NULL, &p.tree, &err) != 0)
		fail_msg("%s: %s", err.field, err.text);
	p.quota = elastic_tree_quota(p.tree);
	p.options.jobs_resource = elastic_tree_jobs_resource(p.tree);
	return p;
}

static void pool_done(struct pool *p)
{
	struct err err = ERR_INIT;
	if (quota_tree_check(p->quota, &err) != 0)
		fail_msg("%s", err.text);
	elastic_victims_done(&p->victims);
	elastic_tree_destroy(p->tree);
}

struct ask {
	const char *name, *node, *resource;
	int64_t value;
	int32_t priority;
	bool nonpreemptible;
};

/* Not charged; its amounts are good until the next job. */
static struct elastic_job job_of(struct pool *p, struct ask a)
{
	struct elastic_job job = {
	    .name = span_of(a.name), .priority = a.priority, .admitted_at = p->now};
	struct elastic_quantity q = {span_of(a.resource), a.value};
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_find(p->tree, span_of(a.node), &job.node), 0);
	assert_int_equal(
	    elastic_tree_request(p->tree, &q, 1, p->amounts[p->used], &job.request.n_amounts, &err),
	    0);
	job.request.amounts = p->amounts[p->used];
	job.request.nonpreemptible = a.nonpreemptible;
	return job;
}

static struct elastic_job *start(struct pool *p, struct ask a)
{
	assert_true(p->used + 1 < MAX_JOBS);
	p->jobs[p->n] = job_of(p, a);
	assert_int_equal(
	    quota_tree_charge_forced(p->quota, p->jobs[p->n].node, &p->jobs[p->n].request), 0);
	p->now += 10;
	p->used++;
	return &p->jobs[p->n++];
}

static void stop(struct pool *p, const struct elastic_job *job)
{
	quota_tree_release(p->quota, job->node, &job->request);
	p->jobs[job - p->jobs] = p->jobs[--p->n];
}

/* The names of the victims in their order, "-" for none, "..." while a round is going on. */
static void expect(struct pool *p, struct ask a, const struct elastic_room *room, const char *names)
{
	char text[256] = "";
	const struct elastic_job job = job_of(p, a);
	elastic_reclaim(p->quota, &p->options, &job, p->jobs, p->n, room, p->now, &p->victims);
	size_t len = 0;
	vec_foreach (&p->victims.items, v)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s", len ? " " : "",
					SPAN_ARGS((*v)->name));
	if (!len)
		snprintf(text, sizeof(text), "%s", p->victims.waits ? "..." : "-");
	assert_string_equal(text, names);
	struct err err = ERR_INIT;
	assert_int_equal(quota_tree_check(p->quota, &err), 0);
}

#define C5(n, where) ((struct ask){.name = (n), .node = (where), .resource = "cpu", .value = 5000})

/* root min = max = 40; a and b min 20 max 40; leaves a.1 a.2 b.1 b.2 min 10 max 20. */
#define LEAF(n)                                                                                    \
	{                                                                                          \
		.name = SPAN(n), .min = LIST(Q("cpu", CPU(10))), .max = LIST(Q("cpu", CPU(20)))    \
	}
static struct pool pool_of_40(void)
{
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", CPU(40))),
	    .max = LIST(Q("cpu", CPU(40))),
	    CHILDREN({.name = SPAN("a"),
		      .min = LIST(Q("cpu", CPU(20))),
		      .max = LIST(Q("cpu", CPU(40))),
		      CHILDREN(LEAF("a.1"), LEAF("a.2"))},
		     {.name = SPAN("b"),
		      .min = LIST(Q("cpu", CPU(20))),
		      .max = LIST(Q("cpu", CPU(40))),
		      CHILDREN(LEAF("b.1"), LEAF("b.2"))}),
	};
	return pool_make(&root);
}

/* Four pods of 5 in a.1 and four in a.2: V1 and V2. */
static struct pool full_of_a(void)
{
	static const char *const names[] = {"p1", "p2", "p3", "p4", "q1", "q2", "q3", "q4"};
	struct pool p = pool_of_40();
	for (size_t i = 0; i < 8; i++)
		start(&p, C5(names[i], i < 4 ? "a.1" : "a.2"));
	return p;
}

/* One victim after the other, as long as there are any; the new one starts in its place. */
static void reclaim_and_start(struct pool *p, struct ask a, const char *victim)
{
	expect(p, a, NULL, victim);
	assert_int_equal(p->victims.items.len, 1);
	stop(p, p->victims.items.items[0]);
	start(p, a);
}

static void v3_an_owner_takes_back_exactly_its_min(void **state)
{
	(void)state;
	struct pool p = full_of_a();
	/* a.1 and a.2 are both at 20 of 10: the first of the tree, its latest pod; then a.2. */
	reclaim_and_start(&p, C5("r1", "b.1"), "p4");
	reclaim_and_start(&p, C5("r2", "b.1"), "q4");
	/* b.1 has its 10: 3 / 3 / 2. */
	expect(&p, C5("r3", "b.1"), NULL, "-");
	pool_done(&p);
}

static void v4_everybody_at_min(void **state)
{
	(void)state;
	struct pool p = full_of_a();
	reclaim_and_start(&p, C5("r1", "b.1"), "p4");
	reclaim_and_start(&p, C5("r2", "b.1"), "q4");
	reclaim_and_start(&p, C5("s1", "b.2"), "p3");
	reclaim_and_start(&p, C5("s2", "b.2"), "q3");
	expect(&p, C5("s3", "b.2"), NULL, "-"); /* 2 / 2 / 2 / 2 */
	pool_done(&p);
}

static void v23_one_gpu_back_and_no_second(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q(GPU, 5)),
	    .max = LIST(Q(GPU, 5)),
	    CHILDREN({.name = SPAN("A"), .min = LIST(Q(GPU, 4)), .max = LIST(Q(GPU, 5))},
		     {.name = SPAN("B"), .min = LIST(Q(GPU, 1)), .max = LIST(Q(GPU, 5))}),
	};
	struct pool p = pool_make(&root);
	static const char *const names[] = {"a1", "a2", "a3", "a4", "a5"};
	for (size_t i = 0; i < 5; i++)
		start(&p, (struct ask){.name = names[i], .node = "A", .resource = GPU, .value = 1});
	reclaim_and_start(&p, (struct ask){.name = "b1", .node = "B", .resource = GPU, .value = 1},
			  "a5");
	expect(&p, (struct ask){.name = "b2", .node = "B", .resource = GPU, .value = 1}, NULL, "-");
	pool_done(&p);
}

/* A and B of min 10 each in a pool of `total`. */
static struct pool two_quotas(int64_t total)
{
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q(GPU, total)),
	    CHILDREN({.name = SPAN("A"), .min = LIST(Q(GPU, 10))},
		     {.name = SPAN("B"), .min = LIST(Q(GPU, 10))}),
	};
	return pool_make(&root);
}

static void v25_beyond_its_min_only_its_own_lower_priority(void **state)
{
	(void)state;
	struct pool p = two_quotas(22);
	start(&p, (struct ask){"a1", "A", GPU, 12, 0, false});
	start(&p, (struct ask){"b-low", "B", GPU, 2, 10, false});
	start(&p, (struct ask){"b-same", "B", GPU, 8, 50, false});
	expect(&p, (struct ask){"b-new", "B", GPU, 2, 50, false}, NULL, "b-low");
	assert_int_equal(p.victims.reason, ELASTIC_PREEMPT_LOWER);
	expect(&p, (struct ask){"b-lower", "B", GPU, 2, 10, false}, NULL, "-");
	expect(&p, (struct ask){"b-big", "B", GPU, 3, 50, false}, NULL, "-");
	pool_done(&p);
}

/* ---- nodes ---- */

struct nodes {
	int64_t free, need;
	int taken;
};

static int64_t gpus(const struct elastic_job *job)
{
	return (int64_t)(size_t)job->owner; /* on the member in question */
}

static bool useful(void *context, const struct elastic_job *job)
{
	(void)context;
	return gpus(job) > 0;
}

static void take(void *context, const struct elastic_job *job)
{
	struct nodes *n = context;
	n->free += gpus(job);
	n->taken++;
}

static void give_back(void *context, const struct elastic_job *job)
{
	struct nodes *n = context;
	n->free -= gpus(job);
	n->taken--;
}

static bool room_fits(void *context)
{
	const struct nodes *n = context;
	return n->free >= n->need;
}

static struct elastic_room room_of(struct nodes *n)
{
	return (struct elastic_room){n, useful, take, give_back, room_fits};
}

static void v24_an_owner_does_not_look_at_priority(void **state)
{
	(void)state;
	struct pool p = two_quotas(20);
	start(&p, (struct ask){"a1", "A", GPU, 6, 100, false})->owner = (void *)(size_t)6;
	start(&p, (struct ask){"a2", "A", GPU, 6, 100, false})->owner = (void *)(size_t)6;
	struct nodes n = {.free = 0, .need = 2}; /* the pool is full, quota is not */
	const struct elastic_room room = room_of(&n);
	expect(&p, (struct ask){"b1", "B", GPU, 2, 0, false}, &room, "a2");
	assert_int_equal(p.victims.reason, ELASTIC_RECLAIM);
	/* A at its min: nobody. */
	stop(&p, &p.jobs[1]);
	start(&p, (struct ask){"a3", "A", GPU, 4, 0, false})->owner = (void *)(size_t)4;
	expect(&p, (struct ask){"b1", "B", GPU, 2, 0, false}, &room, "-");
	pool_done(&p);
}

static void v28_a_gang_that_would_not_fit_takes_nobody(void **state)
{
	(void)state;
	struct pool p = two_quotas(20);
	start(&p, (struct ask){"b-low", "B", GPU, 1, 0, false})->owner = (void *)(size_t)1;
	start(&p, (struct ask){"b-rest", "B", GPU, 2, 90, false});
	struct nodes n = {.free = 6, .need = 8};
	const struct elastic_room room = room_of(&n);
	/* 3 + 8 > 10: only what is lower in B may go, one GPU, and 6 + 1 < 8. */
	expect(&p, (struct ask){"gang", "B", GPU, 8, 50, false}, &room, "-");
	assert_int_equal(n.free, 6);
	assert_int_equal(n.taken, 0);
	n.free = 7;
	expect(&p, (struct ask){"gang", "B", GPU, 8, 50, false}, &room, "b-low");
	assert_int_equal(n.free, 7);
	pool_done(&p);
}

static void quota_that_fits_still_asks_for_nodes_of_borrowers(void **state)
{
	(void)state;
	struct pool p = two_quotas(40);
	start(&p, (struct ask){"elsewhere", "A", GPU, 8, 0, false});
	start(&p, (struct ask){"here", "A", GPU, 8, 0, false})->owner = (void *)(size_t)8;
	struct nodes n = {.free = 2, .need = 4};
	const struct elastic_room room = room_of(&n);
	expect(&p, (struct ask){"b1", "B", GPU, 4, 0, false}, &room, "here");
	pool_done(&p);
}

/* ---- who else ---- */

static void whoever_is_not_needed_stays(void **state)
{
	(void)state;
	struct pool p = two_quotas(20);
	start(&p, (struct ask){"big", "A", GPU, 15, 0, false});
	start(&p, (struct ask){"small", "A", GPU, 5, 0, false});
	/* The latest goes first, 5 < 8; then big; with big gone small may stay. */
	expect(&p, (struct ask){"b1", "B", GPU, 8, 0, false}, NULL, "big");
	pool_done(&p);
}

static void the_nonpreemptible_the_protected_and_the_leaving_are_spared(void **state)
{
	(void)state;
	struct pool p = two_quotas(20);
	start(&p, (struct ask){"firm", "A", GPU, 10, 0, true});
	start(&p, (struct ask){"fresh", "A", GPU, 5, 0, false})->admitted_at = 5000;
	struct elastic_job *old = start(&p, (struct ask){"old", "A", GPU, 5, 0, false});
	p.now = 6000;
	p.options.protect = 2000;
	const struct ask five = {"b1", "B", GPU, 5, 0, false}, ten = {"b2", "B", GPU, 10, 0, false};
	expect(&p, five, NULL, "old");
	expect(&p, ten, NULL, "-");
	p.now = 7000; /* 2000 after its admission fresh is like all others */
	expect(&p, ten, NULL, "fresh old");
	old->leaving = true;
	expect(&p, five, NULL, "...");
	pool_done(&p);
}

static void who_keeps_to_its_min_inside_is_not_asked_from_outside(void **state)
{
	(void)state;
	/* a keeps to its 20, all of them in a.1; b.2 has taken b.1's share. */
	struct pool p = pool_of_40();
	static const char *const names[] = {"p1", "p2", "p3", "p4", "s1", "s2", "s3"};
	for (size_t i = 0; i < 7; i++)
		start(&p, C5(names[i], i < 4 ? "a.1" : "b.2"));
	start(&p, C5("r1", "b.1"));
	expect(&p, C5("r2", "b.1"), NULL, "s3");
	pool_done(&p);
}

/* Owners are never refused while mins are valid: somebody has borrowed what they lack. */
static void an_owner_always_finds_a_borrower(void **state)
{
	(void)state;
	static const char *const leaves[] = {"a.1", "a.2", "b.1", "b.2"};
	static const char *const names[] = {"0", "1", "2",  "3",  "4",	"5",  "6",  "7",
					    "8", "9", "10", "11", "12", "13", "14", "15"};
	uint64_t seed = 7;
	for (int round = 0; round < 300; round++) {
		struct pool p = pool_of_40();
		for (size_t i = 0; i < 16; i++) {
			struct ask a = {.name = names[i],
					.node = leaves[test_below(&seed, 4)],
					.resource = "cpu",
					.value = CPU(1 + test_below(&seed, 9))};
			struct elastic_job job = job_of(&p, a);
			if (quota_tree_test(p.quota, job.node, &job.request, NULL))
				start(&p, a);
		}
		const struct ask a = {.name = "new",
				      .node = leaves[test_below(&seed, 4)],
				      .resource = "cpu",
				      .value = CPU(1 + test_below(&seed, 9))};
		const struct elastic_job job = job_of(&p, a);
		elastic_reclaim(p.quota, &p.options, &job, p.jobs, p.n, NULL, p.now, &p.victims);
		bool owner = elastic_reclaim_is_owner(p.quota, &p.options, &job);
		bool fits = quota_tree_test(p.quota, job.node, &job.request, NULL);
		assert_true(p.victims.items.len ? !fits : fits || !owner);
		/* Exactly enough: without any one of the victims it would not fit. */
		vec_foreach (&p.victims.items, v)
			quota_tree_release(p.quota, (*v)->node, &(*v)->request);
		if (p.victims.items.len)
			assert_true(quota_tree_test(p.quota, job.node, &job.request, NULL));
		vec_foreach (&p.victims.items, v) {
			assert_int_equal(
			    quota_tree_charge_forced(p.quota, (*v)->node, &(*v)->request), 0);
			assert_false(quota_tree_test(p.quota, job.node, &job.request, NULL));
			quota_tree_release(p.quota, (*v)->node, &(*v)->request);
		}
		pool_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(v3_an_owner_takes_back_exactly_its_min),
	    cmocka_unit_test(v4_everybody_at_min),
	    cmocka_unit_test(v23_one_gpu_back_and_no_second),
	    cmocka_unit_test(v24_an_owner_does_not_look_at_priority),
	    cmocka_unit_test(v25_beyond_its_min_only_its_own_lower_priority),
	    cmocka_unit_test(v28_a_gang_that_would_not_fit_takes_nobody),
	    cmocka_unit_test(quota_that_fits_still_asks_for_nodes_of_borrowers),
	    cmocka_unit_test(whoever_is_not_needed_stays),
	    cmocka_unit_test(the_nonpreemptible_the_protected_and_the_leaving_are_spared),
	    cmocka_unit_test(who_keeps_to_its_min_inside_is_not_asked_from_outside),
	    cmocka_unit_test(an_owner_always_finds_a_borrower),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
