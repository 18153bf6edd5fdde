#include "registry/edit.h"
#include "base/json.h"
#include "registry/registry_priv.h"

#define GRACE_SECONDS 30 /* what a pod's terminationGracePeriodSeconds is by default */

static int put_tree(struct registry_batch *b, const struct kind *k, const struct store_object *o,
		    const struct cJSON *tree)
{
	struct object_draft d;
	struct err why = ERR_INIT;
	int rc = object_draft_from_tree(k, tree, &d, &why);
	if (rc) {
		batch_break(b, &why);
		return rc;
	}
	return registry_put(b, k, o->key.ns, o->key.name, &d);
}

static int parse(struct registry_batch *b, const struct store_object *o, struct cJSON **ret,
		 struct cJSON **ret_meta)
{
	struct err why = ERR_INIT;
	int rc = object_tree(o, ret, &why);
	if (rc) {
		batch_break(b, &why);
		return rc;
	}
	*ret_meta = json_ensure_object(*ret, "metadata");
	return 0;
}

static bool list_has(const struct cJSON *list, const char *s)
{
	json_foreach (list, it) {
		const char *v = json_value_str(it);
		if (v && strcmp(v, s) == 0)
			return true;
	}
	return false;
}

static void add_finalizer(struct cJSON *meta, const char *finalizer)
{
	struct cJSON *list = json_get(meta, "finalizers");
	if (list_has(list, finalizer))
		return;
	if (!json_is(list, JSON_ARRAY)) {
		list = json_array();
		json_set(meta, "finalizers", list);
	}
	json_append(list, json_new_str(finalizer));
}

int edit_begin_deletion(struct registry_batch *b, const struct kind *k,
			const struct store_object *o, const char *finalizer)
{
	auto_json *tree = NULL;
	struct cJSON *meta;
	char time[CLOCK_TEXT_MAX];
	int64_t generation;
	int rc = parse(b, o, &tree, &meta);
	if (rc)
		return rc;
	if (!json_str(meta, "deletionTimestamp")) {
		int64_t grace = registry_in_use(b->reg, k, o) ? GRACE_SECONDS : 0;
		usec at = registry_now(b) + grace * USEC_PER_SEC;
		json_set_str(meta, "deletionTimestamp", clock_format(at, time));
		if (k != b->reg->namespace_kind) /* which goes by its own rules */
			json_set_int(meta, "deletionGracePeriodSeconds", grace);
		if (json_int64(meta, "generation", &generation) == 0)
			json_set_int(meta, "generation", generation + 1);
	}
	if (finalizer)
		add_finalizer(meta, finalizer);
	if (k == b->reg->namespace_kind)
		json_set_str(json_ensure_object(tree, "status"), "phase", "Terminating");
	return put_tree(b, k, o, tree);
}

int edit_drop_finalizer(struct registry_batch *b, const struct kind *k,
			const struct store_object *o, const char *finalizer)
{
	auto_json *tree = NULL;
	struct cJSON *meta;
	int rc = parse(b, o, &tree, &meta);
	if (rc)
		return rc;
	struct cJSON *list = json_get(meta, "finalizers");
	for (struct cJSON *it = json_first(list), *next; it; it = next) {
		const char *v = json_value_str(it);
		next = json_next(it);
		if (v && strcmp(v, finalizer) == 0)
			json_remove_child(list, it);
	}
	if (json_len(list) > 0)
		return put_tree(b, k, o, tree);
	if ((o->flags & OBJECT_DELETING) && k != b->reg->namespace_kind)
		return registry_delete(b, k, o->key.ns, o->key.name, PROPAGATE_BACKGROUND);
	json_remove(meta, "finalizers");
	return put_tree(b, k, o, tree);
}

int edit_drop_owner(struct registry_batch *b, const struct kind *k, const struct store_object *o,
		    const uint8_t uid[STORE_UID_LEN])
{
	auto_json *tree = NULL;
	struct cJSON *meta;
	char text[OBJECT_UID_TEXT];
	int rc = parse(b, o, &tree, &meta);
	if (rc)
		return rc;
	object_uid_format(uid, text);
	struct cJSON *list = json_get(meta, "ownerReferences");
	for (struct cJSON *it = json_first(list), *next; it; it = next) {
		const char *v = json_str(it, "uid");
		next = json_next(it);
		if (v && strcmp(v, text) == 0)
			json_remove_child(list, it);
	}
	if (json_len(list) == 0)
		json_remove(meta, "ownerReferences");
	return put_tree(b, k, o, tree);
}

int edit_namespace_emptied(struct registry_batch *b, const struct kind *k,
			   const struct store_object *o, bool *ret_others)
{
	auto_json *tree = NULL;
	struct cJSON *meta;
	bool changed = false;
	*ret_others = false;
	int rc = parse(b, o, &tree, &meta);
	if (rc)
		return rc;
	struct cJSON *list = json_path(tree, "spec", "finalizers", NULL);
	for (struct cJSON *it = json_first(list), *next; it; it = next) {
		const char *v = json_value_str(it);
		next = json_next(it);
		if (v && strcmp(v, "kubernetes") != 0) {
			*ret_others = true;
		} else {
			json_remove_child(list, it);
			changed = true;
		}
	}
	return *ret_others && changed ? put_tree(b, k, o, tree) : 0;
}

int edit_namespace_status(struct registry_batch *b, const struct kind *k,
			  const struct store_object *o, const struct namespace_tally *t,
			  bool *ret_changed)
{
	auto_json *tree = NULL, *before = NULL;
	struct cJSON *meta;
	int rc = parse(b, o, &tree, &meta);
	if (rc)
		return rc;
	before = json_dup(tree);
	*ret_changed = namespace_status_set(tree, t, registry_now(b));
	if (!*ret_changed)
		return 0;
	registry_record(b, k, "status", before, tree);
	return put_tree(b, k, o, tree);
}

int edit_namespace_birth(const struct kind *k, struct object_draft *draft, struct span name,
			 struct err *reterr)
{
	struct store_object o = {.extents = draft->extents,
				 .json = span_make(draft->json, draft->len)};
	memcpy(o.uid, draft->uid, STORE_UID_LEN);
	auto_json *tree = NULL;
	int rc = object_tree(&o, &tree, reterr);
	if (rc)
		return rc;
	struct cJSON *labels = json_ensure_object(json_ensure_object(tree, "metadata"), "labels");
	struct cJSON *spec = json_ensure_object(tree, "spec");
	struct cJSON *status = json_ensure_object(tree, "status");
	if (!labels || !spec || !status)
		return err_set(reterr, ERR_INVALID, "metadata.labels, spec and status are objects");
	json_set(labels, "kubernetes.io/metadata.name", json_new_span(name));
	struct cJSON *finalizers = json_get(spec, "finalizers");
	if (!json_is(finalizers, JSON_ARRAY)) {
		finalizers = json_array();
		json_set(spec, "finalizers", finalizers);
	}
	if (!list_has(finalizers, "kubernetes"))
		json_append(finalizers, json_new_str("kubernetes"));
	json_set_str(status, "phase", "Active");
	struct object_draft made;
	rc = object_draft_from_tree(k, tree, &made, reterr);
	if (rc)
		return rc;
	object_draft_done(draft);
	*draft = made;
	return 0;
}
