#include "kinds/system_classes.h"

/* In upstream's words. */
const struct system_class system_classes[SYSTEM_CLASSES] = {
    {"system-node-critical", 2000001000,
     "Used for system critical pods that must not be moved from their current node."},
    {"system-cluster-critical", 2000000000,
     "Used for system critical pods that must run in the cluster, but can be moved to another "
     "node if necessary."},
};

const struct system_class *system_class_find(struct span name)
{
	for (size_t i = 0; i < SYSTEM_CLASSES; i++)
		if (span_is(name, system_classes[i].name))
			return &system_classes[i];
	return NULL;
}
