#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compat.h"
#include "kube/toleration.h"

static void tolerations_follow_kubernetes(void **state)
{
	static const struct taint gpu = {SPAN("gpu"), SPAN("a100"), TAINT_NO_SCHEDULE};
	static const struct {
		struct toleration t;
		bool tolerates;
	} rows[] = {
	    {{.key = SPAN("gpu"), .value = SPAN("a100")}, true},
	    {{.key = SPAN("gpu"), .value = SPAN("h100")}, false},
	    {{.key = SPAN("gpu"), .exists = true}, true},
	    {{.key = SPAN("cpu"), .exists = true}, false},
	    {{.exists = true}, true},
	    {{.value = SPAN("a100")}, false}, /* an empty key needs Exists */
	    {{.exists = true, .effect = TAINT_NO_EXECUTE}, false},
	    {{.key = SPAN("gpu"), .exists = true, .effect = TAINT_NO_SCHEDULE}, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(toleration_tolerates(&rows[i].t, &gpu), rows[i].tolerates);
}

static void preferences_keep_nobody_away(void **state)
{
	static const struct taint taints[] = {
	    {SPAN("soft"), SPAN(""), TAINT_PREFER_NO_SCHEDULE},
	    {SPAN("a"), SPAN(""), TAINT_NO_EXECUTE},
	    {SPAN("b"), SPAN(""), TAINT_NO_SCHEDULE},
	};
	static const struct toleration a = {.key = SPAN("a"), .exists = true};

	assert_ptr_equal(toleration_first_untolerated(taints, 3, NULL, 0), &taints[1]);
	assert_ptr_equal(toleration_first_untolerated(taints, 3, &a, 1), &taints[2]);
	assert_null(toleration_first_untolerated(taints, 2, &a, 1));
	assert_null(toleration_first_untolerated(NULL, 0, NULL, 0));
}

static void the_first_that_matches_says_for_how_long(void **state)
{
	static const struct taint out = {SPAN("a"), SPAN(""), TAINT_NO_EXECUTE},
				  in = {SPAN("a"), SPAN(""), TAINT_NO_SCHEDULE};
	static const struct toleration list[] = {
	    {.key = SPAN("b"), .exists = true, .limited = true, .seconds = 5},
	    {.key = SPAN("a"), .exists = true, .limited = true, .seconds = 60},
	    {.exists = true},
	};

	assert_int_equal(toleration_time(list, 1, &out), -1);
	assert_int_equal(toleration_time(list, 3, &out), 60);
	assert_int_equal(toleration_time(list + 2, 1, &out), INT64_MAX);
	assert_int_equal(toleration_time(list, 3, &in), INT64_MAX);
}

static void what_is_reserved_is_covered_by_its_own_key_alone(void **state)
{
	static const struct taint own = {SPAN("owner"), SPAN("a"), TAINT_RESERVED};
	static const struct toleration all = {.exists = true},
				       other = {.key = SPAN("owner"), .value = SPAN("b")},
				       its = {.key = SPAN("owner"), .value = SPAN("a")};

	assert_ptr_equal(toleration_first_untolerated(&own, 1, &all, 1), &own);
	assert_ptr_equal(toleration_first_untolerated(&own, 1, &other, 1), &own);
	assert_null(toleration_first_untolerated(&own, 1, &its, 1));
	assert_int_equal(taint_effect_from_string(SPAN("Reserved")), TAINT_EFFECT_INVALID);
	assert_string_equal(taint_effect_to_string(TAINT_RESERVED), "Reserved");
}

static void effects_have_names_both_ways(void **state)
{
	for (int e = 0; e < TAINT_RESERVED; e++)
		assert_int_equal(
		    taint_effect_from_string(span_of(taint_effect_to_string((enum taint_effect)e))),
		    e);
	assert_int_equal(taint_effect_from_string(SPAN("noschedule")), TAINT_EFFECT_INVALID);
	assert_string_equal(taint_effect_to_string(TAINT_EFFECT_INVALID), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tolerations_follow_kubernetes),
	    cmocka_unit_test(preferences_keep_nobody_away),
	    cmocka_unit_test(the_first_that_matches_says_for_how_long),
	    cmocka_unit_test(what_is_reserved_is_covered_by_its_own_key_alone),
	    cmocka_unit_test(effects_have_names_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
