#ifndef POLICIES_LABEL_MATCH_H
#define POLICIES_LABEL_MATCH_H
/*
 * Label selectors on plain labels: metav1.LabelSelector over a list of pairs.
 *
 * An empty selector matches everything, as in Kubernetes. Views only: nothing is copied. The
 * operators are those of metav1 (In, NotIn, Exists, DoesNotExist); NotIn and DoesNotExist hold
 * where the key is absent. Gt and Lt are for node affinity, and served by label_match_expr().
 */
#include "policies/pod_set.h"

struct label_selector {
	const struct label *match_labels;
	size_t n_match_labels;
	const struct node_expr *exprs;
	size_t n_exprs;
};

/* The value of a key, NULL when absent. Labels need no order. */
const struct span *label_find(const struct label *labels, size_t n, struct span key);
/* One expression against a value; `value` NULL where the key is absent. */
bool label_match_expr(const struct node_expr *e, const struct span *value);
bool label_match(const struct label_selector *s, const struct label *labels, size_t n);

#endif
