#include "base/json.h"
#include "member-sync/sim/codec.h"

void batch_job_codec_spec(struct batch_job_spec *s, const struct cJSON *spec)
{
	const char *mode = json_str(spec, "completionMode");
	bool has_completions = json_get(spec, "completions") != NULL;
	bool has_parallelism = json_get(spec, "parallelism") != NULL;
	*s = (struct batch_job_spec){
	    .parallelism = codec_count(spec, "parallelism", 1),
	    .completions = has_completions   ? codec_count(spec, "completions", 1)
			   : has_parallelism ? -1
					     : 1,
	    .backoff_limit = codec_int(spec, "backoffLimit", 6),
	    .active_deadline = codec_seconds(spec, "activeDeadlineSeconds", -1),
	    .ttl = codec_seconds(spec, "ttlSecondsAfterFinished", -1),
	    .indexed = mode && strcmp(mode, "Indexed") == 0,
	    .suspend = json_bool(spec, "suspend", false),
	};
	if (s->indexed && s->completions < 0)
		s->completions = s->parallelism;
}

void batch_job_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *spec = json_get(o, "spec"), *status = json_get(o, "status");
	struct batch_job_spec *s = &j->spec.batch;
	struct batch_job_state *st = &j->state.batch;
	batch_job_codec_spec(s, spec);
	j->ttl = s->ttl;
	job_codec_clear_sets(j);
	codec_add_set(j, "main", json_get(spec, "template"), NULL);
	if (!fresh)
		return;
	batch_job_state_done(st);
	*st = (struct batch_job_state){
	    .active = codec_int(status, "active", 0),
	    .ready = codec_int(status, "ready", 0),
	    .succeeded = codec_int(status, "succeeded", 0),
	    .failed = codec_int(status, "failed", 0),
	    .started = codec_time(status, "startTime"),
	    .completed = codec_time(status, "completionTime"),
	};
	codec_conditions(status, &st->conditions);
	const char *indexes = json_str(status, "completedIndexes");
	if (s->indexed && indexes) {
		st->done = xcalloc((size_t)s->completions, sizeof(bool));
		(void)!batch_job_parse_indexes(span_of(indexes), st->done, s->completions);
	}
}

void batch_job_codec_print(const struct sim_job *j, struct buf *out)
{
	const struct batch_job_state *s = &j->state.batch;
	buf_add_str(out, "{\"terminating\":0,\"uncountedTerminatedPods\":{}");
	buf_addf(out, ",\"ready\":%lld", (long long)s->ready);
	codec_print_count(out, "active", s->active);
	codec_print_count(out, "succeeded", s->succeeded);
	codec_print_count(out, "failed", s->failed);
	codec_print_time(out, "startTime", s->started);
	codec_print_time(out, "completionTime", s->completed);
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
