#include "store/splice.h"

#include <stddef.h>
/* cmocka wants the one above, and these. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void digits_are_decimal_up_to_the_greatest(void **state)
{
	char out[STORE_REVISION_TEXT];
	(void)state;
	assert_int_equal(splice_digits(0, out), 1);
	assert_string_equal(out, "0");
	assert_int_equal(splice_digits(UINT64_MAX, out), 20);
	assert_string_equal(out, "18446744073709551615");
}

/* The parts of {"m":{"rv":""},"s":[1],"t":{}} with every part before, around or after the digits.
 */
static const struct store_extents bare = {
    .revision = {12, 0}, .metadata = {5, 9}, .spec = {19, 3}, .status = {1, 3}};

static void extents_move_with_the_digits(void **state)
{
	struct store_extents full = splice_shift(&bare, 7);
	(void)state;
	assert_int_equal(full.revision.at, 12);
	assert_int_equal(full.revision.len, 7);
	assert_int_equal(full.metadata.at, 5); /* around: grows */
	assert_int_equal(full.metadata.len, 16);
	assert_int_equal(full.spec.at, 26); /* after: moves */
	assert_int_equal(full.spec.len, 3);
	assert_int_equal(full.status.at, 1); /* before: stays */
	assert_int_equal(full.status.len, 3);
}

static void moving_back_is_the_inverse(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 20; n++) {
		struct store_extents full = splice_shift(&bare, n);
		struct store_extents back = splice_unshift(&full);
		assert_memory_equal(&back, &bare, sizeof(bare));
	}
}

static void an_absent_part_stays_absent(void **state)
{
	const struct store_extents none = {.revision = {3, 0}, .spec = {77, 0}};
	struct store_extents full = splice_shift(&none, 5);
	(void)state;
	assert_int_equal(full.spec.len, 0);
	assert_int_equal(full.spec.at, 0);
	assert_int_equal(full.metadata.len, 0);
	full = splice_unshift(&full);
	assert_int_equal(full.metadata.len, 0);
}

static void bytes_go_in_and_come_out(void **state)
{
	char full[32] = {0}, again[32] = {0};
	(void)state;
	for (uint32_t at = 0; at <= 4; at++) {
		const struct store_extent digits = {at, 3};
		splice_in(SPAN("abcd"), at, "123", 3, full);
		assert_int_equal(memcmp(full + at, "123", 3), 0);
		splice_out(span_make(full, 7), &digits, again);
		assert_memory_equal(again, "abcd", 4);
	}
}

static void extents_outside_the_bytes_are_told(void **state)
{
	static const struct {
		struct store_extents x;
		bool ok;
	} rows[] = {
	    {{.revision = {10, 0}}, true},
	    {{.revision = {11, 0}}, false},
	    {{.revision = {1, 1}}, false},
	    {{.spec = {0, 10}}, true},
	    {{.spec = {1, 10}}, false},
	    {{.status = {UINT32_MAX, UINT32_MAX}}, false},
	    {{.metadata = {2, UINT32_MAX}}, false},
	    {{.metadata = {UINT32_MAX, 0}}, true},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(splice_check(&rows[i].x, 10), rows[i].ok);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(digits_are_decimal_up_to_the_greatest),
	    cmocka_unit_test(extents_move_with_the_digits),
	    cmocka_unit_test(moving_back_is_the_inverse),
	    cmocka_unit_test(an_absent_part_stays_absent),
	    cmocka_unit_test(bytes_go_in_and_come_out),
	    cmocka_unit_test(extents_outside_the_bytes_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
