#ifndef KUBE_OPENAPI_V3_H
#define KUBE_OPENAPI_V3_H
/*
 * OpenAPI 3.0 documents of a kind set, as JSON (kubernetes-api.md 1.2): what kubectl 1.25 and
 * later validate and explain with. Built on request; they depend on the set alone, so the caller
 * keeps them, gzipped, with an ETag.
 */
#include "base/buf.h"
#include "base/span.h"
#include "kube/kind.h"
#include <stdbool.h>

/* GET /openapi/v3: the index. Each path carries ?hash=<H>, H of its document's content. */
void openapi_v3_index(const struct kind_set *set, struct buf *out);
/* GET /openapi/v3/api/v1 (group "") or /openapi/v3/apis/<group>/<version>. False, and nothing
 * written, when no kind is in it. */
bool openapi_v3_document(const struct kind_set *set, struct span group, struct span version,
			 struct buf *out);

#endif
