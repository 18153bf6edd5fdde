#ifndef KUBE_CEL_CHECKER_H
#define KUBE_CEL_CHECKER_H
/*
 * What the halves of the check share: cel_check.c goes through the tree, cel_call.c has calls.
 * A NULL type is an error that *reterr has. Internal to kube/cel.
 */
#include "kube/cel/cel_function.h"
#include "kube/cel/cel_types.h"

struct cel_checker_variable {
	struct span name;
	const struct cel_type *type;
};

struct cel_checker {
	struct arena *mem;
	struct span text;
	struct cel_checker_variable variables[CEL_MAX_SLOTS];
	uint32_t n_variables, n_given;
	uint32_t uses;
	struct err *reterr;
};

const struct cel_type *cel_check(struct cel_checker *c, struct cel_node *n);
const struct cel_type *cel_check_call(struct cel_checker *c, struct cel_node *n);

/* The innermost variable of the name, or NULL. */
struct cel_checker_variable *cel_checker_find(struct cel_checker *c, struct span name);
const struct cel_type *cel_checker_container(struct cel_checker *c, enum cel_kind kind,
					     const struct cel_type *item);

/* Each tells an error at the node and returns NULL. */
const struct cel_type *cel_checker_refuse(struct cel_checker *c, const struct cel_node *n,
					  const char *what);
const struct cel_type *cel_checker_refuse_name(struct cel_checker *c, const struct cel_node *n);
/* "found no matching overload for '_+_' applied to '(int, string)'" */
const struct cel_type *cel_checker_no_overload(struct cel_checker *c, const struct cel_node *n,
					       const char *name,
					       const struct cel_type *const *types, uint32_t k);

#endif
