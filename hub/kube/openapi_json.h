#ifndef KUBE_OPENAPI_JSON_H
#define KUBE_OPENAPI_JSON_H
/*
 * Schemas as JSON, in the form of OpenAPI 2.0 or 3.0: what the documents of both versions are made
 * of. Everything is appended; nothing here keeps anything.
 */
#include "base/buf.h"
#include "kube/kind.h"
#include "kube/schema.h"
#include <stdbool.h>

enum openapi_version { OPENAPI_V2, OPENAPI_V3 };

/* `"key":`, after a comma unless *first, which becomes false. */
void openapi_json_key(struct buf *b, const char *key, bool *first);
/* A member that is a text; nothing when it is absent or empty. */
void openapi_json_text(struct buf *b, const char *key, const char *value, bool *first);
/* The members of a schema, without braces and without its own description. */
void openapi_json_schema(struct buf *b, const struct schema *s, enum openapi_version version,
			 bool *first);
/* {"group":..., "version":..., "kind":...} */
void openapi_json_gvk(struct buf *b, const struct kind *k);
/* The definition of a kind, with its name before it. */
void openapi_json_kind(struct buf *b, const struct kind *k, enum openapi_version version);
/* The same of a schema below a kind. */
void openapi_json_definition(struct buf *b, const struct schema *s, enum openapi_version version);

#endif
