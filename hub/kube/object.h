#ifndef KUBE_OBJECT_H
#define KUBE_OBJECT_H
/*
 * The object as the store keeps it: JSON bytes with known extents, flags, uid, owners, digest.
 *
 * A draft is a new state of one object, ready for the store but without its resourceVersion: the
 * text holds "resourceVersion":"" and extents.revision says where the digits go. Drafts are made
 * on worker threads from an edited tree (object_draft_from_tree) or on the core thread from bytes
 * alone (object_draft_splice_*), and move between threads inside messages.
 *
 * Invariant: a draft's text is compact or spliced JSON whose first members are apiVersion, kind,
 * metadata; metadata holds uid, creationTimestamp, name (and namespace, generation).
 */
#include "base/err.h"
#include "base/span.h"
#include "kube/kind.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

enum object_flag {
	OBJECT_DELETING = 1u << 0, /* metadata.deletionTimestamp is set */
	OBJECT_HAS_FINALIZERS = 1u << 1,
	OBJECT_FOREIGN_FINALIZERS = 1u << 2, /* one that is not OBJECT_HUB_FINALIZER */
	OBJECT_HAS_OWNERS = 1u << 3,
	OBJECT_SUSPENDED = 1u << 4, /* jobs: the suspend field is true */
	OBJECT_FINISHED = 1u << 5,  /* jobs: status is terminal */
};

/* On every job object at the hub while a copy may exist on a member. */
#define OBJECT_HUB_FINALIZER "muster.dev/dispatch"
#define OBJECT_UID_TEXT	     37 /* 36 and NUL */

struct object_draft {
	char *json; /* owned */
	size_t len;
	struct store_extents extents;
	uint8_t uid[STORE_UID_LEN];
	store_flags flags;
	int64_t generation;
	char *digest; /* owned; NULL when the kind has none */
	size_t digest_len;
	uint8_t (*owners)[STORE_UID_LEN]; /* owned */
	size_t n_owners;
};

void object_draft_done(struct object_draft *d); /* frees the content */

/* From a complete, defaulted, validated tree (metadata.uid set). Computes flags, owners and, by
 * the kind's hook, the digest. ERR_TOO_LARGE over STORE_MAX_OBJECT, ERR_INVALID from the hook. */
int object_draft_from_tree(const struct kind *k, const struct cJSON *object,
			   struct object_draft *ret, struct err *reterr) MUST_CHECK;

/* A draft with the bytes of a stored object, unchanged. */
void object_draft_from_stored(const struct store_object *o, struct object_draft *ret);

/* A draft of a stored object with its status replaced (or added, or removed when status is
 * absent) by checked JSON text; everything else byte for byte. Flags other than
 * OBJECT_FINISHED are kept; pass the new value of that one. */
int object_draft_splice_status(const struct store_object *o, struct span status, bool finished,
			       struct object_draft *ret, struct err *reterr) MUST_CHECK;

/* Replaces `len` bytes of the draft's text at `at`, which begin and end within one of its parts (or
 * none), by `text`; the extents follow. The text stays JSON only if the caller sees to it. */
void object_draft_replace(struct object_draft *d, size_t at, size_t len, const char *text);

/* The store change of a draft: borrows from it. */
void object_draft_change(const struct object_draft *d, const struct store_key *key,
			 struct store_change *ret);

/* Parses a stored object into a tree. */
int object_tree(const struct store_object *o, struct cJSON **ret, struct err *reterr) MUST_CHECK;
/* metadata.generation; 0 where it has none. */
int64_t object_generation(const struct store_object *o);

/* uid <-> text. -EINVAL for anything but the canonical lower-case form. */
int object_uid_parse(struct span text, uint8_t ret[STORE_UID_LEN]) MUST_CHECK;
const char *object_uid_format(const uint8_t uid[STORE_UID_LEN], char out[OBJECT_UID_TEXT]);

#endif
