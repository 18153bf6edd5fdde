#ifndef KUBE_SCHEMA_COMPILE_H
#define KUBE_SCHEMA_COMPILE_H
/*
 * openAPIV3Schema of a CustomResourceDefinition, checked and compiled.
 *
 * Two steps. schema_structure_check() says everything that is wrong with it, in apiextensions'
 * words: what is not structural, and keywords that no server supports. What passed compiles:
 * schema_compile() makes the same struct schema that the compiled-in kinds have, so that pruning,
 * defaulting, validation, server-side apply and OpenAPI are one mechanism. CEL rules
 * (x-kubernetes-validations) are checked on the compiled form: kube/validation_rules.h.
 *
 * Everything made lies in the arena and borrows from the JSON tree, which must live as long (both
 * belong to a struct definition, kube/definition.h). Pure otherwise; any thread.
 * Source: k8s.io/apiextensions-apiserver pkg/apiserver/schema and pkg/apis/.../validation.
 */
#include "base/arena.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

struct cJSON;

/* Nodes of one schema, junctors included; more is refused. */
#define SCHEMA_COMPILE_MAX_NODES 20000

/* Adds what is wrong with a root schema to `errors`, with paths below `path`. */
void schema_structure_check(const struct cJSON *root, const char *path,
			    struct field_errors *errors);

/* Compiles a root schema that schema_structure_check() found nothing wrong with (whatever it is,
 * nothing worse than a lax schema comes of it). object_meta: the schema of metadata. */
const struct schema *schema_compile(struct arena *mem, const struct cJSON *root,
				    const struct schema *object_meta);

/* Adds an error for every default that its own schema prunes or refuses. */
void schema_defaults_check(const struct cJSON *root, const char *path,
			   const struct schema *object_meta, struct field_errors *errors);

/* NULL when the regular expression compiles, else why it does not, in `words`. */
#define SCHEMA_PATTERN_WORDS 160
const char *schema_pattern_problem(const char *pattern, char words[SCHEMA_PATTERN_WORDS]);

#endif
