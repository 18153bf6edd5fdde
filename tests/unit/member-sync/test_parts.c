/*
 * The small pure parts: handshake slots, paths and kinds of streams, reports, jitter.
 */
#include "member-sync/client_failure.h"
#include "member-sync/client_gate.h"
#include "member-sync/jitter.h"
#include "member-sync/member_call.h"
#include "member-sync/member_report.h"
#include "member-sync/stream_kind.h"

#include <errno.h>
#include <openssl/x509_vfy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- the gate ---- */

struct order_log {
	char text[64];
};

struct waiter {
	struct client_ticket ticket;
	struct order_log *log;
	char name;
};

static void granted(void *arg)
{
	struct waiter *w = arg;
	size_t len = strlen(w->log->text);

	w->log->text[len] = w->name;
	w->log->text[len + 1] = '\0';
}

static bool want(struct client_gate *g, struct waiter *w, struct order_log *log, char name,
		 bool failing, bool urgent)
{
	*w = (struct waiter){.log = log, .name = name};
	w->ticket.granted = granted;
	w->ticket.arg = w;
	return client_gate_want(g, &w->ticket, failing, urgent);
}

static void slots_are_granted_in_turn_and_urgent_first(void **state)
{
	uv_loop_t loop;
	struct order_log log = {""};
	struct waiter w[8];

	uv_loop_init(&loop);
	struct client_gate *g = client_gate_create(&loop, 5); /* four well, one failing */
	for (int i = 0; i < 4; i++)
		assert_true(want(g, &w[i], &log, (char)('0' + i), false, false));
	assert_false(want(g, &w[4], &log, '4', false, false));
	assert_false(want(g, &w[5], &log, '5', false, false));
	assert_false(want(g, &w[6], &log, '6', false, true));
	client_gate_release(g, &w[0].ticket);
	assert_string_equal(log.text, ""); /* never from within */
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_string_equal(log.text, "6");
	client_gate_release(g, &w[4].ticket); /* gives up waiting */
	client_gate_release(g, &w[1].ticket);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_string_equal(log.text, "65");
	client_gate_release(g, &w[4].ticket); /* twice does nothing */
	for (int i = 0; i < 7; i++)
		client_gate_release(g, &w[i].ticket);
	client_gate_destroy(g);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}

static void failing_clients_hold_up_only_one_another(void **state)
{
	uv_loop_t loop;
	struct order_log log = {""};
	struct waiter bad[3], good;

	uv_loop_init(&loop);
	struct client_gate *g = client_gate_create(&loop, 10); /* two for the failing */
	assert_true(want(g, &bad[0], &log, 'a', true, false));
	assert_true(want(g, &bad[1], &log, 'b', true, false));
	assert_false(want(g, &bad[2], &log, 'c', true, true));
	assert_true(want(g, &good, &log, 'g', false, false));
	client_gate_release(g, &good.ticket);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_string_equal(log.text, "");
	client_gate_release(g, &bad[0].ticket);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_string_equal(log.text, "c");
	client_gate_release(g, &bad[1].ticket);
	client_gate_release(g, &bad[2].ticket);
	client_gate_destroy(g);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}

/* ---- streams and paths ---- */

static struct fact *decode(enum member_stream s, const char *json)
{
	struct fact *f = NULL;
	struct err why = ERR_INIT;

	if (stream_kind_decode(s, span_of(json), 9, false, "hub", &f, &why) < 0)
		fail_msg("%s", why.text);
	return f;
}

#define POD(label)                                                                                 \
	"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":"     \
	"\"9\",\"labels\":{\"muster.dev/hub-uid\":\"" label "\"}},\"spec\":{\"containers\":[]},"   \
	"\"status\":{\"phase\":\"Running\"}}"

static void pods_of_our_jobs_carry_their_json_and_foreign_ones_do_not(void **state)
{
	struct fact *own = decode(STREAM_PODS, POD("hub"));
	struct fact *foreign = decode(STREAM_PODS, POD("another"));

	assert_true(span_is(own->json, POD("hub")));
	assert_null(foreign->json.ptr);
	assert_true(span_is(foreign->pod.name, "p"));
	assert_int_equal(own->pod.phase, POD_RUNNING);
	assert_true(own->bytes > sizeof(*own) + own->json.len);
	assert_true(foreign->bytes < 4096);
	fact_destroy(own);
	fact_destroy(foreign);
}

static void what_a_copy_made_is_no_copy(void **state)
{
#define CLUSTER(owners)                                                                            \
	"{\"metadata\":{\"name\":\"r-abc\",\"namespace\":\"n\",\"uid\":\"u\",\"resourceVersion\":" \
	"\"9\",\"labels\":{\"muster.dev/hub-uid\":\"hub\"},\"ownerReferences\":[" owners "]},"     \
	"\"spec\":{}}"
	struct fact *made = decode(STREAM_RAYCLUSTERS, CLUSTER("{\"kind\":\"RayJob\"}"));
	struct fact *own = decode(STREAM_RAYCLUSTERS, CLUSTER(""));

	assert_int_equal(made->op, FACT_CURSOR);
	assert_int_equal(made->revision, 9);
	assert_int_equal(own->op, FACT_COPY);
	fact_destroy(made);
	fact_destroy(own);
}

static void an_object_without_a_name_is_no_fact(void **state)
{
	struct fact *f = NULL;
	struct err why = ERR_INIT;

	for (int s = STREAM_NODES; s <= STREAM_RAYJOBS; s++) {
		assert_true(stream_kind_decode((enum member_stream)s, SPAN("{\"metadata\":{}}"), 1,
					       false, "hub", &f, &why) < 0);
		assert_null(f);
	}
}

static void paths_of_calls_name_their_kind(void **state)
{
	static const struct {
		const char *path;
		enum member_stream stream;
	} cases[] = {
	    {"/apis/batch/v1/namespaces/n/jobs", STREAM_JOBS},
	    {"/apis/batch/v1/namespaces/n/jobs/j?propagationPolicy=Background", STREAM_JOBS},
	    {"/apis/batch/v1/jobs", STREAM_JOBS},
	    {"/apis/kubeflow.org/v1/namespaces/n/pytorchjobs/j/status", STREAM_PYTORCHJOBS},
	    {"/apis/kubeflow.org/v1/namespaces/n/mpijobs/j", STREAM_MPIJOBS},
	    {"/apis/kubeflow.org/v2beta1/namespaces/n/mpijobs/j", STREAM_MPIJOBS_V2BETA1},
	    {"/apis/jobset.x-k8s.io/v1alpha2/namespaces/jobs/jobsets/j", STREAM_JOBSETS},
	    {"/apis/ray.io/v1/namespaces/n/rayjobs/j", STREAM_RAYJOBS},
	    {"/apis/ray.io/v1/namespaces/n/rayclusters/c", STREAM_RAYCLUSTERS},
	    {"/apis/kubeflow.org/v1/namespaces/n/jaxjobs/j", STREAM_JAXJOBS},
	    {"/apis/autoscaling.x-k8s.io/v1/namespaces/n/provisioningrequests/r",
	     STREAM_PROVISIONING_REQUESTS},
	    {"/apis/autoscaling.x-k8s.io/v1beta1/namespaces/n/provisioningrequests/r",
	     STREAM_PROVISIONING_REQUESTS_V1BETA1},
	    {"/api/v1/namespaces/n/pods/p", STREAM_MAX},
	    {"/api/v1/nodes/x", STREAM_MAX},
	    {"/apis/batch/v1", STREAM_MAX},
	    {"/apis/batch/v10/namespaces/n/jobs", STREAM_MAX},
	    {"/apis/batch/v1/namespaces/n/cronjobs", STREAM_MAX},
	    {"", STREAM_MAX},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (member_call_stream(cases[i].path) != cases[i].stream)
			fail_msg("%s gives %d", cases[i].path, member_call_stream(cases[i].path));
}

/* ---- words for failures ---- */

static void failures_are_told_apart(void **state)
{
	static const struct {
		struct client_failure f;
		enum member_condition condition;
		enum err_kind kind;
		const char *words;
	} cases[] = {
	    {{CURLE_COULDNT_CONNECT, "", 0, ECONNREFUSED, false, "https://a"},
	     MEMBER_UNREACHABLE,
	     ERR_UNAVAILABLE,
	     "https://a: cannot connect: Connection refused"},
	    {{CURLE_PEER_FAILED_VERIFICATION, "", X509_V_ERR_CERT_HAS_EXPIRED, 0, false, "s"},
	     MEMBER_BAD_CERTIFICATE,
	     ERR_UNAVAILABLE,
	     "s: the server's certificate has expired"},
	    {{CURLE_RECV_ERROR,
	      "OpenSSL SSL_read: error:0A000415:SSL routines::sslv3 alert certificate expired", 0,
	      0, true, "s"},
	     MEMBER_CREDENTIAL_EXPIRED,
	     ERR_UNAUTHORIZED,
	     "s: the server refuses the client certificate as expired"},
	    {{CURLE_OPERATION_TIMEDOUT, "whatever", 0, 0, true, "s"},
	     MEMBER_UNREACHABLE,
	     ERR_TIMEOUT,
	     "s: no answer in time"},
	    {{CURLE_SSL_CERTPROBLEM, "bad", 0, 0, false, "s"},
	     MEMBER_BAD_KUBECONFIG,
	     ERR_INTERNAL,
	     "s: the kubeconfig cannot be used: bad"},
	    {{CURLE_FTP_ACCEPT_FAILED, "", 0, 0, false, "s"},
	     MEMBER_UNREACHABLE,
	     ERR_UNAVAILABLE,
	     "s: FTP: The server failed to connect to data port"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err why = ERR_INIT;
		assert_int_equal(client_failure_explain(&cases[i].f, &why), cases[i].condition);
		assert_int_equal(why.kind, cases[i].kind);
		assert_string_equal(why.text, cases[i].words);
	}
}

static void backoff_is_jittered_within_its_steps(void **state)
{
	uint64_t seed = 7;

	for (unsigned failures = 1; failures < 60; failures++) {
		usec wait = jitter_backoff(&seed, failures, 100, 3000);
		usec step = failures < 6 ? (usec)100 << (failures - 1) : 3000;
		assert_in_range(wait, 10, step);
	}
}

/* ---- reports ---- */

static void only_news_is_told_of_a_member(void **state)
{
	static const uint8_t identity[STORE_UID_LEN] = {7};
	struct member_report r = {0};
	struct member_probe_result found = {.version = "v1.34.0", .apis = 1, .known = 3};

	assert_true(member_report_set(&r, MEMBER_CONNECTING, "not yet"));
	assert_false(member_report_set(&r, MEMBER_CONNECTING, "not yet"));
	assert_true(member_report_set(&r, MEMBER_READY, "not yet"));
	member_report_learn(&r, &found);
	assert_true(member_report_set(&r, MEMBER_READY, "not yet"));
	member_report_learn(&r, &found);
	assert_false(member_report_set(&r, MEMBER_READY, "not yet"));
	/* A discovery that settles one kind leaves what is known of the others. */
	found = (struct member_probe_result){.version = "v1.34.0", .apis = 2, .known = 2};
	member_report_learn(&r, &found);
	assert_int_equal(r.apis, 3);
	assert_true(member_report_set(&r, MEMBER_READY, "not yet"));
	struct fact *f = member_report_fact(&r, 5, identity, NULL);
	assert_int_equal(f->member, 5);
	assert_int_equal(f->member_state.condition, MEMBER_READY);
	assert_string_equal(f->member_state.kubernetes_version, "v1.34.0");
	assert_true(f->member_state.apis_known);
	assert_memory_equal(f->member_state.incarnation, identity, STORE_UID_LEN);
	assert_null(f->member_state.server);
	fact_destroy(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(slots_are_granted_in_turn_and_urgent_first),
	    cmocka_unit_test(failing_clients_hold_up_only_one_another),
	    cmocka_unit_test(pods_of_our_jobs_carry_their_json_and_foreign_ones_do_not),
	    cmocka_unit_test(what_a_copy_made_is_no_copy),
	    cmocka_unit_test(an_object_without_a_name_is_no_fact),
	    cmocka_unit_test(paths_of_calls_name_their_kind),
	    cmocka_unit_test(failures_are_told_apart),
	    cmocka_unit_test(backoff_is_jittered_within_its_steps),
	    cmocka_unit_test(only_news_is_told_of_a_member),
	};
	return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
