#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H
/*
 * What a backend of the store implements. Internal to hub/store.
 *
 * store.c checks every argument against the contract of store.h before it calls a backend, so
 * that all of them refuse the same things with the same words; a backend sees sound batches only.
 * A backend embeds the structs below as first members of its own.
 */
#include "store/store.h"

struct store_ops {
	void (*close)(struct store *s);
	int (*apply)(struct store *s, struct store_change *changes, size_t n, usec now,
		     struct err *reterr);
	uint64_t (*revision)(const struct store *s);
	uint64_t (*floor)(const struct store *s);
	const uint8_t *(*incarnation)(const struct store *s);
	bool (*has_room)(struct store *s);
	void (*stats)(struct store *s, struct store_stats *ret);
	int (*read_begin)(struct store *s, struct store_reader **ret, struct err *reterr);
};

struct store {
	const struct store_ops *ops;
};

struct store_reader_ops {
	void (*end)(struct store_reader *r);
	int (*get)(struct store_reader *r, const struct store_key *key, uint64_t at_revision,
		   struct store_object *ret); /* at_revision 0: now */
	int (*get_aux)(struct store_reader *r, uint8_t table, struct span key, struct span *ret);
	int (*iter_begin)(struct store_reader *r, const struct store_range *range,
			  struct store_iter **ret, struct err *reterr);
	int (*scan_aux)(struct store_reader *r, uint8_t table, struct span prefix,
			int (*each)(void *arg, struct span key, struct span value), void *arg);
	int (*dependents)(struct store_reader *r, const uint8_t uid[STORE_UID_LEN],
			  int (*each)(void *arg, const struct store_key *key), void *arg);
	int (*count)(struct store_reader *r, uint16_t type, struct span ns, size_t most,
		     size_t *ret);
	int (*log_scan)(struct store_reader *r, uint64_t after, const uint16_t *only,
			int (*each)(void *arg, const struct store_log_row *row), void *arg);
	int (*log_old)(struct store_reader *r, const struct store_log_row *row, struct buf *out);
};

struct store_reader {
	const struct store_reader_ops *ops;
	uint64_t revision; /* of the snapshot */
	uint64_t floor;	   /* of the snapshot */
};

struct store_iter_ops {
	bool (*next)(struct store_iter *it, struct store_object *ret, int *ret_err);
	void (*end)(struct store_iter *it);
};

struct store_iter {
	const struct store_iter_ops *ops;
};

#define STORE_DEFAULT_MAP_BYTES	     ((size_t)256 << 30)
#define STORE_DEFAULT_LOG_MAX_BYTES  ((uint64_t)2 << 30)
#define STORE_DEFAULT_LOG_MAX_AGE    (24 * 3600 * USEC_PER_SEC)
#define STORE_DEFAULT_RESIDENT	     ((uint64_t)32 << 20)
#define STORE_DEFAULT_RESIDENT_EVERY (USEC_PER_SEC / 20)
#define STORE_DEFAULT_MIN_FREE	     ((uint64_t)64 << 20)

/* At most this many log rows are trimmed per row written. */
#define STORE_TRIM_PER_ROW 2

/* Fills in the defaults. */
void store_options_complete(const struct store_options *o, struct store_options *ret);

#endif
