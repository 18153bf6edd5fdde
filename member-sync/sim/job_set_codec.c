#include "base/json.h"
#include "member-sync/sim/codec.h"

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
	codec_copy_name(to->name, sizeof(to->name), json_str(r, "name"));
	codec_copy_name(to->group, sizeof(to->group), json_str(r, "groupName"));
	if (!*to->group)
		codec_copy_name(to->group, sizeof(to->group), "default");
	to->replicas = codec_count(r, "replicas", 1);
	batch_job_codec_spec(&job, json_path(r, "template", "spec", NULL));
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

static const struct {
	const char *name;
	enum job_set_action action;
} actions[] = {
    {"FailJobSet", ACTION_FAIL},
    {"RestartJobSet", ACTION_RESTART},
    {"RestartJobSetAndIgnoreMaxRestarts", ACTION_RESTART_FREE},
    {"RestartJob", ACTION_RESTART_JOB},
    {"RestartJobAndIgnoreMaxRestarts", ACTION_RESTART_JOB_FREE},
};

static void read_rule(struct job_set_spec *s, const struct cJSON *r)
{
	struct job_set_rule *to = &s->rules[s->n_rules++];
	const char *action = json_str(r, "action");
	codec_copy_text(to->name, sizeof(to->name), json_str(r, "name"));
	to->action = ACTION_RESTART;
	for (size_t i = 0; action && i < ARRAY_LEN(actions); i++)
		if (strcmp(action, actions[i].name) == 0)
			to->action = actions[i].action;
	s->restarts_jobs |=
	    to->action == ACTION_RESTART_JOB || to->action == ACTION_RESTART_JOB_FREE;
	to->targets = target_bits(s, json_get(r, "targetReplicatedJobs"));
	json_foreach (json_get(r, "onJobFailureReasons"), it)
		if (to->n_reasons < ARRAY_LEN(to->reasons))
			codec_copy_text(to->reasons[to->n_reasons++], sizeof(to->reasons[0]),
					json_value_str(it));
	json_foreach (json_get(r, "onJobFailureMessagePatterns"), it)
		if (json_value_str(it) && to->n_patterns < ARRAY_LEN(to->patterns))
			to->patterns[to->n_patterns++] = xstrdup(json_value_str(it));
}

static void read_job_set_spec(struct job_set_spec *s, const struct cJSON *spec)
{
	const struct cJSON *failure = json_get(spec, "failurePolicy");
	const struct cJSON *success = json_get(spec, "successPolicy");
	const char *op = json_str(success, "operator");
	const char *strategy = json_str(failure, "restartStrategy");
	const char *order = json_str(json_get(spec, "startupPolicy"), "startupPolicyOrder");
	job_set_spec_done(s);
	*s = (struct job_set_spec){
	    .suspend = json_bool(spec, "suspend", false),
	    .has_failure_policy = failure != NULL,
	    .max_restarts = codec_count(failure, "maxRestarts", 0),
	    .any_success = op && strcmp(op, "Any") == 0,
	    .blocking = strategy && strcmp(strategy, "BlockingRecreate") == 0,
	    .in_order = order && strcmp(order, "InOrder") == 0,
	    .ttl = codec_seconds(spec, "ttlSecondsAfterFinished", -1),
	};
	json_foreach (json_get(spec, "replicatedJobs"), r)
		if (s->n_jobs < JOB_SET_MAX_REPLICATED)
			read_replicated(s, r);
	s->success_targets = target_bits(s, json_get(success, "targetReplicatedJobs"));
	json_foreach (json_get(failure, "rules"), r)
		if (s->n_rules < JOB_SET_MAX_RULES)
			read_rule(s, r);
}

static void read_restarts(struct job_set_state *st, int32_t set, const struct cJSON *list,
			  bool counted)
{
	int32_t i = 0;
	int64_t n;
	json_foreach (list, it) {
		struct job_set_restarts *r = NULL;
		if (json_value_int64(it, &n) == 0 && n > 0 && n <= INT32_MAX)
			r = job_set_add_restarts(st, set, i);
		if (r)
			*(counted ? &r->counted : &r->all) = (int32_t)n;
		i++;
	}
}

static void read_job_restarts(const struct job_set_spec *spec, struct job_set_state *st,
			      const struct cJSON *status)
{
	json_foreach (json_get(status, "replicatedJobsStatus"), r) {
		const char *name = json_str(r, "name");
		for (size_t i = 0; name && i < spec->n_jobs; i++) {
			if (strcmp(spec->jobs[i].name, name) != 0)
				continue;
			read_restarts(st, (int32_t)i, json_get(r, "jobRestarts"), false);
			read_restarts(st, (int32_t)i, json_get(r, "jobRestartsCountTowardsMax"),
				      true);
		}
	}
}

void job_set_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh)
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
	job_set_state_done(st);
	*st = (struct job_set_state){
	    .restarts = codec_count(status, "restarts", 0),
	    .restarts_counted = codec_count(status, "restartsCountTowardsMax", 0),
	    .terminal = !terminal			     ? ""
			: strcmp(terminal, "Completed") == 0 ? "Completed"
			: strcmp(terminal, "Failed") == 0    ? "Failed"
							     : "",
	};
	read_job_restarts(j->spec.job_set, st, status);
	codec_conditions(status, &st->conditions);
}

static void print_restarts(struct buf *out, const char *key, const struct job_set_restarts *r,
			   int32_t replicas, bool counted)
{
	buf_addf(out, ",\"%s\":[", key);
	for (int32_t i = 0; i < replicas && i < JOB_SET_MAX_RESTARTED; i++)
		buf_addf(out, "%s%d", i ? "," : "", counted ? r[i].counted : r[i].all);
	buf_add_char(out, ']');
}

void job_set_codec_print(const struct sim_job *j, struct buf *out)
{
	const struct job_set_state *s = j->state.job_set;
	const struct job_set_spec *spec = j->spec.job_set;
	buf_addf(out, "{\"restarts\":%d", s->restarts);
	codec_print_count(out, "restartsCountTowardsMax", s->restarts_counted);
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
			 "\"active\":%d,\"suspended\":%d",
			 i ? "," : "", spec->jobs[i].name, n->ready, n->succeeded, n->failed,
			 n->active, n->suspended);
		if (s->job_restarts[i]) {
			print_restarts(out, "jobRestarts", s->job_restarts[i],
				       spec->jobs[i].replicas, false);
			print_restarts(out, "jobRestartsCountTowardsMax", s->job_restarts[i],
				       spec->jobs[i].replicas, true);
		}
		buf_add_char(out, '}');
	}
	buf_add_str(out, "]}");
}
