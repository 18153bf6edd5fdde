#ifndef KUBE_CEL_PARSER_H
#define KUBE_CEL_PARSER_H
/*
 * What the two halves of the parser share: cel_parse.c has operators and members, cel_primary.c
 * literals, names, calls and macros. Internal to kube/cel.
 */
#include "kube/cel/cel_token.h"

struct cel_parser {
	struct arena *mem;
	struct span text;
	size_t pos;
	struct cel_token now;
	int depth;
	struct err *reterr;
};

struct cel_nodes {
	struct cel_node *items[CEL_MAX_ARGS];
	bool optional[CEL_MAX_ARGS];
	bool any_optional;
	uint32_t n;
};

int cel_parse_expression(struct cel_parser *p, struct cel_node **ret);
int cel_parse_primary(struct cel_parser *p, struct cel_node **ret);
/* The name stands before; the token is the opening bracket. `target`: of a method, or NULL. */
int cel_parse_call(struct cel_parser *p, struct span name, uint32_t at, struct cel_node *target,
		   struct cel_node **ret);

int cel_parser_refuse(struct cel_parser *p, uint32_t at, const char *words);
int cel_parser_advance(struct cel_parser *p);
bool cel_parser_at(const struct cel_parser *p, const char *sign);
/* 1: taken; 0: something else stands there. */
int cel_parser_take(struct cel_parser *p, const char *sign);
int cel_parser_expect(struct cel_parser *p, const char *sign);
struct cel_node *cel_parser_node(struct cel_parser *p, enum cel_op op, uint32_t at);
void cel_parser_set_args(struct cel_parser *p, struct cel_node *n, struct cel_node *const *args,
			 uint32_t k);

#endif
