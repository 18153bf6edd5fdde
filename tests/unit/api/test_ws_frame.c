/* Frames of a WebSocket, as a server reads and writes them. */
#include "api/ws_frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

static void the_key_of_the_rfc_is_accepted(void **state)
{
	char accept[WS_ACCEPT_LEN + 1];

	(void)state;
	/* RFC 6455 1.3 */
	assert_true(ws_accept(SPAN("dGhlIHNhbXBsZSBub25jZQ=="), accept));
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	assert_false(ws_accept(SPAN("short"), accept));
}

static void a_masked_frame_of_the_rfc_is_read(void **state)
{
	/* RFC 6455 5.7: "Hello", masked */
	char bytes[] = "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
	struct ws_frame f;

	(void)state;
	for (size_t n = 0; n < 11; n++) {
		char part[11];
		memcpy(part, bytes, n);
		assert_int_equal(ws_frame_read(part, n, &f, NULL), 0);
	}
	assert_int_equal(ws_frame_read(bytes, 11, &f, NULL), 11);
	assert_int_equal(f.opcode, WS_TEXT);
	assert_true(f.last);
	assert_true(span_is(f.payload, "Hello"));
}

static void what_no_client_may_send_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
	    {"\x81\x05Hello", 7},			  /* not masked */
	    {"\xc1\x85\x37\xfa\x21\x3d\x7f", 7},	  /* a reserved bit */
	    {"\x83\x80\0\0\0\0", 6},			  /* an unknown opcode */
	    {"\x89\xfe\0\x7e\0\0\0\0", 8},		  /* a long ping */
	    {"\x09\x80\0\0\0\0", 6},			  /* a ping in parts */
	    {"\x82\xff\0\0\0\0\0\x10\0\x01\0\0\0\0", 14}, /* over the maximum */
	    {"\x82\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14},
	};
	struct ws_frame f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char bytes[16];
		memcpy(bytes, bad[i].bytes, bad[i].len);
		assert_true(ws_frame_read(bytes, bad[i].len, &f, NULL) < 0);
	}
}

static void lengths_are_written_as_short_as_they_can_be(void **state)
{
	static const struct {
		size_t len;
		const char *head;
		size_t n;
	} cases[] = {
	    {0, "\x82\x00", 2},
	    {125, "\x82\x7d", 2},
	    {126, "\x82\x7e\x00\x7e", 4},
	    {65535, "\x82\x7e\xff\xff", 4},
	    {65536, "\x82\x7f\0\0\0\0\0\x01\0\0", 10},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_buf out = BUF_INIT;
		ws_frame_begin(&out, WS_BINARY, cases[i].len);
		assert_int_equal(out.len, cases[i].n);
		assert_memory_equal(out.ptr, cases[i].head, cases[i].n);
	}
}

static void lines_are_messages(void **state)
{
	auto_buf out = BUF_INIT;

	(void)state;
	ws_frame_lines(&out, SPAN("{1}\n{2}\n"));
	assert_true(span_is(buf_span(&out), "\x81\x04{1}\n\x81\x04{2}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_key_of_the_rfc_is_accepted),
	    cmocka_unit_test(a_masked_frame_of_the_rfc_is_read),
	    cmocka_unit_test(what_no_client_may_send_is_refused),
	    cmocka_unit_test(lengths_are_written_as_short_as_they_can_be),
	    cmocka_unit_test(lines_are_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
