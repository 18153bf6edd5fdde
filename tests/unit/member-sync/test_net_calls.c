/* Orders to a member: what is known of one that went wrong; pressure and isolation. */
#include "net_test.h"

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

RUN_NET("net-calls", T(an_answered_create_carries_the_copy),
	T(a_create_that_is_cut_is_unknown_and_never_sent_twice),
	T(a_call_past_its_deadline_is_unknown), T(a_call_for_another_identity_is_not_sent),
	T(a_call_to_an_unknown_member_is_not_sent), T(a_path_that_is_no_path_is_not_sent),
	T(leaving_answers_what_is_under_way), T(a_hung_member_does_not_slow_another),
	T(waiting_facts_are_bounded_and_the_newest_state_wins),
	T(stopping_with_everything_hung_is_quick))
