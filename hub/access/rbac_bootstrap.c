#include "access/rbac_bootstrap.h"

#include "access/rbac_rule.h"
#include "base/json.h"

#define AUTOUPDATE "rbac.authorization.kubernetes.io/autoupdate"

struct cJSON *rbac_bootstrap_tree(void)
{
	struct cJSON *tree = NULL;
	if (json_parse(span_of(rbac_bootstrap_json), NULL, &tree, NULL) < 0)
		abort(); /* compiled in */
	return tree;
}

/* Members that `have` lacks. */
static bool add_members(const struct cJSON *want, struct cJSON *have, const char *key)
{
	const struct cJSON *from = json_path(want, "metadata", key, NULL);
	struct cJSON *to;
	bool changed = false;
	if (!json_len(from))
		return false;
	to = json_ensure_object(json_get(have, "metadata"), key);
	json_foreach (from, m)
		if (to && !json_get(to, json_key(m))) {
			json_set(to, json_key(m), json_dup(m));
			changed = true;
		}
	return changed;
}

static struct cJSON *ensure_array(struct cJSON *object, const char *key)
{
	if (!json_is(json_get(object, key), JSON_ARRAY))
		json_set(object, key, json_array());
	return json_get(object, key);
}

/* Elements that `have` lacks. */
static bool add_elements(const struct cJSON *want, struct cJSON *have, const char *key)
{
	bool changed = false;
	json_foreach (json_get(want, key), w) {
		struct cJSON *to = ensure_array(have, key);
		bool there = false;
		json_foreach (to, h)
			there = there || json_equal(w, h);
		if (!there) {
			json_append(to, json_dup(w));
			changed = true;
		}
	}
	return changed;
}

static bool add_rules(const struct cJSON *want, struct cJSON *have)
{
	auto_arena mem = ARENA_INIT;
	struct rbac_rule *wanted, *held;
	size_t n_wanted, n_held, i = 0;
	bool changed = false;
	rbac_rules_read(json_get(want, "rules"), &mem, &wanted, &n_wanted);
	rbac_rules_read(json_get(have, "rules"), &mem, &held, &n_held);
	json_foreach (json_get(want, "rules"), rule) {
		if (i < n_wanted && !rbac_rules_cover(held, n_held, &wanted[i], 1, NULL)) {
			json_append(ensure_array(have, "rules"), json_dup(rule));
			changed = true;
		}
		i++;
	}
	return changed;
}

bool rbac_bootstrap_reconcile(const struct cJSON *want, struct cJSON *have)
{
	const char *annotation =
	    json_value_str(json_path(have, "metadata", "annotations", AUTOUPDATE, NULL));
	const struct cJSON *ref = json_get(want, "roleRef");
	const struct cJSON *aggregation = json_get(want, "aggregationRule");
	bool changed;
	if (annotation && strcmp(annotation, "false") == 0)
		return false;
	if (ref && !json_equal(ref, json_get(have, "roleRef")))
		return false;
	changed = add_members(want, have, "labels");
	changed = add_members(want, have, "annotations") || changed;
	if (ref)
		return add_elements(want, have, "subjects") || changed;
	if (!aggregation)
		return add_rules(want, have) || changed;
	if (!json_is(json_get(have, "aggregationRule"), JSON_OBJECT))
		json_set(have, "aggregationRule", json_object());
	return add_elements(aggregation, json_get(have, "aggregationRule"),
			    "clusterRoleSelectors") ||
	       changed;
}
