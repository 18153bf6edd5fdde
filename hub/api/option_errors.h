#ifndef API_OPTION_ERRORS_H
#define API_OPTION_ERRORS_H
/*
 * Options of a request that are refused: CreateOptions, ListOptions, DeleteOptions and so on of
 * meta.k8s.io. The Status of such a 422 is about the options and not about the object, and each
 * of its causes has the reason of its own fault (apimachinery meta/v1/validation and
 * meta/internalversion/validation).
 *
 * A verb says all that is wrong, then asks for the error; call_fail() and call_fail_with() answer
 * with what was said.
 */
#include "api/call.h"

/* options: "ListOptions"; static text. value: JSON text, or NULL. */
void option_refuse(struct call *c, const char *options, enum field_reason reason, const char *field,
		   const char *value, const char *detail_fmt, ...) PRINTF_LIKE(6, 7);
/* The same about a text. */
void option_refuse_text(struct call *c, const char *options, enum field_reason reason,
			const char *field, struct span value, const char *detail);
/* A number among the parameters, in the words of the decoder that upstream reads them with; *ret
 * stays as it is when there is none. */
int option_number(const struct call *c, const char *name, int64_t *ret, struct err *reterr);
/* dryRun, which may be given several times: "All" and nothing else. The values are shown as one
 * list of JSON texts. */
void option_check_dry_run(struct call *c, const char *options, const struct span *values, size_t n);
/* 0: nothing was refused. Else an ERR_INVALID. */
int option_check(const struct call *c, struct err *reterr);

/* CreateOptions, UpdateOptions or PatchOptions: what the method takes. */
const char *option_kind_of_write(const struct call *c);

/* Within a failure that is answered: puts what was refused in the subject's place and returns
 * true; false when no option was. */
bool option_subject(const struct call *c, const struct err *e, struct status_subject *ret);
/* Frees what was said. */
void option_done(struct call *c);

#endif
