#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H
/*
 * The store in memory: the model that the durable backend is tested against, and the store of
 * unit tests. Plain and whole: every state of every key is kept as a version until the floor has
 * passed it and no reader is open. Internal to hub/store: memory.c writes, memory_read.c reads.
 *
 * One recursive lock guards everything (recursive, because callbacks of scans may read again);
 * versions never change once they are linked, so what a reader borrowed needs no lock. A snapshot
 * is a commit number: it sees the versions up to it.
 */
#include "base/vec.h"
#include "store/backend.h"
#include "store/store_key.h"
#include <pthread.h>

struct memory_entry;

struct memory_version {
	struct memory_version *older;
	struct memory_entry *entry;
	uint64_t commit; /* number of the batch that made it */
	bool deleted;
	struct span value; /* aux rows; owned */
	/* objects */
	usec time;
	enum store_log_op op;
	struct store_object
	    object; /* key, digest and json owned; of a deleted one its last state */
	uint8_t (*owners)[STORE_UID_LEN];
	size_t n_owners;
};

struct memory_entry {
	char *key; /* store_key_text of an object; table byte and key of an aux row */
	size_t key_len;
	struct memory_version *newest;
};

struct memory_table {
	struct VEC(struct memory_entry *) rows; /* in key order */
};

struct memory_store {
	struct store base;
	struct store_options options;
	uint8_t incarnation[STORE_UID_LEN];
	pthread_mutex_t lock;
	struct memory_table objects, aux;
	struct VEC(struct memory_version *) log; /* in revision order */
	size_t log_trimmed;			 /* rows of it that are below the floor */
	uint64_t log_bytes, live, data_bytes;
	uint64_t revision, floor, commit;
	size_t n_readers;
};

/* Index of the first row whose key is not below `key`. */
size_t memory_table_find(const struct memory_table *t, struct span key);
/* The row with this key, or NULL. */
struct memory_entry *memory_table_get(const struct memory_table *t, struct span key);
/* Frees what the floor has passed; call under the lock when no reader is open. */
void memory_collect(struct memory_store *s);

int memory_read_begin(struct store *s, struct store_reader **ret, struct err *reterr);

static inline struct span memory_entry_key(const struct memory_entry *e)
{
	return span_make(e->key, e->key_len);
}

#endif
