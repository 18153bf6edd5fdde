#ifndef REGISTRY_DEFINITION_STATUS_H
#define REGISTRY_DEFINITION_STATUS_H
/*
 * The status of a CustomResourceDefinition: which names it asks for, whether they are free, and the
 * conditions that say so. Pure, on trees. Reasons and words are those of apiextensions' naming and
 * establishing controllers.
 */
#include "base/clock.h"
#include "base/span.h"
#include <stdbool.h>

struct cJSON;
struct kind;

struct definition_names { /* borrowed */
	const char *group, *plural, *singular, *kind, *list_kind;
	const struct cJSON *short_names;
};

struct definition_names definition_status_names(const struct cJSON *object);
/* The word that a served kind has already ("widgets" is already in use), or NULL. A kind that is
 * known by name only gives its words up when it is definable. */
const char *definition_status_conflict(const struct definition_names *n, const struct kind *other,
				       const char **ret_reason);
/* Conditions NamesAccepted and Established, and acceptedNames. taken: the conflict, or NULL. A
 * condition's time changes with its status only. */
void definition_status_set(struct cJSON *object, const char *taken, const char *reason, usec now);
/* Condition Terminating. False when it stood there already. */
bool definition_status_terminating(struct cJSON *object, usec now);
/* Whether checked text says Established=True. */
bool definition_status_established(struct span json);

#endif
