#ifndef CORE_ADMISSION_RECLAIM_SEARCH_H
#define CORE_ADMISSION_RECLAIM_SEARCH_H
/*
 * Who must go so that a waiting owner of the elastic tree can start, and on which member: the
 * search of quota-tree/elastic_reclaim.h with the nodes of each member beside the quota. On the
 * tree in force (reclaim.h), or on a trial tree for a preview. Changes nothing.
 */
#include "core/state.h"
#include "quota-tree/elastic_reclaim.h"

struct reclaim_round {
	struct core *c;
	struct elastic_tree *tree;
	struct arena mem;
	struct VEC(struct elastic_job) running;
	struct map held; /* of victim_find() */
};
/* All jobs that hold something and belong to the tree, which is charged with them. */
void reclaim_round_begin(struct reclaim_round *r, struct core *c, struct elastic_tree *tree);
void reclaim_round_end(struct reclaim_round *r);
/* Told to leave, and holds its quota until its pods are gone. */
bool reclaim_is_leaving(const struct job *j);
/* The victims that let the waiting unit's job start, and where. False: nobody's leaving helps, or
 * somebody is leaving already. */
bool reclaim_find(struct reclaim_round *r, const struct elastic_unit *unit,
		  struct elastic_victims *ret, uint32_t *ret_cluster);

#endif
