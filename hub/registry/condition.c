#include "registry/condition.h"

#include "base/json.h"

static bool is_word(const struct cJSON *c, const char *key, const char *want)
{
	const char *s = json_str(c, key);
	return s && strcmp(s, want) == 0;
}

bool condition_set(struct cJSON *status, const char *type, bool is, const char *reason,
		   const char *message, usec now)
{
	struct cJSON *list = json_get(status, "conditions"), *c = NULL;
	const char *value = is ? "True" : "False";
	char time[CLOCK_TEXT_MAX];

	if (!json_is(list, JSON_ARRAY)) {
		list = json_array();
		json_set(status, "conditions", list);
	}
	json_foreach (list, it)
		if (is_word(it, "type", type))
			c = it;
	if (c && is_word(c, "status", value) && is_word(c, "reason", reason) &&
	    is_word(c, "message", message))
		return false;
	if (!c) {
		c = json_object();
		json_append(list, c);
	}
	if (!is_word(c, "status", value))
		json_set_str(c, "lastTransitionTime", clock_format(now, time));
	json_set_str(c, "message", message);
	json_set_str(c, "reason", reason);
	json_set_str(c, "status", value);
	json_set_str(c, "type", type);
	return true;
}
