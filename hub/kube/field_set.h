#ifndef KUBE_FIELD_SET_H
#define KUBE_FIELD_SET_H
/*
 * Sets of field paths: what managedFields says of one manager (FieldsV1), and what changed
 * between two states of an object.
 *
 * A set is a trie. An edge is one step of a path: a member of a map, an item of an associative
 * list by its keys, an element of a set by its value, or an item by its index. A node knows
 * whether the path that ends at it is in the set. In FieldsV1 that is `"f:spec":{...}`,
 * `"k:{\"name\":\"app\"}"`, `"v:\"x\""`, `"i:0"` and `".":{}`; a node without children is always
 * in the set. The root stands for the whole object and is never in the set itself.
 *
 * Sets live in the caller's arena, share what they have in common and are never changed once they
 * are built. Keys are borrowed from the trees that they were made from, or live in the arena.
 * Invariants: children are sorted by field_key_cmp and differ; no child is empty. Pure.
 * Source: KEP-555, structured-merge-diff's fieldpath; kubernetes-api.md section 5.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;
struct buf;

enum field_step {
	FIELD_NAME,  /* text: the member's name */
	FIELD_KEY,   /* text: a JSON object of scalars, keys sorted, integers in plain form */
	FIELD_VALUE, /* text: a JSON scalar, integers in plain form */
	FIELD_INDEX, /* text: digits */
};

struct field_key {
	enum field_step step;
	struct span text;
};

struct field_child;

struct field_set {
	bool here;		      /* the path that leads here is in the set */
	uint32_t n, cap;	      /* children */
	struct field_child *children; /* sorted */
};

struct field_child {
	struct field_key key;
	struct field_set set;
};

#define FIELD_SET_EMPTY ((struct field_set){0})
#define FIELD_SET_LEAF	((struct field_set){.here = true})

/* Depth of a set that can be read or written. A printed set nests in metadata.managedFields of an
 * object whose own depth is bounded by JSON_MAX_DEPTH; what lies deeper is owned as a whole. */
#define FIELD_SET_MAX_DEPTH 48

int field_key_cmp(struct field_key a, struct field_key b);
/* The canonical text of a scalar as FIELD_VALUE and the values in a FIELD_KEY have it: an integer
 * that is written 1.0 or 1e2 is the same as 1 or 100. */
void field_scalar_print(const struct cJSON *scalar, struct buf *out);

static inline bool field_set_is_empty(const struct field_set *s)
{
	return !s->here && s->n == 0;
}
bool field_set_equal(const struct field_set *a, const struct field_set *b);
/* The node behind one step; NULL when there is none. */
const struct field_set *field_set_child(const struct field_set *s, struct field_key key);
bool field_set_has(const struct field_set *s, const struct field_key *path, size_t n);

/* ---- building ---- */

/* Adds a child behind all others: key must be greater than theirs. An empty child is left out. */
void field_set_append(struct arena *mem, struct field_set *s, struct field_key key,
		      const struct field_set *child);
/* Adds one path of n > 0 steps, wherever it belongs. The only call that changes nodes in place:
 * for sets that were built by it alone. */
void field_set_insert(struct arena *mem, struct field_set *s, const struct field_key *path,
		      size_t n);

/* ---- algebra; each path counts for itself, not for those below it ---- */

struct field_set field_set_union(struct arena *mem, const struct field_set *a,
				 const struct field_set *b);
struct field_set field_set_intersection(struct arena *mem, const struct field_set *a,
					const struct field_set *b);
struct field_set field_set_difference(struct arena *mem, const struct field_set *a,
				      const struct field_set *b);

/* ---- FieldsV1 ---- */

/* From a tree, which must outlive the set. Steps of unknown kinds are ignored, as upstream does.
 * ERR_BAD_REQUEST: not a field set, or nested deeper than FIELD_SET_MAX_DEPTH. */
int field_set_read(struct arena *mem, const struct cJSON *fields, struct field_set *ret,
		   struct err *reterr) MUST_CHECK;
/* As JSON. A node too deep, or with more children than a JSON object may have here, is printed
 * as a leaf: the manager then owns it as a whole. */
void field_set_print(const struct field_set *s, struct buf *out);

/* One step as a member of a FieldsV1 object: "f:image" in quotes. */
void field_key_print_v1(struct field_key key, struct buf *out);
/* One step as a path shows it: ".image", "[name=\"app\"]", "[=\"x\"]", "[0]". */
void field_key_print(struct field_key key, struct buf *out);
/* Calls each() with the text of every path in the set, in order:
 * ".spec.containers[name="a"].image". Stops when it returns false. */
void field_set_each(const struct field_set *s, bool (*each)(void *arg, struct span path),
		    void *arg);

#endif
