#ifndef KUBE_FIELD_ERRORS_H
#define KUBE_FIELD_ERRORS_H
/*
 * The list of everything wrong with an object: field path, reason, words; the causes of a 422.
 * Bounded: after FIELD_ERRORS_MAX entries more are only counted.
 */
#include "base/compat.h"
#include <stdbool.h>
#include <stddef.h>

enum field_reason {
	FIELD_REQUIRED,	     /* "Required value" */
	FIELD_INVALID,	     /* "Invalid value: <value>" */
	FIELD_NOT_SUPPORTED, /* "Unsupported value: <value>" */
	FIELD_FORBIDDEN,     /* "Forbidden" */
	FIELD_DUPLICATE,     /* "Duplicate value: <value>" */
	FIELD_TYPE_INVALID,  /* "Invalid value: <value>", FieldValueTypeInvalid */
	FIELD_TOO_LONG,	     /* "Too long" */
	FIELD_TOO_MANY,	     /* "Too many: n" */
	FIELD_NOT_FOUND,     /* "Not found: <value>" */
	FIELD_REASON_MAX,
};

#define FIELD_ERRORS_MAX 64

struct field_error {
	enum field_reason reason;
	char *field;  /* owned */
	char *value;  /* owned JSON text of the bad value, or NULL */
	char *detail; /* owned; may be "" */
};

struct field_errors {
	struct field_error items[FIELD_ERRORS_MAX];
	size_t n;	/* stored */
	size_t dropped; /* over the bound */
};

/* value: JSON text of the offending value as it is to be shown, or NULL. Paths, values and details
 * are cut at FIELD_ERROR_TEXT_MAX bytes, at a character boundary, and end in "..." then. */
#define FIELD_ERROR_TEXT_MAX 1024
void field_errors_add(struct field_errors *e, enum field_reason reason, const char *field,
		      const char *value, const char *detail_fmt, ...) PRINTF_LIKE(5, 6);
static inline bool field_errors_any(const struct field_errors *e)
{
	return e->n > 0;
}
void field_errors_done(struct field_errors *e);
/* "FieldValueRequired", ... */
const char *field_reason_name(enum field_reason r);
/* "Required value: detail", without the path: the message of a Status cause. */
struct buf;
void field_error_body(const struct field_error *e, struct buf *out);
/* "spec.a: Required value: detail" into a bounded text; the form of Kubernetes' messages. */
void field_error_text(const struct field_error *e, struct buf *out);
/* `<Kind>.<group> "name" is invalid: [all errors]` into out, as apimachinery's NewInvalid. */
void field_errors_message(const struct field_errors *e, const char *kind, const char *group,
			  const char *name, struct buf *out);

#endif
