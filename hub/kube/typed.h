#ifndef KUBE_TYPED_H
#define KUBE_TYPED_H
/*
 * Values seen through their schema, for server-side apply: which fields an object has, what two
 * states of it differ in, and how an applied configuration is merged into the live object.
 *
 * Every value is a leaf, a map or an associative list. The schema says which: named fields and
 * maps are granular unless x-kubernetes-map-type says atomic; lists are atomic unless their
 * x-kubernetes-list-type is set or map. Where there is no schema (a NULL node, SCHEMA_ANY,
 * unknown fields that are kept) the deduced rules hold: maps granular, lists atomic. A leaf, and
 * so an atomic map or list, is owned and replaced as a whole.
 *
 * An item of an associative list is known by its key fields (an absent one counts as its
 * default), an element of a set by its value. Live lists may hold the same key twice
 * (SCHEMA_LAX_KEYS): then the items with it are one leaf. An applied list may not.
 *
 * All functions are pure; sets go into the arena and borrow from the trees. Semantics:
 * structured-merge-diff's typed package, kubernetes-api.md section 5; a differential test holds
 * this code against it.
 */
#include "kube/field_set.h"
#include "kube/schema.h"

struct typed_change {
	struct field_set removed, modified, added;
};

/* Every leaf and every item that `value` mentions. */
struct field_set typed_fields(struct arena *mem, const struct schema *s, const struct cJSON *value);

/* What makes `now` of `before`. Either may be NULL: nothing stood there, nothing is left. */
void typed_compare(struct arena *mem, const struct schema *s, const struct cJSON *before,
		   const struct cJSON *now, struct typed_change *ret);
/* The same, of one member of two objects; what else they hold is not looked at. */
void typed_compare_member(struct arena *mem, const struct schema *s, const char *name,
			  const struct cJSON *before, const struct cJSON *now,
			  struct typed_change *ret);

/* `live` with everything that `config` says; nothing is removed. Live order is kept where the
 * configuration does not ask for another. Owned. */
struct cJSON *typed_merge(struct arena *mem, const struct schema *s, const struct cJSON *live,
			  const struct cJSON *config);

/* `value` without the members and items in `what`. A container that loses all it had becomes
 * null. Owned. */
struct cJSON *typed_remove(struct arena *mem, const struct schema *s, const struct cJSON *value,
			   const struct field_set *what);

/* The set with every named field in it that has children in it: a struct's member goes with the
 * last thing in it, unlike a map's key, which is a member by itself. */
struct field_set typed_name_members(struct arena *mem, const struct schema *s,
				    const struct field_set *set);

/* A stored set as today's schema has it: what lies below an atomic field is that field. */
struct field_set typed_reconcile(struct arena *mem, const struct schema *s,
				 const struct field_set *set);

/* Whether `config` may be applied: known fields, the right kinds of containers, every list item
 * with its keys and none of them twice. ERR_BAD_REQUEST with the path and words of upstream. */
int typed_check(struct arena *mem, const struct schema *s, const struct cJSON *config,
		struct err *reterr) MUST_CHECK;

#endif
