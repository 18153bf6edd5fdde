#ifndef KUBE_NODE_AFFINITY_H
#define KUBE_NODE_AFFINITY_H
/*
 * Labels as pairs, and the expressions of node affinity over them, as plain structs.
 *
 * Views: spans and arrays belong to the caller. How they match: kube/label_match.h.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stddef.h>

enum node_op {
	NODE_OP_IN,
	NODE_OP_NOT_IN, /* true also where the key is absent */
	NODE_OP_EXISTS,
	NODE_OP_DOES_NOT_EXIST,
	NODE_OP_GT, /* one integer value; a label that is no integer does not match */
	NODE_OP_LT,
	NODE_OP_MAX,
	NODE_OP_INVALID = -22,
};
/* "In", "NotIn", ...; NODE_OP_INVALID for anything else. */
enum node_op node_op_from_string(struct span s);
const char *node_op_to_string(enum node_op op);

struct label {
	struct span key, value;
};

struct node_expr {
	struct span key;
	enum node_op op;
	const struct span *values;
	size_t n_values;
};

/* All expressions must hold; a term without any matches nothing. */
struct node_term {
	const struct node_expr *labels;
	size_t n_labels;
	const struct node_expr *fields; /* metadata.name only, In or NotIn */
	size_t n_fields;
};

#endif
