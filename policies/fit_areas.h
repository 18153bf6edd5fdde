#ifndef POLICIES_FIT_AREAS_H
#define POLICIES_FIT_AREAS_H
/*
 * The domains of a topology in one cluster, and how many pods of a set each has room for: what
 * fit_levels.h counts before it chooses. Private to this folder.
 *
 * A cluster's nodes are sorted by their values, so that every domain is a run of them and the
 * domains of one level are in order of value. Sets are looked at one after the other on a copy of
 * what is free, which later ones see.
 */
#include "policies/fit_scratch.h"

struct member {
	uint32_t node;
	uint32_t values[POD_SET_MAX_LEVELS]; /* interned */
};

struct area {			    /* a domain */
	uint32_t first, n;	    /* members */
	uint32_t child, n_children; /* areas of the next level */
	int64_t pods, slices;	    /* that fit; once chosen, that go here */
};

struct list VEC(uint32_t);

struct run {
	uint32_t first, n;
};

struct levels {
	struct fleet *f;
	const struct cluster *k;
	const struct shape *shape;
	int64_t *free; /* stride amounts per node */
	/* of the set at hand */
	const struct pod_topology *t;
	const struct row *row;
	bool least_free; /* least room first, instead of most room first and a tight last one */
	uint32_t size, slice_level;
	uint32_t unit[POD_SET_MAX_LEVELS]; /* pods come to areas of a level in multiples of it */
	struct run only;		   /* the members that may be used; n 0: all */
	struct VEC(struct member) members;
	struct VEC(struct area) areas;
	uint32_t level_at[POD_SET_MAX_LEVELS + 1]; /* first area of a level */
	struct list now, next;
};

/* Copies what is free, begins the slots in scratch. */
void fit_areas_init(struct levels *l, struct fleet *f, uint32_t cluster, const struct shape *shape);
void fit_areas_done(struct levels *l);
/* The set that the next calls are about; what follows from its topology. */
void fit_areas_take_set(struct levels *l, uint32_t set);
/* Its domains, in l->areas by level, with the pods and slices that fit into each now. */
void fit_areas_measure(struct levels *l);
/* What a node takes of it, as node_state_fill(). */
uint32_t fit_areas_fill(const struct levels *l, uint32_t node);

#endif
