#include "base/json.h"
#include "member-sync/sim/codec.h"

#define DEFAULT_BACKOFF 6 /* retries; upstream's default */

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
	    .backoff_limit =
		codec_int(spec, "backoffLimit",
			  json_get(spec, "backoffLimitPerIndex") ? INT32_MAX : DEFAULT_BACKOFF),
	    .active_deadline = codec_seconds(spec, "activeDeadlineSeconds", -1),
	    .ttl = codec_seconds(spec, "ttlSecondsAfterFinished", -1),
	    .indexed = mode && strcmp(mode, "Indexed") == 0,
	    .suspend = json_bool(spec, "suspend", false),
	};
	if (s->indexed && s->completions < 0)
		s->completions = s->parallelism;
}

static enum batch_action action_of(const char *s)
{
	static const char *const names[] = {"Count", "Ignore", "FailIndex", "FailJob"};
	for (size_t i = 0; s && i < ARRAY_LEN(names); i++)
		if (strcmp(s, names[i]) == 0)
			return (enum batch_action)i;
	return BATCH_COUNT;
}

static void read_failure_rule(struct batch_policy *p, const struct cJSON *from)
{
	struct batch_failure_rule *r = &p->failure[p->n_failure++];
	const struct cJSON *exit = json_get(from, "onExitCodes");
	const char *op = json_str(exit, "operator");
	*r = (struct batch_failure_rule){
	    .action = action_of(json_str(from, "action")),
	    .by_exit_code = exit != NULL,
	    .not_in = op && strcmp(op, "NotIn") == 0,
	};
	codec_copy_text(r->container, sizeof(r->container), json_str(exit, "containerName"));
	json_foreach (json_get(exit, "values"), v) {
		int64_t code;
		if (json_value_int64(v, &code) == 0 && code >= 0 && code < 256)
			r->codes[code / 64] |= (uint64_t)1 << (code % 64);
	}
	/* No other condition is ever set on a simulated pod. */
	json_foreach (json_get(from, "onPodConditions"), c) {
		const char *type = json_str(c, "type"), *status = json_str(c, "status");
		r->by_disruption |= type && strcmp(type, "DisruptionTarget") == 0 &&
				    (!status || strcmp(status, "True") == 0);
	}
}

static void read_success_rule(struct batch_policy *p, const struct cJSON *from, int64_t completions)
{
	struct batch_success_rule *r = &p->success[p->n_success];
	const char *indexes = json_str(from, "succeededIndexes");
	*r = (struct batch_success_rule){.count = codec_int(from, "succeededCount", -1)};
	if (!indexes && r->count < 0)
		return;
	p->n_success++;
	if (!indexes)
		return;
	r->indexes = xcalloc((size_t)completions, sizeof(bool));
	(void)!batch_job_parse_indexes(span_of(indexes), r->indexes, completions);
}

static struct batch_policy *read_policy(const struct batch_job_spec *s, const struct cJSON *spec)
{
	const struct cJSON *failure = json_path(spec, "podFailurePolicy", "rules", NULL);
	const struct cJSON *success = json_path(spec, "successPolicy", "rules", NULL);
	if (!failure && !success && !json_get(spec, "backoffLimitPerIndex"))
		return NULL;
	struct batch_policy *p = xcalloc(1, sizeof(*p));
	p->limit_per_index = codec_int(spec, "backoffLimitPerIndex", -1);
	p->max_failed_indexes = codec_int(spec, "maxFailedIndexes", -1);
	json_foreach (failure, r)
		if (p->n_failure < BATCH_POLICY_MAX_RULES)
			read_failure_rule(p, r);
	json_foreach (success, r)
		if (s->indexed && p->n_success < BATCH_POLICY_MAX_RULES)
			read_success_rule(p, r, s->completions);
	return p;
}

static bool *read_indexes(const struct cJSON *status, const char *key, int64_t n)
{
	const char *text = json_str(status, key);
	bool *flags = text ? xcalloc((size_t)n, sizeof(*flags)) : NULL;
	if (text)
		(void)!batch_job_parse_indexes(span_of(text), flags, n);
	return flags;
}

/* An Indexed job may grow and shrink (elastic indexed jobs, KEP-3715). */
static void resize(bool **flags, int64_t from, int64_t to)
{
	if (!*flags || from == to)
		return;
	bool *now = xcalloc((size_t)to, sizeof(*now));
	memcpy(now, *flags, (size_t)(from < to ? from : to) * sizeof(*now));
	free(*flags);
	*flags = now;
}

void batch_job_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh)
{
	const struct cJSON *spec = json_get(o, "spec"), *status = json_get(o, "status");
	struct batch_job_spec *s = &j->spec.batch;
	struct batch_job_state *st = &j->state.batch;
	int64_t completions = s->completions;
	batch_policy_destroy(s->policy);
	batch_job_codec_spec(s, spec);
	s->policy = read_policy(s, spec);
	j->ttl = s->ttl;
	job_codec_clear_sets(j);
	codec_add_set(j, "main", json_get(spec, "template"), NULL);
	if (!fresh) {
		resize(&st->done, completions, s->completions);
		resize(&st->failed_indexes, completions, s->completions);
		return;
	}
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
	if (s->indexed) {
		st->done = read_indexes(status, "completedIndexes", s->completions);
		st->failed_indexes = read_indexes(status, "failedIndexes", s->completions);
	}
}

static void print_indexes(const struct sim_job *j, const char *key, const bool *flags,
			  struct buf *out)
{
	if (!flags)
		return;
	buf_addf(out, ",\"%s\":\"", key);
	batch_job_print_indexes(flags, j->spec.batch.completions, out);
	buf_add_char(out, '"');
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
	if (j->spec.batch.indexed) {
		print_indexes(j, "completedIndexes", s->done, out);
		print_indexes(j, "failedIndexes", s->failed_indexes, out);
	}
	if (s->conditions.n) {
		buf_add_str(out, ",\"conditions\":");
		conditions_print(&s->conditions, CONDITIONS_BATCH, out);
	}
	buf_add_char(out, '}');
}
