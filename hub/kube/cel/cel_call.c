/* Calls: which overloads there are for these types, and constants that are made at once. */
#include "kube/cel/cel.h"
#include "kube/cel/cel_checker.h"
#include "kube/cel/cel_regex.h"

typedef const struct cel_type *type;

static bool lists_fit(const struct cel_function *f, const type *types)
{
	type item = cel_type_is_dyn(types[0]) ? NULL : types[0]->item;

	if (cel_type_is_dyn(item))
		return true;
	switch ((enum cel_asks)f->asks) {
	case CEL_ASKS_TEXTS:
		return item->kind == CEL_STRING;
	case CEL_ASKS_ORDERED:
		return cel_type_is_number(item) || cel_type_is_time(item) ||
		       item->kind == CEL_BOOL || item->kind == CEL_STRING ||
		       item->kind == CEL_BYTES;
	case CEL_ASKS_SUMMED:
		return cel_type_is_number(item) || item->kind == CEL_DURATION;
	case CEL_ASKS_ITEM:
		return cel_type_alike(item, types[1]);
	case CEL_ASKS_ALIKE:
		return cel_type_alike(types[0], types[1]);
	case CEL_ASKS_NOTHING:
		break;
	}
	return true;
}

static bool takes(const struct cel_function *f, const type *types, uint32_t n)
{
	if (f->n != n || (f->asks && !lists_fit(f, types)))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (f->args[i] != CEL_DYN && !cel_type_is_dyn(types[i]) &&
		    types[i]->kind != (enum cel_kind)f->args[i])
			return false;
	return true;
}

static type result_of(struct cel_checker *c, const struct cel_function *f, const type *types)
{
	type first = f->n ? cel_type_known(types[0]) : cel_type_plain(CEL_DYN);

	switch ((enum cel_gives)f->gives) {
	case CEL_GIVES_LIST:
		return cel_checker_container(c, CEL_LIST, cel_type_plain((enum cel_kind)f->result));
	case CEL_GIVES_SAME:
		return first;
	case CEL_GIVES_ITEM:
		return cel_type_is_dyn(first) ? first : cel_type_known(first->item);
	case CEL_GIVES_OPTIONAL:
		return cel_checker_container(c, CEL_OPTIONAL, f->n ? first : NULL);
	case CEL_GIVES_KIND:
		break;
	}
	return cel_type_plain((enum cel_kind)f->result);
}

#define MAX_CALL_ARGS 8

/* sets.contains(a, b) is read as a method of sets, which is no variable. */
static const char *name_of_call(struct cel_checker *c, struct cel_node *n)
{
	char name[120];

	if (n->name.len > 50)
		return "";
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(n->name));
	if (n->method && n->args[0]->op == CEL_OP_NAME && n->args[0]->name.len < 50 &&
	    !cel_checker_find(c, n->args[0]->name)) {
		char full[120];
		(void)snprintf(full, sizeof(full), "%.*s.%.*s", SPAN_ARGS(n->args[0]->name),
			       SPAN_ARGS(n->name));
		if (cel_function_next(NULL, full, false)) {
			n->method = false;
			n->args++;
			n->n--;
			return arena_strndup(c->mem, full, strlen(full));
		}
	}
	return arena_strndup(c->mem, name, strlen(name));
}

/* Conversions of literals are made when a rule is compiled, and patterns looked at, as in cel-go: a
 * rule that can only fail is refused. */
static bool fold_constants(struct cel_checker *c, struct cel_node *n)
{
	static const char *const conversions[] = {"bool", "bytes",  "double",	 "duration",
						  "int",  "string", "timestamp", "uint"};
	const struct cel_node *last = n->n ? n->args[n->n - 1] : NULL;
	const struct cel_program alone = {.root = n};
	int64_t steps = CEL_STEPS_OF_CALL;
	size_t i = 0;

	if (!last || last->op != CEL_OP_LITERAL)
		return true;
	if (strcmp(n->field, "matches") == 0 && last->value.kind == CEL_STRING) {
		if (cel_regex_is_fine(last->value.text))
			return true;
		(void)cel_refuse(c->reterr, c->text, last->at, "invalid matches argument");
		return false;
	}
	while (i < ARRAY_LEN(conversions) && strcmp(conversions[i], n->field) != 0)
		i++;
	if (i == ARRAY_LEN(conversions) || n->n != 1)
		return true;
	struct cel_value v = cel_run(&alone, NULL, 0, c->mem, &steps);
	if (v.kind == CEL_ERROR) {
		(void)cel_refuse(c->reterr, c->text, n->at, "%.*s", SPAN_ARGS(v.text));
		return false;
	}
	n->op = CEL_OP_LITERAL;
	n->value = v;
	return true;
}

const struct cel_type *cel_check_call(struct cel_checker *c, struct cel_node *n)
{
	const struct cel_function *f = NULL;
	const char *name = name_of_call(c, n);
	type types[MAX_CALL_ARGS] = {NULL}, r = NULL;

	for (uint32_t i = 0; i < n->n; i++)
		if (i == MAX_CALL_ARGS)
			return cel_checker_refuse(c, n, "too many arguments");
		else if (!(types[i] = cel_check(c, n->args[i])))
			return NULL;
	if (!cel_function_next(NULL, name, n->method))
		return cel_checker_refuse_name(c, n);
	while ((f = cel_function_next(f, name, n->method))) {
		if (!takes(f, types, n->n))
			continue;
		type t = result_of(c, f, types);
		r = r && !cel_type_alike(r, t) ? cel_type_plain(CEL_DYN)
		    : r			       ? cel_type_joined(r, t)
					       : t;
	}
	n->field = name;
	if (!r)
		return cel_checker_no_overload(c, n, name, types, n->n);
	return fold_constants(c, n) ? r : NULL;
}
