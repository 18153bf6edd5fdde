#include "kinds/pod_set_equal.h"

#include "base/json.h"
#include "kube/quantity.h"

static bool is_empty(const struct cJSON *v)
{
	const char *text = json_value_str(v);

	return !v || json_is(v, JSON_NULL) || (text && !text[0]) ||
	       ((json_is(v, JSON_OBJECT) || json_is(v, JSON_ARRAY)) && !json_first(v));
}

static bool same_quantity(const struct cJSON *a, const struct cJSON *b)
{
	int64_t x, y;

	return quantity_from_node(a, QUANTITY_MILLI, &x) == 0 &&
	       quantity_from_node(b, QUANTITY_MILLI, &y) == 0 && x == y;
}

static bool same(const struct cJSON *a, const struct cJSON *b, bool quantities);

static bool same_members(const struct cJSON *a, const struct cJSON *b, bool quantities)
{
	json_foreach (a, m) {
		const char *key = json_key(m);
		bool below = quantities || strcmp(key, "resources") == 0;
		if (!same(m, json_get(b, key), below))
			return false;
	}
	json_foreach (b, m)
		if (!json_get(a, json_key(m)) && !is_empty(m))
			return false;
	return true;
}

static bool same_elements(const struct cJSON *a, const struct cJSON *b, bool quantities)
{
	const struct cJSON *y = json_first(b);

	json_foreach (a, x) {
		if (!y || !same(x, y, quantities))
			return false;
		y = json_next(y);
	}
	return !y;
}

static bool same(const struct cJSON *a, const struct cJSON *b, bool quantities)
{
	if (is_empty(a) || is_empty(b))
		return is_empty(a) && is_empty(b);
	if (json_is(a, JSON_OBJECT) && json_is(b, JSON_OBJECT))
		return same_members(a, b, quantities);
	if (json_is(a, JSON_ARRAY) && json_is(b, JSON_ARRAY))
		return same_elements(a, b, quantities);
	return json_equal(a, b) || (quantities && same_quantity(a, b));
}

static bool has_claim(const struct cJSON *list, const struct cJSON *claim)
{
	json_foreach (list, c)
		if (same(c, claim, false))
			return true;
	return false;
}

static bool same_claims(const struct cJSON *a, const struct cJSON *b)
{
	if (json_len(a) != json_len(b))
		return false;
	json_foreach (a, c)
		if (!has_claim(b, c))
			return false;
	return true;
}

bool pod_set_equal(const struct cJSON *a, const struct cJSON *b, bool tolerations_too)
{
	static const char *const compared[] = {"containers", "initContainers", "resources",
					       "tolerations"};
	const struct cJSON *x = json_get(a, "spec"), *y = json_get(b, "spec");

	for (size_t i = 0; i < ARRAY_LEN(compared) - !tolerations_too; i++)
		if (!same(json_get(x, compared[i]), json_get(y, compared[i]),
			  strcmp(compared[i], "resources") == 0))
			return false;
	return same_claims(json_get(x, "resourceClaims"), json_get(y, "resourceClaims"));
}

bool pod_set_equal_text(struct span a, struct span b, bool tolerations_too)
{
	auto_json *x = NULL;
	auto_json *y = NULL;

	if (span_eq(a, b))
		return true;
	return json_parse(a, NULL, &x, NULL) == 0 && json_parse(b, NULL, &y, NULL) == 0 &&
	       pod_set_equal(x, y, tolerations_too);
}
