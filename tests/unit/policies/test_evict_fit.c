/* What would fit if some jobs were gone: trials on one member, and the choice between members. */
#include "fixture.h"
#include "policies/evict_fit.h"

enum { MAX_JOBS = 8, MAX_PODS = 4 };

/* A running job: some pods bound, the rest assumed. */
struct running {
	struct evict_job job;
	struct evict_pods pods[MAX_PODS];
	struct pod_usage usage;
	struct amount amounts[2];
	struct shape *shape; /* of what is assumed; NULL: nothing is */
};

struct trial {
	struct world w;
	uint32_t cluster;
	struct running jobs[MAX_JOBS];
	struct evict_fit fit;
	struct ask *ask;
};

static void trial_begin(struct trial *t, struct shape *gang)
{
	t->ask = ask_of(&t->w, gang, NULL);
	fleet_shape_unref(t->w.f, gang);
	assert_true(evict_fit_begin(&t->fit, t->w.f, t->w.l, t->ask, t->cluster));
}

static void trial_done(struct trial *t)
{
	evict_fit_end(&t->fit);
	evict_fit_done(&t->fit);
	placer_ask_unref(t->w.p, t->ask);
	for (size_t i = 0; i < MAX_JOBS; i++) {
		ledger_drop(t->w.l, i + 1);
		fleet_shape_unref(t->w.f, t->jobs[i].shape);
	}
	world_done(&t->w);
}

static struct trial trial_make(int nodes, int64_t cpu, int64_t gpus)
{
	struct trial t = {.w = world_create()};
	t.cluster = add_cluster(&t.w, "c1");
	add_nodes(&t.w, t.cluster, nodes, cpu, gpus);
	for (size_t i = 0; i < MAX_JOBS; i++)
		t.jobs[i].job.number = i + 1;
	return t;
}

/* A bound pod of job `i`; all pods of a job ask the same. */
static struct evict_job *bind_pod(struct trial *t, size_t i, uint32_t node, int64_t cpu,
				  int64_t gpus)
{
	struct running *r = &t->jobs[i];
	r->amounts[0] = (struct amount){RESOURCE_CPU, cpu};
	r->amounts[1] = (struct amount){t->w.gpu, gpus};
	r->usage = (struct pod_usage){r->amounts, 2, false};
	r->pods[r->job.n_pods++] = (struct evict_pods){node, 1, &r->usage};
	r->job.pods = r->pods;
	cluster_view_pod_charge(t->w.f, t->cluster, node, &r->usage);
	return &r->job;
}

static struct evict_job *assume(struct trial *t, size_t i, uint32_t node, int64_t cpu, int64_t gpus)
{
	struct running *r = &t->jobs[i];
	struct fit_slot slot = {node, 0, 1};
	r->shape = gang(&t->w, 1, cpu, gpus);
	assert_int_equal(ledger_assume(t->w.l, i + 1, r->shape, t->cluster, &slot, 1, 0, &t->w.err),
			 0);
	return &r->job;
}

static void a_gang_fits_once_enough_are_gone(void **state)
{
	(void)state;
	struct trial t = trial_make(2, 8000, 8);
	struct evict_job *a = bind_pod(&t, 0, 0, 1000, 8), *b = bind_pod(&t, 1, 1, 1000, 8);
	trial_begin(&t, gang(&t.w, 2, 1000, 8));
	assert_false(evict_fit_fits(&t.fit));
	evict_fit_take(&t.fit, a);
	assert_false(evict_fit_fits(&t.fit));
	evict_fit_take(&t.fit, b);
	assert_true(evict_fit_fits(&t.fit));
	assert_int_equal(evict_fit_result(&t.fit)->n_slots, 2);
	evict_fit_give_back(&t.fit, a);
	assert_false(evict_fit_fits(&t.fit));
	trial_done(&t);
}

static void assumed_pods_count_like_bound_ones(void **state)
{
	(void)state;
	struct trial t = trial_make(1, 8000, 8);
	struct evict_job *a = assume(&t, 0, 0, 1000, 8);
	trial_begin(&t, gang(&t.w, 1, 1000, 8));
	assert_true(evict_fit_useful(&t.fit, a));
	assert_false(evict_fit_fits(&t.fit));
	evict_fit_take(&t.fit, a);
	assert_true(evict_fit_fits(&t.fit));
	trial_done(&t);
}

static void only_room_that_the_gang_could_use_is_useful(void **state)
{
	(void)state;
	struct trial t = trial_make(1, 8000, 8);
	static const struct taint taint = {SPAN("dedicated"), SPAN("x"), TAINT_NO_SCHEDULE};
	struct node_spec more = {.taints = &taint, .n_taints = 1, .ready = true};
	uint32_t tainted = add_node(&t.w, t.cluster, "tainted", 8000, 8, &more);
	struct evict_job *gpu = bind_pod(&t, 0, 0, 0, 1), *cpu = bind_pod(&t, 1, 0, 1000, 0),
			 *away = bind_pod(&t, 2, tainted, 0, 8),
			 *elsewhere = &t.jobs[3].job; /* no pods on this member */
	trial_begin(&t, gang(&t.w, 1, 0, 8));
	assert_true(evict_fit_useful(&t.fit, gpu));
	assert_false(evict_fit_useful(&t.fit, cpu));
	assert_false(evict_fit_useful(&t.fit, away));
	assert_false(evict_fit_useful(&t.fit, elsewhere));
	trial_done(&t);
}

static void a_full_list_of_pods_makes_every_pod_useful(void **state)
{
	(void)state;
	struct trial t = trial_make(0, 0, 0);
	struct amount all[] = {{RESOURCE_CPU, 8000}, {t.w.gpu, 8}, {RESOURCE_PODS, 1}};
	struct node_spec spec = {
	    .name = SPAN("small"), .allocatable = all, .n_allocatable = 3, .ready = true};
	uint32_t node;
	assert_int_equal(cluster_view_node_upsert(t.w.f, t.cluster, &spec, &node, &t.w.err), 0);
	struct evict_job *cpu = bind_pod(&t, 0, node, 1000, 0);
	trial_begin(&t, gang(&t.w, 1, 0, 1));
	assert_true(evict_fit_useful(&t.fit, cpu));
	trial_done(&t);
}

static void a_member_that_is_no_candidate_has_no_trial(void **state)
{
	(void)state;
	struct trial t = trial_make(1, 8000, 8);
	struct shape *s = gang(&t.w, 1, 1000, 1);
	struct ask *a = ask_of(&t.w, s, NULL);
	fleet_shape_unref(t.w.f, s);
	cluster_view_set_cordoned(t.w.f, t.cluster, true);
	assert_false(evict_fit_begin(&t.fit, t.w.f, t.w.l, a, t.cluster));
	cluster_view_set_cordoned(t.w.f, t.cluster, false);
	assert_true(evict_fit_begin(&t.fit, t.w.f, t.w.l, a, t.cluster));
	t.ask = a;
	trial_done(&t);
}

static void a_trial_leaves_no_trace(void **state)
{
	(void)state;
	struct trial t = trial_make(2, 8000, 8);
	struct evict_job *a = bind_pod(&t, 0, 0, 1000, 8), *b = assume(&t, 1, 1, 1000, 8);
	struct shape *s = gang(&t.w, 1, 1000, 8);
	struct ask *waits = ask_of(&t.w, s, NULL);
	assert_int_equal(decide(&t.w, waits), CLUSTER_NONE);
	waiting_park(t.w.w, waits);
	assert_null(waiting_next(t.w.w));
	uint64_t version = cluster_view_version(t.w.f, t.cluster);
	trial_begin(&t, s);
	evict_fit_take(&t.fit, a);
	evict_fit_take(&t.fit, b);
	assert_true(evict_fit_fits(&t.fit));
	evict_fit_end(&t.fit);
	assert_int_equal(cluster_view_version(t.w.f, t.cluster), version);
	assert_null(waiting_next(t.w.w)); /* nobody was woken for room that is not there */
	assert_int_equal(cluster_view_node_free(t.w.f, t.cluster, 0, t.w.gpu), 0);
	assert_int_equal(cluster_view_node_free(t.w.f, t.cluster, 1, t.w.gpu), 0);
	assert_null(fleet_verify(t.w.f));
	assert_int_equal(decide(&t.w, waits), CLUSTER_NONE);
	waiting_unpark(t.w.w, waits);
	placer_ask_unref(t.w.p, waits);
	assert_true(evict_fit_begin(&t.fit, t.w.f, t.w.l, t.ask, t.cluster));
	trial_done(&t);
}

static void a_node_that_was_removed_under_its_pods_keeps_its_number(void **state)
{
	(void)state;
	struct trial t = trial_make(2, 8000, 8);
	struct evict_job *a = bind_pod(&t, 0, 0, 1000, 8);
	cluster_view_node_remove(t.w.f, t.cluster, 0);
	trial_begin(&t, gang(&t.w, 2, 1000, 8));
	evict_fit_take(&t.fit, a);
	assert_false(evict_fit_fits(&t.fit));
	evict_fit_give_back(&t.fit, a);
	evict_fit_end(&t.fit);
	assert_true(span_is(cluster_view_node_name(t.w.f, t.cluster, 0), "n0"));
	assert_true(evict_fit_begin(&t.fit, t.w.f, t.w.l, t.ask, t.cluster));
	trial_done(&t);
}

/* ---- between members ---- */

static void fewest_victims_then_least_lost_work_then_the_score(void **state)
{
	(void)state;
	const struct evict_option options[] = {
	    {.cluster = 1, .n_victims = 2, .lost_us = 1, .score = 1},
	    {.cluster = 2, .n_victims = 1, .lost_us = 9, .score = 1},
	    {.cluster = 3, .n_victims = 1, .lost_us = 5, .score = 9},
	    {.cluster = 4, .n_victims = 1, .lost_us = 5, .score = 7},
	};
	assert_int_equal(evict_option_choose(options, 1), 0);
	assert_int_equal(evict_option_choose(options, 2), 1);
	assert_int_equal(evict_option_choose(options, 3), 2);
	assert_int_equal(evict_option_choose(options, 4), 3);
	assert_int_equal(evict_option_cmp(&options[0], &options[0]), 0);
	/* of equals the first that was looked at */
	const struct evict_option equals[] = {options[3], options[3]};
	assert_int_equal(evict_option_choose(equals, 2), 0);
}

static void lost_work_is_pods_times_time(void **state)
{
	(void)state;
	assert_int_equal(evict_lost_work(8, 1000, 5000), 32000);
	assert_int_equal(evict_lost_work(8, 5000, 1000), 0);
	assert_true(evict_lost_work(INT64_MAX, 0, 3) == INT64_MAX);
}

static void the_score_is_that_of_the_member_without_the_victims(void **state)
{
	(void)state;
	struct trial t = trial_make(2, 8000, 8);
	struct evict_job *a = bind_pod(&t, 0, 0, 1000, 8);
	bind_pod(&t, 1, 1, 1000, 8);
	trial_begin(&t, gang(&t.w, 1, 1000, 8));
	evict_fit_take(&t.fit, a);
	assert_true(evict_fit_fits(&t.fit));
	uint64_t tried = evict_fit_score(&t.fit);
	evict_fit_end(&t.fit);
	/* Really gone. */
	charge_pod(&t.w, t.cluster, 0, 1000, 8, false);
	t.jobs[0].job.n_pods = 0;
	assert_true(evict_fit_begin(&t.fit, t.w.f, t.w.l, t.ask, t.cluster));
	assert_true(evict_fit_score(&t.fit) == tried);
	trial_done(&t);
}

/* ---- against a world without the victims ---- */

struct plan {
	int nodes;
	int64_t cpu[4], gpu[4];
	struct {
		bool assumed;
		int n;
		uint32_t node[MAX_PODS];
		int64_t cpu, gpu;
	} jobs[MAX_JOBS];
	int64_t count, ask_cpu, ask_gpu;
};

static struct plan make_plan(uint64_t *rnd)
{
	struct plan p = {.nodes = 1 + (int)below(rnd, 4)};
	for (int i = 0; i < p.nodes; i++) {
		p.cpu[i] = below(rnd, 9) * 1000;
		p.gpu[i] = below(rnd, 9);
	}
	for (int i = 0; i < MAX_JOBS; i++) {
		p.jobs[i].assumed = below(rnd, 3) == 0;
		p.jobs[i].n = p.jobs[i].assumed ? 1 : (int)below(rnd, MAX_PODS);
		p.jobs[i].cpu = below(rnd, 4) * 1000;
		p.jobs[i].gpu = below(rnd, 5);
		for (int k = 0; k < p.jobs[i].n; k++)
			p.jobs[i].node[k] = (uint32_t)below(rnd, p.nodes);
	}
	p.count = 1 + below(rnd, 4);
	p.ask_cpu = below(rnd, 4) * 1000;
	p.ask_gpu = below(rnd, 5);
	return p;
}

/* In place: jobs point into it. */
static void build(struct trial *t, const struct plan *p, uint32_t without)
{
	*t = trial_make(0, 0, 0);
	for (int i = 0; i < p->nodes; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", i);
		add_node(&t->w, t->cluster, name, p->cpu[i], p->gpu[i], NULL);
	}
	for (size_t i = 0; i < MAX_JOBS; i++)
		for (int k = 0; k < p->jobs[i].n && !(without >> i & 1); k++) {
			if (p->jobs[i].assumed)
				assume(t, i, p->jobs[i].node[k], p->jobs[i].cpu, p->jobs[i].gpu);
			else
				bind_pod(t, i, p->jobs[i].node[k], p->jobs[i].cpu, p->jobs[i].gpu);
		}
}

/* Whether the gang fits where the jobs of `without` never were. */
static bool really_fits(const struct plan *p, uint32_t without, uint64_t *ret_score)
{
	struct trial t;
	build(&t, p, without);
	trial_begin(&t, gang(&t.w, p->count, p->ask_cpu, p->ask_gpu));
	bool fits = evict_fit_fits(&t.fit);
	*ret_score = fits ? evict_fit_score(&t.fit) : 0;
	trial_done(&t);
	return fits;
}

static void compare(struct trial *t, const struct plan *p, uint32_t taken)
{
	uint64_t score;
	bool fits = really_fits(p, taken, &score);
	assert_int_equal(evict_fit_fits(&t->fit), fits);
	if (fits)
		assert_true(evict_fit_score(&t->fit) == score);
}

static void a_trial_sees_what_a_world_without_them_would(void **state)
{
	(void)state;
	uint64_t rnd = 11;
	for (int round = 0; round < 150; round++) {
		struct plan p = make_plan(&rnd);
		struct trial t;
		uint32_t taken = 0;
		build(&t, &p, 0);
		trial_begin(&t, gang(&t.w, p.count, p.ask_cpu, p.ask_gpu));
		for (int step = 0; step < 12; step++) {
			uint32_t i = (uint32_t)below(&rnd, MAX_JOBS);
			bool useful = !(taken >> i & 1) && evict_fit_useful(&t.fit, &t.jobs[i].job);
			uint64_t score;
			/* What is of no use alone does not help. */
			if (!(taken >> i & 1) && !useful)
				assert_int_equal(evict_fit_fits(&t.fit),
						 really_fits(&p, taken | 1u << i, &score));
			if (taken >> i & 1)
				evict_fit_give_back(&t.fit, &t.jobs[i].job);
			else
				evict_fit_take(&t.fit, &t.jobs[i].job);
			taken ^= 1u << i;
			compare(&t, &p, taken);
		}
		trial_done(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_gang_fits_once_enough_are_gone),
	    cmocka_unit_test(assumed_pods_count_like_bound_ones),
	    cmocka_unit_test(only_room_that_the_gang_could_use_is_useful),
	    cmocka_unit_test(a_full_list_of_pods_makes_every_pod_useful),
	    cmocka_unit_test(a_member_that_is_no_candidate_has_no_trial),
	    cmocka_unit_test(a_trial_leaves_no_trace),
	    cmocka_unit_test(a_node_that_was_removed_under_its_pods_keeps_its_number),
	    cmocka_unit_test(fewest_victims_then_least_lost_work_then_the_score),
	    cmocka_unit_test(lost_work_is_pods_times_time),
	    cmocka_unit_test(the_score_is_that_of_the_member_without_the_victims),
	    cmocka_unit_test(a_trial_sees_what_a_world_without_them_would),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
