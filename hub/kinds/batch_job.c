/*
 * Hooks of batch/v1 Job: defaults and rules of Kubernetes' own (pkg/apis/batch).
 *
 * The hub makes no selector and no controller labels: those belong to the copy on the member,
 * which would refuse foreign ones.
 */
#include "kinds/batch_job.h"
#include "base/buf.h"
#include "base/json.h"
#include "kinds/batch_policies.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/job_shape.h"
#include "kinds/label_selector_rules.h"
#include "kinds/pod_defaults.h"
#include "kinds/pod_rules.h"
#include "kinds/pod_template.h"
#include "kinds/queue_request.h"
#include "kinds/refuse.h"
#include "kinds/topology_request.h"
#include "kube/meta.h"
#include "kube/names.h"

#define DEFAULT_BACKOFF	 6
#define MAX_INDEXED_PODS 100000
#define MAX_AT_ONCE	 10000 /* where more indexes than that have retries of their own */
#define WITH_MANY_INDEXES                                                                          \
	"must be less than or equal to 10000 when completions are above 100000 and used with "     \
	"backoff limit per index"

/* A job without labels has those of its pods. */
static void default_labels(struct cJSON *object)
{
	const struct cJSON *labels =
	    json_path(object, "spec", "template", "metadata", "labels", NULL);
	struct cJSON *meta = json_get(object, "metadata");

	if (meta && json_first(labels) && !json_first(json_get(meta, "labels")))
		json_set(meta, "labels", json_dup(labels));
}

void job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");
	bool by_index = json_get(spec, "backoffLimitPerIndex");

	if (!spec)
		return;
	default_labels(object);
	if (!json_get(spec, "completions") && !json_get(spec, "parallelism"))
		json_add(spec, "completions", json_new_int(1));
	pod_defaults_spec(json_path(spec, "template", "spec", NULL));
	defaults_set(spec, "parallelism", json_new_int(1));
	defaults_set(spec, "backoffLimit", json_new_int(by_index ? INT32_MAX : DEFAULT_BACKOFF));
	defaults_set(spec, "completionMode", json_new_str("NonIndexed"));
	defaults_set(spec, "suspend", json_new_bool(false));
	job_shape_keep_suspend(k, object, w);
	defaults_set(spec, "manualSelector", json_new_bool(false));
	defaults_set(
	    spec, "podReplacementPolicy",
	    json_new_str(json_get(spec, "podFailurePolicy") ? "Failed" : "TerminatingOrFailed"));
}

static bool is_indexed(const struct cJSON *spec)
{
	const char *mode = json_str(spec, "completionMode");
	return mode && strcmp(mode, "Indexed") == 0;
}

/* Indexes are counted in 32 bits, and each costs its controller some memory. */
static void check_index_numbers(const struct cJSON *spec, const char *path,
				struct field_errors *errors)
{
	const struct cJSON *parallelism = json_get(spec, "parallelism");
	const struct cJSON *failed = json_get(spec, "maxFailedIndexes");
	int64_t completions = -1, at_once = 0, may_fail = 0;

	(void)json_int64(spec, "completions", &completions);
	(void)json_value_int64(parallelism, &at_once);
	(void)json_value_int64(failed, &may_fail);
	if (at_once > MAX_INDEXED_PODS)
		refuse(errors, FIELD_INVALID, parallelism,
		       "must be less than or equal to 100000 when completion mode is Indexed",
		       "%s.parallelism", path);
	if (failed && json_get(spec, "completions") && may_fail > completions)
		refuse(errors, FIELD_INVALID, failed, "must be less than or equal to completions",
		       "%s.maxFailedIndexes", path);
	if (may_fail > MAX_INDEXED_PODS)
		refuse(errors, FIELD_INVALID, failed, "must be less than or equal to 100000",
		       "%s.maxFailedIndexes", path);
	if (completions <= MAX_INDEXED_PODS || !json_get(spec, "backoffLimitPerIndex"))
		return;
	if (!failed)
		refuse(errors, FIELD_REQUIRED, NULL,
		       "must be specified when completions is above 100000", "%s.maxFailedIndexes",
		       path);
	if (at_once > MAX_AT_ONCE)
		refuse(errors, FIELD_INVALID, parallelism, WITH_MANY_INDEXES, "%s.parallelism",
		       path);
	if (may_fail > MAX_AT_ONCE)
		refuse(errors, FIELD_INVALID, failed, WITH_MANY_INDEXES, "%s.maxFailedIndexes",
		       path);
}

static void check_indexed(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	static const char *const indexed_only[] = {"backoffLimitPerIndex", "maxFailedIndexes"};
	const char *mode = json_str(spec, "completionMode");
	const struct cJSON *success = json_get(spec, "successPolicy");

	if (is_indexed(spec)) {
		check_index_numbers(spec, path, errors);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(indexed_only); i++)
		if (json_get(spec, indexed_only[i]) && (!mode || !strcmp(mode, "NonIndexed")))
			refuse(errors, FIELD_INVALID, json_get(spec, indexed_only[i]),
			       "requires indexed completion mode", "%s.%s", path, indexed_only[i]);
	if (success)
		refuse(errors, FIELD_INVALID, success, "requires indexed completion mode",
		       "%s.successPolicy", path);
}

static void check_restart(const struct cJSON *spec, const char *path, bool required,
			  struct field_errors *errors)
{
	const char *restart =
	    json_value_str(json_path(spec, "template", "spec", "restartPolicy", NULL));

	if (!restart ? required : !strcmp(restart, "Always"))
		refuse(errors, FIELD_REQUIRED, NULL, "valid values: \"OnFailure\", \"Never\"",
		       "%s.template.spec.restartPolicy", path);
	else if (required && strcmp(restart, "OnFailure") != 0 && strcmp(restart, "Never") != 0)
		refuse_text(errors, FIELD_NOT_SUPPORTED, restart,
			    "supported values: \"OnFailure\", \"Never\"",
			    "%s.template.spec.restartPolicy", path);
	else if (json_get(spec, "podFailurePolicy") && (!restart || strcmp(restart, "Never") != 0))
		refuse_text(errors, FIELD_INVALID, restart ? restart : "",
			    "only \"Never\" is supported when podFailurePolicy is specified",
			    "%s.template.spec.restartPolicy", path);
}

static void check_manager(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	const char *by = json_str(spec, "managedBy");

	if (by && !by[0])
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s.managedBy", path);
	else if (by && (!strchr(by, '/') || !names_is_qualified(span_of(by))))
		refuse_text(errors, FIELD_INVALID, by, "must be a domain-prefixed path",
			    "%s.managedBy", path);
}

/* What both have that are judged: a Job, and the spec of one in a JobSet. */
static void check_spec(const struct cJSON *spec, const char *path, bool restart_required,
		       struct field_errors *errors)
{
	if (is_indexed(spec) && !json_get(spec, "completions") && restart_required)
		refuse(errors, FIELD_REQUIRED, NULL, "when completion mode is Indexed",
		       "%s.completions", path);
	check_indexed(spec, path, errors);
	check_restart(spec, path, restart_required, errors);
	check_manager(spec, path, errors);
	if (json_get(spec, "maxFailedIndexes") && !json_get(spec, "backoffLimitPerIndex"))
		refuse(errors, FIELD_REQUIRED, NULL, "when maxFailedIndexes is specified",
		       "%s.backoffLimitPerIndex", path);
	if (restart_required)
		batch_policies_check(spec, path, errors);
}

void batch_job_check_spec(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	char below[REFUSE_PATH_MAX];

	(void)snprintf(below, sizeof(below), "%.300s.template", path);
	pod_template_check(json_get(spec, "template"), below, errors);
	check_spec(spec, path, false, errors);
}

/* ---- updates ---- */

struct cJSON *batch_job_fixed_template(const struct cJSON *pod_template, bool affinity_too)
{
	static const char *const in_spec[] = {"nodeSelector", "tolerations", "schedulingGates"};
	struct cJSON *t = json_dup(pod_template);
	struct cJSON *spec = json_get(t, "spec");
	struct cJSON *meta = json_get(t, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(in_spec); i++)
		json_remove(spec, in_spec[i]);
	if (affinity_too)
		json_remove(spec, "affinity");
	json_remove(meta, "labels");
	json_remove(meta, "annotations");
	if (meta && !json_first(meta))
		json_remove(t, "metadata");
	return t;
}

static void check_template_update(const struct cJSON *old, const struct cJSON *object,
				  struct field_errors *errors)
{
	const struct cJSON *before = json_path(old, "spec", "template", NULL);
	const struct cJSON *after = json_path(object, "spec", "template", NULL);
	bool movable = json_bool(json_get(old, "spec"), "suspend", false) &&
		       !json_path(old, "status", "startTime", NULL);
	if (!movable) {
		refuse_change(errors, before, after, "spec.template");
		return;
	}
	auto_json *fixed_before = batch_job_fixed_template(before, true);
	auto_json *fixed_after = batch_job_fixed_template(after, true);
	if (!json_equal(fixed_before, fixed_after))
		refuse(errors, FIELD_INVALID, NULL, "field is immutable", "spec.template");
}

static void check_update(const struct cJSON *old, const struct cJSON *object,
			 struct field_errors *errors)
{
	static const char *const fixed[] = {
	    "selector",	     "completionMode",	     "podFailurePolicy",
	    "successPolicy", "backoffLimitPerIndex", "managedBy"};
	const struct cJSON *before = json_get(old, "spec"), *after = json_get(object, "spec");
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		(void)snprintf(path, sizeof(path), "spec.%s", fixed[i]);
		refuse_change(errors, json_get(before, fixed[i]), json_get(after, fixed[i]), path);
	}
	/* KEP-3715: an Indexed job may be resized by both numbers at once. */
	if (!is_indexed(after) || !json_get(after, "completions") ||
	    !json_get(after, "parallelism") ||
	    !json_equal(json_get(after, "completions"), json_get(after, "parallelism")))
		refuse_change(errors, json_get(before, "completions"),
			      json_get(after, "completions"), "spec.completions");
	check_template_update(old, object, errors);
}

/* What its pods could not be made with. */
static void check_name(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));
	auto_buf host = BUF_INIT;
	int64_t completions = 0;

	if (name && !json_bool(spec, "manualSelector", false) &&
	    !names_is_label_value(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name, names_label_value_rule(span_of(name)),
			    "spec.template.labels");
	if (!is_indexed(spec) || json_int64(spec, "completions", &completions) < 0 ||
	    completions <= 0)
		return;
	buf_addf(&host, "will not able to create pod with invalid DNS label: ");
	size_t before = host.len;
	buf_addf(&host, "%s-%lld", name ? name : "", (long long)completions - 1);
	if (!names_is_dns_label(span_make(host.ptr + before, host.len - before)))
		refuse_text(errors, FIELD_INVALID, name ? name : "", host.ptr, "metadata.name");
}

/* Those that it has of its pods are wrong in both places. */
static void check_labels(const struct cJSON *object, struct field_errors *errors)
{
	const struct cJSON *own = json_path(object, "metadata", "labels", NULL);
	const struct cJSON *pods =
	    json_path(object, "spec", "template", "metadata", "labels", NULL);

	if (own && field_errors_any(errors) && json_equal(own, pods))
		meta_validate_labels(own, "metadata.labels", errors);
}

/* With a selector of one's own; the hub makes none, its members do. */
static void check_selector(const struct cJSON *spec, bool created, struct field_errors *errors)
{
	const struct cJSON *labels = json_path(spec, "template", "metadata", "labels", NULL);
	const struct cJSON *selector = json_get(spec, "selector");
	bool matches = selector;

	label_selector_rules_check_core(selector, "spec.selector", errors);
	if (created && selector && !json_bool(spec, "manualSelector", false))
		refuse(errors, FIELD_INVALID, selector, "`selector` not auto-generated",
		       "spec.selector");
	if (!json_bool(spec, "manualSelector", false) || field_errors_any(errors))
		return;
	if (!selector)
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec.selector");
	json_foreach (json_get(selector, "matchLabels"), l)
		matches = matches && json_equal(l, json_get(labels, json_key(l)));
	if (!matches)
		refuse(errors, FIELD_INVALID, labels, "`selector` does not match template `labels`",
		       "spec.template.metadata.labels");
}

void job_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		  struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");

	if (w->subresource[0])
		return;
	if (!spec) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec");
		return;
	}
	pod_rules_check_template(json_get(spec, "template"),
				 json_path(w->old, "spec", "template", NULL), "spec.template",
				 errors);
	check_spec(spec, "spec", true, errors);
	check_selector(spec, !w->old, errors);
	if (!w->old) {
		check_name(object, errors);
		check_labels(object, errors);
	}
	topology_request_check_job(k, object, w, errors);
	queue_request_check_job(k, object, w, errors);
	if (w->old)
		check_update(w->old, object, errors);
}
