/* The evaluation of a checked tree. Errors are values; && and || absorb them as cel-spec says. */
#include "base/json.h"
#include "base/num.h"
#include "kube/cel/cel.h"
#include "kube/cel/cel_function.h"
#include "kube/cel/cel_list.h"

/* ---- the budget ---- */

bool cel_step(struct cel_run *r, size_t n)
{
	bool fine = r->steps >= 0 && (uint64_t)r->steps >= n;

	r->unchecked += n < 1000 ? (unsigned)n : 1000;
	if (fine && r->unchecked >= 1000) {
		r->unchecked = 0;
		fine = arena_used(r->mem) - r->memory <= CEL_MEMORY_OF_CALL;
	}
	r->steps = fine ? r->steps - (int64_t)n : -1;
	return fine;
}

struct cel_value cel_exhausted(void)
{
	return cel_fail("operation cancelled: actual cost limit exceeded");
}

enum cel_kind cel_kind_of(const struct cel_value *v)
{
	if (v->kind == CEL_OBJECT && (!v->type || v->type->kind == CEL_MAP))
		return CEL_MAP;
	return v->kind;
}

static struct cel_value some(struct cel_run *r, struct cel_value v)
{
	return v.kind == CEL_ERROR ? v : cel_optional_of(r, v);
}

/* ---- fields and elements ---- */

static struct cel_value no_such_key(struct cel_run *r, struct span key)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b, "no such key: %.*s", (int)(key.len < 100 ? key.len : 100),
		 key.ptr ? key.ptr : "");
	return cel_text(CEL_ERROR, arena_span(r->mem, buf_span(&b)));
}

/* An optional is looked into, and what comes of it is one: *ret_wrapped. False: it is none. */
static bool unwrap(struct cel_value *v, bool *ret_wrapped)
{
	*ret_wrapped = v->kind == CEL_OPTIONAL;
	if (!*ret_wrapped)
		return true;
	if (!v->inner)
		return false;
	*v = *v->inner;
	return true;
}

/* A field that the check knows by name and type. */
static bool field_of(struct cel_run *r, const struct cel_node *n, const struct cel_value *of,
		     struct cel_value *ret)
{
	struct cel_value key = cel_text(CEL_STRING, span_of(n->field));

	if (of->kind != CEL_OBJECT)
		return cel_map_get(&r->heap, of, &key, ret);
	const struct cJSON *member = json_get(of->node, n->field);
	if (json_is(member, JSON_NULL)) /* of a nullable field: as if it were not there */
		member = NULL;
	if (member)
		*ret = cel_from_node(&r->heap, n->type, member);
	return member;
}

static size_t weight(const struct cel_value *v);

static struct cel_value eval_select(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value of = cel_eval(r, n->args[0]), v;
	bool wrapped;

	if (of.kind == CEL_ERROR || !unwrap(&of, &wrapped))
		return of;
	if (!cel_is_map(&of))
		return cel_no_such_overload();
	bool there = field_of(r, n, &of, &v);
	if (there && v.kind == CEL_LIST && !cel_step(r, weight(&v) / 8))
		return cel_exhausted();
	if (n->optional || wrapped)
		return there ? some(r, v) : (struct cel_value){.kind = CEL_OPTIONAL};
	return there ? v : no_such_key(r, n->name);
}

static struct cel_value eval_has(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value of = cel_eval(r, n->args[0]), v;
	bool wrapped;

	if (of.kind == CEL_ERROR)
		return of;
	if (!unwrap(&of, &wrapped))
		return cel_bool(false);
	if (!cel_is_map(&of))
		return cel_no_such_overload();
	return cel_bool(field_of(r, n, &of, &v));
}

static struct cel_value element(struct cel_run *r, const struct cel_value *of,
				const struct cel_value *index, bool *ret_there)
{
	struct cel_value v;
	int64_t at = index->number;

	*ret_there = true;
	if (cel_is_map(of)) {
		if (!cel_step(r, cel_len(of) / 8))
			return cel_exhausted();
		if (cel_map_get(&r->heap, of, index, &v))
			return v;
		*ret_there = false;
		return no_such_key(r, index->kind == CEL_STRING ? index->text : SPAN("?"));
	}
	if (of->kind != CEL_LIST)
		return cel_no_such_overload();
	if (index->kind == CEL_UINT)
		at = index->natural > INT64_MAX ? -1 : (int64_t)index->natural;
	else if (index->kind == CEL_DOUBLE && index->real >= 0 && index->real < 1e15 &&
		 !(index->real > (double)(int64_t)index->real))
		at = (int64_t)index->real;
	else if (index->kind != CEL_INT)
		return cel_no_such_overload();
	if (at >= 0 && (uint64_t)at < of->list->n)
		return of->list->items[at];
	*ret_there = false;
	return cel_fail("index out of bounds");
}

static struct cel_value eval_index(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value of = cel_eval(r, n->args[0]), index, v;
	bool wrapped, there;

	if (of.kind == CEL_ERROR)
		return of;
	index = cel_eval(r, n->args[1]);
	if (index.kind == CEL_ERROR)
		return index;
	if (!unwrap(&of, &wrapped))
		return of;
	v = element(r, &of, &index, &there);
	if (!n->optional && !wrapped)
		return v;
	return there ? some(r, v) : (struct cel_value){.kind = CEL_OPTIONAL};
}

/* ---- literals of containers ---- */

/* False: the entry is left out. */
static bool entry(struct cel_run *r, const struct cel_node *n, uint32_t i, bool optional,
		  struct cel_value *ret)
{
	*ret = cel_eval(r, n->args[i]);
	if (!optional || ret->kind == CEL_ERROR)
		return true;
	if (ret->kind != CEL_OPTIONAL) {
		*ret = cel_no_such_overload();
		return true;
	}
	if (!ret->inner)
		return false;
	*ret = *ret->inner;
	return true;
}

static struct cel_value eval_list(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value *items = arena_array(r->mem, struct cel_value, n->n);
	size_t k = 0;

	for (uint32_t i = 0; i < n->n; i++) {
		if (!entry(r, n, i, n->optionals && n->optionals[i], &items[k]))
			continue;
		if (items[k++].kind == CEL_ERROR)
			return items[k - 1];
	}
	return cel_list_of(r->mem, items, k);
}

static struct cel_value eval_map(struct cel_run *r, const struct cel_node *n)
{
	struct cel_map *m = arena_new(r->mem, struct cel_map);
	struct cel_value *keys = arena_array(r->mem, struct cel_value, n->n / 2);
	struct cel_value *values = arena_array(r->mem, struct cel_value, n->n / 2);

	for (uint32_t i = 0; i < n->n; i += 2) {
		keys[m->n] = cel_eval(r, n->args[i]);
		if (keys[m->n].kind == CEL_ERROR)
			return keys[m->n];
		if (!entry(r, n, i + 1, n->optionals && n->optionals[i], &values[m->n]))
			continue;
		if (values[m->n].kind == CEL_ERROR)
			return values[m->n];
		size_t k = 0;
		while (!cel_equal(&r->heap, &keys[k], &keys[m->n]))
			k++;
		values[k] = values[m->n]; /* the last of equal keys stays */
		m->n += k == m->n;
	}
	m->keys = keys;
	m->values = values;
	return (struct cel_value){.kind = CEL_MAP, .map = m};
}

/* ---- operators ---- */

static struct cel_value eval_junction(struct cel_run *r, const struct cel_node *n)
{
	bool decides = n->op == CEL_OP_OR;
	struct cel_value result = cel_bool(!decides);

	for (uint32_t i = 0; i < n->n; i++) {
		struct cel_value v = cel_eval(r, n->args[i]);
		if (v.kind == CEL_BOOL && v.flag == decides)
			return v;
		if (v.kind != CEL_BOOL && result.kind != CEL_ERROR)
			result = v.kind == CEL_ERROR ? v : cel_no_such_overload();
	}
	return r->steps < 0 ? cel_exhausted() : result;
}

static struct cel_value eval_cond(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value asked = cel_eval(r, n->args[0]);

	if (asked.kind != CEL_BOOL)
		return asked.kind == CEL_ERROR ? asked : cel_no_such_overload();
	return cel_eval(r, n->args[asked.flag ? 1 : 2]);
}

static struct cel_value contains(struct cel_run *r, const struct cel_value *item,
				 const struct cel_value *in)
{
	struct cel_value v;

	if (cel_is_map(in))
		return cel_step(r, cel_len(in) / 8) ? cel_bool(cel_map_get(&r->heap, in, item, &v))
						    : cel_exhausted();
	if (in->kind != CEL_LIST)
		return cel_no_such_overload();
	if (!cel_step(r, in->list->n))
		return cel_exhausted();
	for (size_t i = 0; i < in->list->n; i++)
		if (cel_equal(&r->heap, &in->list->items[i], item))
			return cel_bool(true);
	return cel_bool(false);
}

static size_t weight(const struct cel_value *v)
{
	switch (v->kind) {
	case CEL_STRING:
	case CEL_BYTES:
		return v->text.len / 10;
	case CEL_LIST:
		return v->list->n;
	case CEL_MAP:
	case CEL_OBJECT:
		return cel_len(v);
	default:
		return 0;
	}
}

static struct cel_value ordered(const struct cel_value *a, const struct cel_value *b,
				enum cel_op op)
{
	int c;

	if (!cel_compare(a, b, &c))
		return a->kind == CEL_DOUBLE || b->kind == CEL_DOUBLE ? cel_bool(false)
								      : cel_no_such_overload();
	return cel_bool(op == CEL_OP_LESS	  ? c < 0
			: op == CEL_OP_LESS_EQUAL ? c <= 0
			: op == CEL_OP_GREATER	  ? c > 0
						  : c >= 0);
}

static struct cel_value eval_pair(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value a = cel_eval(r, n->args[0]), b;

	if (a.kind == CEL_ERROR)
		return a;
	b = cel_eval(r, n->args[1]);
	if (b.kind == CEL_ERROR)
		return b;
	switch (n->op) {
	case CEL_OP_IN:
		return contains(r, &a, &b);
	case CEL_OP_EQUAL:
	case CEL_OP_UNEQUAL:
		if (!cel_step(r, num_min((int64_t)weight(&a), (int64_t)weight(&b)) + 0UL))
			return cel_exhausted();
		return cel_bool(cel_equal(&r->heap, &a, &b) == (n->op == CEL_OP_EQUAL));
	case CEL_OP_LESS:
	case CEL_OP_LESS_EQUAL:
	case CEL_OP_GREATER:
	case CEL_OP_GREATER_EQUAL:
		return ordered(&a, &b, n->op);
	default:
		if (!cel_step(r, weight(&a) + weight(&b)))
			return cel_exhausted();
		return cel_calculate(r, n->op, &a, &b);
	}
}

static struct cel_value eval_not(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value v = cel_eval(r, n->args[0]);

	if (v.kind != CEL_BOOL)
		return v.kind == CEL_ERROR ? v : cel_no_such_overload();
	return cel_bool(!v.flag);
}

static struct cel_value eval_negate(struct cel_run *r, const struct cel_node *n)
{
	struct cel_value v = cel_eval(r, n->args[0]);

	if (v.kind == CEL_ERROR)
		return v;
	if (v.kind == CEL_DOUBLE)
		v.real = -v.real;
	else if (v.kind != CEL_INT)
		return cel_no_such_overload();
	else if (num_sub_overflows(0, v.number, &v.number))
		return cel_fail("integer overflow");
	return v;
}

/* ---- calls ---- */

static bool takes(const struct cel_function *f, const struct cel_value *args, uint32_t n)
{
	if (f->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (f->args[i] != CEL_DYN && cel_kind_of(&args[i]) != (enum cel_kind)f->args[i])
			return false;
	return true;
}

static struct cel_value eval_call(struct cel_run *r, const struct cel_node *n)
{
	const struct cel_function *f = NULL;
	struct cel_value args[ARRAY_LEN(f->args) + 1];

	if (n->n >= ARRAY_LEN(args))
		return cel_no_such_overload();
	for (uint32_t i = 0; i < n->n; i++) {
		args[i] = cel_eval(r, n->args[i]);
		if (args[i].kind == CEL_ERROR)
			return args[i];
		if (!cel_step(r, weight(&args[i])))
			return cel_exhausted();
	}
	while ((f = cel_function_next(f, n->field, n->method)))
		if (takes(f, args, n->n))
			return f->call(r, args, n->n);
	return cel_no_such_overload();
}

struct cel_value cel_eval(struct cel_run *r, const struct cel_node *n)
{
	if (!cel_step(r, 1))
		return cel_exhausted();
	switch (n->op) {
	case CEL_OP_LITERAL:
		return n->value;
	case CEL_OP_NAME:
		return r->slots[n->slot];
	case CEL_OP_SELECT:
		return eval_select(r, n);
	case CEL_OP_HAS:
		return eval_has(r, n);
	case CEL_OP_INDEX:
		return eval_index(r, n);
	case CEL_OP_CALL:
		return eval_call(r, n);
	case CEL_OP_LIST:
		return eval_list(r, n);
	case CEL_OP_MAP:
		return eval_map(r, n);
	case CEL_OP_ALL:
	case CEL_OP_EXISTS:
	case CEL_OP_EXISTS_ONE:
	case CEL_OP_FILTER:
	case CEL_OP_EACH:
		return cel_eval_macro(r, n);
	case CEL_OP_COND:
		return eval_cond(r, n);
	case CEL_OP_AND:
	case CEL_OP_OR:
		return eval_junction(r, n);
	case CEL_OP_NOT:
		return eval_not(r, n);
	case CEL_OP_NEGATE:
		return eval_negate(r, n);
	default:
		return eval_pair(r, n);
	}
}

struct cel_value cel_run(const struct cel_program *p, const struct cel_value *values, size_t n,
			 struct arena *mem, int64_t *steps)
{
	struct cel_run r = {.mem = mem, .heap.mem = mem, .memory = arena_used(mem)};
	int64_t most = num_min(*steps, CEL_STEPS_OF_CALL);

	r.steps = most;
	for (size_t i = 0; i < n && i < CEL_MAX_VARIABLES; i++)
		r.slots[i] = values[i];
	struct cel_value v = cel_eval(&r, p->root);
	*steps -= r.steps < 0 ? most : most - r.steps;
	return r.steps < 0 ? cel_exhausted() : v;
}
