#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/codec.h"
#include "member-sync/sim/duration.h"

static struct cJSON *template_annotation(const struct cJSON *template, const char *key)
{
	return json_path(template, "metadata", "annotations", key, NULL);
}

static void add_ray_set(struct sim_job *j, const char *name, int32_t pods,
			const struct cJSON *template)
{
	struct ray_job_spec *s = &j->spec.ray;
	if (s->n_sets == ARRAY_LEN(s->pods))
		return;
	s->pods[s->n_sets++] = pods;
	codec_add_set(j, name, template, "Never");
}

static const struct {
	const char *name;
	enum ray_job_submission mode;
} modes[] = {
    {"HTTPMode", RAY_HTTP},
    {"SidecarMode", RAY_SIDECAR},
    {"InteractiveMode", RAY_INTERACTIVE},
};

static enum ray_job_submission submission_of(const struct cJSON *spec)
{
	const char *name = json_str(spec, "submissionMode");

	for (size_t i = 0; name && i < ARRAY_LEN(modes); i++)
		if (strcmp(name, modes[i].name) == 0)
			return modes[i].mode;
	return RAY_K8S_JOB;
}

/* What KubeRay submits with when nothing else is said: the head's image, and little beside it. */
static struct cJSON *default_submitter(const struct cJSON *head)
{
	const char *image =
	    json_str(json_first(json_path(head, "spec", "containers", NULL)), "image");
	struct cJSON *c = json_object(), *resources = json_object();
	struct cJSON *requests = json_object(), *limits = json_object();

	json_set_str(c, "name", "ray-job-submitter");
	json_set_str(c, "image", image ? image : "");
	json_set_str(requests, "cpu", "500m");
	json_set_str(requests, "memory", "200Mi");
	json_set_str(limits, "cpu", "1");
	json_set_str(limits, "memory", "1Gi");
	json_set(resources, "requests", requests);
	json_set(resources, "limits", limits);
	json_set(c, "resources", resources);
	return c;
}

/* The submitter runs as long as the entrypoint, whose length the head's template tells. */
static void add_submitter(struct sim_job *j, const struct cJSON *spec, const struct cJSON *head)
{
	const char *duration = json_value_str(template_annotation(head, "muster.dev/sim-duration"));
	auto_json *template = json_dup(json_get(spec, "submitterPodTemplate"));

	if (!template) {
		struct cJSON *containers = json_array();
		template = json_object();
		json_append(containers, default_submitter(head));
		json_set(json_ensure_object(template, "spec"), "containers", containers);
	}
	struct cJSON *meta = json_ensure_object(template, "metadata");
	struct cJSON *annotations = meta ? json_ensure_object(meta, "annotations") : NULL;
	if (annotations && duration && !json_get(annotations, "muster.dev/sim-duration"))
		json_set_str(annotations, "muster.dev/sim-duration", duration);
	codec_add_set(j, "submitter", template, "Never");
}

/* The head's template with the container that submits beside it. */
static struct cJSON *with_sidecar(const struct cJSON *head)
{
	struct cJSON *template = json_dup(head);
	struct cJSON *containers = json_path(template, "spec", "containers", NULL);

	if (json_is(containers, JSON_ARRAY))
		json_append(containers, default_submitter(head));
	return template;
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
	    .ttl = codec_seconds(spec, "ttlSecondsAfterFinished", 0),
	    .active_deadline = codec_seconds(spec, "activeDeadlineSeconds", -1),
	    .backoff_limit = codec_count(spec, "backoffLimit", 0),
	    .submission = submission_of(spec),
	    .submitted = json_str(spec, "jobId") != NULL,
	    .duration = 10 * USEC_PER_SEC,
	};
	usec d;
	if (duration && duration_parse(span_of(duration), &d) == 0)
		s->duration = d;
	if (exit && num_parse_i64(span_of(exit), 0, 255, &code) == 0)
		s->exit_code = (int32_t)code;
	job_codec_clear_sets(j);
	auto_json *both = s->submission == RAY_SIDECAR ? with_sidecar(head) : NULL;
	add_ray_set(j, "head", 1, both ? both : head);
	json_foreach (json_get(cluster, "workerGroupSpecs"), g) {
		int64_t pods =
		    num_mul_sat(codec_count(g, "replicas", 1), codec_count(g, "numOfHosts", 1));
		add_ray_set(j, json_str(g, "groupName"),
			    (int32_t)num_min(pods, BATCH_JOB_MAX_COMPLETIONS),
			    json_get(g, "template"));
	}
	if (s->submission == RAY_K8S_JOB)
		add_submitter(j, spec, head);
}

static const char *ray_text(const struct cJSON *status, const char *key)
{
	const char *s = json_str(status, key);
	const char *known = s ? ray_job_text(span_of(s)) : NULL;
	return known ? known : "";
}

void ray_job_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh)
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
	    .failed = codec_count(status, "failed", 0),
	    .succeeded = codec_count(status, "succeeded", 0),
	    .started = codec_time(status, "startTime"),
	    .running = codec_time(json_get(status, "rayJobInfo"), "startTime"),
	    .ended = codec_time(status, "endTime"),
	};
	/* "<name>-<5 of the uid><attempt>": see ray_job_codec_print() */
	size_t fixed = strlen(j->name) + 6;
	int64_t attempt;
	st->attempt = st->failed;
	if (st->has_cluster && strlen(cluster) > fixed &&
	    num_parse_i64(span_of(cluster + fixed), 0, INT32_MAX, &attempt) == 0)
		st->attempt = (int32_t)attempt;
}

void ray_job_codec_print(const struct sim_job *j, struct buf *out)
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
	codec_print_count(out, "succeeded", s->succeeded);
	codec_print_count(out, "failed", s->failed);
	codec_print_time(out, "startTime", s->started);
	codec_print_time(out, "endTime", s->ended);
	if (s->running) {
		char text[CLOCK_TEXT_MAX];
		buf_addf(out, ",\"rayJobInfo\":{\"startTime\":\"%s\"}",
			 clock_format_micro(s->running, text));
	}
	buf_add_char(out, '}');
}
