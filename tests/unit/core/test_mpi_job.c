/*
 * MPIJobs of both versions: kubeflow.org/v1 runs where a member has the training-operator's
 * definition, v2beta1 where it has the mpi-operator's.
 */
#include "kueue_words.h"

#include "base/json.h"
#include "core/job.h"

#define V1_ALONE   (1u << STREAM_MPIJOBS_V2BETA1) /* what such a member lacks */
#define BETA_ALONE (1u << STREAM_MPIJOBS)

#define ROLE(cpu)                                                                                  \
	"'template':{'spec':{'containers':[{'name':'mpi','image':'i','resources':{'requests':{"    \
	"'cpu':'" cpu "'}}}]}}"

/* A launcher of 1 cpu and two workers of 2. */
static void mpi_job(struct world *w, const char *name, bool beta, const char *labels)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'kubeflow.org/v1','kind':'MPIJob','metadata':{'name':'%s',"
		 "'namespace':'default','labels':{%s}},'spec':{%s'runPolicy':{'suspend':false},"
		 "'mpiReplicaSpecs':{'Launcher':{'replicas':1," ROLE(
		     "1") "},'Worker':{'replicas':2," ROLE("2") "}}}}",
		 name, labels, beta ? "'mpiImplementation':'OpenMPI'," : "");
	assert_int_equal(world_create(w, TYPE_MPI_JOB, b.ptr), ERR_NONE);
	world_settle(w);
}

static struct model *joined(struct world *w, const char *name, uint32_t lacks)
{
	w->lacks = lacks;
	struct model *m = world_join(w, name, 2, 8);

	m->run_time = 10 * USEC_PER_SEC;
	w->lacks = 0;
	return m;
}

static void each_version_runs_on_the_member_that_serves_it(void **state)
{
	struct world *w = *state;
	struct model *old = joined(w, "c1", V1_ALONE), *new = joined(w, "c2", BETA_ALONE);

	mpi_job(w, "a", true, "");
	mpi_job(w, "b", false, "");
	struct model_copy *a = model_copy(new, "default", "a"),
			  *b = model_copy(old, "default", "b");
	assert_non_null(a);
	assert_non_null(b);
	assert_non_null(strstr(a->path, "/apis/kubeflow.org/v2beta1/"));
	assert_non_null(strstr(a->body, "\"apiVersion\":\"kubeflow.org/v2beta1\""));
	assert_non_null(strstr(b->path, "/apis/kubeflow.org/v1/"));
	assert_false(a->suspended || b->suspended);
	world_restart(w);
	world_settle(w);
	world_advance(w, 20 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(world_condition(w, TYPE_MPI_JOB, "default", "a", "Succeeded", "status"),
			    "True");
	assert_string_equal(world_condition(w, TYPE_MPI_JOB, "default", "b", "Succeeded", "status"),
			    "True");
}

static void a_member_of_the_other_version_alone_is_told_as_the_obstacle(void **state)
{
	struct world *w = *state;

	joined(w, "c1", V1_ALONE);
	mpi_job(w, "a", true, "");
	assert_false(world_record(w, TYPE_MPI_JOB, "default", "a")->holds);
	const char *why = world_query(w, "namespaces/default/mpijobs/a/why");
	assert_non_null(strstr(why, "the cluster does not serve kubeflow.org/v2beta1 MPIJob"));
	joined(w, "c2", BETA_ALONE);
	world_settle(w);
	assert_true(world_record(w, TYPE_MPI_JOB, "default", "a")->holds);
}

/* Its copy is found, told and deleted through the version that there is. */
static void a_job_of_v2beta1_that_is_deleted_leaves_its_member(void **state)
{
	struct world *w = *state;
	struct model *m = joined(w, "c1", BETA_ALONE);

	mpi_job(w, "a", true, "");
	assert_non_null(model_copy(m, "default", "a"));
	assert_int_equal(world_delete(w, TYPE_MPI_JOB, "default", "a"), ERR_NONE);
	world_settle(w);
	assert_null(model_copy(m, "default", "a"));
	assert_false(world_exists(w, TYPE_MPI_JOB, "default", "a"));
}

static void the_mpi_job_of_kueues_documents_is_admitted_and_finishes(void **state)
{
	struct world *w = *state;
	struct model *m = joined(w, "c1", BETA_ALONE);
	char name[256];

	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 5, "");
	local_queue(w, "lq", "cq");
	mpi_job(w, "a", true, "'kueue.x-k8s.io/queue-name':'lq'");
	mpi_job(w, "b", true, "'kueue.x-k8s.io/queue-name':'lq'");
	const struct job *j = world_record(w, TYPE_MPI_JOB, "default", "a");
	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(j->workload->name));
	assert_int_equal(strncmp(name, "mpijob-a-", 9), 0);
	assert_string_equal(condition(w, "default", name, "Admitted", "status"), "True");
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", name, "spec.podSets.0.name"),
			    "launcher");
	assert_string_equal(world_field(w, TYPE_WORKLOAD, "default", name, "spec.podSets.1.name"),
			    "worker");
	assert_string_equal(
	    world_field(w, TYPE_WORKLOAD, "default", name, "metadata.ownerReferences.0.apiVersion"),
	    "kubeflow.org/v2beta1");
	assert_null(model_copy(m, "default", "b"));
	world_advance(w, 20 * USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(condition(w, "default", name, "Finished", "reason"), "Succeeded");
	assert_non_null(model_copy(m, "default", "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(each_version_runs_on_the_member_that_serves_it),
	    STORY(a_member_of_the_other_version_alone_is_told_as_the_obstacle),
	    STORY(a_job_of_v2beta1_that_is_deleted_leaves_its_member),
	    STORY(the_mpi_job_of_kueues_documents_is_admitted_and_finishes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
