#include "base/clock.h"
#include "fixture.h"
#include "policies/failover.h"

#define SECOND USEC_PER_SEC

/* Failed at 100 s, tolerated for 30, two other clusters. */
static struct failover_case one(void)
{
	return (struct failover_case){
	    .rule = {.enabled = true, .toleration_us = 30 * SECOND},
	    .failed_at = 100 * SECOND,
	    .others = 2,
	};
}

static void a_failure_is_tolerated_until_its_time(void **state)
{
	(void)state;
	struct failover_case f = one();
	struct failover_plan p = failover_decide(&f, 100 * SECOND);

	assert_int_equal(p.outcome, FAILOVER_WAITS);
	assert_int_equal(p.until, 130 * SECOND);
	assert_int_equal(failover_decide(&f, 130 * SECOND - 1).outcome, FAILOVER_WAITS);
	assert_int_equal(failover_decide(&f, 130 * SECOND).outcome, FAILOVER_MOVES);
	f.rule.toleration_us = 0;
	assert_int_equal(failover_decide(&f, 100 * SECOND).outcome, FAILOVER_MOVES);
}

static void one_that_is_being_stopped_is_not_waited_for(void **state)
{
	(void)state;
	struct failover_case f = one();

	f.stopping = true;
	assert_int_equal(failover_decide(&f, 100 * SECOND).outcome, FAILOVER_MOVES);
}

static void a_failure_stands_without_a_rule_or_another_cluster(void **state)
{
	(void)state;
	struct failover_case f = one();

	f.rule.enabled = false;
	assert_int_equal(failover_decide(&f, 100 * SECOND).outcome, FAILOVER_STANDS);
	assert_string_equal(failover_decide(&f, 100 * SECOND).why, "");
	f = one();
	f.others = 0;
	assert_int_equal(failover_decide(&f, 200 * SECOND).outcome, FAILOVER_STANDS);
	assert_non_null(strstr(failover_decide(&f, 0).why, "no other cluster"));
	f.left = 1;
	assert_non_null(strstr(failover_decide(&f, 0).why, "has failed it, too"));
	f = one();
	f.bound = true;
	assert_int_equal(failover_decide(&f, 200 * SECOND).outcome, FAILOVER_STANDS);
}

static void a_job_leaves_so_many_clusters_and_no_more(void **state)
{
	(void)state;
	struct failover_case f = one();

	f.left = FAILOVER_MOST - 2;
	assert_int_equal(failover_decide(&f, 200 * SECOND).outcome, FAILOVER_MOVES);
	f.left = FAILOVER_MOST - 1;
	assert_int_equal(failover_decide(&f, 200 * SECOND).outcome, FAILOVER_STANDS);
}

static void times_at_the_edge_do_not_overflow(void **state)
{
	(void)state;
	struct failover_case f = one();

	f.rule.toleration_us = INT64_MAX;
	assert_int_equal(failover_decide(&f, INT64_MAX - 1).outcome, FAILOVER_WAITS);
}

static void purge_modes_have_older_spellings(void **state)
{
	(void)state;
	static const struct {
		const char *text, *is;
	} rows[] = {
	    {"Directly", "Directly"},	  {"Immediately", "Directly"}, {"Gracefully", "Gracefully"},
	    {"Graciously", "Gracefully"}, {"Never", "Never"},	       {"", "Gracefully"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(
		    failover_purge_to_string(failover_purge_from_string(span_of(rows[i].text))),
		    rows[i].is);
}

/* The one that failed it is none, Ready or not; one that is full, or not Ready, may take it yet. */
static void who_could_take_it_is_counted(void **state)
{
	(void)state;
	static const struct placement_refusal refusals[] = {{SPAN("failed"), SPAN("it did"), true},
							    {SPAN("lost"), SPAN("it did"), true}};
	static const struct placement_spec spec = {.refusals = refusals, .n_refusals = 2};
	static const struct {
		const char *name;
		bool ready;
		int64_t cpus;
	} clusters[] = {{"failed", true, 4000}, {"here", true, 4000},  {"lost", false, 4000},
			{"small", true, 1000},	{"spare", true, 4000}, {"unready", false, 4000}};
	struct world w = world_create();
	struct request buf[2];
	struct pod_set set = pods(&w, "worker", 1, 2000, 0, buf);
	struct shape *s = shape_of(&w, &set, 1, NULL);
	struct verdict v[8];
	struct ask *a;
	uint32_t c[ARRAY_LEN(clusters)];

	for (size_t i = 0; i < ARRAY_LEN(clusters); i++) {
		struct cluster_spec k = {
		    .name = span_of(clusters[i].name), .ready = clusters[i].ready, .fresh = true};
		assert_int_equal(cluster_view_upsert(w.f, &k, &c[i], &w.err), 0);
		add_node(&w, c[i], "n", clusters[i].cpus, 0, NULL);
	}
	assert_int_equal(
	    placer_ask_ref(w.p, s, &spec, &(struct api_kind){SPAN_NONE, SPAN_NONE}, &a, &w.err), 0);
	size_t n = placement_explain(w.p, a, NULL, 0, 0, v, 8);
	assert_int_equal(n, 6);
	assert_int_equal(v[0].code, VERDICT_FAILED_THERE);
	assert_int_equal(v[2].code, VERDICT_FAILED_THERE);
	assert_int_equal(v[3].code, VERDICT_TOO_SMALL);
	assert_int_equal(failover_others(v, n, c[1]), 2); /* spare, unready */
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_failure_is_tolerated_until_its_time),
	    cmocka_unit_test(one_that_is_being_stopped_is_not_waited_for),
	    cmocka_unit_test(a_failure_stands_without_a_rule_or_another_cluster),
	    cmocka_unit_test(a_job_leaves_so_many_clusters_and_no_more),
	    cmocka_unit_test(times_at_the_edge_do_not_overflow),
	    cmocka_unit_test(purge_modes_have_older_spellings),
	    cmocka_unit_test(who_could_take_it_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
