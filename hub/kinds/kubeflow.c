/*
 * Hooks of the kubeflow.org/v1 kinds: what the training operator's defaulting and webhooks do
 * (kubernetes-api.md 4.2). The kinds differ in data, which stands in one table.
 */
#include "base/json.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/job_shape.h"
#include "kinds/mpi_job.h"
#include "kinds/pod_template.h"
#include "kinds/queue_request.h"
#include "kinds/refuse.h"
#include "kinds/topology_request.h"
#include "kinds/types.h"
#include "kube/names.h"

#define MANAGED_BY_OPERATOR   "kubeflow.org/training-operator"
#define MANAGED_BY_MPI	      "kubeflow.org/mpi-operator"
#define MANAGED_BY_MULTIKUEUE "kueue.x-k8s.io/multikueue"

struct training_kind {
	uint16_t type;
	const char *specs;	  /* member of spec that holds the roles */
	const char *container;	  /* that every pod must have, or NULL */
	const char *restart;	  /* default restartPolicy */
	const char *single;	  /* a role that is exactly one pod, or NULL */
	const char *required;	  /* a role that must be there, or NULL */
	const char *const *roles; /* NULL-terminated */
};

static const char *const pytorch_roles[] = {"Master", "Worker", NULL};
static const char *const tf_roles[] = {"Chief", "Evaluator", "Master", "PS", "Worker", NULL};
static const char *const mpi_roles[] = {"Launcher", "Worker", NULL};
static const char *const jax_roles[] = {"Worker", NULL};

static const struct training_kind kinds[] = {
    {TYPE_PYTORCH_JOB, "pytorchReplicaSpecs", "pytorch", "OnFailure", "Master", NULL,
     pytorch_roles},
    {TYPE_TF_JOB, "tfReplicaSpecs", "tensorflow", "Never", NULL, NULL, tf_roles},
    {TYPE_MPI_JOB, "mpiReplicaSpecs", "mpi", "Never", "Launcher", "Launcher", mpi_roles},
    {TYPE_XGBOOST_JOB, "xgbReplicaSpecs", "xgboost", "Never", "Master", "Master", pytorch_roles},
    {TYPE_PADDLE_JOB, "paddleReplicaSpecs", "paddle", "OnFailure", NULL, NULL, pytorch_roles},
    {TYPE_JAX_JOB, "jaxReplicaSpecs", "jax", "OnFailure", NULL, "Worker", jax_roles},
};

static const struct training_kind mpi_beta = {TYPE_MPI_JOB, "mpiReplicaSpecs", NULL,	 "Never",
					      "Launcher",   "Launcher",	       mpi_roles};

static const struct training_kind *kind_of(const struct kind *k, const struct cJSON *object)
{
	if (k->type == TYPE_MPI_JOB && mpi_job_is_beta(object))
		return &mpi_beta;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].type == k->type)
			return &kinds[i];
	return &kinds[0];
}

static struct cJSON *roles_of(const struct training_kind *t, const struct cJSON *object)
{
	return json_path(object, "spec", t->specs, NULL);
}

/* ---- defaults ---- */

/* "master" and "MASTER" become "Master"; what is no role stays for the validation to refuse. */
static void normalise_roles(const struct training_kind *t, struct cJSON *roles)
{
	for (const char *const *role = t->roles; *role; role++) {
		json_foreach (roles, r) {
			if (strcmp(json_key(r), *role) == 0)
				break;
			if (strcasecmp(json_key(r), *role) == 0 && !json_get(roles, *role)) {
				struct cJSON *taken = json_take_child(roles, r);
				json_add(roles, *role, taken);
				break;
			}
		}
	}
}

/* The operator's default port of the container is left to the member's operator, which never stores
 * it either: a default inside a list is a difference to `kubectl apply` for ever. */
static void default_training(const struct kind *k, struct cJSON *object)
{
	const struct training_kind *t = kind_of(k, object);
	struct cJSON *roles = roles_of(t, object);
	struct cJSON *policy = json_path(object, "spec", "runPolicy", NULL);

	normalise_roles(t, roles);
	json_foreach (roles, r) {
		if (!json_is(r, JSON_OBJECT))
			continue;
		bool worker = strcmp(json_key(r), "Worker") == 0;
		int64_t replicas = k->type == TYPE_MPI_JOB && worker ? 0 : 1;
		defaults_set(r, "replicas", json_new_int(replicas));
		defaults_set(r, "restartPolicy", json_new_str(t->restart));
	}
	defaults_set(policy, "cleanPodPolicy", json_new_str("None"));
	defaults_set(policy, "suspend", json_new_bool(false));
}

/* Bounds that are not given are the other bound, or what runs. */
static void default_elastic(struct cJSON *spec)
{
	struct cJSON *elastic = json_get(spec, "elasticPolicy");
	const struct cJSON *worker = json_path(spec, "pytorchReplicaSpecs", "Worker", NULL);
	int64_t replicas = 1, min = 0, max = 0;

	if (!elastic)
		return;
	(void)json_int64(worker, "replicas", &replicas);
	bool has_min = json_int64(elastic, "minReplicas", &min) == 0;
	bool has_max = json_int64(elastic, "maxReplicas", &max) == 0;
	if (!has_min)
		json_set_int(elastic, "minReplicas", has_max ? max : replicas);
	if (!has_max)
		json_set_int(elastic, "maxReplicas", has_min ? min : replicas);
}

void pytorch_job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *spec = json_get(object, "spec");

	default_training(k, object);
	job_shape_keep_suspend(k, object, w);
	defaults_set(spec, "nprocPerNode", json_new_str("auto"));
	default_elastic(spec);
}

void tf_job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	default_training(k, object);
	job_shape_keep_suspend(k, object, w);
}

void mpi_job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	mpi_job_settle(k, object, w);
	default_training(k, object);
	job_shape_keep_suspend(k, object, w);
	defaults_set(json_get(object, "spec"), "slotsPerWorker", json_new_int(1));
}

void training_job_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	default_training(k, object);
	job_shape_keep_suspend(k, object, w);
}

/* ---- validation ---- */

static bool is_role(const struct training_kind *t, const char *name)
{
	for (const char *const *role = t->roles; *role; role++)
		if (strcmp(*role, name) == 0)
			return true;
	return false;
}

static void check_role_name(const struct training_kind *t, const char *role,
			    struct field_errors *errors)
{
	auto_buf names = BUF_INIT;

	if (is_role(t, role))
		return;
	buf_add_str(&names, "supported values: ");
	for (const char *const *r = t->roles; *r; r++)
		buf_addf(&names, "%s\"%s\"", r == t->roles ? "" : ", ", *r);
	refuse_text(errors, FIELD_NOT_SUPPORTED, role, names.ptr, "spec.%s", t->specs);
}

static void check_role(const struct training_kind *t, const char *container,
		       const struct cJSON *role, struct field_errors *errors)
{
	const char *name = json_key(role);
	const struct cJSON *pod_template = json_get(role, "template");
	char path[REFUSE_PATH_MAX];
	int64_t replicas = 1;

	check_role_name(t, name, errors);
	if (t->single && strcmp(name, t->single) == 0 &&
	    json_int64(role, "replicas", &replicas) == 0 && replicas != 1)
		refuse(errors, FIELD_INVALID, json_get(role, "replicas"), "must be 1",
		       "spec.%s[%s].replicas", t->specs, name);
	(void)snprintf(path, sizeof(path), "spec.%s[%.200s].template", t->specs, name);
	if (!pod_template) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s", path);
		return;
	}
	pod_template_check(pod_template, path, errors);
	if (container && json_first(json_path(pod_template, "spec", "containers", NULL)))
		pod_template_require_container(pod_template, path, container, errors);
}

static void check_managed_by(const struct training_kind *t, const struct cJSON *policy,
			     struct field_errors *errors)
{
	const char *by = json_str(policy, "managedBy");
	const char *own = t == &mpi_beta ? MANAGED_BY_MPI : MANAGED_BY_OPERATOR;
	char words[128];

	if (!by || strcmp(by, own) == 0 || strcmp(by, MANAGED_BY_MULTIKUEUE) == 0)
		return;
	(void)snprintf(words, sizeof(words), "supported values: \"%s\", \"%s\"", own,
		       MANAGED_BY_MULTIKUEUE);
	refuse_text(errors, FIELD_NOT_SUPPORTED, by, words, "spec.runPolicy.managedBy");
}

static void check_training_update(const struct cJSON *old, const struct cJSON *object,
				  struct field_errors *errors)
{
	const struct cJSON *before = json_path(old, "spec", "runPolicy", NULL);
	const struct cJSON *after = json_path(object, "spec", "runPolicy", NULL);

	refuse_change(errors, json_get(before, "managedBy"), json_get(after, "managedBy"),
		      "spec.runPolicy.managedBy");
	if (json_get(before, "schedulingPolicy"))
		refuse_change(errors, json_path(before, "schedulingPolicy", "queue", NULL),
			      json_path(after, "schedulingPolicy", "queue", NULL),
			      "spec.runPolicy.schedulingPolicy.queue");
}

static void check_training(const struct kind *k, const struct cJSON *object,
			   const struct kind_write *w, struct field_errors *errors)
{
	const struct training_kind *t = kind_of(k, object);
	const struct cJSON *roles = roles_of(t, object);
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));
	const char *main_container = json_str(json_get(object, "spec"), "mainContainer");

	if (w->subresource[0])
		return;
	if (name && t != &mpi_beta && !names_is_dns1035(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name, names_dns1035_rule(span_of(name)),
			    "metadata.name");
	if (json_is(roles, JSON_OBJECT) && !json_first(roles)) /* else the schema has said it */
		refuse(errors, FIELD_REQUIRED, NULL, "must name at least one role", "spec.%s",
		       t->specs);
	json_foreach (roles, r)
		check_role(t, main_container && main_container[0] ? main_container : t->container,
			   r, errors);
	if (t->required && json_first(roles) && !json_get(roles, t->required))
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec.%s[%s]", t->specs, t->required);
	check_managed_by(t, json_path(object, "spec", "runPolicy", NULL), errors);
	topology_request_check_job(k, object, w, errors);
	queue_request_check_job(k, object, w, errors);
	if (w->old)
		check_training_update(w->old, object, errors);
}

static void check_elastic(const struct cJSON *spec, struct field_errors *errors)
{
	const struct cJSON *elastic = json_get(spec, "elasticPolicy");
	int64_t min, max;

	if (!elastic)
		return;
	if (!json_path(spec, "pytorchReplicaSpecs", "Worker", NULL))
		refuse(errors, FIELD_REQUIRED, NULL, "an elastic policy needs the role Worker",
		       "spec.pytorchReplicaSpecs[Worker]");
	if (json_get(elastic, "nProcPerNode"))
		refuse(errors, FIELD_FORBIDDEN, NULL, "use spec.nprocPerNode",
		       "spec.elasticPolicy.nProcPerNode");
	if (json_int64(elastic, "minReplicas", &min) == 0 &&
	    json_int64(elastic, "maxReplicas", &max) == 0 && min > max)
		refuse(errors, FIELD_INVALID, json_get(elastic, "maxReplicas"),
		       "must be at least minReplicas", "spec.elasticPolicy.maxReplicas");
}

void pytorch_job_validate(const struct kind *k, const struct cJSON *object,
			  const struct kind_write *w, struct field_errors *errors)
{
	check_training(k, object, w, errors);
	if (!w->subresource[0])
		check_elastic(json_get(object, "spec"), errors);
}

void tf_job_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		     struct field_errors *errors)
{
	const struct cJSON *roles = json_path(object, "spec", "tfReplicaSpecs", NULL);

	check_training(k, object, w, errors);
	if (!w->subresource[0] && json_get(roles, "Chief") && json_get(roles, "Master"))
		refuse(errors, FIELD_FORBIDDEN, NULL, "a job has a Chief or a Master, not both",
		       "spec.tfReplicaSpecs[Master]");
}

void mpi_job_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		      struct field_errors *errors)
{
	check_training(k, object, w, errors);
	if (w->subresource[0])
		return;
	if (mpi_job_is_beta(object))
		mpi_job_check_beta(object, errors);
	if (w->old)
		refuse_change(errors, json_path(w->old, "spec", "mpiImplementation", NULL),
			      json_path(object, "spec", "mpiImplementation", NULL),
			      "spec.mpiImplementation");
}

void training_job_validate(const struct kind *k, const struct cJSON *object,
			   const struct kind_write *w, struct field_errors *errors)
{
	check_training(k, object, w, errors);
}
