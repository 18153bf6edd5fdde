#ifndef KINDS_LABEL_SELECTOR_RULES_H
#define KINDS_LABEL_SELECTOR_RULES_H
/* What a metav1.LabelSelector must be, with everything that is wrong (apimachinery's
 * meta/v1/validation); kube/selector.h reads one to use it, and stops at the first mistake. */
#include "base/json.h"
#include "kube/field_errors.h"

/* selector may be NULL: nothing is wrong. */
void label_selector_rules_check(const struct cJSON *selector, const char *path,
				struct field_errors *errors);
/* The same in a kind of Kubernetes' own, where a missing key or operator is a wrong one: the schema
 * leaves both to this. */
void label_selector_rules_check_core(const struct cJSON *selector, const char *path,
				     struct field_errors *errors);

#endif
