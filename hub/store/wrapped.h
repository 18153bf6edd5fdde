#ifndef STORE_WRAPPED_H
#define STORE_WRAPPED_H
/*
 * What a store that stands before another one passes on unchanged. Internal to hub/store.
 *
 * A wrapper begins with a struct wrapped_store and names these in its store_ops.
 */
#include "store/backend.h"

struct wrapped_store {
	struct store base;
	struct store *inner; /* owned by the wrapper */
};

uint64_t wrapped_revision(const struct store *s);
uint64_t wrapped_floor(const struct store *s);
const uint8_t *wrapped_incarnation(const struct store *s);
bool wrapped_has_room(struct store *s);
void wrapped_stats(struct store *s, struct store_stats *ret);

#endif
