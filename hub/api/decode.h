#ifndef API_DECODE_H
#define API_DECODE_H
/*
 * Request bodies to trees: JSON, YAML, and protobuf for the kinds that kubectl and client-go
 * send it for. On workers.
 */
#include "api/call.h"

struct cJSON;

/* The body as one object. `duplicates`: keep the last of duplicate keys and append
 * lines like `duplicate field "data.k"`, instead of refusing them. ERR_BAD_REQUEST with the
 * position, ERR_UNSUPPORTED_MEDIA. */
int decode_object(const struct call *c, struct cJSON **ret, struct buf *duplicates,
		  struct err *reterr) MUST_CHECK;
/* JSON text of any type, a patch. As above, without words of its own around an error's. */
int decode_json(struct span text, struct cJSON **ret, struct buf *duplicates,
		struct err *reterr) MUST_CHECK;
/* The configuration of an apply: YAML, or JSON under the same name. As above. */
int decode_apply(const struct call *c, struct cJSON **ret, struct buf *duplicates,
		 struct err *reterr) MUST_CHECK;
/* DeleteOptions: body (may be empty) and parameters. *ret is an object. */
int decode_delete_options(const struct call *c, struct cJSON **ret, struct err *reterr) MUST_CHECK;

/* Custom resources must say what they are (apiextensions); of built-in kinds it follows from the
 * path. ERR_BAD_REQUEST, or ERR_INVALID with another kind as its field error. */
int decode_check_kind(const struct call *c, const struct cJSON *object, struct field_errors *errors,
		      struct err *reterr) MUST_CHECK;

#endif
