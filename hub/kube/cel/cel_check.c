/* Types, before anything runs: cel-go's checker, for the types that a schema knows. */
#include "kube/cel/cel.h"
#include "kube/cel/cel_checker.h"

#include <errno.h>

typedef const struct cel_type *type;

static const struct cel_type any_list = {.kind = CEL_LIST};

const struct cel_type *cel_checker_refuse(struct cel_checker *c, const struct cel_node *n,
					  const char *what)
{
	(void)cel_refuse(c->reterr, c->text, n->at, "%s", what);
	return NULL;
}

const struct cel_type *cel_checker_refuse_name(struct cel_checker *c, const struct cel_node *n)
{
	(void)cel_refuse(c->reterr, c->text, n->at,
			 "undeclared reference to '%.*s' (in container '')", SPAN_ARGS(n->name));
	return NULL;
}

const struct cel_type *cel_checker_no_overload(struct cel_checker *c, const struct cel_node *n,
					       const char *name, const type *types, uint32_t k)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b, "found no matching overload for '%s' applied to '", name);
	for (uint32_t i = 0; i < k; i++) {
		if (i == 0 && n->method)
			cel_type_print(types[0], &b);
		if (i == 0)
			buf_add_str(&b, n->method ? ".(" : "(");
		if (i == 0 && n->method)
			continue;
		buf_add_str(&b, i > (n->method ? 1U : 0U) ? ", " : "");
		cel_type_print(types[i], &b);
	}
	buf_add_str(&b, k ? ")'" : "()'");
	(void)cel_refuse(c->reterr, c->text, n->at, "%s", b.ptr);
	return NULL;
}

const struct cel_type *cel_checker_container(struct cel_checker *c, enum cel_kind kind, type item)
{
	struct cel_type *t = arena_new(c->mem, struct cel_type);

	*t = (struct cel_type){.kind = kind, .item = item};
	return t;
}

struct cel_checker_variable *cel_checker_find(struct cel_checker *c, struct span name)
{
	for (uint32_t i = c->n_variables; i > 0; i--)
		if (span_eq(c->variables[i - 1].name, name))
			return &c->variables[i - 1];
	return NULL;
}

/* ---- names ---- */

static type check_name(struct cel_checker *c, struct cel_node *n)
{
	struct cel_checker_variable *v = cel_checker_find(c, n->name);

	if (v) {
		n->slot = (uint32_t)(v - c->variables);
		if (n->slot < c->n_given)
			c->uses |= 1u << n->slot;
		return cel_type_known(v->type);
	}
	for (enum cel_kind k = CEL_NULL; k <= CEL_TYPE; k++)
		if (k != CEL_OBJECT && span_is(n->name, cel_kind_name(k))) {
			n->op = CEL_OP_LITERAL;
			n->value = cel_text(CEL_TYPE, n->name);
			return cel_type_plain(CEL_TYPE);
		}
	return cel_checker_refuse_name(c, n);
}

/* ---- fields ---- */

static type field_of(struct cel_checker *c, struct cel_node *n, type t)
{
	const char *field = NULL;
	type of;

	switch (t->kind) {
	case CEL_DYN:
		n->field = arena_strndup(c->mem, n->name.ptr, n->name.len);
		return cel_type_plain(CEL_DYN);
	case CEL_MAP:
		n->field = arena_strndup(c->mem, n->name.ptr, n->name.len);
		return n->type = cel_type_known(t->item);
	case CEL_OBJECT:
		of = cel_type_field(c->mem, t, n->name, &field);
		n->field = field;
		n->type = of;
		if (of)
			return of;
		(void)cel_refuse(c->reterr, c->text, n->at, "undefined field '%.*s'",
				 SPAN_ARGS(n->name));
		return NULL;
	default:
		break;
	}
	auto_buf b = BUF_INIT;
	cel_type_print(t, &b);
	(void)cel_refuse(c->reterr, c->text, n->at, "type '%s' does not support field selection",
			 b.ptr);
	return NULL;
}

static type check_select(struct cel_checker *c, struct cel_node *n)
{
	type t = cel_check(c, n->args[0]), of;

	if (!t)
		return NULL;
	bool wrapped = t->kind == CEL_OPTIONAL;
	if (wrapped)
		t = cel_type_known(t->item);
	if (!(of = field_of(c, n, t)))
		return NULL;
	return n->optional || wrapped ? cel_checker_container(c, CEL_OPTIONAL, of) : of;
}

static type check_has(struct cel_checker *c, struct cel_node *n)
{
	type t = cel_check(c, n->args[0]);

	if (t && t->kind == CEL_OPTIONAL)
		t = cel_type_known(t->item);
	return t && field_of(c, n, t) ? cel_type_plain(CEL_BOOL) : NULL;
}

static type check_index(struct cel_checker *c, struct cel_node *n)
{
	type t[2] = {cel_check(c, n->args[0]), NULL}, of;

	if (!t[0] || !(t[1] = cel_check(c, n->args[1])))
		return NULL;
	bool wrapped = t[0]->kind == CEL_OPTIONAL;
	of = wrapped ? cel_type_known(t[0]->item) : t[0];
	bool fine = cel_type_is_dyn(of) ||
		    (of->kind == CEL_LIST && (t[1]->kind == CEL_INT || cel_type_is_dyn(t[1]))) ||
		    (of->kind == CEL_MAP && cel_type_alike(of->key, t[1]));
	if (!fine)
		return cel_checker_no_overload(c, n, "_[_]", t, 2);
	of = cel_type_is_dyn(of) ? cel_type_plain(CEL_DYN) : cel_type_known(of->item);
	return n->optional || wrapped ? cel_checker_container(c, CEL_OPTIONAL, of) : of;
}

/* ---- literals of containers ---- */

static type entry_type(struct cel_checker *c, struct cel_node *n, uint32_t i, type *ret_whole)
{
	type t = cel_check(c, n->args[i]);
	bool optional = n->optionals && n->optionals[i & ~(n->op == CEL_OP_MAP ? 1U : 0U)];

	*ret_whole = t;
	if (!t || !optional || (n->op == CEL_OP_MAP && i % 2 == 0))
		return t;
	return t->kind == CEL_OPTIONAL ? cel_type_known(t->item) : t;
}

/* One type for all of them, as HomogeneousAggregateLiterals asks. */
static bool check_entries(struct cel_checker *c, struct cel_node *n, uint32_t from, uint32_t step,
			  type *ret)
{
	*ret = NULL;
	for (uint32_t i = from; i < n->n; i += step) {
		type whole, t = entry_type(c, n, i, &whole);
		if (!t)
			return false;
		if (*ret && !cel_type_alike(*ret, t)) {
			auto_buf a = BUF_INIT, b = BUF_INIT;
			cel_type_print(*ret, &a);
			cel_type_print(t, &b);
			(void)cel_refuse(c->reterr, c->text, n->args[i]->at,
					 "expected type '%s' but found '%s'", a.ptr, b.ptr);
			return false;
		}
		*ret = *ret ? cel_type_joined(*ret, t) : t;
	}
	return true;
}

static type check_list(struct cel_checker *c, struct cel_node *n)
{
	type item;

	return check_entries(c, n, 0, 1, &item) ? cel_checker_container(c, CEL_LIST, item) : NULL;
}

static type check_map(struct cel_checker *c, struct cel_node *n)
{
	type key, item;

	if (!check_entries(c, n, 0, 2, &key) || !check_entries(c, n, 1, 2, &item))
		return NULL;
	if (!cel_type_is_dyn(key) && key->kind != CEL_STRING && key->kind != CEL_INT &&
	    key->kind != CEL_UINT && key->kind != CEL_BOOL)
		return cel_checker_refuse(c, n, "unsupported type of a map's key");
	struct cel_type *t = arena_new(c->mem, struct cel_type);
	*t = (struct cel_type){.kind = CEL_MAP, .key = key, .item = item};
	return t;
}

/* ---- macros ---- */

static type element_of(struct cel_checker *c, struct cel_node *n, type t)
{
	if (cel_type_is_dyn(t))
		return cel_type_plain(CEL_DYN);
	if (t->kind == CEL_LIST)
		return cel_type_known(t->item);
	if (t->kind == CEL_MAP)
		return cel_type_known(t->key);
	auto_buf b = BUF_INIT;
	cel_type_print(t, &b);
	(void)cel_refuse(c->reterr, c->text, n->args[0]->at,
			 "expression of type '%s' cannot be range of a comprehension (must be "
			 "list, map, or dynamic)",
			 b.ptr);
	return NULL;
}

static bool wants_bool(struct cel_checker *c, const struct cel_node *n, type t, const char *name)
{
	if (cel_type_is_dyn(t) || t->kind == CEL_BOOL)
		return true;
	(void)cel_checker_no_overload(c, n, name, &t, 1);
	return false;
}

static type check_macro(struct cel_checker *c, struct cel_node *n)
{
	type range = cel_check(c, n->args[0]), item, asked, given = NULL;

	if (!range || !(item = element_of(c, n, range)))
		return NULL;
	if (c->n_variables + 2 > CEL_MAX_SLOTS)
		return cel_checker_refuse(c, n, "too many macros within macros");
	n->slot = c->n_variables;
	if (n->second.len && range->kind == CEL_LIST)
		item = cel_type_plain(CEL_INT);
	c->variables[c->n_variables++] = (struct cel_checker_variable){n->name, item};
	if (n->second.len)
		c->variables[c->n_variables++] = (struct cel_checker_variable){
		    n->second, cel_type_is_dyn(range) ? NULL : cel_type_known(range->item)};
	asked = cel_check(c, n->args[1]);
	if (asked && n->n == 3)
		given = cel_check(c, n->args[2]);
	c->n_variables = n->slot;
	if (!asked || (n->n == 3 && !given))
		return NULL;
	/* map(x, condition, value): the condition is args[2]. */
	if (n->op == CEL_OP_EACH)
		return given && !wants_bool(c, n, given, "_?_:_")
			   ? NULL
			   : cel_checker_container(c, CEL_LIST, asked);
	if (!wants_bool(c, n, asked, n->op == CEL_OP_ALL ? "_&&_" : "_||_"))
		return NULL;
	return n->op == CEL_OP_FILTER ? cel_checker_container(c, CEL_LIST, item)
				      : cel_type_plain(CEL_BOOL);
}

/* ---- operators ---- */

static const char *const operator_names[] = {
    [CEL_OP_COND] = "_?_:_",   [CEL_OP_AND] = "_&&_",
    [CEL_OP_OR] = "_||_",      [CEL_OP_NOT] = "!_",
    [CEL_OP_NEGATE] = "-_",    [CEL_OP_ADD] = "_+_",
    [CEL_OP_SUBTRACT] = "_-_", [CEL_OP_MULTIPLY] = "_*_",
    [CEL_OP_DIVIDE] = "_/_",   [CEL_OP_MODULO] = "_%_",
    [CEL_OP_EQUAL] = "_==_",   [CEL_OP_UNEQUAL] = "_!=_",
    [CEL_OP_LESS] = "_<_",     [CEL_OP_LESS_EQUAL] = "_<=_",
    [CEL_OP_GREATER] = "_>_",  [CEL_OP_GREATER_EQUAL] = "_>=_",
    [CEL_OP_IN] = "@in"};

static type check_pair(struct cel_checker *c, struct cel_node *n)
{
	type t[2] = {cel_check(c, n->args[0]), NULL};

	if (!t[0] || !(t[1] = cel_check(c, n->args[1])))
		return NULL;
	type r = cel_type_of_pair(t[0], t[1], n->op);
	return r ? r : cel_checker_no_overload(c, n, operator_names[n->op], t, 2);
}

static type check_bools(struct cel_checker *c, struct cel_node *n)
{
	for (uint32_t i = 0; i < n->n; i++) {
		type t = cel_check(c, n->args[i]);
		if (!t)
			return NULL;
		if (!cel_type_is_dyn(t) && t->kind != CEL_BOOL) {
			type pair[2] = {i ? cel_type_plain(CEL_BOOL) : t,
					i ? t : cel_type_plain(CEL_BOOL)};
			return cel_checker_no_overload(c, n, operator_names[n->op],
						       n->op == CEL_OP_NOT ? &t : pair,
						       n->op == CEL_OP_NOT ? 1 : 2);
		}
	}
	return cel_type_plain(CEL_BOOL);
}

static type check_negate(struct cel_checker *c, struct cel_node *n)
{
	type t = cel_check(c, n->args[0]);

	if (!t || cel_type_is_dyn(t) || t->kind == CEL_INT || t->kind == CEL_DOUBLE)
		return t;
	return cel_checker_no_overload(c, n, "-_", &t, 1);
}

static type check_cond(struct cel_checker *c, struct cel_node *n)
{
	type t[3];

	for (int i = 0; i < 3; i++)
		if (!(t[i] = cel_check(c, n->args[i])))
			return NULL;
	if ((!cel_type_is_dyn(t[0]) && t[0]->kind != CEL_BOOL) || !cel_type_alike(t[1], t[2]))
		return cel_checker_no_overload(c, n, "_?_:_", t, 3);
	return cel_type_is_dyn(t[1]) || cel_type_is_dyn(t[2]) ? cel_type_plain(CEL_DYN)
							      : cel_type_joined(t[1], t[2]);
}

const struct cel_type *cel_check(struct cel_checker *c, struct cel_node *n)
{
	switch (n->op) {
	case CEL_OP_LITERAL:
		return cel_type_plain(n->value.kind);
	case CEL_OP_NAME:
		return check_name(c, n);
	case CEL_OP_SELECT:
		return check_select(c, n);
	case CEL_OP_HAS:
		return check_has(c, n);
	case CEL_OP_INDEX:
		return check_index(c, n);
	case CEL_OP_CALL:
		return cel_check_call(c, n);
	case CEL_OP_LIST:
		return n->n ? check_list(c, n) : &any_list;
	case CEL_OP_MAP:
		return check_map(c, n);
	case CEL_OP_ALL:
	case CEL_OP_EXISTS:
	case CEL_OP_EXISTS_ONE:
	case CEL_OP_FILTER:
	case CEL_OP_EACH:
		return check_macro(c, n);
	case CEL_OP_COND:
		return check_cond(c, n);
	case CEL_OP_AND:
	case CEL_OP_OR:
	case CEL_OP_NOT:
		return check_bools(c, n);
	case CEL_OP_NEGATE:
		return check_negate(c, n);
	default:
		return check_pair(c, n);
	}
}

int cel_compile(struct arena *mem, struct span text, const struct cel_variable *variables, size_t n,
		struct cel_program *ret, struct err *reterr)
{
	struct cel_checker c = {.mem = mem, .text = text, .reterr = reterr};
	struct cel_node *root;

	if (cel_parse(mem, text, &root, reterr) < 0)
		return err_errno(ERR_INVALID);
	for (size_t i = 0; i < n && i < CEL_MAX_VARIABLES; i++)
		c.variables[c.n_variables++] =
		    (struct cel_checker_variable){span_of(variables[i].name), variables[i].type};
	c.n_given = c.n_variables;
	type t = cel_check(&c, root);
	if (!t)
		return err_errno(ERR_INVALID);
	*ret = (struct cel_program){root, t, c.uses};
	return 0;
}
