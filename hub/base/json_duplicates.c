/*
 * Keys that an object names twice, by their paths. A slow walk for texts that are known to have
 * some: nearly none do.
 */
#include "base/json.h"

#include "base/json_escape.h"
#include "base/map.h"

#define MAX_NAMED 100 /* as strict decoders of Kubernetes: the rest is not told */

struct walk {
	struct buf path, *out;
	int n;
};

static void visit(struct walk *w, struct span value);

static void add_field(struct walk *w, struct span key)
{
	if (w->path.len)
		buf_add_char(&w->path, '.');
	buf_add_span(&w->path, key);
}

/* Of the key that w->path ends in; each is named once, however often it stands there. */
static void note(struct walk *w, struct span key, struct map *seen)
{
	static char once, told;
	const void *before = map_put(seen, key, &once);

	if (!before)
		return;
	(void)map_put(seen, key, &told);
	if (before == &told || w->n++ >= MAX_NAMED)
		return;
	buf_add_span(w->out, buf_span(&w->path));
	buf_add_char(w->out, '\n');
}

static void visit_object(struct walk *w, struct span object)
{
	struct map seen = MAP_INIT;
	struct span raw = SPAN_NONE, value;
	size_t len = w->path.len;

	for (size_t at = 0; json_text_next(object, &at, &raw, &value);) {
		auto_buf key = BUF_INIT;
		json_unescape(raw, &key);
		add_field(w, buf_span(&key));
		note(w, buf_span(&key), &seen);
		visit(w, value);
		w->path.len = len;
	}
	map_done(&seen);
}

static void visit(struct walk *w, struct span value)
{
	size_t len = w->path.len, n = 0;
	struct span item;

	if (json_text_type(value) == JSON_OBJECT) {
		visit_object(w, value);
	} else if (json_text_type(value) == JSON_ARRAY) {
		for (size_t at = 0; json_text_next(value, &at, NULL, &item);) {
			buf_addf(&w->path, "[%zu]", n++);
			visit(w, item);
			w->path.len = len;
		}
	}
}

void json_text_duplicates(struct span text, struct buf *out)
{
	struct walk w = {.out = out};

	visit(&w, text);
	buf_done(&w.path);
}
