#ifndef BASE_JSON_ESCAPE_H
#define BASE_JSON_ESCAPE_H
/*
 * Escapes in JSON strings. Internal to base/json*.c.
 */
#include "base/buf.h"
#include "base/span.h"

/* Four hexadecimal digits at p, not beyond end: 0, or -1. */
int json_hex4(const char *p, const char *end, unsigned *ret);
/* Appends the text of the inside of a checked string. Never longer than raw. */
void json_unescape(struct span raw, struct buf *out);

#endif
