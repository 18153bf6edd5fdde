#include "kube/cel/cel_types.h"

typedef const struct cel_type *type;

const struct cel_type *cel_type_plain(enum cel_kind kind)
{
	return &cel_type_of[kind];
}

bool cel_type_is_dyn(type t)
{
	return !t || t->kind == CEL_DYN;
}

const struct cel_type *cel_type_known(type t)
{
	return t ? t : cel_type_plain(CEL_DYN);
}

static bool may_be_null(type t)
{
	return t->kind == CEL_OBJECT || t->kind == CEL_TIMESTAMP || t->kind == CEL_DURATION ||
	       t->kind == CEL_OPTIONAL || t->kind >= CEL_QUANTITY;
}

bool cel_type_alike(type a, type b)
{
	if (cel_type_is_dyn(a) || cel_type_is_dyn(b))
		return true;
	if (a->kind != b->kind)
		return (a->kind == CEL_NULL && may_be_null(b)) ||
		       (b->kind == CEL_NULL && may_be_null(a));
	switch (a->kind) {
	case CEL_MAP:
		return cel_type_alike(a->key, b->key) && cel_type_alike(a->item, b->item);
	case CEL_LIST:
	case CEL_OPTIONAL:
		return cel_type_alike(a->item, b->item);
	default:
		return true;
	}
}

const struct cel_type *cel_type_joined(type a, type b)
{
	return cel_type_is_dyn(a) || a->kind == CEL_NULL ? cel_type_known(b) : a;
}

bool cel_type_is_number(type t)
{
	return t->kind == CEL_INT || t->kind == CEL_UINT || t->kind == CEL_DOUBLE;
}

bool cel_type_is_time(type t)
{
	return t->kind == CEL_TIMESTAMP || t->kind == CEL_DURATION;
}

/* A time may be null. */
static bool is_time_or_null(type t)
{
	return cel_type_is_time(t) || t->kind == CEL_NULL;
}

/* Of a value that is not known and one of this type: NULL when no operator takes the type. */
static type sum_with_dyn(type t, enum cel_op op)
{
	bool sums = op == CEL_OP_ADD || op == CEL_OP_SUBTRACT;

	if (cel_type_is_dyn(t) || (sums && is_time_or_null(t)))
		return cel_type_plain(CEL_DYN);
	if (cel_type_is_number(t))
		return op == CEL_OP_MODULO && t->kind == CEL_DOUBLE ? NULL : t;
	return op == CEL_OP_ADD &&
		       (t->kind == CEL_STRING || t->kind == CEL_BYTES || t->kind == CEL_LIST)
		   ? t
		   : NULL;
}

/* NULL when the two cannot be calculated with. */
static type sum_of(type a, type b, enum cel_op op)
{
	bool same = a->kind == b->kind;

	if (cel_type_is_dyn(a) || cel_type_is_dyn(b))
		return sum_with_dyn(cel_type_is_dyn(a) ? b : a, op);
	if (same && cel_type_is_number(a) && (op != CEL_OP_MODULO || a->kind != CEL_DOUBLE))
		return a;
	if (op != CEL_OP_ADD && op != CEL_OP_SUBTRACT)
		return NULL;
	if (cel_type_is_time(a) && cel_type_is_time(b)) {
		if (op == CEL_OP_SUBTRACT)
			return same			  ? cel_type_plain(CEL_DURATION)
			       : a->kind == CEL_TIMESTAMP ? a
							  : NULL;
		return !same ? cel_type_plain(CEL_TIMESTAMP) : a->kind == CEL_DURATION ? a : NULL;
	}
	if (op == CEL_OP_ADD && same &&
	    (a->kind == CEL_STRING || a->kind == CEL_BYTES ||
	     (a->kind == CEL_LIST && cel_type_alike(a, b))))
		return a;
	return NULL;
}

static bool can_be_ordered(type t)
{
	return cel_type_is_dyn(t) || cel_type_is_number(t) || is_time_or_null(t) ||
	       t->kind == CEL_BOOL || t->kind == CEL_STRING || t->kind == CEL_BYTES;
}

static bool are_ordered(type a, type b)
{
	if (!can_be_ordered(a) || !can_be_ordered(b))
		return false;
	return cel_type_is_dyn(a) || cel_type_is_dyn(b) || a->kind == b->kind ||
	       (is_time_or_null(a) && is_time_or_null(b) &&
		a->kind + b->kind != CEL_TIMESTAMP + CEL_DURATION) ||
	       (cel_type_is_number(a) && cel_type_is_number(b));
}

const struct cel_type *cel_type_of_pair(type a, type b, enum cel_op op)
{
	bool fine;

	switch (op) {
	case CEL_OP_EQUAL:
	case CEL_OP_UNEQUAL:
		fine = cel_type_alike(a, b);
		break;
	case CEL_OP_IN:
		fine = cel_type_is_dyn(b) || (b->kind == CEL_LIST && cel_type_alike(b->item, a)) ||
		       (b->kind == CEL_MAP && cel_type_alike(b->key, a));
		break;
	case CEL_OP_LESS:
	case CEL_OP_LESS_EQUAL:
	case CEL_OP_GREATER:
	case CEL_OP_GREATER_EQUAL:
		fine = are_ordered(a, b);
		break;
	default:
		return sum_of(a, b, op);
	}
	return fine ? cel_type_plain(CEL_BOOL) : NULL;
}
