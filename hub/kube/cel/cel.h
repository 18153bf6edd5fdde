#ifndef KUBE_CEL_CEL_H
#define KUBE_CEL_CEL_H
/*
 * The Common Expression Language as validation rules of CustomResourceDefinitions use it
 * (github.com/google/cel-spec; k8s.io/apiserver/pkg/cel/environment): compiled once against the
 * types of its variables, run over JSON trees within a budget.
 *
 * What runs: the language without messages; macros has, all, exists, exists_one, map, filter;
 * optional values; the standard functions; cel-go's strings and sets; Kubernetes' lists, regex,
 * quantity, ip and cidr. A function, field or variable that is none of these is refused when the
 * rule is compiled, by name and place: nothing is passed over in silence. Time zones other than
 * UTC, string formats, format.*, url() and semver() are among what is refused.
 *
 * Types are checked before, as cel-go does: `self.replicas > "3"` does not compile. Numbers are
 * compared across their kinds. Patterns are PCRE2's, bounded in steps, where cel-go has RE2.
 *
 * Pure; any thread. A program borrows from its arena and text, and does not change.
 */
#include "base/err.h"
#include "kube/cel/cel_value.h"

#define CEL_MAX_VARIABLES 8

struct cel_variable {
	const char *name;
	const struct cel_type *type;
};

struct cel_node;

struct cel_program {
	const struct cel_node *root; /* NULL: none */
	const struct cel_type *type; /* of its result */
	uint32_t uses;		     /* bit i: variable i */
};

/* Steps that one run may take (PerCallLimit of k8s.io/apiserver/pkg/apis/cel), and all rules of one
 * write together (RuntimeCELCostBudget). A step is about a node visited, a value compared or ten
 * bytes looked at. */
#define CEL_STEPS_OF_CALL  1000000
#define CEL_STEPS_OF_WRITE 10000000
/* Memory that one run may take. */
#define CEL_MEMORY_OF_CALL ((size_t)16 << 20)

/* ERR_INVALID with "ERROR: <input>:1:5: undefined field 'x'" and the line. `text` must live as
 * long as the program. */
int cel_compile(struct arena *mem, struct span text, const struct cel_variable *variables, size_t n,
		struct cel_program *ret, struct err *reterr) MUST_CHECK;

/* The result for these values of the variables, in their order; a CEL_ERROR when it has none. What
 * it points to lies in `mem` or in the values. *steps is lowered by what it took; an error with
 * *steps 0 or less: the budget ended it. */
struct cel_value cel_run(const struct cel_program *p, const struct cel_value *values, size_t n,
			 struct arena *mem, int64_t *steps);

#endif
