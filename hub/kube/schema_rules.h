#ifndef KUBE_SCHEMA_RULES_H
#define KUBE_SCHEMA_RULES_H
/*
 * The value validations of OpenAPI that struct schema has no place for: bounds of numbers that
 * are not integers, multipleOf, enumerations of anything, counts of properties, the string formats
 * of apiextensions, and the logical junctors allOf, anyOf, oneOf and not.
 *
 * A node of the structural schema points to its rules; a branch of a junctor is rules all the way
 * down (`fields`, `items`, `values`), since it has no structure of its own: it prunes nothing and
 * sets no defaults. Rules are made by kube/schema_compile.h, live in its arena, and do not change.
 *
 * Words are those of kube-openapi's validator as apiextensions shows them.
 */
#include "base/span.h"
#include "kube/decimal.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct schema_walk;

enum rules_flag {
	RULES_MINIMUM = 1u << 0,
	RULES_MAXIMUM = 1u << 1,
	RULES_EXCLUSIVE_MINIMUM = 1u << 2,
	RULES_EXCLUSIVE_MAXIMUM = 1u << 3,
	RULES_MULTIPLE_OF = 1u << 4,
	RULES_MAX_LENGTH = 1u << 5, /* these may bound to 0 */
	RULES_MAX_ITEMS = 1u << 6,
	RULES_MAX_PROPERTIES = 1u << 7,
	RULES_INTEGER = 1u << 8, /* a number must be an integer */
	RULES_NULLABLE = 1u << 9,
};

struct schema_rules_field {
	const char *name;
	const struct schema_rules *rules;
};

struct schema_rules {
	uint32_t flags;
	uint32_t types;			 /* bit per enum json_type; 0: any */
	const char *type_name;		 /* of `types`, for words */
	const struct cJSON *enumeration; /* array, or NULL; owned by whoever owns the arena */
	const char *minimum_text, *maximum_text, *multiple_text;
	struct decimal minimum, maximum, multiple;
	uint32_t min_length, max_length, min_items, max_items, min_properties, max_properties;
	const char *pattern; /* or NULL */
	const char *format;  /* name of a format that is checked, or NULL */
	const char *const *required;
	const struct schema_rules_field *fields;
	const struct schema_rules *items, *values; /* of arrays, of maps */
	const struct schema_rules *const *all_of, *const *any_of, *const *one_of;
	const struct schema_rules *negated;
	uint16_t n_required, n_fields, n_all, n_any, n_one;
};

/* Checks a value at the walk's place. Changes nothing but the walk's errors. */
void schema_rules_check(struct schema_walk *w, const struct schema_rules *r,
			const struct cJSON *value);

/* Whether a format of this name is checked; others are documentation only. */
bool schema_format_is_known(const char *format);
/* Whether text is of the format; unknown formats fit everything. */
bool schema_format_fits(const char *format, struct span text);

#endif
