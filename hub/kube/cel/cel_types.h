#ifndef KUBE_CEL_TYPES_H
#define KUBE_CEL_TYPES_H
/* Types beside types, and what operators make of two of them. Pure; internal to kube/cel. */
#include "kube/cel/cel_ast.h"

const struct cel_type *cel_type_plain(enum cel_kind kind);
bool cel_type_is_dyn(const struct cel_type *t); /* of NULL too */
/* NULL stands for an error that has been told, so dyn is the plain type. */
const struct cel_type *cel_type_known(const struct cel_type *t);
bool cel_type_is_number(const struct cel_type *t);
bool cel_type_is_time(const struct cel_type *t);
/* Whether values of the two may be equal, or stand in one list. */
bool cel_type_alike(const struct cel_type *a, const struct cel_type *b);
/* Of two that are alike the one that says more. */
const struct cel_type *cel_type_joined(const struct cel_type *a, const struct cel_type *b);
/* The type of `a op b`; NULL when there is no such operator. */
const struct cel_type *cel_type_of_pair(const struct cel_type *a, const struct cel_type *b,
					enum cel_op op);

#endif
