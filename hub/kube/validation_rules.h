#ifndef KUBE_VALIDATION_RULES_H
#define KUBE_VALIDATION_RULES_H
/*
 * x-kubernetes-validations of a CustomResourceDefinition: CEL rules of a schema's nodes, checked
 * when the definition is applied, compiled with its schema, run on every write.
 *
 * Semantics are those of apiextensions (k8s.io/apiextensions-apiserver
 * pkg/apiserver/schema/cel/validation.go): `self` is the value at the node, `oldSelf` what stood
 * there before. A rule that uses oldSelf runs on updates alone, and only where old and new can be
 * told to be the same thing: not below lists that are no maps. With optionalOldSelf it always
 * runs, and oldSelf is an optional. What did not change is not refused by a rule that it did not
 * meet before. Rules run when nothing else is wrong with an object.
 *
 * Not here: estimates of what a rule may cost at most (a definition is not refused for them; what
 * a rule does take is bounded, kube/cel/cel.h), and rules within allOf, anyOf, oneOf and not, or of
 * metadata, which are refused by path.
 *
 * Pure; any thread. Rules live in the arena of their schema and do not change.
 */
#include "base/arena.h"
#include "kube/cel/cel.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

struct cJSON;

struct validation_rule {
	const char *rule, *message; /* trimmed; message NULL: none */
	const char *field_path;	    /* ".spec.name" below the node, or NULL */
	enum field_reason reason;
	bool optional_old;
	struct cel_program program, message_program; /* the second may have no root */
};

struct validation_rules {
	const struct validation_rule *items;
	size_t n;
	const struct cel_type *self;
};

/* Of one node; those that do not compile are left out. `root`: an object with metadata. NULL when
 * it has none. */
const struct validation_rules *validation_rules_compile(struct arena *mem, const struct schema *s,
							const struct cJSON *node, bool root);

/* Adds what is wrong with the rules of a whole schema, whose compiled form is `s`. */
void validation_rules_check(const struct cJSON *root, const char *path, const struct schema *s,
			    struct field_errors *errors);

/* Runs what an object's schema has. `old` is the object before, NULL on create. */
void validation_rules_run(const struct schema *s, const struct cJSON *object,
			  const struct cJSON *old, struct field_errors *errors);

#endif
