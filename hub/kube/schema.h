#ifndef KUBE_SCHEMA_H
#define KUBE_SCHEMA_H
/*
 * Structural schemas as static tables, and the one pass that applies them to a tree: nulls that
 * mean nothing dropped, unknown fields pruned, defaults filled in, everything else checked.
 *
 * The tables are generated at build time from the YAML files in hub/kinds, or compiled at run time
 * from a CustomResourceDefinition (schema_compile.h); they are read-only and shared by all threads.
 * A node says what a value must be; a named node is one OpenAPI definition, used by reference
 * wherever it occurs, so recursion is fine. The same tables feed openapi_v2.c and openapi_v3.c.
 *
 * Semantics are those of structural CustomResourceDefinition schemas (apiextensions: prune, then
 * default, then validate), with one leniency that built-in kinds have: null for a field that is
 * not nullable counts as absent. Kinds that are Kubernetes' own (struct kind's strategic) have more
 * defaults than kinds of CustomResourceDefinitions have in the types that both share: those that
 * its decoder fills in, here `native`. There a value is what comes out of that decoder: what a Go
 * struct cannot tell from absence (`unsaid`: "", 0, false, empty lists and maps) is dropped, null
 * in a list or map is a zero value, a quantity is stored as it is printed (kube/quantity.h), a time
 * as metav1.Time and MicroTime print it (in UTC, whole seconds or six digits), a structure that is
 * required is there (what it lacks is refused), a required text must not be empty; whether lists
 * must have items, and must have them once, how long a text may be, and all of a value that is
 * `ruled` but its type, is for the kind's rules to say. Paths in errors are written as
 * apimachinery's field.Path does:
 * spec.pytorchReplicaSpecs[Master].template.spec.containers[0].image.
 *
 * A field whose value is lent by the stored object (json_lend) passed here when that was written:
 * it is passed over.
 *
 * Not here: rules that span fields (the kinds' hooks), metadata (kube/meta.h), list-map
 * uniqueness for lists without declared keys.
 */
#include "base/span.h"
#include "kube/kind.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_type {
	SCHEMA_ANY,    /* whatever it is, kept as it is */
	SCHEMA_OBJECT, /* named fields */
	SCHEMA_MAP,    /* any keys, values alike */
	SCHEMA_ARRAY,
	SCHEMA_STRING,
	SCHEMA_INTEGER,
	SCHEMA_NUMBER,
	SCHEMA_BOOLEAN,
	SCHEMA_INT_OR_STRING,
	SCHEMA_QUANTITY, /* string or number that kube/quantity.h parses */
};

enum schema_format {
	SCHEMA_PLAIN,
	SCHEMA_INT32,
	SCHEMA_INT64,
	SCHEMA_DATE_TIME,     /* RFC 3339 */
	SCHEMA_MICRO_TIME,    /* the same with just six digits behind the seconds */
	SCHEMA_BYTE,	      /* base64 */
	SCHEMA_DNS_LABEL,     /* RFC 1123 label */
	SCHEMA_DNS_SUBDOMAIN, /* RFC 1123 subdomain */
	SCHEMA_DNS1035,	      /* RFC 1035 label: starts with a letter */
	SCHEMA_QUALIFIED,     /* [prefix/]name, as label keys */
	SCHEMA_LABEL_VALUE,
};

enum schema_list_type { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

enum schema_flag {
	SCHEMA_NULLABLE = 1u << 0,
	SCHEMA_KEEP_UNKNOWN = 1u << 1, /* x-kubernetes-preserve-unknown-fields */
	SCHEMA_HAS_MIN = 1u << 2,
	SCHEMA_HAS_MAX = 1u << 3,
	SCHEMA_ATOMIC_MAP = 1u << 4,   /* x-kubernetes-map-type: atomic */
	SCHEMA_NOT_NEGATIVE = 1u << 5, /* quantities that the hub sums */
	SCHEMA_LAX_KEYS = 1u << 6,     /* list keys serve patches only; duplicates pass */
	SCHEMA_EMBEDDED = 1u << 7,     /* x-kubernetes-embedded-resource */
	SCHEMA_RULED = 1u << 8, /* in Kubernetes' own kinds their rules judge all but its type */
};

struct schema;
struct schema_rules;	 /* kube/schema_rules.h */
struct validation_rules; /* kube/validation_rules.h */

struct schema_field {
	const char *name;
	const struct schema *schema;
	const char *description;
	const char *default_json;		      /* JSON text, or NULL */
	const char *patch_strategy, *patch_merge_key; /* strategic merge; or NULL */
	bool required;				      /* of wide objects: see SCHEMA_MAX_FIELDS */
	const char *native_json; /* the default of Kubernetes' own kinds, or NULL: default_json */
};

/* Objects of up to so many fields have a bit for each in `required` and `defaulted`. A wider one,
 * which only a CustomResourceDefinition makes, says it in its fields. */
#define SCHEMA_MAX_FIELDS      64
#define SCHEMA_MAX_WIDE_FIELDS 1024

struct schema {
	const char *name; /* OpenAPI definition "io.k8s.api.core.v1.Container", NULL for inline */
	const char *description;
	const struct schema_field *fields; /* sorted by name */
	uint64_t required, defaulted;	   /* bit i: fields[i] */
	uint64_t native;		   /* defaulted in Kubernetes' own kinds */
	uint64_t unsaid; /* those whose zero value Kubernetes' own kinds do not write */
	/* what the Go type always writes: structures, and required lists with keys */
	uint64_t structs;
	const struct schema *items;	/* of an array or map */
	const char *const *enumeration; /* NULL-terminated, or NULL */
	const char *const *list_keys;	/* of SCHEMA_LIST_MAP, NULL-terminated */
	const char *pattern;		/* ECMA-like regular expression, or NULL */
	int64_t minimum, maximum;
	uint32_t min_length, max_length, min_items, max_items; /* 0: no bound */
	uint16_t n_fields, flags;
	uint8_t type, format, list_type;
	const struct schema_rules *rules;	    /* what else values must be, or NULL */
	const struct validation_rules *validations; /* kube/validation_rules.h; or NULL */
	bool has_validations;			    /* here or below */
	bool has_native;			    /* native defaults, here or below */
};

static inline bool schema_field_is_required(const struct schema *s, size_t i)
{
	return s->n_fields > SCHEMA_MAX_FIELDS ? s->fields[i].required : s->required >> i & 1;
}

/* Deepest path that errors can show; JSON_MAX_DEPTH bounds the input earlier. */
#define SCHEMA_MAX_DEPTH 96
/* So many unknown fields are named, the rest is dropped silently. */
#define SCHEMA_MAX_UNKNOWN 64

/* Prunes, defaults and validates `object` in place. Errors are added to `errors`. The path of
 * every pruned field ("spec.bogus") is appended to `unknown`, each ended by '\n', unless NULL.
 * Without native defaults. */
void schema_apply(const struct schema *s, struct cJSON *object, struct field_errors *errors,
		  struct buf *unknown);
/* The same for an object of kind `k`, with the defaults that its kind has. Returns how many values
 * have the wrong type. */
size_t schema_apply_kind(const struct kind *k, struct cJSON *object, struct field_errors *errors,
			 struct buf *unknown);

/* The whole of what a write to an object of kind `k` needs before it becomes a draft: schema
 * pass, the kind's default hook, the kind's validate hook. Hooks are left out when the schema
 * pass found errors that would make them guess (wrong types). */
void schema_admit(const struct kind *k, struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors, struct buf *unknown);

/* Fills into a stored object the native defaults that it lacks because an older program wrote it,
 * or one that does not admit what it writes: what is right is left as it is, what is not too. */
void schema_renew(const struct kind *k, struct cJSON *object);

/* The field's entry in an object node by name; NULL when it has none. */
const struct schema_field *schema_field_find(const struct schema *s, const char *name);

/* Whether text matches the pattern (unanchored, as CRD patterns). A pattern that runs over its
 * match limit, or does not compile, matches nothing. */
bool schema_pattern_matches(const char *pattern, struct span text);

#endif
