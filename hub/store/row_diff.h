#ifndef STORE_ROW_DIFF_H
#define STORE_ROW_DIFF_H
/*
 * What differs between two states of an object: at most ROW_MAX_HUNKS places, with what stands
 * there before and after. A status that is written again changes the object at two far ends, its
 * managers' times in the metadata and the status, with the spec in between. So three stretches are
 * compared each for itself, before the spec, the spec, after it, and of each what lies between the
 * common start and the common end is a hunk.
 *
 * Both texts are bare (splice.h): the digits of resourceVersion, which always differ, are no part
 * of it. Internal to hub/store; pure.
 */
#include "store/store.h"

#define ROW_MAX_HUNKS 3

/* `skip` bytes are common since the hunk before; then old_len bytes become new_len bytes. */
struct row_hunk {
	uint32_t skip, old_len, new_len;
};

/* What follows the last hunk is common. */
struct row_diff {
	uint32_t n;
	struct row_hunk hunks[ROW_MAX_HUNKS];
};

struct row_side {
	struct span bare;
	struct store_extents extents; /* of the bare text */
};

void row_diff(const struct row_side *before, const struct row_side *after, struct row_diff *ret);

/* Bytes of all hunks, before and after. */
size_t row_diff_old_len(const struct row_diff *d);
size_t row_diff_new_len(const struct row_diff *d);
/* Whether it can be a difference of texts of these lengths. */
bool row_diff_fits(const struct row_diff *d, size_t old_len, size_t new_len);

/* The hunks' bytes, out of the text before or after, into row_diff_old_len() or _new_len() bytes.
 */
void row_diff_take_old(const struct row_diff *d, struct span before, char *out);
void row_diff_take_new(const struct row_diff *d, struct span after, char *out);

/* One text out of the other and the hunks' bytes. The difference fits both texts, and out has room
 * for the result. */
void row_diff_forward(const struct row_diff *d, struct span before, struct span news, char *out);
void row_diff_backward(const struct row_diff *d, struct span after, struct span olds, char *out);

#endif
