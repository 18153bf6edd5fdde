#ifndef QUOTA_TREE_KUEUE_ROUND_H
#define QUOTA_TREE_KUEUE_ROUND_H
/*
 * One round of the cycle: its entries, their order, what each of them comes to, and who goes back
 * where. Internal to the queues; kueue_cycle.c is the iterator over it.
 */
#include "quota-tree/kueue_class.h"
#include "quota-tree/kueue_queues.h"

enum kueue_outcome {			 /* of an entry, for the requeue (2.3) */
		     KUEUE_OUT_NONE = 0, /* not processed, or not answered: to the heap */
		     KUEUE_OUT_ADMITTED,
		     KUEUE_OUT_NO_FIT,
		     KUEUE_OUT_NO_CANDIDATES,
		     KUEUE_OUT_PREEMPTING,
		     KUEUE_OUT_SKIPPED,
		     KUEUE_OUT_DEFERRED,
};

struct kueue_level { /* of the tournament: a node on the path, with the entry charged */
	uint32_t node;
	bool borrows;
	struct kueue_share share;
};

struct kueue_heat { /* an entry of a round */
	struct kueue_entry pub;
	struct kueue_queue *queue;
	enum kueue_outcome outcome;
	bool popped;
	bool out;			       /* of the tournament */
	bool refused;			       /* by placement */
	bool deferred;			       /* fits once the victims of others are gone */
	bool behind;			       /* the preemptor that it went for has its turn too */
	struct VEC(struct kueue_use) promised; /* charged until the end of the round */
	size_t n_levels;
	bool levels_known;
	struct kueue_level levels[KUEUE_MAX_DEPTH + 1];
};

/* Nominates the heads of the trees that changed and opens the trial. */
void kueue_round_begin(struct kueue_queues *q);
/* Undoes the trial, charges what was admitted, and requeues the others. */
void kueue_round_end(struct kueue_queues *q);
void kueue_round_done(struct kueue_queues *q); /* frees its memory */

/* What becomes of an entry beside what the round promised so far: its kind, reason, message. */
void kueue_entry_process(struct kueue_queues *q, struct kueue_heat *h);
/* The next flavors for one that placement refused; false when it is through. */
bool kueue_entry_next(struct kueue_queues *q, struct kueue_heat *h);
/* Reason and message; NULL: the assignment's own sentence. */
void kueue_entry_say(struct kueue_queues *q, struct kueue_heat *h, const char *reason,
		     const char *message);
/* Charges what it is assigned until the end of the round. */
void kueue_entry_promise(struct kueue_queues *q, struct kueue_heat *h);
/* Whether it is a victim of this round. */
bool kueue_entry_is_preempted(const struct kueue_queues *q, const struct kueue_workload *w);

/* ---- kueue_order.c ---- */

/* Sorts the entries of a round that begins; the next one then (2.2, 2.7); NULL: none is left. */
void kueue_order_begin(struct kueue_queues *q);
struct kueue_heat *kueue_order_pop(struct kueue_queues *q);
/* The forest changed under the entries of this queue's tree. */
void kueue_order_charged(struct kueue_queues *q, const struct kueue_queue *queue);

/* ---- kueue_requeue.c ---- */

/* Puts an entry back after its round, by its outcome. */
void kueue_requeue(struct kueue_queues *q, struct kueue_heat *h);

#endif
