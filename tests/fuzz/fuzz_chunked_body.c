/*
 * Bodies in chunks: the same bytes whole, and cut where the first one says, give the same body or
 * the same refusal; and a body is never longer than its maximum.
 */
#include "api/chunked_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX ((size_t)4096)

static int feed_in_steps(struct span text, size_t step, struct chunked_body *b, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; !r && i < text.len; i += step)
		r = chunked_body_feed(
		    b, span_make(text.ptr + i, step < text.len - i ? step : text.len - i), out);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	struct span text = span_make((const char *)data + 1, size - 1);
	struct chunked_body whole = {0}, cut = {0};
	auto_buf out = BUF_MAX(MAX), pieces = BUF_MAX(MAX);
	int r = feed_in_steps(text, text.len, &whole, &out);

	if (r != feed_in_steps(text, (size_t)data[0] + 1, &cut, &pieces) || whole.at != cut.at ||
	    !span_eq(buf_span(&out), buf_span(&pieces)) || out.len > MAX)
		abort();
	return 0;
}
