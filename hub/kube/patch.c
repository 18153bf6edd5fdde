#include "kube/patch.h"

#include "kube/patch_priv.h"

#include <errno.h>

static const char *const media_types[PATCH_TYPE_MAX] = {
    [PATCH_JSON] = "application/json-patch+json",
    [PATCH_MERGE] = "application/merge-patch+json",
    [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
};

int patch_type_from_media(struct span content_type, enum patch_type *ret)
{
	struct span rest = content_type, media = span_split(&rest, ';');

	while (media.len && media.ptr[media.len - 1] == ' ')
		media.len--;
	for (size_t i = 0; i < ARRAY_LEN(media_types); i++) {
		if (span_is(media, media_types[i])) {
			*ret = (enum patch_type)i;
			return 0;
		}
	}
	return -ENOENT;
}

const char *patch_type_media(enum patch_type t)
{
	return media_types[t];
}

struct cJSON *patch_find(struct patch_budget *b, const struct cJSON *object, const char *key)
{
	int64_t steps = 1;
	struct cJSON *found = NULL;

	if (!json_is(object, JSON_OBJECT))
		return NULL;
	for (struct cJSON *m = json_first(object); m && !found; m = json_next(m), steps++)
		if (strcmp(json_key(m), key) == 0)
			found = m;
	patch_step(b, steps);
	return found;
}

/* ---- RFC 7386 ---- */

/* A value that enters an object where nothing to merge with stood: its nulls mean nothing. */
static void drop_nulls(struct cJSON *value)
{
	if (!json_is(value, JSON_OBJECT))
		return;
	for (struct cJSON *m = json_first(value), *next; m; m = next) {
		next = json_next(m);
		if (json_is(m, JSON_NULL))
			json_remove_child(value, m);
		else
			drop_nulls(m);
	}
}

static void merge(struct cJSON *target, const struct cJSON *patch, struct patch_budget *b)
{
	json_foreach (patch, p) {
		const char *key = json_key(p);
		struct cJSON *old = patch_find(b, target, key);
		if (patch_spent(b))
			return;
		if (json_is(p, JSON_NULL)) {
			if (old)
				json_remove_child(target, old);
			continue;
		}
		if (json_is(p, JSON_OBJECT) && json_is(old, JSON_OBJECT)) {
			merge(old, p, b);
			continue;
		}
		struct cJSON *next = json_dup(p);
		drop_nulls(next);
		if (old)
			json_replace(target, old, next);
		else
			json_set(target, key, next);
	}
}

struct cJSON *patch_merge_diff(const struct cJSON *from, const struct cJSON *to)
{
	struct cJSON *patch = json_object();

	json_foreach (from, f)
		if (!json_get(to, json_key(f)))
			json_set(patch, json_key(f), json_null());
	json_foreach (to, t) {
		const struct cJSON *f = json_get(from, json_key(t));
		if (f && json_equal(f, t))
			continue;
		/* An object where none stood says all it has; one beside an object says the rest.
		 */
		if (json_is(t, JSON_OBJECT) && json_is(f, JSON_OBJECT))
			json_set(patch, json_key(t), patch_merge_diff(f, t));
		else if (!json_is(t, JSON_NULL))
			json_set(patch, json_key(t), json_dup(t));
	}
	return patch;
}

/* ---- all of them ---- */

/* What the parser would refuse must not be stored: nobody could read it again. */
static bool is_readable(const struct cJSON *v)
{
	if (json_is_lent(v))
		return true;
	json_foreach (v, m)
		if (!is_readable(m))
			return false;
	return !json_is(v, JSON_OBJECT) || json_len(v) <= JSON_MAX_KEYS;
}

static int run(enum patch_type type, const struct kind *k, struct cJSON **root,
	       const struct cJSON *patch, struct patch_budget *b, struct err *reterr)
{
	if (type == PATCH_JSON)
		return patch_json_run(root, patch, b, reterr);
	if (!json_is(patch, JSON_OBJECT))
		return err_set(reterr, ERR_BAD_REQUEST, "the patch is not a JSON object");
	if (type == PATCH_STRATEGIC)
		return patch_strategic_run(*root, patch, strategic_type_of(k), b, reterr);
	merge(*root, patch, b);
	return 0;
}

/* Runs the patch on a copy of its own. */
static int apply(enum patch_type type, const struct kind *k, struct cJSON *take_root,
		 const struct cJSON *patch, struct cJSON **ret, struct err *reterr)
{
	struct patch_budget budget = {PATCH_MAX_STEPS, (int64_t)PATCH_MAX_COPIED};
	auto_json *root = take_root;

	int r = run(type, k, &root, patch, &budget, reterr);
	if (patch_spent(&budget))
		return err_set(reterr, ERR_TOO_LARGE,
			       "the patch needs too much work: it visits more "
			       "than %d values or copies more than %zu bytes",
			       PATCH_MAX_STEPS, PATCH_MAX_COPIED);
	if (r < 0)
		return r;
	if (!json_is(root, JSON_OBJECT))
		return err_set(reterr, ERR_INVALID, "the patched object is not a JSON object");
	if (!is_readable(root))
		return err_set(reterr, ERR_INVALID, "a map would have more than %d keys",
			       JSON_MAX_KEYS);
	*ret = steal_ptr(&root);
	return 0;
}

int patch_apply(enum patch_type type, const struct kind *k, const struct cJSON *object,
		const struct cJSON *patch, struct cJSON **ret, struct err *reterr)
{
	return apply(type, k, json_dup(object), patch, ret, reterr);
}

static bool is_part(const struct cJSON *member, const char *part)
{
	return strcmp(json_key(member), "metadata") == 0 || strcmp(json_key(member), part) == 0;
}

int patch_apply_part(enum patch_type type, const struct kind *k, const struct cJSON *object,
		     const struct cJSON *patch, const char *part, struct cJSON **ret,
		     struct err *reterr)
{
	struct cJSON *root;

	if (type != PATCH_MERGE || !json_is(object, JSON_OBJECT))
		return patch_apply(type, k, object, patch, ret, reterr);
	root = json_object();
	json_foreach (object, m)
		json_add_member(root, is_part(m, part) || json_get(patch, json_key(m))
					  ? json_dup(m)
					  : json_lend(m));
	return apply(type, k, root, patch, ret, reterr);
}
