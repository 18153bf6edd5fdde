#include "kube_test.h"

#include "kinds/types.h"
#include "kube/copy_reclaim.h"

struct row {
	uint16_t type;
	const char *spec, *status;
	size_t n;
	int32_t want[3];
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		auto_arena mem = ARENA_INIT;
		struct span spec = quoted(&mem, rows[i].spec),
			    status = quoted(&mem, rows[i].status);
		const int32_t *pods;
		assert_int_equal(copy_reclaim_read(rows[i].type, spec, status, &mem, &pods),
				 rows[i].n);
		assert_true(rows[i].n ? pods != NULL : pods == NULL);
		for (size_t k = 0; k < rows[i].n; k++)
			assert_int_equal(pods[k], rows[i].want[k]);
	}
}

/* completions - succeeded are left: what they do not fill of the pods side by side is free. */
static void a_job_gives_what_it_will_not_fill_again(void **state)
{
	static const struct row rows[] = {
	    {TYPE_JOB, "{'parallelism':4,'completions':4}", "{'active':4}", 0, {0}},
	    {TYPE_JOB, "{'parallelism':4,'completions':4}", "{'succeeded':1}", 1, {1}},
	    {TYPE_JOB, "{'parallelism':4,'completions':4}", "{'succeeded':4}", 1, {4}},
	    {TYPE_JOB, "{'parallelism':4,'completions':9}", "{'succeeded':5}", 0, {0}},
	    {TYPE_JOB, "{'parallelism':4,'completions':9}", "{'succeeded':6}", 1, {1}},
	    /* A work queue: nobody starts once one succeeded. */
	    {TYPE_JOB, "{'parallelism':4}", "{'succeeded':1}", 1, {1}},
	    /* Only as many run side by side as shall complete. */
	    {TYPE_JOB, "{'parallelism':5,'completions':3}", "{'succeeded':1}", 1, {1}},
	    {TYPE_JOB, "{'parallelism':1,'completions':3}", "{'succeeded':2}", 0, {0}},
	    {TYPE_JOB, "{'parallelism':2,'completions':2}", "{'succeeded':-1}", 0, {0}},
	    {TYPE_JOB, "{'parallelism':2,'completions':2}", "{'succeeded':'1'}", 0, {0}},
	    {TYPE_JOB, "{'parallelism':2,'completions':2}", "[]", 0, {0}},
	};
	check(rows, ARRAY_LEN(rows));
}

#define SET(name, replicas, job)                                                                   \
	"{'name':'" name "','replicas':" replicas ",'template':{'spec':" job "}}"

static void a_job_set_gives_the_replicas_that_succeeded(void **state)
{
	static const char two[] = "{'replicatedJobs':[" SET("driver", "1", "{}") "," SET(
	    "workers", "3", "{'parallelism':4,'completions':2}") "]}";
	static const struct row rows[] = {
	    {TYPE_JOB_SET, two, "{}", 0, {0}},
	    {TYPE_JOB_SET,
	     two,
	     "{'replicatedJobsStatus':[{'name':'workers','succeeded':0,'ready':3}]}",
	     0,
	     {0}},
	    {TYPE_JOB_SET,
	     two,
	     "{'replicatedJobsStatus':[{'name':'workers','succeeded':2},{'name':'driver'}]}",
	     2,
	     {0, 4}},
	    {TYPE_JOB_SET,
	     two,
	     "{'replicatedJobsStatus':[{'name':'driver','succeeded':1}]}",
	     2,
	     {1, 0}},
	    /* More than there are is not believed. */
	    {TYPE_JOB_SET,
	     two,
	     "{'replicatedJobsStatus':[{'name':'workers','succeeded':4}]}",
	     0,
	     {0}},
	    {TYPE_JOB_SET, two, "{'replicatedJobsStatus':[1,{'succeeded':2}]}", 0, {0}},
	};
	check(rows, ARRAY_LEN(rows));
}

static void other_kinds_give_nothing(void **state)
{
	static const struct row rows[] = {
	    {TYPE_PYTORCH_JOB, "{}", "{'replicaStatuses':{'Worker':{'succeeded':2}}}", 0, {0}},
	    {TYPE_RAY_JOB, "{}", "{'succeeded':2}", 0, {0}},
	};
	check(rows, ARRAY_LEN(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_job_gives_what_it_will_not_fill_again),
	    cmocka_unit_test(a_job_set_gives_the_replicas_that_succeeded),
	    cmocka_unit_test(other_kinds_give_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
