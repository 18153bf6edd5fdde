#ifndef STORE_ROW_H
#define STORE_ROW_H
/*
 * The bytes of a row on disk (format STORE_FORMAT): the only place that knows them. Internal to
 * hub/store; pure; integers in the machine's byte order, as LMDB's own pages are, and read
 * without alignment.
 *
 *   state   head (80 bytes), owners, digest, json. A tombstone is a head alone.
 *   log     head (32 bytes), key, new state without owners, and, unless the object was added:
 *           old head (80), prefix, suffix (u32 each), old digest unless it is the new one, and
 *           the middle of the old json.
 * Old json is kept as what differs from the new: both are compared bare (without the digits of
 * resourceVersion, which always differ), and what lies between the common prefix and the common
 * suffix is stored. The digits come back from the revision in the head.
 *
 * Readers check every length against the row's size: a damaged row gives -EBADMSG, never a read
 * outside of it.
 */
#include "store/store.h"

struct row_state {
	bool tombstone;
	struct span owners;	    /* n * STORE_UID_LEN bytes */
	struct store_object object; /* key not set */
};

/* What is written of a new state: bare json, and the revision whose digits go in. */
struct row_new {
	bool tombstone;
	struct span owners;
	struct span digest;
	struct span bare;
	struct store_extents extents; /* of the bare json */
	uint64_t revision, create_revision;
	const uint8_t *uid;
	store_flags flags;
};

size_t row_state_size(const struct row_new *n);
/* Fills exactly row_state_size() bytes. */
void row_state_write(const struct row_new *n, char *out);
int row_state_read(struct span row, struct row_state *ret) MUST_CHECK;
/* Only what a walk needs: -EBADMSG, 1 for a tombstone, 0 for a live object. */
int row_state_peek(struct span row, uint64_t *ret_revision) MUST_CHECK;

/* The old state in terms of the new. */
struct row_diff {
	uint32_t prefix, suffix;
};
void row_diff(struct span old_bare, struct span new_bare, struct row_diff *ret);

struct row_log {
	enum store_log_op op;
	uint64_t back; /* revision of the row this one replaced, a tombstone included; 0: none */
	usec time;
	struct span key;	    /* encoded */
	struct store_object object; /* key not set */
	bool has_old;
	struct store_object old; /* MODIFIED, DELETED; json absent: see row_log_old() */
	struct row_diff diff;
	struct span middle;
};

struct row_log_new {
	enum store_log_op op;
	uint64_t back;
	usec time;
	struct span key;
	const struct row_new *state;	/* owners are not written */
	const struct store_object *old; /* NULL: none. json is not read */
	struct span old_bare;
	struct row_diff diff;
};

size_t row_log_size(const struct row_log_new *n);
void row_log_write(const struct row_log_new *n, char *out);
int row_log_read(struct span row, struct row_log *ret) MUST_CHECK;
/* Length of the old json, and the json itself into that many bytes. */
size_t row_log_old_len(const struct row_log *row);
void row_log_old(const struct row_log *row, char *out);

#endif
