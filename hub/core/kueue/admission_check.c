#include "core/kueue/admission_check.h"

#include "base/json.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/provisioning_config.h"

void admission_check_free(struct admission_check *a)
{
	if (!a)
		return;
	free(a->controller);
	free(a->config);
	free(a);
}

static bool is_active(struct span json)
{
	struct span list, one, type, status;

	if (json_text_path(json, &list, "status", "conditions", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
		if (json_text_member(one, "type", &type) == 0 && span_is(type, "\"Active\"") &&
		    json_text_member(one, "status", &status) == 0)
			return span_is(status, "\"True\"");
	return false;
}

static bool is_same(const char *a, const char *b)
{
	return !a || !b ? a == b : strcmp(a, b) == 0;
}

void admission_check_observe(struct core *c, const struct store_object *o)
{
	struct admission_check *a = xcalloc(1, sizeof(*a));
	struct span controller;

	if (json_text_path(o->json, &controller, "spec", "controllerName", NULL) == 0) {
		controller = json_text_plain(controller);
		a->controller = xstrndup(controller.ptr, controller.len);
	}
	if (json_text_path(o->json, &controller, "spec", "parameters", "name", NULL) == 0) {
		controller = json_text_plain(controller);
		a->config = xstrndup(controller.ptr, controller.len);
	}
	a->active = is_active(o->json);
	provisioning_config_changed(c);
	struct admission_check *was = map_put(&c->kueue->checks, o->key.name, a);
	bool same = was && was->active == a->active && is_same(was->config, a->config);
	admission_check_free(was);
	if (!same)
		cluster_queue_review_all(c);
}

void admission_check_forget(struct core *c, struct span name)
{
	admission_check_free(map_remove(&c->kueue->checks, name));
	provisioning_config_changed(c);
	cluster_queue_review_all(c);
}
