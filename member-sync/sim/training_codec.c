#include "base/json.h"
#include "kinds/mpi_job.h"
#include "member-sync/sim/codec.h"

static const struct {
	uint16_t type;
	enum training_kind kind;
	const char *replicas;
	const char *restart;		       /* default */
	const char *types[TRAINING_MAX_TYPES]; /* in the controller's order */
} training_kinds[] = {
    {TYPE_PYTORCH_JOB, TRAINING_PYTORCH, "pytorchReplicaSpecs", "OnFailure", {"Master", "Worker"}},
    {TYPE_TF_JOB,
     TRAINING_TENSORFLOW,
     "tfReplicaSpecs",
     "Never",
     {"Chief", "Evaluator", "Master", "PS", "Worker"}},
    {TYPE_MPI_JOB, TRAINING_MPI, "mpiReplicaSpecs", "Never", {"Launcher", "Worker"}},
    {TYPE_XGBOOST_JOB, TRAINING_XGBOOST, "xgbReplicaSpecs", "Never", {"Master", "Worker"}},
    {TYPE_PADDLE_JOB, TRAINING_PADDLE, "paddleReplicaSpecs", "OnFailure", {"Master", "Worker"}},
    {TYPE_JAX_JOB, TRAINING_JAX, "jaxReplicaSpecs", "OnFailure", {"Worker"}},
};

static enum training_restart restart_of(const char *s)
{
	if (strcmp(s, "Always") == 0)
		return RESTART_ALWAYS;
	if (strcmp(s, "OnFailure") == 0)
		return RESTART_ON_FAILURE;
	return strcmp(s, "ExitCode") == 0 ? RESTART_EXIT_CODE : RESTART_NEVER;
}

static void read_replica(struct sim_job *j, size_t k, const char *type, const struct cJSON *r)
{
	struct training_spec *s = &j->spec.training;
	const char *restart = json_str(r, "restartPolicy");
	if (!restart)
		restart = training_kinds[k].restart;
	struct training_replica *to = &s->types[s->n_types++];
	codec_copy_text(to->type, sizeof(to->type), type);
	to->replicas = codec_count(r, "replicas", 1);
	to->restart = restart_of(restart);
	/* ExitCode is the operator's own: its pods never restart in place */
	codec_add_set(j, type, json_get(r, "template"),
		      to->restart == RESTART_EXIT_CODE ? "Never" : restart);
}

static enum training_clean clean_of(const char *s)
{
	if (s && strcmp(s, "All") == 0)
		return CLEAN_ALL;
	return s && strcmp(s, "Running") == 0 ? CLEAN_RUNNING : CLEAN_NONE;
}

static void read_training_state(struct sim_job *j, const struct cJSON *status)
{
	struct training_state *st = &j->state.training;
	*st = (struct training_state){.started = codec_time(status, "startTime"),
				      .completed = codec_time(status, "completionTime")};
	codec_conditions(status, &st->conditions);
	const struct cJSON *replicas = json_get(status, "replicaStatuses");
	for (size_t t = 0; t < j->spec.training.n_types; t++) {
		const struct cJSON *r = json_get(replicas, j->spec.training.types[t].type);
		st->replicas[t].known = r != NULL;
		st->replicas[t].active = codec_count(r, "active", 0);
		st->replicas[t].succeeded = codec_count(r, "succeeded", 0);
		st->replicas[t].failed = codec_count(r, "failed", 0);
	}
}

static size_t row_of(uint16_t type)
{
	size_t k = 0;
	while (training_kinds[k].type != type)
		k++;
	return k;
}

const char *training_codec_templates(uint16_t type)
{
	return training_kinds[row_of(type)].replicas;
}

static void read_replicas(struct sim_job *j, size_t k, const struct cJSON *replicas)
{
	job_codec_clear_sets(j);
	for (size_t t = 0; t < TRAINING_MAX_TYPES && training_kinds[k].types[t]; t++) {
		const struct cJSON *r = json_get(replicas, training_kinds[k].types[t]);
		if (r)
			read_replica(j, k, training_kinds[k].types[t], r);
	}
}

void training_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh, bool same)
{
	const struct cJSON *spec = json_get(o, "spec"), *run = json_get(spec, "runPolicy");
	struct training_spec *s = &j->spec.training, was = *s;
	size_t k = row_of(j->kind->type);
	*s = (struct training_spec){
	    .kind = training_kinds[k].kind,
	    .suspend = json_bool(run, "suspend", false),
	    .elastic = json_get(spec, "elasticPolicy") != NULL,
	    .clean = clean_of(json_str(run, "cleanPodPolicy")),
	    .backoff_limit = codec_int(run, "backoffLimit", -1),
	    .active_deadline = codec_seconds(run, "activeDeadlineSeconds", -1),
	    .ttl = codec_seconds(run, "ttlSecondsAfterFinished", -1),
	};
	if (j->kind->type == TYPE_MPI_JOB && mpi_job_is_beta(o)) {
		const char *when = json_str(spec, "launcherCreationPolicy");
		s->kind = TRAINING_MPI_BETA;
		s->wait_for_workers = when && strcmp(when, "WaitForWorkersReady") == 0;
		s->launcher_works = json_bool(spec, "runLauncherAsWorker", false);
	}
	const char *success = json_str(spec, "successPolicy");
	s->all_workers = success && strcmp(success, "AllWorkers") == 0;
	j->ttl = s->ttl;
	if (same) {
		memcpy(s->types, was.types, sizeof(s->types));
		s->n_types = was.n_types;
	} else {
		read_replicas(j, k, json_get(spec, training_kinds[k].replicas));
	}
	if (fresh)
		read_training_state(j, json_get(o, "status"));
}

/* The opening of one role's status; the mpi-operator says no selector. */
static void print_selector(const struct sim_job *j, const char *type, struct buf *out)
{
	char lower[24];

	snprintf(lower, sizeof(lower), "%s", type);
	for (char *p = lower; *p; p++)
		*p |= 0x20;
	buf_addf(out,
		 "\"selector\":\"training.kubeflow.org/job-name=%s,"
		 "training.kubeflow.org/operator-name=%s-controller,"
		 "training.kubeflow.org/replica-type=%s\"",
		 j->name, j->kind->singular, lower);
}

static void print_count(const char **sep, const char *key, int32_t count, struct buf *out)
{
	if (!count)
		return;
	buf_addf(out, "%s\"%s\":%d", *sep, key, count);
	*sep = ",";
}

static void print_replicas(const struct sim_job *j, size_t t, struct buf *out)
{
	const struct training_state *s = &j->state.training;
	const char *sep = "";

	buf_addf(out, "\"%s\":{", j->spec.training.types[t].type);
	if (j->spec.training.kind != TRAINING_MPI_BETA) {
		print_selector(j, j->spec.training.types[t].type, out);
		sep = ",";
	}
	print_count(&sep, "active", s->replicas[t].active, out);
	print_count(&sep, "succeeded", s->replicas[t].succeeded, out);
	print_count(&sep, "failed", s->replicas[t].failed, out);
	buf_add_char(out, '}');
}

void training_codec_print(const struct sim_job *j, struct buf *out)
{
	const struct training_state *s = &j->state.training;
	const struct training_spec *spec = &j->spec.training;
	bool first = true;
	buf_add_str(out, "{\"conditions\":");
	conditions_print(&s->conditions, CONDITIONS_TRAINING, out);
	buf_add_str(out, ",\"replicaStatuses\":{");
	for (size_t t = 0; t < spec->n_types; t++) {
		if (!s->replicas[t].known)
			continue;
		buf_add_str(out, first ? "" : ",");
		print_replicas(j, t, out);
		first = false;
	}
	buf_add_char(out, '}');
	codec_print_time(out, "startTime", s->started);
	codec_print_time(out, "completionTime", s->completed);
	buf_add_char(out, '}');
}
