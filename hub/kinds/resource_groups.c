#include "kinds/resource_groups.h"

#include "base/json.h"
#include "base/map.h"
#include "kinds/refuse.h"
#include "kube/decimal.h"
#include "kube/names.h"
#include "kube/quantity.h"

#include <errno.h>

#define NEGATIVE     "must be greater than or equal to 0"
#define MAX_FLAVORS  256 /* of all groups; the same for covered resources */
#define MAX_OF_GROUP 512 /* pairs of flavor and resource */
#define A_FEW_BYTES  (1 << 20)

void resource_groups_default(struct cJSON *groups, struct buf *warnings)
{
	size_t i = 0;

	json_foreach (groups, g) {
		const struct cJSON *first = json_first(json_get(g, "flavors"));
		size_t at = i++;
		if (!json_is(g, JSON_OBJECT) || json_len(json_get(g, "coveredResources")) ||
		    !json_first(json_get(first, "resources")))
			continue;
		struct cJSON *covered = json_array();
		json_foreach (json_get(first, "resources"), r)
			json_append(covered, json_new_str(json_str(r, "name")));
		json_set(g, "coveredResources", covered);
		refuse_warn(warnings,
			    "spec.resourceGroups[%zu].coveredResources: missing, taken from the "
			    "resources of the group's first flavor",
			    at);
	}
}

/* ---- amounts ---- */

/* Of two quantities, exact to a thousandth where both fit, else to a unit. */
static int quantity_cmp(const struct cJSON *a, const struct cJSON *b)
{
	int64_t x = 0, y = 0;
	unsigned flags = QUANTITY_NEGATIVE | QUANTITY_MILLI;

	if (quantity_from_node(a, flags, &x) < 0 || quantity_from_node(b, flags, &y) < 0) {
		if (quantity_from_node(a, QUANTITY_NEGATIVE, &x) < 0 ||
		    quantity_from_node(b, QUANTITY_NEGATIVE, &y) < 0)
			return 0;
	}
	return x < y ? -1 : x > y;
}

static bool is_negative(const struct cJSON *quantity)
{
	int64_t v;
	return quantity_from_node(quantity, QUANTITY_NEGATIVE, &v) == 0 && v < 0;
}

/* Upstream shows quantities as texts. */
static void refuse_quantity(struct field_errors *errors, const struct cJSON *quantity,
			    const char *words, const char *path, const char *field)
{
	struct span number = json_number_text(quantity);
	char text[64];

	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(number));
	refuse_text(errors, FIELD_INVALID, number.len ? text : json_value_str(quantity), words,
		    "%s%s", path, field);
}

/* ---- a quota ---- */

/* 64 bytes of memory are a forgotten unit. */
static void warn_bytes(const char *resource, const struct cJSON *nominal, const char *path,
		       struct buf *warnings)
{
	int64_t v;

	if (!resource ||
	    (strcmp(resource, "memory") != 0 && strcmp(resource, "ephemeral-storage") != 0))
		return;
	if (quantity_from_node(nominal, QUANTITY_WHOLE, &v) == 0 && v > 0 && v < A_FEW_BYTES)
		refuse_warn(warnings, "%s.nominalQuota: %lld bytes of %s; is a unit missing?", path,
			    (long long)v, resource);
}

static void check_parent(const struct cJSON *limit, const struct resource_groups_rules *rules,
			 const char *path, const char *field, struct field_errors *errors)
{
	char words[64];

	if (rules->has_parent)
		return;
	(void)snprintf(words, sizeof(words), "must be nil when %s is empty", rules->parent);
	refuse_quantity(errors, limit, words, path, field);
}

/* Kueue takes what does not fit 64 bits for no limit; here it is a mistake. */
static void check_amount(const struct cJSON *quantity, const char *path, const char *field,
			 struct field_errors *errors)
{
	int64_t v;

	if (quantity_from_node(quantity, QUANTITY_NEGATIVE, &v) == -ERANGE)
		refuse_quantity(errors, quantity, quantity_error_text(-ERANGE), path, field);
	if (is_negative(quantity))
		refuse_quantity(errors, quantity, NEGATIVE, path, field);
}

static void check_quota(const struct cJSON *quota, const struct resource_groups_rules *rules,
			const char *path, struct field_errors *errors)
{
	const struct cJSON *nominal = json_get(quota, "nominalQuota");
	const struct cJSON *borrow = json_get(quota, "borrowingLimit");
	const struct cJSON *lend = json_get(quota, "lendingLimit");

	check_amount(nominal, path, ".nominalQuota", errors);
	if (borrow) {
		check_parent(borrow, rules, path, ".borrowingLimit", errors);
		check_amount(borrow, path, ".borrowingLimit", errors);
	}
	if (!lend)
		return;
	check_amount(lend, path, ".lendingLimit", errors);
	check_parent(lend, rules, path, ".lendingLimit", errors);
	if (rules->lend_own_only && quantity_cmp(lend, nominal) > 0)
		refuse_quantity(errors, lend, "must be less than or equal to the nominalQuota",
				path, ".lendingLimit");
}

/* ---- groups ---- */

static void check_flavor(const struct cJSON *flavor, const struct cJSON *covered,
			 const struct resource_groups_rules *rules, const char *path,
			 struct buf *warnings, struct field_errors *errors)
{
	const struct cJSON *name = json_first(covered);
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	json_foreach (json_get(flavor, "resources"), quota) {
		const char *resource = json_str(quota, "name");
		if (!name)
			break;
		(void)snprintf(below, sizeof(below), "%.400s.resources[%zu]", path, i++);
		if (resource && json_value_str(name) && strcmp(resource, json_value_str(name)) != 0)
			refuse_text(errors, FIELD_INVALID, resource,
				    "must match the name in coveredResources", "%s.name", below);
		check_quota(quota, rules, below, errors);
		warn_bytes(resource, json_get(quota, "nominalQuota"), below, warnings);
		name = json_next(name);
	}
}

static void check_covered(const struct cJSON *covered, size_t group, struct map *resources,
			  struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (covered, c) {
		const char *name = json_value_str(c);
		if (name && !names_is_qualified(span_of(name)))
			refuse_text(errors, FIELD_INVALID, name,
				    names_qualified_rule(span_of(name)),
				    "spec.resourceGroups[%zu].coveredResources[%zu]", group, i);
		if (name && map_put(resources, span_of(name), resources))
			refuse_text(errors, FIELD_DUPLICATE, name, "",
				    "spec.resourceGroups[%zu].coveredResources[%zu]", group, i);
		i++;
	}
}

/* Each must have as many resources as are covered: one error for the group. */
static void check_lengths(const struct cJSON *group, size_t i, struct field_errors *errors)
{
	size_t covered = json_len(json_get(group, "coveredResources")), all = 0;
	bool differs = false;

	if (!covered)
		refuse(errors, FIELD_REQUIRED, NULL, "",
		       "spec.resourceGroups[%zu].coveredResources", i);
	json_foreach (json_get(group, "flavors"), f) {
		size_t n = json_len(json_get(f, "resources"));
		all += n;
		differs |= covered && n != covered;
	}
	if (differs)
		refuse(errors, FIELD_INVALID, NULL,
		       "flavors must have the same number of resources as the coveredResources",
		       "spec.resourceGroups[%zu]", i);
	if (all > MAX_OF_GROUP) {
		auto_json *n = json_new_int((int64_t)all);
		char words[128];
		(void)snprintf(words, sizeof(words),
			       "number of flavor-resource combinations in a resourceGroup must be "
			       "≤ %d, got %zu",
			       MAX_OF_GROUP, all);
		refuse(errors, FIELD_INVALID, n, words, "spec.resourceGroups[%zu]", i);
	}
}

static void check_total(const char *what, size_t total, struct field_errors *errors)
{
	auto_json *n = json_new_int((int64_t)total);
	char words[128];

	if (total <= MAX_FLAVORS)
		return;
	(void)snprintf(words, sizeof(words),
		       "total number of %s across all resourceGroups must be ≤ %d, got %zu", what,
		       MAX_FLAVORS, total);
	refuse(errors, FIELD_INVALID, n, words, "spec.resourceGroups");
}

void resource_groups_check(const struct cJSON *groups, const struct resource_groups_rules *rules,
			   struct buf *warnings, struct field_errors *errors)
{
	struct map resources = MAP_INIT, flavors = MAP_INIT;
	size_t i = 0, n_flavors = 0, n_resources = 0;
	char path[REFUSE_PATH_MAX];

	json_foreach (groups, g) {
		const struct cJSON *covered = json_get(g, "coveredResources");
		size_t j = 0;
		check_lengths(g, i, errors);
		check_covered(covered, i, &resources, errors);
		json_foreach (json_get(g, "flavors"), f) {
			const char *name = json_str(f, "name");
			(void)snprintf(path, sizeof(path), "spec.resourceGroups[%zu].flavors[%zu]",
				       i, j++);
			check_flavor(f, covered, rules, path, warnings, errors);
			/* Twice in one group is an error of the list already. */
			const void *other = name ? map_put(&flavors, span_of(name), g) : NULL;
			if (other && other != g)
				refuse_text(errors, FIELD_DUPLICATE, name, "", "%s.name", path);
		}
		n_flavors += j;
		n_resources += json_len(covered);
		i++;
	}
	map_done(&resources);
	map_done(&flavors);
	check_total("flavors", n_flavors, errors);
	check_total("covered resources", n_resources, errors);
}

/* ---- fair sharing ---- */

/* Exactly, as decimal: one thousandth is too coarse here. */
static struct decimal exact(const struct cJSON *quantity)
{
	static const struct {
		char suffix;
		int exponent;
	} small[] = {{'n', -9}, {'u', -6}, {'m', -3}};
	const char *s = json_value_str(quantity);
	struct span text = s ? span_of(s) : json_number_text(quantity);
	struct decimal d;
	int exponent = 0;

	for (size_t i = 0; text.len && i < ARRAY_LEN(small); i++) {
		if (text.ptr[text.len - 1] != small[i].suffix)
			continue;
		exponent = small[i].exponent;
		text.len--;
		break;
	}
	d = decimal_parse(text);
	d.exponent += exponent;
	return d;
}

void resource_groups_check_sharing(const struct cJSON *fair_sharing, struct field_errors *errors)
{
	static const struct decimal least = {.digits = 1, .exponent = -9};
	const struct cJSON *weight = json_get(fair_sharing, "weight");

	if (!weight)
		return;
	struct decimal d = exact(weight);
	if (is_negative(weight))
		refuse_quantity(errors, weight, NEGATIVE, "spec.fairSharing", "");
	else if (d.digits != 0 && decimal_cmp(d, least) <= 0)
		refuse_quantity(errors, weight, "When not 0, weight must be > 10e-9",
				"spec.fairSharing", "");
}
