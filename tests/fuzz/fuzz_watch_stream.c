/*
 * watch_stream against itself: however the bytes are cut, the same events come out, and what
 * comes out is checked JSON.
 */
#include "base/json.h"
#include "member-sync/watch_stream.h"

#include <assert.h>

struct seen {
	struct buf log;
	size_t events;
};

static int note(void *arg, const struct watch_event *e)
{
	struct seen *s = arg;

	assert(json_check(e->object, NULL, NULL) == 0);
	buf_addf(&s->log, "%d %llu %d ", (int)e->type, (unsigned long long)e->revision, e->code);
	buf_add_span(&s->log, e->object);
	buf_add_span(&s->log, e->message);
	s->events++;
	return 0;
}

static int run(const char *bytes, size_t len, size_t step, struct seen *s)
{
	struct watch_stream w;
	int r = 0;

	watch_stream_init(&w, 4096);
	for (size_t at = 0; at < len && r == 0; at += step) {
		size_t n = len - at < step ? len - at : step;
		r = watch_stream_feed(&w, span_make(bytes + at, n), note, s, NULL);
	}
	assert(w.events == s->events);
	if (r < 0)
		assert(watch_stream_partial(&w) &&
		       watch_stream_feed(&w, SPAN("x"), note, s, NULL) < 0);
	watch_stream_done(&w);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = {.log = BUF_INIT}, cut = {.log = BUF_INIT};

	if (size < 1)
		return 0;
	int a = run((const char *)data + 1, size - 1, size, &whole);
	int b = run((const char *)data + 1, size - 1, data[0] % 32 + 1, &cut);
	assert(a == b);
	assert(span_eq(buf_span(&whole.log), buf_span(&cut.log)));
	buf_done(&whole.log);
	buf_done(&cut.log);
	return 0;
}
