#include "kinds/taints.h"

#include "base/map.h"
#include "kinds/refuse.h"
#include "kube/names.h"

#define EFFECTS	     "'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
#define EFFECTS_RULE "supported taint effect values: " EFFECTS
#define NO_KEY_RULE                                                                                \
	"operator must be Exists when 'key' is empty, which means 'match all values and all keys'"
#define SECONDS_RULE  "effect must be 'NoExecute' when 'tolerationSeconds' is set"
#define OPERATOR_RULE "supported toleration values: 'Equal'(default), 'Exists'"
#define VALUE_RULE    "a value must be empty when 'operator' is 'Exists'"

static void check_key(const char *key, const char *path, size_t i, struct field_errors *errors)
{
	if (key && !names_is_qualified(span_of(key)))
		refuse_text(errors, FIELD_INVALID, key, names_qualified_rule(span_of(key)),
			    "%s[%zu].key", path, i);
}

void taints_check(const struct cJSON *taints, const char *path, struct field_errors *errors)
{
	struct map seen = MAP_INIT;
	size_t i = 0;

	json_foreach (taints, t) {
		const char *key = json_str(t, "key"), *effect = json_str(t, "effect");
		const char *value = json_str(t, "value");
		auto_buf both = BUF_INIT;
		check_key(key, path, i, errors);
		if (value && !names_is_label_value(span_of(value)))
			refuse_text(errors, FIELD_INVALID, value,
				    names_label_value_rule(span_of(value)), "%s[%zu].value", path,
				    i);
		buf_addf(&both, "%s:%s", key ? key : "", effect ? effect : "");
		if (map_put(&seen, buf_span(&both), &seen))
			refuse_text(errors, FIELD_DUPLICATE, both.ptr,
				    "taints must be unique by key and effect pair", "%s[%zu]", path,
				    i);
		i++;
	}
	map_done(&seen);
}

static bool is_effect(const char *s)
{
	return strcmp(s, "NoSchedule") == 0 || strcmp(s, "PreferNoSchedule") == 0 ||
	       strcmp(s, "NoExecute") == 0;
}

void taints_check_flavor(const struct cJSON *taints, const char *path, struct field_errors *errors)
{
	json_foreach (taints, t) {
		const char *effect = json_str(t, "effect");
		if (effect && is_effect(effect))
			continue;
		refuse(errors, FIELD_INVALID, NULL, EFFECTS_RULE, "%s", path);
		break;
	}
	taints_check(taints, path, errors);
}

enum broken { NO_KEY, SECONDS, OPERATOR, VALUE, EFFECT, BROKEN_MAX };

static void judge(const struct cJSON *t, bool broken[BROKEN_MAX])
{
	const char *how = json_str(t, "operator"), *effect = json_str(t, "effect");
	bool exists = how && strcmp(how, "Exists") == 0;

	broken[NO_KEY] |= !json_get(t, "key") && !exists;
	broken[SECONDS] |=
	    json_get(t, "tolerationSeconds") && (!effect || strcmp(effect, "NoExecute") != 0);
	broken[OPERATOR] |= how && !exists && strcmp(how, "Equal") != 0;
	broken[VALUE] |= exists && json_get(t, "value");
	broken[EFFECT] |= effect && !is_effect(effect);
}

void taints_check_tolerations(const struct cJSON *tolerations, const char *path,
			      struct field_errors *errors)
{
	static const char *const rules[BROKEN_MAX] = {NO_KEY_RULE, SECONDS_RULE, OPERATOR_RULE,
						      VALUE_RULE, EFFECTS_RULE};
	bool broken[BROKEN_MAX] = {false};
	size_t i = 0;

	json_foreach (tolerations, t)
		judge(t, broken);
	for (int rule = 0; rule < BROKEN_MAX; rule++)
		if (broken[rule])
			refuse(errors, FIELD_INVALID, NULL, rules[rule], "%s", path);
	json_foreach (tolerations, t) {
		const char *key = json_str(t, "key");
		check_key(key && key[0] ? key : NULL, path, i++, errors);
	}
}
