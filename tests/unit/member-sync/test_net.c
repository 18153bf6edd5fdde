/*
 * The whole net thread against a scripted API server: what the core hears, fault by fault
 * (reliability-performance.md, fault catalogue "Member API").
 */
#include "net_harness.h"

#include "kube/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define OTHER_UID "22222222-2222-4333-8444-555555555555"

static int setup(void **state)
{
	*state = harness_create();
	return 0;
}

static int teardown(void **state)
{
	harness_destroy(*state);
	return 0;
}

static const char *message_of(struct harness *h, size_t i)
{
	return harness_fact(h, i)->member_state.message;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* Joins a healthy member with one node "a" at revision 5, list revision 10; synced. */
static size_t join_healthy(struct harness *h, const struct fake_member_options *o)
{
	harness_start_member(h, o);
	fake_member_set_list(h->member, "nodes", "10", node_json("a", 5));
	harness_join(h, 1, "m1", NULL, NULL);
	size_t at = await_condition(h, 0, MEMBER_READY);
	await_op(h, at, FACT_LIST_END, STREAM_PODS);
	return await_op(h, at, FACT_LIST_END, STREAM_NODES);
}

/* ---- joining ---- */

static void a_member_is_joined_listed_and_watched(void **state)
{
	struct harness *h = *state;

	size_t end = join_healthy(h, NULL);
	assert_int_equal(harness_fact(h, 0)->member_state.condition, MEMBER_CONNECTING);
	const struct fact *ready = harness_fact(h, await_condition(h, 0, MEMBER_READY));
	assert_string_equal(ready->member_state.kubernetes_version, "v1.33.1");
	assert_string_equal(ready->member_state.server, fake_member_url(h->member));
	assert_true(ready->member_state.apis_known);
	assert_true(ready->member_state.apis & 1u << STREAM_JOBS);
	assert_false(ready->member_state.apis & 1u << STREAM_JOBSETS);
	char uid[OBJECT_UID_TEXT];
	assert_string_equal(object_uid_format(ready->incarnation, uid), FAKE_UID);

	size_t begin = await_op(h, 0, FACT_LIST_BEGIN, STREAM_NODES);
	size_t node = await_node(h, begin, "a", 5);
	assert_true(begin < node && node < end);
	assert_int_equal(harness_fact(h, end)->revision, 10);
	assert_true(harness_fact(h, node)->node.ready);
	assert_int_equal(memcmp(harness_fact(h, node)->incarnation, ready->incarnation, 16), 0);

	fake_member_say(h->member, "nodes", node_event("ADDED", "b", 11));
	fake_member_say(h->member, "nodes", node_event("BOOKMARK", "x", 12));
	fake_member_say(h->member, "nodes", node_event("DELETED", "b", 13));
	size_t added = await_node(h, end, "b", 11);
	size_t mark = await_op(h, added, FACT_CURSOR, STREAM_NODES);
	assert_int_equal(harness_fact(h, mark)->revision, 12);
	size_t deleted = await_node(h, mark, "b", 13);
	assert_true(harness_fact(h, deleted)->deleted);
	await_requests(h, "GET", "jobs?labelSelector=", 2); /* a list and a watch */
}

static void a_stored_cursor_resumes_without_a_list(void **state)
{
	struct harness *h = *state;
	uint64_t cursors[STREAM_MAX] = {
	    [STREAM_NODES] = 40, [STREAM_PODS] = 41, [STREAM_JOBS] = 42};

	harness_start_member(h, NULL);
	harness_join(h, 1, "m1", NULL, cursors);
	size_t at = await_op(h, 0, FACT_CURSOR, STREAM_NODES);
	assert_int_equal(harness_fact(h, at)->revision, 40);
	await_op(h, 0, FACT_CURSOR, STREAM_JOBS);
	fake_member_say(h->member, "nodes", node_event("MODIFIED", "a", 44));
	await_node(h, at, "a", 44);
	assert_int_equal(fake_member_count(h->member, "GET", "limit="), 0);
	assert_int_equal(fake_member_count(h->member, "nodes", "resourceVersion=40"), 1);
}

static void the_wrong_identity_is_never_adopted(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, NULL);
	harness_join_as(h, 1, OTHER_UID);
	size_t at = await_condition(h, 0, MEMBER_CHANGED_IDENTITY);
	assert_contains(message_of(h, at), FAKE_UID);
	assert_int_equal(fake_member_count(h->member, "GET", "watch=true"), 0);
}

static void a_cluster_replaced_behind_the_address_is_noticed(void **state)
{
	struct harness *h = *state;

	join_healthy(h, NULL);
	await_requests(h, "GET", "watch=true", 3);
	fake_member_set_uid(h->member, OTHER_UID);
	fake_member_cut(h->member);
	await_condition(h, 0, MEMBER_CHANGED_IDENTITY);
	assert_int_equal(fake_member_count(h->member, "GET", "watch=true"), 3);
	const struct fact *r = await_result(h, harness_call(h, 1, "GET", "/version", NULL, 0));
	assert_int_equal(r->result.outcome, OUTCOME_NOT_SENT);
}

/* ---- a Cluster says which, in time ---- */

static void await_quickly(struct harness *h, enum member_condition condition, const char *words)
{
	usec start = clock_monotonic();
	size_t at = await_condition(h, 0, condition);

	assert_contains(message_of(h, at), words);
	assert_true(clock_monotonic() - start < 8 * USEC_PER_SEC);
	const struct fact *r = await_result(h, harness_call(h, 1, "GET", "/version", NULL, 0));
	assert_int_equal(r->result.outcome, OUTCOME_NOT_SENT);
}

static void a_refused_connection_is_unreachable(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, NULL);
	char *config =
	    test_kubeconfig(fake_member_url(h->member), h->ca.pem, &h->client_cert, NULL, NULL);
	fake_member_stop(h->member);
	h->member = NULL;
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_quickly(h, MEMBER_UNREACHABLE, "Connection refused");
}

static void a_server_that_accepts_and_never_answers_is_unreachable(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.deaf = true};

	harness_start_member(h, &o);
	harness_join(h, 1, "m1", NULL, NULL);
	await_quickly(h, MEMBER_UNREACHABLE, "no connection in time");
}

static void a_host_without_an_address_is_unreachable(void **state)
{
	struct harness *h = *state;
	char *config =
	    test_kubeconfig("https://nobody.invalid:6443", h->ca.pem, &h->client_cert, NULL, NULL);

	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_quickly(h, MEMBER_UNREACHABLE, "cannot be resolved");
}

static void a_wrong_ca_is_a_bad_certificate(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, NULL);
	char *config = test_kubeconfig(fake_member_url(h->member), h->other_ca.pem, &h->client_cert,
				       NULL, NULL);
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_quickly(h, MEMBER_BAD_CERTIFICATE,
		      "does not verify against the certificate authority");
}

static void an_expired_server_certificate_is_named(void **state)
{
	struct harness *h = *state;
	struct test_certificate old;
	struct fake_member_options o = {.certificate = &old};
	usec day = 86400 * USEC_PER_SEC;

	test_certificate_make(&h->ca, "s", "IP:127.0.0.1", -2 * day, -day, &old);
	harness_start_member(h, &o);
	harness_join(h, 1, "m1", NULL, NULL);
	await_quickly(h, MEMBER_BAD_CERTIFICATE, "has expired");
	test_certificate_done(&old);
}

static void a_certificate_for_another_name_is_named(void **state)
{
	struct harness *h = *state;
	struct test_certificate other;
	struct fake_member_options o = {.certificate = &other};
	usec day = 86400 * USEC_PER_SEC;

	test_certificate_make(&h->ca, "s", "DNS:other.example", -day, day, &other);
	harness_start_member(h, &o);
	harness_join(h, 1, "m1", NULL, NULL);
	await_quickly(h, MEMBER_BAD_CERTIFICATE, "another name");
	test_certificate_done(&other);
}

static void tls_server_name_is_verified_instead_of_the_host(void **state)
{
	struct harness *h = *state;
	struct test_certificate other;
	struct fake_member_options o = {.certificate = &other};
	usec day = 86400 * USEC_PER_SEC;

	test_certificate_make(&h->ca, "s", "DNS:other.example", -day, day, &other);
	harness_start_member(h, &o);
	char *config = test_kubeconfig(fake_member_url(h->member), h->ca.pem, &h->client_cert, NULL,
				       "tls-server-name: other.example");
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_condition(h, 0, MEMBER_READY);
	test_certificate_done(&other);
}

static void an_expired_client_certificate_is_named_without_connecting(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, NULL);
	char *config =
	    test_kubeconfig(fake_member_url(h->member), h->ca.pem, &h->old_cert, NULL, NULL);
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_quickly(h, MEMBER_CREDENTIAL_EXPIRED, "the client certificate expired on ");
	assert_int_equal(fake_member_most_connections(h->member), 0);
}

static void a_client_certificate_of_an_unknown_authority_is_unauthorized(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.client_authority = &h->other_ca};

	harness_start_member(h, &o);
	harness_join(h, 1, "m1", NULL, NULL);
	await_quickly(h, MEMBER_UNAUTHORIZED, "does not know the authority");
}

static bool refuse_401(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	fake_reply(c, 401, "{\"kind\":\"Status\",\"code\":401,\"message\":\"Unauthorized token\"}");
	return true;
}

static void a_refused_token_is_unauthorized(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = refuse_401};

	harness_start_member(h, &o);
	char *config = test_kubeconfig(fake_member_url(h->member), h->ca.pem, NULL, "secret", NULL);
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	await_quickly(h, MEMBER_UNAUTHORIZED, "401: Unauthorized token");
}

static void a_kubeconfig_with_a_plugin_is_refused(void **state)
{
	struct harness *h = *state;

	harness_join(
	    h, 1, "m1",
	    "{\"current-context\":\"x\",\"contexts\":[{\"name\":\"x\",\"context\":{\"cluster\":"
	    "\"c\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":"
	    "\"https://a\"}}],\"users\":[{\"name\":\"u\",\"user\":{\"exec\":{}}}]}",
	    NULL);
	await_quickly(h, MEMBER_BAD_KUBECONFIG, "users[0].user.exec");
}

static void new_credentials_heal_a_member(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, NULL);
	char *config =
	    test_kubeconfig(fake_member_url(h->member), h->ca.pem, &h->old_cert, NULL, NULL);
	harness_join(h, 1, "m1", config, NULL);
	free(config);
	size_t at = await_condition(h, 0, MEMBER_CREDENTIAL_EXPIRED);
	harness_join(h, 1, "m1", NULL, NULL);
	await_condition(h, at, MEMBER_READY);
}

/* ---- streams under faults ---- */

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

/* ---- calls ---- */

#define COPY                                                                                        \
	"{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\",\"metadata\":{\"name\":\"j\",\"namespace\":" \
	"\"n\",\"uid\":\"00000000-0000-4000-8000-000000000001\",\"resourceVersion\":\"77\"},"       \
	"\"spec\":{\"suspend\":true}}"

static bool answer_calls(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	if (strcmp(r->method, "GET") == 0)
		return false;
	if (strstr(r->path, "/good"))
		fake_reply(c, 201, COPY);
	else if (strstr(r->path, "/exists"))
		fake_reply(c, 409,
			   "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":"
			   "\"jobs \\\"j\\\" already exists\",\"code\":409}");
	else if (strstr(r->path, "/cut201"))
		fake_write(c, "HTTP/1.1 201 Created\r\nContent-Length: 500\r\n\r\n{\"kind\":"),
		    fake_reset(c);
	else if (strstr(r->path, "/slow"))
		fake_hang(c);
	else
		fake_reset(c);
	return true;
}

static void an_answered_create_carries_the_copy(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = answer_calls};

	join_healthy(h, &o);
	const struct fact *r = await_result(
	    h, harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/good/jobs", COPY, 0));
	assert_int_equal(r->result.outcome, OUTCOME_ANSWERED);
	assert_int_equal(r->result.http_code, 201);
	assert_true(r->result.has_copy);
	assert_int_equal(r->result.copy.revision, 77);
	assert_true(r->result.copy.suspended);
	assert_true(span_is(r->result.body, COPY));

	r = await_result(
	    h, harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/exists/jobs", COPY, 0));
	assert_int_equal(r->result.outcome, OUTCOME_ANSWERED);
	assert_int_equal(r->result.http_code, 409);
	assert_int_equal(r->result.err.kind, ERR_ALREADY_EXISTS);
	assert_contains(r->result.err.text, "already exists");
	assert_false(r->result.has_copy);
}

static void a_create_that_is_cut_is_unknown_and_never_sent_twice(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = answer_calls};

	join_healthy(h, &o);
	for (int i = 1; i <= 5; i++) {
		const struct fact *r = await_result(
		    h, harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/rst/jobs", COPY, 0));
		assert_int_equal(r->result.outcome, OUTCOME_UNKNOWN);
		assert_int_equal(fake_member_count(h->member, "POST", "/rst/"), i);
	}
	const struct fact *r = await_result(
	    h, harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/cut201/jobs", COPY, 0));
	assert_int_equal(r->result.outcome, OUTCOME_UNKNOWN);
	assert_false(r->result.has_copy);
}

static void a_call_past_its_deadline_is_unknown(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = answer_calls};

	join_healthy(h, &o);
	const struct fact *r =
	    await_result(h, harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/slow/jobs", COPY,
					 300 * USEC_PER_MS));
	assert_int_equal(r->result.outcome, OUTCOME_UNKNOWN);
	assert_int_equal(r->result.err.kind, ERR_TIMEOUT);
}

static void a_call_for_another_identity_is_not_sent(void **state)
{
	struct harness *h = *state;

	harness_start_member(h, &(struct fake_member_options){.uid = OTHER_UID});
	harness_join(h, 1, "m1", NULL, NULL);
	await_condition(h, 0, MEMBER_READY);
	const struct fact *r = await_result(h, harness_call(h, 1, "DELETE", "/api/v1/x", NULL, 0));
	assert_int_equal(r->result.outcome, OUTCOME_NOT_SENT);
	assert_int_equal(r->result.err.kind, ERR_CONFLICT);
	assert_int_equal(fake_member_count(h->member, "DELETE", ""), 0);
}

static void a_call_to_an_unknown_member_is_not_sent(void **state)
{
	struct harness *h = *state;

	const struct fact *r = await_result(h, harness_call(h, 9, "GET", "/version", NULL, 0));
	assert_int_equal(r->result.outcome, OUTCOME_NOT_SENT);
	assert_int_equal(r->result.err.kind, ERR_NOT_FOUND);
}

static void a_path_that_is_no_path_is_not_sent(void **state)
{
	struct harness *h = *state;

	join_healthy(h, NULL);
	const struct fact *r = await_result(h, harness_call(h, 1, "GET", "/a b\r\nX: y", NULL, 0));
	assert_int_equal(r->result.outcome, OUTCOME_NOT_SENT);
}

static void leaving_answers_what_is_under_way(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = answer_calls};

	join_healthy(h, &o);
	uint64_t id = harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/slow/jobs", COPY, 0);
	await_requests(h, "POST", "/slow/", 1);
	h->net->ops->submit(h->net, order_create(ORDER_LEAVE, 1));
	assert_int_equal(await_result(h, id)->result.outcome, OUTCOME_UNKNOWN);
}

/* ---- isolation and pressure ---- */

static void a_hung_member_does_not_slow_another(void **state)
{
	struct harness *h = *state;
	struct fake_member_options deaf_options = {.certificate = &h->server_cert, .deaf = true};
	struct fake_member *deaf = fake_member_start(&deaf_options);

	for (uint32_t i = 2; i < 40; i++) {
		char name[16];
		snprintf(name, sizeof(name), "deaf%u", i);
		char *config =
		    test_kubeconfig(fake_member_url(deaf), h->ca.pem, &h->client_cert, NULL, NULL);
		harness_join(h, i, name, config, NULL);
		free(config);
	}
	usec start = clock_monotonic();
	join_healthy(h, NULL);
	for (int i = 0; i < 100; i++)
		assert_int_equal(
		    await_result(h, harness_call(h, 1, "GET", "/version", NULL, 0))->result.outcome,
		    OUTCOME_ANSWERED);
	/* The deaf ones hold their connections for 5 s. */
	assert_true(clock_monotonic() - start < 3 * USEC_PER_SEC);
	h->net = net_stop(h->net);
	fake_member_stop(deaf);
}

static void waiting_facts_are_bounded_and_the_newest_state_wins(void **state)
{
	struct harness *h = *state;

	size_t at = join_healthy(h, NULL);
	pthread_mutex_lock(&h->lock);
	h->hold = true;
	pthread_mutex_unlock(&h->lock);
	/* Twice the window in distinct nodes, then the same few over and over. */
	char name[32];
	unsigned revision = 100, last = 0;
	for (unsigned i = 0; i < 12000; i++) {
		snprintf(name, sizeof(name), "node-%u", i < 1000 ? i : i % 10);
		fake_member_say(h->member, "nodes", node_event("MODIFIED", name, ++revision));
		last = revision;
	}
	/* The core takes nothing: no more than the window (and one) may come. */
	snprintf(name, sizeof(name), "node-%u", 11999 % 10);
	usec until = clock_monotonic() + USEC_PER_SEC / 2;
	size_t held = 0;
	do {
		pthread_mutex_lock(&h->lock);
		held = h->held_bytes;
		pthread_mutex_unlock(&h->lock);
		assert_true(held < (256 << 10) + 65536);
	} while (clock_monotonic() < until);
	assert_true(held > (200 << 10));
	harness_release(h);
	await_node(h, at, name, last);
	/* Each object's revisions only rise. */
	uint64_t seen[1000] = {0};
	size_t upserts = 0;
	for (size_t i = at; i < harness_count(h); i++) {
		const struct fact *f = harness_fact(h, i);
		uint64_t n;
		if (f->op != FACT_NODE)
			continue;
		upserts++;
		struct span number = f->node.name;
		(void)span_split(&number, '-');
		char digits[8];
		snprintf(digits, sizeof(digits), "%.*s", SPAN_ARGS(number));
		n = strtoull(digits, NULL, 10);
		assert_true(n < 1000 && f->revision > seen[n]);
		seen[n] = f->revision;
	}
	assert_true(upserts < 12000);
}

static void stopping_with_everything_hung_is_quick(void **state)
{
	struct harness *h = *state;
	struct fake_member_options o = {.hook = answer_calls};

	join_healthy(h, &o);
	char *config =
	    test_kubeconfig("https://nobody.invalid:6443", h->ca.pem, &h->client_cert, NULL, NULL);
	harness_join(h, 2, "m2", config, NULL);
	free(config);
	for (int i = 0; i < 20; i++)
		harness_call(h, 1, "POST", "/apis/batch/v1/namespaces/slow/jobs", COPY, 0);
	await_requests(h, "POST", "/slow/", 10);
	usec start = clock_monotonic();
	h->net = net_stop(h->net);
	assert_true(clock_monotonic() - start < 2 * USEC_PER_SEC);
}

/* ---- the proxy ---- */

/* The asker's end of a relay, on the test's thread. */
struct asker {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool woken;
	struct relay *relay;
	struct relay_answer answer;
	struct buf piece, all;
};

static void on_wake(void *arg)
{
	struct asker *a = arg;

	pthread_mutex_lock(&a->lock);
	a->woken = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void ask(struct harness *h, struct asker *a, const char *cluster, const char *method,
		const char *path)
{
	struct relay_question q = {
	    .cluster = xstrdup(cluster), .method = xstrdup(method), .path = xstrdup(path)};

	*a = (struct asker){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	if (strcmp(method, "GET") != 0) {
		q.content_type = xstrdup("application/merge-patch+json");
		q.body = xstrdup("{\"a\":1}");
		q.body_len = 7;
	}
	a->relay = relay_create(&q, on_wake, a);
	net_proxy(h->net, a->relay);
}

/* Waits for one wake, and takes what is there. */
static void take_next(struct asker *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->woken)
		pthread_cond_wait(&a->changed, &a->lock);
	a->woken = false;
	pthread_mutex_unlock(&a->lock);
	relay_take(a->relay, &a->piece, &a->answer);
	buf_add_span(&a->all, buf_span(&a->piece));
	buf_clear(&a->piece);
}

static void leave(struct asker *a)
{
	relay_leave(a->relay);
	buf_done(&a->piece);
	buf_done(&a->all);
}

static void a_relay_brings_the_answer_or_the_cause(void **state)
{
	struct harness *h = *state;
	struct asker a;

	join_healthy(h, NULL);
	ask(h, &a, "m1", "GET", "/version");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NONE);
	assert_int_equal(a.answer.http_code, 200);
	assert_string_equal(a.answer.content_type, "application/json");
	buf_add_char(&a.all, '\0');
	assert_string_equal(a.all.ptr, "{\"gitVersion\":\"v1.33.1\"}");
	leave(&a);
	ask(h, &a, "m1", "GET", "/nothing");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NONE);
	assert_int_equal(a.answer.http_code, 404);
	buf_add_char(&a.all, '\0');
	assert_contains(a.all.ptr, "not found here");
	leave(&a);
	ask(h, &a, "m2", "GET", "/version");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.err.kind, ERR_NOT_FOUND);
	leave(&a);
}

#define LONG_PIECE  4096
#define LONG_PIECES 2560 /* 10 MiB: more than sockets and windows hold */

struct long_answer {
	_Atomic size_t pieces;
	_Atomic bool hang, seen_patch;
};

static bool answer_long(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	struct long_answer *l = arg;
	char piece[LONG_PIECE + 1];

	if (strcmp(r->method, "PATCH") == 0) {
		l->seen_patch = r->body_len == 7;
		fake_reply(c, 409, "{\"kind\":\"Status\",\"message\":\"no\"}");
		return true;
	}
	if (strstr(r->path, "/silent")) {
		fake_write(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx");
		fake_hang(c);
		return true;
	}
	if (!strstr(r->path, "/long"))
		return false;
	memset(piece, 'x', LONG_PIECE);
	piece[LONG_PIECE] = '\0';
	fake_write(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
		      "Content-Length: 10485760\r\n\r\n");
	for (size_t i = 0; i < LONG_PIECES; i++) {
		fake_write(c, piece);
		l->pieces++;
	}
	return true;
}

static void a_long_answer_waits_for_its_reader_and_for_nobody_else(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker slow, quick;

	join_healthy(h, &o);
	ask(h, &slow, "m1", "GET", "/long");
	while (!slow.answer.http_code)
		take_next(&slow);
	/* Nobody reads: others are answered, and the member cannot get rid of its bytes. */
	for (int i = 0; i < 20; i++) {
		ask(h, &quick, "m1", "GET", "/version");
		while (!quick.answer.ended)
			take_next(&quick);
		assert_int_equal(quick.answer.http_code, 200);
		leave(&quick);
	}
	assert_true(l.pieces < LONG_PIECES);
	while (!slow.answer.ended) {
		take_next(&slow);
		assert_true(slow.piece.cap <= 2 * RELAY_WINDOW);
	}
	assert_int_equal(slow.answer.err.kind, ERR_NONE);
	assert_int_equal(slow.all.len, (size_t)LONG_PIECE * LONG_PIECES);
	leave(&slow);
}

static void an_asker_that_leaves_cuts_the_request(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	/* More than the member's bound, one after the other: each gives its place back. */
	for (int i = 0; i < 70; i++) {
		ask(h, &a, "m1", "GET", "/silent");
		while (!a.answer.http_code && !a.answer.ended)
			take_next(&a);
		assert_int_equal(a.answer.http_code, 200);
		assert_false(a.answer.ended);
		leave(&a);
	}
}

static void a_relay_carries_method_body_and_type(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	ask(h, &a, "m1", "PATCH", "/apis/batch/v1/namespaces/x/jobs/y");
	while (!a.answer.ended)
		take_next(&a);
	assert_int_equal(a.answer.http_code, 409);
	buf_add_char(&a.all, '\0');
	assert_string_equal(a.all.ptr, "{\"kind\":\"Status\",\"message\":\"no\"}");
	assert_true(l.seen_patch);
	leave(&a);
}

static void relays_end_when_their_member_leaves(void **state)
{
	struct harness *h = *state;
	struct long_answer l = {0};
	struct fake_member_options o = {.hook = answer_long, .arg = &l};
	struct asker a;

	join_healthy(h, &o);
	ask(h, &a, "m1", "GET", "/silent");
	while (!a.answer.http_code)
		take_next(&a);
	h->net = net_stop(h->net);
	while (!a.answer.ended)
		take_next(&a);
	assert_int_not_equal(a.answer.err.kind, ERR_NONE);
	leave(&a);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	if (argc > 1) /* only the tests whose name matches */
		cmocka_set_test_filter(argv[1]);
	const struct CMUnitTest tests[] = {
	    T(a_member_is_joined_listed_and_watched),
	    T(a_stored_cursor_resumes_without_a_list),
	    T(the_wrong_identity_is_never_adopted),
	    T(a_cluster_replaced_behind_the_address_is_noticed),
	    T(a_refused_connection_is_unreachable),
	    T(a_server_that_accepts_and_never_answers_is_unreachable),
	    T(a_host_without_an_address_is_unreachable),
	    T(a_wrong_ca_is_a_bad_certificate),
	    T(an_expired_server_certificate_is_named),
	    T(a_certificate_for_another_name_is_named),
	    T(tls_server_name_is_verified_instead_of_the_host),
	    T(an_expired_client_certificate_is_named_without_connecting),
	    T(a_client_certificate_of_an_unknown_authority_is_unauthorized),
	    T(a_refused_token_is_unauthorized),
	    T(a_kubeconfig_with_a_plugin_is_refused),
	    T(new_credentials_heal_a_member),
	    T(an_expired_cursor_lists_again),
	    T(revisions_that_go_back_list_again),
	    T(an_event_cut_in_the_middle_is_not_delivered),
	    T(garbage_is_refused_and_the_watch_goes_on_from_the_last_good_event),
	    T(a_watch_that_stays_broken_ends_in_a_list),
	    T(a_list_shorter_than_its_length_starts_over),
	    T(a_watch_that_ends_well_is_opened_again_from_its_cursor),
	    T(an_api_that_appears_later_is_listed_then),
	    T(requests_for_nodes_are_read_in_the_newest_version_that_is_served),
	    T(a_restarted_member_is_resumed_without_a_list),
	    T(an_answered_create_carries_the_copy),
	    T(a_create_that_is_cut_is_unknown_and_never_sent_twice),
	    T(a_call_past_its_deadline_is_unknown),
	    T(a_call_for_another_identity_is_not_sent),
	    T(a_call_to_an_unknown_member_is_not_sent),
	    T(a_path_that_is_no_path_is_not_sent),
	    T(leaving_answers_what_is_under_way),
	    T(a_hung_member_does_not_slow_another),
	    T(waiting_facts_are_bounded_and_the_newest_state_wins),
	    T(stopping_with_everything_hung_is_quick),
	    T(a_relay_brings_the_answer_or_the_cause),
	    T(a_long_answer_waits_for_its_reader_and_for_nobody_else),
	    T(an_asker_that_leaves_cuts_the_request),
	    T(a_relay_carries_method_body_and_type),
	    T(relays_end_when_their_member_leaves),
	};
	return cmocka_run_group_tests_name("net", tests, NULL, NULL);
}
