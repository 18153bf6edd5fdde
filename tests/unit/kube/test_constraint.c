#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compat.h"
#include "kube/constraint.h"

static const struct label a100[] = {{SPAN("gpu"), SPAN("a100")}, {SPAN("zone"), SPAN("z1")}};
static const struct span a100_keys[] = {SPAN("gpu"), SPAN("zone")};

static bool matches(const struct constraint *c)
{
	return constraint_matches_on(c, a100, ARRAY_LEN(a100), a100_keys, ARRAY_LEN(a100_keys));
}

static void a_selector_counts_on_the_given_keys_only(void **state)
{
	static const struct label same[] = {{SPAN("gpu"), SPAN("a100")}},
				  other[] = {{SPAN("gpu"), SPAN("h100")}},
				  elsewhere[] = {{SPAN("disk"), SPAN("ssd")}};

	assert_true(matches(&(struct constraint){0}));
	assert_true(matches(&(struct constraint){.selector = same, .n_selector = 1}));
	assert_false(matches(&(struct constraint){.selector = other, .n_selector = 1}));
	assert_true(matches(&(struct constraint){.selector = elsewhere, .n_selector = 1}));
}

static void a_key_without_a_label_does_not_match(void **state)
{
	static const struct span keys[] = {SPAN("gpu"), SPAN("disk")};
	static const struct label disk[] = {{SPAN("disk"), SPAN("ssd")}};
	const struct constraint c = {.selector = disk, .n_selector = 1};

	assert_false(constraint_matches_on(&c, a100, ARRAY_LEN(a100), keys, ARRAY_LEN(keys)));
}

static void terms_are_alternatives_and_an_emptied_term_matches(void **state)
{
	static const struct span h100[] = {SPAN("h100")}, z1[] = {SPAN("z1")},
				 ssd[] = {SPAN("ssd")};
	static const struct node_expr wrong[] = {{SPAN("gpu"), NODE_OP_IN, h100, 1}},
				      right[] = {{SPAN("zone"), NODE_OP_IN, z1, 1}},
				      both[] = {{SPAN("gpu"), NODE_OP_IN, h100, 1},
						{SPAN("zone"), NODE_OP_IN, z1, 1}},
				      foreign[] = {{SPAN("disk"), NODE_OP_IN, ssd, 1}};
	static const struct node_term one_of[] = {{.labels = wrong, .n_labels = 1},
						  {.labels = right, .n_labels = 1}},
				      all_of[] = {{.labels = both, .n_labels = 2}},
				      emptied[] = {{.labels = wrong, .n_labels = 1},
						   {.labels = foreign, .n_labels = 1}};

	assert_true(matches(&(struct constraint){.terms = one_of, .n_terms = 2}));
	assert_false(matches(&(struct constraint){.terms = one_of, .n_terms = 1}));
	assert_false(matches(&(struct constraint){.terms = all_of, .n_terms = 1}));
	assert_true(matches(&(struct constraint){.terms = emptied, .n_terms = 2}));
}

static void keys_tell_different_constraints_apart(void **state)
{
	static const struct label x[] = {{SPAN("a"), SPAN("bc")}}, y[] = {{SPAN("ab"), SPAN("c")}};
	const struct constraint one = {.selector = x, .n_selector = 1},
				two = {.selector = y, .n_selector = 1};
	auto_arena mem = ARENA_INIT;
	auto_buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
	struct constraint copy = constraint_dup(&mem, &one);

	constraint_key(&one, &a);
	constraint_key(&two, &b);
	constraint_key(&copy, &c);
	assert_false(span_eq(buf_span(&a), buf_span(&b)));
	assert_true(span_eq(buf_span(&a), buf_span(&c)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_selector_counts_on_the_given_keys_only),
	    cmocka_unit_test(a_key_without_a_label_does_not_match),
	    cmocka_unit_test(terms_are_alternatives_and_an_emptied_term_matches),
	    cmocka_unit_test(keys_tell_different_constraints_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
