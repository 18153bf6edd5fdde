/* What connections to simulated pods speak: SPDY, commands in WebSocket frames, the HTTP responder.
 */
#include "api/ws_frame.h"
#include "member-sync/sim/port_forward.h"
#include "member-sync/sim/remote_command.h"
#include "member-sync/sim/spdy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

/* ---- remote_command ---- */

/* All messages on a channel, joined. */
static void said(const struct buf *out, int channel, struct buf *ret)
{
	for (size_t at = 0; at < out->len;) {
		const unsigned char *f = (const unsigned char *)out->ptr + at;
		size_t head = 2, n = f[1];
		if (n == 126) {
			n = (size_t)f[2] << 8 | f[3];
			head = 4;
		}
		if ((f[0] & 0x0f) == WS_BINARY && f[head] == channel)
			buf_add(ret, f + head + 1, n - 1);
		at += head + n;
	}
}

static void expect(const struct buf *out, int channel, const char *words)
{
	auto_buf text = BUF_INIT;

	said(out, channel, &text);
	assert_true(span_is(buf_span(&text), words));
}

static void run(const char *query, struct remote_options *o, struct remote_command *c,
		struct buf *out)
{
	assert_int_equal(remote_options_parse(span_of(query), false, o, NULL), 0);
	remote_command_start(c, o, false, SPAN("p-0"), out);
}

#define SUCCESS "{\"metadata\":{},\"status\":\"Success\"}"

static void commands_print_and_end_with_a_status(void **state)
{
	static const struct {
		const char *query, *out, *err;
	} cases[] = {
	    {"command=echo&command=a%20b&command=%26&stdout=1", "a b &\n", ""},
	    {"command=hostname&stdout=true", "p-0\n", ""},
	    {"command=seq&command=3&stdout=1", "1\n2\n3\n", ""},
	    {"command=seq&command=0&stdout=1", "", ""},
	    {"command=echo&command=x&stderr=1", "", ""}, /* nobody wants its output */
	    {"command=cat&stdout=1", "", ""},		 /* no input */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct remote_options o;
		struct remote_command c;
		auto_buf out = BUF_INIT;
		run(cases[i].query, &o, &c, &out);
		assert_true(c.over);
		expect(&out, CHANNEL_STDOUT, cases[i].out);
		expect(&out, CHANNEL_STDERR, cases[i].err);
		expect(&out, CHANNEL_ERROR, SUCCESS);
	}
}

static void exit_codes_are_in_the_status(void **state)
{
	static const char *const queries[] = {"command=false&stdout=1",
					      "command=exit&command=1&stdout=1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
		struct remote_options o;
		struct remote_command c;
		auto_buf out = BUF_INIT;
		run(queries[i], &o, &c, &out);
		expect(&out, CHANNEL_ERROR,
		       "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated "
		       "with non-zero exit code: exit status 1\",\"reason\":\"NonZeroExitCode\","
		       "\"details\":{\"causes\":[{\"reason\":\"ExitCode\",\"message\":\"1\"}]}}");
	}
}

static void cat_copies_until_its_input_ends(void **state)
{
	struct remote_options o;
	struct remote_command c;
	auto_buf out = BUF_INIT;

	(void)state;
	run("command=cat&stdin=1&stdout=1", &o, &c, &out);
	remote_command_input(&c, span_make("\0first ", 7), false, &out);
	remote_command_input(&c, SPAN("and its rest"), true, &out);
	remote_command_input(&c, span_make("\4{\"Width\":80}", 13), false, &out);
	remote_command_input(&c, SPAN(""), false, &out);
	assert_false(c.over);
	remote_command_input(&c, span_make("\xff\0", 2), false, &out);
	assert_true(c.over);
	remote_command_input(&c, span_make("\0late", 5), false, &out);
	expect(&out, CHANNEL_STDOUT, "first and its rest");
	expect(&out, CHANNEL_ERROR, SUCCESS);
}

static void a_terminal_has_one_output(void **state)
{
	struct remote_options o;
	struct remote_command c;
	auto_buf out = BUF_INIT, text = BUF_INIT;

	(void)state;
	run("command=sh&stdin=1&stdout=1&stderr=1&tty=1", &o, &c, &out);
	said(&out, CHANNEL_STDOUT, &text);
	assert_true(span_starts(buf_span(&text), SPAN("muster-sim: sh: not found")));
	expect(&out, CHANNEL_STDERR, "");
}

static void long_output_comes_in_pieces_of_the_room_that_there_is(void **state)
{
	struct remote_options o;
	struct remote_command c;
	auto_buf out = BUF_INIT;
	size_t total = 0;

	(void)state;
	run("command=seq&command=1000000&stdout=1", &o, &c, &out);
	while (!c.over) {
		assert_true(out.len < 100000);
		total += out.len;
		buf_clear(&out);
		(void)remote_command_run(&c, 65536, &out);
	}
	assert_true(total + out.len > 6888896);
	buf_clear(&out);
	remote_command_kill(&c, &out); /* too late */
	assert_int_equal(out.len, 0);
}

static void options_that_make_no_sense_are_refused(void **state)
{
	struct remote_options o;
	auto_buf longer = BUF_INIT;

	(void)state;
	assert_true(remote_options_parse(SPAN("command=cat"), false, &o, NULL) < 0);
	assert_true(remote_options_parse(SPAN("stdout=1"), false, &o, NULL) < 0);
	assert_int_equal(remote_options_parse(SPAN("stdout=1"), true, &o, NULL), 0);
	assert_true(remote_options_parse(SPAN("command=a%00b&stdout=1"), false, &o, NULL) < 0);
	buf_add_str(&longer, "stdout=1&command=");
	for (int i = 0; i < REMOTE_COMMAND_TEXT; i++)
		buf_add_char(&longer, 'x');
	assert_true(remote_options_parse(buf_span(&longer), false, &o, NULL) < 0);
}

/* ---- spdy, port_forward ---- */

/* Two SYN_STREAMs with the headers of kubectl's (request 7, port 80), deflated by another zlib
 * program with the dictionary of the draft. */
static const unsigned char syn_error[] = {
    0x80, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x3c, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x78, 0xf9, 0xe3, 0xc6, 0xa7, 0xc2, 0x02, 0x25, 0x3a, 0x70,
    0x3a, 0x2b, 0x29, 0x4a, 0x4d, 0xcc, 0x85, 0x16, 0x25, 0xac, 0xa9, 0xa0, 0x80, 0x86,
    0x14, 0xcb, 0x45, 0xa0, 0x24, 0xcc, 0x64, 0x61, 0x00, 0x24, 0x39, 0x8b, 0x20, 0x91,
    0x98, 0x09, 0x4a, 0xdc, 0x8c, 0xe6, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff,
};

static const unsigned char syn_data[] = {
    0x80, 0x03, 0x00, 0x01, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0xc2, 0xaa, 0x15, 0x54, 0x0a, 0x25, 0x12, 0xd2, 0x09, 0x00, 0x00, 0x00, 0xff, 0xff,
};

static struct span bytes_of(const unsigned char *b, size_t n)
{
	return span_make((const char *)b, n);
}

static void headers_are_inflated_with_the_dictionary(void **state)
{
	struct spdy *s = spdy_create();
	struct spdy_event e;
	auto_buf out = BUF_INIT;

	(void)state;
	for (size_t n = 0; n < sizeof(syn_error); n++)
		assert_int_equal(spdy_read(s, (const char *)syn_error, n, &e, &out, NULL), 0);
	assert_int_equal(spdy_read(s, (const char *)syn_error, sizeof(syn_error), &e, &out, NULL),
			 sizeof(syn_error));
	assert_int_equal(e.kind, SPDY_OPENED);
	assert_int_equal(e.stream, 1);
	assert_string_equal(e.stream_type, "error");
	assert_string_equal(e.port, "80");
	assert_string_equal(e.request_id, "7");
	assert_int_equal(spdy_read(s, (const char *)syn_data, sizeof(syn_data), &e, &out, NULL),
			 sizeof(syn_data));
	assert_string_equal(e.stream_type, "data");
	assert_int_equal(out.len, 0);
	spdy_destroy(s);
}

static void pings_come_back(void **state)
{
	static const char ping[] = "\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x2a";
	struct spdy *s = spdy_create();
	struct spdy_event e;
	auto_buf out = BUF_INIT;

	(void)state;
	assert_int_equal(spdy_read(s, ping, 12, &e, &out, NULL), 12);
	assert_int_equal(e.kind, SPDY_NOTHING);
	assert_int_equal(out.len, 12);
	assert_memory_equal(out.ptr, ping, 12);
	spdy_destroy(s);
}

static void broken_frames_end_the_connection(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {
	    {"\x80\x02\x00\x06\x00\x00\x00\x00", 8},	      /* SPDY/2 */
	    {"\x80\x03\x00\x06\x00\x00\x00\x00", 8},	      /* a ping of nothing */
	    {"\x80\x03\x00\x01\x00\x00\x00\x04\0\0\0\1", 12}, /* a short SYN_STREAM */
	    {"\x00\x00\x00\x01\x00\xff\xff\xff", 8},	      /* over the maximum */
	    {"\x80\x03\x00\x01\x00\x00\x00\x0e\0\0\0\1\0\0\0\0\0\0zlib", 22}, /* no zlib */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct spdy *s = spdy_create();
		struct spdy_event e;
		auto_buf out = BUF_INIT;
		assert_true(spdy_read(s, bad[i].bytes, bad[i].len, &e, &out, NULL) < 0);
		spdy_destroy(s);
	}
}

/* The data frames of a stream in what a port_forward wrote: their bytes, and whether it ended. */
static bool received(const struct buf *out, uint32_t stream, struct buf *ret)
{
	bool fin = false;

	for (size_t at = 0; at < out->len;) {
		const unsigned char *f = (const unsigned char *)out->ptr + at;
		size_t head = 2, n = f[1];
		if (n == 126 || n == 127) {
			size_t wide = n == 126 ? 2 : 8;
			head += wide;
			n = 0;
			for (size_t i = 0; i < wide; i++)
				n = n << 8 | f[2 + i];
		}
		for (size_t in = head; in < head + n;) {
			const unsigned char *s = f + in;
			size_t len = (size_t)s[5] << 16 | (size_t)s[6] << 8 | s[7];
			if (s[0] == 0 && s[3] == stream) {
				buf_add(ret, s + 8, len);
				fin = fin || s[4];
			}
			in += 8 + len;
		}
		at += head + n;
	}
	return fin;
}

static void ask(struct port_forward *p, const char *request, struct buf *out)
{
	auto_buf frame = BUF_INIT;

	assert_int_equal(port_forward_input(p, bytes_of(syn_error, sizeof(syn_error)), out, NULL),
			 0);
	assert_int_equal(port_forward_input(p, bytes_of(syn_data, sizeof(syn_data)), out, NULL), 0);
	spdy_put_data(3, span_of(request), false, &frame);
	for (size_t i = 0; i < frame.len; i++) /* as torn as can be */
		assert_int_equal(port_forward_input(p, span_make(frame.ptr + i, 1), out, NULL), 0);
}

static void a_port_answers_http_and_ends_both_streams(void **state)
{
	struct port_forward *p = port_forward_create(SPAN("web-0"));
	auto_buf out = BUF_INIT, text = BUF_INIT, none = BUF_INIT;

	(void)state;
	ask(p, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", &out);
	assert_true(received(&out, 3, &text));
	assert_true(span_ends(buf_span(&text), SPAN("\r\n\r\nmuster-sim: pod web-0, port 80\n")));
	assert_true(received(&out, 1, &none));
	assert_int_equal(none.len, 0);
	assert_false(port_forward_run(p, 65536, &out));
	port_forward_destroy(p);
}

static void a_long_answer_comes_as_there_is_room(void **state)
{
	struct port_forward *p = port_forward_create(SPAN("web-0"));
	auto_buf out = BUF_INIT, text = BUF_INIT;
	bool fin;

	(void)state;
	ask(p, "GET /bytes/1000000 HTTP/1.1\r\n\r\n", &out);
	fin = received(&out, 3, &text);
	while (!fin) {
		buf_clear(&out);
		(void)port_forward_run(p, 65536, &out);
		assert_true(out.len > 0 && out.len < 100000);
		fin = received(&out, 3, &text);
	}
	const char *body = memmem(text.ptr, text.len, "\r\n\r\n", 4);
	assert_non_null(body);
	assert_int_equal(text.ptr + text.len - body - 4, 1000000);
	port_forward_destroy(p);
}

static void a_stream_that_is_opened_twice_ends_the_connection(void **state)
{
	struct port_forward *p = port_forward_create(SPAN("web-0"));
	auto_buf out = BUF_INIT, again = BUF_INIT;

	(void)state;
	assert_int_equal(port_forward_input(p, bytes_of(syn_error, sizeof(syn_error)), &out, NULL),
			 0);
	/* Without headers, so that the state of zlib does not matter. */
	buf_add(&again, "\x80\x03\x00\x01\x00\x00\x00\x0a\0\0\0\1\0\0\0\0\0\0", 18);
	assert_true(port_forward_input(p, buf_span(&again), &out, NULL) < 0);
	port_forward_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(commands_print_and_end_with_a_status),
	    cmocka_unit_test(exit_codes_are_in_the_status),
	    cmocka_unit_test(cat_copies_until_its_input_ends),
	    cmocka_unit_test(a_terminal_has_one_output),
	    cmocka_unit_test(long_output_comes_in_pieces_of_the_room_that_there_is),
	    cmocka_unit_test(options_that_make_no_sense_are_refused),
	    cmocka_unit_test(headers_are_inflated_with_the_dictionary),
	    cmocka_unit_test(pings_come_back),
	    cmocka_unit_test(broken_frames_end_the_connection),
	    cmocka_unit_test(a_port_answers_http_and_ends_both_streams),
	    cmocka_unit_test(a_long_answer_comes_as_there_is_room),
	    cmocka_unit_test(a_stream_that_is_opened_twice_ends_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
