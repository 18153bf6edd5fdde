/*
 * Keys that an object names twice, by their paths. A slow walk for texts that are known to have
 * some: nearly none do.
 */
#include "base/json.h"

#include "base/arena.h"
#include "base/json_escape.h"
#include "base/vec.h"

#define MAX_NAMED 100 /* as strict decoders of Kubernetes: the rest is not told */

struct walk {
	struct buf path, *out;
	int n;
};

static int compare_keys(const void *a, const void *b)
{
	return span_cmp(*(const struct span *)a, *(const struct span *)b);
}

static void visit(struct walk *w, struct span value);

static void add_field(struct walk *w, struct span key)
{
	if (w->path.len)
		buf_add_char(&w->path, '.');
	buf_add_span(&w->path, key);
}

/* Once for each key, however often it stands there. */
static void tell(struct walk *w, struct span *keys, size_t n)
{
	size_t len = w->path.len;

	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 1; i < n; i++) {
		if (!span_eq(keys[i - 1], keys[i]) || (i > 1 && span_eq(keys[i - 2], keys[i])) ||
		    w->n++ >= MAX_NAMED)
			continue;
		add_field(w, keys[i]);
		buf_add_span(w->out, buf_span(&w->path));
		buf_add_char(w->out, '\n');
		w->path.len = len;
	}
}

static void visit_object(struct walk *w, struct span object)
{
	auto_arena mem = ARENA_INIT;
	struct VEC(struct span) keys = {0};
	struct span raw = SPAN_NONE, value;
	size_t len = w->path.len;

	for (size_t at = 0; json_text_next(object, &at, &raw, &value);) {
		auto_buf key = BUF_INIT;
		json_unescape(raw, &key);
		vec_push(&keys, arena_span(&mem, buf_span(&key)));
		add_field(w, buf_span(&key));
		visit(w, value);
		w->path.len = len;
	}
	tell(w, keys.items, keys.len);
	vec_done(&keys);
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
