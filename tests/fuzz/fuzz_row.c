/*
 * Rows of the store: a damaged row is refused, never read beyond its end; what is taken leads
 * from state to state within the lengths it says. The first byte chooses the kind of row.
 */
#include "store/row.h"
#include "store/store_key.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum(struct span s)
{
	uint64_t n = 0;
	for (size_t i = 0; i < s.len; i++)
		n += (unsigned char)s.ptr[i];
	return n;
}

static uint64_t touch_object(const struct store_object *o)
{
	/* A log row without a body has extents, but no bytes. */
	struct span status = o->json.ptr ? store_object_part(o, o->extents.status) : SPAN_NONE;
	return sum(o->json) + sum(o->digest) + sum(status);
}

static uint64_t touch_log(struct span row)
{
	struct row_log log;
	struct store_key key;

	if (row_log_read(row, &log) < 0)
		return 0;
	uint64_t n = touch_object(&log.object);
	if (store_key_decode(log.key, &key) == 0)
		n += sum(key.ns) + sum(key.name);
	if (!log.has_old)
		return n;
	/* Texts of the lengths that the row says; what is in them does not matter. */
	size_t len = log.bare_len > log.old_bare_len ? log.bare_len : log.old_bare_len;
	char *text = xcalloc(1, len), *out = xcalloc(1, len);
	if (row_log_backward(&log, span_make(text, log.bare_len), out) < 0)
		abort();
	n += sum(span_make(out, log.old_bare_len));
	if (!log.body && row_log_forward(&log, span_make(text, log.old_bare_len), out) < 0)
		abort();
	n += sum(span_make(out, log.bare_len));
	free(text);
	free(out);
	return n;
}

static uint64_t touch_state(struct span row)
{
	struct row_state state;
	uint64_t revision;

	if (row_state_read(row, &state) < 0)
		return 0;
	if (row_state_peek(row, &revision) != state.tombstone || revision != state.object.revision)
		abort();
	return touch_object(&state.object) + sum(state.owners);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store_key key;
	uint64_t n = 0;

	if (size == 0)
		return 0;
	struct span row = span_make((const char *)data + 1, size - 1);
	if (data[0] % 3 == 0)
		n += touch_state(row);
	else if (data[0] % 3 == 1)
		n += touch_log(row);
	else if (store_key_decode(row, &key) == 0)
		n += sum(key.ns) + sum(key.name);
	__asm__ volatile("" : : "r"(n)); /* the reads above are the test */
	return 0;
}
