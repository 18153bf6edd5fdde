#ifndef API_CONTINUE_TOKEN_H
#define API_CONTINUE_TOKEN_H
/*
 * The continue token of a LIST: the revision that the whole list is read at, the last key that
 * was given out, a digest of the selectors, and the store's incarnation; signed, so that a client
 * can only bring back what it got (kubernetes-api.md 1.9).
 *
 * Text: base64url of a version byte, the fields and an HMAC-SHA-256. The key is derived from
 * the incarnation and a secret of the front, so tokens survive restarts but not a restored backup.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "store/store.h"
#include <stdint.h>

#define CONTINUE_KEY_LEN 32
#define CONTINUE_MAX	 1024
#define CONTINUE_UNKNOWN UINT64_MAX

struct continue_token {
	uint64_t revision; /* 0: of a token for an inconsistent continuation: newest */
	uint16_t type;
	struct span ns, name;	/* last key given out */
	uint64_t selector_hash; /* of namespace and selectors of the request */
	uint64_t remaining;	/* objects after the last one; CONTINUE_UNKNOWN when not counted */
};

/* secret: any bytes that the front keeps (its CA key's digest); out: CONTINUE_KEY_LEN bytes. */
void continue_key(struct span secret, const uint8_t incarnation[STORE_UID_LEN],
		  uint8_t out[CONTINUE_KEY_LEN]);
void continue_token_write(const struct continue_token *t, const uint8_t key[CONTINUE_KEY_LEN],
			  struct buf *out);
/* Strings of *ret point into *mem, which the caller releases. ERR_BAD_REQUEST for anything that
 * this front did not write. */
int continue_token_read(struct span text, const uint8_t key[CONTINUE_KEY_LEN], struct buf *mem,
			struct continue_token *ret, struct err *reterr) MUST_CHECK;
uint64_t continue_selector_hash(struct span ns, struct span labels, struct span fields);

#endif
