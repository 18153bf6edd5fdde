/*
 * The net thread over HTTP/2: nghttpx (Debian's nghttp2-proxy) stands before the fake member, as
 * Kubernetes API servers speak HTTP/2 themselves. Skipped where nghttpx is not installed.
 */
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

struct fixture {
	struct harness *h;
	pid_t proxy;
	int port;
	char dir[64], key[96], cert[96];
	char *kubeconfig;
};

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

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void start_proxy(struct fixture *x)
{
	char front[64], back[64];

	snprintf(front, sizeof(front), "-f127.0.0.1,%d", x->port);
	snprintf(back, sizeof(back), "-b127.0.0.1,%d", fake_member_port(x->h->member));
	x->proxy = fork();
	if (x->proxy == 0) {
		int null = open("/dev/null", O_RDWR);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(null, 1);
		dup2(null, 2);
		execl(NGHTTPX, "nghttpx", "--no-ocsp", "--workers=1", front, back, x->key, x->cert,
		      (char *)NULL);
		_exit(127);
	}
}

static int setup_with(void **state, const struct fake_member_options *o)
{
	struct fixture *x = xcalloc(1, sizeof(*x));
	char server[64];

	x->h = harness_create();
	harness_start_member(x->h, o);
	snprintf(x->dir, sizeof(x->dir), "/tmp/http2-XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	snprintf(x->key, sizeof(x->key), "%s/key", x->dir);
	snprintf(x->cert, sizeof(x->cert), "%s/cert", x->dir);
	write_file(x->key, x->h->server_cert.key);
	write_file(x->cert, x->h->server_cert.cert);
	x->port = free_port();
	start_proxy(x);
	snprintf(server, sizeof(server), "https://127.0.0.1:%d", x->port);
	x->kubeconfig = test_kubeconfig(server, x->h->ca.pem, &x->h->client_cert, NULL, NULL);
	*state = x;
	return 0;
}

static bool hold_slow(void *arg, struct fake_connection *c, const struct fake_request *r)
{
	if (!strstr(r->path, "/slow"))
		return false;
	fake_hang(c);
	return true;
}

static int setup(void **state)
{
	return setup_with(state, &(struct fake_member_options){.plain = true, .hook = hold_slow});
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	x->h->net = net_stop(x->h->net);
	kill(x->proxy, SIGKILL);
	waitpid(x->proxy, NULL, 0);
	harness_destroy(x->h);
	unlink(x->key);
	unlink(x->cert);
	rmdir(x->dir);
	free(x->kubeconfig);
	free(x);
	return 0;
}

/* Established TCP connections of this machine to the proxy's front port. */
static unsigned connections(const struct fixture *x)
{
	char line[512];
	unsigned n = 0, port, state;
	FILE *f = fopen("/proc/net/tcp", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*8x:%*4x %*8x:%4x %2x", &port, &state) == 2)
			n += (int)port == x->port && state == 1;
	fclose(f);
	return n;
}

static size_t join(struct fixture *x)
{
	fake_member_set_list(x->h->member, "nodes", "10", node_json("a", 5));
	harness_join(x->h, 1, "m1", x->kubeconfig, NULL);
	size_t at = await_condition(x->h, 0, MEMBER_READY);
	at = await_op(x->h, at, FACT_LIST_END, STREAM_NODES);
	await_requests(x->h, "GET", "watch=true", 3);
	return at;
}

static void streams_and_calls_share_one_connection(void **state)
{
	struct fixture *x = *state;
	uint64_t ids[200];

	size_t at = join(x);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		ids[i] = harness_call(x->h, 1, "GET", "/version", NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(ids); i++)
		assert_int_equal(await_result(x->h, ids[i])->result.http_code, 200);
	fake_member_say(x->h->member, "nodes", node_event("ADDED", "b", 11));
	await_node(x->h, at, "b", 11);
	assert_int_equal(connections(x), 1);
}

static void more_calls_than_streams_wait_their_turn(void **state)
{
	struct fixture *x = *state;
	uint64_t slow[150];

	join(x);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		slow[i] = harness_call(x->h, 1, "POST", "/slow", "{}", 2 * USEC_PER_SEC);
	await_requests(x->h, "POST", "/slow", 90);
	assert_int_equal(connections(x), 1);
	/* 100 streams, three of them watches: the others were never sent. */
	size_t unknown = 0;
	for (size_t i = 0; i < ARRAY_LEN(slow); i++)
		unknown += await_result(x->h, slow[i])->result.outcome == OUTCOME_UNKNOWN;
	assert_in_range(unknown, 97, 98);
	assert_int_equal(
	    await_result(x->h, harness_call(x->h, 1, "GET", "/version", NULL, 0))->result.http_code,
	    200);
}

static void a_core_that_takes_nothing_is_not_flooded_and_nothing_is_lost(void **state)
{
	struct fixture *x = *state;
	char name[32];
	unsigned n = 8000;

	size_t at = join(x);
	pthread_mutex_lock(&x->h->lock);
	x->h->hold = true;
	pthread_mutex_unlock(&x->h->lock);
	for (unsigned i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "n-%u", i);
		fake_member_say(x->h->member, "nodes", node_event("ADDED", name, 100 + i));
	}
	usec until = clock_monotonic() + USEC_PER_SEC / 2;
	do {
		pthread_mutex_lock(&x->h->lock);
		size_t held = x->h->held_bytes;
		pthread_mutex_unlock(&x->h->lock);
		assert_true(held < (256 << 10) + 65536);
	} while (clock_monotonic() < until);
	harness_release(x->h);
	await_node(x->h, at, name, 100 + n - 1);
	unsigned seen = 0;
	for (size_t i = at; i < harness_count(x->h); i++)
		seen += harness_fact(x->h, i)->op == FACT_NODE &&
			harness_fact(x->h, i)->revision >= 100;
	assert_int_equal(seen, n);
}

static void a_killed_proxy_is_noticed_and_a_new_one_resumes(void **state)
{
	struct fixture *x = *state;

	size_t at = join(x);
	uint64_t id = harness_call(x->h, 1, "POST", "/slow", "{}", 0);
	await_requests(x->h, "POST", "/slow", 1);
	kill(x->proxy, SIGKILL);
	waitpid(x->proxy, NULL, 0);
	assert_int_equal(await_result(x->h, id)->result.outcome, OUTCOME_UNKNOWN);
	at = await_condition(x->h, at, MEMBER_UNREACHABLE);
	start_proxy(x);
	at = await_condition(x->h, at, MEMBER_READY);
	await_requests(x->h, "nodes", "watch=true", 2);
	fake_member_say(x->h->member, "nodes", node_event("ADDED", "b", 11));
	await_node(x->h, at, "b", 11);
	assert_int_equal(fake_member_count(x->h->member, "GET", "nodes?limit="), 1);
	assert_int_equal(fake_member_count(x->h->member, "POST", "/slow"), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
	if (access(NGHTTPX, X_OK) != 0)
		return 77;
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	const struct CMUnitTest tests[] = {
	    T(streams_and_calls_share_one_connection),
	    T(more_calls_than_streams_wait_their_turn),
	    T(a_core_that_takes_nothing_is_not_flooded_and_nothing_is_lost),
	    T(a_killed_proxy_is_noticed_and_a_new_one_resumes),
	};
	return cmocka_run_group_tests_name("http2", tests, NULL, NULL);
}
