#include "core/kueue/active_condition.h"

#include "base/json.h"
#include "core/object_writer.h"

static bool stands(const struct cJSON *tree, const char *status, const char *reason,
		   const char *message)
{
	json_foreach (json_path(tree, "status", "conditions", NULL), k) {
		const char *type = json_str(k, "type"), *s = json_str(k, "status"),
			   *r = json_str(k, "reason"), *m = json_str(k, "message");
		if (type && strcmp(type, "Active") == 0)
			return s && r && m && strcmp(s, status) == 0 && strcmp(r, reason) == 0 &&
			       strcmp(m, message) == 0;
	}
	return false;
}

void active_condition_write(struct core *c, const struct kind *kind, struct span name, bool active,
			    const char *reason, const char *message)
{
	struct object_draft draft;
	struct store_object o;
	auto_json *tree = NULL;
	auto_buf status = BUF_INIT;
	char when[CLOCK_TEXT_MAX];

	if (registry_get(c->batch, kind, SPAN(""), name, &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0 ||
	    stands(tree, active ? "True" : "False", reason, message))
		return;
	buf_addf(&status,
		 "{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"%s\","
		 "\"message\":",
		 active ? "True" : "False", reason);
	buf_add_json_str(&status, span_of(message));
	buf_addf(&status, ",\"lastTransitionTime\":\"%s\"}]}", clock_format(c->now, when));
	if (core_splice_status(c, kind, &o, buf_span(&status), false, &draft, NULL) == 0)
		(void)core_put(c, kind, SPAN(""), name, &draft);
}
