#ifndef CORE_SWAP_SWAP_RECORD_H
#define CORE_SWAP_SWAP_RECORD_H
/* What is kept of a gang that lost nodes, and one run over those that are due. Private to swap/. */
#include "core/swap/swap.h"
#include "core/swap/swap_hold.h"
#include "policies/evict_fit.h"
#include "policies/hot_swap.h"

struct lost_node {
	char *name;
	usec due;	/* lost for good from then on */
	bool tolerated; /* tainted; until then its pods tolerate that */
};

struct swap {
	enum swap_step step;
	struct VEC(struct lost_node) nodes;
	bool changed;	 /* something of it did since it was looked at */
	usec next;	 /* when to look whatever happens; INT64_MAX: never */
	usec since;	 /* of the last decision that was told */
	bool told_stuck; /* that pods do not end, since then */
	usec looked_at;
	uint64_t looked, looked_here; /* versions then: of the fleet, of its member */
	struct VEC(uint64_t) victims; /* numbers of jobs that went for it; not durable */
	char *words;
	const char *reason; /* static */
	struct swap_hold hold;
};

/* One run. */
struct swap_round {
	struct core *c;
	struct arena mem; /* of what trials borrow; of one gang at a time */
	struct evict_fit trial;
	struct hot_swap_plan plan;
	struct hot_swap_groups groups;
};

/* A record of a gang that is on its way to another member; false when that cannot be. */
bool swap_moves(struct core *c, struct job *j);
/* Whether the pod is one of the job's present placement. */
bool swap_is_of_placement(const struct job *j, const struct member *m, const struct member_pod *p);
int32_t swap_priority(const struct job *j);
/* Whether the pod is bound to a node that is well, or that it tolerates for a while yet. */
bool swap_stands(const struct core *c, const struct member *m, const struct job *j,
		 const struct member_pod *p);
/* A pod of the job that is deleted on a lost node, and does not end; NULL. */
const struct member_pod *swap_stuck(const struct job *j, const struct member *m);
/* When the job is to be told of such pods; INT64_MAX: not, or it was. */
usec swap_stuck_due(const struct job *j, const struct member *m);
/* Tells it when that is due, and takes it back when they are gone. */
void swap_tell_stuck(struct core *c, struct job *j, const struct member *m);
/* When the first of its pods has to leave a node that it still tolerates; INT64_MAX: none has. */
usec swap_leaves_at(const struct core *c, const struct member *m, const struct job *j);
/* What became of it: an event, the binding's condition, and what `why` says. */
void swap_tell(struct core *c, struct job *j, const char *type, const char *reason,
	       const struct buf *words);
/* Pods of each set that are missing (counts[], as many as the shape has sets), and their sum. */
int64_t swap_missing(const struct core *c, const struct member *m, const struct job *j,
		     int64_t *counts);
/* Decides about a gang of which pods are missing, and carries that out. */
void swap_decide(struct swap_round *r, struct job *j, const struct member *m, const int64_t *counts,
		 int64_t missing);
/* "node n1 is not ready", "nodes n1 and 2 more are lost". */
void swap_lost_text(const struct core *c, const struct member *m, const struct job *j, char *out,
		    size_t size);

#endif
