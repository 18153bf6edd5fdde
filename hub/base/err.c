#include "base/err.h"

#include <errno.h>
#include <stdarg.h>

struct kind_row {
	int error;
	int http_code;
	bool retryable;
	const char *reason;
};

static const struct kind_row kinds[ERR_KIND_MAX] = {
    [ERR_NONE] = {0, 200, false, ""},
    [ERR_BAD_REQUEST] = {-EINVAL, 400, false, "BadRequest"},
    [ERR_UNAUTHORIZED] = {-EACCES, 401, false, "Unauthorized"},
    [ERR_FORBIDDEN] = {-EPERM, 403, false, "Forbidden"},
    [ERR_NOT_FOUND] = {-ENOENT, 404, false, "NotFound"},
    [ERR_METHOD_NOT_ALLOWED] = {-EOPNOTSUPP, 405, false, "MethodNotAllowed"},
    [ERR_NOT_ACCEPTABLE] = {-EPROTONOSUPPORT, 406, false, "NotAcceptable"},
    [ERR_CONFLICT] = {-ESTALE, 409, true, "Conflict"},
    [ERR_ALREADY_EXISTS] = {-EEXIST, 409, false, "AlreadyExists"},
    [ERR_EXPIRED] = {-ETIME, 410, false, "Expired"},
    [ERR_TOO_LARGE] = {-EMSGSIZE, 413, false, "RequestEntityTooLarge"},
    [ERR_UNSUPPORTED_MEDIA] = {-EPROTOTYPE, 415, false, "UnsupportedMediaType"},
    [ERR_INVALID] = {-EDOM, 422, false, "Invalid"},
    [ERR_TOO_MANY] = {-EBUSY, 429, true, "TooManyRequests"},
    [ERR_INTERNAL] = {-EIO, 500, true, "InternalError"},
    [ERR_UNAVAILABLE] = {-EAGAIN, 503, true, "ServiceUnavailable"},
    [ERR_TIMEOUT] = {-ETIMEDOUT, 504, true, "Timeout"},
    [ERR_NO_SPACE] = {-ENOSPC, 507, true, "InsufficientStorage"},
};

static const struct kind_row *row_of(enum err_kind kind)
{
	return &kinds[kind > ERR_NONE && kind < ERR_KIND_MAX ? kind : ERR_INTERNAL];
}

int err_errno(enum err_kind kind)
{
	return row_of(kind)->error;
}

int err_http_code(enum err_kind kind)
{
	return row_of(kind)->http_code;
}

const char *err_reason(enum err_kind kind)
{
	return row_of(kind)->reason;
}

bool err_is_retryable(enum err_kind kind)
{
	return row_of(kind)->retryable;
}

enum err_kind err_kind_from_http(int code)
{
	for (int k = ERR_BAD_REQUEST; k < ERR_KIND_MAX; k++)
		if (kinds[k].http_code == code)
			return (enum err_kind)k;
	return code >= 400 && code < 500 ? ERR_BAD_REQUEST : ERR_INTERNAL;
}

int err_set(struct err *reterr, enum err_kind kind, const char *fmt, ...)
{
	if (reterr) {
		va_list ap;
		reterr->kind = kind;
		reterr->field[0] = '\0';
		va_start(ap, fmt);
		(void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
		va_end(ap);
	}
	return err_errno(kind);
}

int err_set_field(struct err *reterr, enum err_kind kind, const char *field, const char *fmt, ...)
{
	if (reterr) {
		va_list ap;
		reterr->kind = kind;
		(void)snprintf(reterr->field, sizeof(reterr->field), "%s", field);
		va_start(ap, fmt);
		(void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
		va_end(ap);
	}
	return err_errno(kind);
}

int err_wrap(struct err *reterr, const char *fmt, ...)
{
	char head[sizeof(reterr->text)];
	char text[sizeof(reterr->text)];
	va_list ap;

	if (!reterr)
		return err_errno(ERR_INTERNAL);
	va_start(ap, fmt);
	(void)vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	memcpy(text, reterr->text, sizeof(text));
	if (snprintf(reterr->text, sizeof(reterr->text), "%s: %s", head, text) >=
	    (int)sizeof(reterr->text))
		reterr->text[sizeof(reterr->text) - 1] = '\0';
	return err_errno(reterr->kind);
}
