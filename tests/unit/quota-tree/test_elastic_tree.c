/* The rules of an ElasticQuotaTree: what is refused, where, with which numbers; and lookups. */
#include "quota-tree/elastic_tree.h"
#include "testing.h"
#include <errno.h>

#define GI ((int64_t)1 << 30)

static struct elastic_problem items[16];
static struct elastic_problems problems = {.items = items, .max = ARRAY_LEN(items)};

static struct elastic_tree *accept(const struct elastic_node_spec *root)
{
	struct elastic_tree *t = NULL;
	struct err err = ERR_INIT;
	if (elastic_tree_create(root, NULL, &problems, &t, &err) != 0)
		fail_msg("%s: %s", err.field, err.text);
	return t;
}

/* Refused with exactly one error, of this path and these words. */
static void refuse(const struct elastic_node_spec *root, const char *field, const char *text)
{
	struct elastic_tree *t = NULL;
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_create(root, NULL, &problems, &t, &err),
			 err_errno(ERR_INVALID));
	assert_null(t);
	assert_string_equal(err.field, field);
	assert_string_equal(err.text, text);
	assert_int_equal(problems.n_errors, 1);
	assert_int_equal(elastic_tree_validate(root, NULL, NULL), err_errno(ERR_INVALID));
}

/* The sample of the vendor's page on gang scheduling: it breaks the page's own rule. */
static void the_seed_example_is_accepted_with_a_warning(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(999900)), Q("memory", 400000 * GI),
			Q("kube-queue/max-jobs", 10000000000), Q("nvidia.com/gpu", 100000)),
	    .min = LIST(Q("cpu", CPU(9999)), Q("memory", 40 * GI)),
	    CHILDREN({.name = SPAN("child-2"),
		      .max = LIST(Q("kube-queue/max-jobs", 1), Q("cpu", CPU(10000)),
				  Q("nvidia.com/gpu", 10000), Q("memory", 10000 * GI)),
		      NAMESPACES(SPAN("default"))}),
	};
	struct elastic_tree *t = accept(&root);
	assert_int_equal(problems.n_errors, 0);
	assert_int_equal(problems.n_warnings, 2);
	assert_true(items[0].warning);
	assert_string_equal(items[0].field, "spec.root.min.cpu");
	assert_string_equal(
	    items[0].text,
	    "the root's min 9999 should equal its max 999900; max counts as the total");
	assert_string_equal(items[1].field, "spec.root.min.memory");
	uint32_t n = 0;
	assert_int_equal(elastic_tree_find_namespace(t, SPAN("default"), &n), 0);
	assert_true(span_is(elastic_tree_path(t, n), "root/child-2"));
	elastic_tree_destroy(t);
}

static void min_above_max_is_refused_with_both_numbers(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a")}, {.name = SPAN("b")},
		     {.name = SPAN("c"),
		      .min = LIST(Q("nvidia.com/gpu", 8)),
		      .max = LIST(Q("nvidia.com/gpu", 4))}),
	};
	refuse(&root, "spec.root.children[2].min[nvidia.com/gpu]", "min 8 is above max 4");
}

static void childrens_min_above_the_parents_is_refused_with_both_numbers(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", CPU(40))),
	    .max = LIST(Q("cpu", CPU(40))),
	    CHILDREN(
		{.name = SPAN("a"), .min = LIST(Q("cpu", CPU(20))), .max = LIST(Q("cpu", CPU(90)))},
		{.name = SPAN("b"), .min = LIST(Q("cpu", 20500))}),
	};
	refuse(&root, "spec.root.min.cpu",
	       "the children's min add up to 40500m, above the parent's 40");
}

static void a_childs_max_may_exceed_its_parents(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", CPU(4))),
	    .max = LIST(Q("cpu", CPU(4))),
	    CHILDREN({.name = SPAN("a"), .max = LIST(Q("cpu", CPU(90)))}),
	};
	struct elastic_tree *t = accept(&root);
	assert_int_equal(problems.n_warnings, 0);
	elastic_tree_destroy(t);
}

static void a_root_without_min_owns_its_max_and_an_inner_node_nothing(void **state)
{
	(void)state;
	const struct elastic_node_spec good = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(4))),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4)))}),
	};
	elastic_tree_destroy(accept(&good));
	const struct elastic_node_spec bad = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(4))),
	    CHILDREN(
		{.name = SPAN("a"), CHILDREN({.name = SPAN("b"), .min = LIST(Q("cpu", CPU(1)))})}),
	};
	refuse(&bad, "spec.root.children[0].min.cpu",
	       "the children's min add up to 1, above the parent's 0");
}

static void namespaces_belong_to_leaves_and_to_one_leaf_only(void **state)
{
	(void)state;
	const struct elastic_node_spec inner = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a"), NAMESPACES(SPAN("x")), CHILDREN({.name = SPAN("b")})}),
	};
	refuse(&inner, "spec.root.children[0].namespaces",
	       "only a leaf may own namespaces; this node has 1 children and 1 namespaces");
	const struct elastic_node_spec twice = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a"), NAMESPACES(SPAN("x"), SPAN("y"))},
		     {.name = SPAN("b"), NAMESPACES(SPAN("z"), SPAN("x"))}),
	};
	refuse(&twice, "spec.root.children[1].namespaces[1]",
	       "namespace x belongs to spec.root.children[0] already");
}

static void names_are_unique_over_the_tree(void **state)
{
	(void)state;
	/* A cycle of names (a below b below a) is a name used twice. */
	const struct elastic_node_spec cycle = {
	    .name = SPAN("root"),
	    CHILDREN(
		{.name = SPAN("a"), CHILDREN({.name = SPAN("b"), CHILDREN({.name = SPAN("a")})})}),
	};
	refuse(&cycle, "spec.root.children[0].children[0].children[0].name",
	       "the name \"a\" is used already at spec.root.children[0]; names are unique over "
	       "the tree");
	const struct elastic_node_spec slash = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a/b")}),
	};
	refuse(&slash, "spec.root.children[0].name",
	       "\"a/b\" must be 1 to 253 letters, digits, '-', '_' or '.'");
	const struct elastic_node_spec other = {.name = SPAN("top")};
	struct elastic_tree *t = accept(&other);
	assert_int_equal(problems.n_warnings, 1);
	assert_true(span_is(elastic_tree_name(t, 0), "root"));
	elastic_tree_destroy(t);
}

static void negative_quantities_are_refused(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a"), .max = LIST(Q("memory", -2 * GI))}),
	};
	refuse(&root, "spec.root.children[0].max.memory", "must not be negative, is -2Gi");
	const struct elastic_node_spec lend = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a"), .lendlimit = LIST(Q("cpu", -1))}),
	};
	refuse(&lend, "spec.root.children[0].attributes[alibabacloud.com/lendlimit].cpu",
	       "must not be negative, is -1m");
}

static void sums_that_leave_int64_are_refused(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("memory", INT64_MAX - 1))},
		     {.name = SPAN("b"), .min = LIST(Q("memory", INT64_MAX - 1))}),
	};
	refuse(&root, "spec.root.min.memory",
	       "the children's min add up to (too large to count), above the parent's unlimited");
}

static void depth_beyond_the_limit_is_refused_with_both_numbers(void **state)
{
	(void)state;
	static struct elastic_node_spec chain[ELASTIC_MAX_DEPTH + 1];
	static char names[ELASTIC_MAX_DEPTH + 1][8];
	for (int i = 0; i <= ELASTIC_MAX_DEPTH; i++) {
		snprintf(names[i], sizeof(names[i]), i ? "n%d" : "root", i);
		chain[i] = (struct elastic_node_spec){
		    .name = span_of(names[i]),
		    .children = i < ELASTIC_MAX_DEPTH ? &chain[i + 1] : NULL,
		    .n_children = i < ELASTIC_MAX_DEPTH,
		};
	}
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_validate(&chain[0], &problems, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.text, "depth 17 is beyond the limit of 16");
	assert_non_null(strstr(err.field, ".children[0].children"));
	chain[ELASTIC_MAX_DEPTH - 1].n_children = 0;
	assert_int_equal(elastic_tree_validate(&chain[0], &problems, &err), 0);
}

static void width_beyond_the_limits_is_refused_with_both_numbers(void **state)
{
	(void)state;
	static struct elastic_node_spec wide[ELASTIC_MAX_CHILDREN + 1];
	struct elastic_node_spec root = {
	    .name = SPAN("root"), .children = wide, .n_children = ELASTIC_MAX_CHILDREN + 1};
	refuse(&root, "spec.root.children", "10001 children are more than the limit of 10000");

	/* Eleven nodes of ten thousand children are too many in all. */
	struct elastic_node_spec teams[11];
	for (size_t i = 0; i < ARRAY_LEN(teams); i++)
		teams[i] = (struct elastic_node_spec){
		    .name = SPAN("t"), .children = wide, .n_children = ELASTIC_MAX_CHILDREN};
	root.children = teams;
	root.n_children = ARRAY_LEN(teams);
	refuse(&root, "spec.root.children[9].children",
	       "100001 nodes are more than the limit of 100000");

	static struct span many[ELASTIC_MAX_NAMESPACES + 1];
	const struct elastic_node_spec leaf = {
	    .name = SPAN("root"), .namespaces = many, .n_namespaces = ARRAY_LEN(many)};
	refuse(&leaf, "spec.root.namespaces", "10001 namespaces are more than the limit of 10000");
}

static void all_problems_are_collected_and_the_list_is_bounded(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", 3)),
	    .max = LIST(Q("cpu", 2)),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("cpu", 9)), .max = LIST(Q("cpu", 1))},
		     {.name = SPAN("a"), .preempt_policy = SPAN("Never")}, {.name = SPAN("")}),
	};
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_validate(&root, &problems, &err), err_errno(ERR_INVALID));
	assert_int_equal(problems.n_errors, 5);
	assert_int_equal(problems.n_warnings, 1);
	assert_int_equal(problems.len, 6);
	struct elastic_problem one[1];
	struct elastic_problems few = {.items = one, .max = 1};
	assert_int_equal(elastic_tree_validate(&root, &few, &err), err_errno(ERR_INVALID));
	assert_int_equal(few.len, 1);
	assert_int_equal(few.n_errors, 5);
}

static void reclaim_is_the_roots_and_off_unless_it_is_said(void **state)
{
	(void)state;
	struct elastic_node_spec child = {.name = SPAN("a"), .max = LIST(Q("cpu", 1))};
	struct elastic_node_spec root = {.name = SPAN("root"),
					 .min = LIST(Q("cpu", 2)),
					 .max = LIST(Q("cpu", 2)),
					 .children = &child,
					 .n_children = 1};
	struct elastic_tree *t;
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_create(&root, NULL, &problems, &t, &err), 0);
	assert_false(elastic_tree_reclaims(t));
	elastic_tree_destroy(t);
	root.reclaim_policy = SPAN("ReclaimMin");
	assert_int_equal(elastic_tree_create(&root, NULL, &problems, &t, &err), 0);
	assert_true(elastic_tree_reclaims(t));
	assert_int_equal(elastic_tree_reclaim_protect(t), 120 * INT64_C(1000000));
	elastic_tree_destroy(t);
	root.has_reclaim_protect = true;
	child.reclaim_policy = SPAN("ReclaimMin");
	assert_int_equal(elastic_tree_create(&root, NULL, &problems, &t, &err), 0);
	assert_int_equal(elastic_tree_reclaim_protect(t), 0);
	elastic_tree_destroy(t);
	assert_int_equal(problems.n_warnings, 1);
	assert_string_equal(problems.items[0].field,
			    "spec.root.children[0].attributes[reclaim-policy]");
	assert_string_equal(problems.items[0].text,
			    "has no effect here: the root's holds for the whole tree");
	root.reclaim_policy = SPAN("Always");
	assert_int_equal(elastic_tree_validate(&root, &problems, &err), err_errno(ERR_INVALID));
	assert_string_equal(err.field, "spec.root.attributes[reclaim-policy]");
	assert_string_equal(err.text, "\"Always\" is neither Never nor ReclaimMin");
}

static void too_many_resources_are_refused(void **state)
{
	(void)state;
	static struct elastic_quantity list[QUOTA_MAX_RESOURCES + 1];
	static char names[QUOTA_MAX_RESOURCES + 1][8];
	for (size_t i = 0; i < ARRAY_LEN(list); i++) {
		snprintf(names[i], sizeof(names[i]), "r%zu", i);
		list[i] = (struct elastic_quantity){span_of(names[i]), 1};
	}
	struct elastic_node_spec root = {.name = SPAN("root"), .max = {list, ARRAY_LEN(list)}};
	refuse(&root, "spec.root.max", "65 resources are more than the limit of 64");
	root.max.len--;
	refuse(&root, "spec.root.max[r63]",
	       "65 resources in the whole tree, jobs counted, are more than the limit of 64");
	root.max.len--;
	elastic_tree_destroy(accept(&root));
	list[1].resource = list[0].resource;
	refuse(&root, "spec.root.max[r0]", "named twice");
}

static const struct elastic_node_spec company = {
    .name = {"root", 4},
    CHILDREN({.name = {"research", 8},
	      CHILDREN({.name = {"vision", 6}, NAMESPACES({"vision-dev", 10}, {"vision", 6})},
		       {.name = {"speech", 6}, NAMESPACES({"speech", 6})})},
	     {.name = {"prod", 4}, NAMESPACES({"prod", 4})}),
};

static void nodes_are_found_by_name_path_and_namespace(void **state)
{
	(void)state;
	struct elastic_tree *t = accept(&company);
	uint32_t n = 0;
	assert_int_equal(elastic_tree_find(t, SPAN("speech"), &n), 0);
	assert_true(span_is(elastic_tree_path(t, n), "root/research/speech"));
	assert_int_equal(elastic_tree_find(t, SPAN("root/research/vision"), &n), 0);
	assert_true(span_is(elastic_tree_name(t, n), "vision"));
	assert_int_equal(elastic_tree_n_namespaces(t, n), 2);
	assert_true(span_is(elastic_tree_namespace(t, n, 1), "vision"));
	assert_int_equal(elastic_tree_find(t, SPAN("research/vision"), &n), -ENOENT);
	assert_int_equal(elastic_tree_find_namespace(t, SPAN("research"), &n), -ENOENT);
	assert_int_equal(elastic_tree_find(t, SPAN("research"), &n), 0);
	assert_int_equal(elastic_tree_subtree_end(t, n), n + 3);
	assert_int_equal(elastic_tree_subtree_end(t, 0), 5);
	elastic_tree_destroy(t);
}

static void labels_go_before_the_namespace(void **state)
{
	(void)state;
	struct elastic_tree *t = accept(&company);
	uint32_t n = 0;
	struct err err = ERR_INIT;
	assert_int_equal(
	    elastic_tree_resolve(t, SPAN("prod"), SPAN("speech"), SPAN("vision"), &n, &err), 0);
	assert_true(span_is(elastic_tree_name(t, n), "prod"));
	assert_int_equal(
	    elastic_tree_resolve(t, SPAN_NONE, SPAN("speech"), SPAN("vision"), &n, &err), 0);
	assert_true(span_is(elastic_tree_name(t, n), "speech"));
	assert_int_equal(
	    elastic_tree_resolve(t, SPAN_NONE, SPAN_NONE, SPAN("vision-dev"), &n, &err), 0);
	assert_true(span_is(elastic_tree_name(t, n), "vision"));
	assert_int_equal(
	    elastic_tree_resolve(t, SPAN("sales"), SPAN_NONE, SPAN("vision"), &n, &err),
	    err_errno(ERR_NOT_FOUND));
	assert_string_equal(
	    err.text, "the job doesn't belong to any elastic quota: no quota is called sales");
	elastic_tree_destroy(t);
}

static void V29_a_job_of_no_quota_is_rejected(void **state)
{
	(void)state;
	struct elastic_tree *t = accept(&company);
	uint32_t n = 77;
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_resolve(t, SPAN_NONE, SPAN_NONE, SPAN("sales"), &n, &err),
			 err_errno(ERR_NOT_FOUND));
	assert_string_equal(err.text, "the job doesn't belong to any elastic quota");
	assert_int_equal(n, 77);
	elastic_tree_destroy(t);
}

static void a_request_counts_one_job_and_drops_what_nobody_limits(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .max = LIST(Q("cpu", CPU(4)), Q("memory", GI)),
	};
	struct elastic_tree *t = accept(&root);
	const struct elastic_quantity ask[] = {Q("memory", 5), Q("rdma/hca", 1), Q("cpu", 7),
					       Q("memory", 6), Q("kube-queue/max-jobs", 50)};
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	size_t n = 0;
	struct err err = ERR_INIT;
	assert_int_equal(elastic_tree_request(t, ask, ARRAY_LEN(ask), amounts, &n, &err), 0);
	assert_int_equal(n, 3);
	const struct quota_tree *quota = elastic_tree_quota_const(t);
	for (size_t i = 0; i < n; i++) {
		struct span name = quota_tree_resource_name(quota, amounts[i].resource);
		int64_t want = span_is(name, "cpu") ? 7 : span_is(name, "memory") ? 11 : 1;
		assert_int_equal(amounts[i].value, want);
	}
	const struct elastic_quantity negative[] = {Q("rdma/hca", -1)};
	assert_int_equal(elastic_tree_request(t, negative, 1, amounts, &n, &err),
			 err_errno(ERR_INVALID));
	assert_string_equal(err.field, "rdma/hca");
	const struct elastic_quantity huge[] = {Q("cpu", INT64_MAX), Q("cpu", 1)};
	assert_int_equal(elastic_tree_request(t, huge, 2, amounts, &n, &err),
			 err_errno(ERR_INVALID));
	assert_int_equal(n, 3);
	elastic_tree_destroy(t);
}

static void min_is_a_promise_only_where_the_node_states_the_resource(void **state)
{
	(void)state;
	const struct elastic_node_spec root = {
	    .name = SPAN("root"),
	    .min = LIST(Q("cpu", CPU(9)), Q("memory", 9)),
	    .max = LIST(Q("cpu", CPU(9)), Q("memory", 9), Q("gpu", 9)),
	    CHILDREN({.name = SPAN("a"), .min = LIST(Q("cpu", CPU(4)))}),
	};
	struct elastic_tree *t = accept(&root);
	struct quota_state s;
	const struct quota_tree *quota = elastic_tree_quota_const(t);
	uint32_t r = 0;
	assert_int_equal(quota_tree_find_resource(quota, SPAN("memory"), &r), 0);
	quota_tree_get(quota, 1, r, &s);
	assert_int_equal(s.firm, UNLIMITED);
	assert_int_equal(s.max, UNLIMITED);
	assert_int_equal(quota_tree_find_resource(quota, SPAN("gpu"), &r), 0);
	quota_tree_get(quota, 0, r, &s);
	assert_int_equal(s.firm, 0);
	assert_int_equal(quota_tree_find_resource(quota, SPAN("cpu"), &r), 0);
	quota_tree_get(quota, 1, r, &s);
	assert_int_equal(s.firm, CPU(4));
	assert_int_equal(s.max, UNLIMITED);
	elastic_tree_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_seed_example_is_accepted_with_a_warning),
	    cmocka_unit_test(min_above_max_is_refused_with_both_numbers),
	    cmocka_unit_test(childrens_min_above_the_parents_is_refused_with_both_numbers),
	    cmocka_unit_test(a_childs_max_may_exceed_its_parents),
	    cmocka_unit_test(a_root_without_min_owns_its_max_and_an_inner_node_nothing),
	    cmocka_unit_test(namespaces_belong_to_leaves_and_to_one_leaf_only),
	    cmocka_unit_test(names_are_unique_over_the_tree),
	    cmocka_unit_test(negative_quantities_are_refused),
	    cmocka_unit_test(sums_that_leave_int64_are_refused),
	    cmocka_unit_test(depth_beyond_the_limit_is_refused_with_both_numbers),
	    cmocka_unit_test(width_beyond_the_limits_is_refused_with_both_numbers),
	    cmocka_unit_test(all_problems_are_collected_and_the_list_is_bounded),
	    cmocka_unit_test(reclaim_is_the_roots_and_off_unless_it_is_said),
	    cmocka_unit_test(too_many_resources_are_refused),
	    cmocka_unit_test(nodes_are_found_by_name_path_and_namespace),
	    cmocka_unit_test(labels_go_before_the_namespace),
	    cmocka_unit_test(V29_a_job_of_no_quota_is_rejected),
	    cmocka_unit_test(a_request_counts_one_job_and_drops_what_nobody_limits),
	    cmocka_unit_test(min_is_a_promise_only_where_the_node_states_the_resource),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
