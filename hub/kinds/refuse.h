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

/*
 * A path that becomes text only when something is refused, which is nearly never: each step lives
 * on the stack of the function that takes it, and knows the one above it. The first has the text
 * of the whole path so far as its name.
 */
struct at {
	const struct at *above;
	const char *name;
	size_t index;
	enum { AT_STEP_FIELD, AT_STEP_KEY, AT_STEP_INDEX } step;
};
#define AT_ROOT(text)	(&(const struct at){NULL, (text), 0, AT_STEP_FIELD})
#define AT_FIELD(up, f) (&(const struct at){(up), (f), 0, AT_STEP_FIELD})
#define AT_KEY(up, key) (&(const struct at){(up), (key), 0, AT_STEP_KEY})
#define AT_INDEX(up, i) (&(const struct at){(up), NULL, (i), AT_STEP_INDEX})
/* "spec.containers[0].name", cut at the size of `out`. Returns `out`. */
const char *at_text(const struct at *at, char out[REFUSE_PATH_MAX]);

/* As refuse() and refuse_text(). */
void refuse_at(struct field_errors *e, enum field_reason reason, const struct cJSON *value,
	       const char *detail, const struct at *at);
void refuse_text_at(struct field_errors *e, enum field_reason reason, const char *value,
		    const char *detail, const struct at *at);
/* "Unsupported value" with the values that are, which end with NULL. */
void refuse_unsupported(struct field_errors *e, const char *value, const char *const *supported,
			const struct at *at);
/* Refuses a text that `fits` says no to, in the words of `rule` (kube/names.h). */
void refuse_unfit(struct field_errors *e, const char *text, bool (*fits)(struct span),
		  const char *(*rule)(struct span), const struct at *at);

/* Adds "field is immutable" at `path` unless both are equal or absent. */
void refuse_change(struct field_errors *e, const struct cJSON *before, const struct cJSON *after,
		   const char *path);

/* Appends a warning (kind_write): one line. */
struct buf;
void refuse_warn(struct buf *warnings, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
