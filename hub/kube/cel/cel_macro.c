/* Macros: an expression asked of each item of a list or key of a map. */
#include "kube/cel/cel_function.h"
#include "kube/cel/cel_list.h"

/* What a macro goes through: a list's items or a map's keys. */
static const struct cel_value *range_of(struct cel_run *r, const struct cel_value *v, size_t *ret_n)
{
	if (v->kind == CEL_LIST) {
		*ret_n = v->list->n;
		return v->list->items;
	}
	if (!cel_is_map(v))
		return NULL;
	*ret_n = cel_len(v);
	return cel_map_keys(&r->heap, v);
}

/* Sets the variables of one turn. */
static void set_turn(struct cel_run *r, const struct cel_node *n, const struct cel_value *of,
		     const struct cel_value *item, size_t i)
{
	r->slots[n->slot] = *item;
	if (!n->second.len)
		return;
	r->slots[n->slot + 1] = *item;
	if (of->kind == CEL_LIST)
		r->slots[n->slot] = cel_int((int64_t)i);
	else if (!cel_map_get(&r->heap, of, item, &r->slots[n->slot + 1]))
		r->slots[n->slot + 1] = (struct cel_value){.kind = CEL_NULL};
}

/* all() is a conjunction, exists() a disjunction: one that decides absorbs errors before it. */
static struct cel_value decide(struct cel_run *r, const struct cel_node *n,
			       const struct cel_value *of, const struct cel_value *items, size_t k)
{
	bool decides = n->op == CEL_OP_EXISTS;
	struct cel_value result = cel_bool(!decides);

	for (size_t i = 0; i < k && r->steps >= 0; i++) {
		set_turn(r, n, of, &items[i], i);
		struct cel_value v = cel_eval(r, n->args[1]);
		if (v.kind == CEL_BOOL && v.flag == decides)
			return v;
		if (v.kind != CEL_BOOL && result.kind != CEL_ERROR)
			result = v.kind == CEL_ERROR ? v : cel_no_such_overload();
	}
	return r->steps < 0 ? cel_exhausted() : result;
}

static struct cel_value count_one(struct cel_run *r, const struct cel_node *n,
				  const struct cel_value *of, const struct cel_value *items,
				  size_t k)
{
	size_t found = 0;

	for (size_t i = 0; i < k; i++) {
		set_turn(r, n, of, &items[i], i);
		struct cel_value v = cel_eval(r, n->args[1]);
		if (v.kind != CEL_BOOL)
			return v.kind == CEL_ERROR ? v : cel_no_such_overload();
		found += v.flag;
	}
	return cel_bool(found == 1);
}

static struct cel_value collect(struct cel_run *r, const struct cel_node *n,
				const struct cel_value *items, size_t k)
{
	const struct cel_node *asks = n->op == CEL_OP_FILTER ? n->args[1]
				      : n->n == 3	     ? n->args[2]
							     : NULL;
	struct cel_value *out;
	size_t kept = 0;

	if (!cel_step(r, k))
		return cel_exhausted();
	out = arena_array(r->mem, struct cel_value, k);
	for (size_t i = 0; i < k; i++) {
		r->slots[n->slot] = items[i];
		struct cel_value v = asks ? cel_eval(r, asks) : cel_bool(true);
		if (v.kind != CEL_BOOL)
			return v.kind == CEL_ERROR ? v : cel_no_such_overload();
		if (!v.flag)
			continue;
		out[kept] = n->op == CEL_OP_FILTER ? items[i] : cel_eval(r, n->args[1]);
		if (out[kept++].kind == CEL_ERROR)
			return out[kept - 1];
	}
	return cel_list_of(r->mem, out, kept);
}

struct cel_value cel_eval_macro(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value of = cel_eval(r, n->args[0]);
	const struct cel_value *items;
	size_t k = 0;

	if (of.kind == CEL_ERROR)
		return of;
	if (!(items = range_of(r, &of, &k)) && k == 0 && of.kind != CEL_LIST && !cel_is_map(&of))
		return cel_no_such_overload();
	switch (n->op) {
	case CEL_OP_ALL:
	case CEL_OP_EXISTS:
		return decide(r, n, &of, items, k);
	case CEL_OP_EXISTS_ONE:
		return count_one(r, n, &of, items, k);
	default:
		return collect(r, n, items, k);
	}
}
