/*
 * Strategic merge patch, the maps: patch_strategic_run(). What is right here is what
 * apimachinery/pkg/util/strategicpatch does, because kubectl computes its patches with that code;
 * where it refuses to look at a directive ($patch: merge on a list element) we take it at its word.
 *
 * Directives: $patch (delete, replace, merge), $retainKeys, $setElementOrder/LIST,
 * $deleteFromPrimitiveList/LIST.
 */
#include "kube/strategic.h"

#include "kube/patch_priv.h"

#include <errno.h>

#define ORDER_PREFIX  "$setElementOrder/"
#define REMOVE_PREFIX "$deleteFromPrimitiveList/"
#define PREFIX_LEN(p) (sizeof(p) - 1)

const struct strategic_field *strategic_field_find(const struct strategic_type *type,
						   const char *name)
{
	for (size_t i = 0; type && i < type->n_fields; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return &type->fields[i];
	return NULL;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool is_directive(const char *key)
{
	return strcmp(key, "$patch") == 0 || strcmp(key, "$retainKeys") == 0 ||
	       has_prefix(key, ORDER_PREFIX) || has_prefix(key, REMOVE_PREFIX);
}

static bool only_deletes(const struct cJSON *value)
{
	const char *directive = json_str(value, "$patch");
	return directive && strcmp(directive, "delete") == 0;
}

/* In place, so that a wide map costs no lookups. */
static void strip(struct cJSON *value)
{
	bool map = json_is(value, JSON_OBJECT);

	for (struct cJSON *c = json_first(value), *next; c; c = next) {
		bool only_replaces = json_str(c, "$patch") && !json_next(json_first(c));
		next = json_next(c);
		if ((map && (json_is(c, JSON_NULL) || is_directive(json_key(c)))) ||
		    only_deletes(c) || (!map && only_replaces))
			json_remove_child(value, c);
		else
			strip(c);
	}
}

struct cJSON *strategic_strip(const struct cJSON *value)
{
	if (json_is(value, JSON_NULL) || only_deletes(value))
		return NULL;
	struct cJSON *copy = json_dup(value);
	strip(copy);
	return copy;
}

static int malformed(struct strategic_merge *m, const char *key, const char *what)
{
	return err_set(m->reterr, ERR_BAD_REQUEST, "invalid strategic merge patch: %.200s: %s", key,
		       what);
}

static bool names(const struct cJSON *list, const char *key)
{
	json_foreach (list, e)
		if (json_value_str(e) && strcmp(json_value_str(e), key) == 0)
			return true;
	return false;
}

/* Members of the target that the list does not name go; the patch may only set named ones. */
static int apply_retain_keys(struct strategic_merge *m, struct cJSON *target,
			     const struct cJSON *patch)
{
	const struct cJSON *list = json_get(patch, "$retainKeys");

	if (!list)
		return 0;
	if (!json_is(list, JSON_ARRAY))
		return malformed(m, "$retainKeys", "must be a list of keys");
	int64_t len = (int64_t)json_len(list);
	json_foreach (patch, p) {
		patch_step(m->budget, len);
		if (!is_directive(json_key(p)) && !json_is(p, JSON_NULL) &&
		    !names(list, json_key(p)))
			return malformed(m, json_key(p), "is set but not in $retainKeys");
	}
	for (struct cJSON *t = json_first(target), *next; t; t = next) {
		next = json_next(t);
		patch_step(m->budget, len);
		if (!names(list, json_key(t)))
			json_remove_child(target, t);
	}
	return 0;
}

/* ---- lists, found by themselves or by their directives ---- */

static const struct cJSON *directive_for(struct strategic_merge *m, const struct cJSON *patch,
					 const char *prefix, const char *name)
{
	auto_buf key = BUF_INIT;
	buf_addf(&key, "%s%s", prefix, name);
	return buf_ok(&key) ? patch_find(m->budget, patch, key.ptr) : NULL;
}

static int merge_list(struct strategic_merge *m, struct cJSON *target, const struct cJSON *patch,
		      const char *name, const struct strategic_field *field)
{
	struct strategic_list_patch p = {
	    .items = patch_find(m->budget, patch, name),
	    .remove = directive_for(m, patch, REMOVE_PREFIX, name),
	    .order = directive_for(m, patch, ORDER_PREFIX, name),
	    .name = name,
	};
	struct cJSON *old = patch_find(m->budget, target, name), *next = NULL;

	if ((p.remove && !json_is(p.remove, JSON_ARRAY)) ||
	    (p.order && !json_is(p.order, JSON_ARRAY)) ||
	    (p.items && !json_is(p.items, JSON_ARRAY)))
		return malformed(m, name, "the list and its directives must be lists");
	if (old && !json_is(old, JSON_ARRAY))
		return malformed(m, name, "is not a list in the object");
	if (!old && !p.items)
		return 0;
	int r = strategic_merge_list(m, old, &p, field, &next);
	if (r < 0)
		return r;
	if (old)
		json_replace(target, old, next);
	else
		json_set(target, name, next);
	return 0;
}

/* A directive whose list is also in the patch is read together with it. */
static int merge_by_directive(struct strategic_merge *m, struct cJSON *target,
			      const struct cJSON *patch, const char *key,
			      const struct strategic_type *type)
{
	bool order = has_prefix(key, ORDER_PREFIX);
	const char *name = key + (order ? PREFIX_LEN(ORDER_PREFIX) : PREFIX_LEN(REMOVE_PREFIX));

	if (patch_find(m->budget, patch, name))
		return 0;
	if (order && directive_for(m, patch, REMOVE_PREFIX, name))
		return 0; /* the other directive's turn does both */
	return merge_list(m, target, patch, name, strategic_field_find(type, name));
}

/* ---- maps ---- */

static void put(struct cJSON *target, const char *key, struct cJSON *old, struct cJSON *take_value)
{
	if (!take_value) {
		if (old)
			json_remove_child(target, old);
	} else if (old) {
		json_replace(target, old, take_value);
	} else {
		json_set(target, key, take_value);
	}
}

/* The list types that are merged; any other is replaced as a whole. */
static bool is_merged(const struct strategic_field *field)
{
	return field && (field->flags & STRATEGIC_MERGE);
}

static int merge_member(struct strategic_merge *m, struct cJSON *target, const struct cJSON *patch,
			const struct cJSON *p, const struct strategic_type *type)
{
	const char *key = json_key(p);
	const struct strategic_field *field = strategic_field_find(type, key);
	struct cJSON *old = patch_find(m->budget, target, key);

	if (json_is(p, JSON_ARRAY) && (!old || json_is(old, JSON_ARRAY)) && is_merged(field))
		return merge_list(m, target, patch, key, field);
	if (json_is(p, JSON_OBJECT) && json_is(old, JSON_OBJECT) &&
	    !(field && (field->flags & STRATEGIC_REPLACE)))
		return strategic_merge_map(m, old, p, field ? field->type : NULL);
	put(target, key, old, strategic_strip(p));
	return 0;
}

/* $patch on a map. 1: the map is done. */
static int apply_map_directive(struct strategic_merge *m, struct cJSON *target,
			       const struct cJSON *patch)
{
	const struct cJSON *directive = json_get(patch, "$patch");
	const char *what = json_value_str(directive);
	bool replace = what && strcmp(what, "replace") == 0;

	if (!directive || (what && strcmp(what, "merge") == 0))
		return 0;
	if (!replace && (!what || strcmp(what, "delete") != 0))
		return malformed(m, "$patch", "must be delete, replace or merge");
	while (json_first(target))
		json_remove_child(target, json_first(target));
	if (replace)
		json_foreach (patch, p)
			if (!is_directive(json_key(p)))
				json_set(target, json_key(p), strategic_strip(p));
	return 1;
}

int strategic_merge_map(struct strategic_merge *m, struct cJSON *target, const struct cJSON *patch,
			const struct strategic_type *type)
{
	int r = apply_map_directive(m, target, patch);
	if (r == 0)
		r = apply_retain_keys(m, target, patch);
	if (r != 0)
		return r < 0 ? r : 0;
	json_foreach (patch, p) {
		const char *key = json_key(p);
		if (patch_spent(m->budget))
			return err_errno(ERR_TOO_LARGE);
		if (has_prefix(key, ORDER_PREFIX) || has_prefix(key, REMOVE_PREFIX))
			r = merge_by_directive(m, target, patch, key, type);
		else if (!is_directive(key))
			r = merge_member(m, target, patch, p, type);
		if (r < 0)
			return r;
	}
	return 0;
}

int patch_strategic_run(struct cJSON *target, const struct cJSON *patch,
			const struct strategic_type *type, struct patch_budget *b,
			struct err *reterr)
{
	struct strategic_merge m = {b, reterr};
	return strategic_merge_map(&m, target, patch, type);
}
