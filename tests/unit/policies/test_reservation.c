/* When a gang could start if nothing new did, and which cluster it then waits for. */
#include "fixture.h"
#include "policies/reservation.h"

#define S   ((int64_t)1000000)
#define NOW (1000 * S)

enum { MAX_JOBS = 16 };

struct running {
	struct pod_usage usage;
	struct amount amounts[2];
	struct evict_pods pods;
};

struct member {
	struct reservation_cluster c;
	struct reservation_job jobs[MAX_JOBS];
	struct running running[MAX_JOBS];
};

/* One pod with `gpus` devices on a node, until `ends`. */
static void run(struct world *w, struct member *m, uint32_t node, int64_t gpus, int64_t ends)
{
	size_t i = m->c.n_jobs++;
	struct running *r = &m->running[i];
	r->amounts[0] = (struct amount){RESOURCE_CPU, 100};
	r->amounts[1] = (struct amount){w->gpu, gpus};
	r->usage = (struct pod_usage){r->amounts, 2, false};
	r->pods = (struct evict_pods){node, 1, &r->usage};
	m->jobs[i] = (struct reservation_job){{i + 1, &r->pods, 1}, ends};
	m->c.jobs = m->jobs;
	cluster_view_pod_charge(w->f, m->c.cluster, node, &r->usage);
}

static void member_add(struct world *w, struct member *m, const char *name, int nodes)
{
	*m = (struct member){.c = {.cluster = add_cluster(w, name)}};
	add_nodes(w, m->c.cluster, nodes, 8000, 8);
}

static struct ask *ask_for(struct world *w, int64_t pods_wanted, int64_t gpus)
{
	struct shape *s = gang(w, pods_wanted, 100, gpus);
	struct ask *a = ask_of(w, s, NULL);
	fleet_shape_unref(w->f, s);
	return a;
}

static int64_t shadow(struct world *w, struct ask *a, struct member *m)
{
	struct evict_fit trial = {0};
	reservation_sort(m->jobs, m->c.n_jobs);
	int64_t t = reservation_shadow(&trial, w->f, w->l, a, &m->c, NOW);
	evict_fit_done(&trial);
	return t;
}

static void done(struct world *w, struct ask *a)
{
	placer_ask_unref(w->p, a);
	world_done(w);
}

static void what_fits_now_has_no_wait(void **state)
{
	struct world w = world_create();
	struct member m;
	member_add(&w, &m, "c1", 2);
	run(&w, &m, 0, 8, NOW + 50 * S);
	struct ask *a = ask_for(&w, 1, 8);
	assert_int_equal(shadow(&w, a, &m), NOW);
	done(&w, a);
}

static void the_shadow_is_the_end_of_the_last_job_that_must_go(void **state)
{
	struct world w = world_create();
	struct member m;
	member_add(&w, &m, "c1", 3);
	run(&w, &m, 0, 8, NOW + 90 * S);
	run(&w, &m, 1, 4, NOW + 20 * S); /* two halves of one node: both must go */
	run(&w, &m, 1, 4, NOW + 40 * S);
	run(&w, &m, 2, 8, RESERVATION_NEVER);
	struct ask *one = ask_for(&w, 1, 8);
	assert_int_equal(shadow(&w, one, &m), NOW + 40 * S);
	placer_ask_unref(w.p, one);
	struct ask *two = ask_for(&w, 2, 8);
	assert_int_equal(shadow(&w, two, &m), NOW + 90 * S);
	placer_ask_unref(w.p, two);
	struct ask *three = ask_for(&w, 3, 8); /* needs the node of the job that never ends */
	assert_int_equal(shadow(&w, three, &m), RESERVATION_NEVER);
	done(&w, three);
}

static void jobs_that_are_no_help_do_not_delay_it(void **state)
{
	struct world w = world_create();
	struct member m;
	member_add(&w, &m, "c1", 1);
	run(&w, &m, 0, 8, NOW + 10 * S);
	run(&w, &m, 0, 0, NOW + 10 * S); /* no devices; ends with the other */
	run(&w, &m, 0, 0, NOW + 99 * S);
	struct ask *a = ask_for(&w, 1, 8);
	assert_int_equal(shadow(&w, a, &m), NOW + 10 * S);
	done(&w, a);
}

static void a_limit_that_has_passed_counts_as_now(void **state)
{
	struct world w = world_create();
	struct member m;
	member_add(&w, &m, "c1", 1);
	run(&w, &m, 0, 8, NOW - 10 * S);
	struct ask *a = ask_for(&w, 1, 8);
	assert_int_equal(shadow(&w, a, &m), NOW);
	done(&w, a);
}

static struct reservation choose(struct world *w, struct ask *a, struct member *m, size_t n,
				 struct reservation held)
{
	struct evict_fit trial = {0};
	struct reservation_cluster clusters[4];
	for (size_t i = 0; i < n; i++)
		clusters[i] = m[i].c;
	struct reservation r = reservation_choose(&trial, w->f, w->l, a, clusters, n, &held, NOW);
	evict_fit_done(&trial);
	return r;
}

static const struct reservation nothing = {CLUSTER_NONE, RESERVATION_NEVER};

static void the_cluster_with_the_earliest_shadow_is_reserved(void **state)
{
	struct world w = world_create();
	struct member m[3];
	member_add(&w, &m[0], "c1", 1);
	member_add(&w, &m[1], "c2", 1);
	member_add(&w, &m[2], "c3", 1);
	run(&w, &m[0], 0, 8, NOW + 80 * S);
	run(&w, &m[1], 0, 8, NOW + 30 * S);
	run(&w, &m[2], 0, 8, RESERVATION_NEVER);
	struct ask *a = ask_for(&w, 1, 8);
	struct reservation r = choose(&w, a, m, 3, nothing);
	assert_int_equal(r.cluster, m[1].c.cluster);
	assert_int_equal(r.shadow_us, NOW + 30 * S);
	r = choose(&w, a, &m[2], 1, nothing);
	assert_int_equal(r.cluster, CLUSTER_NONE); /* no bound exists */
	done(&w, a);
}

static void a_reservation_moves_only_for_a_much_earlier_time(void **state)
{
	struct world w = world_create();
	struct member m[2];
	member_add(&w, &m[0], "c1", 1);
	member_add(&w, &m[1], "c2", 1);
	run(&w, &m[0], 0, 8, NOW + 100 * S);
	run(&w, &m[1], 0, 8, NOW + 80 * S);
	struct ask *a = ask_for(&w, 1, 8);
	struct reservation held = {m[0].c.cluster, NOW + 100 * S};
	/* 80 of 100 is more than three quarters: it stays */
	assert_int_equal(choose(&w, a, m, 2, held).cluster, m[0].c.cluster);
	m[1].jobs[0].ends_us = NOW + 70 * S;
	assert_int_equal(choose(&w, a, m, 2, held).cluster, m[1].c.cluster);
	/* and it leaves a cluster that cannot be promised any more */
	m[1].jobs[0].ends_us = NOW + 99 * S;
	m[0].jobs[0].ends_us = RESERVATION_NEVER;
	assert_int_equal(choose(&w, a, m, 2, held).cluster, m[1].c.cluster);
	done(&w, a);
}

static void only_what_ends_before_the_shadow_may_start(void **state)
{
	struct reservation r = {0, NOW + 60 * S};
	assert_true(reservation_allows(&r, NOW, 60 * S));
	assert_false(reservation_allows(&r, NOW, 60 * S + 1));
	assert_false(reservation_allows(&r, NOW, RESERVATION_NEVER));
	assert_false(reservation_allows(&r, NOW, RESERVATION_NEVER - 1));
}

/* ---- against the definition ---- */

static uint32_t draw(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

/* The earliest end at which the gang fits once all that have ended by then are gone. */
static int64_t by_definition(struct world *w, struct ask *a, const struct member *m)
{
	struct evict_fit trial = {0};
	int64_t best = RESERVATION_NEVER;
	for (size_t i = 0; i <= m->c.n_jobs; i++) {
		int64_t at = i < m->c.n_jobs ? m->jobs[i].ends_us : NOW;
		if (at >= best)
			continue;
		assert_true(evict_fit_begin(&trial, w->f, w->l, a, m->c.cluster));
		for (size_t j = 0; j < m->c.n_jobs; j++)
			if (m->jobs[j].ends_us <= at)
				evict_fit_take(&trial, &m->jobs[j].pods);
		if (evict_fit_fits(&trial))
			best = at;
		evict_fit_end(&trial);
	}
	evict_fit_done(&trial);
	return best;
}

static void shadows_equal_their_definition(void **state)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t s = seed;
		struct world w = world_create();
		struct member m;
		member_add(&w, &m, "c1", 4);
		for (size_t i = 0; i < 12; i++) {
			int64_t ends =
			    draw(&s, 6) == 0 ? RESERVATION_NEVER : NOW + draw(&s, 8) * 10 * S;
			run(&w, &m, draw(&s, 4), 1 + draw(&s, 3), ends);
		}
		struct ask *a = ask_for(&w, 1 + draw(&s, 4), 1 + draw(&s, 8));
		assert_int_equal(shadow(&w, a, &m), by_definition(&w, a, &m));
		done(&w, a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_fits_now_has_no_wait),
	    cmocka_unit_test(the_shadow_is_the_end_of_the_last_job_that_must_go),
	    cmocka_unit_test(jobs_that_are_no_help_do_not_delay_it),
	    cmocka_unit_test(a_limit_that_has_passed_counts_as_now),
	    cmocka_unit_test(the_cluster_with_the_earliest_shadow_is_reserved),
	    cmocka_unit_test(a_reservation_moves_only_for_a_much_earlier_time),
	    cmocka_unit_test(only_what_ends_before_the_shadow_may_start),
	    cmocka_unit_test(shadows_equal_their_definition),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
