#ifndef MEMBER_SYNC_LIST_STREAM_H
#define MEMBER_SYNC_LIST_STREAM_H
/*
 * A push parser for the body of a Kubernetes LIST: bytes in, one call per item out, then the
 * list's revision and continue token.
 *
 * Pure, and bounded: it holds one item, never the page, so a page of 500 large objects costs the
 * memory of one and the work is spread over the chunks. The list's own structure is checked while
 * it passes; each item and each other member of the list goes through json_check(). Errors stick.
 * The members may come in any order, so the revision is known only at the end.
 * Format: kubernetes-api.md 1.9 and 1.2 (`items` may be null or missing when empty).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

#define LIST_STREAM_MAX_ITEM ((size_t)8 << 20)

struct list_stream {
	struct buf value; /* the member's value or item that is being collected */
	char key[64];	  /* of the member; longer ones are cut, which none of ours is */
	size_t key_len;
	int state; /* private to list_stream.c */
	int depth; /* of open containers inside the value */
	bool in_string, escaped, in_items;
	bool seen_items, seen_metadata;
	bool broken;
	size_t items;	   /* delivered so far */
	uint64_t revision; /* valid once list_stream_complete() */
	char *next;	   /* owned; continue token, decoded; NULL: this was the last page */
};

/* max_item 0: LIST_STREAM_MAX_ITEM. */
void list_stream_init(struct list_stream *l, size_t max_item);
void list_stream_done(struct list_stream *l);

/* Feeds bytes and calls each() with the checked text of every item that became complete. each()
 * returns 0, or a negative errno that ends the call and is returned; the stream is then broken.
 * ERR_TOO_LARGE: an item over the maximum. ERR_BAD_REQUEST: not JSON. ERR_INVALID: not a list. */
int list_stream_feed(struct list_stream *l, struct span bytes,
		     int (*each)(void *arg, struct span item), void *arg,
		     struct err *reterr) MUST_CHECK;

/* Whether the whole list was seen and it has a numeric revision. */
bool list_stream_complete(const struct list_stream *l);

#endif
