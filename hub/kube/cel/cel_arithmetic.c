#include "base/json.h"
#include "base/num.h"
#include "kube/cel/cel_list.h"
#include "kube/schema.h"

#include <math.h>

/* ---- numbers ---- */

static struct cel_value of_ints(enum cel_op op, int64_t a, int64_t b)
{
	int64_t v = 0;
	bool over;

	switch (op) {
	case CEL_OP_ADD:
		over = num_add_overflows(a, b, &v);
		break;
	case CEL_OP_SUBTRACT:
		over = num_sub_overflows(a, b, &v);
		break;
	case CEL_OP_MULTIPLY:
		over = num_mul_overflows(a, b, &v);
		break;
	default:
		if (b == 0)
			return cel_fail(op == CEL_OP_DIVIDE ? "division by zero"
							    : "modulus by zero");
		over = a == INT64_MIN && b == -1;
		if (!over)
			v = op == CEL_OP_DIVIDE ? a / b : a % b;
	}
	return over ? cel_fail("integer overflow") : cel_int(v);
}

static struct cel_value of_uints(enum cel_op op, uint64_t a, uint64_t b)
{
	uint64_t v = 0;
	bool over = false;

	switch (op) {
	case CEL_OP_ADD:
		over = __builtin_add_overflow(a, b, &v);
		break;
	case CEL_OP_SUBTRACT:
		over = __builtin_sub_overflow(a, b, &v);
		break;
	case CEL_OP_MULTIPLY:
		over = __builtin_mul_overflow(a, b, &v);
		break;
	default:
		if (b == 0)
			return cel_fail(op == CEL_OP_DIVIDE ? "division by zero"
							    : "modulus by zero");
		v = op == CEL_OP_DIVIDE ? a / b : a % b;
	}
	return over ? cel_fail("unsigned integer overflow")
		    : (struct cel_value){.kind = CEL_UINT, .natural = v};
}

static struct cel_value of_reals(enum cel_op op, double a, double b)
{
	struct cel_value v = {.kind = CEL_DOUBLE};

	switch (op) {
	case CEL_OP_ADD:
		v.real = a + b;
		return v;
	case CEL_OP_SUBTRACT:
		v.real = a - b;
		return v;
	case CEL_OP_MULTIPLY:
		v.real = a * b;
		return v;
	case CEL_OP_DIVIDE: /* IEEE 754: no error */
		v.real = b > 0 || b < 0	  ? a / b
			 : a > 0 || a < 0 ? copysign(INFINITY, a) * copysign(1, b)
					  : (double)NAN;
		return v;
	default:
		return cel_no_such_overload();
	}
}

static struct cel_value of_times(enum cel_op op, const struct cel_value *a,
				 const struct cel_value *b)
{
	bool both = a->kind == CEL_TIMESTAMP && b->kind == CEL_TIMESTAMP;
	bool none = a->kind == CEL_DURATION && b->kind == CEL_DURATION;
	struct cel_value v = {.kind = both || none ? CEL_DURATION : CEL_TIMESTAMP};

	if ((op == CEL_OP_ADD && both) ||
	    (op == CEL_OP_SUBTRACT && a->kind == CEL_DURATION && !none))
		return cel_no_such_overload();
	if (op == CEL_OP_ADD ? num_add_overflows(a->number, b->number, &v.number)
			     : num_sub_overflows(a->number, b->number, &v.number))
		return cel_fail(v.kind == CEL_DURATION ? "duration overflow"
						       : "timestamp overflow");
	return v;
}

/* ---- strings and lists ---- */

static struct cel_value joined_text(struct cel_run *r, const struct cel_value *a,
				    const struct cel_value *b)
{
	size_t n = a->text.len + b->text.len;
	char *text = arena_array(r->mem, char, n + 1);

	if (a->text.len)
		memcpy(text, a->text.ptr, a->text.len);
	if (b->text.len)
		memcpy(text + a->text.len, b->text.ptr, b->text.len);
	return cel_text(a->kind, span_make(text, n));
}

/* Whether two items of a keyed list have the same keys. */
static bool same_keys(struct cel_run *r, const struct schema *s, const struct cel_value *a,
		      const struct cel_value *b)
{
	for (const char *const *k = s->list_keys; *k; k++) {
		struct cel_value key = cel_text(CEL_STRING, span_of(*k)), x, y;
		bool has = cel_map_get(&r->heap, a, &key, &x);
		if (has != cel_map_get(&r->heap, b, &key, &y) ||
		    (has && !cel_equal(&r->heap, &x, &y)))
			return false;
	}
	return true;
}

static struct cel_value joined_lists(struct cel_run *r, const struct cel_value *a,
				     const struct cel_value *b)
{
	const struct schema *s = a->type ? a->type->schema : NULL;
	bool atomic = !s || s->list_type == SCHEMA_LIST_ATOMIC;
	size_t n = a->list->n;
	struct cel_value *items = arena_array(r->mem, struct cel_value, n + b->list->n);

	for (size_t i = 0; i < n; i++)
		items[i] = a->list->items[i];
	for (size_t i = 0; i < b->list->n; i++) {
		const struct cel_value *item = &b->list->items[i];
		size_t at = atomic ? n : 0;
		if (!cel_step(r, atomic ? 1 : n + 1))
			return cel_fail("operation cancelled: actual cost limit exceeded");
		while (at < n && !(s->list_type == SCHEMA_LIST_MAP && s->list_keys &&
					   cel_is_map(item) && cel_is_map(&items[at])
				       ? same_keys(r, s, &items[at], item)
				       : cel_equal(&r->heap, &items[at], item)))
			at++;
		items[at] = *item;
		n += at == n;
	}
	struct cel_value v = cel_list_of(r->mem, items, n);
	v.type = a->type;
	return v;
}

static bool is_time(enum cel_kind kind)
{
	return kind == CEL_TIMESTAMP || kind == CEL_DURATION;
}

struct cel_value cel_calculate(struct cel_run *r, enum cel_op op, const struct cel_value *a,
			       const struct cel_value *b)
{
	if (is_time(a->kind) && is_time(b->kind) && (op == CEL_OP_ADD || op == CEL_OP_SUBTRACT))
		return of_times(op, a, b);
	if (a->kind != b->kind)
		return cel_no_such_overload();
	switch (a->kind) {
	case CEL_INT:
		return of_ints(op, a->number, b->number);
	case CEL_UINT:
		return of_uints(op, a->natural, b->natural);
	case CEL_DOUBLE:
		return of_reals(op, a->real, b->real);
	case CEL_STRING:
	case CEL_BYTES:
		return op == CEL_OP_ADD ? joined_text(r, a, b) : cel_no_such_overload();
	case CEL_LIST:
		return op == CEL_OP_ADD ? joined_lists(r, a, b) : cel_no_such_overload();
	default:
		return cel_no_such_overload();
	}
}
