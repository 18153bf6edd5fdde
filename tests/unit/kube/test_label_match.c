#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compat.h"
#include "kube/label_match.h"

static const struct label labels[] = {
    {SPAN("app"), SPAN("train")}, {SPAN("gen"), SPAN("7")}, {SPAN("empty"), SPAN("")}};

static void operators_follow_kubernetes(void **state)
{
	static const struct span train[] = {SPAN("x"), SPAN("train")}, seven[] = {SPAN("7")},
				 six[] = {SPAN("6")}, word[] = {SPAN("six")}, none[] = {SPAN("")};
	static const struct {
		struct node_expr e;
		bool matches;
	} rows[] = {
	    {{SPAN("app"), NODE_OP_IN, train, 2}, true},
	    {{SPAN("app"), NODE_OP_IN, seven, 1}, false},
	    {{SPAN("nope"), NODE_OP_IN, train, 2}, false},
	    {{SPAN("app"), NODE_OP_NOT_IN, train, 2}, false},
	    {{SPAN("app"), NODE_OP_NOT_IN, seven, 1}, true},
	    {{SPAN("nope"), NODE_OP_NOT_IN, train, 2}, true},
	    {{SPAN("app"), NODE_OP_EXISTS, NULL, 0}, true},
	    {{SPAN("nope"), NODE_OP_EXISTS, NULL, 0}, false},
	    {{SPAN("nope"), NODE_OP_DOES_NOT_EXIST, NULL, 0}, true},
	    {{SPAN("app"), NODE_OP_DOES_NOT_EXIST, NULL, 0}, false},
	    {{SPAN("gen"), NODE_OP_GT, six, 1}, true},
	    {{SPAN("gen"), NODE_OP_GT, seven, 1}, false},
	    {{SPAN("gen"), NODE_OP_LT, seven, 1}, false},
	    {{SPAN("gen"), NODE_OP_LT, six, 1}, false},
	    {{SPAN("gen"), NODE_OP_GT, word, 1}, false},
	    {{SPAN("app"), NODE_OP_GT, six, 1}, false},
	    {{SPAN("nope"), NODE_OP_LT, six, 1}, false},
	    {{SPAN("gen"), NODE_OP_GT, NULL, 0}, false},
	    {{SPAN("empty"), NODE_OP_IN, none, 1}, true},
	    {{SPAN("empty"), NODE_OP_EXISTS, NULL, 0}, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(label_match_expr(&rows[i].e, label_find(labels, ARRAY_LEN(labels),
									 rows[i].e.key)),
				 rows[i].matches);
}

static void a_selector_is_an_and_and_an_empty_one_matches_all(void **state)
{
	const struct node_expr gone = {SPAN("old"), NODE_OP_DOES_NOT_EXIST, NULL, 0};
	struct label_selector s = {0};

	assert_true(label_match(&s, labels, ARRAY_LEN(labels)));
	assert_true(label_match(&s, NULL, 0));
	s = (struct label_selector){labels, 2, &gone, 1};
	assert_true(label_match(&s, labels, ARRAY_LEN(labels)));
	assert_false(label_match(&s, labels, 1));
	const struct label other = {SPAN("app"), SPAN("serve")};
	assert_false(label_match(&s, &other, 1));
}

static void operators_have_names_both_ways(void **state)
{
	for (int op = 0; op < NODE_OP_MAX; op++)
		assert_int_equal(node_op_from_string(span_of(node_op_to_string((enum node_op)op))),
				 op);
	assert_int_equal(node_op_from_string(SPAN("in")), NODE_OP_INVALID);
	assert_string_equal(node_op_to_string(NODE_OP_INVALID), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(operators_follow_kubernetes),
	    cmocka_unit_test(a_selector_is_an_and_and_an_empty_one_matches_all),
	    cmocka_unit_test(operators_have_names_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
