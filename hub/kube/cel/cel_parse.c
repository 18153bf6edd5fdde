/*
 * Recursive descent over cel-spec's grammar: the operators by how they bind, then fields, methods
 * and elements.
 */
#include "kube/cel/cel_parser.h"

#include <errno.h>
#include <stdarg.h>

int cel_refuse(struct err *reterr, struct span text, uint32_t at, const char *fmt, ...)
{
	char words[400], line[200];
	unsigned row = 1, column = 1;
	size_t from = 0, n = 0;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < at && i < text.len; i++) {
		column++;
		if (text.ptr[i] == '\n') {
			row++;
			column = 1;
			from = i + 1;
		}
	}
	while (from + n < text.len && text.ptr[from + n] != '\n' && n < sizeof(line) - 1) {
		line[n] = text.ptr[from + n];
		n++;
	}
	line[n] = '\0';
	return err_set(reterr, ERR_INVALID, "ERROR: <input>:%u:%u: %s\n | %s\n | %.*s^", row,
		       column, words, line, (int)(column - 1 < 150 ? column - 1 : 150),
		       "....................................................................."
		       "....................................................................."
		       "............");
}

int cel_parser_refuse(struct cel_parser *p, uint32_t at, const char *words)
{
	return cel_refuse(p->reterr, p->text, at, "Syntax error: %s", words);
}

int cel_parser_advance(struct cel_parser *p)
{
	return cel_token_next(p->mem, p->text, &p->pos, &p->now, p->reterr);
}

bool cel_parser_at(const struct cel_parser *p, const char *sign)
{
	return p->now.kind == CEL_TOKEN_SIGN && span_is(p->now.text, sign);
}

/* 1: taken; 0: something else stands there. */
int cel_parser_take(struct cel_parser *p, const char *sign)
{
	if (!cel_parser_at(p, sign))
		return 0;
	return cel_parser_advance(p) < 0 ? err_errno(ERR_INVALID) : 1;
}

int cel_parser_expect(struct cel_parser *p, const char *sign)
{
	char words[80];
	int r = cel_parser_take(p, sign);

	if (r == 1)
		return 0;
	if (r < 0)
		return r;
	(void)snprintf(words, sizeof(words), "expecting '%s', found '%.*s'", sign,
		       (int)(p->now.text.len < 40 ? p->now.text.len : 40),
		       p->now.kind == CEL_TOKEN_END ? ""
		       : p->now.text.ptr	    ? p->now.text.ptr
						    : "");
	return cel_parser_refuse(p, p->now.at, words);
}

struct cel_node *cel_parser_node(struct cel_parser *p, enum cel_op op, uint32_t at)
{
	struct cel_node *n = arena_new(p->mem, struct cel_node);

	n->op = op;
	n->at = at;
	return n;
}

void cel_parser_set_args(struct cel_parser *p, struct cel_node *n, struct cel_node *const *args,
			 uint32_t k)
{
	n->args = arena_array(p->mem, struct cel_node *, k);
	n->n = k;
	for (uint32_t i = 0; i < k; i++) {
		n->args[i] = args[i];
		if (args[i]->depth >= n->depth)
			n->depth = args[i]->depth + 1;
	}
}

/* ---- members ---- */

static int parse_select(struct cel_parser *p, struct cel_node **at)
{
	int optional = cel_parser_take(p, "?");

	if (optional < 0)
		return optional;
	struct cel_token name = p->now;
	if (name.kind != CEL_TOKEN_NAME)
		return cel_parser_refuse(p, name.at, "expecting a field or method");
	/* Only the words of values and `in` cannot be fields. */
	if (span_is(name.text, "in"))
		return cel_parser_refuse(p, name.at, "mismatched input 'in'");
	if (cel_parser_advance(p) < 0)
		return err_errno(ERR_INVALID);
	if (cel_parser_at(p, "(") && !optional)
		return cel_parse_call(p, name.text, name.at, *at, at);
	struct cel_node *n = cel_parser_node(p, CEL_OP_SELECT, name.at);
	n->name = name.text;
	n->optional = optional;
	cel_parser_set_args(p, n, at, 1);
	*at = n;
	return 0;
}

static int parse_index(struct cel_parser *p, struct cel_node **at)
{
	struct cel_node *pair[2] = {*at, NULL};
	uint32_t place = p->now.at;
	int optional = cel_parser_take(p, "?"), r;

	if (optional < 0 || (r = cel_parse_expression(p, &pair[1])) < 0 ||
	    (r = cel_parser_expect(p, "]")) < 0)
		return err_errno(ERR_INVALID);
	*at = cel_parser_node(p, CEL_OP_INDEX, place);
	(*at)->optional = optional;
	cel_parser_set_args(p, *at, pair, 2);
	return 0;
}

static int parse_member(struct cel_parser *p, struct cel_node **ret)
{
	int r = cel_parse_primary(p, ret);
	int depth = 0;

	while (r >= 0) {
		if (++depth > CEL_MAX_DEPTH)
			return cel_parser_refuse(p, p->now.at, "expression is nested too deeply");
		if ((r = cel_parser_take(p, ".")) == 1)
			r = parse_select(p, ret);
		else if (r == 0 && (r = cel_parser_take(p, "[")) == 1)
			r = parse_index(p, ret);
		else
			break;
	}
	return r < 0 ? r : 0;
}

/* ---- operators ---- */

static int parse_unary(struct cel_parser *p, struct cel_node **ret)
{
	enum cel_op op = cel_parser_at(p, "!") ? CEL_OP_NOT : CEL_OP_NEGATE;
	const char *sign = op == CEL_OP_NOT ? "!" : "-";
	uint32_t at = p->now.at;
	unsigned n = 0;
	int r;

	while ((r = cel_parser_take(p, sign)) == 1)
		n++;
	if (r < 0 || (r = parse_member(p, ret)) < 0)
		return r;
	struct cel_node *of = *ret;
	bool literal = n && op == CEL_OP_NEGATE && of->op == CEL_OP_LITERAL;
	if (literal && of->value.kind == CEL_INT && of->value.number != INT64_MIN) {
		of->value.number = -of->value.number;
		n--;
	} else if (literal && (of->value.kind == CEL_INT || of->value.kind == CEL_DOUBLE)) {
		of->value.real = of->value.kind == CEL_DOUBLE ? -of->value.real : of->value.real;
		of->at = at;
		of->negative = true;
		n--;
	}
	if (of->op == CEL_OP_LITERAL && of->value.kind == CEL_INT &&
	    of->value.number == INT64_MIN && !of->negative)
		return cel_parser_refuse(p, of->at, "invalid int literal");
	if (n % 2 == 0)
		return 0;
	*ret = cel_parser_node(p, op, at);
	cel_parser_set_args(p, *ret, &of, 1);
	return 0;
}

struct operator
{
	const char *sign;
	enum cel_op op;
};

#define LEVELS	  5
#define MAX_SIGNS 7

static const struct operator operators[LEVELS][MAX_SIGNS + 1] = {
    {{"||", CEL_OP_OR}},
    {{"&&", CEL_OP_AND}},
    {{"==", CEL_OP_EQUAL},
     {"!=", CEL_OP_UNEQUAL},
     {"<=", CEL_OP_LESS_EQUAL},
     {">=", CEL_OP_GREATER_EQUAL},
     {"<", CEL_OP_LESS},
     {">", CEL_OP_GREATER},
     {"in", CEL_OP_IN}},
    {{"+", CEL_OP_ADD}, {"-", CEL_OP_SUBTRACT}},
    {{"*", CEL_OP_MULTIPLY}, {"/", CEL_OP_DIVIDE}, {"%", CEL_OP_MODULO}},
};

static const struct operator* operator_at(const struct cel_parser *p, int level)
{
	for (const struct operator* o = operators[level]; o->sign; o++)
		if ((p->now.kind == CEL_TOKEN_SIGN || p->now.kind == CEL_TOKEN_NAME) &&
		    span_is(p->now.text, o->sign))
			return o;
	return NULL;
}

static int parse_level(struct cel_parser *p, int level, struct cel_node **ret);

static int parse_operand(struct cel_parser *p, int level, struct cel_node **ret)
{
	return level == LEVELS - 1 ? parse_unary(p, ret) : parse_level(p, level + 1, ret);
}

/* a && b && c is one node. */
static int parse_junction(struct cel_parser *p, int level, struct cel_node **ret)
{
	const struct operator* o = & operators[level][0];
	struct cel_nodes all = {.n = 0};
	uint32_t at = 0;
	int r;

	for (;;) {
		if ((r = parse_operand(p, level, &all.items[all.n])) < 0)
			return r;
		all.n++;
		if (!operator_at(p, level))
			break;
		if (all.n == CEL_MAX_ARGS)
			return cel_parser_refuse(p, p->now.at, "too many operands");
		at = at ? at : p->now.at;
		if ((r = cel_parser_advance(p)) < 0)
			return r;
	}
	if (all.n == 1) {
		*ret = all.items[0];
		return 0;
	}
	*ret = cel_parser_node(p, o->op, at);
	cel_parser_set_args(p, *ret, all.items, all.n);
	return 0;
}

static int parse_level(struct cel_parser *p, int level, struct cel_node **ret)
{
	const struct operator* o;
	int r;

	if (level < 2)
		return parse_junction(p, level, ret);
	r = parse_operand(p, level, ret);
	while (r >= 0 && (o = operator_at(p, level))) {
		struct cel_node *pair[2] = {*ret, NULL};
		uint32_t at = p->now.at;
		if ((r = cel_parser_advance(p)) < 0 || (r = parse_operand(p, level, &pair[1])) < 0)
			return r;
		*ret = cel_parser_node(p, o->op, at);
		cel_parser_set_args(p, *ret, pair, 2);
	}
	return r;
}

int cel_parse_expression(struct cel_parser *p, struct cel_node **ret)
{
	struct cel_node *parts[3];
	int r;

	if (++p->depth > CEL_MAX_DEPTH)
		return cel_parser_refuse(p, p->now.at, "expression is nested too deeply");
	if ((r = parse_level(p, 0, ret)) < 0)
		return r;
	uint32_t at = p->now.at;
	if ((r = cel_parser_take(p, "?")) == 1) {
		parts[0] = *ret;
		if ((r = parse_level(p, 0, &parts[1])) < 0 || (r = cel_parser_expect(p, ":")) < 0 ||
		    (r = cel_parse_expression(p, &parts[2])) < 0)
			return r;
		*ret = cel_parser_node(p, CEL_OP_COND, at);
		cel_parser_set_args(p, *ret, parts, 3);
	}
	p->depth--;
	return r < 0 ? r : 0;
}

int cel_parse(struct arena *mem, struct span text, struct cel_node **ret, struct err *reterr)
{
	struct cel_parser p = {.mem = mem, .text = text, .reterr = reterr};

	if (text.len > CEL_MAX_TEXT)
		return cel_refuse(reterr, SPAN_NONE, 0, "expression is longer than %d bytes",
				  CEL_MAX_TEXT);
	if (cel_parser_advance(&p) < 0 || cel_parse_expression(&p, ret) < 0)
		return err_errno(ERR_INVALID);
	if (p.now.kind != CEL_TOKEN_END)
		return cel_parser_refuse(&p, p.now.at, "extraneous input");
	if ((*ret)->depth > CEL_MAX_TREE)
		return cel_refuse(reterr, text, 0, "expression is nested too deeply");
	return 0;
}
