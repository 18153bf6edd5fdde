#ifndef STORE_SEALED_H
#define STORE_SEALED_H
/*
 * A store in which objects of some types are sealed: AES-256-GCM over everything but their key,
 * owners, flags and revision, with keys that lie in a file outside of the store.
 *
 * It wraps another store. Readers see plain objects; the wrapped store, its log and its backups
 * hold sealed ones. A sealed object is bound to its type, namespace and name: it cannot be put in
 * another's place. Objects that were written before the store was sealed are read as they are;
 * sealed_is_stale() finds them, and those under an older key, so that their owner can write them
 * again. A nonce is random, so one key is good for 2^32 writes.
 *
 * The key file: one key a line, a name, blanks, and 32 bytes in base64; '#' begins a comment. The
 * first key seals, all of them open. To rotate: put a new line first, restart, and take the old
 * one away once the log has passed what it sealed (store.logMaxAge). Log rows whose key is gone
 * answer as rows that were trimmed: -ETIME.
 */
#include "store/store.h"

#define SEALED_MAX_KEYS 16

struct sealed_keys;

/* Reads the file, which nobody else may read (mode 0600). When it is absent and `create`, makes
 * one with a new key first. ERR_INVALID with file and line, ERR_INTERNAL. */
int sealed_keys_open(const char *path, bool create, struct sealed_keys **ret,
		     struct err *reterr) MUST_CHECK;
struct sealed_keys *sealed_keys_close(struct sealed_keys *k); /* wipes; NULL is fine */

/* Takes the inner store and the keys; they are closed with it. types: static. */
struct store *sealed_open(struct store *take_inner, struct sealed_keys *take_keys,
			  const uint16_t *types, size_t n_types);

/* Of a store made by sealed_open: whether the object is not, or not under the first key, sealed.
 * -EIO when its key is not in the file. */
int sealed_is_stale(struct store *s, const struct store_key *key, bool *ret) MUST_CHECK;

#endif
