/*
 * Why a workload waits, flavor by flavor (quota-tree/kueue_explain.h). cpu is in milli-units: 1000
 * reads as "1".
 */
#include "kueue_testing.h"
#include "quota-tree/kueue_explain.h"

/* "one" has 2 cpu, "two" 10 (8 of them held), "three" 4 on tainted nodes. */
static uint32_t queue_of_three(struct kt_world *w, const struct kueue_queue_spec *more)
{
	static const struct kueue_quota quotas[] = {
	    {2000, NO, NO}, {10000, NO, NO}, {4000, NO, NO}};
	static const struct taint taint = {SPAN("gpu"), SPAN("yes"), TAINT_NO_SCHEDULE};
	const struct kueue_flavor_spec tainted = {
	    .name = SPAN("three"), .taints = &taint, .n_taints = 1};
	struct err err = ERR_INIT;

	assert_ok(kueue_forest_set_flavor(w->f, &tainted, &err), &err);
	return kt_queue_in(w, "q", NULL, "one two three", quotas, more);
}

static const char *reason_of(struct kt_world *w, const struct kueue_explanation *e, size_t flavor)
{
	static char text[512];

	text[0] = '\0';
	if (e->flavors.items[flavor].n_reasons)
		kueue_message_reason(w->f, &e->reasons.items[e->flavors.items[flavor].first_reason],
				     text, sizeof(text));
	return text;
}

/* 3 cpu: more than "one" has at all; of "two" 10 - 8 = 2 are free, 1 is missing; "three" is
 * tainted. */
static void every_flavor_has_its_own_verdict(void **state)
{
	struct kt_world w = kt_world();
	struct kueue_explanation e = {0};
	uint32_t q = queue_of_three(&w, NULL);

	kt_hold(&w, q, "holder", 0, 1, "two", 8000);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 2, 3000);
	kueue_explain(w.f, wl, &e);
	assert_int_equal(e.flavors.len, 3);
	assert_int_equal(e.flavors.items[0].mode, KUEUE_NO_FIT);
	assert_string_equal(reason_of(&w, &e, 0),
			    "insufficient quota for cpu in flavor one, previously considered "
			    "podsets requests (0) + current podset request (3) > maximum "
			    "capacity (2)");
	assert_int_equal(e.flavors.items[1].mode, KUEUE_NO_CANDIDATES);
	assert_string_equal(reason_of(&w, &e, 1),
			    "insufficient unused quota for cpu in flavor two, 1 more needed");
	assert_int_equal(e.flavors.items[2].mode, KUEUE_NO_FIT);
	assert_string_equal(reason_of(&w, &e, 2),
			    "untolerated taint {gpu yes NoSchedule <nil>} in flavor three");
	assert_int_equal(e.assignment.mode, KUEUE_NO_CANDIDATES);
	assert_int_equal(e.victims.items.len, 0);
	kueue_explanation_done(&e);
	kt_done(&w);
}

static void flavors_behind_the_one_that_fits_are_told_too(void **state)
{
	struct kt_world w = kt_world();
	struct kueue_explanation e = {0};
	uint32_t q = queue_of_three(&w, NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 2, 2000);

	kueue_explain(w.f, wl, &e);
	assert_int_equal(e.assignment.mode, KUEUE_FIT);
	assert_int_equal(e.flavors.len, 3);
	assert_int_equal(e.flavors.items[0].mode, KUEUE_FIT);
	assert_int_equal(e.flavors.items[0].n_reasons, 0);
	assert_int_equal(e.flavors.items[1].mode, KUEUE_FIT);
	assert_int_equal(e.flavors.items[2].mode, KUEUE_NO_FIT);
	kueue_explanation_done(&e);
	kt_done(&w);
}

/* What the last attempt tried decides where the next begins, and nothing of what is told. */
static void what_was_tried_before_does_not_hide_a_flavor(void **state)
{
	struct kt_world w = kt_world();
	struct kueue_explanation e = {0};
	uint32_t q = queue_of_three(&w, NULL);
	struct kueue_workload *wl = kt_workload(&w, q, "w", 0, 2, 1000);

	wl->tried = xcalloc(1, sizeof(*wl->tried));
	wl->n_tried = 1;
	kueue_explain(w.f, wl, &e);
	assert_int_equal(e.flavors.len, 3);
	assert_int_equal(e.assignment.choices.items[0].flavor, e.flavors.items[0].flavor);
	assert_int_equal(wl->n_tried, 1);
	kueue_explanation_done(&e);
	kt_done(&w);
}

/* Two pod sets of 3 cpu; "two" holds both only once 10 - 8 + 8 are free: the second would need the
 * holder of priority 0 gone. The first takes nothing from "one" (2). */
static void victims_and_the_sets_behind_are_told(void **state)
{
	static const struct kueue_request request = {SPAN("cpu"), 3000};
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("a"), .count = 1, .requests = &request, .n_requests = 1},
	    {.name = SPAN("b"), .count = 1, .requests = &request, .n_requests = 1}};
	const struct kueue_queue_spec more = {
	    .weight = 1, .preemption = {.within_cluster_queue = KUEUE_PREEMPT_LOWER_PRIORITY}};
	struct kt_world w = kt_world();
	struct kueue_explanation e = {0};
	uint32_t q = queue_of_three(&w, &more);

	kt_hold(&w, q, "holder", 0, 1, "two", 8000);
	struct kueue_workload *wl = kt_workload_of(&w, q, "w", 10, 2, sets, 2);
	kueue_explain(w.f, wl, &e);
	assert_int_equal(e.flavors.len, 6);
	assert_int_equal(e.flavors.items[1].mode, KUEUE_PREEMPT);
	assert_int_equal(e.flavors.items[4].pod_set, 1);
	assert_int_equal(e.flavors.items[4].mode, KUEUE_PREEMPT);
	assert_int_equal(e.victims.items.len, 1);
	assert_true(span_is(e.victims.items.items[0].workload->name, "holder"));
	kueue_explanation_done(&e);
	kt_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_flavor_has_its_own_verdict),
	    cmocka_unit_test(flavors_behind_the_one_that_fits_are_told_too),
	    cmocka_unit_test(what_was_tried_before_does_not_hide_a_flavor),
	    cmocka_unit_test(victims_and_the_sets_behind_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
