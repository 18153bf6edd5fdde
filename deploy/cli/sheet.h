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
void sheet_cellf(struct sheet *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sheet_print(const struct sheet *s, bool headers, struct buf *out);

#endif
