#ifndef STORE_STORE_KEY_H
#define STORE_STORE_KEY_H
/*
 * Object keys as bytes: type (big-endian u16), namespace, 0, name. The byte order of two
 * encodings is the LIST order of their keys; a namespace's objects stand together. Internal to
 * hub/store.
 */
#include "store/store.h"

#define STORE_KEY_BYTES (2 + STORE_MAX_NAMESPACE + 1 + STORE_MAX_NAME)

struct store_key_text {
	size_t len;
	char bytes[STORE_KEY_BYTES];
};

/* The key must have passed store_key_check(). */
void store_key_encode(const struct store_key *key, struct store_key_text *ret);
/* The bytes that all keys of a type, or of a namespace of it (absent: all), begin with. */
void store_key_prefix(uint16_t type, struct span ns, struct store_key_text *ret);
/* Borrows from bytes. -EINVAL when they are no key. */
int store_key_decode(struct span bytes, struct store_key *ret) MUST_CHECK;
/* Whether the parts are within the maxima and free of NUL, and the name is not empty. */
bool store_key_check(const struct store_key *key);

static inline struct span store_key_span(const struct store_key_text *t)
{
	return span_make(t->bytes, t->len);
}

#endif
