#ifndef KINDS_SYSTEM_CLASSES_H
#define KINDS_SYSTEM_CLASSES_H
/*
 * The two PriorityClasses that every Kubernetes cluster is born with (pkg/apis/scheduling,
 * SystemPriorityClasses): their names are the only ones that may begin with "system-", and their
 * values lie above what users may give.
 */
#include "base/span.h"
#include <stdint.h>

struct system_class {
	const char *name;
	int32_t value;
	const char *description;
};

#define SYSTEM_CLASSES	      2
#define SYSTEM_CLASS_PREFIX   "system-"
#define HIGHEST_USER_PRIORITY 1000000000

extern const struct system_class system_classes[SYSTEM_CLASSES];

/* NULL: there is none of that name. */
const struct system_class *system_class_find(struct span name);

#endif
