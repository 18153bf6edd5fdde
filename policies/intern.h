#ifndef POLICIES_INTERN_H
#define POLICIES_INTERN_H
/*
 * Strings as small numbers: one table, counted references, so that 10^5 nodes with twenty labels
 * each cost eight bytes a label, and equality is one compare.
 *
 * Id 0 is "no string". An id stays with its text while somebody holds a reference; the last unref
 * frees the text and the number may then mean another string, so ids are never stored without a
 * reference and never written to disk. Numbers depend on history: order by text, never by id.
 * Belongs to one thread. Knows nothing of what the strings mean.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdint.h>

struct intern_entry;

struct intern {
	struct intern_entry *entries; /* by id; 0 is never used */
	uint32_t n_entries, cap_entries;
	uint32_t free_head; /* recycled ids, chained through their entries */
	uint32_t *slots;    /* id at the head of each chain, 0 none */
	uint32_t n_slots;   /* a power of two */
	uint32_t live;
	uint64_t seed; /* so that an outsider cannot choose collisions */
	size_t bytes;  /* text held, for the memory budget */
};

void intern_init(struct intern *in);
void intern_done(struct intern *in);

/* The id of `text`, with one more reference; added when it is new. An absent span gives 0. */
uint32_t intern_ref(struct intern *in, struct span text);
/* One more reference on an id that is alive; returns it. 0 is allowed. */
uint32_t intern_dup(struct intern *in, uint32_t id);
/* Gives one reference back. 0 is allowed. */
void intern_unref(struct intern *in, uint32_t id);
/* The id of `text` without a reference, 0 when nobody holds it. */
uint32_t intern_find(const struct intern *in, struct span text);
/* The text of a live id, borrowed until its last unref; absent for 0. */
struct span intern_text(const struct intern *in, uint32_t id);

#endif
