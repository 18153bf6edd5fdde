#include "store/row_diff.h"

#include "fixture.h"

static struct row_side side(const char *text, uint32_t spec_at, uint32_t spec_len)
{
	return (struct row_side){span_of(text), {.spec = {spec_at, spec_len}}};
}

static void assert_both_ways(const struct row_side *a, const struct row_side *b,
			     const struct row_diff *d)
{
	char olds[256], news[256], got[256];

	assert_true(row_diff_fits(d, a->bare.len, b->bare.len));
	row_diff_take_old(d, a->bare, olds);
	row_diff_take_new(d, b->bare, news);
	row_diff_forward(d, a->bare, span_make(news, row_diff_new_len(d)), got);
	assert_memory_equal(got, b->bare.ptr, b->bare.len);
	row_diff_backward(d, b->bare, span_make(olds, row_diff_old_len(d)), got);
	assert_memory_equal(got, a->bare.ptr, a->bare.len);
}

static void a_common_start_and_end_never_overlap(void **state)
{
	static const struct {
		const char *a, *b;
		uint32_t skip, old_len, new_len;
	} rows[] = {
	    {"a", "", 0, 1, 0},
	    {"aaa", "aa", 2, 1, 0},
	    {"aa", "aaa", 2, 0, 1},
	    {"abXcd", "abYcd", 2, 1, 1},
	    {"Xabc", "abc", 0, 1, 0},
	    {"abcabc", "abc", 3, 3, 0},
	    {"abcX", "abcY", 3, 1, 1},
	    {"0123456789012345678901234567890123456789X0123456789012345678901234567890123456789",
	     "0123456789012345678901234567890123456789YY0123456789012345678901234567890123456789",
	     40, 1, 2},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct row_side a = side(rows[i].a, 0, 0), b = side(rows[i].b, 0, 0);
		struct row_diff d;
		row_diff(&a, &b, &d);
		assert_int_equal(d.n, 1);
		assert_int_equal(d.hunks[0].skip, rows[i].skip);
		assert_int_equal(d.hunks[0].old_len, rows[i].old_len);
		assert_int_equal(d.hunks[0].new_len, rows[i].new_len);
		assert_both_ways(&a, &b, &d);
	}
}

static void the_same_text_has_no_hunk(void **state)
{
	struct row_side a = side("meta{spec}status", 4, 6), none = {.bare = SPAN_NONE};
	struct row_diff d;
	(void)state;
	row_diff(&a, &a, &d);
	assert_int_equal(d.n, 0);
	assert_both_ways(&a, &a, &d);
	row_diff(&none, &none, &d);
	assert_int_equal(d.n, 0);
}

static void the_spec_between_two_changes_is_not_repeated(void **state)
{
	struct row_side a = side("time:1,{a long spec}status:old", 7, 13);
	struct row_side b = side("time:22,{a long spec}status:newer", 8, 13);
	struct row_diff d;
	(void)state;
	row_diff(&a, &b, &d);
	assert_int_equal(d.n, 2);
	assert_int_equal(row_diff_old_len(&d), 1 + 3);
	assert_int_equal(row_diff_new_len(&d), 2 + 5);
	assert_int_equal(d.hunks[1].skip, 1 + 13 + 7);
	assert_both_ways(&a, &b, &d);
}

static void a_difference_fits_texts_of_its_lengths_only(void **state)
{
	struct row_diff d = {2, {{3, 2, 1}, {1, 0, 4}}};
	(void)state;
	assert_true(row_diff_fits(&d, 6, 9));
	assert_true(row_diff_fits(&d, 16, 19));
	assert_false(row_diff_fits(&d, 5, 8)); /* less than is skipped */
	assert_false(row_diff_fits(&d, 6, 10));
	assert_false(row_diff_fits(&d, 1, 4));
	d.hunks[1].skip = UINT32_MAX;
	d.hunks[0].old_len = UINT32_MAX;
	assert_false(row_diff_fits(&d, 6, 9));
}

static uint32_t pick(uint64_t *random, uint32_t n)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*random >> 33) % n;
}

static void random_side(uint64_t *random, char *text, struct row_side *ret)
{
	uint32_t len = pick(random, 120);
	for (uint32_t i = 0; i < len; i++)
		text[i] = pick(random, 8) ? 'a' : (char)('b' + pick(random, 2));
	ret->bare = span_make(text, len);
	uint32_t at = pick(random, len + 1);
	ret->extents = (struct store_extents){.spec = {at, pick(random, len - at + 1)}};
}

static void any_two_texts_lead_to_each_other(void **state)
{
	uint64_t random = 5;
	(void)state;
	for (int i = 0; i < 20000; i++) {
		char texts[2][120];
		struct row_side a, b;
		struct row_diff d;
		random_side(&random, texts[0], &a);
		random_side(&random, texts[1], &b);
		row_diff(&a, &b, &d);
		assert_true(d.n <= ROW_MAX_HUNKS);
		assert_both_ways(&a, &b, &d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_common_start_and_end_never_overlap),
	    cmocka_unit_test(the_same_text_has_no_hunk),
	    cmocka_unit_test(the_spec_between_two_changes_is_not_repeated),
	    cmocka_unit_test(a_difference_fits_texts_of_its_lengths_only),
	    cmocka_unit_test(any_two_texts_lead_to_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
