/* The two MPIJobs of kubeflow.org, which share their rows. */
#include "kinds_test.h"

#include "kinds/mpi_job.h"

static const struct kind *mpi_kind(const char *version)
{
	const struct kind *k =
	    kind_by_gvk(kinds_hub(), SPAN("kubeflow.org"), span_of(version), SPAN("MPIJob"));

	assert_non_null(k);
	return k;
}

/* What a write of `object` in a version comes to, over `old` unless NULL; *ret_wrong as admit(). */
static struct cJSON *written(const char *version, const char *object, const struct cJSON *old,
			     struct buf *wrong, struct buf *warnings)
{
	struct cJSON *tree = tree_of(object);

	buf_clear(wrong);
	admit(mpi_kind(version), tree, old, wrong, warnings);
	return tree;
}

#define POD "'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}"
#define JOB(more, launcher, worker)                                                                \
	"{'metadata':{'name':'pi'},'spec':{" more "'mpiReplicaSpecs':{'Launcher':{" launcher POD   \
	"},'Worker':{" worker POD "}}}}"
#define V1(more)                                                                                   \
	"{'metadata':{'name':'pi'},'spec':{" more "'mpiReplicaSpecs':{'Launcher':{'template':{"    \
	"'spec':{'containers':[{'name':'mpi','image':'i'}]}}}}}}"

static void a_job_of_v2beta1_has_the_defaults_of_the_mpi_operator(void **state)
{
	auto_buf wrong = BUF_INIT;
	auto_json *job = written("v2beta1", JOB("", "", "'replicas':2,"), NULL, &wrong, NULL);

	(void)state;
	assert_string_equal(wrong.ptr, "");
	assert_tree(json_get(job, "spec"),
		    "{'mpiReplicaSpecs':{'Launcher':{" POD
		    ",'restartPolicy':'OnFailure','replicas':1},'Worker':{'replicas':2," POD
		    ",'restartPolicy':'Never'}},'runPolicy':{'cleanPodPolicy':'None','suspend':"
		    "false},'mpiImplementation':'OpenMPI','launcherCreationPolicy':'AtStartup',"
		    "'runLauncherAsWorker':false,'sshAuthMountPath':'/root/.ssh',"
		    "'slotsPerWorker':1}");
}

static void a_job_stays_the_one_that_it_was_created_as(void **state)
{
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;
	auto_json *beta =
	    written("v2beta1", JOB("'mpiImplementation':'Intel',", "", "'replicas':2,"), NULL,
		    &wrong, NULL);
	auto_json *v1 = written("v1", V1("'mainContainer':'mpi',"), NULL, &wrong, NULL);

	(void)state;
	assert_true(mpi_job_is_beta(beta));
	assert_false(mpi_job_is_beta(v1));
	/* Each edited in the other's version, with what its writer knows of it. */
	auto_json *b =
	    written("v1", JOB("'slotsPerWorker':4,", "", "'replicas':3,"), beta, &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_string_equal(json_str(json_get(b, "spec"), "mpiImplementation"), "Intel");
	assert_true(mpi_job_is_beta(b));
	auto_json *a = written("v2beta1", V1("'mainContainer':'mpi','slotsPerWorker':4,"), v1,
			       &wrong, &warnings);
	assert_string_equal(wrong.ptr, "");
	assert_false(mpi_job_is_beta(a));
	assert_string_equal(json_str(json_get(a, "spec"), "mainContainer"), "mpi");
	assert_null(json_path(a, "spec", "sshAuthMountPath", NULL));
	assert_null(warnings.ptr);
	auto_json *forced =
	    written("v2beta1", V1("'mpiImplementation':'Intel',"), v1, &wrong, NULL);
	assert_false(mpi_job_is_beta(v1) || !forced);
	assert_string_equal(wrong.ptr, "spec.mpiImplementation: Invalid value: \"Intel\": field is "
				       "immutable\n");
}

static void what_v1_does_not_have_is_dropped_with_a_warning(void **state)
{
	auto_buf wrong = BUF_INIT, warnings = BUF_INIT;
	auto_json *job = written("v1", V1("'mpiImplementation':'Intel','sshAuthMountPath':'/s',"),
				 NULL, &wrong, &warnings);

	(void)state;
	assert_string_equal(wrong.ptr, "");
	assert_false(mpi_job_is_beta(job));
	assert_null(json_path(job, "spec", "sshAuthMountPath", NULL));
	assert_string_equal(warnings.ptr,
			    "spec.mpiImplementation: dropped; only a job that is created as "
			    "kubeflow.org/v2beta1 has it\nspec.sshAuthMountPath: dropped; only a "
			    "job that is created as kubeflow.org/v2beta1 has it\n");
}

static void a_job_of_v2beta1_keeps_the_mpi_operators_rules(void **state)
{
	static const struct {
		const char *job, *wrong;
	} cases[] = {
	    {JOB("", "'replicas':2,", "'replicas':1,"),
	     "spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: 2: must be 1\n"},
	    {JOB("", "", "'replicas':0,"), "spec.mpiReplicaSpecs[Worker].replicas: Invalid value: "
					   "0: must be greater than or equal to 1\n"},
	    {JOB("", "", "'replicas':1,'restartPolicy':'ExitCode',"),
	     "spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value: \"ExitCode\": "
	     "supported values: \"Never\", \"OnFailure\"\n"},
	    {JOB("'mpiImplementation':'LAM',", "", "'replicas':1,"),
	     "spec.mpiImplementation: Unsupported value: \"LAM\": supported values: \"OpenMPI\", "
	     "\"Intel\", \"MPICH\"\n"},
	    {JOB("'slotsPerWorker':-1,", "", "'replicas':1,"),
	     "spec.slotsPerWorker: Invalid value: -1: spec.slotsPerWorker in body should be "
	     "greater than or equal to 0\n"},
	    {JOB("'runPolicy':{'managedBy':'kubeflow.org/training-operator'},", "",
		 "'replicas':1,"),
	     "spec.runPolicy.managedBy: Unsupported value: \"kubeflow.org/training-operator\": "
	     "supported values: \"kubeflow.org/mpi-operator\", \"kueue.x-k8s.io/multikueue\"\n"},
	    {"{'metadata':{'name':'pi'},'spec':{'mpiReplicaSpecs':{'Worker':{'replicas':1," POD
	     "}}}}",
	     "spec.mpiReplicaSpecs[Launcher]: Required value\n"},
	    {"{'metadata':{'name':'a2345678901234567890123456789012345678901234567890123456'},"
	     "'spec':{'mpiReplicaSpecs':{'Launcher':{" POD "}}}}",
	     "metadata.name: Invalid value: "
	     "\"a2345678901234567890123456789012345678901234567890123456\": its last worker's pod "
	     "would be named \"a2345678901234567890123456789012345678901234567890123456-worker-0\","
	     " which is no DNS label\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_buf wrong = BUF_INIT;
		auto_json *job = written("v2beta1", cases[i].job, NULL, &wrong, NULL);
		(void)job;
		assert_string_equal(wrong.ptr, cases[i].wrong);
	}
}

/* Its digest says which it is, and so its kind and its copy's version. */
static void a_copy_has_the_version_of_its_job(void **state)
{
	static const struct job_copy_options options = {
	    .hub_uid = "h", .job_uid = "u", .epoch = 1, .suspend = true};
	static const char *const versions[] = {"v1", "v2beta1"};

	(void)state;
	for (int n = 0; n < 2; n++) {
		auto_buf wrong = BUF_INIT, digest = BUF_INIT;
		auto_arena mem = ARENA_INIT;
		auto_json *job =
		    written(versions[n],
			    n ? JOB("'runLauncherAsWorker':true,", "", "'replicas':2,") : V1(""),
			    NULL, &wrong, NULL);
		auto_json *copy = NULL;
		const struct kind *stored = hub_kind(TYPE_MPI_JOB);
		struct job_digest d;
		assert_string_equal(stored->version, "v1");
		assert_int_equal(stored->digest(stored, job, &digest, NULL), 0);
		assert_int_equal(job_digest_unpack(buf_span(&digest), &mem, &d), 0);
		assert_int_equal(d.beta, n);
		assert_int_equal(d.launcher_works, n);
		const struct kind *k = job_digest_kind(kinds_hub(), stored, &d);
		assert_ptr_equal(k, mpi_kind(versions[n]));
		assert_int_equal(job_copy_tree(k, job, &options, &copy, NULL), 0);
		assert_string_equal(json_str(copy, "apiVersion"),
				    n ? "kubeflow.org/v2beta1" : "kubeflow.org/v1");
		assert_int_equal(json_get(json_get(copy, "spec"), "sshAuthMountPath") != NULL, n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_of_v2beta1_has_the_defaults_of_the_mpi_operator),
	    cmocka_unit_test(a_job_stays_the_one_that_it_was_created_as),
	    cmocka_unit_test(what_v1_does_not_have_is_dropped_with_a_warning),
	    cmocka_unit_test(a_job_of_v2beta1_keeps_the_mpi_operators_rules),
	    cmocka_unit_test(a_copy_has_the_version_of_its_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
