#include "kinds/mpi_job.h"

#include "base/json.h"
#include "base/num.h"
#include "kinds/defaults.h"
#include "kinds/refuse.h"
#include "kube/names.h"

#include <inttypes.h>

#define MARK "mpiImplementation"

/* Of v2beta1 alone, beside the mark. */
static const char *const beta_fields[] = {"launcherCreationPolicy", "runLauncherAsWorker",
					  "sshAuthMountPath"};

bool mpi_job_is_beta(const struct cJSON *job)
{
	return json_is(json_path(job, "spec", MARK, NULL), JSON_STRING);
}

static void drop(struct cJSON *spec, const char *field, const struct kind_write *w)
{
	if (!json_get(spec, field))
		return;
	json_remove(spec, field);
	refuse_warn(w->warnings,
		    "spec.%s: dropped; only a job that is created as kubeflow.org/" MPI_JOB_BETA
		    " has it",
		    field);
}

static void default_beta(struct cJSON *spec)
{
	defaults_set(spec, MARK, json_new_str("OpenMPI"));
	defaults_set(spec, "launcherCreationPolicy", json_new_str("AtStartup"));
	defaults_set(spec, "runLauncherAsWorker", json_new_bool(false));
	defaults_set(spec, "sshAuthMountPath", json_new_str("/root/.ssh"));
}

void mpi_job_settle(const struct kind *k, struct cJSON *job, const struct kind_write *w)
{
	struct cJSON *spec = json_get(job, "spec");
	struct cJSON *launcher = json_path(spec, "mpiReplicaSpecs", "Launcher", NULL);
	bool beta = w->old ? mpi_job_is_beta(w->old) : strcmp(k->version, MPI_JOB_BETA) == 0;

	if (w->subresource[0] || !json_is(spec, JSON_OBJECT))
		return;
	if (!beta) {
		if (!w->old) /* else the validation says that it cannot become the other one */
			drop(spec, MARK, w);
		for (size_t i = 0; i < ARRAY_LEN(beta_fields); i++)
			drop(spec, beta_fields[i], w);
		return;
	}
	if (w->old)
		defaults_set(spec, MARK, json_dup(json_path(w->old, "spec", MARK, NULL)));
	default_beta(spec);
	/* The launcher is a batch Job, which tries again by itself. */
	defaults_set(launcher, "restartPolicy", json_new_str("OnFailure"));
}

static void check_role(const struct cJSON *role, struct field_errors *errors)
{
	const char *restart = json_str(role, "restartPolicy");
	int64_t replicas = 1;

	if (restart && strcmp(restart, "Never") != 0 && strcmp(restart, "OnFailure") != 0)
		refuse_text(errors, FIELD_NOT_SUPPORTED, restart,
			    "supported values: \"Never\", \"OnFailure\"",
			    "spec.mpiReplicaSpecs[%s].restartPolicy", json_key(role));
	if (strcmp(json_key(role), "Worker") == 0 && json_int64(role, "replicas", &replicas) == 0 &&
	    replicas < 1)
		refuse(errors, FIELD_INVALID, json_get(role, "replicas"),
		       "must be greater than or equal to 1",
		       "spec.mpiReplicaSpecs[Worker].replicas");
}

/* Its pods' names are host names, by which the launcher finds them. */
static void check_host_names(const struct cJSON *job, struct field_errors *errors)
{
	const char *name = json_value_str(json_path(job, "metadata", "name", NULL));
	int64_t replicas = 1;
	auto_buf last = BUF_INIT;

	if (!name)
		return;
	(void)json_int64(json_path(job, "spec", "mpiReplicaSpecs", "Worker", NULL), "replicas",
			 &replicas);
	buf_addf(&last, "%s-worker-%" PRId64, name, num_max(replicas, 1) - 1);
	if (names_is_dns_label(buf_span(&last)))
		return;
	auto_buf words = BUF_INIT;
	buf_addf(&words, "its last worker's pod would be named \"%s\", which is no DNS label",
		 last.ptr);
	refuse_text(errors, FIELD_INVALID, name, words.ptr, "metadata.name");
}

void mpi_job_check_beta(const struct cJSON *job, struct field_errors *errors)
{
	check_host_names(job, errors);
	json_foreach (json_path(job, "spec", "mpiReplicaSpecs", NULL), role)
		check_role(role, errors);
}
