#ifndef BASE_MAP_H
#define BASE_MAP_H
/*
 * Hash map from bytes to a pointer. Keys are copied in; values are the caller's.
 *
 * The hash is seeded per map, so an outsider cannot choose collisions; iteration order is
 * insertion order with holes closed by the next growth, never address order, so that decisions
 * that walk a map stay deterministic. Removal during map_foreach of the current entry is fine.
 * Belongs to one thread.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct map_entry {
	char *key; /* owned; NULL marks a removed entry */
	size_t key_len;
	uint64_t hash;
	void *value;
};

struct map {
	struct map_entry *entries; /* in insertion order */
	size_t n_entries, cap_entries;
	size_t len;	 /* live entries */
	uint32_t *slots; /* index + 1 into entries, 0 empty; n_slots is a power of two */
	size_t n_slots;
	uint64_t seed;
};

#define MAP_INIT ((struct map){0})

void *map_get(const struct map *m, struct span key); /* NULL when absent */
bool map_has(const struct map *m, struct span key);
/* The map's own copy of the key, with a NUL behind it, until it is removed; NULL when absent. */
const char *map_key(const struct map *m, struct span key);
/* Sets key to value (not NULL); returns the value that stood there, or NULL. */
void *map_put(struct map *m, struct span key, void *value);
/* Removes the key; returns its value, or NULL. */
void *map_remove(struct map *m, struct span key);
void map_done(struct map *m); /* frees keys and tables, not values */

static inline void *map_get_str(const struct map *m, const char *key)
{
	return map_get(m, span_of(key));
}

#define map_foreach(m, e)                                                                          \
	for (struct map_entry *e = (m)->entries; e && e < (m)->entries + (m)->n_entries; e++)      \
		if (!e->key) {                                                                     \
		} else

#endif
