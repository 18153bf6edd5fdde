/*
 * Scenario fair: what one user feels of another who sends as fast as 256 connections can. Two
 * ordinary users (impersonated with the administrator's token, so that no exemption helps them)
 * create and read ConfigMaps over TLS: the light one by a fixed schedule of 50 requests a second,
 * alone, then beside the heavy one's creates. Server and both generators share the machine, so a
 * part of what is felt is the processor's; the other floor is the light user's latency when the
 * heavy one's requests end at /version, which no queue sees.
 */
#include "bench.h"
#include "front.h"
#include "http_load.h"
#include "kinds/kinds.h"
#include "process.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPS "/api/v1/namespaces/default/configmaps"
#define RBAC "/apis/rbac.authorization.k8s.io/v1/"

struct server {
	pid_t pid;
	int port;
	char dir[64], token[128];
};

struct user {
	const struct server *server;
	const char *name; /* "": the administrator */
	const char *prefix;
	bool version; /* asks for /version only */
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bench_fair: %s: %s\n", what, why);
	exit(1);
}

static void serve(const struct server *s, int out)
{
	struct front_options o = {.dir = s->dir,
				  .listen = "127.0.0.1:0",
				  .durable = true,
				  .sync = true,
				  .kinds = kinds_hub()};
	struct front *f = NULL;
	struct err e = ERR_INIT;
	sigset_t set;
	int sig, port;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (front_open(&o, &f, &e) < 0)
		die("front", e.text);
	port = (int)strtol(strrchr(front_url(f), ':') + 1, NULL, 10);
	if (write(out, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	sigwait(&set, &sig);
	front_close(f);
	_exit(0);
}

static void start(struct server *s)
{
	char path[PATH_MAX];
	int fds[2];
	FILE *f;
	snprintf(s->dir, sizeof(s->dir), "/tmp/bench-fair-XXXXXX");
	if (!mkdtemp(s->dir) || pipe(fds) < 0)
		die("directory", "cannot be made");
	s->pid = fork();
	if (s->pid == 0)
		serve(s, fds[1]);
	close(fds[1]);
	if (read(fds[0], &s->port, sizeof(s->port)) != sizeof(s->port))
		die("server", "does not start");
	close(fds[0]);
	snprintf(path, sizeof(path), "%s/pki/admin.token", s->dir);
	f = fopen(path, "r");
	if (!f || !fgets(s->token, sizeof(s->token), f))
		die("token", "cannot be read");
	fclose(f);
}

static void stop(struct server *s)
{
	char command[128];
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	if (system(command) != 0)
		fprintf(stderr, "bench_fair: %s is left\n", s->dir);
}

/* ---- requests ---- */

static void add_request(struct buf *out, const struct user *u, const char *method, const char *path,
			struct span body)
{
	buf_addf(out,
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
		 "Accept: application/json\r\n",
		 method, path, u->server->token);
	if (u->name[0])
		buf_addf(out, "Impersonate-User: %s\r\n", u->name);
	if (body.len)
		buf_addf(out, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			 body.len);
	buf_add_str(out, "\r\n");
	buf_add_span(out, body);
}

/* Creates; every second request of the light user is a read. */
static void make(void *arg, uint64_t n, struct buf *out)
{
	const struct user *u = arg;
	bool light = strcmp(u->name, "light") == 0;
	auto_buf body = BUF_INIT;
	if (u->version) {
		add_request(out, u, "GET", "/version", SPAN_NONE);
		return;
	}
	if (light && n % 2) {
		add_request(out, u, "GET", MAPS "/shared", SPAN_NONE);
		return;
	}
	buf_addf(
	    &body,
	    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-%llu\"},"
	    "\"data\":{\"text\":\"",
	    u->prefix, (unsigned long long)n);
	for (int i = 0; i < 30; i++)
		buf_add_str(&body, "what a map of one kilobyte says: ");
	buf_add_str(&body, "\"}}");
	add_request(out, u, "POST", MAPS, buf_span(&body));
}

static const char role[] =
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\",\"metadata\":{"
    "\"name\":\"maps\"},\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],\"verbs\":["
    "\"*\"]}]}";
static const char binding[] =
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRoleBinding\",\"metadata\":"
    "{\"name\":\"maps\"},\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":"
    "\"ClusterRole\",\"name\":\"maps\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"light\",\"apiGroup\":"
    "\"rbac.authorization.k8s.io\"},{\"kind\":\"User\",\"name\":\"heavy\",\"apiGroup\":"
    "\"rbac.authorization.k8s.io\"}]}";

static const char shared[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"shared\"}}";

static void make_rights(void *arg, uint64_t n, struct buf *out)
{
	static const char *const paths[] = {RBAC "clusterroles", RBAC "clusterrolebindings", MAPS};
	static const char *const bodies[] = {role, binding, shared};
	add_request(out, arg, "POST", paths[n], span_of(bodies[n]));
}

/* ---- loads ---- */

struct load {
	struct http_load load;
	struct http_load_result result;
	struct err err;
	pthread_t thread;
};

static void *run(void *arg)
{
	struct load *l = arg;
	if (http_load_run(&l->load, &l->result, &l->err) < 0)
		die("load", l->err.text);
	return NULL;
}

static void begin(struct load *l, const struct user *u, int connections, double rate,
		  double seconds)
{
	*l = (struct load){.load = {.port = u->server->port,
				    .token = u->server->token,
				    .connections = connections,
				    .seconds = seconds,
				    .rate = rate,
				    .make = make,
				    .arg = (void *)(uintptr_t)u}};
	if (pthread_create(&l->thread, NULL, run, l) != 0)
		die("thread", "cannot be started");
}

static void report(struct bench *b, const char *name, struct load *l, double floor_p99,
		   double target)
{
	pthread_join(l->thread, NULL);
	if (l->result.failed) {
		fprintf(stderr, "%s: %llu failed: %s\n", name, (unsigned long long)l->result.failed,
			l->result.first_failure);
		b->failed++;
	}
	bench_print(b, &(struct bench_row){name, "requests", "1/s",
					   (double)l->result.done / l->result.seconds});
	bench_print(b, &(struct bench_row){
			   name, "p50", "ms",
			   bench_percentile(l->result.latencies, l->result.done, 50) * 1e3});
	bench_print(
	    b, &(struct bench_row){name, "p99", "ms",
				   bench_percentile(l->result.latencies, l->result.done, 99) * 1e3,
				   floor_p99, target, target > 0 ? BENCH_AT_MOST : BENCH_INFO});
}

static double p99(const struct load *l)
{
	return bench_percentile(l->result.latencies, l->result.done, 99) * 1e3;
}

int main(int argc, char **argv)
{
	struct bench b;
	struct server s = {0};
	struct load load, other;
	struct http_load_result made = {0};
	struct err e = ERR_INIT;
	double seconds, alone, beside_version;
	bench_init(&b, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	seconds = b.quick ? 2 : 8;
	start(&s);
	struct user admin = {&s, "", "", false};
	struct http_load rights = {.port = s.port,
				   .token = s.token,
				   .connections = 1,
				   .seconds = 10,
				   .requests = 3,
				   .make = make_rights,
				   .arg = &admin};
	if (http_load_run(&rights, &made, &e) < 0 || made.failed)
		die("rights", made.failed ? made.first_failure : e.text);
	http_load_done(&made);

	begin(&load, &(struct user){&s, "light", "alone", false}, 2, 50, seconds);
	report(&b, "fair-alone", &load, 0, 0);
	alone = p99(&load);
	http_load_done(&load.result);

	struct user asker = {&s, "", "", true}, heavy = {&s, "heavy", "heavy", false};
	struct user floor = {&s, "light", "floor", false}, light = {&s, "light", "beside", false};
	begin(&other, &asker, 256, 0, seconds + 1);
	begin(&load, &floor, 2, 50, seconds);
	report(&b, "fair-floor", &load, alone, 0);
	beside_version = p99(&load);
	http_load_done(&load.result);
	pthread_join(other.thread, NULL);
	http_load_done(&other.result);

	begin(&other, &heavy, 256, 0, seconds + 1);
	begin(&load, &light, 2, 50, seconds);
	report(&b, "fair-light", &load, beside_version,
	       2 * (beside_version > alone ? beside_version : alone));
	http_load_done(&load.result);
	report(&b, "fair-heavy", &other, 0, 0);
	http_load_done(&other.result);
	stop(&s);
	return bench_finish(&b);
}
