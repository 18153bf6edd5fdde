#ifndef STORE_ROW_H
#define STORE_ROW_H
/*
 * The bytes of a row on disk (format STORE_FORMAT, and the one before): the only place that knows
 * them. Internal to hub/store; pure; integers in the machine's byte order, as LMDB's own pages are,
 * and read without alignment.
 *
 *   state   head (80 bytes), anchor and deltas (16), owners, digest, json. A tombstone is a head
 *           alone.
 *   log     head (32 bytes), key, new state: its head (80), its digest and, in a row that has a
 *           body, its json. Unless the object was added: old head (80), old digest unless it is the
 *           new one, hunks (row_diff.h), their old bytes and, in a row without a body, the new
 * ones.
 *
 * So a log row repeats the object row only where it must: a row without a body says how to come
 * from the state before to its own and back. Bodies have the rows of a deleted object's last state,
 * whose object row is a tombstone; of one that came back while its tombstone was still there; of a
 * change that leaves little of the object as it was; and at least every (ROW_MAX_CHAIN + 1)-th row
 * of an object. "anchor" is the revision of the newest body below a row, 0 when there is none; so
 * who looks for a state goes from body to body and then at most ROW_MAX_CHAIN rows further
 * (lmdb_past.c). A row with a back row (its predecessor of that key) that is a tombstone has a
 * body, so between a row and its anchor an object is neither deleted nor added, if it is not itself
 * the one that was added.
 *
 * Format 1 knew rows with bodies only, with one hunk and no anchors: such rows are read as what
 * they are, each its own anchor. They go as the log is trimmed, and as their objects are written.
 *
 * Readers check every length against the row's size: a damaged row gives -EBADMSG, never a read
 * outside of it.
 */
#include "store/row_diff.h"
#include "store/store.h"

/* Log rows of one object without a body that may follow each other. */
#define ROW_MAX_CHAIN 16

struct row_state {
	bool tombstone;
	struct span owners;	    /* n * STORE_UID_LEN bytes */
	uint64_t anchor;	    /* newest log row of this object with a body; 0: none */
	uint32_t deltas;	    /* log rows since then, without */
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
	uint64_t anchor;
	uint32_t deltas;
};

size_t row_state_size(const struct row_new *n);
/* Fills exactly row_state_size() bytes. */
void row_state_write(const struct row_new *n, char *out);
int row_state_read(struct span row, struct row_state *ret) MUST_CHECK;
/* Only what a walk needs: -EBADMSG, 1 for a tombstone, 0 for a live object. */
int row_state_peek(struct span row, uint64_t *ret_revision) MUST_CHECK;

struct row_log {
	enum store_log_op op;
	bool body;
	uint64_t back;	 /* revision of the row this one replaced, a tombstone included; 0: none */
	uint64_t anchor; /* newest body of this key below; 0: none, or it is not kept any more */
	usec time;
	struct span key;	    /* encoded */
	struct store_object object; /* key not set; json absent without a body */
	size_t bare_len;	    /* of the new json without its digits */
	bool has_old;
	struct store_object old; /* MODIFIED, DELETED; json absent */
	size_t old_bare_len;
	struct row_diff diff;
	struct span olds, news; /* bytes of the hunks; news absent with a body */
};

struct row_log_new {
	enum store_log_op op;
	bool body;
	uint64_t back, anchor;
	usec time;
	struct span key;
	const struct row_new *state;	/* owners, anchor and deltas are not written */
	const struct store_object *old; /* NULL: none. json: only its length */
	struct span old_bare;
	struct row_diff diff;
};

size_t row_log_size(const struct row_log_new *n);
void row_log_write(const struct row_log_new *n, char *out);
int row_log_read(struct span row, struct row_log *ret) MUST_CHECK;

/* The new bare json out of the old, into bare_len bytes; the old out of the new, into old_bare_len
 * bytes. -EBADMSG when the row has no such part, or the text is not as long as the row says. */
int row_log_forward(const struct row_log *row, struct span old_bare, char *out) MUST_CHECK;
int row_log_backward(const struct row_log *row, struct span new_bare, char *out) MUST_CHECK;

#endif
