/*
 * Kubernetes' list library (k8s.io/apiserver/pkg/cel/library/lists.go), cel-go's sets and optional
 * values (ext/sets.go, cel/library.go).
 */
#include "base/num.h"
#include "kube/cel/cel_list.h"

typedef struct cel_value value;
#define CALL(name) static value name(struct cel_run *r, const value *a, size_t n)

struct cel_value cel_list_of(struct arena *mem, const struct cel_value *items, size_t n)
{
	struct cel_list *l = arena_new(mem, struct cel_list);

	*l = (struct cel_list){items, n};
	return (value){.kind = CEL_LIST, .list = l};
}

struct cel_value cel_string_of(struct arena *mem, struct span text)
{
	return cel_text(CEL_STRING, arena_span(mem, span_make(text.ptr ? text.ptr : "", text.len)));
}

struct cel_value cel_optional_of(struct cel_run *r, struct cel_value v)
{
	struct cel_value *p = arena_new(r->mem, struct cel_value);

	*p = v;
	return (value){.kind = CEL_OPTIONAL, .inner = p};
}

/* ---- lists of what can be ordered ---- */

CALL(is_sorted)
{
	int c;

	(void)r, (void)n;
	for (size_t i = 1; i < a[0].list->n; i++) {
		if (!cel_compare(&a[0].list->items[i - 1], &a[0].list->items[i], &c))
			return cel_fail("no such overload");
		if (c > 0)
			return cel_bool(false);
	}
	return cel_bool(true);
}

CALL(sum)
{
	value total = cel_int(0);

	(void)n;
	for (size_t i = 0; i < a[0].list->n; i++) {
		total = i ? cel_calculate(r, CEL_OP_ADD, &total, &a[0].list->items[i])
			  : a[0].list->items[i];
		if (total.kind != CEL_INT && total.kind != CEL_UINT && total.kind != CEL_DOUBLE &&
		    total.kind != CEL_DURATION)
			return total.kind == CEL_ERROR ? total : cel_fail("no such overload");
	}
	return total;
}

static value most(const value *list, int sign)
{
	const struct cel_list *l = list->list;
	size_t best = 0;
	int c;

	if (!l->n)
		return cel_fail(sign < 0 ? "min called on empty list" : "max called on empty list");
	for (size_t i = 1; i < l->n; i++) {
		if (!cel_compare(&l->items[i], &l->items[best], &c))
			return cel_fail("no such overload");
		if (c * sign > 0)
			best = i;
	}
	return l->items[best];
}

CALL(least_item)
{
	(void)r, (void)n;
	return most(&a[0], -1);
}

CALL(greatest_item)
{
	(void)r, (void)n;
	return most(&a[0], 1);
}

CALL(index_of)
{
	(void)n;
	for (size_t i = 0; i < a[0].list->n; i++)
		if (cel_equal(&r->heap, &a[0].list->items[i], &a[1]))
			return cel_int((int64_t)i);
	return cel_int(-1);
}

CALL(last_index_of)
{
	(void)n;
	for (size_t i = a[0].list->n; i > 0; i--)
		if (cel_equal(&r->heap, &a[0].list->items[i - 1], &a[1]))
			return cel_int((int64_t)i - 1);
	return cel_int(-1);
}

/* ---- sets ---- */

static bool has(struct cel_run *r, const value *list, const value *item)
{
	for (size_t i = 0; i < list->list->n; i++)
		if (cel_equal(&r->heap, &list->list->items[i], item))
			return true;
	return false;
}

static bool has_all(struct cel_run *r, const value *list, const value *items)
{
	for (size_t i = 0; i < items->list->n; i++)
		if (!has(r, list, &items->list->items[i]))
			return false;
	return true;
}

static bool step_product(struct cel_run *r, const value *a)
{
	return cel_step(r, a[0].list->n * a[1].list->n);
}

CALL(set_contains)
{
	(void)n;
	return step_product(r, a) ? cel_bool(has_all(r, &a[0], &a[1])) : cel_exhausted();
}

CALL(set_equivalent)
{
	(void)n;
	return step_product(r, a) && step_product(r, a)
		   ? cel_bool(has_all(r, &a[0], &a[1]) && has_all(r, &a[1], &a[0]))
		   : cel_exhausted();
}

CALL(set_intersects)
{
	(void)n;
	if (!step_product(r, a))
		return cel_exhausted();
	for (size_t i = 0; i < a[1].list->n; i++)
		if (has(r, &a[0], &a[1].list->items[i]))
			return cel_bool(true);
	return cel_bool(false);
}

#define L CEL_LIST
#define D CEL_DYN

static const struct cel_function lists[] = {
    {"isSorted", true, 1, {L}, CEL_BOOL, CEL_GIVES_KIND, is_sorted, CEL_ASKS_ORDERED},
    {"sum", true, 1, {L}, D, CEL_GIVES_ITEM, sum, CEL_ASKS_SUMMED},
    {"min", true, 1, {L}, D, CEL_GIVES_ITEM, least_item, CEL_ASKS_ORDERED},
    {"max", true, 1, {L}, D, CEL_GIVES_ITEM, greatest_item, CEL_ASKS_ORDERED},
    {"indexOf", true, 2, {L, D}, CEL_INT, CEL_GIVES_KIND, index_of, CEL_ASKS_ITEM},
    {"lastIndexOf", true, 2, {L, D}, CEL_INT, CEL_GIVES_KIND, last_index_of, CEL_ASKS_ITEM},
    {"sets.contains", false, 2, {L, L}, CEL_BOOL, CEL_GIVES_KIND, set_contains, CEL_ASKS_ALIKE},
    {"sets.equivalent", false, 2, {L, L}, CEL_BOOL, CEL_GIVES_KIND, set_equivalent, CEL_ASKS_ALIKE},
    {"sets.intersects", false, 2, {L, L}, CEL_BOOL, CEL_GIVES_KIND, set_intersects, CEL_ASKS_ALIKE},
};

const struct cel_table cel_table_lists = {lists, ARRAY_LEN(lists)};

/* ---- optional values ---- */

CALL(optional_of)
{
	(void)n;
	return cel_optional_of(r, a[0]);
}

CALL(optional_none)
{
	(void)r, (void)a, (void)n;
	return (value){.kind = CEL_OPTIONAL};
}

static bool is_zero(const value *v)
{
	switch (v->kind) {
	case CEL_NULL:
		return true;
	case CEL_BOOL:
		return !v->flag;
	case CEL_INT:
	case CEL_DURATION:
		return v->number == 0;
	case CEL_UINT:
		return v->natural == 0;
	case CEL_DOUBLE:
		return !(v->real < 0 || v->real > 0) && v->real - v->real <= 0;
	case CEL_STRING:
	case CEL_BYTES:
		return v->text.len == 0;
	case CEL_LIST:
	case CEL_MAP:
	case CEL_OBJECT:
		return cel_len(v) == 0;
	case CEL_OPTIONAL:
		return !v->inner;
	default:
		return false;
	}
}

CALL(optional_of_non_zero)
{
	(void)n;
	return is_zero(&a[0]) ? (value){.kind = CEL_OPTIONAL} : cel_optional_of(r, a[0]);
}

CALL(has_value)
{
	(void)r, (void)n;
	return cel_bool(a[0].inner);
}

CALL(value_in)
{
	(void)r, (void)n;
	return a[0].inner ? *a[0].inner : cel_fail("optional.none() dereference");
}

CALL(either)
{
	(void)r, (void)n;
	return a[0].inner ? a[0] : a[1];
}

CALL(or_value)
{
	(void)r, (void)n;
	return a[0].inner ? *a[0].inner : a[1];
}

#define O CEL_OPTIONAL

static const struct cel_function optionals[] = {
    {"optional.of", false, 1, {D}, O, CEL_GIVES_OPTIONAL, optional_of},
    {"optional.none", false, 0, {D}, O, CEL_GIVES_OPTIONAL, optional_none},
    {"optional.ofNonZeroValue", false, 1, {D}, O, CEL_GIVES_OPTIONAL, optional_of_non_zero},
    {"hasValue", true, 1, {O}, CEL_BOOL, CEL_GIVES_KIND, has_value},
    {"value", true, 1, {O}, D, CEL_GIVES_ITEM, value_in},
    {"or", true, 2, {O, O}, O, CEL_GIVES_SAME, either},
    {"orValue", true, 2, {O, D}, D, CEL_GIVES_ITEM, or_value},
};

const struct cel_table cel_table_optionals = {optionals, ARRAY_LEN(optionals)};
