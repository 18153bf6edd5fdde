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

/* A wrapper's reader begins with one, and names these in its store_reader_ops. */
struct wrapped_reader {
	struct store_reader base;
	struct store_reader *inner; /* owned by the wrapper */
};

static inline struct store_reader *wrapped_reader_inner(const struct store_reader *r)
{
	return ((const struct wrapped_reader *)r)->inner;
}
int wrapped_reader_get_aux(struct store_reader *r, uint8_t table, struct span key,
			   struct span *ret);
int wrapped_reader_iter_begin(struct store_reader *r, const struct store_range *range,
			      struct store_iter **ret, struct err *reterr);
int wrapped_reader_scan_aux(struct store_reader *r, uint8_t table, struct span prefix,
			    int (*each)(void *arg, struct span key, struct span value), void *arg);
int wrapped_reader_dependents(struct store_reader *r, const uint8_t uid[STORE_UID_LEN],
			      int (*each)(void *arg, const struct store_key *key), void *arg);
int wrapped_reader_count(struct store_reader *r, uint16_t type, struct span ns, size_t most,
			 size_t *ret);
int wrapped_reader_log_scan(struct store_reader *r, uint64_t after, const uint16_t *only,
			    int (*each)(void *arg, const struct store_log_row *row), void *arg);
int wrapped_reader_log_old(struct store_reader *r, const struct store_log_row *row,
			   struct buf *out);

#endif
