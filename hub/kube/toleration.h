#ifndef KUBE_TOLERATION_H
#define KUBE_TOLERATION_H
/*
 * Taints of nodes and clusters, and which of them are tolerated: Kubernetes' rules.
 *
 * NoSchedule and NoExecute keep a gang away, PreferNoSchedule never does; TAINT_RESERVED keeps
 * everybody away but its owner. Views only.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

enum taint_effect {
	TAINT_ANY_EFFECT, /* in a toleration only: all effects */
	TAINT_NO_SCHEDULE,
	TAINT_PREFER_NO_SCHEDULE, /* never keeps a pod away */
	TAINT_NO_EXECUTE,
	/* The hub's own, never in an object: a node that belongs to somebody. As NoSchedule, but
	 * only a toleration that names the key covers it. */
	TAINT_RESERVED,
	TAINT_EFFECT_MAX,
	TAINT_EFFECT_INVALID = -22,
};
enum taint_effect taint_effect_from_string(struct span s); /* "" is TAINT_ANY_EFFECT */
const char *taint_effect_to_string(enum taint_effect e);
/* Whether a taint of this effect keeps pods away from its node: not PreferNoSchedule. */
bool taint_effect_keeps_away(enum taint_effect e);

struct taint {
	struct span key, value;
	enum taint_effect effect;
};

struct toleration {
	struct span key; /* empty with `exists`: tolerates every taint */
	struct span value;
	bool exists; /* operator Exists; otherwise Equal */
	enum taint_effect effect;
	bool limited; /* a NoExecute taint is tolerated for `seconds`, then the pod has to go */
	int64_t seconds;
};

/* Kubernetes v1.Toleration.ToleratesTaint. */
bool toleration_tolerates(const struct toleration *t, const struct taint *taint);
/* For how many seconds a pod that has them stays where the taint is, as Kubernetes' taint eviction
 * reads it: what the first that matches says. INT64_MAX: without end; -1: none matches. */
int64_t toleration_time(const struct toleration *tolerations, size_t n, const struct taint *taint);
/* The first NoSchedule or NoExecute taint that no toleration covers, NULL when none is left. */
const struct taint *toleration_first_untolerated(const struct taint *taints, size_t n_taints,
						 const struct toleration *tolerations,
						 size_t n_tolerations);

#endif
