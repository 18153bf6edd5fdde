#include "kube/field_errors.h"

#include "base/buf.h"

#include <stdarg.h>

struct reason_row {
	const char *name; /* reason of a Status cause */
	const char *text; /* what the message says */
	bool shows_value;
};

/* apimachinery util/validation/field: the texts and which of them show the value. */
static const struct reason_row reasons[FIELD_REASON_MAX] = {
    [FIELD_REQUIRED] = {"FieldValueRequired", "Required value", false},
    [FIELD_INVALID] = {"FieldValueInvalid", "Invalid value", true},
    [FIELD_NOT_SUPPORTED] = {"FieldValueNotSupported", "Unsupported value", true},
    [FIELD_FORBIDDEN] = {"FieldValueForbidden", "Forbidden", false},
    [FIELD_DUPLICATE] = {"FieldValueDuplicate", "Duplicate value", true},
    [FIELD_TYPE_INVALID] = {"FieldValueTypeInvalid", "Invalid value", true},
    [FIELD_TOO_LONG] = {"FieldValueTooLong", "Too long", false},
    [FIELD_TOO_MANY] = {"FieldValueTooMany", "Too many", true},
    [FIELD_NOT_FOUND] = {"FieldValueNotFound", "Not found", true},
};

static const struct reason_row *row_of(enum field_reason r)
{
	return &reasons[(unsigned)r < FIELD_REASON_MAX ? r : FIELD_INVALID];
}

const char *field_reason_name(enum field_reason r)
{
	return row_of(r)->name;
}

/* A copy of at most FIELD_ERROR_TEXT_MAX bytes; never splits a UTF-8 sequence. */
static char *bounded(const char *s)
{
	size_t len = strnlen(s, FIELD_ERROR_TEXT_MAX + 1);
	if (len <= FIELD_ERROR_TEXT_MAX)
		return xstrndup(s, len);
	len = FIELD_ERROR_TEXT_MAX - 3;
	while (len > 0 && ((unsigned char)s[len] & 0xc0) == 0x80)
		len--;
	char *p = xcalloc(1, len + 4);
	memcpy(p, s, len);
	memcpy(p + len, "...", 4);
	return p;
}

void field_errors_add(struct field_errors *e, enum field_reason reason, const char *field,
		      const char *value, const char *detail_fmt, ...)
{
	char detail[FIELD_ERROR_TEXT_MAX + 2];
	va_list ap;

	if (e->n == FIELD_ERRORS_MAX) {
		e->dropped++;
		return;
	}
	va_start(ap, detail_fmt);
	(void)vsnprintf(detail, sizeof(detail), detail_fmt, ap);
	va_end(ap);
	e->items[e->n++] = (struct field_error){
	    .reason = reason,
	    .field = bounded(field),
	    .value = value ? bounded(value) : NULL,
	    .detail = bounded(detail),
	};
}

void field_errors_done(struct field_errors *e)
{
	for (size_t i = 0; i < e->n; i++) {
		free(e->items[i].field);
		free(e->items[i].value);
		free(e->items[i].detail);
	}
	e->n = 0;
	e->dropped = 0;
}

void field_error_body(const struct field_error *e, struct buf *out)
{
	const struct reason_row *row = row_of(e->reason);
	buf_add_str(out, row->text);
	if (row->shows_value && e->value) {
		buf_add_str(out, ": ");
		buf_add_str(out, e->value);
	}
	if (e->detail[0]) {
		buf_add_str(out, ": ");
		buf_add_str(out, e->detail);
	}
}

void field_error_text(const struct field_error *e, struct buf *out)
{
	if (e->field[0]) {
		buf_add_str(out, e->field);
		buf_add_str(out, ": ");
	}
	field_error_body(e, out);
}

static bool same_error(const struct field_error *a, const struct field_error *b)
{
	return a->reason == b->reason && strcmp(a->field, b->field) == 0 &&
	       strcmp(a->detail, b->detail) == 0 &&
	       strcmp(a->value ? a->value : "", b->value ? b->value : "") == 0;
}

/* An aggregate names every error once, and takes brackets only for two and more. */
static bool said_before(const struct field_errors *e, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (same_error(&e->items[i], &e->items[j]))
			return true;
	return false;
}

void field_errors_message(const struct field_errors *e, const char *kind, const char *group,
			  const char *name, struct buf *out)
{
	size_t distinct = e->dropped ? 1 : 0, said = 0;

	buf_add_str(out, kind);
	if (group[0]) {
		buf_add_char(out, '.');
		buf_add_str(out, group);
	}
	buf_addf(out, " \"%s\" is invalid", name);
	for (size_t i = 0; i < e->n; i++)
		distinct += !said_before(e, i);
	if (distinct == 0)
		return;
	buf_add_str(out, distinct > 1 ? ": [" : ": ");
	for (size_t i = 0; i < e->n; i++) {
		if (said_before(e, i))
			continue;
		buf_add_str(out, said++ ? ", " : "");
		field_error_text(&e->items[i], out);
	}
	if (e->dropped)
		buf_addf(out, "%sand %zu more", said ? ", " : "", e->dropped);
	if (distinct > 1)
		buf_add_char(out, ']');
}
