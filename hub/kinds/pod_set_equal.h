#ifndef KINDS_POD_SET_EQUAL_H
#define KINDS_POD_SET_EQUAL_H
/*
 * Whether two pod templates are the same to Kueue when it asks if a job still is the one that its
 * Workload was made of (pkg/util/equality/podset.go): containers, init containers, resources and
 * resource claims of the pod as a whole, and tolerations, which admission may have added to, only
 * while the Workload is not admitted. Selectors and affinity are not among them there. Pure.
 *
 * As Go's Semantic.DeepEqual: what is absent equals what is empty, quantities are compared by their
 * value; resource claims have no order.
 */
#include "base/span.h"

struct cJSON;

bool pod_set_equal(const struct cJSON *a, const struct cJSON *b, bool tolerations_too);
/* The same of checked JSON texts; false when one is no object. Equal bytes are not looked into. */
bool pod_set_equal_text(struct span a, struct span b, bool tolerations_too);

#endif
