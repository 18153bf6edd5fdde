#ifndef KUBE_STATUS_H
#define KUBE_STATUS_H
/*
 * metav1.Status: how an API server says that something went wrong, or that a DELETE is done
 * (kubernetes-api.md 1.6), and the one place where the words of its errors are made.
 *
 * HTTP code and reason follow from the error's kind by the table in base/err.c. The words of a
 * 422 are made from the field errors; every other message is the error's own text.
 */
#include "base/buf.h"
#include "base/err.h"
#include "kube/field_errors.h"
#include "kube/kind.h"

/* A cause beyond field errors: NamespaceTerminating, ResourceVersionTooLarge, ... */
struct status_cause {
	const char *reason, *message, *field; /* field may be NULL */
};

/* What the Status is about. All borrowed; everything may be absent. */
struct status_subject {
	const struct kind *kind;
	const char *name;
	const char *uid;		   /* text */
	const struct field_errors *errors; /* of a 422 */
	const struct status_cause *causes;
	size_t n_causes;
	int retry_after_seconds; /* 0: not said */
	const char *message;	 /* instead of the error's own words, which are cut; or NULL */
	bool nothing;		 /* what is not served has details all the same: none */
	bool of_kind;		 /* details.kind is the Kind, as in an Invalid */
};

/* A Failure, as compact JSON appended to out. subject may be NULL. */
void status_failure(const struct err *e, const struct status_subject *subject, struct buf *out);
/* A Success: the answer to a DELETE that removed the object. kubectl waits for this uid to go. */
void status_success(const struct status_subject *subject, struct buf *out);
/* From a Status that a server sent (checked JSON text): kind by its code, and its message.
 * -EINVAL when it is not a Status. */
int status_parse(struct span json, struct err *ret);

/* ---- the words; each returns the errno of its kind ---- */

int status_set_not_found(struct err *reterr, const struct kind *k, const char *name);
int status_set_already_exists(struct err *reterr, const struct kind *k, const char *name);
/* why: NULL for "the object has been modified; please apply your changes ...". */
int status_set_conflict(struct err *reterr, const struct kind *k, const char *name,
			const char *why);
int status_set_forbidden(struct err *reterr, const struct kind *k, const char *name,
			 const char *why);
/* An ERR_INVALID whose words name all of `e`. */
int status_set_invalid(struct err *reterr, const struct kind *k, const char *name,
		       const struct field_errors *e);

#endif
