#ifndef STORE_STORE_H
#define STORE_STORE_H
/*
 * The store: API objects by key, the watch log that explains every change of them, and small
 * auxiliary tables, in one ordered, durable place.
 *
 * Contract (DESIGN sections 2 and 11; one suite, tests/contract, runs against every backend):
 *  - One writer. store_apply() commits a batch of changes as ONE transaction: all or nothing,
 *    durable when it returns 0 (unless opened with STORE_NO_SYNC), one change per key, at most
 *    STORE_MAX_CHANGES rows. Nothing may be told to anyone before it returned.
 *  - Every object change gets its own revision, in the order of the batch, strictly increasing
 *    over the whole store, and the store writes the decimal digits into the object's bytes.
 *  - A log row per object change: revision -> (type, key, previous revision, operation, and how
 *    to come from the object before to the new one and back). The bytes of a state are written
 *    once, in the object's row; the log repeats them where they are deleted, where a change
 *    leaves little of them, and once in a bounded number of changes, so that any state is
 *    rebuilt in bounded steps (row.h). A deleted object stays as a tombstone until the log's floor
 *    passes it. So any reader can see the objects as they were at any revision at or above the
 *    floor, by many short transactions.
 *  - The log is trimmed while writing, at most two rows per row written, never in a sweep: what
 *    is over log_max_bytes or log_max_age, and, when room runs short, more: the log gives way
 *    before writes are refused. A batch that is refused for lack of space trims too.
 *  - Readers are snapshots, cheap, taken on any thread, and never held across a network write:
 *    a held reader keeps dead pages (libraries.md 2.3).
 *  - The on-disk format has a number: a newer one is refused, an older one migrated.
 *  - The store has an incarnation (16 random bytes); restoring a backup changes it.
 *
 * The store knows nothing of Kubernetes beyond "a type number, a namespace, a name, bytes".
 * It does not parse JSON; extents of the parts that others splice come with the change.
 * Backends: lmdb.c (truth, and the mirror with STORE_NO_SYNC), memory.c (tests), faulty.c
 * (wraps one, its n-th call fails). Behind this header an etcd sequencer must be able to stand.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct store;
struct store_reader;
struct store_iter;
struct log;

#define STORE_FORMAT	    2
#define STORE_MAX_CHANGES   128
#define STORE_MAX_OBJECT    ((size_t)3 << 19) /* 1.5 MiB: DESIGN section 10 */
#define STORE_UID_LEN	    16
#define STORE_MAX_NAMESPACE 63
#define STORE_MAX_NAME	    253
#define STORE_REVISION_TEXT 21 /* 20 digits and NUL */

/* An object's address. Names are checked by the caller: no NUL bytes, within the maxima.
 * LIST order is the byte order of (type, namespace, name). Cluster-scoped: empty namespace. */
struct store_key {
	uint16_t type; /* persistent type number, never reused: kube/kind.h */
	struct span ns;
	struct span name;
};

/* Where a part stands in the object's JSON bytes. len 0: the part is absent. */
struct store_extent {
	uint32_t at, len;
};

/* In a change, `revision` is {where the digits go, 0}: between the quotes of
 * "resourceVersion":"". Extents after it are given as they stand without the digits; the store
 * shifts them. In a row that was read, everything is as it stands in the bytes. */
struct store_extents {
	struct store_extent revision, metadata, spec, status;
};

/* Meaning belongs to kube/object.h; the store keeps them. */
typedef uint32_t store_flags;

struct store_object {
	struct store_key key;
	uint64_t revision;	  /* of its last change */
	uint64_t create_revision; /* of its creation */
	uint8_t uid[STORE_UID_LEN];
	store_flags flags;
	struct store_extents extents;
	struct span digest; /* binary, what the core indexes; see kinds/job_digest.h */
	struct span json;
};

/* The bytes of a part, borrowed; SPAN_NONE when it is absent. */
static inline struct span store_object_part(const struct store_object *o, struct store_extent e)
{
	return e.len ? span_make(o->json.ptr + e.at, e.len) : SPAN_NONE;
}

enum store_op {
	STORE_PUT,	  /* create or replace an object */
	STORE_DELETE,	  /* delete an object: only key is read; absent is -ENOENT */
	STORE_PUT_AUX,	  /* set aux_key in aux_table to aux_value: no revision, no log */
	STORE_DELETE_AUX, /* remove it; absent is fine */
};

/* Auxiliary tables: a byte chosen by the owner of the data. */
enum store_aux {
	STORE_AUX_CURSOR = 1,  /* member-sync stream cursors */
	STORE_AUX_LIVE = 2,    /* keys of jobs that are not finished: what a restart reads */
	STORE_AUX_SETTING = 3, /* single values: last batch time, member numbers, ... */
	STORE_AUX_DIGEST = 4,  /* mirror: node and pod digests */
	STORE_AUX_HISTORY = 5, /* attempts and intervals of jobs */
	STORE_AUX_GARBAGE = 6, /* owners whose dependents are to be collected: registry/garbage.h */
	STORE_AUX_MAX = 16,
};
#define STORE_MAX_AUX_KEY 480

struct store_change {
	enum store_op op;
	/* objects */
	struct store_key key;
	uint8_t uid[STORE_UID_LEN];
	store_flags flags;
	struct store_extents extents;
	struct span digest;
	struct span json;
	/* uids of owners: the store keeps an index owner -> dependents in the same transaction */
	const uint8_t (*owners)[STORE_UID_LEN];
	size_t n_owners;
	/* aux */
	uint8_t aux_table;
	struct span aux_key, aux_value;
	/* out */
	uint64_t ret_revision;	      /* 0 for aux changes */
	uint64_t ret_create_revision; /* of a PUT */
};

/* Not 0: to a client resourceVersion "0" means "any", and a watch that follows a LIST of nothing
 * would not say where to start. */
#define STORE_FIRST_REVISION 1

struct store_options {
	const char *path; /* directory, created with mode 0700; NULL for memory */
	size_t map_bytes; /* address space to reserve; 0: 256 GiB. Use less under sanitizers */
	bool no_sync;	  /* a mirror that can be learned again */
	uint64_t log_max_bytes; /* 0: 2 GiB */
	usec log_max_age;	/* 0: 24 h */
	/* While it is written: mapped pages of files in the process, beyond which those of the
	 * store are let go of, and how often at most; 0: 32 MiB, 50 ms. */
	uint64_t resident_bytes;
	usec resident_every;
	uint64_t min_free_bytes; /* store_has_room() is false below it; 0: 64 MiB */
	/* What a new, empty store is at; its first change gets the next one. A store that is
	 * served starts at STORE_FIRST_REVISION. */
	uint64_t first_revision;
};

/* Opens or creates. ERR_UNAVAILABLE when another process holds it, ERR_INTERNAL with the path
 * and the cause otherwise (format newer than STORE_FORMAT included). */
int store_open_lmdb(const struct store_options *o, struct store **ret,
		    struct err *reterr) MUST_CHECK;
int store_open_memory(const struct store_options *o, struct store **ret,
		      struct err *reterr) MUST_CHECK;
struct store *store_close(struct store *s); /* NULL is fine; returns NULL. No reader may be open */

/* Commits the batch at time `now` (log age). Writer thread only. On failure nothing changed:
 * ERR_NO_SPACE (disk or map full: retry when there is room), ERR_NOT_FOUND (delete of an absent
 * object), ERR_TOO_LARGE, ERR_INVALID (two changes of one key, bad key), ERR_INTERNAL (I/O: the
 * process must end; reterr says so). */
int store_apply(struct store *s, struct store_change *changes, size_t n, usec now,
		struct err *reterr) MUST_CHECK;

/* Revision of the last committed object change; first_revision in a new store. Any thread. */
uint64_t store_revision(const struct store *s);
/* Oldest revision that LIST and watch can still start from. Any thread. */
uint64_t store_floor(const struct store *s);
const uint8_t *store_incarnation(const struct store *s); /* STORE_UID_LEN bytes */
/* Whether a write may start: free disk space and free map. Any thread, cheap (cached 1 s). */
bool store_has_room(struct store *s);
/* Pages and bytes for metrics. Any thread. */
struct store_stats {
	uint64_t data_bytes, log_bytes, log_rows, objects, free_bytes;
};
void store_stats(struct store *s, struct store_stats *ret);

/* ---- reading: on any thread, one thread per reader ---- */

/* A snapshot of the last commit. Everything borrowed from it lives until store_read_end(). */
int store_read_begin(struct store *s, struct store_reader **ret, struct err *reterr) MUST_CHECK;
struct store_reader *store_read_end(struct store_reader *r); /* NULL is fine; returns NULL */
static inline void store_auto_read_end(struct store_reader **r)
{
	store_read_end(*r);
}
#define auto_reader AUTO(store_auto_read_end) struct store_reader
uint64_t store_reader_revision(const struct store_reader *r);

/* -ENOENT when absent (or a tombstone). */
int store_get(struct store_reader *r, const struct store_key *key, struct store_object *ret);
/* As it was at `revision`: -ENOENT if it did not exist then, -ETIME below the floor. Bytes that
 * had to be rebuilt live as long as the reader. */
int store_get_at(struct store_reader *r, const struct store_key *key, uint64_t revision,
		 struct store_object *ret);
int store_get_aux(struct store_reader *r, uint8_t table, struct span key, struct span *ret);

/* Objects of one type in key order. ns absent (NULL pointer): all namespaces. `after`, when not
 * NULL, is the last key already seen (it need not exist any more). at_revision 0: now. */
struct store_range {
	uint16_t type;
	struct span ns;
	const struct store_key *after;
	uint64_t at_revision;
};
/* -ETIME when at_revision is below the floor. */
int store_iter_begin(struct store_reader *r, const struct store_range *range,
		     struct store_iter **ret, struct err *reterr) MUST_CHECK;
/* True and *ret filled (borrowed until the next call), or false at the end or on *ret_err < 0. */
bool store_iter_next(struct store_iter *it, struct store_object *ret, int *ret_err);
struct store_iter *store_iter_end(struct store_iter *it);

/* Aux rows of a table whose key starts with prefix, in key order; each returns 0 to go on. */
int store_scan_aux(struct store_reader *r, uint8_t table, struct span prefix,
		   int (*each)(void *arg, struct span key, struct span value), void *arg);
/* Keys of objects that name `uid` as an owner, in key order; borrowed during the call. */
int store_dependents(struct store_reader *r, const uint8_t uid[STORE_UID_LEN],
		     int (*each)(void *arg, const struct store_key *key), void *arg);
/* Number of live objects of a type in a namespace (absent: all), counted up to `most`. */
int store_count(struct store_reader *r, uint16_t type, struct span ns, size_t most, size_t *ret);

/* ---- the watch log ---- */

enum store_log_op { STORE_LOG_ADDED, STORE_LOG_MODIFIED, STORE_LOG_DELETED };

struct store_log_row {
	uint64_t revision, previous; /* previous revision of this object, 0 when ADDED */
	enum store_log_op op;
	usec time;
	struct store_object
	    object;   /* new state; for DELETED the last state with the new revision */
	bool has_old; /* MODIFIED, DELETED */
};

/* Rows with revision > after, in order; each returns 0 to go on, 1 to stop (then 0 is returned
 * and the walk can go on later), or a negative errno. Borrowed during the call.
 * -ETIME when `after` is below the floor. */
int store_log_scan(struct store_reader *r, uint64_t after,
		   int (*each)(void *arg, const struct store_log_row *row), void *arg);
/* The same for who wants one type: rows of others come without json, which then is not rebuilt. */
int store_log_scan_type(struct store_reader *r, uint64_t after, uint16_t type,
			int (*each)(void *arg, const struct store_log_row *row), void *arg);
/* The old bytes of a log row (for selectors on the previous state), appended to out. */
struct buf;
int store_log_old(struct store_reader *r, const struct store_log_row *row, struct buf *out);

/* ---- faults, for tests ---- */

enum store_call { STORE_CALL_APPLY, STORE_CALL_READ_BEGIN, STORE_CALL_GET, STORE_CALL_MAX };
/* Wraps `inner` (taken, closed with the wrapper). The n-th call (from 1) of `call` from now on
 * fails with `kind`; sticky: every later one too. n = 0 heals it. */
struct store *store_open_faulty(struct store *take_inner);
void store_faulty_fail(struct store *s, enum store_call call, uint64_t n, enum err_kind kind,
		       bool sticky);

#endif
