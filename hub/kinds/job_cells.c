/* STATUS, COMPLETIONS, DURATION and the wide columns of batch/v1 Job (kubernetes-api.md 4.3). */
#include "base/json.h"
#include "kinds/cells.h"
#include "kinds/hooks.h"

static bool condition_true(const struct cJSON *object, const char *type)
{
	json_foreach (json_path(object, "status", "conditions", NULL), c) {
		const char *t = json_str(c, "type"), *s = json_str(c, "status");
		if (t && s && strcmp(t, type) == 0 && strcmp(s, "True") == 0)
			return true;
	}
	return false;
}

static const char *job_state(const struct cJSON *object)
{
	if (condition_true(object, "Complete"))
		return "Complete";
	if (condition_true(object, "Failed"))
		return "Failed";
	if (json_path(object, "metadata", "deletionTimestamp", NULL))
		return "Terminating";
	if (condition_true(object, "Suspended"))
		return "Suspended";
	if (condition_true(object, "FailureTarget"))
		return "FailureTarget";
	if (condition_true(object, "SuccessCriteriaMet"))
		return "SuccessCriteriaMet";
	return "Running";
}

static void add_completions(const struct cJSON *object, struct cJSON *cells)
{
	const struct cJSON *spec = json_get(object, "spec");
	int64_t done = 0, wanted = 0, parallelism = 0;
	char text[96];

	(void)json_int64(json_get(object, "status"), "succeeded", &done);
	(void)json_int64(spec, "parallelism", &parallelism);
	if (json_int64(spec, "completions", &wanted) == 0)
		(void)snprintf(text, sizeof(text), "%lld/%lld", (long long)done, (long long)wanted);
	else if (parallelism > 1)
		(void)snprintf(text, sizeof(text), "%lld/1 of %lld", (long long)done,
			       (long long)parallelism);
	else
		(void)snprintf(text, sizeof(text), "%lld/1", (long long)done);
	json_append(cells, json_new_str(text));
}

static void add_duration(const struct cJSON *object, usec now, struct cJSON *cells)
{
	const char *start = json_str(json_get(object, "status"), "startTime");
	const char *end = json_str(json_get(object, "status"), "completionTime");
	char human[CLOCK_TEXT_MAX];
	usec from, to = now;

	if (!start || clock_parse(span_of(start), &from) < 0 ||
	    (end && clock_parse(span_of(end), &to) < 0))
		json_append(cells, json_new_str(""));
	else
		json_append(cells, json_new_str(clock_human(to - from, human)));
}

void job_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	(void)k;
	json_append(cells, json_new_str(job_state(object)));
	add_completions(object, cells);
	add_duration(object, now, cells);
	cells_add_containers(cells, json_path(object, "spec", "template", "spec", NULL));
	cells_add_selector(cells, json_path(object, "spec", "selector", "matchLabels", NULL));
}
