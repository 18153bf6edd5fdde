/*
 * Text to tree. The nodes are cJSON's, but cJSON's own parser is not used: it turns numbers into
 * doubles, reads only 63 bytes of one, and would check again what json_check() has checked. A
 * number becomes a raw node that holds its text; a raw node IS a number everywhere in this project.
 */
#include "base/json.h"

#include "base/json_escape.h"
#include "base/json_members.h"
#include "base/json_node.h"

#include <cjson/cJSON.h>

struct parser {
	const char *p, *end;
	bool allow_duplicates;
	struct json_nodes nodes;
};

/* key: the raw inside of the key of the member that this value is; absent in an array. */
static cJSON *parse_value(struct parser *t, struct span key);

static void skip_space(struct parser *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r'))
		t->p++;
}

/* Past a string; the raw inside of it. */
static struct span take_string(struct parser *t)
{
	const char *from = ++t->p;
	while (*t->p != '"')
		t->p += *t->p == '\\' ? 2 : 1;
	return span_make(from, (size_t)(t->p++ - from));
}

/* Decodes the inside of a string to `at`, where raw.len + 1 bytes are free; an escape is never
 * shorter than what it stands for. */
static void put_text(struct span raw, char *at)
{
	if (!raw.len || !memchr(raw.ptr, '\\', raw.len)) {
		if (raw.len)
			memcpy(at, raw.ptr, raw.len);
		at[raw.len] = '\0';
		return;
	}
	auto_buf b = BUF_MAX(raw.len);
	json_unescape(raw, &b);
	memcpy(at, b.ptr, b.len + 1);
}

static cJSON *new_node(struct parser *t, int type, struct span key, struct span text)
{
	cJSON *node =
	    json_nodes_new(&t->nodes, type, key.ptr ? key.len + 1 : 0, text.ptr ? text.len + 1 : 0);
	if (key.ptr)
		put_text(key, node->string);
	if (text.ptr)
		put_text(text, node->valuestring);
	return node;
}

static cJSON *parse_number(struct parser *t, struct span key)
{
	const char *from = t->p;
	while (t->p < t->end && *t->p != ',' && *t->p != '}' && *t->p != ']' && *t->p != ' ' &&
	       *t->p != '\n' && *t->p != '\t' && *t->p != '\r')
		t->p++;
	return new_node(t, cJSON_Raw, key, span_make(from, (size_t)(t->p - from)));
}

static cJSON *parse_word(struct parser *t, size_t len, int type, struct span key)
{
	t->p += len;
	return new_node(t, type, key, SPAN_NONE);
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

static cJSON *parse_array(struct parser *t, struct span key)
{
	cJSON *array = new_node(t, cJSON_Array, key, SPAN_NONE);
	if (is_empty(t, ']'))
		return array;
	do
		json_node_link_last(array, parse_value(t, SPAN_NONE));
	while (!at_end(t));
	return array;
}

static void add_member(struct parser *t, struct json_members *members, struct span key)
{
	if (!t->allow_duplicates) {
		json_node_link_last(members->object, parse_value(t, key));
		return;
	}
	auto_buf text = BUF_MAX(key.len);
	json_unescape(key, &text);
	json_members_set(members, buf_span(&text), parse_value(t, SPAN_NONE));
}

static cJSON *parse_object(struct parser *t, struct span key)
{
	cJSON *object = new_node(t, cJSON_Object, key, SPAN_NONE);
	struct json_members members = json_members_of(object);

	if (is_empty(t, '}'))
		return object;
	do {
		struct span member = take_string(t);
		skip_space(t);
		t->p++; /* the colon */
		skip_space(t);
		add_member(t, &members, member);
	} while (!at_end(t));
	json_members_done(&members);
	return object;
}

static cJSON *parse_value(struct parser *t, struct span key)
{
	switch (*t->p) {
	case '{':
		return parse_object(t, key);
	case '[':
		return parse_array(t, key);
	case '"':
		return new_node(t, cJSON_String, key, take_string(t));
	case 't':
		return parse_word(t, 4, cJSON_True, key);
	case 'f':
		return parse_word(t, 5, cJSON_False, key);
	case 'n':
		return parse_word(t, 4, cJSON_NULL, key);
	default:
		return parse_number(t, key);
	}
}

static struct cJSON *parse(struct span text, bool allow_duplicates)
{
	struct parser t = {text.ptr, text.ptr + text.len, allow_duplicates, JSON_NODES_INIT};

	skip_space(&t);
	cJSON *tree = parse_value(&t, SPAN_NONE);
	json_nodes_done(&t.nodes);
	return tree;
}

int json_parse(struct span text, const struct json_limits *limits, struct cJSON **ret,
	       struct err *reterr)
{
	int r = json_check(text, limits, reterr);
	if (r < 0)
		return r;
	*ret = parse(text, limits && limits->allow_duplicates);
	return 0;
}

struct cJSON *json_parse_checked(struct span text)
{
	return parse(text, false);
}
