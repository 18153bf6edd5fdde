#ifndef KUBE_CEL_LIST_H
#define KUBE_CEL_LIST_H
/* Lists that an expression makes, and what operators make of two values. Internal to kube/cel. */
#include "kube/cel/cel_function.h"

/* Takes the array as it is; in the arena. */
struct cel_value cel_list_of(struct arena *mem, const struct cel_value *items, size_t n);
struct cel_value cel_string_of(struct arena *mem, struct span text); /* copied */
struct cel_value cel_optional_of(struct cel_run *r, struct cel_value v);
/* + - * / %: overflow and division by zero are errors. Sets and lists of keyed items of a schema
 * are united by +, as apiextensions does it. */
struct cel_value cel_calculate(struct cel_run *r, enum cel_op op, const struct cel_value *a,
			       const struct cel_value *b);

#endif
