#ifndef KUBE_OPENAPI_V2_H
#define KUBE_OPENAPI_V2_H
/*
 * The OpenAPI 2.0 document of a kind set, in protobuf (gnostic openapiv2.Document), which kubectl
 * before 1.25 needs for create, apply, explain and diff (kubernetes-api.md 1.2), and in JSON, which
 * is what everybody else gets (generators of clients, validators of manifests).
 *
 * Only what kubectl reads is in the former: one PATCH operation per kind, and the definitions. The
 * latter has every verb.
 */
#include "base/buf.h"
#include "kube/kind.h"

#define OPENAPI_V2_TYPE "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* Appends the document. It is a few hundred KB: build once, keep gzipped. */
void openapi_v2_document(const struct kind_set *set, struct buf *out);
void openapi_v2_json(const struct kind_set *set, struct buf *out);

#endif
