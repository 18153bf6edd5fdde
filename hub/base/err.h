#ifndef BASE_ERR_H
#define BASE_ERR_H
/*
 * Errors as values: a negative errno is returned, and the words travel in a caller-owned
 * struct err, the last parameter of every function that can fail.
 *
 * A kind is what a client may act on; ONE table (err.c) maps it to the errno that functions
 * return, to the HTTP code and to the Status reason that Kubernetes clients see. Nothing here
 * allocates. Success leaves the struct untouched; reterr may be NULL where the caller does not
 * care for words. Library code never logs: who stops propagating an error logs it, once.
 */
#include "base/compat.h"
#include <stdbool.h>
#include <stddef.h>

enum err_kind {
	ERR_NONE = 0,
	ERR_BAD_REQUEST,	/* 400 BadRequest            -EINVAL */
	ERR_UNAUTHORIZED,	/* 401 Unauthorized          -EACCES */
	ERR_FORBIDDEN,		/* 403 Forbidden             -EPERM */
	ERR_NOT_FOUND,		/* 404 NotFound              -ENOENT */
	ERR_METHOD_NOT_ALLOWED, /* 405 MethodNotAllowed      -EOPNOTSUPP */
	ERR_NOT_ACCEPTABLE,	/* 406 NotAcceptable         -EPROTONOSUPPORT */
	ERR_CONFLICT,		/* 409 Conflict              -ESTALE */
	ERR_ALREADY_EXISTS,	/* 409 AlreadyExists         -EEXIST */
	ERR_EXPIRED,		/* 410 Expired               -ETIME */
	ERR_TOO_LARGE,		/* 413 RequestEntityTooLarge -EMSGSIZE */
	ERR_UNSUPPORTED_MEDIA,	/* 415 UnsupportedMediaType  -EPROTOTYPE */
	ERR_INVALID,		/* 422 Invalid               -EDOM */
	ERR_TOO_MANY,		/* 429 TooManyRequests       -EBUSY */
	ERR_INTERNAL,		/* 500 InternalError         -EIO */
	ERR_UNAVAILABLE,	/* 503 ServiceUnavailable    -EAGAIN */
	ERR_TIMEOUT,		/* 504 Timeout               -ETIMEDOUT */
	ERR_NO_SPACE,		/* 507 InsufficientStorage   -ENOSPC */
	ERR_KIND_MAX,
};

struct err {
	enum err_kind kind;
	char field[160]; /* path such as spec.root.children[2].max, or "" */
	char text[480];	 /* one sentence, no trailing newline; cut when longer */
};

#define ERR_INIT ((struct err){0})

/* Fills *reterr (when not NULL) and returns the negative errno of `kind`. */
int err_set(struct err *reterr, enum err_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* As err_set, with the path of the offending field. */
int err_set_field(struct err *reterr, enum err_kind kind, const char *field, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* Puts "context: " before the text while unwinding. Returns the errno of the error's kind. */
int err_wrap(struct err *reterr, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Negative errno of a kind. */
int err_errno(enum err_kind kind);

/* HTTP status code of a kind, 500 for one out of range. */
int err_http_code(enum err_kind kind);

/* The kind that stands for an HTTP code received from a server: 409 gives ERR_CONFLICT,
 * unknown 4xx ERR_BAD_REQUEST, unknown 5xx ERR_INTERNAL. */
enum err_kind err_kind_from_http(int code);

/* metav1.Status reason of a kind ("NotFound"); never NULL. */
const char *err_reason(enum err_kind kind);

/* Whether a client may repeat the request unchanged and hope for another answer. */
bool err_is_retryable(enum err_kind kind);

#endif
