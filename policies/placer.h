#ifndef POLICIES_PLACER_H
#define POLICIES_PLACER_H
/*
 * Asks and the ordered structure each keeps over the clusters. Private to this folder; placement.h
 * is the outside.
 *
 * A tracked ask has lanes for its rows and a tournament tree: leaf c is the score of cluster c,
 * every inner node the smaller of its two children, so the root is the best cluster. Scores are
 * refreshed from the fleet's list of changed clusters, newest first, down to what the ask has
 * seen. Lanes and trees are bounded: the ask that was not decided for longest loses them and gets
 * them again, by one look at everything, when it is decided the next time. Parked asks keep them:
 * waiting.c needs the lanes.
 */
#include "policies/fleet.h"
#include "policies/placement.h"

enum { PLACER_TRACKED_MAX = 1024 };
#define SCORE_NONE  UINT64_MAX
#define GROUP_NONE  UINT8_MAX
#define SCORE_RANK  12 /* bits; 4096 clusters */
#define SCORE_LOAD  10
#define SCORE_LEFT  24
#define SCORE_LEVEL 4

struct ask {
	struct arena arena;
	struct span key;
	struct shape *shape;
	struct placement_spec placement; /* in the arena */
	struct api_kind kind;		 /* in the arena */
	uint32_t refs, id;
	bool tracked;
	struct ask *older, *newer; /* tracked asks by last decision */
	uint64_t seen;		   /* fleet version that the tree knows */
	uint64_t roster;	   /* fleet roster version that the tree was made for */
	uint64_t *tree;		   /* 2 * leaves; tree[1] is the best */
	uint8_t *group;		   /* affinity group by cluster; GROUP_NONE: no candidate */
	uint32_t leaves, cap_leaves;
	/* waiting.c */
	bool parked, woken;
	uint32_t lane; /* where it waits; LANES_MAX: with those without one */
	uint64_t parked_at;
};

struct placer {
	struct fleet *f;
	struct map asks; /* key -> struct ask */
	struct VEC(uint32_t) free_ids;
	uint32_t n_ids;
	struct ask *oldest, *newest;
	uint32_t n_tracked;
	struct VEC(struct excluded_leaf {
		uint32_t cluster;
		uint64_t score;
	}) excluded;
	struct placer_stats stats;
};

/* Moves the ask to the young end of the tracked ones; tracks it when it is not and there is room.
 */
void placer_track(struct placer *p, struct ask *a);
/* Brings the tree up to date. */
void placer_refresh(struct placer *p, struct ask *a);
/* Sets one leaf. */
void placer_set(struct ask *a, uint32_t cluster, uint64_t score);

#endif
