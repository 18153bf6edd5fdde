#include "kinds/topology_assignment.h"

#include "kinds/refuse.h"

/* ---- rules ---- */

static void check_values(const struct cJSON *values, const char *path, struct field_errors *errors)
{
	const struct cJSON *one = json_get(values, "universalValue");

	if (!json_get(values, "roots") == !one)
		refuse(errors, FIELD_INVALID, NULL,
		       "Exactly one of roots, universalValue must be set", "%s", path);
	if (one && (json_get(values, "prefix") || json_get(values, "suffix")))
		refuse(errors, FIELD_INVALID, NULL,
		       "universalValue cannot be set together with prefix or suffix", "%s", path);
}

static bool has_length(const struct cJSON *list, int64_t n)
{
	return !list || (n >= 0 && json_len(list) == (size_t)n);
}

static void check_slice(const struct cJSON *slice, const char *path, struct field_errors *errors)
{
	const struct cJSON *counts = json_get(slice, "podCounts");
	char below[REFUSE_PATH_MAX];
	bool fits = true;
	int64_t n = -1;
	size_t i = 0;

	(void)json_int64(slice, "domainCount", &n);
	if (!has_length(counts, n))
		refuse(errors, FIELD_INVALID, NULL,
		       "podCounts must have length equal to domainCount", "%s", path);
	if (!counts == !json_get(slice, "universalPodCount"))
		refuse(errors, FIELD_INVALID, NULL,
		       "Exactly one of podCounts, universalPodCount must be set", "%s", path);
	json_foreach (json_get(slice, "valuesPerLevel"), v)
		fits &= has_length(json_get(v, "roots"), n);
	if (!fits)
		refuse(errors, FIELD_INVALID, NULL,
		       "roots, if set, must have length equal to domainCount of this "
		       "TopologyAssignmentSlice",
		       "%s", path);
	json_foreach (json_get(slice, "valuesPerLevel"), v) {
		(void)snprintf(below, sizeof(below), "%.400s.valuesPerLevel[%zu]", path, i++);
		check_values(v, below, errors);
	}
}

void topology_assignment_check(const struct cJSON *assignment, const char *path,
			       struct field_errors *errors)
{
	size_t levels = json_len(json_get(assignment, "levels")), i = 0;
	char below[REFUSE_PATH_MAX];
	bool fits = true;

	json_foreach (json_get(assignment, "slices"), s)
		fits &= json_len(json_get(s, "valuesPerLevel")) == levels;
	if (!fits)
		refuse(errors, FIELD_INVALID, NULL,
		       "valuesPerLevel must have the same length as the number of levels in this "
		       "TopologyAssignment",
		       "%s", path);
	json_foreach (json_get(assignment, "slices"), s) {
		(void)snprintf(below, sizeof(below), "%.400s.slices[%zu]", path, i++);
		check_slice(s, below, errors);
	}
}
