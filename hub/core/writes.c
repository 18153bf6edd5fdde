/* The core's own writes into the batch under way (state.h). */
#include "core/state.h"

#include "base/json.h"

#include <errno.h>

int core_put(struct core *c, const struct kind *kind, struct span ns, struct span name,
	     struct object_draft *take_draft)
{
	int r = registry_put(c->batch, kind, ns, name, take_draft);

	if (r < 0 && r != -EINPROGRESS)
		log_error(c->log, "object not written", "kind=%s name=%.*s/%.*s errno=%d",
			  kind->kind, SPAN_ARGS(ns), SPAN_ARGS(name), -r);
	return r;
}

struct managed_write core_manager(const struct core *c, const struct kind *kind)
{
	return (struct managed_write){.kinds = c->kinds,
				      .kind = kind,
				      .manager = CORE_MANAGER,
				      .subresource = "",
				      .now = c->now};
}

int core_splice_status(const struct core *c, const struct kind *kind, const struct store_object *o,
		       struct span status, bool finished, struct object_draft *ret,
		       struct err *reterr)
{
	struct managed_write by = core_manager(c, kind);
	int r = object_draft_splice_status(o, status, finished, ret, reterr);

	if (r == 0)
		managed_draft_status(&by, o, ret);
	return r;
}

void core_delete(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	int r = registry_delete(c->batch, kind, ns, name, PROPAGATE_BACKGROUND);

	if (r < 0 && r != -ENOENT)
		log_error(c->log, "object not deleted", "kind=%s name=%.*s/%.*s errno=%d",
			  kind->kind, SPAN_ARGS(ns), SPAN_ARGS(name), -r);
}

bool core_has_finalizer(const struct store_object *o, const char *finalizer)
{
	struct span list, value;

	if (json_text_path(o->json, &list, "metadata", "finalizers", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &value);)
		if (span_is(json_text_plain(value), finalizer))
			return true;
	return false;
}

bool core_has_hub_finalizer(const struct store_object *o)
{
	return core_has_finalizer(o, OBJECT_HUB_FINALIZER);
}

static size_t n_finalizers(const struct store_object *o)
{
	struct span list, value;
	size_t n = 0;

	if (json_text_path(o->json, &list, "metadata", "finalizers", NULL) == 0 &&
	    json_text_type(list) == JSON_ARRAY)
		for (size_t pos = 0; json_text_next(list, &pos, NULL, &value);)
			n++;
	return n;
}

void core_remove_finalizer(struct core *c, const struct kind *kind, const struct store_object *o,
			   const char *finalizer)
{
	auto_json *tree = NULL;
	struct object_draft draft;

	if (!core_has_finalizer(o, finalizer))
		return;
	if (n_finalizers(o) == 1) {
		core_delete(c, kind, o->key.ns, o->key.name);
		return;
	}
	if (object_tree(o, &tree, NULL) < 0)
		return;
	struct cJSON *list = json_path(tree, "metadata", "finalizers", NULL);
	json_foreach (list, f) {
		if (json_value_str(f) && strcmp(json_value_str(f), finalizer) == 0) {
			json_remove_child(list, f);
			break;
		}
	}
	if (object_draft_from_tree(kind, tree, &draft, NULL) == 0)
		(void)core_put(c, kind, o->key.ns, o->key.name, &draft);
}

void core_remove_hub_finalizer(struct core *c, const struct kind *kind,
			       const struct store_object *o)
{
	if (!(o->flags & OBJECT_FOREIGN_FINALIZERS))
		core_delete(c, kind, o->key.ns, o->key.name);
	else
		core_remove_finalizer(c, kind, o, OBJECT_HUB_FINALIZER);
}
