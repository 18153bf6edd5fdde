#ifndef API_PROTOBUF_H
#define API_PROTOBUF_H
/*
 * Kubernetes' protobuf bodies to JSON trees (kubernetes-api.md 1.3): the envelope "k8s\0" with
 * runtime.Unknown, then the kind's message by a table of fields. Decoding only; answers are JSON.
 *
 * Fields that the tables do not have are skipped, as a proto2 reader does. Zero values that Go
 * writes although they are empty (proto2 style) become absent where Go's JSON would omit them.
 * What comes out is within the limits that JSON bodies have (JSON_MAX_DEPTH).
 */
#include "base/err.h"
#include "base/span.h"

struct cJSON;

/* ERR_BAD_REQUEST for malformed bytes, ERR_UNSUPPORTED_MEDIA for a kind without a table. */
int protobuf_decode(struct span body, struct cJSON **ret, struct err *reterr) MUST_CHECK;

#endif
