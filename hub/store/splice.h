#ifndef STORE_SPLICE_H
#define STORE_SPLICE_H
/*
 * The revision inside an object's bytes. "Bare" bytes have no digits between the quotes of
 * resourceVersion; what readers see has them. The extents move with the digits. Internal to
 * hub/store; pure.
 */
#include "store/store.h"

/* Decimal digits, NUL-terminated; returns their number. */
size_t splice_digits(uint64_t revision, char out[STORE_REVISION_TEXT]);

/* Extents after n digits went in at bare.revision.at. */
struct store_extents splice_shift(const struct store_extents *bare, size_t n);
/* Extents of the bare bytes: the inverse. */
struct store_extents splice_unshift(const struct store_extents *full);
/* Whether every extent lies within len bytes; a bare revision's len must be 0. */
bool splice_check(const struct store_extents *bare, size_t len);

/* Writes bare with the digits put in: bare.len + n bytes. */
void splice_in(struct span bare, uint32_t at, const char *digits, size_t n, char *out);
/* Writes json without its digits: json.len - revision.len bytes. */
void splice_out(struct span json, const struct store_extent *revision, char *out);

#endif
