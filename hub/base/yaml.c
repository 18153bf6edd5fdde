/*
 * libyaml's events to a tree, by recursive descent bounded by YAML_MAX_DEPTH.
 *
 * An anchor keeps its own copy of the value it names, with the copy's size, so that an alias is
 * one duplication charged against the stream's budget before it is made: a bomb is refused at
 * the first step that would pass the budget, not after it. Copies of anchors are charged too.
 */
#include "base/yaml.h"

#include "base/json.h"
#include "base/json_members.h"
#include "base/map.h"
#include "base/yaml_scalar.h"

#include <errno.h>
#include <yaml.h>

/* What a value costs. */
struct measure {
	size_t nodes, bytes;
	int height; /* containers on the longest way down */
};

struct value {
	struct cJSON *node; /* owned */
	struct measure size;
};

struct anchor {
	struct cJSON *copy; /* owned; NULL while its value is still being read */
	struct measure size;
};

struct reader {
	yaml_parser_t parser;
	struct map anchors; /* name -> struct anchor, of the current document */
	size_t nodes, bytes;
	int depth;
	struct buf *duplicates; /* lines; may be NULL */
	struct err *reterr;
};

#define auto_event AUTO(yaml_event_delete) yaml_event_t

static int parse_value(struct reader *r, const yaml_event_t *ev, struct value *ret);

static int fail(struct reader *r, enum err_kind kind, size_t line, const char *what)
{
	return err_set(r->reterr, kind, "invalid YAML at line %zu: %s", line, what);
}

static size_t line_of(const yaml_event_t *ev)
{
	return ev->start_mark.line + 1;
}

static int next_event(struct reader *r, yaml_event_t *ret)
{
	if (yaml_parser_parse(&r->parser, ret))
		return 0;
	const yaml_parser_t *p = &r->parser;
	size_t line = p->error == YAML_READER_ERROR ? p->mark.line : p->problem_mark.line;
	memset(ret, 0, sizeof(*ret));
	return fail(r, ERR_BAD_REQUEST, line + 1, p->problem ? p->problem : "malformed");
}

static int charge(struct reader *r, const yaml_event_t *ev, const struct measure *m)
{
	/* Neither sum overflows: each m is itself within the budget. */
	if (r->nodes + m->nodes > YAML_MAX_NODES || r->bytes + m->bytes > YAML_MAX_BYTES)
		return fail(r, ERR_TOO_LARGE, line_of(ev),
			    "too many nodes after expansion (excessive aliasing)");
	if (r->depth + m->height > YAML_MAX_DEPTH)
		return fail(r, ERR_BAD_REQUEST, line_of(ev), "nested too deeply"); /* as json.h */
	r->nodes += m->nodes;
	r->bytes += m->bytes;
	return 0;
}

static void free_anchor(struct anchor *a)
{
	if (!a)
		return;
	json_free(a->copy);
	free(a);
}

static void clear_anchors(struct reader *r)
{
	map_foreach (&r->anchors, e)
		free_anchor(e->value);
	map_done(&r->anchors);
}

static const char *anchor_name(const yaml_event_t *ev)
{
	switch ((int)ev->type) {
	case YAML_SCALAR_EVENT:
		return (const char *)ev->data.scalar.anchor;
	case YAML_SEQUENCE_START_EVENT:
		return (const char *)ev->data.sequence_start.anchor;
	case YAML_MAPPING_START_EVENT:
		return (const char *)ev->data.mapping_start.anchor;
	default:
		return NULL;
	}
}

/* The name stands for something from its first event on, so that a value which contains itself
 * is told from an unknown name. */
static void open_anchor(struct reader *r, const char *name)
{
	if (name)
		free_anchor(map_put(&r->anchors, span_of(name), xcalloc(1, sizeof(struct anchor))));
}

static int close_anchor(struct reader *r, const yaml_event_t *ev, const struct value *v)
{
	const char *name = anchor_name(ev);
	if (!name)
		return 0;
	int e = charge(r, ev, &v->size);
	if (e < 0)
		return e;
	struct anchor *a = xcalloc(1, sizeof(*a));
	a->copy = json_dup(v->node);
	a->size = v->size;
	free_anchor(map_put(&r->anchors, span_of(name), a));
	return 0;
}

static int find_anchor(struct reader *r, const yaml_event_t *ev, const struct anchor **ret)
{
	const char *name = (const char *)ev->data.alias.anchor;
	const struct anchor *a = map_get_str(&r->anchors, name);
	if (!a)
		return fail(r, ERR_BAD_REQUEST, line_of(ev), "unknown anchor");
	if (!a->copy)
		return fail(r, ERR_BAD_REQUEST, line_of(ev), "an anchor's value contains itself");
	*ret = a;
	return 0;
}

static int parse_alias(struct reader *r, const yaml_event_t *ev, struct value *ret)
{
	const struct anchor *a;
	int e = find_anchor(r, ev, &a);
	if (e == 0)
		e = charge(r, ev, &a->size);
	if (e < 0)
		return e;
	*ret = (struct value){json_dup(a->copy), a->size};
	return 0;
}

static int resolve(struct reader *r, const yaml_event_t *ev, struct buf *text,
		   struct yaml_scalar *ret)
{
	struct span bytes = span_make((const char *)ev->data.scalar.value, ev->data.scalar.length);
	struct err why = ERR_INIT;
	int e =
	    yaml_scalar_resolve(bytes, span_of((const char *)ev->data.scalar.tag),
				ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE, text, ret, &why);
	if (e < 0)
		return fail(r, why.kind, line_of(ev), why.text);
	if (!buf_ok(text))
		return fail(r, ERR_TOO_LARGE, line_of(ev), "scalar too long");
	return 0;
}

static int parse_scalar(struct reader *r, const yaml_event_t *ev, struct value *ret)
{
	auto_buf text = BUF_MAX(YAML_MAX_BYTES);
	struct yaml_scalar s;
	int e = resolve(r, ev, &text, &s);
	if (e < 0)
		return e;
	struct measure size = {.nodes = 1, .bytes = text.len};
	e = charge(r, ev, &size);
	if (e < 0)
		return e;
	ret->size = size;
	switch ((int)s.type) {
	case JSON_NULL:
		ret->node = json_null();
		break;
	case JSON_BOOL:
		ret->node = json_new_bool(s.truth);
		break;
	case JSON_NUMBER:
		ret->node = json_new_number(buf_span(&text));
		break;
	default:
		ret->node = json_new_span(buf_span(&text));
	}
	return 0;
}

static void grow(struct measure *of, const struct measure *by)
{
	of->nodes += by->nodes;
	of->bytes += by->bytes;
	if (by->height + 1 > of->height)
		of->height = by->height + 1;
}

static int parse_items(struct reader *r, struct value *v)
{
	for (;;) {
		auto_event ev;
		struct value item = {0};
		int e = next_event(r, &ev);
		if (e < 0)
			return e;
		if (ev.type == YAML_SEQUENCE_END_EVENT)
			return 0;
		e = parse_value(r, &ev, &item);
		if (e < 0)
			return e;
		json_append(v->node, item.node);
		grow(&v->size, &item.size);
	}
}

struct mapping {
	struct value *value;
	struct json_members members;
};

/* yaml.org/type/merge: members that are not there yet; of several sources the first wins. */
static int merge_one(struct reader *r, const yaml_event_t *ev, struct mapping *m,
		     struct cJSON *source)
{
	if (!json_is(source, JSON_OBJECT))
		return fail(r, ERR_BAD_REQUEST, line_of(ev),
			    "a merge key wants a mapping or a list of mappings");
	for (struct cJSON *c = json_first(source); c;) {
		struct cJSON *next = json_next(c);
		auto_free char *key = xstrdup(json_key(c));
		if (!json_members_find(&m->members, span_of(key)))
			json_members_add(&m->members, span_of(key), json_take_child(source, c));
		c = next;
	}
	return 0;
}

static int parse_merge(struct reader *r, struct mapping *m)
{
	auto_event ev;
	struct value source = {0};
	int e = next_event(r, &ev);
	if (e == 0)
		e = parse_value(r, &ev, &source);
	if (e < 0)
		return e;
	auto_json *node = source.node;
	grow(&m->value->size, &source.size);
	if (!json_is(node, JSON_ARRAY))
		return merge_one(r, &ev, m, node);
	json_foreach (node, c) {
		e = merge_one(r, &ev, m, c);
		if (e < 0)
			return e;
	}
	return 0;
}

static int key_text(struct reader *r, const yaml_event_t *ev, struct buf *out)
{
	const char *bad = "a key must be a string, a number or a boolean";
	struct yaml_scalar s;

	if (ev->type == YAML_ALIAS_EVENT) {
		const struct anchor *a;
		int e = find_anchor(r, ev, &a);
		if (e < 0)
			return e;
		if (json_is(a->copy, JSON_STRING))
			buf_add_str(out, json_value_str(a->copy));
		else if (json_is(a->copy, JSON_NUMBER) || json_is(a->copy, JSON_BOOL))
			json_print(a->copy, out);
		else
			return fail(r, ERR_BAD_REQUEST, line_of(ev), bad);
		return 0;
	}
	if (ev->type != YAML_SCALAR_EVENT)
		return fail(r, ERR_BAD_REQUEST, line_of(ev), bad);
	int e = resolve(r, ev, out, &s);
	if (e < 0)
		return e;
	if (s.type == JSON_NULL)
		return fail(r, ERR_BAD_REQUEST, line_of(ev), bad);
	if (s.type == JSON_BOOL)
		buf_add_str(out, s.truth ? "true" : "false");
	buf_add(out, "", 0); /* an empty key is a NUL-terminated text as well */
	return 0;
}

static bool is_merge(const yaml_event_t *ev)
{
	return ev->type == YAML_SCALAR_EVENT && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       span_is(span_make((const char *)ev->data.scalar.value, ev->data.scalar.length),
		       "<<");
}

static int parse_member(struct reader *r, const yaml_event_t *key_ev, struct mapping *m)
{
	auto_buf key = BUF_MAX(YAML_MAX_BYTES);
	struct value v = {0};
	auto_event ev = {0};

	if (is_merge(key_ev))
		return parse_merge(r, m);
	int e = key_text(r, key_ev, &key);
	if (e < 0)
		return e;
	struct measure size = {.nodes = 0, .bytes = key.len};
	struct value named = {.size = {.nodes = 1, .bytes = key.len}};
	e = charge(r, key_ev, &size);
	if (e == 0 && anchor_name(key_ev)) {
		named.node = json_new_span(buf_span(&key));
		e = close_anchor(r, key_ev, &named);
		json_free(named.node);
	}
	if (e == 0)
		e = next_event(r, &ev);
	if (e == 0)
		e = parse_value(r, &ev, &v);
	if (e < 0)
		return e;
	if (r->duplicates && json_members_find(&m->members, buf_span(&key)))
		buf_addf(r->duplicates, "line %zu: key \"%.*s\" already set in map\n",
			 line_of(key_ev), SPAN_ARGS(buf_span(&key)));
	json_members_set(&m->members, buf_span(&key), v.node); /* the last one wins */
	grow(&m->value->size, &v.size);
	m->value->size.bytes += key.len;
	return 0;
}

static int parse_members(struct reader *r, struct value *v)
{
	struct mapping m = {v, json_members_of(v->node)};
	int e;

	for (;;) {
		auto_event ev;
		e = next_event(r, &ev);
		if (e < 0 || ev.type == YAML_MAPPING_END_EVENT)
			break;
		e = parse_member(r, &ev, &m);
		if (e == 0 && m.members.n > JSON_MAX_KEYS)
			e = fail(r, ERR_TOO_LARGE, line_of(&ev), "too many keys in one mapping");
		if (e < 0)
			break;
	}
	json_members_done(&m.members);
	return e;
}

static int parse_container(struct reader *r, const yaml_event_t *ev, struct value *ret)
{
	bool mapping = ev->type == YAML_MAPPING_START_EVENT;
	struct value v = {.size = {.nodes = 1, .height = 1}};
	int e = charge(r, ev, &v.size);
	if (e < 0)
		return e;
	r->depth++;
	v.node = mapping ? json_object() : json_array();
	e = mapping ? parse_members(r, &v) : parse_items(r, &v);
	r->depth--;
	if (e < 0)
		json_free(v.node);
	else
		*ret = v;
	return e;
}

static int parse_value(struct reader *r, const yaml_event_t *ev, struct value *ret)
{
	struct value v = {0};
	int e;

	open_anchor(r, anchor_name(ev));
	switch ((int)ev->type) {
	case YAML_ALIAS_EVENT:
		return parse_alias(r, ev, ret);
	case YAML_SCALAR_EVENT:
		e = parse_scalar(r, ev, &v);
		break;
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		e = parse_container(r, ev, &v);
		break;
	default:
		e = fail(r, ERR_BAD_REQUEST, line_of(ev), "expected a value");
	}
	if (e == 0)
		e = close_anchor(r, ev, &v);
	if (e < 0)
		json_free(v.node);
	else
		*ret = v;
	return e;
}

/* One document, its START already read. The tree is NULL for an empty one. */
static int parse_document(struct reader *r, struct cJSON **ret)
{
	struct value v = {0};
	auto_event ev = {0}, end = {0};
	int e = next_event(r, &ev);
	if (e == 0)
		e = parse_value(r, &ev, &v);
	clear_anchors(r);
	if (e == 0)
		e = next_event(r, &end);
	if (e < 0 || json_is(v.node, JSON_NULL)) {
		json_free(v.node);
		v.node = NULL;
	}
	*ret = v.node;
	return e;
}

static int walk(struct reader *r, int (*each)(void *arg, struct cJSON *take_doc), void *arg)
{
	for (;;) {
		auto_event ev;
		struct cJSON *doc = NULL;
		int e = next_event(r, &ev);
		if (e < 0)
			return e;
		if (ev.type == YAML_STREAM_END_EVENT)
			return 0;
		if (ev.type != YAML_DOCUMENT_START_EVENT)
			continue;
		e = parse_document(r, &doc);
		if (e == 0 && doc)
			e = each(arg, doc);
		if (e < 0)
			return e;
	}
}

static int each_document(struct span text, struct buf *duplicates,
			 int (*each)(void *arg, struct cJSON *take_doc), void *arg,
			 struct err *reterr)
{
	const struct json_limits limits = {
	    .max_bytes = YAML_MAX_BYTES, .max_depth = YAML_MAX_DEPTH, .allow_duplicates = true};
	struct reader r = {.duplicates = duplicates, .reterr = reterr};
	struct cJSON *doc;

	if (text.len > YAML_MAX_BYTES)
		return err_set(reterr, ERR_TOO_LARGE, "YAML of %zu bytes is over the limit of %zu",
			       text.len, YAML_MAX_BYTES);
	if (text.len && text.ptr[0] == '{' && json_parse(text, &limits, &doc, NULL) == 0)
		return each(arg, doc);
	if (!yaml_parser_initialize(&r.parser))
		abort();
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.ptr ? text.ptr : ""),
				     text.len);
	int e = walk(&r, each, arg);
	yaml_parser_delete(&r.parser);
	return e;
}

int yaml_each(struct span text, int (*each)(void *arg, struct cJSON *take_doc), void *arg,
	      struct err *reterr)
{
	return each_document(text, NULL, each, arg, reterr);
}

struct single {
	struct cJSON *doc; /* owned */
	bool more;
};

static int keep_single(void *arg, struct cJSON *take_doc)
{
	struct single *s = arg;
	if (s->doc) {
		json_free(take_doc);
		s->more = true;
		return -E2BIG;
	}
	s->doc = take_doc;
	return 0;
}

int yaml_parse_noting(struct span text, struct buf *duplicates, struct cJSON **ret,
		      struct err *reterr)
{
	struct single s = {0};
	int e = each_document(text, duplicates, keep_single, &s, reterr);
	if (s.more)
		e = err_set(reterr, ERR_BAD_REQUEST, "more than one YAML document");
	else if (e == 0 && !s.doc)
		e = err_set(reterr, ERR_BAD_REQUEST, "no YAML document");
	if (e < 0)
		json_free(s.doc);
	else
		*ret = s.doc;
	return e;
}

int yaml_parse(struct span text, struct cJSON **ret, struct err *reterr)
{
	return yaml_parse_noting(text, NULL, ret, reterr);
}
