#ifndef KUBE_SELECTOR_H
#define KUBE_SELECTOR_H
/*
 * Label and field selectors: parsed once, then matched against trees, checked JSON text, stored
 * rows or plain label pairs.
 *
 * Grammar and meaning are apimachinery's (pkg/labels, pkg/fields): requirements are ANDed;
 * `!=` and `notin` also match where the key is absent; an empty selector matches everything.
 * Which fields a kind can be selected by is one table in selector.c; a field that is absent in an
 * object has the table's default, mostly "".
 *
 * A selector owns its strings and does not change after parsing: many threads may match with one.
 * Matching allocates nothing, except for strings with escapes.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/span.h"
#include "kube/field_errors.h"
#include "kube/node_info.h"
#include "store/store.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct kind;

#define SELECTOR_MAX_REQUIREMENTS 256
#define SELECTOR_MAX_VALUES	  1024 /* of one requirement */
#define SELECTOR_MAX_BYTES	  16384

enum selector_op {
	SELECTOR_IN,	 /* =, ==, in */
	SELECTOR_NOT_IN, /* !=, notin: true when absent */
	SELECTOR_EXISTS,
	SELECTOR_DOES_NOT_EXIST,
	SELECTOR_GT, /* labels only: both sides integers */
	SELECTOR_LT,
	SELECTOR_OP_MAX,
};

struct selector_field; /* a row of the table of selectable fields */

struct selector_requirement {
	const struct selector_field *field; /* NULL: a label */
	struct span key;
	enum selector_op op;
	struct span *values;
	size_t n_values;
	int64_t number; /* of GT and LT */
};

struct selector {
	struct arena mem;
	struct selector_requirement *items;
	size_t n, cap;
};

#define SELECTOR_INIT ((struct selector){0})
#define auto_selector AUTO(selector_done) struct selector
void selector_done(struct selector *s);

/* Adds what a labelSelector parameter says: "a=b,a!=c,x in (1,2),y notin (3),z,!w,n>5".
 * ERR_BAD_REQUEST with the place and what was expected. */
int selector_add_labels(struct selector *s, struct span text, struct err *reterr) MUST_CHECK;
/* Adds what a fieldSelector parameter says about objects of this kind, which must outlive the
 * selector: "metadata.name=x,status.phase!=Running", with \\, \, and \= in values. ERR_BAD_REQUEST,
 * in kube-apiserver's words for this kind, for what it cannot be selected by. */
int selector_add_fields(struct selector *s, const struct kind *kind, struct span text,
			struct err *reterr) MUST_CHECK;
/* Adds a metav1.LabelSelector: matchLabels and matchExpressions. NULL adds nothing. Errors go to
 * `errors` with paths below `path`; returns ERR_INVALID's errno then. */
int selector_add_label_selector(struct selector *s, const struct cJSON *label_selector,
				const char *path, struct field_errors *errors) MUST_CHECK;

static inline bool selector_is_empty(const struct selector *s)
{
	return s->n == 0;
}
/* The one value that metadata.name (or metadata.namespace) must have, or absent: the watch index
 * and single-object lists use it. */
struct span selector_name(const struct selector *s);
struct span selector_namespace(const struct selector *s);

/* Against an object as a tree, as checked text, and as a row (then metadata is found by its
 * extent, and name and namespace by the key). */
bool selector_matches_tree(const struct selector *s, const struct cJSON *object);
bool selector_matches_text(const struct selector *s, struct span object);
bool selector_matches_row(const struct selector *s, const struct store_object *o);
/* Against labels alone; field requirements never match. */
bool selector_matches_pairs(const struct selector *s, const struct info_pair *labels, size_t n);

#endif
