#include "core/kueue/active_condition.h"

#include "base/json.h"
#include "core/object_writer.h"
#include <inttypes.h>

/* *ret_since: the time that stays with the status, NULL when that changes. */
static bool stands(const struct cJSON *tree, const char *status, const char *reason,
		   const char *message, const char **ret_since)
{
	*ret_since = NULL;
	json_foreach (json_path(tree, "status", "conditions", NULL), k) {
		const char *type = json_str(k, "type"), *s = json_str(k, "status"),
			   *r = json_str(k, "reason"), *m = json_str(k, "message");
		if (!type || strcmp(type, "Active") != 0)
			continue;
		bool same = s && strcmp(s, status) == 0;
		*ret_since = same ? json_str(k, "lastTransitionTime") : NULL;
		return same && r && m && strcmp(r, reason) == 0 && strcmp(m, message) == 0;
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
	const char *since;

	if (registry_get(c->batch, kind, SPAN(""), name, &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0 ||
	    stands(tree, active ? "True" : "False", reason, message, &since))
		return;
	buf_addf(&status,
		 "{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"%s\","
		 "\"observedGeneration\":%" PRId64 ",\"message\":",
		 active ? "True" : "False", reason, object_generation(&o));
	buf_add_json_str(&status, span_of(message));
	buf_add_str(&status, ",\"lastTransitionTime\":");
	buf_add_json_str(&status, span_of(since ? since : clock_format(c->now, when)));
	buf_add_str(&status, "}]}");
	if (core_splice_status(c, kind, &o, buf_span(&status), false, &draft, NULL) == 0)
		(void)core_put(c, kind, SPAN(""), name, &draft);
}
