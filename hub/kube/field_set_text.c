/*
 * Field sets as FieldsV1, and paths as the words of a conflict have them.
 */
#include "base/buf.h"
#include "base/json.h"
#include "kube/field_set.h"

#include <limits.h>

static const char step_letters[] = {
    [FIELD_NAME] = 'f', [FIELD_KEY] = 'k', [FIELD_VALUE] = 'v', [FIELD_INDEX] = 'i'};

/* ---- canonical keys ---- */

void field_scalar_print(const struct cJSON *scalar, struct buf *out)
{
	int64_t n;

	if (json_is(scalar, JSON_NUMBER) && json_value_int64(scalar, &n) == 0)
		buf_add_i64(out, n);
	else
		json_print(scalar, out);
}

static bool is_scalar(const struct cJSON *v)
{
	return !json_is(v, JSON_OBJECT) && !json_is(v, JSON_ARRAY);
}

/* The members of a k: step, sorted. There are as many as a list type has keys: few. */
#define MAX_KEYS 16

static bool canonical_key(const struct cJSON *object, struct buf *out)
{
	const struct cJSON *members[MAX_KEYS];
	size_t n = 0;

	if (!json_is(object, JSON_OBJECT) || json_len(object) > MAX_KEYS)
		return false;
	json_foreach (object, m) {
		size_t at = n++;
		if (!is_scalar(m))
			return false;
		for (; at && strcmp(json_key(members[at - 1]), json_key(m)) > 0; at--)
			members[at] = members[at - 1];
		members[at] = m;
	}
	buf_add_char(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(out, ',');
		buf_add_json_str(out, span_of(json_key(members[i])));
		buf_add_char(out, ':');
		field_scalar_print(members[i], out);
	}
	buf_add_char(out, '}');
	return n > 0;
}

/* Where a string literal without escapes ends, just behind its quote; NULL when it is no such. */
static const char *past_plain(const char *p, const char *end)
{
	if (p == end || *p++ != '"')
		return NULL;
	while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p < end && *p == '"' ? p + 1 : NULL;
}

/* {"name":"value"} or "value": what most keys and values are, and the server wrote itself. The text
 * comes from a parsed string, so it is UTF-8. */
static bool is_canonical(enum field_step step, struct span text)
{
	const char *p = text.ptr, *end = text.ptr + text.len;

	if (step == FIELD_VALUE)
		return past_plain(p, end) == end;
	if (p == end || *p++ != '{' || !(p = past_plain(p, end)) || p == end || *p++ != ':')
		return false;
	p = past_plain(p, end);
	return p && p + 1 == end && *p == '}';
}

static bool canonical(struct arena *mem, enum field_step step, struct span text, struct span *ret)
{
	auto_json *v = NULL;
	auto_buf b = BUF_INIT;
	bool ok = false;

	if (is_canonical(step, text)) {
		*ret = text;
		return true;
	}
	if (json_parse(text, NULL, &v, NULL) < 0)
		return false;
	if (step == FIELD_KEY) {
		ok = canonical_key(v, &b);
	} else if (is_scalar(v)) {
		field_scalar_print(v, &b);
		ok = true;
	}
	if (ok && buf_ok(&b))
		*ret = arena_span(mem, buf_span(&b));
	return ok && buf_ok(&b);
}

/* ---- reading ---- */

static int malformed(struct err *reterr, const char *key)
{
	return err_set(reterr, ERR_BAD_REQUEST, "not a FieldsV1 set: %.100s", key);
}

/* 1: a step of a kind that is not known here. */
static int read_key(struct arena *mem, const char *text, struct field_key *ret, struct err *reterr)
{
	size_t len = strlen(text);

	if (len < 2 || text[1] != ':')
		return malformed(reterr, text);
	for (size_t i = 0; i < ARRAY_LEN(step_letters); i++) {
		if (step_letters[i] != text[0])
			continue;
		*ret = (struct field_key){(enum field_step)i, {text + 2, len - 2}};
		if (i == FIELD_KEY || i == FIELD_VALUE)
			return canonical(mem, ret->step, ret->text, &ret->text)
				   ? 0
				   : malformed(reterr, text);
		if (i == FIELD_INDEX && (len == 2 || strspn(text + 2, "0123456789") != len - 2))
			return malformed(reterr, text);
		return 0;
	}
	return 1;
}

static int compare_children(const void *a, const void *b)
{
	return field_key_cmp(((const struct field_child *)a)->key,
			     ((const struct field_child *)b)->key);
}

/* Sorts, and joins what is the same step written twice. */
static void settle(struct arena *mem, struct field_set *s)
{
	uint32_t n = 0;

	qsort(s->children, s->n, sizeof(*s->children), compare_children);
	for (uint32_t i = 0; i < s->n; i++) {
		struct field_child *last = n ? &s->children[n - 1] : NULL;
		if (last && compare_children(last, &s->children[i]) == 0)
			last->set = field_set_union(mem, &last->set, &s->children[i].set);
		else
			s->children[n++] = s->children[i];
	}
	s->n = n;
}

static int read_node(struct arena *mem, const struct cJSON *fields, int depth,
		     struct field_set *ret, struct err *reterr)
{
	struct field_set out = FIELD_SET_EMPTY;
	bool sorted = true;

	if (!json_is(fields, JSON_OBJECT))
		return malformed(reterr, "an object is expected");
	if (depth > FIELD_SET_MAX_DEPTH)
		return malformed(reterr, "nested too deeply");
	json_foreach (fields, m) {
		struct field_set child;
		struct field_key key;
		if (strcmp(json_key(m), ".") == 0) {
			out.here = true;
			continue;
		}
		int r = read_key(mem, json_key(m), &key, reterr);
		if (r == 0)
			r = read_node(mem, m, depth + 1, &child, reterr);
		if (r < 0)
			return r;
		if (r > 0)
			continue;
		if (out.n && field_key_cmp(out.children[out.n - 1].key, key) >= 0)
			sorted = false;
		field_set_append(mem, &out, key, &child);
	}
	if (!sorted)
		settle(mem, &out);
	if (out.n == 0)
		out.here = true;
	*ret = out;
	return 0;
}

int field_set_read(struct arena *mem, const struct cJSON *fields, struct field_set *ret,
		   struct err *reterr)
{
	int r = read_node(mem, fields, 0, ret, reterr);
	if (r == 0)
		ret->here = false;
	return r;
}

/* ---- writing ---- */

void field_key_print_v1(struct field_key key, struct buf *out)
{
	char head[2] = {step_letters[key.step], ':'};
	size_t at = out->len + 1;

	/* Names are mostly plain: head and text as one literal. */
	buf_add_json_str(out, key.text);
	if (!buf_ok(out) || !buf_reserve(out, 2))
		return;
	memmove(out->ptr + at + 2, out->ptr + at, out->len - at);
	memcpy(out->ptr + at, head, 2);
	buf_advance(out, 2);
}

static void print_node(const struct field_set *s, int depth, struct buf *out)
{
	bool whole = depth >= FIELD_SET_MAX_DEPTH || s->n >= JSON_MAX_KEYS;

	buf_add_char(out, '{');
	if (s->n && s->here && !whole)
		buf_add_str(out, "\".\":{}");
	for (uint32_t i = 0; i < s->n && !whole; i++) {
		const struct field_child *c = &s->children[i];
		if (i || s->here)
			buf_add_char(out, ',');
		field_key_print_v1(c->key, out);
		buf_add_char(out, ':');
		print_node(&c->set, depth + 1, out);
	}
	buf_add_char(out, '}');
}

void field_set_print(const struct field_set *s, struct buf *out)
{
	print_node(s, 0, out);
}

/* ---- paths ---- */

struct path_walk {
	bool (*each)(void *arg, struct span path);
	void *arg;
	struct buf path;
};

void field_key_print(struct field_key key, struct buf *out)
{
	struct span name = SPAN_NONE, value;
	size_t at = 0;

	if (key.step == FIELD_NAME) {
		buf_add_char(out, '.');
		buf_add_span(out, key.text);
		return;
	}
	buf_add_char(out, '[');
	if (key.step == FIELD_KEY) {
		for (bool first = true; json_text_next(key.text, &at, &name, &value); first = false)
			buf_addf(out, "%s%.*s=%.*s", first ? "" : ",", SPAN_ARGS(name),
				 SPAN_ARGS(value));
	} else {
		buf_addf(out, "%s%.*s", key.step == FIELD_VALUE ? "=" : "", SPAN_ARGS(key.text));
	}
	buf_add_char(out, ']');
}

/* What is in the set on one level, then what lies deeper: structured-merge-diff's Set.Iterate. */
static bool walk(struct path_walk *w, const struct field_set *s)
{
	size_t len = w->path.len;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->children[i].set.here)
			continue;
		field_key_print(s->children[i].key, &w->path);
		if (!w->each(w->arg, buf_span(&w->path)))
			return false;
		w->path.len = len;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		if (!s->children[i].set.n)
			continue;
		field_key_print(s->children[i].key, &w->path);
		if (!walk(w, &s->children[i].set))
			return false;
		w->path.len = len;
	}
	return true;
}

void field_set_each(const struct field_set *s, bool (*each)(void *arg, struct span path), void *arg)
{
	struct path_walk w = {.each = each, .arg = arg};

	(void)walk(&w, s);
	buf_done(&w.path);
}
