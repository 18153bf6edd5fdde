#include "base/json.h"
#include "base/num.h"
#include "member-sync/sim/codec.h"

static void add_set(struct sim_job *j, const char *name, int32_t pods, const struct cJSON *template)
{
	struct ray_cluster_spec *s = &j->spec.ray_cluster;

	if (s->n_sets == ARRAY_LEN(s->pods))
		return;
	s->pods[s->n_sets++] = pods;
	codec_add_set(j, name, template, NULL);
}

static void read_spec(struct sim_job *j, const struct cJSON *spec)
{
	struct ray_cluster_spec *s = &j->spec.ray_cluster;

	*s = (struct ray_cluster_spec){.suspend = json_bool(spec, "suspend", false)};
	job_codec_clear_sets(j);
	add_set(j, "head", 1, json_path(spec, "headGroupSpec", "template", NULL));
	json_foreach (json_get(spec, "workerGroupSpecs"), g) {
		int32_t replicas = codec_count(g, "replicas", 1);
		int32_t hosts = codec_count(g, "numOfHosts", 1);
		bool off = json_bool(g, "suspend", false);
		int64_t pods = off ? 0 : num_mul_sat(replicas, hosts);
		/* In pods, as KubeRay counts workers of several hosts. */
		s->workers = num_add_sat(s->workers, pods);
		s->min_workers = num_add_sat(
		    s->min_workers, num_mul_sat(codec_count(g, "minReplicas", replicas), hosts));
		s->max_workers = num_add_sat(
		    s->max_workers, num_mul_sat(codec_count(g, "maxReplicas", replicas), hosts));
		add_set(j, json_str(g, "groupName"),
			(int32_t)num_min(pods, BATCH_JOB_MAX_COMPLETIONS), json_get(g, "template"));
	}
}

void ray_cluster_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *status = json_get(o, "status");
	const char *state = json_str(status, "state");
	struct ray_cluster_state *st = &j->state.ray_cluster;

	read_spec(j, json_get(o, "spec"));
	j->ttl = -1;
	if (!fresh)
		return;
	*st = (struct ray_cluster_state){
	    .state = ray_cluster_text(span_of(state ? state : "")),
	    .ready = codec_count(status, "readyWorkerReplicas", 0),
	    .available = codec_count(status, "availableWorkerReplicas", 0),
	    .desired = codec_int(status, "desiredWorkerReplicas", 0),
	    .min = codec_int(status, "minWorkerReplicas", 0),
	    .max = codec_int(status, "maxWorkerReplicas", 0),
	    .updated = codec_time(status, "lastUpdateTime"),
	    .ready_at = codec_time(json_get(status, "stateTransitionTimes"), "ready"),
	    .suspended_at = codec_time(json_get(status, "stateTransitionTimes"), "suspended"),
	};
	codec_conditions(status, &st->conditions);
}

static void print_times(const struct ray_cluster_state *s, struct buf *out)
{
	char text[CLOCK_TEXT_MAX];
	const char *sep = "";

	if (!s->ready_at && !s->suspended_at)
		return;
	buf_add_str(out, ",\"stateTransitionTimes\":{");
	if (s->ready_at) {
		buf_addf(out, "\"ready\":\"%s\"", clock_format(s->ready_at, text));
		sep = ",";
	}
	if (s->suspended_at)
		buf_addf(out, "%s\"suspended\":\"%s\"", sep, clock_format(s->suspended_at, text));
	buf_add_char(out, '}');
}

void ray_cluster_codec_print(const struct sim_job *j, struct buf *out)
{
	const struct ray_cluster_state *s = &j->state.ray_cluster;

	buf_add_str(out, "{\"conditions\":");
	conditions_print(&s->conditions, CONDITIONS_META, out);
	codec_print_count(out, "desiredWorkerReplicas", s->desired);
	codec_print_count(out, "minWorkerReplicas", s->min);
	codec_print_count(out, "maxWorkerReplicas", s->max);
	codec_print_count(out, "availableWorkerReplicas", s->available);
	codec_print_count(out, "readyWorkerReplicas", s->ready);
	codec_print_time(out, "lastUpdateTime", s->updated);
	if (*s->state)
		buf_addf(out, ",\"state\":\"%s\"", s->state);
	print_times(s, out);
	buf_add_char(out, '}');
}
