/* Lists and watches under faults: nothing is lost, nothing told twice. */
#include "net_test.h"

static void an_expired_cursor_lists_again(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	fake_member_set_list(h->member, "nodes", "30", node_json("c", 29));
	fake_member_say(h->member, "nodes",
			"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
			"\"reason\":\"Expired\",\"message\":\"too old\"}}");
	size_t begin = await_op(h, at, FACT_LIST_BEGIN, STREAM_NODES);
	await_node(h, begin, "c", 29);
	size_t end = await_op(h, begin, FACT_LIST_END, STREAM_NODES);
	assert_int_equal(harness_fact(h, end)->revision, 30);
	await_requests(h, "nodes", "resourceVersion=30", 1);
}

static void revisions_that_go_back_list_again(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	fake_member_say(h->member, "nodes", node_event("MODIFIED", "a", 20));
	fake_member_say(h->member, "nodes",
			node_event("MODIFIED", "a", 20)); /* repeated: dropped */
	fake_member_say(h->member, "nodes", node_event("MODIFIED", "b", 15)); /* back in time */
	at = await_node(h, at, "a", 20);
	size_t begin = await_op(h, at, FACT_LIST_BEGIN, STREAM_NODES);
	for (size_t i = at + 1; i < begin; i++)
		assert_int_not_equal(harness_fact(h, i)->op, FACT_NODE);
}

static void an_event_cut_in_the_middle_is_not_delivered(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	fake_member_say(h->member, "nodes", node_event("ADDED", "b", 11));
	fake_member_say(h->member, "nodes", "HALF");
	at = await_node(h, at, "b", 11);
	await_requests(h, "nodes", "resourceVersion=11", 1);
	fake_member_say(h->member, "nodes", node_event("ADDED", "c", 12));
	await_node(h, at, "c", 12);
	assert_int_equal(fake_member_count(h->member, "nodes", "limit="), 1);
}

static void garbage_is_refused_and_the_watch_goes_on_from_the_last_good_event(void **state)
{
	struct harness *h = *state;
	static const char *const garbage[] = {
	    "not json", "{\"type\":\"ADDED\"}", "{\"type\":\"WHAT\",\"object\":{}}",
	    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}}",
	    "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\\u0000\"}}}"};

	size_t at = join_healthy(h, NULL);
	for (unsigned i = 0; i < ARRAY_LEN(garbage); i++) {
		await_requests(h, "nodes", "watch=true", i + 1);
		fake_member_say(h->member, "nodes", garbage[i]);
		await_requests(h, "nodes", "watch=true", i + 2);
		fake_member_say(h->member, "nodes", node_event("ADDED", "b", 11 + i));
		at = await_node(h, at, "b", 11 + i);
	}
	assert_int_equal(fake_member_count(h->member, "nodes", "limit="), 1);
}

static void a_watch_that_stays_broken_ends_in_a_list(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	for (unsigned i = 0; i < 3; i++) {
		await_requests(h, "nodes", "watch=true", i + 1);
		fake_member_say(h->member, "nodes", "not json");
	}
	await_op(h, at, FACT_LIST_BEGIN, STREAM_NODES);
}

static bool cut_first_list(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	int *lists = arg;

	if (!strstr(r->path, "/nodes?limit") || __atomic_add_fetch(lists, 1, __ATOMIC_RELAXED) > 1)
		return false;
	fake_write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
		      "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[");
	fake_write(c, node_json("a", 5));
	fake_close(c);
	return true;
}

static void a_list_shorter_than_its_length_starts_over(void **state)
{
	struct harness *h = *state;
	int lists = 0;
	struct fake_member_options o = {.hook = cut_first_list, .arg = &lists};

	size_t end = join_healthy(h, &o);
	size_t begin = await_op(h, 0, FACT_LIST_BEGIN, STREAM_NODES);
	size_t again = await_op(h, begin + 1, FACT_LIST_BEGIN, STREAM_NODES);
	assert_true(await_node(h, begin, "a", 5) < again);
	assert_true(again < end);
}

static void a_watch_that_ends_well_is_opened_again_from_its_cursor(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	fake_member_say(h->member, "nodes", node_event("ADDED", "b", 11));
	fake_member_say(h->member, "nodes", "END");
	await_requests(h, "nodes", "resourceVersion=11", 1);
	fake_member_say(h->member, "nodes", node_event("ADDED", "c", 12));
	await_node(h, at, "c", 12);
	assert_int_equal(fake_member_count(h->member, "nodes", "limit="), 1);
}

static bool hide_jobs(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	bool *hidden = arg;

	if (strcmp(r->path, "/apis/batch/v1") != 0 || !__atomic_load_n(hidden, __ATOMIC_RELAXED))
		return false;
	fake_reply(c, 404, "404 page not found");
	return true;
}

static void an_api_that_appears_later_is_listed_then(void **state)
{
	struct harness *h = *state;
	bool hidden = true;
	struct fake_member_options o = {.hook = hide_jobs, .arg = &hidden};

	join_healthy(h, &o);
	size_t at = await_condition(h, 0, MEMBER_READY);
	assert_false(harness_fact(h, at)->member_state.apis & 1u << STREAM_JOBS);
	assert_int_equal(fake_member_count(h->member, "GET", "/apis/batch/v1/jobs"), 0);
	__atomic_store_n(&hidden, false, __ATOMIC_RELAXED);
	at = await_condition(h, at + 1, MEMBER_READY);
	assert_true(harness_fact(h, at)->member_state.apis & 1u << STREAM_JOBS);
	await_op(h, at, FACT_LIST_END, STREAM_JOBS);
}

static bool serve_requests(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	const char *version = strstr(r->path, "/apis/autoscaling.x-k8s.io/");
	bool *newer = arg;

	if (!version)
		return false;
	version += strlen("/apis/autoscaling.x-k8s.io/");
	bool beta = strncmp(version, "v1beta1", 7) == 0;
	if (!beta && !__atomic_load_n(newer, __ATOMIC_RELAXED))
		fake_reply(c, 404, "404 page not found");
	else if (!strchr(version, '/'))
		fake_reply(c, 200,
			   "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":"
			   "\"provisioningrequests\"}]}");
	else
		fake_reply(c, 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	return true;
}

static void requests_for_nodes_are_read_in_the_newest_version_that_is_served(void **state)
{
	const uint32_t v1 = 1u << STREAM_PROVISIONING_REQUESTS,
		       beta = 1u << STREAM_PROVISIONING_REQUESTS_V1BETA1;
	struct harness *h = *state;
	bool newer = false;
	struct fake_member_options o = {.hook = serve_requests, .arg = &newer};

	join_healthy(h, &o);
	size_t at = await_condition(h, 0, MEMBER_READY);
	assert_int_equal(harness_fact(h, at)->member_state.apis & (v1 | beta), beta);
	await_op(h, at, FACT_LIST_END, STREAM_PROVISIONING_REQUESTS_V1BETA1);
	__atomic_store_n(&newer, true, __ATOMIC_RELAXED);
	at = await_condition(h, at + 1, MEMBER_READY);
	assert_int_equal(harness_fact(h, at)->member_state.apis & (v1 | beta), v1);
	await_op(h, at, FACT_LIST_END, STREAM_PROVISIONING_REQUESTS);
}

/* Which versions of MPIJobs there are: v1, v2beta1. */
static bool serve_mpi_jobs(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	bool *v1 = arg;
	const char *version = strstr(r->path, "/apis/kubeflow.org/");

	if (!version)
		return false;
	version += strlen("/apis/kubeflow.org/");
	if (strncmp(version, "v1", 2) == 0 && !__atomic_load_n(v1, __ATOMIC_RELAXED))
		fake_reply(c, 404, "404 page not found");
	else if (!strchr(version, '/'))
		fake_reply(c, 200,
			   "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"mpijobs\"}]}");
	else
		fake_reply(c, 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	return true;
}

static void a_kind_that_is_served_in_two_versions_is_watched_once(void **state)
{
	const uint32_t v1 = 1u << STREAM_MPIJOBS, beta = 1u << STREAM_MPIJOBS_V2BETA1;
	struct harness *h = *state;
	bool both = true;
	struct fake_member_options o = {.hook = serve_mpi_jobs, .arg = &both};

	join_healthy(h, &o);
	size_t at = await_condition(h, 0, MEMBER_READY);
	assert_int_equal(harness_fact(h, at)->member_state.apis & (v1 | beta), v1 | beta);
	await_op(h, at, FACT_LIST_END, STREAM_MPIJOBS);
	assert_int_equal(fake_member_count(h->member, "GET", "v2beta1/mpijobs"), 0);
	/* One version goes: the other one's stream takes over. */
	__atomic_store_n(&both, false, __ATOMIC_RELAXED);
	at = await_condition(h, at + 1, MEMBER_READY);
	assert_int_equal(harness_fact(h, at)->member_state.apis & (v1 | beta), beta);
	await_op(h, at, FACT_LIST_END, STREAM_MPIJOBS_V2BETA1);
}

static void a_restarted_member_is_resumed_without_a_list(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	await_requests(h, "GET", "watch=true", 3);
	struct fake_member_options o = {.port = fake_member_port(h->member)};
	fake_member_stop(h->member);
	at = await_condition(h, at, MEMBER_UNREACHABLE);
	harness_start_member(h, &o);
	at = await_condition(h, at, MEMBER_READY);
	await_requests(h, "nodes", "resourceVersion=10", 1);
	fake_member_say(h->member, "nodes", node_event("ADDED", "b", 11));
	await_node(h, at, "b", 11);
	assert_int_equal(fake_member_count(h->member, "GET", "limit="), 0);
}

RUN_NET("net-streams", T(an_expired_cursor_lists_again), T(revisions_that_go_back_list_again),
	T(an_event_cut_in_the_middle_is_not_delivered),
	T(garbage_is_refused_and_the_watch_goes_on_from_the_last_good_event),
	T(a_watch_that_stays_broken_ends_in_a_list), T(a_list_shorter_than_its_length_starts_over),
	T(a_watch_that_ends_well_is_opened_again_from_its_cursor),
	T(an_api_that_appears_later_is_listed_then),
	T(requests_for_nodes_are_read_in_the_newest_version_that_is_served),
	T(a_kind_that_is_served_in_two_versions_is_watched_once),
	T(a_restarted_member_is_resumed_without_a_list))
