#ifndef KUBE_CONSTRAINT_H
#define KUBE_CONSTRAINT_H
/*
 * What a pod template asks of the labels and taints of a node, as plain structs: nodeSelector,
 * required node affinity, tolerations.
 *
 * Views, except what constraint_dup() returns. Preferred terms, pod affinity and matchFields are
 * not looked at here.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "kube/label_match.h"
#include "kube/toleration.h"

struct constraint {
	const struct label *selector; /* spec.nodeSelector */
	size_t n_selector;
	const struct node_term *terms; /* required node affinity, ORed; none: no requirement */
	size_t n_terms;
	const struct toleration *tolerations;
	size_t n_tolerations;
};

/* A deep copy in `a`. */
struct constraint constraint_dup(struct arena *a, const struct constraint *from);

/* Appends bytes that are equal exactly when two constraints say the same in the same order. */
void constraint_key(const struct constraint *c, struct buf *out);

/*
 * Whether labels satisfy selector and terms when only the given keys are looked at: pairs and
 * expressions on any other key are dropped first. A term that is left without expressions then
 * matches everything, so it satisfies the whole affinity (Kueue's rule for a flavor's nodeLabels,
 * reference/kueue.md section 2.5; matchFields are dropped too).
 */
bool constraint_matches_on(const struct constraint *c, const struct label *labels, size_t n_labels,
			   const struct span *keys, size_t n_keys);

#endif
