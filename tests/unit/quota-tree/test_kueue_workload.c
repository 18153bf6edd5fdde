/*
 * Shapes of workloads, what their pod sets ask, and the order of one queue (reference/kueue.md
 * sections 2.1 and 2.8). Needs no forest but for its names.
 */
#include "testing.h"

#include "quota-tree/kueue_workload.h"

struct fixture {
	struct kueue_forest *forest;
	struct kueue_shapes shapes;
};

static int setup(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));
	const struct kueue_options options = kueue_options_default();
	x->forest = kueue_forest_create(&options);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	kueue_shapes_done(&x->shapes);
	kueue_forest_destroy(x->forest);
	free(x);
	return 0;
}

#define REQUESTS(...)                                                                              \
	.requests = (const struct kueue_request[]){__VA_ARGS__},                                   \
	.n_requests = ARRAY_LEN(((const struct kueue_request[]){__VA_ARGS__}))
#define ASK(name, amount)                                                                          \
	{                                                                                          \
		.resource = {name, sizeof(name) - 1}, .value = (amount)                            \
	}

static struct kueue_workload *make(struct fixture *x, const char *name, int32_t priority,
				   int64_t order, const struct kueue_pod_set *sets, size_t n)
{
	const struct kueue_workload_spec spec = {.name = span_of(name),
						 .uid = span_of(name),
						 .priority = priority,
						 .created = order,
						 .queue_order = order,
						 .pod_sets = sets,
						 .n_pod_sets = n};
	struct kueue_workload *w = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(kueue_workload_create(&x->shapes, x->forest, KUEUE_NONE, &spec, &w, &err),
			 0);
	return w;
}

static void equal_pod_sets_share_a_shape(void **state)
{
	struct fixture *x = *state;
	const struct kueue_pod_set a[] = {
	    {.name = SPAN("main"), .count = 2, REQUESTS(ASK("cpu", 1000), ASK("memory", 5))}};
	const struct kueue_pod_set b[] = {
	    {.name = SPAN("main"), .count = 2, REQUESTS(ASK("memory", 5), ASK("cpu", 1000))}};
	const struct kueue_pod_set c[] = {
	    {.name = SPAN("main"), .count = 3, REQUESTS(ASK("cpu", 1000), ASK("memory", 5))}};
	struct kueue_workload *w[] = {make(x, "a", 0, 1, a, 1), make(x, "b", 7, 2, b, 1),
				      make(x, "c", 0, 3, c, 1)};
	/* The order in which a pod names its resources says nothing; the count does. */
	assert_ptr_equal(w[0]->shape, w[1]->shape);
	assert_ptr_not_equal(w[0]->shape, w[2]->shape);
	assert_int_equal(w[0]->shape->refs, 2);
	uint32_t number = w[2]->shape->number;
	kueue_workload_free(&x->shapes, w[2]);
	w[2] = make(x, "d", 0, 4, c, 1);
	assert_int_equal(w[2]->shape->number, number); /* given again */
	for (size_t i = 0; i < ARRAY_LEN(w); i++)
		kueue_workload_free(&x->shapes, w[i]);
}

static void demand_is_per_pod_times_the_pods_that_count(void **state)
{
	struct fixture *x = *state;
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("main"), .count = 5, REQUESTS(ASK("cpu", 1500))}};
	struct kueue_workload *w = make(x, "a", 0, 1, sets, 1);
	struct kueue_use out[KUEUE_MAX_REQUESTS + 1];
	assert_int_equal(
	    kueue_workload_requests(x->forest, w, KUEUE_NONE, 0, kueue_workload_count(w, 0), out),
	    1);
	assert_int_equal(out[0].value, 7500); /* 5 x 1500m */
	/* 2 of 5 are reclaimable: 3 count, also where 4 were admitted; where 2 were admitted,
	 * those 2 (reclaimable pods are counted against the full size). */
	w->reclaimable = xcalloc(1, sizeof(int32_t));
	w->reclaimable[0] = 2;
	assert_int_equal(kueue_workload_count(w, 0), 3);
	w->counts = xcalloc(1, sizeof(int32_t));
	w->counts[0] = 4;
	assert_int_equal(kueue_workload_count(w, 0), 3);
	w->counts[0] = 2;
	assert_int_equal(kueue_workload_count(w, 0), 2);
	/* More reclaimable than there are pods: none count, never less. */
	w->reclaimable[0] = 9;
	assert_int_equal(kueue_workload_count(w, 0), 0);
	kueue_workload_free(&x->shapes, w);
}

static void pods_are_counted_where_the_queue_covers_them(void **state)
{
	struct fixture *x = *state;
	const struct span resources[] = {SPAN("cpu"), SPAN("pods")};
	const struct span flavors[] = {SPAN("default")};
	const struct kueue_quota quotas[] = {{10000, QUOTA_UNLIMITED, QUOTA_UNLIMITED},
					     {10, QUOTA_UNLIMITED, QUOTA_UNLIMITED}};
	const struct kueue_group_spec group = {.resources = resources,
					       .n_resources = 2,
					       .flavors = flavors,
					       .n_flavors = 1,
					       .quotas = quotas};
	const struct kueue_queue_spec queue = {
	    .name = SPAN("q"), .groups = &group, .n_groups = 1, .weight = 1};
	struct err err = ERR_INIT;
	assert_int_equal(kueue_forest_set_queue(x->forest, &queue, &err), 0);
	uint32_t q = kueue_forest_queue(x->forest, SPAN("q"));
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("main"), .count = 4, REQUESTS(ASK("pods", 9), ASK("cpu", 500))}};
	struct kueue_workload *w = make(x, "a", 0, 1, sets, 1);
	struct kueue_use out[KUEUE_MAX_REQUESTS + 1];
	/* 4 x 500m, and 4 pods: what the pod itself says of pods does not count. */
	assert_int_equal(kueue_workload_requests(x->forest, w, q, 0, 4, out), 2);
	assert_int_equal(out[0].value, 2000);
	assert_int_equal(out[1].resource, kueue_forest_find_resource(x->forest, SPAN("pods")));
	assert_int_equal(out[1].value, 4);
	kueue_workload_free(&x->shapes, w);
}

static void what_cannot_be_counted_is_refused_with_its_field(void **state)
{
	struct fixture *x = *state;
	const struct kueue_pod_set sets[] = {
	    {.name = SPAN("huge"), .count = 3, REQUESTS(ASK("cpu", INT64_MAX / 2))},
	    {.name = SPAN("negative"), .count = 1, REQUESTS(ASK("cpu", -1))},
	    {.name = SPAN("twice"), .count = 1, REQUESTS(ASK("cpu", 1), ASK("cpu", 2))},
	    {.name = SPAN("counts"), .count = 1, .min_count = 2, REQUESTS(ASK("cpu", 1))},
	};
	static const char *const fields[] = {"spec.podSets", "spec.podSets[0].template.spec",
					     "spec.podSets[0].template.spec",
					     "spec.podSets[0].count"};
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const struct kueue_workload_spec spec = {
		    .name = SPAN("w"), .pod_sets = &sets[i], .n_pod_sets = 1};
		struct kueue_workload *w = NULL;
		struct err err = ERR_INIT;
		assert_int_equal(
		    kueue_workload_create(&x->shapes, x->forest, KUEUE_NONE, &spec, &w, &err),
		    err_errno(ERR_INVALID));
		assert_string_equal(err.field, fields[i]);
		assert_null(w);
	}
}

static void sticky_then_priority_then_time_then_uid(void **state)
{
	struct fixture *x = *state;
	const struct kueue_pod_set set[] = {{.name = SPAN("main"), .count = 1}};
	struct kueue_workload *low = make(x, "low", 1, 1, set, 1);
	struct kueue_workload *high = make(x, "high", 2, 9, set, 1);
	struct kueue_workload *later = make(x, "later", 2, 10, set, 1);
	struct kueue_workload *twin = make(x, "twin", 2, 10, set, 1);
	assert_true(kueue_workload_cmp(high, low) < 0);
	assert_true(kueue_workload_cmp(high, later) < 0);
	assert_true(kueue_workload_cmp(later, twin) < 0); /* "later" < "twin" */
	low->sticky = true;
	assert_true(kueue_workload_cmp(low, high) < 0);
	assert_int_equal(kueue_workload_cmp(low, low), 0);
	kueue_workload_free(&x->shapes, low);
	kueue_workload_free(&x->shapes, high);
	kueue_workload_free(&x->shapes, later);
	kueue_workload_free(&x->shapes, twin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	    T(equal_pod_sets_share_a_shape),
	    T(demand_is_per_pod_times_the_pods_that_count),
	    T(pods_are_counted_where_the_queue_covers_them),
	    T(what_cannot_be_counted_is_refused_with_its_field),
	    T(sticky_then_priority_then_time_then_uid),
#undef T
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
