/*
 * Hooks of jobset.x-k8s.io JobSet: the defaults, rules and immutability of its CRD and webhook
 * (kubernetes-api.md 4.1).
 */
#include "base/json.h"
#include "base/map.h"
#include "base/num.h"
#include "kinds/batch_job.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/job_shape.h"
#include "kinds/queue_request.h"
#include "kinds/refuse.h"
#include "kinds/topology_request.h"
#include "kube/names.h"
#include "kube/schema.h"

#define MAX_RULE_NAME  128
#define RULE_NAME      "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
#define POD_SUFFIX_LEN 6 /* "-" and five random characters */

/* ---- defaults ---- */

static void default_replicated_job(struct cJSON *r)
{
	struct cJSON *spec = json_path(r, "template", "spec", NULL);

	defaults_set(spec, "completionMode", json_new_str("Indexed"));
	defaults_set(json_path(spec, "template", "spec", NULL), "restartPolicy",
		     json_new_str("OnFailure"));
}

static void default_rules(struct cJSON *spec)
{
	size_t i = 0;

	json_foreach (json_path(spec, "failurePolicy", "rules", NULL), rule) {
		char name[40];
		const char *given = json_str(rule, "name");
		(void)snprintf(name, sizeof(name), "failurePolicyRule%zu", i++);
		if (!given || !given[0])
			json_set_str(rule, "name", name);
	}
}

void job_set_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");
	struct cJSON *part;

	if (!spec)
		return;
	job_shape_keep_suspend(k, object, w);
	part = json_object();
	json_add(part, "operator", json_new_str("All"));
	defaults_set(spec, "successPolicy", part);
	part = json_object();
	json_add(part, "startupPolicyOrder", json_new_str("AnyOrder"));
	defaults_set(spec, "startupPolicy", part);
	defaults_set(spec, "network", json_object());
	defaults_set(json_get(spec, "network"), "enableDNSHostnames", json_new_bool(true));
	defaults_set(json_get(spec, "network"), "publishNotReadyAddresses", json_new_bool(true));
	json_foreach (json_get(spec, "replicatedJobs"), r)
		default_replicated_job(r);
	default_rules(spec);
}

/* ---- validation ---- */

struct job_set_check {
	const struct cJSON *spec;
	const char *name; /* of the set */
	struct field_errors *errors;
	struct map seen; /* replicated jobs so far */
};

static int64_t number(const struct cJSON *object, const char *key, int64_t otherwise)
{
	int64_t v;
	return json_int64(object, key, &v) == 0 ? v : otherwise;
}

/* Jobs are <set>-<replicated job>-<index>, pods <job>-<index>-<5 characters>: host names. */
static void check_names(struct job_set_check *c, const struct cJSON *r, size_t i)
{
	const struct cJSON *job = json_path(r, "template", "spec", NULL);
	const char *own = json_str(r, "name");
	int64_t replicas = number(r, "replicas", 1), completions;
	char name[1024];

	if (!own || !c->name || replicas < 1)
		return;
	int n = snprintf(name, sizeof(name), "%.300s-%.300s-%lld", c->name, own,
			 (long long)replicas - 1);
	if (!names_is_dns1035(span_of(name))) {
		refuse_text(c->errors, FIELD_INVALID, name, names_dns1035_rule(span_of(name)),
			    "spec.replicatedJobs[%zu].name", i);
		return;
	}
	completions = number(job, "completions", number(job, "parallelism", 1));
	char digits[24];
	int index =
	    snprintf(digits, sizeof(digits), "-%lld", (long long)num_max(completions - 1, 0));
	if (n + index + POD_SUFFIX_LEN > NAMES_MAX_LABEL) {
		char detail[128];
		(void)snprintf(detail, sizeof(detail),
			       "names of its pods would have %d characters, at most %d may be",
			       n + index + POD_SUFFIX_LEN, NAMES_MAX_LABEL);
		refuse_text(c->errors, FIELD_INVALID, own, detail, "spec.replicatedJobs[%zu].name",
			    i);
	}
}

static void check_depends_on(struct job_set_check *c, const struct cJSON *r, size_t i)
{
	const struct cJSON *list = json_get(r, "dependsOn");
	const char *order =
	    json_value_str(json_path(c->spec, "startupPolicy", "startupPolicyOrder", NULL));
	size_t n = 0;

	if (!json_first(list))
		return;
	if (i == 0)
		refuse(c->errors, FIELD_INVALID, list,
		       "the first replicated job cannot depend on another",
		       "spec.replicatedJobs[0].dependsOn");
	if (order && strcmp(order, "InOrder") == 0)
		refuse(c->errors, FIELD_INVALID, list,
		       "startupPolicy InOrder and dependsOn cannot be used together",
		       "spec.replicatedJobs[%zu].dependsOn", i);
	json_foreach (list, d) {
		const char *name = json_str(d, "name");
		if (i > 0 && name && !map_has(&c->seen, span_of(name)))
			refuse_text(c->errors, FIELD_INVALID, name,
				    "must be a replicated job that stands before",
				    "spec.replicatedJobs[%zu].dependsOn[%zu].name", i, n);
		n++;
	}
}

static void check_replicated_job(struct job_set_check *c, const struct cJSON *r, size_t i)
{
	const struct cJSON *job = json_path(r, "template", "spec", NULL);
	const char *group = json_str(r, "groupName"), *name = json_str(r, "name");
	char path[128];

	(void)snprintf(path, sizeof(path), "spec.replicatedJobs[%zu].template.spec", i);
	if (!job) {
		refuse(c->errors, FIELD_REQUIRED, NULL, "", "%s", path);
		return;
	}
	batch_job_check_spec(job, path, c->errors);
	if (num_mul_sat(number(r, "replicas", 1), number(job, "parallelism", 1)) > INT32_MAX)
		refuse(c->errors, FIELD_INVALID, json_get(r, "replicas"),
		       "the product of replicas and parallelism must not exceed 2147483647",
		       "spec.replicatedJobs[%zu].replicas", i);
	if (group && !names_is_dns1035(span_of(group)))
		refuse_text(c->errors, FIELD_INVALID, group, names_dns1035_rule(span_of(group)),
			    "spec.replicatedJobs[%zu].groupName", i);
	check_names(c, r, i);
	check_depends_on(c, r, i);
	if (name)
		(void)map_put(&c->seen, span_of(name), c);
}

/* Every name in `targets` must be a replicated job. */
static void check_targets(struct job_set_check *c, const struct cJSON *targets, const char *path)
{
	size_t i = 0;

	json_foreach (targets, t) {
		const char *name = json_value_str(t);
		if (name && !map_has(&c->seen, span_of(name)))
			refuse_text(c->errors, FIELD_INVALID, name,
				    "must be the name of a replicated job",
				    "%s.targetReplicatedJobs[%zu]", path, i);
		i++;
	}
}

static bool is_job_failure_reason(const char *reason)
{
	static const char *const reasons[] = {
	    "BackoffLimitExceeded",	"DeadlineExceeded", "FailedIndexes",
	    "MaxFailedIndexesExceeded", "PodFailurePolicy",
	};
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i], reason) == 0)
			return true;
	return false;
}

static void check_rule(struct job_set_check *c, const struct cJSON *rule, size_t i,
		       struct map *names)
{
	const char *name = json_str(rule, "name");
	char path[64];
	size_t n = 0;

	(void)snprintf(path, sizeof(path), "spec.failurePolicy.rules[%zu]", i);
	check_targets(c, json_get(rule, "targetReplicatedJobs"), path);
	if (name &&
	    (strlen(name) > MAX_RULE_NAME || !schema_pattern_matches(RULE_NAME, span_of(name))))
		refuse_text(c->errors, FIELD_INVALID, name,
			    "must have 1 to 128 characters and match " RULE_NAME, "%s.name", path);
	else if (name && map_put(names, span_of(name), c))
		refuse_text(c->errors, FIELD_DUPLICATE, name, "", "%s.name", path);
	json_foreach (json_get(rule, "onJobFailureReasons"), r) {
		const char *reason = json_value_str(r);
		if (reason && !is_job_failure_reason(reason))
			refuse_text(c->errors, FIELD_INVALID, reason,
				    "must be a reason for which a Job fails",
				    "%s.onJobFailureReasons[%zu]", path, n);
		n++;
	}
}

static void check_policies(struct job_set_check *c)
{
	struct map names = MAP_INIT;
	size_t i = 0;

	check_targets(c, json_path(c->spec, "successPolicy", "targetReplicatedJobs", NULL),
		      "spec.successPolicy");
	json_foreach (json_path(c->spec, "failurePolicy", "rules", NULL), rule)
		check_rule(c, rule, i++, &names);
	map_done(&names);
}

static const struct cJSON *replicated_job(const struct cJSON *spec, const char *name)
{
	json_foreach (json_get(spec, "replicatedJobs"), r) {
		const char *own = json_str(r, "name");
		if (own && strcmp(own, name) == 0)
			return r;
	}
	return NULL;
}

static void check_coordinator(struct job_set_check *c)
{
	const struct cJSON *coordinator = json_get(c->spec, "coordinator");
	const char *name = json_str(coordinator, "replicatedJob");
	const struct cJSON *r = name ? replicated_job(c->spec, name) : NULL;

	if (!coordinator)
		return;
	if (!r) {
		refuse_text(c->errors, FIELD_INVALID, name ? name : "",
			    "must be the name of a replicated job",
			    "spec.coordinator.replicatedJob");
		return;
	}
	const struct cJSON *job = json_path(r, "template", "spec", NULL);
	if (number(coordinator, "jobIndex", 0) >= number(r, "replicas", 1))
		refuse(c->errors, FIELD_INVALID, json_get(coordinator, "jobIndex"),
		       "must be less than the replicas of the replicated job",
		       "spec.coordinator.jobIndex");
	if (number(coordinator, "podIndex", 0) >=
	    number(job, "completions", number(job, "parallelism", 1)))
		refuse(c->errors, FIELD_INVALID, json_get(coordinator, "podIndex"),
		       "must be less than the completions of the job", "spec.coordinator.podIndex");
}

static void check_managed_by(struct job_set_check *c)
{
	const char *by = json_str(c->spec, "managedBy");

	if (by && (!strchr(by, '/') || !names_is_qualified(span_of(by))))
		refuse_text(c->errors, FIELD_INVALID, by, "must be a valid domain-prefixed path",
			    "spec.managedBy");
}

/* ---- updates ---- */

/* What may not change of the replicated jobs: everything, except that a suspended set's pod
 * templates may be steered by a queue. Owned. */
static struct cJSON *fixed_jobs(const struct cJSON *spec, bool suspended)
{
	struct cJSON *list = json_dup(json_get(spec, "replicatedJobs"));

	if (!suspended)
		return list;
	json_foreach (list, r) {
		struct cJSON *job = json_path(r, "template", "spec", NULL);
		if (json_get(job, "template"))
			json_set(job, "template",
				 batch_job_fixed_template(json_get(job, "template"), false));
	}
	return list;
}

static void check_update(const struct cJSON *old, const struct cJSON *after,
			 struct field_errors *errors)
{
	static const char *const fixed[] = {"managedBy",     "network",	      "successPolicy",
					    "failurePolicy", "startupPolicy", "coordinator"};
	const struct cJSON *before = json_get(old, "spec");
	bool suspended = json_bool(before, "suspend", false) || json_bool(after, "suspend", false);
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		(void)snprintf(path, sizeof(path), "spec.%s", fixed[i]);
		refuse_change(errors, json_get(before, fixed[i]), json_get(after, fixed[i]), path);
	}
	auto_json *jobs_before = fixed_jobs(before, suspended);
	auto_json *jobs_after = fixed_jobs(after, suspended);
	if (jobs_before && jobs_after ? !json_equal(jobs_before, jobs_after)
				      : jobs_before != jobs_after)
		refuse(errors, FIELD_INVALID, NULL, "field is immutable", "spec.replicatedJobs");
}

void job_set_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		      struct field_errors *errors)
{
	struct job_set_check c = {
	    .spec = json_get(object, "spec"),
	    .name = json_value_str(json_path(object, "metadata", "name", NULL)),
	    .errors = errors,
	};
	size_t i = 0;

	if (w->subresource[0])
		return;
	if (!c.spec) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec");
		return;
	}
	json_foreach (json_get(c.spec, "replicatedJobs"), r)
		check_replicated_job(&c, r, i++);
	check_policies(&c);
	check_coordinator(&c);
	check_managed_by(&c);
	topology_request_check_job(k, object, w, errors);
	queue_request_check_job(k, object, w, errors);
	if (w->old)
		check_update(w->old, c.spec, errors);
	map_done(&c.seen);
}
