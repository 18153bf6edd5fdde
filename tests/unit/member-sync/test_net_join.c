/* A member is joined, and what is wrong with it is named, in time. */
#include "net_test.h"

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

RUN_NET("net-join", T(a_member_is_joined_listed_and_watched),
	T(a_stored_cursor_resumes_without_a_list), T(the_wrong_identity_is_never_adopted),
	T(a_cluster_replaced_behind_the_address_is_noticed), T(a_refused_connection_is_unreachable),
	T(a_server_that_accepts_and_never_answers_is_unreachable),
	T(a_host_without_an_address_is_unreachable), T(a_wrong_ca_is_a_bad_certificate),
	T(an_expired_server_certificate_is_named), T(a_certificate_for_another_name_is_named),
	T(tls_server_name_is_verified_instead_of_the_host),
	T(an_expired_client_certificate_is_named_without_connecting),
	T(a_client_certificate_of_an_unknown_authority_is_unauthorized),
	T(a_refused_token_is_unauthorized), T(a_kubeconfig_with_a_plugin_is_refused),
	T(new_credentials_heal_a_member))
