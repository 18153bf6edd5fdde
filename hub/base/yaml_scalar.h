#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H
/*
 * What a YAML scalar means in JSON: the resolution rules of kubectl's decoder (libraries.md
 * section 5, checked against kubectl 1.32), with exact numbers where kubectl rounds to a double.
 *
 * Internal to yaml.c; separate so that the table of rules can be tested by itself. Pure.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/span.h"
#include <stdbool.h>

struct yaml_scalar {
	enum json_type type; /* NULL, BOOL, NUMBER or STRING */
	bool truth;	     /* BOOL */
};

/* Resolves one scalar. `plain`: written without quotes and not as a block. tag: the full tag
 * ("tag:yaml.org,2002:int"), absent when none. The text of a NUMBER (a JSON number) or STRING is
 * appended to out. ERR_BAD_REQUEST: .inf and .nan, a value that its tag does not allow, NUL. */
int yaml_scalar_resolve(struct span text, struct span tag, bool plain, struct buf *out,
			struct yaml_scalar *ret, struct err *reterr) MUST_CHECK;

#endif
