#include "kube/cel/cel_value.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "kube/cel/cel_time.h"
#include "kube/schema.h"

#include <math.h>

const struct cel_type cel_type_of[CEL_KINDS] = {
    [CEL_DYN] = {CEL_DYN},	     [CEL_ERROR] = {CEL_ERROR},
    [CEL_NULL] = {CEL_NULL},	     [CEL_BOOL] = {CEL_BOOL},
    [CEL_INT] = {CEL_INT},	     [CEL_UINT] = {CEL_UINT},
    [CEL_DOUBLE] = {CEL_DOUBLE},     [CEL_STRING] = {CEL_STRING},
    [CEL_BYTES] = {CEL_BYTES},	     [CEL_TIMESTAMP] = {CEL_TIMESTAMP},
    [CEL_DURATION] = {CEL_DURATION}, [CEL_LIST] = {CEL_LIST},
    [CEL_MAP] = {CEL_MAP},	     [CEL_OBJECT] = {CEL_OBJECT},
    [CEL_TYPE] = {CEL_TYPE},	     [CEL_OPTIONAL] = {CEL_OPTIONAL},
    [CEL_QUANTITY] = {CEL_QUANTITY}, [CEL_IP] = {CEL_IP},
    [CEL_CIDR] = {CEL_CIDR},	     [CEL_URL] = {CEL_URL},
};

const char *cel_kind_name(enum cel_kind kind)
{
	static const char *const names[CEL_KINDS] = {
	    [CEL_DYN] = "dyn",
	    [CEL_ERROR] = "error",
	    [CEL_NULL] = "null_type",
	    [CEL_BOOL] = "bool",
	    [CEL_INT] = "int",
	    [CEL_UINT] = "uint",
	    [CEL_DOUBLE] = "double",
	    [CEL_STRING] = "string",
	    [CEL_BYTES] = "bytes",
	    [CEL_TIMESTAMP] = "google.protobuf.Timestamp",
	    [CEL_DURATION] = "google.protobuf.Duration",
	    [CEL_LIST] = "list",
	    [CEL_MAP] = "map",
	    [CEL_OBJECT] = "object",
	    [CEL_TYPE] = "type",
	    [CEL_OPTIONAL] = "optional_type",
	    [CEL_QUANTITY] = "kubernetes.Quantity",
	    [CEL_IP] = "net.IP",
	    [CEL_CIDR] = "net.CIDR",
	    [CEL_URL] = "kubernetes.URL",
	};
	return names[kind];
}

void cel_type_print(const struct cel_type *t, struct buf *out)
{
	if (!t) {
		buf_add_str(out, "dyn");
		return;
	}
	buf_add_str(out, t->kind == CEL_NULL	    ? "null"
			 : t->kind == CEL_TIMESTAMP ? "timestamp"
			 : t->kind == CEL_DURATION  ? "duration"
						    : cel_kind_name(t->kind));
	if (t->kind != CEL_LIST && t->kind != CEL_MAP && t->kind != CEL_OPTIONAL)
		return;
	buf_add_char(out, '(');
	if (t->kind == CEL_MAP) {
		cel_type_print(t->key, out);
		buf_add_str(out, ", ");
	}
	cel_type_print(t->item, out);
	buf_add_char(out, ')');
}

/* ---- values of the tree ---- */

static struct cel_value list_of(struct cel_heap *heap, const struct cel_type *t,
				const struct cJSON *node)
{
	struct cel_list *list;
	size_t n, i = 0;

	for (size_t k = 0; k < CEL_LISTS_SEEN; k++)
		if (heap->seen[k].node == node)
			return (struct cel_value){
			    .kind = CEL_LIST, .type = t, .list = heap->seen[k].list};
	list = arena_new(heap->mem, struct cel_list);
	n = json_len(node);
	struct cel_value *items = arena_array(heap->mem, struct cel_value, n);

	json_foreach (node, it)
		if (i < n)
			items[i++] = cel_from_node(heap, t ? t->item : NULL, it);
	*list = (struct cel_list){items, i};
	heap->seen[heap->next].node = node;
	heap->seen[heap->next].list = list;
	heap->next = (heap->next + 1) % CEL_LISTS_SEEN;
	return (struct cel_value){.kind = CEL_LIST, .type = t, .list = list};
}

static struct cel_value number_of(const struct cJSON *node, bool real)
{
	struct cel_value d = {.kind = CEL_DOUBLE};
	int64_t v;

	if (!real && json_value_int64(node, &v) == 0)
		return cel_int(v);
	return num_parse_double(json_number_text(node), &d.real) < 0
		   ? cel_fail("a number is too long")
		   : d;
}

static struct cel_value text_of(struct cel_heap *heap, enum cel_kind kind, struct span s)
{
	struct cel_value v = cel_text(CEL_STRING, s);

	if (kind == CEL_TIMESTAMP)
		return cel_timestamp_of(s);
	if (kind == CEL_DURATION)
		return cel_duration_of(s);
	if (kind != CEL_BYTES)
		return v;
	auto_buf raw = BUF_INIT;
	if (base64_read(s, &raw) < 0)
		return cel_fail("bytes that are no base64");
	return cel_text(CEL_BYTES,
			arena_span(heap->mem, span_make(raw.ptr ? raw.ptr : "", raw.len)));
}

struct cel_value cel_from_node(struct cel_heap *heap, const struct cel_type *t,
			       const struct cJSON *node)
{
	enum cel_kind kind = t ? t->kind : CEL_DYN;

	switch (json_type_of(node)) {
	case JSON_BOOL:
		return cel_bool(json_value_bool(node, false));
	case JSON_NUMBER:
		return number_of(node, kind == CEL_DOUBLE);
	case JSON_STRING:
		return text_of(heap, kind, span_of(json_value_str(node)));
	case JSON_ARRAY:
		return list_of(heap, kind == CEL_LIST ? t : NULL, node);
	case JSON_OBJECT:
		return (struct cel_value){.kind = CEL_OBJECT,
					  .type = kind == CEL_OBJECT || kind == CEL_MAP ? t : NULL,
					  .node = node};
	default:
		return (struct cel_value){.kind = CEL_NULL};
	}
}

/* ---- containers ---- */

size_t cel_len(const struct cel_value *container)
{
	if (container->kind == CEL_LIST)
		return container->list->n;
	if (container->kind == CEL_MAP)
		return container->map->n;
	return json_len(container->node);
}

static const struct cel_type *type_of_member(struct arena *mem, const struct cel_type *t,
					     const char *key)
{
	const struct schema_field *f;

	if (!t || t->kind == CEL_MAP)
		return t ? t->item : NULL;
	f = schema_field_find(t->schema, key);
	return f ? cel_type_from_schema(mem, f->schema, f->schema->flags & SCHEMA_EMBEDDED) : NULL;
}

bool cel_map_get(struct cel_heap *heap, const struct cel_value *map, const struct cel_value *key,
		 struct cel_value *ret)
{
	if (map->kind == CEL_MAP) {
		for (size_t i = 0; i < map->map->n; i++)
			if (cel_equal(heap, &map->map->keys[i], key)) {
				*ret = map->map->values[i];
				return true;
			}
		return false;
	}
	if (key->kind != CEL_STRING ||
	    memchr(key->text.ptr ? key->text.ptr : "", '\0', key->text.len))
		return false;
	const char *name = arena_strndup(heap->mem, key->text.ptr, key->text.len);
	const struct cJSON *member = json_get(map->node, name);
	if (!member)
		return false;
	*ret = cel_from_node(heap, type_of_member(heap->mem, map->type, name), member);
	return true;
}

const struct cel_value *cel_map_keys(struct cel_heap *heap, const struct cel_value *map)
{
	if (map->kind == CEL_MAP)
		return map->map->keys;
	struct cel_value *keys = arena_array(heap->mem, struct cel_value, json_len(map->node));
	size_t n = 0;
	json_foreach (map->node, it)
		keys[n++] = cel_text(CEL_STRING, span_of(json_key(it)));
	return keys;
}

/* ---- equality ---- */

static bool is_number(enum cel_kind kind)
{
	return kind == CEL_INT || kind == CEL_UINT || kind == CEL_DOUBLE;
}

/* Of an int or uint and a double, exactly; NaN is not ordered. */
static bool compare_to_real(const struct cel_value *whole, double d, int *ret)
{
	if (isnan(d))
		return false;
	if (whole->kind == CEL_INT) {
		if (d < -9223372036854775808.0 || d >= 9223372036854775808.0) {
			*ret = d < 0 ? 1 : -1;
			return true;
		}
		int64_t floor = (int64_t)d; /* towards zero */
		if (whole->number != floor)
			*ret = whole->number < floor ? -1 : 1;
		else
			*ret = (double)floor < d ? -1 : (double)floor > d;
		return true;
	}
	if (d < 0 || d >= 18446744073709551616.0) {
		*ret = d < 0 ? 1 : -1;
		return true;
	}
	uint64_t floor = (uint64_t)d;
	if (whole->natural != floor)
		*ret = whole->natural < floor ? -1 : 1;
	else
		*ret = (double)floor < d ? -1 : (double)floor > d;
	return true;
}

static bool compare_numbers(const struct cel_value *a, const struct cel_value *b, int *ret)
{
	if (a->kind == CEL_DOUBLE && b->kind == CEL_DOUBLE) {
		*ret = a->real < b->real ? -1 : a->real > b->real;
		return !isnan(a->real) && !isnan(b->real);
	}
	if (b->kind == CEL_DOUBLE)
		return compare_to_real(a, b->real, ret);
	if (a->kind == CEL_DOUBLE) {
		bool ordered = compare_to_real(b, a->real, ret);
		*ret = ordered ? -*ret : 0;
		return ordered;
	}
	if (a->kind == b->kind)
		*ret = a->kind == CEL_INT ? (a->number > b->number) - (a->number < b->number)
					  : (a->natural > b->natural) - (a->natural < b->natural);
	else if (a->kind == CEL_INT)
		*ret = a->number < 0 ? -1
				     : ((uint64_t)a->number > b->natural) -
					   ((uint64_t)a->number < b->natural);
	else
		*ret = b->number < 0 ? 1
				     : (a->natural > (uint64_t)b->number) -
					   (a->natural < (uint64_t)b->number);
	return true;
}

bool cel_compare(const struct cel_value *a, const struct cel_value *b, int *ret)
{
	*ret = 0;
	if (is_number(a->kind) && is_number(b->kind))
		return compare_numbers(a, b, ret);
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case CEL_BOOL:
		*ret = (int)a->flag - (int)b->flag;
		return true;
	case CEL_TIMESTAMP:
	case CEL_DURATION:
		*ret = (a->number > b->number) - (a->number < b->number);
		return true;
	case CEL_STRING:
	case CEL_BYTES:
		*ret = span_cmp(a->text, b->text);
		return true;
	case CEL_QUANTITY:
		*ret = (*a->amount > *b->amount) - (*a->amount < *b->amount);
		return true;
	default:
		return false;
	}
}

static bool has_item(struct cel_heap *heap, const struct cel_list *l, const struct cel_value *item)
{
	for (size_t i = 0; i < l->n; i++)
		if (cel_equal(heap, &l->items[i], item))
			return true;
	return false;
}

/* Sets and lists of keyed items are equal in any order. */
static bool equal_lists(struct cel_heap *heap, const struct cel_value *a, const struct cel_value *b)
{
	const struct schema *s = a->type ? a->type->schema : NULL;
	bool ordered = !s || s->list_type == SCHEMA_LIST_ATOMIC;

	if (a->list->n != b->list->n)
		return false;
	for (size_t i = 0; i < a->list->n; i++)
		if (ordered ? !cel_equal(heap, &a->list->items[i], &b->list->items[i])
			    : !has_item(heap, a->list, &b->list->items[i]))
			return false;
	return true;
}

static bool equal_maps(struct cel_heap *heap, const struct cel_value *a, const struct cel_value *b)
{
	const struct cel_value *keys;
	size_t n = cel_len(a);

	if (n != cel_len(b))
		return false;
	keys = cel_map_keys(heap, a);
	for (size_t i = 0; i < n; i++) {
		struct cel_value x, y;
		if (!cel_map_get(heap, b, &keys[i], &y) || !cel_map_get(heap, a, &keys[i], &x) ||
		    !cel_equal(heap, &x, &y))
			return false;
	}
	return true;
}

bool cel_equal(struct cel_heap *heap, const struct cel_value *a, const struct cel_value *b)
{
	int c;

	if (cel_is_map(a) && cel_is_map(b))
		return equal_maps(heap, a, b);
	if (a->kind != b->kind)
		return cel_compare(a, b, &c) && c == 0;
	switch (a->kind) {
	case CEL_NULL:
		return true;
	case CEL_LIST:
		return equal_lists(heap, a, b);
	case CEL_TYPE:
	case CEL_URL:
		return span_eq(a->text, b->text);
	case CEL_OPTIONAL:
		return a->inner && b->inner ? cel_equal(heap, a->inner, b->inner)
					    : a->inner == b->inner;
	case CEL_IP:
	case CEL_CIDR:
		return memcmp(a->address, b->address, sizeof(*a->address)) == 0;
	default:
		return cel_compare(a, b, &c) && c == 0;
	}
}
