#include "kinds/pod_affinity.h"

#include "kinds/label_selector_rules.h"
#include "kinds/refuse.h"

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void check_selectors(const struct cJSON *of, const char *path, struct field_errors *errors)
{
	static const char *const selectors[] = {"labelSelector", "namespaceSelector"};
	char below[REFUSE_PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(selectors); i++) {
		(void)snprintf(below, sizeof(below), "%.400s.%s", path, selectors[i]);
		label_selector_rules_check(json_get(of, selectors[i]), below, errors);
	}
}

static void check_terms(const struct cJSON *affinity, const char *path, struct field_errors *errors)
{
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	json_foreach (json_get(affinity, REQUIRED), term) {
		(void)snprintf(below, sizeof(below), "%.380s." REQUIRED "[%zu]", path, i++);
		check_selectors(term, below, errors);
	}
	i = 0;
	json_foreach (json_get(affinity, PREFERRED), weighted) {
		(void)snprintf(below, sizeof(below), "%.360s." PREFERRED "[%zu].podAffinityTerm",
			       path, i++);
		check_selectors(json_get(weighted, "podAffinityTerm"), below, errors);
	}
}

void pod_affinity_check(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
	char below[REFUSE_PATH_MAX];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		(void)snprintf(below, sizeof(below), "%.320s.affinity.%s", path, kinds[i]);
		check_terms(json_path(spec, "affinity", kinds[i], NULL), below, errors);
	}
	json_foreach (json_get(spec, "topologySpreadConstraints"), constraint) {
		(void)snprintf(below, sizeof(below), "%.320s.topologySpreadConstraints[%zu]", path,
			       n++);
		check_selectors(constraint, below, errors);
	}
}
