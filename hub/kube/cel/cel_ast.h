#ifndef KUBE_CEL_AST_H
#define KUBE_CEL_AST_H
/*
 * The tree of an expression: parsed by cel_parse.c with macros as nodes of their own, checked by
 * cel_check.c, run by cel_run.c. Lies in one arena and does not change after the check.
 */
#include "base/err.h"
#include "kube/cel/cel_value.h"

enum cel_op {
	CEL_OP_LITERAL,
	CEL_OP_NAME,   /* a variable or a type */
	CEL_OP_SELECT, /* args[0].name */
	CEL_OP_HAS,    /* has(args[0].name) */
	CEL_OP_INDEX,  /* args[0][args[1]] */
	CEL_OP_CALL,   /* name(args) or args[0].name(args[1..]) when `method` */
	CEL_OP_LIST,
	CEL_OP_MAP, /* key, value, key, value */
	/* args[0] is what is gone through, args[1] what is asked of each; `name` the variable, with
	 * `second` that of the value beside an index or key */
	CEL_OP_ALL,
	CEL_OP_EXISTS,
	CEL_OP_EXISTS_ONE,
	CEL_OP_FILTER,
	CEL_OP_EACH, /* map(x, args[1]), or map(x, args[2], args[1]) */
	CEL_OP_COND,
	CEL_OP_AND, /* of two or more */
	CEL_OP_OR,
	CEL_OP_NOT,
	CEL_OP_NEGATE,
	CEL_OP_ADD,
	CEL_OP_SUBTRACT,
	CEL_OP_MULTIPLY,
	CEL_OP_DIVIDE,
	CEL_OP_MODULO,
	CEL_OP_EQUAL,
	CEL_OP_UNEQUAL,
	CEL_OP_LESS,
	CEL_OP_LESS_EQUAL,
	CEL_OP_GREATER,
	CEL_OP_GREATER_EQUAL,
	CEL_OP_IN,
};

struct cel_node {
	enum cel_op op;
	uint32_t at; /* offset in the text */
	uint32_t n;
	uint32_t depth; /* of the tree below */
	bool method;	/* of a call */
	bool optional;	/* .?name, [?index] */
	bool negative;	/* of a literal: it has its sign */
	struct span name, second;
	const char *field;	     /* a field's name in the tree, or a function's, by the check */
	const struct cel_type *type; /* of the field */
	uint32_t slot;		     /* a variable's place, by the check */
	struct cel_value value;	     /* of a literal, or a type's name */
	struct cel_node **args;
	bool *optionals; /* of a list's or map's entries; or NULL */
};

#define CEL_MAX_TEXT  10240 /* of one expression, as apiextensions has it */
#define CEL_MAX_DEPTH 48    /* of brackets */
#define CEL_MAX_TREE  250   /* levels of nodes, as in cel-go */
#define CEL_MAX_ARGS  256

/* The tree of a text, in `mem`; literals borrow from it. ERR_INVALID with place and words. */
int cel_parse(struct arena *mem, struct span text, struct cel_node **ret,
	      struct err *reterr) MUST_CHECK;
/* "ERROR: <input>:1:5: words\n | text\n | ....^", as cel-go shows a place. */
int cel_refuse(struct err *reterr, struct span text, uint32_t at, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
