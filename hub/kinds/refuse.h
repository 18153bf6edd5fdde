#ifndef KINDS_REFUSE_H
#define KINDS_REFUSE_H
/* Adding field errors from hooks, in one call: reason, the bad value, the words, the path. */
#include "base/json.h"
#include "kube/field_errors.h"

#define REFUSE_PATH_MAX 512

/* value: shown as JSON unless NULL. detail may be "". */
void refuse(struct field_errors *e, enum field_reason reason, const struct cJSON *value,
	    const char *detail, const char *path_fmt, ...) PRINTF_LIKE(5, 6);
/* The same with a text as the value; NULL shows none. */
void refuse_text(struct field_errors *e, enum field_reason reason, const char *value,
		 const char *detail, const char *path_fmt, ...) PRINTF_LIKE(5, 6);

/* Adds "field is immutable" at `path` unless both are equal or absent. */
void refuse_change(struct field_errors *e, const struct cJSON *before, const struct cJSON *after,
		   const char *path);

/* Appends a warning (kind_write): one line. */
struct buf;
void refuse_warn(struct buf *warnings, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
