#ifndef QUOTA_TREE_KUEUE_CANDIDATES_H
#define QUOTA_TREE_KUEUE_CANDIDATES_H
/*
 * Candidates for a search of victims: a line per queue, read one by one from the queue's holders in
 * victim order, filtered by what the preemptor's policies allow. Private to kueue_preempt*.c.
 *
 * Nothing is read before it is asked for: a search that needs three victims looks at three holders
 * and one more of every queue that could give some.
 */
#include "quota-tree/kueue_holders.h"
#include "quota-tree/kueue_node.h"
#include "quota-tree/kueue_preempt.h"

enum kueue_list {			       /* of classical preemption, in order */
		  KUEUE_LIST_HIERARCHICAL = 0, /* the preemptor's subtree could hold the request */
		  KUEUE_LIST_PRIORITY,	       /* it could not: borrowWithinCohort decides */
		  KUEUE_LIST_SAME_QUEUE,
		  KUEUE_LISTS,
};

struct kueue_line {
	struct kueue_node *queue;
	uint32_t ancestor; /* the cohort below which it was found; KUEUE_NONE in the own queue */
	enum kueue_list list;
	size_t place;		     /* of the next holder to look at */
	size_t sorted, n_sorted;     /* AdmissionFairSharing: holders in search->sorted instead */
	struct kueue_workload *head; /* NULL: through */
	/* fair sharing */
	bool pruned;
	uint32_t first_retry, last_retry; /* rejected by the first strategy, in order */
};

struct kueue_retry {
	struct kueue_workload *workload;
	uint32_t next;
};

/* What a node is to fair sharing's descent; by kueue_node.index where kueue_node.mark is the run's.
 * Nodes that have no candidates below them have no entry: nothing would ever be chosen there. */
struct kueue_fair_entry {
	uint32_t line; /* of a queue; KUEUE_NONE: a cohort */
	bool pruned;
	bool on_path; /* from the root to the preemptor's queue */
};

struct kueue_search {
	struct kueue_forest *f;
	const struct kueue_workload *w; /* the preemptor */
	struct kueue_node *queue;	/* its own */
	const struct kueue_room *room;	/* or NULL */
	const struct kueue_use *uses;	/* what must fit */
	size_t n_uses;
	/* Cells that need preemption; the first n_short of them lack quota. Values mean nothing. */
	struct VEC(struct kueue_use) needed;
	size_t n_short;
	struct VEC(struct kueue_line) lines;
	struct VEC(struct kueue_workload *) sorted;
	struct VEC(uint32_t) heap; /* lines of the list at hand, by their heads */
	struct VEC(struct kueue_retry) retries;
	struct VEC(struct kueue_fair_entry) entries;
	struct VEC(struct kueue_use) all; /* scratch for needed */
	struct kueue_victims victims;	  /* of the oracle */
	enum kueue_list list;
	bool evicted; /* the segment at hand: those already evicted, or the others */
	uint64_t id;  /* of kueue_node.mark */
};

struct kueue_search *kueue_search_of(struct kueue_forest *f);

/* ---- lines ---- */

/* Whether the policy lets w preempt a candidate. */
bool kueue_candidate_allowed(enum kueue_preempt_policy policy, const struct kueue_workload *w,
			     const struct kueue_workload *candidate);
/* A line of the queue's candidates; without one at all there is no line. */
void kueue_line_add(struct kueue_search *s, struct kueue_node *queue, enum kueue_list list,
		    uint32_t ancestor);
/* The next candidate to line->head. */
void kueue_line_advance(struct kueue_search *s, struct kueue_line *line);
void kueue_line_restart(struct kueue_search *s, struct kueue_line *line);
/* Whether the node uses more than its quota in a needed cell. */
bool kueue_search_borrows(const struct kueue_search *s, const struct kueue_node *n);
/* A queue that is not active runs on what it has, and nobody takes from it (Kueue's snapshot leaves
 * it out: pkg/cache/scheduler/snapshot.go). */
bool kueue_search_may_ask(const struct kueue_search *s, const struct kueue_node *queue);

/* ---- classical order: the three lists, evicted first ---- */

/* Lines of the own queue and of the cohort tree, filed in their lists. */
void kueue_search_collect(struct kueue_search *s);
bool kueue_search_has(const struct kueue_search *s, enum kueue_list list);
void kueue_search_rewind(struct kueue_search *s);
/* The next candidate that is valid as the forest stands; NULL when there is none. `borrowing`: the
 * preemptor may end up borrowing. */
struct kueue_workload *kueue_search_next(struct kueue_search *s, bool borrowing,
					 enum kueue_preempt_reason *ret_reason);

/* ---- fair sharing (kueue_preempt_fair.c) ---- */

/* Lines of the own queue and of those of its tree that use more than their nominal. */
void kueue_fair_collect(struct kueue_search *s);
/* Chooses victims into `ret` until the uses fit; true when they do. */
bool kueue_fair_choose(struct kueue_search *s, struct kueue_victims *ret);

/* ---- what both do (kueue_preempt.c) ---- */

bool kueue_search_fits(const struct kueue_search *s, bool borrowing);
void kueue_search_take(struct kueue_search *s, struct kueue_victims *v, struct kueue_workload *w,
		       enum kueue_preempt_reason reason);

#endif
