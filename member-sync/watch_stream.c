#include "member-sync/watch_stream.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>

static const char *const type_names[] = {
    [WATCH_ADDED] = "ADDED",	   [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
    [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
};

void watch_stream_init(struct watch_stream *w, size_t max_line)
{
	size_t max = max_line ? max_line : WATCH_STREAM_MAX_LINE;
	*w = (struct watch_stream){.line = BUF_MAX(max), .max_line = max};
}

void watch_stream_done(struct watch_stream *w)
{
	buf_done(&w->line);
}

bool watch_stream_partial(const struct watch_stream *w)
{
	return w->line.len > 0 || w->broken;
}

int watch_stream_revision(struct span object, uint64_t *ret)
{
	struct span text;

	if (json_text_type(object) != JSON_OBJECT ||
	    json_text_path(object, &text, "metadata", "resourceVersion", NULL) < 0)
		return -EINVAL;
	return num_parse_u64(json_text_plain(text), UINT64_MAX, ret) < 0 ? -EINVAL : 0;
}

static void decode_status(struct watch_event *e)
{
	struct span text;
	int64_t code;

	if (json_text_type(e->object) != JSON_OBJECT)
		return;
	if (json_text_member(e->object, "code", &text) == 0 && json_text_int64(text, &code) == 0 &&
	    code >= 100 && code <= 599)
		e->code = (int)code;
	if (json_text_member(e->object, "message", &text) == 0 &&
	    json_text_type(text) == JSON_STRING && text.len >= 2)
		e->message = span_make(text.ptr + 1, text.len - 2);
}

static int decode(struct span line, struct watch_event *ret, struct err *reterr)
{
	struct span type;
	int t = 0;

	if (json_text_type(line) != JSON_OBJECT || json_text_member(line, "type", &type) < 0 ||
	    json_text_member(line, "object", &ret->object) < 0)
		return err_set(reterr, ERR_INVALID, "a line of the watch is not an event");
	while (t < (int)ARRAY_LEN(type_names) && !span_is(json_text_plain(type), type_names[t]))
		t++;
	if (t == (int)ARRAY_LEN(type_names))
		return err_set(reterr, ERR_INVALID, "an event of the watch has an unknown type");
	ret->type = (enum watch_event_type)t;
	if (ret->type == WATCH_ERROR)
		decode_status(ret);
	else if (watch_stream_revision(ret->object, &ret->revision) < 0)
		return err_set(reterr, ERR_INVALID,
			       "an object of the watch has no numeric resourceVersion");
	return 0;
}

static int take_line(struct watch_stream *w, struct span line,
		     int (*each)(void *arg, const struct watch_event *event), void *arg,
		     struct err *reterr)
{
	struct watch_event event = {0};

	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	if (line.len == 0)
		return 0;
	int r = json_check(line, NULL, reterr);
	if (r == 0)
		r = decode(line, &event, reterr);
	if (r < 0)
		return r;
	w->events++;
	return each(arg, &event);
}

static int too_long(const struct watch_stream *w, struct err *reterr)
{
	return err_set(reterr, ERR_TOO_LARGE, "a line of the watch is over %zu bytes", w->max_line);
}

int watch_stream_feed(struct watch_stream *w, struct span bytes,
		      int (*each)(void *arg, const struct watch_event *event), void *arg,
		      struct err *reterr)
{
	int r = 0;

	if (w->broken)
		return err_set(reterr, ERR_INVALID, "the watch is broken");
	while (r == 0 && bytes.len) {
		const char *end = memchr(bytes.ptr, '\n', bytes.len);
		struct span line = {bytes.ptr, end ? (size_t)(end - bytes.ptr) : bytes.len};
		size_t used = line.len + (end ? 1 : 0);

		bytes = span_make(bytes.ptr + used, bytes.len - used);
		if (end && w->line.len == 0 && line.len <= w->max_line) {
			r = take_line(w, line, each, arg, reterr); /* in place, without a copy */
			continue;
		}
		buf_add_span(&w->line, line);
		if (!buf_ok(&w->line))
			r = too_long(w, reterr);
		else if (end)
			r = take_line(w, buf_span(&w->line), each, arg, reterr);
		if (end)
			buf_clear(&w->line);
	}
	w->broken = r < 0;
	/* A single large event must not hold its memory for the life of a quiet watch. */
	if (w->line.len == 0 && w->line.cap > 65536)
		buf_done(&w->line);
	return r;
}
