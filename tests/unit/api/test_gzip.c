#include "request.h"

#include "api/gzip.h"

static void inflate_all(const struct buf *zipped, struct buf *out)
{
	z_stream z = {.next_in = (Bytef *)zipped->ptr, .avail_in = (uInt)zipped->len};
	int r = inflateInit2(&z, 15 + 16);
	while (r == Z_OK) {
		char *at = buf_reserve(out, 65536);
		z.next_out = (Bytef *)at;
		z.avail_out = 65536;
		r = inflate(&z, Z_NO_FLUSH);
		buf_advance(out, 65536 - z.avail_out);
	}
	assert_int_equal(r, Z_STREAM_END);
	inflateEnd(&z);
}

static void pieces_make_one_stream(void **state)
{
	struct gzip g;
	struct buf zipped = BUF_INIT, text = BUF_INIT, want = BUF_INIT;
	(void)state;
	assert_true(gzip_begin(&g));
	for (int i = 0; i < 500; i++) {
		char line[64];
		int n = snprintf(line, sizeof(line), "{\"item\":%d,\"square\":%d}\n", i, i * i);
		buf_add(&want, line, (size_t)n);
		assert_true(gzip_add(&g, span_make(line, (size_t)n), i == 499, &zipped));
	}
	gzip_done(&g);
	inflate_all(&zipped, &text);
	assert_span(buf_span(&text), want.ptr);
	buf_done(&zipped);
	buf_done(&text);
	buf_done(&want);
}

static void a_whole_body_is_replaced(void **state)
{
	struct buf body = BUF_INIT, text = BUF_INIT;
	(void)state;
	for (int i = 0; i < 20000; i++)
		buf_add_str(&body, "the same words ");
	assert_true(gzip_whole(&body));
	assert_true(body.len < 20000);
	inflate_all(&body, &text);
	assert_int_equal(text.len, 20000 * 15);
	buf_done(&body);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_make_one_stream),
	    cmocka_unit_test(a_whole_body_is_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
