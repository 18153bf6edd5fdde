#ifndef KUBE_CEL_VALUE_H
#define KUBE_CEL_VALUE_H
/*
 * Values of the Common Expression Language (github.com/google/cel-spec, doc/langdef.md) and their
 * types, as Kubernetes uses them: a JSON tree seen through its schema, and what is computed of it.
 *
 * A value is 24 bytes by value; what it points to lies in the run's arena or in the tree that is
 * looked at, and lives as long. Containers of the tree are not copied: a list becomes an array of
 * values when it is first touched, an object is looked up where it stands. An error is a value
 * too, since && and || may absorb it. Pure; any thread.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;
struct schema;

enum cel_kind {
	CEL_DYN, /* as a type only: not known before it runs */
	CEL_ERROR,
	CEL_NULL,
	CEL_BOOL,
	CEL_INT,
	CEL_UINT,
	CEL_DOUBLE,
	CEL_STRING,
	CEL_BYTES,
	CEL_TIMESTAMP, /* nanoseconds since 1970, within the years 1 to 9999 */
	CEL_DURATION,  /* nanoseconds */
	CEL_LIST,
	CEL_MAP,
	CEL_OBJECT, /* fields of a schema; as a value it is a map of the tree */
	CEL_TYPE,
	CEL_OPTIONAL,
	CEL_QUANTITY, /* of Kubernetes, in thousandths */
	CEL_IP,
	CEL_CIDR,
	CEL_URL,
	CEL_KINDS,
};

struct cel_type {
	enum cel_kind kind;
	const struct cel_type
	    *item;		    /* of a list, of a map's values, in an optional; or NULL: dyn */
	const struct cel_type *key; /* of a map; NULL: dyn */
	const struct schema *schema; /* of what comes from a tree */
	bool root;		     /* an object with apiVersion, kind and metadata */
};

struct cel_list;
struct cel_map;
struct cel_address;

struct cel_value {
	enum cel_kind kind;
	const struct cel_type *type; /* of lists, maps and objects from a tree; else NULL */
	union {
		bool flag;
		int64_t number; /* int, timestamp, duration */
		uint64_t natural;
		double real;
		struct span text; /* string, bytes, url; the name of a type; an error */
		const struct cel_list *list;
		const struct cel_map *map;
		const struct cJSON *node;      /* CEL_OBJECT: an object of the tree */
		const struct cel_value *inner; /* of an optional; NULL: none */
		const __int128 *amount;	       /* of a quantity */
		const struct cel_address *address;
	};
};

struct cel_list {
	const struct cel_value *items;
	size_t n;
};

struct cel_map { /* computed; keys are bool, int, uint or string */
	const struct cel_value *keys, *values;
	size_t n;
};

struct cel_address { /* of an IP or a CIDR */
	uint8_t bytes[16];
	uint8_t family; /* 4 or 6 */
	uint8_t bits;	/* of a CIDR's prefix */
};

#define CEL_QUANTITY_UNIT 1000

extern const struct cel_type cel_type_of[CEL_KINDS]; /* the plain type of each kind */

static inline struct cel_value cel_bool(bool v)
{
	return (struct cel_value){.kind = CEL_BOOL, .flag = v};
}

static inline struct cel_value cel_int(int64_t v)
{
	return (struct cel_value){.kind = CEL_INT, .number = v};
}

static inline struct cel_value cel_text(enum cel_kind kind, struct span s)
{
	return (struct cel_value){.kind = kind, .text = s};
}

/* `words` is static. */
static inline struct cel_value cel_fail(const char *words)
{
	return cel_text(CEL_ERROR, span_of(words));
}

/* What has keys: computed, or of the tree. */
static inline bool cel_is_map(const struct cel_value *v)
{
	return v->kind == CEL_MAP || v->kind == CEL_OBJECT;
}

/* What a run says where types were not known before. */
static inline struct cel_value cel_no_such_overload(void)
{
	return cel_fail("no such overload");
}

/* "int", "list(string)", as cel-go prints types in its errors. */
void cel_type_print(const struct cel_type *t, struct buf *out);
/* The name that type() gives: "int", "list", "map", "google.protobuf.Timestamp". */
const char *cel_kind_name(enum cel_kind kind);

/* The type of a schema's values for CEL; NULL when rules cannot see them (no schema is known).
 * Source: k8s.io/apiserver/pkg/cel/common/schemas.go, SchemaDeclType. */
const struct cel_type *cel_type_from_schema(struct arena *mem, const struct schema *s, bool root);
/* The field of an object type by its name in expressions, in which what is no identifier is
 * escaped (__dash__, __namespace__); NULL: no such field, or none that rules can see. *ret_name:
 * as it stands in the tree. */
const struct cel_type *cel_type_field(struct arena *mem, const struct cel_type *t, struct span name,
				      const char **ret_name);

#define CEL_LISTS_SEEN 16

/* Where values are made. Lists of the tree that were touched lately are not made again. */
struct cel_heap {
	struct arena *mem;
	struct {
		const struct cJSON *node;
		const struct cel_list *list;
	} seen[CEL_LISTS_SEEN];
	unsigned next;
};

/* What a tree's value is to an expression. */
struct cel_value cel_from_node(struct cel_heap *heap, const struct cel_type *t,
			       const struct cJSON *node);

/* Containers, also those of the tree. */
size_t cel_len(const struct cel_value *container);
/* A map's value by key; false when absent. Objects are maps by their fields' names. */
bool cel_map_get(struct cel_heap *heap, const struct cel_value *map, const struct cel_value *key,
		 struct cel_value *ret);
/* Keys in order, as a list of `cel_len()`. */
const struct cel_value *cel_map_keys(struct cel_heap *heap, const struct cel_value *map);

/* Heterogeneous equality: numbers across kinds by value, else false for different kinds. */
bool cel_equal(struct cel_heap *heap, const struct cel_value *a, const struct cel_value *b);
/* Negative, 0, positive; false when the two are not ordered. NaN is not ordered with anything. */
bool cel_compare(const struct cel_value *a, const struct cel_value *b, int *ret);

#endif
