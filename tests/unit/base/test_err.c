#include "base/err.h"

#include "test.h"

static void setting_returns_the_errno_of_the_kind(void **state)
{
	struct err e = ERR_INIT;
	(void)state;
	assert_int_equal(err_set(&e, ERR_NOT_FOUND, "no %s", "job"), -ENOENT);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_string_equal(e.text, "no job");
	assert_string_equal(e.field, "");
	assert_int_equal(err_set(NULL, ERR_CONFLICT, "x"), -ESTALE);
}

static void a_field_is_kept_until_the_next_error(void **state)
{
	struct err e = ERR_INIT;
	(void)state;
	assert_int_equal(err_set_field(&e, ERR_INVALID, "spec.a", "bad"), -EDOM);
	assert_string_equal(e.field, "spec.a");
	err_set(&e, ERR_INVALID, "other");
	assert_string_equal(e.field, "");
}

static void wrapping_puts_context_before_the_text(void **state)
{
	struct err e = ERR_INIT;
	(void)state;
	err_set(&e, ERR_TIMEOUT, "inner");
	assert_int_equal(err_wrap(&e, "outer %d", 1), -ETIMEDOUT);
	assert_string_equal(e.text, "outer 1: inner");
	assert_int_equal(err_wrap(NULL, "x"), -EIO);
}

static void long_texts_are_cut_and_terminated(void **state)
{
	struct err e = ERR_INIT;
	char big[2000];
	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set_field(&e, ERR_INVALID, big, "%s", big);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(strlen(e.field), sizeof(e.field) - 1);
	err_wrap(&e, "%s", big);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void every_kind_has_a_whole_row(void **state)
{
	(void)state;
	for (int k = ERR_BAD_REQUEST; k < ERR_KIND_MAX; k++) {
		assert_true(err_errno((enum err_kind)k) < 0);
		assert_in_range(err_http_code((enum err_kind)k), 400, 599);
		assert_true(err_reason((enum err_kind)k)[0] != '\0');
		/* A kind's errno names it alone, so callers may tell kinds by it. */
		for (int j = ERR_BAD_REQUEST; j < k; j++)
			assert_int_not_equal(err_errno((enum err_kind)k),
					     err_errno((enum err_kind)j));
	}
	assert_int_equal(err_http_code((enum err_kind)1000), 500);
	assert_int_equal(err_http_code((enum err_kind) - 1), 500);
}

static void codes_of_servers_become_kinds(void **state)
{
	(void)state;
	assert_int_equal(err_kind_from_http(404), ERR_NOT_FOUND);
	assert_int_equal(err_kind_from_http(409), ERR_CONFLICT);
	assert_int_equal(err_kind_from_http(429), ERR_TOO_MANY);
	assert_int_equal(err_kind_from_http(418), ERR_BAD_REQUEST);
	assert_int_equal(err_kind_from_http(502), ERR_INTERNAL);
	assert_int_equal(err_kind_from_http(507), ERR_NO_SPACE);
}

static void what_may_pass_by_itself_is_retryable(void **state)
{
	(void)state;
	assert_true(err_is_retryable(ERR_TOO_MANY));
	assert_true(err_is_retryable(ERR_NO_SPACE));
	assert_false(err_is_retryable(ERR_INVALID));
	assert_false(err_is_retryable(ERR_ALREADY_EXISTS));
}

RUN(T(setting_returns_the_errno_of_the_kind), T(a_field_is_kept_until_the_next_error),
    T(wrapping_puts_context_before_the_text), T(long_texts_are_cut_and_terminated),
    T(every_kind_has_a_whole_row), T(codes_of_servers_become_kinds),
    T(what_may_pass_by_itself_is_retryable))
