#ifndef KUBE_TYPED_PRIV_H
#define KUBE_TYPED_PRIV_H
/*
 * What the walks over typed values share. Internal to typed*.c.
 */
#include "base/json.h"
#include "kube/typed.h"

enum typed_shape { TYPED_LEAF, TYPED_MAP, TYPED_LIST };

/* A member of a map or an item of an associative list. */
struct typed_item {
	struct field_key key;
	const struct cJSON *value;
	const struct schema *schema; /* of the value; NULL: deduced */
	bool named;		     /* a field that the schema names */
	bool keyless;		     /* an item without its keys: no two are the same */
	uint32_t at;		     /* its place in the container */
};

struct typed_items {
	struct typed_item *items; /* by key, then place */
	uint32_t n;
};

/* How a value is to be seen; NULL and null as its schema says. */
enum typed_shape typed_shape_of(const struct schema *s, const struct cJSON *value);
/* What a value holds, seen as a map or a list; nothing when it is something else, or NULL. */
struct typed_items typed_items_of(struct arena *mem, const struct schema *s, enum typed_shape shape,
				  const struct cJSON *value);
/* Items from `from` on with the same key as it; at least 1. */
uint32_t typed_run(const struct typed_items *t, uint32_t from);
/* The schema of what one step of a path leads to, and whether it is a named field. */
const struct schema *typed_step(const struct schema *s, struct field_key key, bool *ret_named);
/* Whether the schema makes a container a leaf. */
bool typed_is_atomic(const struct schema *s);

#endif
