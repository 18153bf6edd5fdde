#include "fixture.h"

static void equal_texts_share_an_id_until_the_last_unref(void **state)
{
	struct intern in;
	intern_init(&in);
	uint32_t a = intern_ref(&in, SPAN("zone"));

	assert_int_not_equal(a, 0);
	assert_int_equal(intern_ref(&in, SPAN("zone")), a);
	assert_int_not_equal(intern_ref(&in, SPAN("")), a);
	assert_int_equal(intern_ref(&in, SPAN_NONE), 0);
	assert_true(span_is(intern_text(&in, a), "zone"));
	intern_unref(&in, a);
	assert_int_equal(intern_find(&in, SPAN("zone")), a);
	intern_unref(&in, a);
	assert_int_equal(intern_find(&in, SPAN("zone")), 0);
	intern_done(&in);
}

static void freed_ids_are_used_again_and_memory_is_counted(void **state)
{
	struct intern in;
	char text[32];
	intern_init(&in);

	for (int round = 0; round < 3; round++) {
		uint32_t ids[1000];
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "%d-%d", round, i);
			ids[i] = intern_ref(&in, span_of(text));
		}
		for (int i = 0; i < 1000; i++) {
			snprintf(text, sizeof(text), "%d-%d", round, i);
			assert_int_equal(intern_find(&in, span_of(text)), ids[i]);
			assert_true(span_is(intern_text(&in, ids[i]), text));
		}
		for (int i = 0; i < 1000; i++)
			intern_unref(&in, ids[i]);
		assert_int_equal(in.bytes, 0);
		assert_int_equal(in.live, 0);
	}
	assert_true(in.n_entries <= 1001);
	intern_done(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(equal_texts_share_an_id_until_the_last_unref),
	    cmocka_unit_test(freed_ids_are_used_again_and_memory_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
