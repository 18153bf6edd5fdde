#ifndef CLI_SHEET_H
#define CLI_SHEET_H
/*
 * Aligned columns as kubectl prints them: upper-case heads, three spaces between, no borders.
 */
#include "base/buf.h"

#define SHEET_MAX_COLUMNS 24

struct sheet;

struct sheet *sheet_create(const char *const *heads, size_t n_columns);
struct sheet *sheet_destroy(struct sheet *s); /* NULL is fine; returns NULL */
/* The next cell of the row under way; a full row begins the next one. NULL or "" shows "-". */
void sheet_cell(struct sheet *s, const char *text);
/* The state of a thing (Running, Failed, True, ...): in its colour when the sheet has them. Colour
 * is never all that tells: the word stands there as well. */
void sheet_state(struct sheet *s, const char *text);
/* Off at first. */
void sheet_colour(struct sheet *s, bool on);
void sheet_cellf(struct sheet *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sheet_print(const struct sheet *s, bool headers, struct buf *out);

#endif
