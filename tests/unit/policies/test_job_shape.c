#include "fixture.h"

#include "base/buf.h"

#include <errno.h>

static void shapes_that_say_the_same_are_one(void **state)
{
	struct world w = world_create();
	const struct span ab[] = {SPAN("a"), SPAN("b")}, bab[] = {SPAN("b"), SPAN("a"), SPAN("b")};
	const struct node_expr x = {SPAN("zone"), NODE_OP_IN, ab, 2},
			       y = {SPAN("zone"), NODE_OP_IN, bab, 3};
	const struct node_term t1 = {&x, 1, NULL, 0}, t2[] = {{&y, 1, NULL, 0}, {&x, 1, NULL, 0}};
	const struct label l1[] = {{SPAN("k"), SPAN("v")}, {SPAN("a"), SPAN("b")}},
			   l2[] = {{SPAN("a"), SPAN("b")}, {SPAN("k"), SPAN("v")}};
	const struct toleration tol1 = {.key = SPAN("x"), .exists = true},
				tol2 = {.key = SPAN("x"), .value = SPAN("ignored"), .exists = true};
	const struct request r1[] = {{RESOURCE_CPU, 3000}, {w.gpu, 1}, {RESOURCE_MEMORY, 0}},
			     r2[] = {{w.gpu, 1},
				     {RESOURCE_CPU, 1000},
				     {RESOURCE_CPU, 2000},
				     {RESOURCE_PODS, 7}};
	struct pod_set one = {SPAN("w"), 4, 0, r1, 3, l1, 2, &t1, 1, &tol1, 1};
	struct pod_set two = {SPAN("w"), 4, 1, r2, 4, l2, 2, t2, 2, &tol2, 1};
	struct shape *a = shape_of(&w, &one, 1, NULL), *b = shape_of(&w, &two, 1, NULL);

	assert_ptr_equal(a, b);
	two.count = 5;
	struct shape *c = shape_of(&w, &two, 1, NULL);
	assert_ptr_not_equal(a, c);
	assert_int_not_equal(shape_id(a), shape_id(c));
	struct shape *d = shape_of(&w, &one, 1, "rack");
	assert_ptr_not_equal(a, d);
	/* Their pods are the same, so the work of counting is shared too. */
	assert_ptr_equal(a->parts[0].row, c->parts[0].row);
	fleet_shape_unref(w.f, a);
	fleet_shape_unref(w.f, b);
	fleet_shape_unref(w.f, c);
	fleet_shape_unref(w.f, d);
	world_done(&w);
}

static void sets_that_ask_the_same_are_one_part_and_large_pods_come_first(void **state)
{
	struct world w = world_create();
	struct request buf[4][2];
	struct pod_set sets[] = {
	    pods(&w, "launcher", 1, 500, 0, buf[0]),
	    pods(&w, "a", 2, 1000, 1, buf[1]),
	    pods(&w, "big", 1, 1000, 4, buf[2]),
	    pods(&w, "b", 3, 1000, 1, buf[3]),
	    {.name = SPAN("none")},
	};
	struct shape *s = shape_of(&w, sets, 5, NULL);

	assert_int_equal(s->n_parts, 3);
	assert_int_equal(s->part_of_set[2], 0);
	assert_int_equal(s->part_of_set[1], 1);
	assert_int_equal(s->part_of_set[3], 1);
	assert_int_equal(s->part_of_set[0], 2);
	assert_int_equal(s->part_of_set[4], UINT32_MAX);
	assert_int_equal(s->parts[1].count, 5);
	assert_int_equal(job_shape_pods(shape_spec(s)), 7);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void what_is_beyond_the_limits_is_refused_with_its_path(void **state)
{
	static struct request many[POD_SET_MAX_REQUESTS + 1];
	static struct pod_set sets[POD_SET_MAX_SETS + 1];
	static const struct request negative = {RESOURCE_CPU, -1}, wild = {RESOURCE_MAX, 1};
	static const struct node_expr field = {SPAN("metadata.namespace"), NODE_OP_IN, NULL, 0},
				      bad_op = {SPAN("k"), NODE_OP_INVALID, NULL, 0};
	static const struct node_term by_field = {NULL, 0, &field, 1},
				      by_op = {&bad_op, 1, NULL, 0};
	static const struct {
		struct pod_set set;
		const char *field, *text;
	} rows[] = {
	    {{.count = -1}, "podSets[0].count", "-1"},
	    {{.count = POD_SET_MAX_PODS + 1}, "podSets[0].count", "1000001"},
	    {{.count = 5, .groups = 2}, "podSets[0].count", "2 equal groups"},
	    {{.requests = many, .n_requests = ARRAY_LEN(many)}, "podSets[0].requests", "33"},
	    {{.requests = &negative, .n_requests = 1}, "podSets[0].requests", "negative"},
	    {{.requests = &wild, .n_requests = 1}, "podSets[0].requests", "range"},
	    {{.n_selector = 65}, "podSets[0].nodeSelector", "65"},
	    {{.n_tolerations = 65}, "podSets[0].tolerations", "65"},
	    {{.n_terms = 33}, "podSets[0].nodeSelectorTerms", "33"},
	    {{.terms = &by_field, .n_terms = 1},
	     "podSets[0].nodeSelectorTerms[0].matchFields",
	     "metadata.name"},
	    {{.terms = &by_op, .n_terms = 1},
	     "podSets[0].nodeSelectorTerms[0].matchExpressions",
	     "operator"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct job_shape shape = {&rows[i].set, 1, SPAN_NONE};
		struct err err = ERR_INIT;
		assert_int_equal(job_shape_check(&shape, &err), -EDOM);
		assert_string_equal(err.field, rows[i].field);
		assert_non_null(strstr(err.text, rows[i].text));
	}
	struct job_shape wide = {sets, ARRAY_LEN(sets), SPAN_NONE};
	assert_int_equal(job_shape_check(&wide, NULL), -EDOM);
	sets[0].count = sets[1].count = 600000;
	struct job_shape heavy = {sets, 2, SPAN_NONE};
	assert_int_equal(job_shape_check(&heavy, NULL), -EDOM);
}

static void keys_tell_neighbours_apart(void **state)
{
	const struct label one = {SPAN("ab"), SPAN("c")}, two = {SPAN("a"), SPAN("bc")};
	struct pod_set a = {.selector = &one, .n_selector = 1},
		       b = {.selector = &two, .n_selector = 1};
	auto_buf x = BUF_INIT;
	auto_buf y = BUF_INIT;

	pod_set_key(&a, &x);
	pod_set_key(&b, &y);
	assert_false(span_eq(buf_span(&x), buf_span(&y)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shapes_that_say_the_same_are_one),
	    cmocka_unit_test(sets_that_ask_the_same_are_one_part_and_large_pods_come_first),
	    cmocka_unit_test(what_is_beyond_the_limits_is_refused_with_its_path),
	    cmocka_unit_test(keys_tell_neighbours_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
