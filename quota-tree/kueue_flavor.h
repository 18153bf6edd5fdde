#ifndef QUOTA_TREE_KUEUE_FLAVOR_H
#define QUOTA_TREE_KUEUE_FLAVOR_H
/*
 * Which flavor of a resource group a few pod sets should have: eligibility, quota, fungibility
 * (reference/kueue.md section 2.5, findFlavorForPodSets). Private to
 * kueue_assign.c and kueue_odometer.c.
 */
#include "quota-tree/kueue_assign.h"
#include "quota-tree/kueue_node.h"

struct kueue_ask { /* one resource, of all pod sets of a group together */
	uint32_t resource;
	int64_t value;
};

struct kueue_seek {
	struct kueue_forest *f;
	const struct kueue_workload *w;
	const struct kueue_node *queue;
	struct kueue_assignment *a; /* reasons are added; uses are what earlier pod sets took */
	const struct kueue_group *group;
	const uint32_t *pod_sets; /* of the group of pod sets */
	size_t n_pod_sets;
	const struct kueue_ask *asks; /* those that the resource group covers, by name */
	size_t n_asks;
	uint32_t from;	  /* first flavor to look at */
	uint64_t refused; /* flavors that the caller passed over */
	uint32_t pinned;  /* the only flavor to look at, or KUEUE_NONE */
	bool tells;	  /* attempts are added too, and all reasons kept */
};

struct kueue_grade { /* how well it would do: worst of the resources */
	enum kueue_mode mode;
	uint32_t level; /* of borrowing */
};

struct kueue_found {
	uint32_t flavor;			      /* index in the group, or KUEUE_NONE */
	struct kueue_grade grades[KUEUE_MAX_COVERED]; /* by ask */
	int32_t tried;				      /* as struct kueue_choice.tried */
	enum kueue_no_fit no_fit; /* least severe of the flavors that do not fit */
	bool attempted;		  /* whether there was one */
};

void kueue_flavor_find(const struct kueue_seek *s, struct kueue_found *ret);

/* ---- kueue_assign.c, for kueue_odometer.c ---- */

/* Takes all turns again: the first `fixed` stand as they are, the next passes the refused flavors
 * over (bits), the others begin anew. a->turns are those that came to a flavor. */
void kueue_assign_rerun(struct kueue_forest *f, const struct kueue_workload *w,
			struct kueue_assignment *a, size_t fixed, uint64_t refused);
/* No pod set has a flavor. */
void kueue_assign_wipe(struct kueue_forest *f, const struct kueue_workload *w,
		       struct kueue_assignment *a);

#endif
