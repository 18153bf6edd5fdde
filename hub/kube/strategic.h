#ifndef KUBE_STRATEGIC_H
#define KUBE_STRATEGIC_H
/*
 * What a strategic merge patch must know of a type: which lists are merged, and by which key.
 *
 * A type is a table of the fields that matter: those with a strategy, and those that lead to such
 * fields. A field that is not in the table is merged as a map, replaced as a list or scalar,
 * which is what upstream does with fields without patchStrategy. retainKeys needs no row: the
 * $retainKeys that a patch brings is obeyed wherever it stands.
 */
#include "kube/kind.h"
#include <stddef.h>

enum strategic_flags {
	STRATEGIC_MERGE = 1u << 0,   /* patchStrategy merge: lists are merged */
	STRATEGIC_REPLACE = 1u << 1, /* patchStrategy replace: maps are replaced */
};

struct strategic_type;

struct strategic_field {
	const char *name;
	const char *merge_key; /* patchMergeKey of a list of maps; NULL: a list of scalars */
	unsigned flags;
	const struct strategic_type *type; /* of the value, or of a list's elements; may be NULL */
};

struct strategic_type {
	const struct strategic_field *fields;
	size_t n_fields;
};

/* NULL when the type says nothing about it. type may be NULL. */
const struct strategic_field *strategic_field_find(const struct strategic_type *type,
						   const char *name);
/* The type of a kind's objects. Kinds without metadata of their own get that of ObjectMeta and of
 * conditions. Never NULL. */
const struct strategic_type *strategic_type_of(const struct kind *k);

#endif
