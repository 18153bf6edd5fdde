#include "kube_test.h"

#include "kinds/types.h"
#include "kube/copy_info.h"

#include <errno.h>

struct row {
	uint16_t type;
	const char *status;
	enum copy_phase want;
};

#define COND(t, s) "{'type':'" t "','status':'" s "'}"

static void phases_follow_each_kinds_own_words(void **state)
{
	static const struct row rows[] = {
	    {TYPE_JOB, "{}", COPY_CREATED},
	    {TYPE_JOB, "{'active':1,'ready':0}", COPY_RUNNING},
	    {TYPE_JOB, "{'active':0,'failed':1}", COPY_RUNNING},
	    {TYPE_JOB, "{'active':1,'conditions':[" COND("Suspended", "True") "]}", COPY_CREATED},
	    {TYPE_JOB, "{'active':1,'conditions':[" COND("Suspended", "False") "]}", COPY_RUNNING},
	    {TYPE_JOB, "{'active':1,'conditions':[" COND("FailureTarget", "True") "]}",
	     COPY_RUNNING},
	    {TYPE_JOB, "{'conditions':[" COND("Complete", "True") "],'succeeded':1}",
	     COPY_SUCCEEDED},
	    {TYPE_JOB, "{'conditions':[" COND("Complete", "False") "]}", COPY_CREATED},
	    {TYPE_JOB,
	     "{'conditions':[" COND("FailureTarget", "True") "," COND("Failed", "True") "]}",
	     COPY_FAILED},
	    {TYPE_PYTORCH_JOB, "{'conditions':[" COND("Created", "True") "]}", COPY_CREATED},
	    {TYPE_PYTORCH_JOB,
	     "{'conditions':[" COND("Created", "True") "," COND("Running", "True") "]}",
	     COPY_RUNNING},
	    {TYPE_PYTORCH_JOB,
	     "{'conditions':[" COND("Created", "True") "," COND("Running", "False") "," COND(
		 "Suspended", "True") "]}",
	     COPY_CREATED},
	    {TYPE_PYTORCH_JOB,
	     "{'conditions':[" COND("Created", "True") "," COND("Suspended", "False") "," COND(
		 "Running", "True") "]}",
	     COPY_RUNNING},
	    {TYPE_PYTORCH_JOB,
	     "{'conditions':[" COND("Created", "True") "," COND("Restarting", "True") "]}",
	     COPY_RUNNING},
	    {TYPE_TF_JOB,
	     "{'conditions':[" COND("Created", "True") "," COND("Running", "False") "," COND(
		 "Succeeded", "True") "]}",
	     COPY_SUCCEEDED},
	    {TYPE_MPI_JOB,
	     "{'conditions':[" COND("Failed", "True") "," COND("Created", "True") "]}",
	     COPY_FAILED},
	    {TYPE_MPI_JOB, "{'conditions':{}}", COPY_CREATED},
	    {TYPE_JOB_SET, "{'restarts':0}", COPY_CREATED},
	    {TYPE_JOB_SET, "{'terminalState':'Completed'}", COPY_SUCCEEDED},
	    {TYPE_JOB_SET, "{'terminalState':'Failed'}", COPY_FAILED},
	    {TYPE_JOB_SET, "{'conditions':[" COND("Completed", "True") "]}", COPY_SUCCEEDED},
	    {TYPE_JOB_SET, "{'conditions':[" COND("Failed", "True") "]}", COPY_FAILED},
	    {TYPE_JOB_SET,
	     "{'replicatedJobsStatus':[{'name':'a','active':0},{'name':'b','active':2}]}",
	     COPY_RUNNING},
	    {TYPE_JOB_SET,
	     "{'replicatedJobsStatus':[{'active':2}],'conditions':[" COND("Suspended", "True") "]}",
	     COPY_CREATED},
	    {TYPE_RAY_CLUSTER, "{'desiredWorkerReplicas':2}", COPY_CREATED},
	    {TYPE_RAY_CLUSTER, "{'availableWorkerReplicas':1}", COPY_RUNNING},
	    {TYPE_RAY_CLUSTER, "{'state':'ready'}", COPY_RUNNING},
	    {TYPE_RAY_CLUSTER, "{'state':'suspended','availableWorkerReplicas':1}", COPY_CREATED},
	    {TYPE_XGBOOST_JOB, "{'conditions':[{'type':'Failed','status':'True'}]}", COPY_FAILED},
	    {TYPE_PADDLE_JOB, "{'conditions':[{'type':'Succeeded','status':'True'}]}",
	     COPY_SUCCEEDED},
	    {TYPE_JAX_JOB, "{'conditions':[{'type':'Running','status':'True'}]}", COPY_RUNNING},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Initializing'}", COPY_CREATED},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Running','jobStatus':'PENDING'}", COPY_RUNNING},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Suspending'}", COPY_RUNNING},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Suspended'}", COPY_CREATED},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Complete','jobStatus':'SUCCEEDED'}",
	     COPY_SUCCEEDED},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Complete','jobStatus':'STOPPED'}", COPY_FAILED},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Failed','jobStatus':'SUCCEEDED'}", COPY_FAILED},
	    {TYPE_POD, "{'phase':'Succeeded'}", COPY_CREATED},
	    {TYPE_JOB, "[1,2]", COPY_CREATED},
	    {TYPE_JOB, "{'conditions':[7,[],'x',{}]}", COPY_CREATED},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena mem = ARENA_INIT;
		enum copy_phase got = copy_info_phase(rows[i].type, quoted(&mem, rows[i].status));
		if (got != rows[i].want)
			fail_msg("%u %s: %d", rows[i].type, rows[i].status, (int)got);
	}
	assert_int_equal(copy_info_phase(TYPE_JOB, SPAN_NONE), COPY_CREATED);
}

#define TOLD(t, s, m) "{'type':'" t "','status':'" s "','message':'" m "'}"

/* Kueue's Finished() of each kind (pkg/controller/jobs). */
static void the_end_is_told_in_each_kinds_own_words(void **state)
{
	static const struct {
		uint16_t type;
		const char *status, *want;
	} rows[] = {
	    {TYPE_JOB, "{}", ""},
	    {TYPE_JOB,
	     "{'conditions':[" TOLD("SuccessCriteriaMet", "True", "no") "," TOLD("Complete", "True",
										 "all ran") "]}",
	     "all ran"},
	    {TYPE_JOB,
	     "{'conditions':[" TOLD("Complete", "False", "no") "," TOLD("Failed", "True",
									"too \\u0041 late") "]}",
	     "too A late"},
	    {TYPE_JOB, "{'conditions':[" COND("Complete", "True") "]}", ""},
	    {TYPE_JOB,
	     "{'message':'not here','conditions':[{'type':'Failed','status':'True','message':7}]}",
	     ""},
	    {TYPE_JOB_SET,
	     "{'terminalState':'Completed','conditions':[" TOLD("Failed", "True", "no") "," TOLD(
		 "Completed", "True", "jobset completed successfully") "]}",
	     "jobset completed successfully"},
	    {TYPE_JOB_SET,
	     "{'conditions':[" TOLD("Complete", "True", "no") "," TOLD("Failed", "True",
								       "jobset failed") "]}",
	     "jobset failed"},
	    {TYPE_JOB_SET, "{'terminalState':'Completed'}", ""},
	    {TYPE_PYTORCH_JOB,
	     "{'conditions':[" TOLD("Created", "True", "no") "," TOLD(
		 "Succeeded", "True", "PyTorchJob p is successfully completed.") "]}",
	     "PyTorchJob p is successfully completed."},
	    {TYPE_TF_JOB, "{'conditions':[" TOLD("Failed", "True", "TFJob t has failed") "]}",
	     "TFJob t has failed"},
	    {TYPE_MPI_JOB, "{'conditions':[" TOLD("Succeeded", "True", "m") "]}", "m"},
	    {TYPE_XGBOOST_JOB, "{'conditions':[" TOLD("Succeeded", "True", "x") "]}", "x"},
	    {TYPE_PADDLE_JOB, "{'conditions':[" TOLD("Failed", "True", "p") "]}", "p"},
	    {TYPE_JAX_JOB, "{'conditions':[" TOLD("Failed", "True", "j") "]}", "j"},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Complete','message':'Job finished.'}",
	     "Job finished."},
	    {TYPE_RAY_JOB, "{'jobDeploymentStatus':'Failed'}", ""},
	    {TYPE_POD, "{'message':'m'}", ""},
	    {TYPE_JOB, "[1,2]", ""},
	    {TYPE_JOB, "{'conditions':[7,[],'x',{}]}", ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_arena mem = ARENA_INIT;
		auto_buf words = BUF_INIT;
		assert_int_equal(
		    copy_info_words(rows[i].type, quoted(&mem, rows[i].status), &words), 0);
		if (!span_is(buf_span(&words), rows[i].want))
			fail_msg("%u %s: %s", rows[i].type, rows[i].status, words.ptr);
	}
	auto_buf none = BUF_INIT;
	assert_int_equal(copy_info_words(TYPE_JOB, SPAN_NONE, &none), 0);
	assert_int_equal(none.len, 0);
}

static void suspend_is_read_where_each_kind_keeps_it(void **state)
{
	assert_true(copy_info_suspended(TYPE_JOB, SPAN("{\"suspend\":true}")));
	assert_false(copy_info_suspended(TYPE_JOB, SPAN("{\"suspend\":false}")));
	assert_true(
	    copy_info_suspended(TYPE_PYTORCH_JOB, SPAN("{\"runPolicy\":{\"suspend\":true}}")));
	assert_false(copy_info_suspended(TYPE_PYTORCH_JOB, SPAN("{\"suspend\":true}")));
	assert_true(copy_info_suspended(TYPE_JOB_SET, SPAN("{\"suspend\":true}")));
	assert_true(copy_info_suspended(TYPE_RAY_JOB, SPAN("{\"suspend\":true}")));
	assert_false(copy_info_suspended(TYPE_POD, SPAN("{\"suspend\":true}")));
	assert_false(copy_info_suspended(TYPE_JOB, SPAN_NONE));
}

static void a_copy_is_decoded_with_its_marks_and_its_status_as_it_is(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct copy_info c;
	struct err err = ERR_INIT;
	struct span json = quoted(
	    &mem,
	    "{'metadata':{'name':'j','namespace':'n','uid':'U','resourceVersion':'33',"
	    "'deletionTimestamp':'2026-01-01T00:00:00Z','labels':{'muster.dev/hub-uid':'H'},"
	    "'annotations':{'muster.dev/job-uid':'J','muster.dev/epoch':'18446744073709551615'}},"
	    "'spec':{'runPolicy':{'suspend':true}},'status':{ 'conditions' : [" COND(
		"Created", "True") "] }}");
	assert_int_equal(copy_info_decode(TYPE_PYTORCH_JOB, json, &mem, &c, &err), 0);
	assert_text(c.name, "j");
	assert_text(c.ns, "n");
	assert_text(c.uid, "U");
	assert_text(c.hub_uid, "H");
	assert_text(c.job_uid, "J");
	assert_true(c.epoch == UINT64_MAX);
	assert_int_equal(c.revision, 33);
	assert_true(c.deleting);
	assert_true(c.suspended);
	assert_int_equal(c.phase, COPY_CREATED);
	assert_text(c.status, "{ \"conditions\" : [{\"type\":\"Created\",\"status\":\"True\"}] }");
	assert_true(c.status.ptr < json.ptr || c.status.ptr > json.ptr + json.len);
}

static void a_foreign_object_carries_no_marks(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct copy_info c;
	struct err err = ERR_INIT;
	struct span json = quoted(&mem, "{'metadata':{'name':'j','uid':'U','annotations':{"
					"'muster.dev/epoch':'-1'},'labels':null}}");
	assert_int_equal(copy_info_decode(TYPE_JOB, json, &mem, &c, &err), 0);
	assert_null(c.hub_uid.ptr);
	assert_null(c.job_uid.ptr);
	assert_null(c.status.ptr);
	assert_int_equal(c.epoch, 0);
	assert_false(c.deleting);
}

static void a_copy_needs_a_name_a_uid_and_a_job_kind(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct copy_info c;
	struct err err = ERR_INIT;
	assert_int_equal(
	    copy_info_decode(TYPE_JOB, SPAN("{\"metadata\":{\"name\":\"j\"}}"), &mem, &c, &err),
	    -EDOM);
	assert_int_equal(
	    copy_info_decode(TYPE_JOB, SPAN("{\"metadata\":{\"uid\":\"j\"}}"), &mem, &c, &err),
	    -EDOM);
	assert_int_equal(copy_info_decode(TYPE_JOB, SPAN("[[]]"), &mem, &c, &err), -EDOM);
	assert_int_equal(copy_info_decode(TYPE_POD,
					  SPAN("{\"metadata\":{\"name\":\"j\",\"uid\":\"u\"}}"),
					  &mem, &c, &err),
			 -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(phases_follow_each_kinds_own_words),
	    cmocka_unit_test(the_end_is_told_in_each_kinds_own_words),
	    cmocka_unit_test(suspend_is_read_where_each_kind_keeps_it),
	    cmocka_unit_test(a_copy_is_decoded_with_its_marks_and_its_status_as_it_is),
	    cmocka_unit_test(a_foreign_object_carries_no_marks),
	    cmocka_unit_test(a_copy_needs_a_name_a_uid_and_a_job_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
