#include "kube/node_affinity.h"

static const char *const op_names[NODE_OP_MAX] = {
    [NODE_OP_IN] = "In",	 [NODE_OP_NOT_IN] = "NotIn",
    [NODE_OP_EXISTS] = "Exists", [NODE_OP_DOES_NOT_EXIST] = "DoesNotExist",
    [NODE_OP_GT] = "Gt",	 [NODE_OP_LT] = "Lt",
};

enum node_op node_op_from_string(struct span s)
{
	for (int i = 0; i < NODE_OP_MAX; i++)
		if (span_is(s, op_names[i]))
			return (enum node_op)i;
	return NODE_OP_INVALID;
}

const char *node_op_to_string(enum node_op op)
{
	return op >= 0 && op < NODE_OP_MAX ? op_names[op] : "";
}
