/*
 * No gang starves (I9): an adversary sends small jobs without end, all of which would pass a large
 * gang, and the gang starts within starvation.after and the longest limit of what runs, counted
 * from when nobody waits who came before it: those starve before it, and have a cluster kept free
 * first, one after the other. Outside any queue and in a Kueue queue; and where jobs without a
 * limit stand in the way everywhere, nothing is kept free and the verdict says that no bound
 * exists.
 *
 * SIM_SEEDS=first:count runs others than the suite's.
 */
#include "world.h"

#include "core/kueue/kueue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define AFTER	60 /* starvation.after, seconds */
#define STEP	5
#define LONGEST 120
/* Looks are made at steps, and what ends is seen a step later. */
#define SLACK (2 * STEP)

struct sim {
	struct world w;
	uint64_t random;
	bool queued;
	int n_nodes, n_small, n_seen;
};

static unsigned below(struct sim *s, unsigned n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return (unsigned)((s->random >> 11) % n);
}

/* A job in the queue or outside any; `limit` seconds, 0: none. A queued one has it as its own
 * deadline or as its maximum execution time. */
static void submit(struct sim *s, const char *name, int pods, int cpus, int limit)
{
	bool own = !s->queued || below(s, 2);
	auto_buf b = BUF_INIT, labels = BUF_INIT;

	if (s->queued)
		buf_add_str(&labels, ",'labels':{'kueue.x-k8s.io/queue-name':'lq'");
	if (limit && !own)
		buf_addf(&labels, ",'kueue.x-k8s.io/max-exec-time-seconds':'%d'", limit);
	if (s->queued)
		buf_add_char(&labels, '}');
	auto_free char *text =
	    world_job_text("default", name, pods, cpus, labels.len ? labels.ptr : "");
	char *spec = strstr(text, "'spec':{");
	buf_add(&b, text, (size_t)(spec - text));
	buf_add_str(&b, "'spec':{");
	if (limit && own)
		buf_addf(&b, "'activeDeadlineSeconds':%d,", limit);
	buf_add_str(&b, spec + strlen("'spec':{"));
	assert_int_equal(world_create(&s->w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(&s->w);
}

static void open_sim(struct sim *s, uint64_t seed, bool queued)
{
	*s = (struct sim){.random = seed * 0x9e3779b97f4a7c15ULL + 1, .queued = queued};
	s->w.seed = seed * 100003;
	s->w.starve_after = AFTER * USEC_PER_SEC;
	world_open(&s->w);
	s->w.after_turn = world_check;
	if (queued) {
		world_flavor(&s->w, "f", "");
		world_cluster_queue(&s->w, "cq", "f", 1000,
				    below(s, 2) ? ",'queueingStrategy':'BestEffortFIFO'" : "");
		world_local_queue(&s->w, "lq", "cq");
	}
	s->n_nodes = 2 + (int)below(s, 3);
	for (unsigned i = 0, n = 1 + below(s, 3); i < n; i++) {
		char name[8];
		(void)snprintf(name, sizeof(name), "c%u", i);
		world_join(&s->w, name, s->n_nodes, 4);
	}
}

static void run_for(struct sim *s, int seconds)
{
	for (size_t i = 0; i < s->w.n_members; i++)
		s->w.members[i]->run_time = seconds * USEC_PER_SEC;
}

static bool is_placed(struct sim *s, const char *name)
{
	const struct job *j = world_record(&s->w, TYPE_JOB, "default", name);
	return !j || j->holds || j->finished;
}

/* Small jobs as long as few of them wait, so that there is always one that would pass. */
static void flood(struct sim *s)
{
	int waiting = 0;

	for (int i = s->n_seen; i < s->n_small; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "small-%d", i);
		waiting += !is_placed(s, name);
		s->n_seen += waiting == 0;
	}
	for (; waiting < 4; waiting++) {
		int limit = 20 + (int)below(s, LONGEST - 20);
		char name[32];
		(void)snprintf(name, sizeof(name), "small-%d", s->n_small++);
		/* Some end early; others only when they are made to. */
		run_for(s, below(s, 3) ? 1000 : 15);
		submit(s, name, 1, 2 + (int)below(s, 3), limit);
	}
}

static void step(struct sim *s)
{
	world_advance(&s->w, STEP * USEC_PER_SEC);
	world_settle(&s->w);
}

static void gang(struct sim *s)
{
	run_for(s, 1000);
	submit(s, "gang", s->n_nodes, 4, 0);
}

/* Whether one of the first n small jobs waits still. */
static bool is_one_waiting(struct sim *s, int n)
{
	char name[32];

	for (int i = s->n_seen; i < n; i++) {
		(void)snprintf(name, sizeof(name), "small-%d", i);
		if (!is_placed(s, name))
			return true;
	}
	return false;
}

/* Seconds that the gang waits since it starves and is the first; 4 times the bound at the most. */
static int wait_of_the_gang(uint64_t seed, bool queued, int after)
{
	struct sim s;
	int waited = 0, ahead = 0;

	open_sim(&s, seed, queued);
	s.w.core->settings.starve_after = after * USEC_PER_SEC;
	for (int i = 0, n = 4 + (int)below(&s, 8); i < n; i++) {
		flood(&s);
		step(&s);
	}
	int n_before = s.n_small;
	gang(&s);
	while (!is_placed(&s, "gang") && waited < 4 * (AFTER + LONGEST)) {
		flood(&s);
		step(&s);
		waited += STEP;
		if (is_one_waiting(&s, n_before))
			ahead = waited;
	}
	world_close(&s.w);
	return waited - (ahead > AFTER ? ahead : AFTER);
}

static void within_the_bound(uint64_t seed, bool queued)
{
	int waited = wait_of_the_gang(seed, queued, AFTER);

	if (waited > LONGEST + SLACK)
		fail_msg("seed %" PRIu64 "%s: the gang waited %d s when it was the first", seed,
			 queued ? ", queued" : "", waited);
}

/* The adversary is one. */
static void too_long_by_itself(uint64_t seed, bool queued)
{
	assert_true(wait_of_the_gang(seed, queued, 0) > LONGEST + SLACK);
}

/* On every member a job without a limit has a part of a node. */
static void without_a_bound(uint64_t seed, bool queued)
{
	struct sim s;

	open_sim(&s, seed, queued);
	run_for(&s, 100000);
	for (size_t i = 0; i < s.w.n_members; i++) {
		char name[32];
		/* What holds them apart goes again. */
		(void)snprintf(name, sizeof(name), "endless-%zu", i);
		submit(&s, name, s.n_nodes, 3, 0);
	}
	gang(&s);
	for (int t = 0; t < AFTER + 2 * STEP; t += STEP) {
		flood(&s);
		step(&s);
	}
	assert_false(is_placed(&s, "gang"));
	assert_int_equal(world_events(&s.w, "gang", "CapacityReserved", ""), 0);
	assert_non_null(strstr(world_query(&s.w, "namespaces/default/jobs/gang/why"),
			       "No bound on its wait exists"));
	/* Nothing is kept free in vain. */
	run_for(&s, 10);
	submit(&s, "last", 1, 1, 0);
	assert_true(is_placed(&s, "last"));
	world_close(&s.w);
}

static void for_seeds(void (*run)(uint64_t seed, bool queued), uint64_t count, bool queued)
{
	const char *given = getenv("SIM_SEEDS");
	uint64_t first = 1;

	if (given && sscanf(given, "%" SCNu64 ":%" SCNu64, &first, &count) < 1)
		fail_msg("SIM_SEEDS=first:count");
	for (uint64_t seed = first; seed < first + count; seed++)
		run(seed, queued);
}

static void a_gang_outside_any_queue_starts_within_the_bound(void **state)
{
	for_seeds(within_the_bound, 12, false);
}

static void a_gang_in_a_queue_starts_within_the_bound(void **state)
{
	for_seeds(within_the_bound, 12, true);
}

static void no_bound_is_promised_outside_any_queue_where_none_exists(void **state)
{
	for_seeds(without_a_bound, 4, false);
}

static void no_bound_is_promised_in_a_queue_where_none_exists(void **state)
{
	for_seeds(without_a_bound, 4, true);
}

static void without_reservations_the_gang_waits_for_longer(void **state)
{
	too_long_by_itself(1, false);
	too_long_by_itself(1, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_reservations_the_gang_waits_for_longer),
	    cmocka_unit_test(a_gang_outside_any_queue_starts_within_the_bound),
	    cmocka_unit_test(a_gang_in_a_queue_starts_within_the_bound),
	    cmocka_unit_test(no_bound_is_promised_outside_any_queue_where_none_exists),
	    cmocka_unit_test(no_bound_is_promised_in_a_queue_where_none_exists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
