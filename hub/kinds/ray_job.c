/*
 * Hooks of ray.io/v1 RayJob and RayCluster: the rules of KubeRay's own validation
 * (utils/validation.go there), as far as the hub places and suspends such jobs.
 */
#include "base/json.h"
#include "base/map.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/job_shape.h"
#include "kinds/pod_template.h"
#include "kinds/queue_request.h"
#include "kinds/refuse.h"
#include "kinds/topology_request.h"
#include "kube/names.h"

/* KubeRay puts suffixes behind the name of a job for its cluster and services. */
#define MAX_RAY_JOB_NAME     47
#define MAX_RAY_CLUSTER_NAME 52

void ray_job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");

	defaults_set(spec, "suspend", json_new_bool(false));
	defaults_set(spec, "shutdownAfterJobFinishes", json_new_bool(true));
	job_shape_keep_suspend(k, object, w);
}

/* KubeRay gives its suspend field no default. */
void ray_cluster_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	job_shape_keep_suspend(k, object, w);
}

static void check_group(const struct cJSON *g, const char *root, size_t i, struct map *names,
			struct field_errors *errors)
{
	const char *name = json_str(g, "groupName");
	int64_t min = 0, max = INT32_MAX;
	char path[96];

	(void)snprintf(path, sizeof(path), "%s.workerGroupSpecs[%zu]", root, i);
	if (name && !names_is_dns_label(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name, names_dns_label_rule(span_of(name)),
			    "%s.groupName", path);
	else if (name && map_put(names, span_of(name), names))
		refuse_text(errors, FIELD_DUPLICATE, name, "", "%s.groupName", path);
	(void)json_int64(g, "minReplicas", &min);
	(void)json_int64(g, "maxReplicas", &max);
	if (min > max)
		refuse(errors, FIELD_INVALID, json_get(g, "minReplicas"),
		       "must not be greater than maxReplicas", "%s.minReplicas", path);
	(void)snprintf(path, sizeof(path), "%s.workerGroupSpecs[%zu].template", root, i);
	pod_template_check(json_get(g, "template"), path, errors);
}

/* root: where the cluster's spec stands */
static void check_cluster(const struct cJSON *cluster, const char *root,
			  struct field_errors *errors)
{
	struct map names = MAP_INIT;
	char path[64];
	size_t i = 0;

	(void)snprintf(path, sizeof(path), "%s.headGroupSpec.template", root);
	if (json_get(json_get(cluster, "headGroupSpec"), "template"))
		pod_template_check(json_path(cluster, "headGroupSpec", "template", NULL), path,
				   errors);
	json_foreach (json_get(cluster, "workerGroupSpecs"), g)
		check_group(g, root, i++, &names, errors);
	map_done(&names);
}

static void check_shutdown(const struct cJSON *spec, const struct kind_write *w,
			   struct field_errors *errors)
{
	int64_t ttl = 0;

	if (json_bool(spec, "shutdownAfterJobFinishes", true))
		return;
	if (json_int64(spec, "ttlSecondsAfterFinished", &ttl) == 0 && ttl > 0)
		refuse(errors, FIELD_INVALID, json_get(spec, "ttlSecondsAfterFinished"),
		       "needs shutdownAfterJobFinishes", "spec.ttlSecondsAfterFinished");
	if (!w->old)
		refuse_warn(w->warnings,
			    "spec.shutdownAfterJobFinishes: the Ray cluster is shut down on the "
			    "member anyway, so that finished jobs hold no resources");
}

/* What KubeRay cannot do together with the way in which the job is submitted. */
static void check_submission(const struct cJSON *spec, struct field_errors *errors)
{
	static const char *const not_beside[] = {"submitterPodTemplate", "submitterConfig"};
	const struct cJSON *restart = json_path(spec, "rayClusterSpec", "headGroupSpec", "template",
						"spec", "restartPolicy", NULL);
	const char *mode = json_str(spec, "submissionMode"), *policy = json_value_str(restart);
	int64_t retries = 0;

	if (!mode)
		return;
	if (strcmp(mode, "InteractiveMode") == 0 &&
	    json_int64(spec, "backoffLimit", &retries) == 0 && retries > 0)
		refuse(errors, FIELD_INVALID, json_get(spec, "backoffLimit"),
		       "must be 0 with submissionMode InteractiveMode", "spec.backoffLimit");
	if (strcmp(mode, "SidecarMode") != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(not_beside); i++)
		if (json_get(spec, not_beside[i]))
			refuse(errors, FIELD_FORBIDDEN, NULL,
			       "may not be set with submissionMode SidecarMode", "spec.%s",
			       not_beside[i]);
	if (policy && strcmp(policy, "Never") != 0)
		refuse(errors, FIELD_INVALID, restart,
		       "must be Never or unset with submissionMode SidecarMode",
		       "spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy");
}

static void check_spec(const struct cJSON *spec, const struct kind_write *w,
		       struct field_errors *errors)
{
	if (json_first(json_get(spec, "clusterSelector")))
		refuse(errors, FIELD_FORBIDDEN, NULL,
		       "jobs on an existing Ray cluster cannot be suspended, and the hub starts "
		       "every job from suspension",
		       "spec.clusterSelector");
	else if (!json_get(spec, "rayClusterSpec"))
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec.rayClusterSpec");
	check_cluster(json_get(spec, "rayClusterSpec"), "spec.rayClusterSpec", errors);
	if (json_get(spec, "submitterPodTemplate"))
		pod_template_check(json_get(spec, "submitterPodTemplate"),
				   "spec.submitterPodTemplate", errors);
	check_submission(spec, errors);
	check_shutdown(spec, w, errors);
}

void ray_job_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		      struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));

	if (w->subresource[0])
		return;
	if (name && (strlen(name) > MAX_RAY_JOB_NAME || !names_is_dns1035(span_of(name))))
		refuse_text(errors, FIELD_INVALID, name,
			    "must be a DNS-1035 label of no more than 47 characters",
			    "metadata.name");
	if (!spec) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec");
		return;
	}
	check_spec(spec, w, errors);
	topology_request_check_job(k, object, w, errors);
	queue_request_check_job(k, object, w, errors);
	if (w->old)
		refuse_change(errors, json_path(w->old, "spec", "managedBy", NULL),
			      json_get(spec, "managedBy"), "spec.managedBy");
}

void ray_cluster_validate(const struct kind *k, const struct cJSON *object,
			  const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));

	if (w->subresource[0])
		return;
	if (name && (strlen(name) > MAX_RAY_CLUSTER_NAME || !names_is_dns1035(span_of(name))))
		refuse_text(errors, FIELD_INVALID, name,
			    "must be a DNS-1035 label of no more than 52 characters",
			    "metadata.name");
	if (!spec) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec");
		return;
	}
	if (json_bool(spec, "enableInTreeAutoscaling", false) && !w->old)
		refuse_warn(w->warnings, "spec.enableInTreeAutoscaling: the hub counts the workers "
					 "that the cluster starts with");
	check_cluster(spec, "spec", errors);
	topology_request_check_job(k, object, w, errors);
	queue_request_check_job(k, object, w, errors);
	if (w->old)
		refuse_change(errors, json_path(w->old, "spec", "managedBy", NULL),
			      json_get(spec, "managedBy"), "spec.managedBy");
}
