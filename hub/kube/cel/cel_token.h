#ifndef KUBE_CEL_TOKEN_H
#define KUBE_CEL_TOKEN_H
/* The words of an expression, one after the other (cel-spec, "Lexis"). Pure. */
#include "kube/cel/cel_ast.h"

enum cel_token_kind {
	CEL_TOKEN_END,
	CEL_TOKEN_NAME,
	CEL_TOKEN_VALUE, /* a literal: `value` */
	CEL_TOKEN_SIGN,	 /* an operator or bracket: `text` */
};

struct cel_token {
	enum cel_token_kind kind;
	uint32_t at;
	struct span text;
	struct cel_value value;
};

/* The token at *pos, which moves behind it. */
int cel_token_next(struct arena *mem, struct span text, size_t *pos, struct cel_token *ret,
		   struct err *reterr) MUST_CHECK;

#endif
