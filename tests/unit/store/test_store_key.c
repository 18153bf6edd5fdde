#include "store/store_key.h"

#include "fixture.h"

#include <errno.h>

static void a_key_goes_round(void **state)
{
	static const struct {
		uint16_t type;
		const char *ns, *name;
	} rows[] = {{1, "ns", "name"}, {0xffff, "", "n"}, {0, "a", "b"}, {256, "x.y", "z/w"}};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct store_key key = key_of(rows[i].type, rows[i].ns, rows[i].name), back;
		struct store_key_text text;
		store_key_encode(&key, &text);
		assert_int_equal(store_key_decode(store_key_span(&text), &back), 0);
		assert_int_equal(back.type, key.type);
		assert_true(span_eq(back.ns, key.ns) && span_eq(back.name, key.name));
	}
}

static void the_byte_order_is_the_list_order(void **state)
{
	const struct store_key in_order[] = {
	    key_of(1, "", "a"),	  key_of(1, "", "b"), key_of(1, "a", "z"),  key_of(1, "a-b", "a"),
	    key_of(1, "ab", "a"), key_of(2, "", "a"), key_of(255, "", "a"), key_of(256, "", "a"),
	};
	struct store_key_text before, after;
	(void)state;
	for (size_t i = 1; i < ARRAY_LEN(in_order); i++) {
		store_key_encode(&in_order[i - 1], &before);
		store_key_encode(&in_order[i], &after);
		assert_true(span_cmp(store_key_span(&before), store_key_span(&after)) < 0);
	}
}

static void a_prefix_covers_its_namespace_and_no_other(void **state)
{
	struct store_key in = key_of(1, "team", "x"), out = key_of(1, "team-b", "x");
	struct store_key_text prefix, a, b;
	(void)state;
	store_key_prefix(1, SPAN("team"), &prefix);
	store_key_encode(&in, &a);
	store_key_encode(&out, &b);
	assert_true(span_starts(store_key_span(&a), store_key_span(&prefix)));
	assert_false(span_starts(store_key_span(&b), store_key_span(&prefix)));
	store_key_prefix(1, SPAN_NONE, &prefix);
	assert_true(span_starts(store_key_span(&b), store_key_span(&prefix)));
}

static void the_longest_key_fits(void **state)
{
	char ns[STORE_MAX_NAMESPACE], name[STORE_MAX_NAME];
	struct store_key_text text;
	(void)state;
	memset(ns, 's', sizeof(ns));
	memset(name, 'n', sizeof(name));
	struct store_key key = {1, span_make(ns, sizeof(ns)), span_make(name, sizeof(name))};
	assert_true(store_key_check(&key));
	store_key_encode(&key, &text);
	assert_int_equal(text.len, STORE_KEY_BYTES);
	key.name.len++;
	assert_false(store_key_check(&key));
}

static void bytes_that_are_no_key_are_refused(void **state)
{
	struct store_key key;
	(void)state;
	assert_int_equal(store_key_decode(SPAN(""), &key), -EINVAL);
	assert_int_equal(store_key_decode(SPAN("\0\1ns"), &key), -EINVAL);   /* no separator */
	assert_int_equal(store_key_decode(SPAN("\0\1ns\0"), &key), -EINVAL); /* no name */
	assert_int_equal(store_key_decode(SPAN("\0\1ns\0a\0b"), &key), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_goes_round),
	    cmocka_unit_test(the_byte_order_is_the_list_order),
	    cmocka_unit_test(a_prefix_covers_its_namespace_and_no_other),
	    cmocka_unit_test(the_longest_key_fits),
	    cmocka_unit_test(bytes_that_are_no_key_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
