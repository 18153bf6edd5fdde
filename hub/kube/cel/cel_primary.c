/*
 * Literals, names and calls. Macros (has, all, exists, exists_one, map, filter) are seen here, as
 * the language defines them by their spelling.
 */
#include "kube/cel/cel_names.h"
#include "kube/cel/cel_parser.h"

#include <errno.h>

/* ---- calls and macros ---- */

static int parse_list(struct cel_parser *p, const char *end, bool optionals, struct cel_nodes *ret)
{
	int r;

	while ((r = cel_parser_take(p, end)) == 0) {
		if (ret->n == CEL_MAX_ARGS)
			return cel_parser_refuse(p, p->now.at, "too many elements");
		if (optionals && (r = cel_parser_take(p, "?")) != 0) {
			if (r < 0)
				return r;
			ret->optional[ret->n] = ret->any_optional = true;
		}
		if ((r = cel_parse_expression(p, &ret->items[ret->n])) < 0)
			return r;
		ret->n++;
		if (cel_parser_at(p, end))
			continue;
		if ((r = cel_parser_expect(p, ",")) < 0)
			return r;
		if (cel_parser_at(p, end) && end[0] == ')')
			return cel_parser_refuse(p, p->now.at, "extraneous input ','");
	}
	return r < 0 ? r : 0;
}

static bool macro_of(struct span name, uint32_t n_args, enum cel_op *ret)
{
	static const struct {
		const char *name;
		enum cel_op op;
		uint32_t least, most;
	} macros[] = {{"all", CEL_OP_ALL, 2, 3},
		      {"exists", CEL_OP_EXISTS, 2, 3},
		      {"exists_one", CEL_OP_EXISTS_ONE, 2, 2},
		      {"existsOne", CEL_OP_EXISTS_ONE, 2, 3},
		      {"filter", CEL_OP_FILTER, 2, 2},
		      {"map", CEL_OP_EACH, 2, 3}};

	for (size_t i = 0; i < ARRAY_LEN(macros); i++)
		if (span_is(name, macros[i].name) && n_args >= macros[i].least &&
		    n_args <= macros[i].most) {
			*ret = macros[i].op;
			return true;
		}
	return false;
}

/* args[0] is the range, args[1] the variable. */
static int make_macro(struct cel_parser *p, struct cel_node *call, enum cel_op op)
{
	struct cel_node *variable = call->args[1];

	if (variable->op != CEL_OP_NAME)
		return cel_refuse(p->reterr, p->text, variable->at,
				  "argument must be a simple name");
	call->op = op;
	call->name = variable->name;
	if (call->n == 4 && op != CEL_OP_EACH) { /* all(i, v, condition) */
		if (call->args[2]->op != CEL_OP_NAME)
			return cel_refuse(p->reterr, p->text, call->args[2]->at,
					  "argument must be a simple name");
		call->second = call->args[2]->name;
	}
	call->args[1] = call->args[call->n - 1];
	call->n = call->n == 4 && op == CEL_OP_EACH ? 3 : 2; /* map(x, condition, value) */
	return 0;
}

static int make_has(struct cel_parser *p, struct cel_node *call)
{
	if (call->n != 1 || call->args[0]->op != CEL_OP_SELECT)
		return cel_refuse(p->reterr, p->text, call->at, "invalid argument to has() macro");
	struct cel_node *of = call->args[0];
	call->op = CEL_OP_HAS;
	call->name = of->name;
	call->args[0] = of->args[0];
	return 0;
}

int cel_parse_call(struct cel_parser *p, struct span name, uint32_t at, struct cel_node *target,
		   struct cel_node **ret)
{
	struct cel_nodes args = {.n = 0};
	enum cel_op op;
	int r;

	if (target)
		args.items[args.n++] = target;
	if ((r = cel_parser_advance(p)) < 0 || (r = parse_list(p, ")", false, &args)) < 0)
		return r;
	struct cel_node *n = cel_parser_node(p, CEL_OP_CALL, at);
	n->name = name;
	n->method = target != NULL;
	cel_parser_set_args(p, n, args.items, args.n);
	*ret = n;
	if (target && macro_of(name, args.n - 1, &op))
		return make_macro(p, n, op);
	if (!target && span_is(name, "has"))
		return make_has(p, n);
	return 0;
}

/* ---- primaries ---- */

static int parse_map(struct cel_parser *p, struct cel_node **ret)
{
	struct cel_nodes entries = {.n = 0};
	uint32_t at = p->now.at;
	int r = cel_parser_advance(p);

	while (r >= 0 && (r = cel_parser_take(p, "}")) == 0) {
		if (entries.n + 2 > CEL_MAX_ARGS)
			return cel_parser_refuse(p, p->now.at, "too many entries");
		if ((r = cel_parser_take(p, "?")) < 0)
			return r;
		entries.optional[entries.n] = r == 1;
		entries.any_optional |= r == 1;
		if ((r = cel_parse_expression(p, &entries.items[entries.n])) < 0 ||
		    (r = cel_parser_expect(p, ":")) < 0 ||
		    (r = cel_parse_expression(p, &entries.items[entries.n + 1])) < 0)
			return r;
		entries.n += 2;
		if (!cel_parser_at(p, "}"))
			r = cel_parser_expect(p, ",");
	}
	if (r < 0)
		return r;
	*ret = cel_parser_node(p, CEL_OP_MAP, at);
	cel_parser_set_args(p, *ret, entries.items, entries.n);
	if (entries.any_optional) {
		(*ret)->optionals = arena_array(p->mem, bool, entries.n);
		memcpy((*ret)->optionals, entries.optional, entries.n * sizeof(bool));
	}
	return 0;
}

static int parse_list_literal(struct cel_parser *p, struct cel_node **ret)
{
	struct cel_nodes items = {.n = 0};
	uint32_t at = p->now.at;
	int r = cel_parser_advance(p);

	if (r < 0 || (r = parse_list(p, "]", true, &items)) < 0)
		return r;
	*ret = cel_parser_node(p, CEL_OP_LIST, at);
	cel_parser_set_args(p, *ret, items.items, items.n);
	if (items.any_optional) {
		(*ret)->optionals = arena_array(p->mem, bool, items.n);
		memcpy((*ret)->optionals, items.optional, items.n * sizeof(bool));
	}
	return 0;
}

static int parse_name(struct cel_parser *p, struct cel_node **ret)
{
	struct cel_token name = p->now;

	if (cel_name_is_reserved(name.text)) {
		char words[80];
		(void)snprintf(words, sizeof(words), "reserved identifier: %.*s",
			       SPAN_ARGS(name.text));
		return cel_parser_refuse(p, name.at, words);
	}
	if (cel_parser_advance(p) < 0)
		return err_errno(ERR_INVALID);
	if (cel_parser_at(p, "("))
		return cel_parse_call(p, name.text, name.at, NULL, ret);
	*ret = cel_parser_node(p, CEL_OP_NAME, name.at);
	(*ret)->name = name.text;
	return 0;
}

int cel_parse_primary(struct cel_parser *p, struct cel_node **ret)
{
	int r;

	if (p->now.kind == CEL_TOKEN_VALUE) {
		*ret = cel_parser_node(p, CEL_OP_LITERAL, p->now.at);
		(*ret)->value = p->now.value;
		return cel_parser_advance(p);
	}
	if (p->now.kind == CEL_TOKEN_NAME)
		return parse_name(p, ret);
	if (cel_parser_at(p, "["))
		return parse_list_literal(p, ret);
	if (cel_parser_at(p, "{"))
		return parse_map(p, ret);
	if ((r = cel_parser_take(p, "(")) != 0)
		return r < 0 || (r = cel_parse_expression(p, ret)) < 0 ? r
								       : cel_parser_expect(p, ")");
	return p->now.kind == CEL_TOKEN_END
		   ? cel_parser_refuse(p, p->now.at, "mismatched input '<EOF>'")
		   : cel_parser_refuse(p, p->now.at, "mismatched input");
}
