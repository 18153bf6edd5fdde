#ifndef QUOTA_TREE_ELASTIC_SHADOW_H
#define QUOTA_TREE_ELASTIC_SHADOW_H
/*
 * When quota of an ElasticQuotaTree for a unit that waits will be there, and who may take some of
 * it until then: what kueue_shadow.h is for cohorts, in the elastic dialect's terms. The shadow
 * time is the first at which the unit fits if every admitted unit stays until its end and nobody
 * new comes; units that wait are looked at one after the other, each beside those before it.
 *
 * Until then another unit may be charged where that does not matter: outside the nodes that both
 * paths share; within the min of its own side of the tree, which is never kept from its owner; when
 * it ends before the shadow time; or when it fits beside it then, which is read from the slack at
 * the shared nodes. A unit that must go above a min is promised nothing for certain: `lender` is
 * the node that could take back the most, if it would fit no more once every other node used its
 * min.
 *
 * Where nodes have lendlimits the slack is counted as if no floor absorbed anything: less passes
 * than could.
 *
 * Pure; one thread. Who starves, in which order, and who ends when, is core's to know. The tree is
 * charged on trial and stands as before when a function returns.
 */
#include "base/vec.h"
#include "quota-tree/elastic_queue.h"

#define ELASTIC_SHADOW_NEVER INT64_MAX

/* An admitted unit. */
struct elastic_ending {
	int64_t at; /* ELASTIC_SHADOW_NEVER: not known */
	const struct elastic_unit *unit;
};

/* What a side of the tree has left of its min at the shadow time, of one amount that is asked. */
struct elastic_side_room {
	uint32_t side, amount;
	int64_t room;
};

struct elastic_shadow {
	/* in: who waits, and how long it will hold its quota (ELASTIC_SHADOW_NEVER: not known) */
	const struct elastic_unit *unit;
	int64_t limit;
	/* out */
	int64_t at;	 /* ELASTIC_SHADOW_NEVER: at no time that is known */
	uint32_t lender; /* QUOTA_NO_NODE: the time holds whatever others do with their min */
	/* By node of the path from the unit's up, as many of each as it asks amounts. */
	struct VEC(int64_t) slack;
	struct VEC(struct elastic_side_room) rooms; /* only without a lender */
};

void elastic_shadow_done(struct elastic_shadow *s);

void elastic_ending_sort(struct elastic_ending *endings, size_t n);

/* Fills the outs of all of them, first to last. `endings` sorted; who is not among them stays. */
void elastic_shadow_cast(struct elastic_queues *q, struct elastic_shadow *const *shadows,
			 size_t n_shadows, const struct elastic_ending *endings, size_t n,
			 int64_t now);

/* Whether a unit may be charged until `ends_at` without delaying the one that waits: asks as above;
 * where no shadow time is known only units of the same queue are refused. */
bool elastic_shadow_lets(const struct elastic_queues *q, const struct elastic_shadow *s,
			 const struct elastic_unit *unit, int64_t ends_at);
/* It was charged: the slack is less by it, until it is cast anew. */
void elastic_shadow_took(const struct elastic_queues *q, struct elastic_shadow *s,
			 const struct elastic_unit *unit, int64_t ends_at);

#endif
