#ifndef BASE_BASE64_H
#define BASE_BASE64_H
/*
 * Base64 (RFC 4648): the standard alphabet with padding, as Kubernetes writes bytes in JSON, and
 * the URL alphabet without, as tokens have it. Stateless; any thread.
 *
 * What is read may be secret: neither function copies it anywhere but into `out`. A caller that
 * wipes `out` reserves room for all of it first, so that the buffer does not move.
 */
#include "base/buf.h"

/* Bytes that so much text stands for, at the most. */
#define BASE64_ROOM(text_len) ((text_len) / 4 * 3 + 3)

void base64_add(struct buf *out, struct span bytes);
void base64_add_url(struct buf *out, struct span bytes);

/* Adds the bytes that text stands for. Line breaks and blanks are skipped, and bits behind the
 * last byte ignored, as Go's decoder and YAML do. -EINVAL: not base64, or over out's maximum; out
 * may then hold a part of it. */
int base64_read(struct span text, struct buf *out) MUST_CHECK;
/* Nothing is skipped, and bits behind the last byte must be 0: each value has one spelling. */
int base64_read_url(struct span text, struct buf *out) MUST_CHECK;

#endif
