#ifndef KUBE_PATCH_PRIV_H
#define KUBE_PATCH_PRIV_H
/*
 * What the three kinds of patches share. Internal to hub/kube.
 */
#include "base/err.h"
#include "base/json.h"
#include "kube/patch.h"
#include "kube/strategic.h"

/* Work and growth that are left to one patch. */
struct patch_budget {
	int64_t steps;
	int64_t copied;
};

/* Takes n steps; once below zero, patch_spent() is true and the patch is refused at its end (or
 * earlier, where a loop looks). */
static inline void patch_step(struct patch_budget *b, int64_t n)
{
	b->steps -= n;
}
static inline bool patch_spent(const struct patch_budget *b)
{
	return b->steps < 0 || b->copied < 0;
}

/* As json_get, counted. */
struct cJSON *patch_find(struct patch_budget *b, const struct cJSON *object, const char *key);

/* In place; after an error the target is not worth anything. */
int patch_json_run(struct cJSON **root, const struct cJSON *patch, struct patch_budget *b,
		   struct err *reterr) MUST_CHECK;
int patch_strategic_run(struct cJSON *target, const struct cJSON *patch,
			const struct strategic_type *type, struct patch_budget *b,
			struct err *reterr) MUST_CHECK;

/* ---- strategic.c and strategic_list.c ---- */

struct strategic_merge {
	struct patch_budget *budget;
	struct err *reterr;
};

int strategic_merge_map(struct strategic_merge *m, struct cJSON *target, const struct cJSON *patch,
			const struct strategic_type *type) MUST_CHECK;
/* A copy of a patch's value as it enters an object where nothing stood: without directives,
 * without nulls in maps, without elements that only delete. NULL when nothing is left of it. */
struct cJSON *strategic_strip(const struct cJSON *value);

/* What a patch says about one list. All may be NULL. */
struct strategic_list_patch {
	const struct cJSON *items;  /* the list itself */
	const struct cJSON *remove; /* $deleteFromPrimitiveList/NAME */
	const struct cJSON *order;  /* $setElementOrder/NAME */
	const char *name;
};

/* The next state of a list: owned. target may be NULL. */
int strategic_merge_list(struct strategic_merge *m, const struct cJSON *target,
			 const struct strategic_list_patch *patch,
			 const struct strategic_field *field, struct cJSON **ret) MUST_CHECK;

#endif
