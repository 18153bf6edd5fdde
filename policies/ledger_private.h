#ifndef POLICIES_LEDGER_PRIVATE_H
#define POLICIES_LEDGER_PRIVATE_H
/* What the ledger's files share; private to them. */
#include "base/vec.h"
#include "policies/ledger.h"

#define ENTRY_NONE UINT32_MAX

struct entry {
	uint64_t job; /* 0 in a free entry */
	struct shape *shape;
	struct fit_slot *slots;
	uint32_t n_slots, cap_slots;
	uint32_t cluster;
	uint32_t heap_at; /* ENTRY_NONE without a deadline */
	uint32_t next_free;
	bool claim;	   /* ledger_claim() */
	int64_t *unplaced; /* pods without a node, by set; NULL when there are none */
	int64_t held;	   /* pods */
	int64_t deadline_us;
};

struct crowded_node {
	uint32_t cluster, node;
	uint64_t version; /* of the cluster when it was last tried; 0: never */
};

struct ledger {
	struct fleet *f;
	struct VEC(struct entry) entries;
	uint32_t free_entry;
	size_t n_live, n_claims;
	uint32_t *slots; /* entry + 1 by job */
	uint32_t n_slots;
	struct VEC(uint32_t) heap;
	struct VEC(struct crowded_node) crowded; /* ledger_rehome.c's */
};

/* What is held for a job; NULL when it is not assumed. */
const struct entry *ledger_entry(const struct ledger *l, uint64_t job);
/* All that is held for an assumed job comes (sign 1) or goes (-1); the entry stays as it is. */
void ledger_charge_all(struct ledger *l, uint64_t job, int sign);
/* The pods of slots come (sign 1) or go (-1). */
void ledger_charge_slots(struct ledger *l, const struct entry *e, const struct fit_slot *slots,
			 uint32_t n, int sign);
/* What is assumed on nodes of the cluster that take no pods: a node may be lost after jobs were
 * placed on it. A walk over all that is assumed. */
int64_t ledger_stranded(const struct ledger *l, uint32_t cluster, uint32_t resource);
/* One more pod in the entry's list, which is charged elsewhere. */
void ledger_add_slot(struct entry *e, uint32_t node, uint32_t set);

#endif
