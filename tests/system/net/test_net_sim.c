/*
 * The net thread and a simulated member, real processes and real TLS: a job copy lives from its
 * suspended creation to its proven deletion, and the streams survive a kill of the member.
 * Once directly (HTTP/1.1), once with nghttpx in between (HTTP/2).
 *
 * Usage: test_net_sim MUSTER_SIM
 */
#include "base/log.h"
#include "member-sync/kubeconfig.h"
#include "net_harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NGHTTPX "/usr/sbin/nghttpx"
#define JOBS	"/apis/batch/v1/namespaces/default/jobs"

static const char *muster_sim;

struct fixture {
	struct harness *h;
	char dir[64];
	pid_t sim, proxy;
	int sim_port, proxy_port;
	char *kubeconfig; /* of the simulator, or through the proxy */
	struct kubeconfig own;
};

static const char *in_dir(const struct fixture *x, const char *name)
{
	static char paths[8][160];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, 160, "%s/%s", x->dir, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static char *read_file(const char *path)
{
	struct buf b = BUF_INIT;
	char chunk[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(&b, chunk, n);
	fclose(f);
	return buf_steal(&b, NULL);
}

/* Starts the simulator on `port` (0: a free one) and reads its "ready" line. */
static void start_sim(struct fixture *x, int port)
{
	char listen[32], line[256];
	int out[2];
	unsigned got = 0;

	snprintf(listen, sizeof(listen), "127.0.0.1:%d", port);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	x->sim = fork();
	if (x->sim == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl(muster_sim, "muster-sim", "--name", "s1", "--nodes", in_dir(x, "nodes.yaml"),
		      "--listen", listen, "--data-dir", in_dir(x, "data"), "--kubeconfig-out",
		      in_dir(x, "kubeconfig"), "--time-scale", "10", (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	FILE *f = fdopen(out[0], "r");
	while (!got && fgets(line, sizeof(line), f))
		(void)sscanf(line, "ready https://127.0.0.1:%u", &got);
	fclose(f);
	assert_true(got > 0);
	x->sim_port = (int)got;
}

static void kill_child(pid_t *pid)
{
	if (*pid <= 0)
		return;
	kill(*pid, SIGKILL);
	waitpid(*pid, NULL, 0);
	*pid = 0;
}

static int free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(fd, (struct sockaddr *)&a, &len);
	close(fd);
	return ntohs(a.sin_port);
}

/* nghttpx ends our TLS, and speaks for us to the simulator with the admin's certificate. */
static void start_proxy(struct fixture *x)
{
	char front[64], back[64], cert[200], key[200], server[64];

	x->proxy_port = free_port();
	write_file(in_dir(x, "front.key"), x->h->server_cert.key);
	write_file(in_dir(x, "front.crt"), x->h->server_cert.cert);
	write_file(in_dir(x, "admin.key"), x->own.key.ptr);
	write_file(in_dir(x, "admin.crt"), x->own.cert.ptr);
	snprintf(front, sizeof(front), "-f127.0.0.1,%d", x->proxy_port);
	snprintf(back, sizeof(back), "-b127.0.0.1,%d;;tls;proto=http/1.1", x->sim_port);
	snprintf(cert, sizeof(cert), "--client-cert-file=%s", in_dir(x, "admin.crt"));
	snprintf(key, sizeof(key), "--client-private-key-file=%s", in_dir(x, "admin.key"));
	x->proxy = fork();
	if (x->proxy == 0) {
		int null = open("/dev/null", O_RDWR);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 1);
		dup2(null, 2);
		/* --insecure: nghttpx does not verify a backend that is an IP address. */
		execl(NGHTTPX, "nghttpx", "--no-ocsp", "--workers=1", "--insecure", front, back,
		      cert, key, in_dir(x, "front.key"), in_dir(x, "front.crt"), (char *)NULL);
		_exit(127);
	}
	snprintf(server, sizeof(server), "https://127.0.0.1:%d", x->proxy_port);
	free(x->kubeconfig);
	x->kubeconfig = test_kubeconfig(server, x->h->ca.pem, &x->h->client_cert, NULL, NULL);
}

static int setup(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	*state = x;
	x->h = harness_create();
	snprintf(x->dir, sizeof(x->dir), "/tmp/net-sim-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	write_file(in_dir(x, "nodes.yaml"),
		   "kind: Node\nmetadata:\n  name: gpu\n  annotations: {muster.dev/sim-count: "
		   "\"4\"}\nstatus:\n  allocatable: {cpu: \"64\", memory: 256Gi, pods: \"110\"}\n");
	start_sim(x, 0);
	x->kubeconfig = read_file(in_dir(x, "kubeconfig"));
	assert_int_equal(kubeconfig_parse(span_of(x->kubeconfig), NULL, &x->own, NULL), 0);
	return 0;
}

static int setup_http2(void **state)
{
	int r = setup(state);

	start_proxy(*state);
	return r;
}

static int teardown(void **state)
{
	struct fixture *x = *state;
	char command[128];

	harness_destroy(x->h);
	kill_child(&x->proxy);
	kill_child(&x->sim);
	snprintf(command, sizeof(command), "rm -rf '%s'", x->dir);
	assert_int_equal(system(command), 0);
	kubeconfig_done(&x->own);
	free(x->kubeconfig);
	free(x);
	return 0;
}

/* ---- a copy's life ---- */

struct copy_match {
	enum copy_phase phase;
	bool suspended, deleted;
};

static bool is_copy(const struct fact *f, const void *arg)
{
	const struct copy_match *m = arg;

	return f->op == FACT_COPY && span_is(f->copy.name, "j") && f->deleted == m->deleted &&
	       (m->deleted || (f->copy.phase == m->phase && f->copy.suspended == m->suspended));
}

static size_t await_copy(struct harness *h, size_t from, enum copy_phase phase, bool suspended)
{
	struct copy_match m = {phase, suspended, false};
	return harness_await(h, from, is_copy, &m, "a copy's state");
}

static bool is_own_pod(const struct fact *f, const void *arg)
{
	return f->op == FACT_POD && f->json.ptr && span_is(f->pod.job_uid, "hub-job-1");
}

static const char job[] =
    "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"labels\":{"
    "\"muster.dev/hub-uid\":\"" HUB_UID "\"},\"annotations\":{\"muster.dev/job-uid\":"
    "\"hub-job-1\",\"muster.dev/epoch\":\"3\"}},\"spec\":{\"suspend\":true,\"template\":{"
    "\"metadata\":{\"labels\":{\"muster.dev/hub-uid\":\"" HUB_UID "\",\"muster.dev/job-uid\":"
    "\"hub-job-1\"},\"annotations\":{\"muster.dev/sim-duration\":\"5s\"}},\"spec\":{"
    "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"x\",\"resources\":{"
    "\"requests\":{\"cpu\":\"1\"}}}]}}}}";

static uint8_t identity[STORE_UID_LEN];

/* ORDER_CALL for the identity that the simulator was found with. */
static const struct fact *call(struct harness *h, const char *method, const char *path,
			       const char *content_type, const char *body)
{
	struct order *o = order_create(ORDER_CALL, 1);

	o->id = ++h->next_id;
	o->method = method;
	o->path = xstrdup(path);
	o->content_type = content_type;
	o->body = xstrdup(body);
	o->body_len = body ? strlen(body) : 0;
	memcpy(o->incarnation, identity, sizeof(identity));
	uint64_t id = o->id;
	h->net->ops->submit(h->net, o);
	const struct fact *f = await_result(h, id);
	if (f->result.outcome != OUTCOME_ANSWERED)
		fail_msg("%s %s: %s", method, path, f->result.err.text);
	return f;
}

static size_t join(struct fixture *x)
{
	harness_join(x->h, 1, "m1", x->kubeconfig, NULL);
	const struct fact *f = harness_fact(x->h, await_condition(x->h, 0, MEMBER_READY));
	memcpy(identity, f->incarnation, sizeof(identity));
	for (int s = STREAM_NODES; s < STREAM_EVENTS; s++)
		if (f->member_state.apis & 1u << s)
			await_op(x->h, 0, FACT_LIST_END, (enum member_stream)s);
	return harness_count(x->h);
}

static void a_copy_is_created_suspended_run_and_deleted(void **state)
{
	struct fixture *x = *state;
	struct harness *h = x->h;
	char options[256];

	size_t at = join(x);
	size_t nodes = 0;
	for (size_t i = 0; i < at; i++)
		nodes += harness_fact(h, i)->op == FACT_NODE && harness_fact(h, i)->node.ready;
	assert_int_equal(nodes, 4);

	const struct fact *r = call(h, "POST", JOBS, "application/json", job);
	assert_int_equal(r->result.http_code, 201);
	assert_true(r->result.has_copy && r->result.copy.suspended);
	assert_int_equal(r->result.copy.epoch, 3);
	char uid[64];
	snprintf(uid, sizeof(uid), "%.*s", SPAN_ARGS(r->result.copy.uid));
	at = await_copy(h, at, COPY_CREATED, true);
	assert_true(span_is(harness_fact(h, at)->copy.uid, uid));

	r = call(h, "POST", JOBS, "application/json", job);
	assert_int_equal(r->result.http_code, 409);
	assert_int_equal(r->result.err.kind, ERR_ALREADY_EXISTS);

	r = call(h, "PATCH", JOBS "/j", "application/merge-patch+json",
		 "{\"spec\":{\"suspend\":false}}");
	assert_int_equal(r->result.http_code, 200);
	size_t pod = harness_await(h, at, is_own_pod, NULL, "a pod of the job");
	assert_true(harness_fact(h, pod)->json.len > 100);
	at = await_copy(h, at, COPY_RUNNING, false);
	at = await_copy(h, at, COPY_SUCCEEDED, false);
	assert_true(harness_fact(h, at)->copy.status.len > 2);

	snprintf(options, sizeof(options),
		 "{\"preconditions\":{\"uid\":\"%s\"},\"propagationPolicy\":\"Background\"}", uid);
	r = call(h, "DELETE", JOBS "/j", "application/json", options);
	assert_int_equal(r->result.http_code, 200);
	struct copy_match gone = {.deleted = true};
	at = harness_await(h, at, is_copy, &gone, "the copy's end");
	assert_true(span_is(harness_fact(h, at)->copy.uid, uid));
	r = call(h, "GET", JOBS "/j", NULL, NULL);
	assert_int_equal(r->result.http_code, 404);
}

static void a_killed_member_is_resumed_from_its_cursors(void **state)
{
	struct fixture *x = *state;
	struct harness *h = x->h;

	size_t at = join(x);
	call(h, "POST", JOBS, "application/json", job);
	await_copy(h, at, COPY_CREATED, true);
	kill_child(&x->sim);
	at = await_condition(h, at, MEMBER_UNREACHABLE);
	start_sim(x, x->sim_port);
	at = await_condition(h, at, MEMBER_READY);
	call(h, "PATCH", JOBS "/j", "application/merge-patch+json",
	     "{\"spec\":{\"suspend\":false}}");
	await_copy(h, at, COPY_SUCCEEDED, false);
	for (size_t i = at; i < harness_count(h); i++)
		assert_int_not_equal(harness_fact(h, i)->op, FACT_LIST_BEGIN);
}

#define DIRECT(f)                                                                                  \
	{                                                                                          \
#f, f, setup, teardown, NULL                                                       \
	}
#define HTTP2(f)                                                                                   \
	{                                                                                          \
#f "_over_http2", f, setup_http2, teardown, NULL                                   \
	}

int main(int argc, char **argv)
{
	const struct CMUnitTest direct[] = {
	    DIRECT(a_copy_is_created_suspended_run_and_deleted),
	    DIRECT(a_killed_member_is_resumed_from_its_cursors),
	};
	const struct CMUnitTest http2[] = {
	    HTTP2(a_copy_is_created_suspended_run_and_deleted),
	    HTTP2(a_killed_member_is_resumed_from_its_cursors),
	};

	if (argc < 2)
		return 2;
	muster_sim = argv[1];
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	int failed = cmocka_run_group_tests_name("net-sim", direct, NULL, NULL);
	if (access(NGHTTPX, X_OK) == 0)
		failed += cmocka_run_group_tests_name("net-sim-http2", http2, NULL, NULL);
	return failed;
}
