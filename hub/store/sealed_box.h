#ifndef STORE_SEALED_BOX_H
#define STORE_SEALED_BOX_H
/*
 * The bytes of a sealed object (sealed.h), and the keys. Internal to hub/store; pure but for the
 * nonce.
 *
 *   "SEAL", key id (8 bytes), '"', [digits of the revision], '"', nonce (12), tag (16), and the
 *   encrypted: extents of the bare json (8 * u32, machine's order), bare json
 *
 * The quotes are where the store puts the revision's digits, as in any object.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "store/store.h"

#define SEALED_KEY_BYTES 32
#define SEALED_ID_BYTES	 8

struct sealed_key {
	uint8_t bytes[SEALED_KEY_BYTES];
	uint8_t id[SEALED_ID_BYTES]; /* digest of the key */
};

struct sealed_keys {
	struct sealed_key keys[16];
	size_t n;
};

bool sealed_box_is(struct span json);
/* -ENOENT when no key has its id; *ret_index is 0 for the one that seals. */
int sealed_box_key(const struct sealed_keys *k, struct span box, size_t *ret_index);
/* Appends the box of a bare json; *ret_extents are its extents. */
int sealed_box_seal(const struct sealed_keys *k, const struct store_key *of, struct span bare,
		    const struct store_extents *extents, struct buf *out,
		    struct store_extents *ret_extents, struct err *reterr) MUST_CHECK;
/* The json with its digits into mem. -ENOENT: no such key; -EBADMSG: damaged, or another's. */
int sealed_box_open(const struct sealed_keys *k, const struct store_key *of, struct span box,
		    struct arena *mem, struct span *ret_json,
		    struct store_extents *ret_extents) MUST_CHECK;

#endif
