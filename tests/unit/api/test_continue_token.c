#include "request.h"

#include "api/continue_token.h"

static const uint8_t incarnation[STORE_UID_LEN] = {1, 2, 3};

static const struct continue_token token = {.revision = 4711,
					    .type = 33,
					    .ns = {"team", 4},
					    .name = {"job-17", 6},
					    .selector_hash = 99,
					    .remaining = 5};

static void a_token_brings_back_what_it_was_given(void **state)
{
	uint8_t key[CONTINUE_KEY_LEN];
	struct buf text = BUF_INIT, mem = BUF_INIT;
	struct continue_token t;
	(void)state;
	continue_key(SPAN("secret"), incarnation, key);
	continue_token_write(&token, key, &text);
	assert_int_equal(continue_token_read(buf_span(&text), key, &mem, &t, NULL), 0);
	assert_int_equal(t.revision, 4711);
	assert_int_equal(t.type, 33);
	assert_int_equal(t.selector_hash, 99);
	assert_int_equal(t.remaining, 5);
	assert_span(t.ns, "team");
	assert_span(t.name, "job-17");
	buf_done(&text);
	buf_done(&mem);
}

static void a_token_with_any_other_byte_is_refused(void **state)
{
	uint8_t key[CONTINUE_KEY_LEN];
	struct buf text = BUF_INIT, mem = BUF_INIT;
	struct continue_token t;
	struct err e = ERR_INIT;
	(void)state;
	continue_key(SPAN("secret"), incarnation, key);
	continue_token_write(&token, key, &text);
	for (size_t i = 0; i < text.len; i++) {
		char old = text.ptr[i];
		text.ptr[i] = old == 'A' ? 'B' : 'A';
		assert_true(continue_token_read(buf_span(&text), key, &mem, &t, &e) < 0);
		assert_int_equal(e.kind, ERR_BAD_REQUEST);
		text.ptr[i] = old;
	}
	for (size_t n = 0; n < text.len; n++)
		assert_true(continue_token_read(span_make(text.ptr, n), key, &mem, &t, NULL) < 0);
	buf_done(&text);
	buf_done(&mem);
}

static void a_token_of_another_store_is_refused(void **state)
{
	uint8_t key[CONTINUE_KEY_LEN], other[CONTINUE_KEY_LEN];
	uint8_t restored[STORE_UID_LEN] = {1, 2, 4};
	struct buf text = BUF_INIT, mem = BUF_INIT;
	struct continue_token t;
	(void)state;
	continue_key(SPAN("secret"), incarnation, key);
	continue_key(SPAN("secret"), restored, other);
	continue_token_write(&token, key, &text);
	assert_true(continue_token_read(buf_span(&text), other, &mem, &t, NULL) < 0);
	buf_done(&text);
	buf_done(&mem);
}

static void selectors_that_differ_hash_differently(void **state)
{
	uint64_t h = continue_selector_hash(SPAN("a"), SPAN("b"), SPAN("c"));
	(void)state;
	assert_int_equal(h, continue_selector_hash(SPAN("a"), SPAN("b"), SPAN("c")));
	assert_int_not_equal(h, continue_selector_hash(SPAN("ab"), SPAN(""), SPAN("c")));
	assert_int_not_equal(h, continue_selector_hash(SPAN("a"), SPAN("c"), SPAN("b")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_token_brings_back_what_it_was_given),
	    cmocka_unit_test(a_token_with_any_other_byte_is_refused),
	    cmocka_unit_test(a_token_of_another_store_is_refused),
	    cmocka_unit_test(selectors_that_differ_hash_differently),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
