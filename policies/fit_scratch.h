#ifndef POLICIES_FIT_SCRATCH_H
#define POLICIES_FIT_SCRATCH_H
/*
 * Memory that fits work in, one per fleet, so that a decision allocates nothing once it is warm.
 * Private to this folder.
 */
#include "policies/fit.h"
#include "policies/fleet.h"

/* Nodes that are alike while a gang is being packed: a group, or a part of one. */
struct fit_bin {
	const int64_t *free; /* of the state, or of `own` */
	int64_t *own;	     /* in scratch, once pods were packed here; NULL before */
	uint32_t state;	     /* of the group */
	uint32_t group;
	uint32_t n;    /* nodes */
	uint32_t uses; /* head of a list in fit_scratch.uses; UINT32_MAX none */
};

/* `pods` pods of a part on every node of a bin. */
struct fit_use {
	uint32_t part, pods;
	uint32_t next;
};

/* A bin that takes pods, by the fill that it has for them. */
struct fit_choice {
	uint32_t rank;	/* ascending is the order of use; ties by index */
	uint32_t index; /* of bin, group or node */
	uint32_t fill;
};

struct fit_scratch {
	struct VEC(struct fit_slot) slots;
	struct VEC(struct fit_choice) choices;
	struct VEC(struct fit_bin) bins;
	struct VEC(struct fit_use) uses;
	struct VEC(int64_t) amounts;  /* vectors of bins */
	struct VEC(uint32_t) cursors; /* next node by group */
	struct VEC(int64_t) left;     /* pods not yet given to a node, by set */
	struct VEC(uint32_t) order;   /* parts in packing order */
};

struct fit_scratch *fit_scratch_of(struct fleet *f); /* made at the first call */
void fit_scratch_destroy(struct fit_scratch *s);

/* Starts a list of slots for a shape: all pods of all sets are to be given out. */
void fit_scratch_begin(struct fit_scratch *s, const struct shape *shape);
/* Gives `pods` pods of a part to a node: to the part's sets in their order. */
void fit_scratch_give(struct fit_scratch *s, const struct shape *shape, uint32_t part,
		      uint32_t node, uint32_t pods);

/* Adds a choice, if pods fit there at all. `fewest`: large holes first, so that fewest nodes are
 * used; else small ones first. Devices are spared either way. */
void fit_scratch_add(struct fit_scratch *s, uint32_t fill, uint32_t index, bool fewest);
/* Sorts the choices; allocates nothing. */
void fit_scratch_sort(struct fit_scratch *s);

#endif
