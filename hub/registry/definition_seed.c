/* The definitions of the compiled kinds, as rows: read, listed and watched like any other. */
#include "base/json.h"
#include "kube/crd_builtin.h"
#include "registry/registry_priv.h"

#include <errno.h>

static struct cJSON *new_definition(struct registry_batch *b, const char *name)
{
	char uid_text[OBJECT_UID_TEXT], time[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct cJSON *o = json_object(), *meta;

	registry_new_uid(b->reg, uid);
	json_set_str(o, "apiVersion", "apiextensions.k8s.io/v1");
	json_set_str(o, "kind", "CustomResourceDefinition");
	meta = json_ensure_object(o, "metadata");
	json_set_str(meta, "name", name);
	json_set_str(meta, "uid", object_uid_format(uid, uid_text));
	json_set_str(meta, "creationTimestamp", clock_format(registry_now(b), time));
	json_set_int(meta, "generation", 1);
	json_set_str(json_ensure_object(meta, "annotations"), CRD_BUILTIN_ANNOTATION, "true");
	return o;
}

/* Without its annotation it is a user's of the same name, from before the kind was compiled in. */
static bool is_ours(const struct cJSON *tree)
{
	const char *mark = json_value_str(
	    json_path(tree, "metadata", "annotations", CRD_BUILTIN_ANNOTATION, NULL));
	return mark && strcmp(mark, "true") == 0;
}

/* As it will be read back: a tree that was made holds values as text, which equal no parsed ones.
 */
static struct cJSON *as_stored(struct cJSON *take_tree)
{
	struct cJSON *again = NULL;
	auto_buf text = BUF_INIT;

	json_print(take_tree, &text);
	json_free(take_tree);
	return json_parse(buf_span(&text), NULL, &again, NULL) == 0 ? again : NULL;
}

static int seed(struct registry_batch *b, size_t i, struct err *reterr)
{
	const struct definitions *d = &b->reg->definitions;
	const struct kind *k = d->base->kinds[i];
	char name[KIND_API_VERSION_MAX], time[CLOCK_TEXT_MAX];
	auto_json *spec = as_stored(crd_builtin_spec(d->base, i)), *tree = NULL;
	struct object_draft draft;
	struct store_object o;

	(void)kind_resource_name(k, name);
	int rc = registry_get(b, d->kind, SPAN(""), span_of(name), &o);
	if (rc == 0)
		rc = object_tree(&o, &tree, reterr);
	else if (rc == -ENOENT)
		rc = 0;
	if (rc || (tree && is_ours(tree) && json_equal(json_get(tree, "spec"), spec)))
		return rc;
	if (!tree || !is_ours(tree)) {
		json_free(tree);
		tree = new_definition(b, name);
	}
	json_set(tree, "spec", json_dup(spec));
	json_set(tree, "status",
		 crd_builtin_status(d->base, i, clock_format(registry_now(b), time)));
	rc = object_draft_from_tree(d->kind, tree, &draft, reterr);
	return rc ? rc : registry_put(b, d->kind, SPAN(""), span_of(name), &draft);
}

int registry_seed_definitions(struct registry_batch *b, struct err *reterr)
{
	const struct definitions *d = &b->reg->definitions;
	int rc = 0;

	for (size_t i = 0; !rc && d->kind && i < d->base->n_kinds; i++)
		if (crd_builtin_is_first(d->base, i) && registry_batch_room(b) > 0)
			rc = seed(b, i, reterr);
	return rc;
}
