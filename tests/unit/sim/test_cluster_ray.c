/*
 * RayClusters of a whole simulated cluster.
 */
#include "cluster_harness.h"

#include "base/json.h"

static const char nodes_yaml[] = "kind: Node\n"
				 "metadata: {name: a}\n"
				 "status:\n"
				 "  allocatable: {cpu: \"8\"}\n";

static int setup(void **state)
{
	return harness_setup(nodes_yaml);
}

#define POD(name)                                                                                  \
	"'template':{'spec':{'containers':[{'name':'" name                                         \
	"','image':'x','resources':{'requests':{'cpu':'1'}}}]}}"
#define GROUP(name) "{'groupName':'" name "','replicas':2,'rayStartParams':{}," POD("w") "}"
#define RAY(groups)                                                                                \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'name':'r'},'spec':{"           \
	"'headGroupSpec':{'rayStartParams':{}," POD("head") "},'workerGroupSpecs':[" groups "]}}"

/* The name of the first pod whose name has this in it; free it. */
static char *pod_named(const char *part)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_range range = {.type = TYPE_POD, .ns = SPAN("default")};
	struct store_iter *it;
	struct store_object o;
	char *name = NULL;
	int failed;

	assert_int_equal(store_read_begin(cluster_backend(t.c)->truth, &r, &e), 0);
	assert_int_equal(store_iter_begin(r, &range, &it, &e), 0);
	while (!name && store_iter_next(it, &o, &failed))
		if (memmem(o.key.name.ptr, o.key.name.len, part, strlen(part)))
			name = xstrndup(o.key.name.ptr, o.key.name.len);
	store_iter_end(it);
	return name;
}

static void a_deleted_worker_is_made_again(void **state)
{
	create(TYPE_RAY_CLUSTER, RAY(GROUP("g")));
	for (int i = 0; i < 5; i++) {
		assert_int_equal(count(TYPE_POD), 3);
		auto_free char *worker = pod_named("worker");
		delete (TYPE_POD, "default", worker);
		if (i == 3)
			restart();
		pass(S);
	}
	auto_free char *head = pod_named("head");
	delete (TYPE_POD, "default", head);
	pass(S);
	assert_int_equal(count(TYPE_POD), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_deleted_worker_is_made_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
