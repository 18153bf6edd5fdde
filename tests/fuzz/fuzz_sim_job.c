/*
 * Any JSON as a job of every kind that the simulator drives: it must be read, decided about with
 * pods in every phase, and what is printed must be a JSON status that reads back to the same text.
 */
#include "base/json.h"
#include "kinds/kinds.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/duration.h"
#include "member-sync/sim/job_codec.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void job_done(struct sim_job *j)
{
	job_codec_clear_sets(j);
	vec_done(&j->sets);
	batch_job_state_done(&j->state.batch);
	batch_policy_destroy(j->spec.batch.policy);
	free(j->spec.job_set);
	free(j->state.job_set);
	free(j->job_uid);
	free(j->epoch);
	free(j->name);
}

static void decide(struct sim_job *j, usec now)
{
	struct plan plan = {0};
	struct job_set_plan set_plan = {0};
	struct job_set_child kids[6] = {0};
	struct pod_view pods[8];
	char name[] = "main", image[] = "img";
	const struct sim_container container = {name, image};
	bool services;
	for (int i = 0; i < 8; i++)
		pods[i] = (struct pod_view){.set = i % 3,
					    .index = i / 3,
					    .attempt = i % 2,
					    .phase = (enum pod_phase)(i % 4),
					    .ready = i % 4 == POD_RUNNING,
					    .exit_code = i,
					    .disrupted = i % 3 == 0,
					    .containers = &container,
					    .n_containers = 1,
					    .finished = now};
	for (int i = 0; i < 6 && j->type == SIM_JOB_SET && j->spec.job_set->n_jobs; i++)
		kids[i] = (struct job_set_child){.set = i % (int)j->spec.job_set->n_jobs,
						 .index = i / 2,
						 .complete = i == 1,
						 .failed = i == 4,
						 .name = "kid"};
	j->spec.batch.time_scale = 1;
	if (j->type == SIM_BATCH)
		batch_job_decide(&j->spec.batch, pods, 8, now, &j->state.batch, &plan);
	else if (j->type == SIM_TRAINING)
		training_decide(&(struct training_view){.spec = &j->spec.training,
							.ns = "default",
							.name = j->name,
							.pods = pods,
							.n_pods = 8,
							.now = now},
				&j->state.training, &plan, &services);
	else if (j->type == SIM_RAY)
		ray_job_decide(&j->spec.ray, pods, 8, now, &j->state.ray, &plan);
	else
		job_set_decide(j->spec.job_set, kids, j->spec.job_set->n_jobs ? 6 : 0, now,
			       j->state.job_set, &set_plan);
	plan_done(&plan);
	job_set_plan_done(&set_plan);
}

static void try_kind(const struct kind *k, enum sim_job_type type, struct span text)
{
	struct sim_job j = {.kind = k, .type = type, .name = xstrdup("fuzz")};
	struct store_object o = {.json = text};
	struct err e = ERR_INIT;
	auto_buf once = BUF_INIT;
	if (job_codec_read(&j, &o, true, &e) == 0) {
		for (int i = 0; i < 3; i++)
			decide(&j, (usec)1700000000 * USEC_PER_SEC + i * USEC_PER_SEC);
		job_codec_print_status(&j, &once);
		assert(json_check(buf_span(&once), NULL, &e) == 0);
		/* Again, as after a change of something else: what pods are made of stays. */
		size_t sets = j.sets.len;
		assert(job_codec_read(&j, &o, false, &e) == 0);
		assert(j.sets.len == sets);
	}
	job_done(&j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct {
		uint16_t type;
		enum sim_job_type as;
	} kinds[] = {{TYPE_JOB, SIM_BATCH},
		     {TYPE_JOB_SET, SIM_JOB_SET},
		     {TYPE_PYTORCH_JOB, SIM_TRAINING},
		     {TYPE_TF_JOB, SIM_TRAINING},
		     {TYPE_MPI_JOB, SIM_TRAINING},
		     {TYPE_RAY_JOB, SIM_RAY}};
	/* an own copy: the readers may look for what stands behind the end */
	auto_free char *copy = xstrndup((const char *)data, size);
	struct span text = span_make(copy, size);
	struct json_limits limits = {.max_bytes = 65536};
	usec d;
	(void)!duration_parse(text, &d);
	bool *done = xcalloc(1000, sizeof(bool));
	(void)!batch_job_parse_indexes(text, done, 1000);
	free(done);
	if (json_check(text, &limits, NULL) || json_text_type(text) != JSON_OBJECT)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		try_kind(kind_by_type(kinds_sim(), kinds[i].type), kinds[i].as, text);
	return 0;
}
