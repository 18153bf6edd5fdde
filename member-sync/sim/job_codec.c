/*
 * Job objects to typed records and back: spec and status in, status out. A tree is parsed once
 * when an object comes or its spec changes; status goes out as text.
 */
#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/duration.h"
#include <errno.h>

static int64_t int_of(const struct cJSON *o, const char *key, int64_t otherwise)
{
	int64_t v;
	return json_int64(o, key, &v) == 0 ? v : otherwise;
}

/* Seconds that stay far from the end of time when they are counted in microseconds. */
static int64_t seconds_of(const struct cJSON *o, const char *key, int64_t otherwise)
{
	int64_t v = int_of(o, key, otherwise);
	return v < 0 ? otherwise : num_min(v, (int64_t)10000000000);
}

/* Numbers of pods and indexes: what cannot be simulated is cut. */
static int32_t count_of(const struct cJSON *o, const char *key, int32_t otherwise)
{
	int64_t v = int_of(o, key, otherwise);
	return (int32_t)num_max(0, num_min(v, BATCH_JOB_MAX_COMPLETIONS));
}

static usec time_of(const struct cJSON *o, const char *key)
{
	usec t = 0;
	const char *s = json_str(o, key);
	return s && clock_parse(span_of(s), &t) == 0 ? t : 0;
}

static void copy_text(char *out, size_t size, const char *s)
{
	snprintf(out, size, "%s", s ? s : "");
}

/* A part of object names: what may not stand in one becomes a dash. */
static void copy_name(char *out, size_t size, const char *s)
{
	size_t n = 0;
	for (; s && s[n] && n + 1 < size; n++) {
		char c = s[n];
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-';
		out[n] = good ? c : '-';
	}
	out[n] = '\0';
}

static char *print_or_empty(const struct cJSON *node)
{
	struct buf out = BUF_INIT;
	if (json_is(node, JSON_OBJECT))
		json_print(node, &out);
	else
		buf_add_str(&out, "{}");
	char *text = buf_steal(&out, NULL);
	return text ? text : xstrdup("{}");
}

static const char *const restart_policies[] = {"Always", "OnFailure", "Never"};

/* One pod set from a pod template. restart: what the controller writes into the pods, or NULL. */
static void add_set(struct sim_job *j, const char *name, const struct cJSON *template,
		    const char *restart)
{
	struct sim_set set = {0};
	const struct cJSON *meta = json_get(template, "metadata");
	auto_json *spec = json_dup(json_get(template, "spec"));
	if (restart && spec)
		json_set_str(spec, "restartPolicy", restart);
	if (spec)
		json_remove(spec, "nodeName");
	copy_name(set.name, sizeof(set.name), name);
	set.labels = print_or_empty(json_get(meta, "labels"));
	set.annotations = print_or_empty(json_get(meta, "annotations"));
	set.spec = print_or_empty(spec);
	vec_push(&j->sets, set);
}

static void clear_sets(struct sim_job *j)
{
	vec_foreach (&j->sets, s) {
		free(s->labels);
		free(s->annotations);
		free(s->spec);
	}
	vec_clear(&j->sets);
}

static struct cJSON *template_annotation(const struct cJSON *template, const char *key)
{
	return json_path(template, "metadata", "annotations", key, NULL);
}

/* ---- batch/v1 Job ---- */

static void read_batch_spec(struct batch_job_spec *s, const struct cJSON *spec)
{
	const char *mode = json_str(spec, "completionMode");
	bool has_completions = json_get(spec, "completions") != NULL;
	bool has_parallelism = json_get(spec, "parallelism") != NULL;
	*s = (struct batch_job_spec){
	    .parallelism = count_of(spec, "parallelism", 1),
	    .completions = has_completions   ? count_of(spec, "completions", 1)
			   : has_parallelism ? -1
					     : 1,
	    .backoff_limit = int_of(spec, "backoffLimit", 6),
	    .active_deadline = seconds_of(spec, "activeDeadlineSeconds", -1),
	    .ttl = seconds_of(spec, "ttlSecondsAfterFinished", -1),
	    .indexed = mode && strcmp(mode, "Indexed") == 0,
	    .suspend = json_bool(spec, "suspend", false),
	};
	if (s->indexed && s->completions < 0)
		s->completions = s->parallelism;
}

static void read_conditions(const struct cJSON *status, struct conditions *ret)
{
	auto_buf text = BUF_INIT;
	const struct cJSON *list = json_get(status, "conditions");
	if (list)
		json_print(list, &text);
	conditions_parse(list ? buf_span(&text) : SPAN_NONE, ret);
}

static void read_batch(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *spec = json_get(o, "spec"), *status = json_get(o, "status");
	struct batch_job_spec *s = &j->spec.batch;
	struct batch_job_state *st = &j->state.batch;
	read_batch_spec(s, spec);
	j->ttl = s->ttl;
	clear_sets(j);
	add_set(j, "main", json_get(spec, "template"), NULL);
	if (!fresh)
		return;
	batch_job_state_done(st);
	*st = (struct batch_job_state){
	    .active = int_of(status, "active", 0),
	    .ready = int_of(status, "ready", 0),
	    .succeeded = int_of(status, "succeeded", 0),
	    .failed = int_of(status, "failed", 0),
	    .started = time_of(status, "startTime"),
	    .completed = time_of(status, "completionTime"),
	};
	read_conditions(status, &st->conditions);
	const char *indexes = json_str(status, "completedIndexes");
	if (s->indexed && indexes) {
		st->done = xcalloc((size_t)s->completions, sizeof(bool));
		(void)!batch_job_parse_indexes(span_of(indexes), st->done, s->completions);
	}
}

static void print_time(struct buf *out, const char *key, usec t)
{
	char text[CLOCK_TEXT_MAX];
	if (t)
		buf_addf(out, ",\"%s\":\"%s\"", key, clock_format(t, text));
}

static void print_count(struct buf *out, const char *key, int64_t n)
{
	if (n)
		buf_addf(out, ",\"%s\":%lld", key, (long long)n);
}

static void print_batch(const struct sim_job *j, struct buf *out)
{
	const struct batch_job_state *s = &j->state.batch;
	buf_add_str(out, "{\"terminating\":0,\"uncountedTerminatedPods\":{}");
	buf_addf(out, ",\"ready\":%lld", (long long)s->ready);
	print_count(out, "active", s->active);
	print_count(out, "succeeded", s->succeeded);
	print_count(out, "failed", s->failed);
	print_time(out, "startTime", s->started);
	print_time(out, "completionTime", s->completed);
	if (j->spec.batch.indexed && s->done) {
		buf_add_str(out, ",\"completedIndexes\":\"");
		batch_job_print_indexes(s->done, j->spec.batch.completions, out);
		buf_add_char(out, '"');
	}
	if (s->conditions.n) {
		buf_add_str(out, ",\"conditions\":");
		conditions_print(&s->conditions, CONDITIONS_BATCH, out);
	}
	buf_add_char(out, '}');
}

/* ---- training-operator's kinds ---- */

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
     {"PS", "Master", "Chief", "Worker", "Evaluator"}},
    {TYPE_MPI_JOB, TRAINING_MPI, "mpiReplicaSpecs", "Never", {"Launcher", "Worker"}},
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
	copy_text(to->type, sizeof(to->type), type);
	to->replicas = count_of(r, "replicas", 1);
	to->restart = restart_of(restart);
	/* ExitCode is the operator's own: its pods never restart in place */
	add_set(j, type, json_get(r, "template"),
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
	*st = (struct training_state){.started = time_of(status, "startTime"),
				      .completed = time_of(status, "completionTime")};
	read_conditions(status, &st->conditions);
	const struct cJSON *replicas = json_get(status, "replicaStatuses");
	for (size_t t = 0; t < j->spec.training.n_types; t++) {
		const struct cJSON *r = json_get(replicas, j->spec.training.types[t].type);
		st->replicas[t].known = r != NULL;
		st->replicas[t].active = count_of(r, "active", 0);
		st->replicas[t].succeeded = count_of(r, "succeeded", 0);
		st->replicas[t].failed = count_of(r, "failed", 0);
	}
}

static void read_training(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *spec = json_get(o, "spec"), *run = json_get(spec, "runPolicy");
	struct training_spec *s = &j->spec.training;
	size_t k = 0;
	while (training_kinds[k].type != j->kind->type)
		k++;
	*s = (struct training_spec){
	    .kind = training_kinds[k].kind,
	    .suspend = json_bool(run, "suspend", false),
	    .elastic = json_get(spec, "elasticPolicy") != NULL,
	    .clean = clean_of(json_str(run, "cleanPodPolicy")),
	    .backoff_limit = int_of(run, "backoffLimit", -1),
	    .active_deadline = seconds_of(run, "activeDeadlineSeconds", -1),
	    .ttl = seconds_of(run, "ttlSecondsAfterFinished", -1),
	};
	const char *success = json_str(spec, "successPolicy");
	s->all_workers = success && strcmp(success, "AllWorkers") == 0;
	j->ttl = s->ttl;
	clear_sets(j);
	const struct cJSON *replicas = json_get(spec, training_kinds[k].replicas);
	for (size_t t = 0; t < TRAINING_MAX_TYPES && training_kinds[k].types[t]; t++) {
		const struct cJSON *r = json_get(replicas, training_kinds[k].types[t]);
		if (r)
			read_replica(j, k, training_kinds[k].types[t], r);
	}
	if (fresh)
		read_training_state(j, json_get(o, "status"));
}

static void print_training(const struct sim_job *j, struct buf *out)
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
		char lower[24];
		snprintf(lower, sizeof(lower), "%s", spec->types[t].type);
		for (char *p = lower; *p; p++)
			*p |= 0x20;
		buf_addf(out,
			 "%s\"%s\":{\"selector\":\"training.kubeflow.org/job-name=%s,"
			 "training.kubeflow.org/operator-name=%s-controller,"
			 "training.kubeflow.org/replica-type=%s\"",
			 first ? "" : ",", spec->types[t].type, j->name, j->kind->singular, lower);
		print_count(out, "active", s->replicas[t].active);
		print_count(out, "succeeded", s->replicas[t].succeeded);
		print_count(out, "failed", s->replicas[t].failed);
		buf_add_char(out, '}');
		first = false;
	}
	buf_add_char(out, '}');
	print_time(out, "startTime", s->started);
	print_time(out, "completionTime", s->completed);
	buf_add_char(out, '}');
}

/* ---- JobSet ---- */

static uint32_t target_bits(const struct job_set_spec *s, const struct cJSON *names)
{
	uint32_t bits = 0;
	json_foreach (names, it)
		for (size_t i = 0; i < s->n_jobs; i++)
			if (json_value_str(it) && strcmp(json_value_str(it), s->jobs[i].name) == 0)
				bits |= 1u << i;
	return bits;
}

static void read_replicated(struct job_set_spec *s, const struct cJSON *r)
{
	struct job_set_replicated *to = &s->jobs[s->n_jobs];
	struct batch_job_spec job;
	copy_name(to->name, sizeof(to->name), json_str(r, "name"));
	copy_name(to->group, sizeof(to->group), json_str(r, "groupName"));
	if (!*to->group)
		copy_name(to->group, sizeof(to->group), "default");
	to->replicas = count_of(r, "replicas", 1);
	read_batch_spec(&job, json_path(r, "template", "spec", NULL));
	to->parallelism = job.parallelism;
	to->completions = job.completions;
	to->depends_on = -1;
	const struct cJSON *depends = json_at(json_get(r, "dependsOn"), 0);
	const char *name = json_str(depends, "name"), *status = json_str(depends, "status");
	for (size_t i = 0; name && i < s->n_jobs; i++)
		if (strcmp(s->jobs[i].name, name) == 0)
			to->depends_on = (int32_t)i;
	to->depends_complete = status && strcmp(status, "Complete") == 0;
	s->n_jobs++;
}

static void read_rule(struct job_set_spec *s, const struct cJSON *r)
{
	struct job_set_rule *to = &s->rules[s->n_rules++];
	const char *action = json_str(r, "action");
	copy_text(to->name, sizeof(to->name), json_str(r, "name"));
	to->action = ACTION_RESTART;
	if (action && strcmp(action, "FailJobSet") == 0)
		to->action = ACTION_FAIL;
	else if (action && strstr(action, "IgnoreMaxRestarts"))
		to->action = ACTION_RESTART_FREE;
	to->targets = target_bits(s, json_get(r, "targetReplicatedJobs"));
	json_foreach (json_get(r, "onJobFailureReasons"), it)
		if (to->n_reasons < ARRAY_LEN(to->reasons))
			copy_text(to->reasons[to->n_reasons++], sizeof(to->reasons[0]),
				  json_value_str(it));
}

static void read_job_set_spec(struct job_set_spec *s, const struct cJSON *spec)
{
	const struct cJSON *failure = json_get(spec, "failurePolicy");
	const struct cJSON *success = json_get(spec, "successPolicy");
	const char *op = json_str(success, "operator");
	const char *order = json_str(json_get(spec, "startupPolicy"), "startupPolicyOrder");
	*s = (struct job_set_spec){
	    .suspend = json_bool(spec, "suspend", false),
	    .has_failure_policy = failure != NULL,
	    .max_restarts = count_of(failure, "maxRestarts", 0),
	    .any_success = op && strcmp(op, "Any") == 0,
	    .in_order = order && strcmp(order, "InOrder") == 0,
	    .ttl = seconds_of(spec, "ttlSecondsAfterFinished", -1),
	};
	json_foreach (json_get(spec, "replicatedJobs"), r)
		if (s->n_jobs < JOB_SET_MAX_REPLICATED)
			read_replicated(s, r);
	s->success_targets = target_bits(s, json_get(success, "targetReplicatedJobs"));
	json_foreach (json_get(failure, "rules"), r)
		if (s->n_rules < JOB_SET_MAX_RULES)
			read_rule(s, r);
}

static void read_job_set(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *status = json_get(o, "status");
	if (!j->spec.job_set)
		j->spec.job_set = xcalloc(1, sizeof(*j->spec.job_set));
	if (!j->state.job_set)
		j->state.job_set = xcalloc(1, sizeof(*j->state.job_set));
	read_job_set_spec(j->spec.job_set, json_get(o, "spec"));
	j->ttl = j->spec.job_set->ttl;
	if (!fresh)
		return;
	struct job_set_state *st = j->state.job_set;
	const char *terminal = json_str(status, "terminalState");
	*st = (struct job_set_state){
	    .restarts = count_of(status, "restarts", 0),
	    .restarts_counted = count_of(status, "restartsCountTowardsMax", 0),
	    .terminal = !terminal			     ? ""
			: strcmp(terminal, "Completed") == 0 ? "Completed"
			: strcmp(terminal, "Failed") == 0    ? "Failed"
							     : "",
	};
	read_conditions(status, &st->conditions);
}

static void print_job_set(const struct sim_job *j, struct buf *out)
{
	const struct job_set_state *s = j->state.job_set;
	const struct job_set_spec *spec = j->spec.job_set;
	buf_addf(out, "{\"restarts\":%d", s->restarts);
	print_count(out, "restartsCountTowardsMax", s->restarts_counted);
	if (*s->terminal)
		buf_addf(out, ",\"terminalState\":\"%s\"", s->terminal);
	if (s->conditions.n) {
		buf_add_str(out, ",\"conditions\":");
		conditions_print(&s->conditions, CONDITIONS_META, out);
	}
	buf_add_str(out, ",\"replicatedJobsStatus\":[");
	for (size_t i = 0; i < spec->n_jobs; i++) {
		const struct job_set_counts *n = &s->counts[i];
		buf_addf(out,
			 "%s{\"name\":\"%s\",\"ready\":%d,\"succeeded\":%d,\"failed\":%d,"
			 "\"active\":%d,\"suspended\":%d}",
			 i ? "," : "", spec->jobs[i].name, n->ready, n->succeeded, n->failed,
			 n->active, n->suspended);
	}
	buf_add_str(out, "]}");
}

/* ---- RayJob ---- */

static void add_ray_set(struct sim_job *j, const char *name, int32_t pods,
			const struct cJSON *template)
{
	struct ray_job_spec *s = &j->spec.ray;
	if (s->n_sets == ARRAY_LEN(s->pods))
		return;
	s->pods[s->n_sets++] = pods;
	add_set(j, name, template, restart_policies[POD_RESTART_NEVER]);
}

static void read_ray_spec(struct sim_job *j, const struct cJSON *spec)
{
	struct ray_job_spec *s = &j->spec.ray;
	const struct cJSON *cluster = json_get(spec, "rayClusterSpec");
	const struct cJSON *head = json_path(cluster, "headGroupSpec", "template", NULL);
	const char *duration = json_value_str(template_annotation(head, "muster.dev/sim-duration"));
	const char *exit = json_value_str(template_annotation(head, "muster.dev/sim-exit-code"));
	int64_t code = 0;
	*s = (struct ray_job_spec){
	    .suspend = json_bool(spec, "suspend", false),
	    .shutdown = json_bool(spec, "shutdownAfterJobFinishes", false),
	    .ttl = seconds_of(spec, "ttlSecondsAfterFinished", 0),
	    .active_deadline = seconds_of(spec, "activeDeadlineSeconds", -1),
	    .backoff_limit = count_of(spec, "backoffLimit", 0),
	    .duration = 10 * USEC_PER_SEC,
	};
	usec d;
	if (duration && duration_parse(span_of(duration), &d) == 0)
		s->duration = d;
	if (exit && num_parse_i64(span_of(exit), 0, 255, &code) == 0)
		s->exit_code = (int32_t)code;
	clear_sets(j);
	add_ray_set(j, "head", 1, head);
	json_foreach (json_get(cluster, "workerGroupSpecs"), g) {
		int64_t pods =
		    num_mul_sat(count_of(g, "replicas", 1), count_of(g, "numOfHosts", 1));
		add_ray_set(j, json_str(g, "groupName"),
			    (int32_t)num_min(pods, BATCH_JOB_MAX_COMPLETIONS),
			    json_get(g, "template"));
	}
}

static const char *ray_text(const struct cJSON *status, const char *key)
{
	const char *s = json_str(status, key);
	const char *known = s ? ray_job_text(span_of(s)) : NULL;
	return known ? known : "";
}

static void read_ray(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *status = json_get(o, "status");
	read_ray_spec(j, json_get(o, "spec"));
	j->ttl = -1; /* RayJob's own is about its cluster: ray_job_decide() */
	if (!fresh)
		return;
	const char *cluster = json_str(status, "rayClusterName");
	struct ray_job_state *st = &j->state.ray;
	*st = (struct ray_job_state){
	    .job = ray_text(status, "jobStatus"),
	    .deployment = ray_text(status, "jobDeploymentStatus"),
	    .reason = ray_text(status, "reason"),
	    .message = "",
	    .has_cluster = cluster && *cluster,
	    .failed = count_of(status, "failed", 0),
	    .succeeded = count_of(status, "succeeded", 0),
	    .started = time_of(status, "startTime"),
	    .running = time_of(json_get(status, "rayJobInfo"), "startTime"),
	    .ended = time_of(status, "endTime"),
	};
	/* "<name>-<5 of the uid><attempt>": see print_ray() */
	size_t fixed = strlen(j->name) + 6;
	int64_t attempt;
	st->attempt = st->failed;
	if (st->has_cluster && strlen(cluster) > fixed &&
	    num_parse_i64(span_of(cluster + fixed), 0, INT32_MAX, &attempt) == 0)
		st->attempt = (int32_t)attempt;
}

static void print_ray(const struct sim_job *j, struct buf *out)
{
	const struct ray_job_state *s = &j->state.ray;
	buf_addf(out, "{\"jobStatus\":\"%s\",\"jobDeploymentStatus\":\"%s\",\"jobId\":\"%s-%.5s\"",
		 s->job, s->deployment, j->name, j->uid_text);
	if (s->has_cluster)
		buf_addf(out, ",\"rayClusterName\":\"%s-%.5s%d\"", j->name, j->uid_text,
			 s->attempt);
	if (*s->reason)
		buf_addf(out, ",\"reason\":\"%s\"", s->reason);
	if (*s->message)
		buf_addf(out, ",\"message\":\"%s\"", s->message);
	print_count(out, "succeeded", s->succeeded);
	print_count(out, "failed", s->failed);
	print_time(out, "startTime", s->started);
	print_time(out, "endTime", s->ended);
	if (s->running) {
		char text[CLOCK_TEXT_MAX];
		buf_addf(out, ",\"rayJobInfo\":{\"startTime\":\"%s\"}",
			 clock_format_micro(s->running, text));
	}
	buf_add_char(out, '}');
}

/* ---- all ---- */

static char *annotation_of(const struct cJSON *meta, const char *key)
{
	return xstrdup(json_str(json_get(meta, "annotations"), key));
}

static int32_t label_number(const struct cJSON *meta, const char *key)
{
	const char *s = json_str(json_get(meta, "labels"), key);
	int64_t v;
	return s && num_parse_i64(span_of(s), 0, INT32_MAX, &v) == 0 ? (int32_t)v : 0;
}

static void read_meta(struct sim_job *j, const struct cJSON *o)
{
	const struct cJSON *meta = json_get(o, "metadata");
	free(j->job_uid);
	free(j->epoch);
	j->job_uid = annotation_of(meta, COPY_ANNOTATION_JOB_UID);
	j->epoch = annotation_of(meta, COPY_ANNOTATION_EPOCH);
	j->created = time_of(meta, "creationTimestamp");
	j->index = label_number(meta, "jobset.sigs.k8s.io/job-index");
	j->attempt = label_number(meta, "jobset.sigs.k8s.io/restart-attempt");
	const char *manager = json_str(json_get(o, "spec"), "managedBy");
	if (!manager)
		manager = json_str(json_path(o, "spec", "runPolicy", NULL), "managedBy");
	j->managed_elsewhere = manager && strstr(manager, "kueue") != NULL;
}

int job_codec_read(struct sim_job *j, const struct store_object *o, bool fresh, struct err *reterr)
{
	auto_json *tree = NULL;
	int rc = object_tree(o, &tree, reterr);
	if (rc)
		return rc;
	read_meta(j, tree);
	switch (j->type) {
	case SIM_BATCH:
		read_batch(j, tree, fresh);
		break;
	case SIM_JOB_SET:
		read_job_set(j, tree, fresh);
		break;
	case SIM_TRAINING:
		read_training(j, tree, fresh);
		break;
	case SIM_RAY:
		read_ray(j, tree, fresh);
		break;
	}
	return 0;
}

void job_codec_print_status(const struct sim_job *j, struct buf *out)
{
	switch (j->type) {
	case SIM_BATCH:
		print_batch(j, out);
		break;
	case SIM_JOB_SET:
		print_job_set(j, out);
		break;
	case SIM_TRAINING:
		print_training(j, out);
		break;
	case SIM_RAY:
		print_ray(j, out);
		break;
	}
}
