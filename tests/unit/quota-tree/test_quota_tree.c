/* The engine on literal trees. The random ones are in test_quota_property.c. */
#include "quota-tree/quota_tree.h"
#include "testing.h"
#include <errno.h>

#define CPU_NAME SPAN_INIT("cpu")
#define MEM_NAME SPAN_INIT("memory")
/* A constant, also for file scope. */
#define SPAN_INIT(literal)                                                                         \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

#define LIMITS(...)                                                                                \
	.limits = (const struct quota_limit[]){__VA_ARGS__},                                       \
	.n_limits = ARRAY_LEN(((const struct quota_limit[]){__VA_ARGS__}))
/* min, max, and everything may be lent. */
#define CPU_LIMIT(min, max)                                                                        \
	{                                                                                          \
		.resource = CPU_NAME, .nominal = (min), .borrowing = (max) - (min),                \
		.lending = UNLIMITED, .firm = (min)                                                \
	}

static struct quota_tree *build(const struct quota_node_spec *nodes, size_t n)
{
	struct quota_spec spec = {.nodes = nodes, .n_nodes = n};
	struct quota_tree *t = NULL;
	struct err err = ERR_INIT;
	if (quota_tree_create(&spec, &t, &err) != 0)
		fail_msg("%s: %s", err.field, err.text);
	return t;
}

static int refused(const struct quota_node_spec *nodes, size_t n, struct err *err)
{
	struct quota_spec spec = {.nodes = nodes, .n_nodes = n};
	struct quota_tree *t = NULL;
	int r = quota_tree_create(&spec, &t, err);
	assert_null(t);
	return r;
}

static struct quota_request ask(int64_t value, bool nonpreemptible)
{
	static struct quota_amount amount;
	amount = (struct quota_amount){.resource = 0, .value = value};
	return (struct quota_request){
	    .amounts = &amount, .n_amounts = 1, .nonpreemptible = nonpreemptible};
}

static bool charge(struct quota_tree *t, uint32_t node, int64_t value)
{
	struct quota_request req = ask(value, false);
	return quota_tree_charge(t, node, &req, NULL) == 0;
}

static struct quota_state state_of(const struct quota_tree *t, uint32_t node)
{
	struct quota_state s;
	quota_tree_get(t, node, 0, &s);
	return s;
}

static const struct quota_node_spec two_leaves[] = {
    {.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(10, 10))},
    {.parent = 0, LIMITS(CPU_LIMIT(4, 8))},
    {.parent = 0, LIMITS(CPU_LIMIT(4, 8))},
};

static void a_leaf_at_max_refuses(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	assert_true(charge(t, 1, 8));
	struct quota_request one = ask(1, false);
	struct quota_verdict v;
	assert_int_equal(quota_tree_charge(t, 1, &one, &v), -EDQUOT);
	assert_int_equal(v.node, 1);
	assert_int_equal(v.reason, QUOTA_OVER_MAX);
	assert_int_equal(v.request, 1);
	assert_int_equal(v.limit, 8);
	assert_int_equal(v.used, 8);
	assert_false(v.never);
	assert_int_equal(state_of(t, 0).used, 8);
	quota_tree_release(t, 1, &one);
	assert_true(charge(t, 1, 1));
	quota_tree_destroy(t);
}

static void a_refused_charge_changes_nothing(void **state)
{
	(void)state;
	const struct quota_node_spec nodes[] = {
	    {.parent = QUOTA_NO_NODE,
	     LIMITS(CPU_LIMIT(10, 10), {.resource = MEM_NAME, .nominal = 5, .lending = UNLIMITED})},
	    {.parent = 0, LIMITS(CPU_LIMIT(4, 8))},
	};
	struct quota_tree *t = build(nodes, 2);
	const struct quota_amount amounts[] = {{0, 3}, {1, 6}};
	struct quota_request req = {.amounts = amounts, .n_amounts = 2};
	struct quota_verdict v;
	assert_int_equal(quota_tree_charge(t, 1, &req, &v), -EDQUOT);
	assert_int_equal(v.node, 0);
	assert_int_equal(v.resource, 1);
	assert_true(v.never);
	assert_int_equal(state_of(t, 0).used, 0);
	assert_int_equal(state_of(t, 1).used, 0);
	quota_tree_destroy(t);
}

static void resources_that_the_tree_does_not_name_are_free(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	const struct quota_amount amounts[] = {{0, 3}, {7, INT64_MAX}};
	struct quota_request req = {.amounts = amounts, .n_amounts = 2};
	assert_int_equal(quota_tree_charge(t, 1, &req, NULL), 0);
	assert_int_equal(quota_tree_charge(t, 1, &req, NULL), 0);
	uint32_t r = 0;
	assert_int_equal(quota_tree_find_resource(t, SPAN("tpu"), &r), -ENOENT);
	assert_int_equal(quota_tree_find_resource(t, SPAN("cpu"), &r), 0);
	quota_tree_destroy(t);
}

static void explain_gives_a_verdict_for_every_node_on_the_path(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	assert_true(charge(t, 1, 6));
	struct quota_request five = ask(5, false);
	struct quota_verdict v[4];
	assert_int_equal(quota_tree_explain(t, 2, &five, v, 4), 2);
	assert_int_equal(v[0].node, 2);
	assert_int_equal(v[0].reason, QUOTA_FITS);
	assert_int_equal(v[1].node, 0);
	assert_int_equal(v[1].reason, QUOTA_OVER_MAX);
	assert_int_equal(v[1].counted, 6);
	assert_false(v[1].never);
	struct quota_request nine = ask(9, false);
	assert_int_equal(quota_tree_explain(t, 2, &nine, v, 1), 2);
	assert_true(v[0].never);
	quota_tree_destroy(t);
}

static void headroom_is_the_least_on_the_path(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	assert_int_equal(quota_tree_headroom(t, 2, 0), 8);
	assert_true(charge(t, 1, 6));
	assert_int_equal(quota_tree_headroom(t, 2, 0), 4);
	assert_int_equal(quota_tree_headroom(t, 1, 0), 2);
	assert_int_equal(quota_tree_room(t, 0, 0, false), 4);
	assert_int_equal(quota_tree_room(t, 0, 0, true), 10);
	quota_tree_destroy(t);
}

static void a_floor_is_held_for_its_node(void **state)
{
	(void)state;
	/* The parent's max 10; a owns 6 and lends 2 of it, so 4 are never lent. */
	const struct quota_node_spec nodes[] = {
	    {.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(10, 10))},
	    {.parent = 0,
	     LIMITS({.resource = CPU_NAME, .nominal = 6, .borrowing = 4, .lending = 2, .firm = 6})},
	    {.parent = 0, LIMITS(CPU_LIMIT(0, 10))},
	};
	struct quota_tree *t = build(nodes, 3);
	assert_int_equal(state_of(t, 0).counted, 4);
	assert_int_equal(state_of(t, 1).floor, 4);
	assert_false(charge(t, 2, 7));
	assert_true(charge(t, 2, 6));
	assert_false(charge(t, 2, 1));
	/* What the floor absorbs does not move the parent. */
	assert_true(charge(t, 1, 4));
	assert_int_equal(state_of(t, 0).counted, 10);
	assert_int_equal(state_of(t, 0).used, 10);
	assert_false(charge(t, 1, 1));
	quota_tree_destroy(t);
}

static void a_nested_floor_counts_once(void **state)
{
	(void)state;
	/* Node 1 holds 5 of its own; its child holds 3 of those. Together they hold 5, not 8. */
	const struct quota_node_spec nodes[] = {
	    {.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(10, 10))},
	    {.parent = 0,
	     LIMITS({.resource = CPU_NAME, .nominal = 5, .borrowing = 5, .lending = 0, .firm = 5})},
	    {.parent = 1,
	     LIMITS({.resource = CPU_NAME, .nominal = 3, .borrowing = 5, .lending = 0, .firm = 3})},
	    {.parent = 0, LIMITS(CPU_LIMIT(0, 10))},
	};
	struct quota_tree *t = build(nodes, 4);
	assert_int_equal(state_of(t, 0).counted, 5);
	assert_int_equal(state_of(t, 1).counted, 3);
	assert_int_equal(quota_tree_headroom(t, 3, 0), 5);
	assert_int_equal(quota_tree_headroom(t, 2, 0), 8);
	assert_true(charge(t, 3, 5));
	assert_int_equal(quota_tree_headroom(t, 2, 0), 5);
	quota_tree_destroy(t);
}

static void a_forced_charge_may_stand_above_max_and_then_nothing_more_fits(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	struct quota_request twelve = ask(12, false);
	assert_int_equal(quota_tree_charge_forced(t, 1, &twelve), 0);
	assert_int_equal(state_of(t, 1).used, 12);
	assert_int_equal(quota_tree_room(t, 1, 0, false), -4);
	assert_int_equal(quota_tree_headroom(t, 1, 0), 0);
	assert_false(charge(t, 1, 1));
	assert_false(charge(t, 2, 1));
	twelve = ask(12, false);
	quota_tree_release(t, 1, &twelve);
	assert_int_equal(quota_tree_check(t, NULL), 0);
	assert_int_equal(state_of(t, 0).used, 0);
	quota_tree_destroy(t);
}

static void sums_beyond_int64_are_refused_never_wrapped(void **state)
{
	(void)state;
	const struct quota_node_spec nodes[] = {
	    {.parent = QUOTA_NO_NODE,
	     LIMITS({.resource = CPU_NAME,
		     .borrowing = UNLIMITED,
		     .lending = UNLIMITED,
		     .firm = UNLIMITED})},
	    {.parent = 0},
	    {.parent = 0},
	};
	struct quota_tree *t = build(nodes, 3);
	assert_true(charge(t, 1, INT64_MAX - 1));
	struct quota_request one = ask(1, false);
	struct quota_verdict v, path[3];
	/* The last one fits, and is told so. */
	assert_int_equal(quota_tree_explain(t, 2, &one, path, 3), 2);
	assert_int_equal(path[1].node, 0);
	assert_int_equal(path[1].reason, QUOTA_FITS);
	assert_true(charge(t, 1, 1));
	assert_int_equal(quota_tree_charge(t, 2, &one, &v), -EDQUOT);
	assert_int_equal(v.reason, QUOTA_OVERFLOW);
	assert_int_equal(v.node, 0);
	assert_int_equal(quota_tree_charge_forced(t, 2, &one), -EOVERFLOW);
	one.nonpreemptible = true;
	assert_int_equal(quota_tree_charge(t, 1, &one, &v), -EDQUOT);
	assert_int_equal(v.reason, QUOTA_OVERFLOW);
	assert_int_equal(quota_tree_headroom(t, 2, 0), 0);
	assert_int_equal(quota_tree_check(t, NULL), 0);
	quota_tree_destroy(t);
}

static void the_oversell_rate_multiplies_limits_and_rounds_down(void **state)
{
	(void)state;
	const struct quota_node_spec nodes[] = {{.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(5, 7))}};
	struct quota_spec spec = {.nodes = nodes, .n_nodes = 1, .oversell_permille = 1500};
	struct quota_tree *t = NULL;
	assert_int_equal(quota_tree_create(&spec, &t, NULL), 0);
	assert_int_equal(state_of(t, 0).max_oversold, 10);
	assert_int_equal(state_of(t, 0).nominal_oversold, 7);
	assert_true(charge(t, 0, 10));
	assert_false(charge(t, 0, 1));
	quota_tree_destroy(t);
	spec.oversell_permille = QUOTA_MAX_OVERSELL + 1;
	assert_int_equal(quota_tree_create(&spec, &t, NULL), err_errno(ERR_INVALID));
}

static void max_may_bind_nonpreemptible_requests_too(void **state)
{
	(void)state;
	const struct quota_node_spec nodes[] = {{.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(5, 7))}};
	struct quota_spec spec = {.nodes = nodes, .n_nodes = 1, .max_binds_all = true};
	struct quota_tree *t = NULL;
	assert_int_equal(quota_tree_create(&spec, &t, NULL), 0);
	assert_true(charge(t, 0, 6));
	struct quota_request req = ask(2, true);
	struct quota_verdict v;
	assert_false(quota_tree_test(t, 0, &req, &v));
	assert_int_equal(v.reason, QUOTA_OVER_MAX);
	quota_tree_destroy(t);
	spec.max_binds_all = false;
	assert_int_equal(quota_tree_create(&spec, &t, NULL), 0);
	assert_true(charge(t, 0, 6));
	req = ask(2, true);
	assert_true(quota_tree_test(t, 0, &req, &v));
	quota_tree_destroy(t);
}

static void a_copy_has_usage_of_its_own(void **state)
{
	(void)state;
	struct quota_tree *t = build(two_leaves, 3);
	assert_true(charge(t, 1, 3));
	struct quota_tree *copy = quota_tree_dup(t);
	assert_true(charge(copy, 1, 5));
	assert_int_equal(state_of(copy, 0).used, 8);
	assert_int_equal(state_of(t, 0).used, 3);
	assert_true(span_is(quota_tree_resource_name(copy, 0), "cpu"));
	quota_tree_destroy(copy);
	quota_tree_destroy(t);
}

static void bad_specs_are_refused(void **state)
{
	(void)state;
	struct err err = ERR_INIT;
	const struct quota_node_spec later[] = {{.parent = 1}, {.parent = QUOTA_NO_NODE}};
	assert_int_equal(refused(later, 2, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.field, "nodes[0].parent");

	const struct quota_node_spec twice[] = {
	    {.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(1, 2), CPU_LIMIT(1, 2))}};
	assert_int_equal(refused(twice, 1, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "cpu is limited twice");

	const struct quota_node_spec negative[] = {
	    {.parent = QUOTA_NO_NODE, LIMITS(CPU_LIMIT(-1, 2))}};
	assert_int_equal(refused(negative, 1, &err), err_errno(ERR_INVALID));

	struct quota_node_spec deep[QUOTA_MAX_DEPTH + 1];
	for (uint32_t i = 0; i <= QUOTA_MAX_DEPTH; i++)
		deep[i] = (struct quota_node_spec){.parent = i ? i - 1 : QUOTA_NO_NODE};
	assert_int_equal(refused(deep, QUOTA_MAX_DEPTH + 1, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "depth 17 is beyond the limit of 16");
	struct quota_tree *t = build(deep, QUOTA_MAX_DEPTH);
	assert_int_equal(quota_tree_depth(t, QUOTA_MAX_DEPTH - 1), QUOTA_MAX_DEPTH);
	quota_tree_destroy(t);

	const struct quota_limit huge = {
	    .resource = CPU_NAME, .nominal = INT64_MAX - 1, .lending = 0, .firm = UNLIMITED};
	const struct quota_node_spec floors[] = {{.parent = QUOTA_NO_NODE},
						 {.parent = 0, .limits = &huge, .n_limits = 1},
						 {.parent = 0, .limits = &huge, .n_limits = 1}};
	assert_int_equal(refused(floors, 3, &err), err_errno(ERR_INVALID));
}

static void amounts_stay_sorted_and_refuse_overflow(void **state)
{
	(void)state;
	struct quota_amount a[2];
	size_t n = 0;
	struct err err = ERR_INIT;
	assert_int_equal(quota_amount_add(a, &n, 2, 5, 10, &err), 0);
	assert_int_equal(quota_amount_add(a, &n, 2, 1, 7, &err), 0);
	assert_int_equal(quota_amount_add(a, &n, 2, 5, 1, &err), 0);
	assert_int_equal(quota_amount_add(a, &n, 2, 9, 0, &err), 0);
	assert_int_equal(n, 2);
	assert_int_equal(a[0].resource, 1);
	assert_int_equal(a[1].value, 11);
	assert_int_equal(quota_amount_add(a, &n, 2, 5, INT64_MAX, &err), err_errno(ERR_INVALID));
	assert_int_equal(quota_amount_add(a, &n, 2, 5, -1, &err), err_errno(ERR_INVALID));
	assert_int_equal(quota_amount_add(a, &n, 2, 9, 1, &err), err_errno(ERR_TOO_LARGE));
	assert_int_equal(a[1].value, 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_leaf_at_max_refuses),
	    cmocka_unit_test(a_refused_charge_changes_nothing),
	    cmocka_unit_test(resources_that_the_tree_does_not_name_are_free),
	    cmocka_unit_test(explain_gives_a_verdict_for_every_node_on_the_path),
	    cmocka_unit_test(headroom_is_the_least_on_the_path),
	    cmocka_unit_test(a_floor_is_held_for_its_node),
	    cmocka_unit_test(a_nested_floor_counts_once),
	    cmocka_unit_test(a_forced_charge_may_stand_above_max_and_then_nothing_more_fits),
	    cmocka_unit_test(sums_beyond_int64_are_refused_never_wrapped),
	    cmocka_unit_test(the_oversell_rate_multiplies_limits_and_rounds_down),
	    cmocka_unit_test(max_may_bind_nonpreemptible_requests_too),
	    cmocka_unit_test(a_copy_has_usage_of_its_own),
	    cmocka_unit_test(bad_specs_are_refused),
	    cmocka_unit_test(amounts_stay_sorted_and_refuse_overflow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
