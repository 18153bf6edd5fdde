#ifndef KUBE_LABEL_MATCH_H
#define KUBE_LABEL_MATCH_H
/*
 * Label selectors on plain labels: metav1.LabelSelector over a list of pairs.
 *
 * An empty selector matches everything, as in Kubernetes. Views only: nothing is copied. The
 * operators are those of metav1 (In, NotIn, Exists, DoesNotExist); NotIn and DoesNotExist hold
 * where the key is absent. Gt and Lt are for node affinity, and served by label_match_expr().
 */
#include "base/arena.h"
#include "kube/node_affinity.h"
#include <stdbool.h>

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

/* Deep copies in `a`. */
const struct span *label_values_dup(struct arena *a, const struct span *from, size_t n);
const struct node_expr *label_exprs_dup(struct arena *a, const struct node_expr *from, size_t n);
struct label_selector label_selector_dup(struct arena *a, const struct label_selector *from);

#endif
