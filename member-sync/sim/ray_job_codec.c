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
	    .duration = 10 * USEC_PER_SEC,
	};
	usec d;
	if (duration && duration_parse(span_of(duration), &d) == 0)
		s->duration = d;
	if (exit && num_parse_i64(span_of(exit), 0, 255, &code) == 0)
		s->exit_code = (int32_t)code;
	job_codec_clear_sets(j);
	add_ray_set(j, "head", 1, head);
	json_foreach (json_get(cluster, "workerGroupSpecs"), g) {
		int64_t pods =
		    num_mul_sat(codec_count(g, "replicas", 1), codec_count(g, "numOfHosts", 1));
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
