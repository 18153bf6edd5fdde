/*
 * list_stream against itself (however the bytes are cut, the same items come out) and against the
 * whole-text checker: a complete list is valid JSON, and its items are those of the text.
 */
#include "base/json.h"
#include "member-sync/list_stream.h"

#include <assert.h>

struct seen {
	struct buf items;
	size_t n;
};

static int note(void *arg, struct span item)
{
	struct seen *s = arg;

	assert(json_check(item, NULL, NULL) == 0 && json_text_type(item) == JSON_OBJECT);
	buf_add_span(&s->items, item);
	s->n++;
	return 0;
}

static bool run(struct span bytes, size_t step, struct seen *s, uint64_t *ret_revision)
{
	struct list_stream l;
	int r = 0;

	list_stream_init(&l, 4096);
	for (size_t at = 0; at < bytes.len && r == 0; at += step) {
		size_t n = bytes.len - at < step ? bytes.len - at : step;
		r = list_stream_feed(&l, span_make(bytes.ptr + at, n), note, s, NULL);
	}
	bool complete = list_stream_complete(&l);
	assert(!complete || r == 0);
	assert(l.items == s->n);
	*ret_revision = complete ? l.revision : 0;
	list_stream_done(&l);
	return complete;
}

/* Duplicate members of the list itself are the whole-text checker's to refuse. */
static void compare(struct span text, const struct seen *s)
{
	struct json_limits lenient = {.allow_duplicates = true};
	struct span items = SPAN_NONE, value;
	size_t pos = 0, n = 0;

	assert(json_check(text, &lenient, NULL) == 0);
	if (json_check(text, NULL, NULL) < 0)
		return;
	if (json_text_member(text, "items", &items) == 0 && json_text_type(items) == JSON_ARRAY)
		while (json_text_next(items, &pos, NULL, &value))
			n++;
	assert(n == s->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole = {.items = BUF_INIT}, cut = {.items = BUF_INIT};
	uint64_t a_revision, b_revision;

	if (size < 1)
		return 0;
	struct span text = span_make((const char *)data + 1, size - 1);
	bool a = run(text, size, &whole, &a_revision);
	bool b = run(text, data[0] % 32 + 1, &cut, &b_revision);
	assert(a == b && a_revision == b_revision);
	assert(span_eq(buf_span(&whole.items), buf_span(&cut.items)));
	if (a)
		compare(text, &whole);
	buf_done(&whole.items);
	buf_done(&cut.items);
	return 0;
}
