/*
 * The tree: cJSON nodes, with every number as a raw node that holds its text.
 */
#include "base/json.h"

#include "base/json_node.h"
#include "base/num.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>

/* The key becomes a copy of `key`, memory of its own. */
static void set_key(cJSON *node, const char *key)
{
	char *old = node->type & cJSON_StringIsConst ? NULL : node->string;

	node->string = xstrdup(key);
	node->type &= ~cJSON_StringIsConst;
	free(old);
}

void json_free(struct cJSON *node)
{
	if (!node)
		return;
	if (!(node->type & cJSON_IsReference))
		for (cJSON *c = node->child, *next; c; c = next) {
			next = c->next;
			json_free(c);
		}
	json_node_free(node);
}

/* ---- printing: our own walk, so that output goes into a bounded buffer ---- */

static void indent(struct buf *out, int level)
{
	buf_add_char(out, '\n');
	for (int i = 0; i < level; i++)
		buf_add_str(out, "  ");
}

static void print_node(const cJSON *node, struct buf *out, bool pretty, int level)
{
	bool object = cJSON_IsObject(node);

	if (!object && !cJSON_IsArray(node)) {
		if (cJSON_IsString(node))
			buf_add_json_str(out, span_of(node->valuestring));
		else if (cJSON_IsRaw(node))
			buf_add_str(out, node->valuestring);
		else
			buf_add_str(out, cJSON_IsTrue(node)    ? "true"
					 : cJSON_IsFalse(node) ? "false"
							       : "null");
		return;
	}
	buf_add_char(out, object ? '{' : '[');
	for (const cJSON *c = node->child; c; c = c->next) {
		if (pretty)
			indent(out, level + 1);
		if (object) {
			buf_add_json_str(out, span_of(c->string));
			buf_add_str(out, pretty ? ": " : ":");
		}
		print_node(c, out, pretty, level + 1);
		if (c->next)
			buf_add_char(out, ',');
	}
	if (pretty && node->child)
		indent(out, level);
	buf_add_char(out, object ? '}' : ']');
}

void json_print(const struct cJSON *node, struct buf *out)
{
	print_node(node, out, false, 0);
}

void json_print_pretty(const struct cJSON *node, struct buf *out)
{
	print_node(node, out, true, 0);
}

/* ---- reading ---- */

enum json_type json_type_of(const struct cJSON *node)
{
	if (!node)
		return JSON_INVALID;
	switch (node->type & 0xff) {
	case cJSON_NULL:
		return JSON_NULL;
	case cJSON_True:
	case cJSON_False:
		return JSON_BOOL;
	case cJSON_Raw:
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	case cJSON_Object:
		return JSON_OBJECT;
	default:
		return JSON_INVALID;
	}
}

const char *json_type_name(enum json_type t)
{
	static const char *const names[] = {"invalid", "null",	"boolean", "number",
					    "string",  "array", "object"};
	return t >= JSON_INVALID && t <= JSON_OBJECT ? names[t] : "invalid";
}

struct cJSON *json_get(const struct cJSON *object, const char *key)
{
	if (!object || (object->type & 0xff) != cJSON_Object)
		return NULL;
	/* Most keys differ in their first byte: that saves the call. */
	for (cJSON *c = object->child; c; c = c->next)
		if (c->string[0] == key[0] && strcmp(c->string, key) == 0)
			return c;
	return NULL;
}

struct cJSON *json_at(const struct cJSON *array, size_t index)
{
	cJSON *c = cJSON_IsArray(array) ? array->child : NULL;
	while (c && index--)
		c = c->next;
	return c;
}

struct cJSON *json_path(const struct cJSON *object, ...)
{
	va_list ap;
	const char *key;
	const cJSON *node = object;

	va_start(ap, object);
	while (node && (key = va_arg(ap, const char *)))
		node = json_get(node, key);
	va_end(ap);
	return (cJSON *)(uintptr_t)node;
}

size_t json_len(const struct cJSON *container)
{
	size_t n = 0;
	for (const cJSON *c = json_first(container); c; c = c->next)
		n++;
	return n;
}

struct cJSON *json_first(const struct cJSON *container)
{
	return container && (cJSON_IsObject(container) || cJSON_IsArray(container))
		   ? container->child
		   : NULL;
}

struct cJSON *json_next(const struct cJSON *child)
{
	return child->next;
}

const char *json_key(const struct cJSON *child)
{
	return child->string;
}

const char *json_value_str(const struct cJSON *node)
{
	return cJSON_IsString(node) ? node->valuestring : NULL;
}

const char *json_str(const struct cJSON *object, const char *key)
{
	return json_value_str(json_get(object, key));
}

bool json_value_bool(const struct cJSON *node, bool otherwise)
{
	return cJSON_IsBool(node) ? cJSON_IsTrue(node) : otherwise;
}

bool json_bool(const struct cJSON *object, const char *key, bool otherwise)
{
	return json_value_bool(json_get(object, key), otherwise);
}

struct span json_number_text(const struct cJSON *node)
{
	return cJSON_IsRaw(node) ? span_of(node->valuestring) : SPAN_NONE;
}

/* 1.0, 10e-1 and 1e3 are integers too. Digits are gathered without the point, then scaled. */
static int integer_of(struct span text, int64_t *ret)
{
	char digits[48];
	size_t n = 0;
	int64_t exponent = 0, fraction = 0;
	size_t i = 0;
	bool point = false;

	for (; i < text.len && text.ptr[i] != 'e' && text.ptr[i] != 'E'; i++) {
		if (text.ptr[i] == '.') {
			point = true;
			continue;
		}
		if (n >= sizeof(digits) - 24)
			return -ERANGE;
		digits[n++] = text.ptr[i];
		fraction += point;
	}
	if (i < text.len) {
		struct span e = span_make(text.ptr + i + 1, text.len - i - 1);
		if (e.len && e.ptr[0] == '+')
			e = span_make(e.ptr + 1, e.len - 1);
		if (num_parse_i64(e, -1000, 1000, &exponent) < 0)
			return -ERANGE;
	}
	for (exponent -= fraction; exponent < 0; exponent++) {
		if (n == 0 || digits[n - 1] != '0') {
			/* 0.0 loses its digits to the last one and stays 0. */
			return -EINVAL;
		}
		if (n == 1 || (n == 2 && digits[0] == '-'))
			break;
		n--;
	}
	for (; exponent > 0 && !(n == 1 && digits[0] == '0'); exponent--) {
		if (n >= sizeof(digits) - 1)
			return -ERANGE;
		digits[n++] = '0';
	}
	return num_parse_i64(span_make(digits, n), INT64_MIN, INT64_MAX, ret);
}

int json_value_int64(const struct cJSON *node, int64_t *ret)
{
	struct span text = json_number_text(node);
	if (!text.ptr)
		return -EINVAL;
	return integer_of(text, ret);
}

int json_int64(const struct cJSON *object, const char *key, int64_t *ret)
{
	const cJSON *node = json_get(object, key);
	return node ? json_value_int64(node, ret) : -ENOENT;
}

/* ---- building ---- */

struct cJSON *json_object(void)
{
	return json_node_new(cJSON_Object, 0, 0);
}

struct cJSON *json_array(void)
{
	return json_node_new(cJSON_Array, 0, 0);
}

struct cJSON *json_null(void)
{
	return json_node_new(cJSON_NULL, 0, 0);
}

struct cJSON *json_new_bool(bool v)
{
	return json_node_new(v ? cJSON_True : cJSON_False, 0, 0);
}

struct cJSON *json_new_int(int64_t v)
{
	auto_buf b = BUF_INIT;
	buf_add_i64(&b, v);
	return json_new_number(buf_span(&b));
}

struct cJSON *json_new_str(const char *s)
{
	return json_new_span(span_of(s));
}

static cJSON *new_text(int type, struct span s)
{
	cJSON *node = json_node_new(type, 0, s.len + 1);
	if (s.len)
		memcpy(node->valuestring, s.ptr, s.len);
	node->valuestring[s.len] = '\0';
	return node;
}

struct cJSON *json_new_span(struct span s)
{
	return new_text(cJSON_String, s);
}

struct cJSON *json_new_number(struct span text)
{
	return new_text(cJSON_Raw, text);
}

static size_t room_of(const char *s)
{
	return s ? strlen(s) + 1 : 0;
}

struct cJSON *json_new_text(struct span json)
{
	return json_new_number(json);
}

static cJSON *dup_from(struct json_nodes *nodes, const cJSON *node)
{
	size_t key = room_of(node->string), text = room_of(node->valuestring);
	cJSON *copy = json_nodes_new(nodes, node->type & 0xff, key, text);

	if (key)
		memcpy(copy->string, node->string, key);
	if (text)
		memcpy(copy->valuestring, node->valuestring, text);
	for (const cJSON *c = node->child; c; c = c->next)
		json_node_link_last(copy, dup_from(nodes, c));
	return copy;
}

struct cJSON *json_dup(const struct cJSON *node)
{
	struct json_nodes nodes = JSON_NODES_INIT;

	if (!node)
		return NULL;
	cJSON *copy = dup_from(&nodes, node);
	json_nodes_done(&nodes);
	return copy;
}

struct cJSON *json_lend(const struct cJSON *node)
{
	if (!cJSON_IsObject(node) && !cJSON_IsArray(node))
		return json_dup(node);
	size_t key = room_of(node->string);
	cJSON *lent = json_node_new(node->type & 0xff, key, 0);
	if (key)
		memcpy(lent->string, node->string, key);
	lent->child = node->child;
	lent->type |= cJSON_IsReference; /* cJSON's mark for children of another */
	return lent;
}

bool json_is_lent(const struct cJSON *node)
{
	return node && node->type & cJSON_IsReference &&
	       (cJSON_IsObject(node) || cJSON_IsArray(node));
}

void json_add(struct cJSON *object, const char *key, struct cJSON *take_value)
{
	if (!take_value)
		return;
	assert(cJSON_IsObject(object));
	set_key(take_value, key);
	json_node_link_last(object, take_value);
}

void json_add_member(struct cJSON *object, struct cJSON *take_member)
{
	if (take_member)
		json_node_link_last(object, take_member);
}

void json_set(struct cJSON *object, const char *key, struct cJSON *take_value)
{
	cJSON *old = take_value ? json_get(object, key) : NULL;
	if (old)
		json_replace(object, old, take_value);
	else
		json_add(object, key, take_value);
}

void json_append(struct cJSON *array, struct cJSON *take_value)
{
	if (!take_value)
		return;
	assert(cJSON_IsArray(array));
	json_node_link_last(array, take_value);
}

void json_insert(struct cJSON *array, size_t index, struct cJSON *take_value)
{
	cJSON *at = json_at(array, index);
	if (!at) {
		json_append(array, take_value);
		return;
	}
	if (!take_value)
		return;
	take_value->next = at;
	take_value->prev = at->prev;
	if (at == array->child)
		array->child = take_value;
	else
		at->prev->next = take_value;
	at->prev = take_value;
}

void json_replace(struct cJSON *parent, struct cJSON *old, struct cJSON *take_value)
{
	if (!take_value)
		return;
	if (old->string)
		set_key(take_value, old->string);
	json_node_relink(parent, old, take_value);
	json_free(old);
}

struct cJSON *json_ensure_object(struct cJSON *object, const char *key)
{
	cJSON *node = json_get(object, key);
	if (!node || cJSON_IsNull(node)) {
		json_set(object, key, json_object());
		node = json_get(object, key);
	}
	return cJSON_IsObject(node) ? node : NULL;
}

struct cJSON *json_take_child(struct cJSON *container, struct cJSON *child)
{
	return container && child ? json_node_unlink(container, child) : NULL;
}

struct cJSON *json_take(struct cJSON *object, const char *key)
{
	cJSON *node = json_get(object, key);
	return node ? json_node_unlink(object, node) : NULL;
}

void json_remove_child(struct cJSON *container, struct cJSON *child)
{
	json_free(json_take_child(container, child));
}

bool json_remove(struct cJSON *object, const char *key)
{
	cJSON *node = json_take(object, key);
	json_free(node);
	return node != NULL;
}

static bool equal_numbers(const cJSON *a, const cJSON *b)
{
	int64_t x, y;
	if (strcmp(a->valuestring, b->valuestring) == 0)
		return true;
	return json_value_int64(a, &x) == 0 && json_value_int64(b, &y) == 0 && x == y;
}

/* Mostly both have the same order: then no member is looked up. */
static bool equal_objects(const cJSON *a, const cJSON *b)
{
	const cJSON *next = b->child;

	if (json_len(a) != json_len(b))
		return false;
	json_foreach (a, m) {
		const cJSON *other =
		    next && strcmp(next->string, m->string) == 0 ? next : json_get(b, m->string);
		if (!other || !json_equal(m, other))
			return false;
		next = other->next;
	}
	return true;
}

bool json_equal(const struct cJSON *a, const struct cJSON *b)
{
	enum json_type t = json_type_of(a);
	if (t != json_type_of(b))
		return false;
	if ((t == JSON_ARRAY || t == JSON_OBJECT) && a->child == b->child)
		return true; /* lent by one to the other, or both are empty */
	switch (t) {
	case JSON_BOOL:
		return cJSON_IsTrue(a) == cJSON_IsTrue(b);
	case JSON_NUMBER:
		return equal_numbers(a, b);
	case JSON_STRING:
		return strcmp(a->valuestring, b->valuestring) == 0;
	case JSON_ARRAY: {
		const cJSON *x = a->child, *y = b->child;
		for (; x && y; x = x->next, y = y->next)
			if (!json_equal(x, y))
				return false;
		return !x && !y;
	}
	case JSON_OBJECT:
		return equal_objects(a, b);
	case JSON_INVALID:
	case JSON_NULL:
	default:
		return true;
	}
}
