/*
 * Text to tree. The nodes are cJSON's, but cJSON's own parser is not used: it turns numbers into
 * doubles, reads only 63 bytes of one, and would check again what json_check() has checked. A
 * number becomes a raw node that holds its text; a raw node IS a number everywhere in this project.
 */
#include "base/json.h"

#include "base/json_escape.h"
#include "base/json_members.h"

#include <cjson/cJSON.h>

struct parser {
	const char *p, *end;
	bool allow_duplicates;
};

static cJSON *parse_value(struct parser *t);

static void skip_space(struct parser *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r'))
		t->p++;
}

static cJSON *new_node(int type)
{
	cJSON *node = cJSON_CreateNull();
	if (!node)
		abort();
	node->type = type;
	return node;
}

/* Past a string; the raw inside of it. */
static struct span take_string(struct parser *t)
{
	const char *from = ++t->p;
	while (*t->p != '"')
		t->p += *t->p == '\\' ? 2 : 1;
	return span_make(from, (size_t)(t->p++ - from));
}

/* Decoded, allocated as cJSON frees it. */
static char *text_of(struct span raw)
{
	char *text = cJSON_malloc(raw.len + 1);
	if (!text)
		abort();
	if (!memchr(raw.ptr, '\\', raw.len)) {
		memcpy(text, raw.ptr, raw.len);
		text[raw.len] = '\0';
		return text;
	}
	auto_buf b = BUF_MAX(raw.len);
	json_unescape(raw, &b);
	memcpy(text, b.ptr, b.len + 1);
	return text;
}

static cJSON *parse_number(struct parser *t)
{
	const char *from = t->p;
	while (t->p < t->end && *t->p != ',' && *t->p != '}' && *t->p != ']' && *t->p != ' ' &&
	       *t->p != '\n' && *t->p != '\t' && *t->p != '\r')
		t->p++;
	return json_new_number(span_make(from, (size_t)(t->p - from)));
}

static cJSON *parse_word(struct parser *t, size_t len, int type)
{
	t->p += len;
	return new_node(type);
}

static void link_child(cJSON *parent, cJSON *child)
{
	if (!parent->child) {
		parent->child = child;
		child->prev = child;
		return;
	}
	/* cJSON keeps the last child in the first one's prev. */
	cJSON *last = parent->child->prev;
	last->next = child;
	child->prev = last;
	parent->child->prev = child;
}

/* After a child: true at the closing bracket, which it passes. */
static bool at_end(struct parser *t)
{
	skip_space(t);
	char c = *t->p++;
	if (c == ',')
		skip_space(t);
	return c != ',';
}

static bool is_empty(struct parser *t, char close)
{
	t->p++;
	skip_space(t);
	if (*t->p != close)
		return false;
	t->p++;
	return true;
}

static cJSON *parse_array(struct parser *t)
{
	cJSON *array = new_node(cJSON_Array);
	if (is_empty(t, ']'))
		return array;
	do
		link_child(array, parse_value(t));
	while (!at_end(t));
	return array;
}

static cJSON *parse_object(struct parser *t)
{
	cJSON *object = new_node(cJSON_Object);
	struct json_members members = json_members_of(object);

	if (is_empty(t, '}'))
		return object;
	do {
		char *key = text_of(take_string(t));
		skip_space(t);
		t->p++; /* the colon */
		skip_space(t);
		cJSON *value = parse_value(t);
		if (t->allow_duplicates) {
			json_members_set(&members, span_of(key), value);
			cJSON_free(key);
		} else {
			value->string = key;
			link_child(object, value);
		}
	} while (!at_end(t));
	json_members_done(&members);
	return object;
}

static cJSON *parse_value(struct parser *t)
{
	cJSON *node;

	switch (*t->p) {
	case '{':
		return parse_object(t);
	case '[':
		return parse_array(t);
	case '"':
		node = new_node(cJSON_String);
		node->valuestring = text_of(take_string(t));
		return node;
	case 't':
		return parse_word(t, 4, cJSON_True);
	case 'f':
		return parse_word(t, 5, cJSON_False);
	case 'n':
		return parse_word(t, 4, cJSON_NULL);
	default:
		return parse_number(t);
	}
}

int json_parse(struct span text, const struct json_limits *limits, struct cJSON **ret,
	       struct err *reterr)
{
	int r = json_check(text, limits, reterr);
	if (r < 0)
		return r;
	struct parser t = {text.ptr, text.ptr + text.len, limits && limits->allow_duplicates};
	skip_space(&t);
	*ret = parse_value(&t);
	return 0;
}
