#ifndef QUOTA_TREE_ELASTIC_RECLAIM_H
#define QUOTA_TREE_ELASTIC_RECLAIM_H
/*
 * The elastic dialect's preemption: an owner takes back its min from those who borrowed it, in
 * whole jobs (reference/ack-fleet.md sections 2.6, 5.1 and 5.7; vectors V3, V4, V23 to V25, V28).
 *
 * A job whose node would stay within its min (used + request <= min, in every resource that it
 * asks; the count of jobs aside) is an owner: its candidates are the preemptible jobs of nodes that
 * are above their min, whatever their priority. A job that would leave its min may only take from
 * jobs of lower priority in its own node.
 *
 * A node that uses more than its min has borrowed only when every node above it, up to the lowest
 * one that it shares with the owner, is above its min too: inside a subtree that keeps to its min
 * the borrowing is between siblings, and no business of others. Where mins are valid (the sum of
 * the children's within the parent's), an owner that is refused always has a borrower to ask.
 *
 * Order: the node with the largest used / min first (in the resource that is short where it is
 * largest; no min is infinite, ties by use, then by place in the tree), looked at anew after each
 * victim; in a node the lowest priority, then the latest admission, then the name. Jobs admitted
 * less than `protect` ago are spared, so that what was just started is not stopped at once. When
 * the job fits, the victims taken are looked at again from the last but one to the first, and
 * whoever is not needed stays. All or nothing: a job that would not fit takes nobody (V28).
 *
 * One round at a time: while a victim of this tree is still leaving, nobody else is chosen.
 *
 * Nodes (of members) are the caller's: as with kueue_preempt.h it may join the search with a room.
 * Pure, no clock; the tree is charged and released on trial and stands as before on return.
 */
#include "base/vec.h"
#include "quota-tree/quota_tree.h"

struct elastic_job {
	struct span name; /* unique: the last tie-break */
	uint32_t node;	  /* of the tree */
	int32_t priority;
	bool leaving;	     /* a victim that still holds its quota */
	int64_t admitted_at; /* UTC microseconds; of running jobs */
	struct quota_request request;
	void *owner; /* core's own; never looked at */
};

/* The nodes' side of a search on one candidate member. Every take is followed by a give_back before
 * the search returns, the victims' too. */
struct elastic_room {
	void *context;
	/* Whether the job's pods hold anything there that the gang could use. */
	bool (*useful)(void *context, const struct elastic_job *job);
	void (*take)(void *context, const struct elastic_job *job);
	void (*give_back)(void *context, const struct elastic_job *job);
	bool (*fits)(void *context);
};

struct elastic_reclaim_options {
	int64_t protect;	/* us since admission in which a job is no victim; 0: none */
	uint32_t jobs_resource; /* elastic_tree_jobs_resource(): has no min */
};

enum elastic_reclaim_reason {
	ELASTIC_RECLAIM,       /* the owner's min */
	ELASTIC_PREEMPT_LOWER, /* its own quota, lower priority */
};

struct elastic_victims {
	struct VEC(const struct elastic_job *) items; /* borrowed from `running` */
	enum elastic_reclaim_reason reason;
	bool waits; /* nobody now: victims of an earlier round are still leaving */
};
void elastic_victims_done(struct elastic_victims *v);

/*
 * Who must go so that `job` fits the quota at its node (and the room, which may be NULL); empty
 * when it fits already or nothing helps. `running` are all jobs that are charged to the tree.
 * *ret is reused memory of the caller, zeroed the first time.
 */
void elastic_reclaim(struct quota_tree *tree, const struct elastic_reclaim_options *options,
		     const struct elastic_job *job, const struct elastic_job *running, size_t n,
		     const struct elastic_room *room, int64_t now, struct elastic_victims *ret);

/* Whether the job would stay within its node's min. */
bool elastic_reclaim_is_owner(const struct quota_tree *tree,
			      const struct elastic_reclaim_options *options,
			      const struct elastic_job *job);

#endif
