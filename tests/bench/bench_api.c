/*
 * The API front over TLS on this machine: durable creates, reads, one process for the server and
 * one for the load (DESIGN figures of part A). The server is the front of tests/system/api: LMDB
 * with fsync, a registry, no scheduling behind it; for hub-create it is musterd with
 * `requirePolicy`.
 */
#include "bench.h"
#include "front.h"
#include "http_load.h"
#include "process.h"

#include "kinds/kinds.h"
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
	pid_t pid;
	int port;
	char dir[64], token[128];
};

static void serve(const struct server *s, int out)
{
	struct front_options o = {.dir = s->dir,
				  .listen = "127.0.0.1:0",
				  .durable = true,
				  .sync = !getenv("BENCH_NO_SYNC"),
				  .kinds = kinds_hub()};
	struct front *f = NULL;
	struct err e = ERR_INIT;
	sigset_t set;
	int sig, port;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (front_open(&o, &f, &e) < 0) {
		fprintf(stderr, "bench_api: %s\n", e.text);
		_exit(1);
	}
	port = (int)strtol(strrchr(front_url(f), ':') + 1, NULL, 10);
	if (write(out, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	sigwait(&set, &sig);
	front_close(f);
	_exit(0);
}

static bool read_token(struct server *s, const char *dir)
{
	char path[PATH_MAX];
	FILE *f;
	snprintf(path, sizeof(path), "%s/pki/admin.token", dir);
	f = fopen(path, "r");
	if (!f)
		return false;
	bool ok = fgets(s->token, sizeof(s->token), f);
	fclose(f);
	return ok;
}

static bool start(struct server *s)
{
	int fds[2];
	snprintf(s->dir, sizeof(s->dir), "/tmp/bench-api-XXXXXX");
	if (!mkdtemp(s->dir) || pipe(fds) < 0)
		return false;
	s->pid = fork();
	if (s->pid == 0)
		serve(s, fds[1]);
	close(fds[1]);
	if (read(fds[0], &s->port, sizeof(s->port)) != sizeof(s->port))
		return false;
	close(fds[0]);
	return read_token(s, s->dir);
}

static void remove_dir(const struct server *s)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	if (system(command) != 0)
		fprintf(stderr, "bench_api: %s is left\n", s->dir);
}

static void stop(struct server *s)
{
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	remove_dir(s);
}

/* A PyTorchJob of about 2 KB. */
static void make_create(void *arg, uint64_t n, struct buf *out)
{
	static const char path[] = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
	const struct server *s = arg;
	struct buf b = BUF_INIT;
	buf_addf(
	    &b,
	    "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"name\":"
	    "\"bench-%llu\",\"labels\":{\"team\":\"vision\",\"app\":\"train\"}},\"spec\":{"
	    "\"runPolicy\":{\"cleanPodPolicy\":\"None\",\"ttlSecondsAfterFinished\":3600},"
	    "\"pytorchReplicaSpecs\":{",
	    (unsigned long long)n);
	for (int i = 0; i < 2; i++)
		buf_addf(
		    &b,
		    "%s\"%s\":{\"replicas\":%d,\"restartPolicy\":\"OnFailure\",\"template\":{"
		    "\"spec\":{\"containers\":[{\"name\":\"pytorch\",\"image\":\"registry.example"
		    ".com/vision/train:2026.11\",\"command\":[\"python\",\"-m\",\"torch.distributed."
		    "run\",\"--nproc-per-node=8\",\"/workspace/train.py\",\"--epochs=90\","
		    "\"--data=/data/imagenet\"],\"env\":[{\"name\":\"NCCL_DEBUG\",\"value\":\"WARN\"},"
		    "{\"name\":\"OMP_NUM_THREADS\",\"value\":\"8\"},{\"name\":\"WANDB_MODE\",\"value\":"
		    "\"offline\"}],\"resources\":{\"requests\":{\"cpu\":\"32\",\"memory\":\"256Gi\","
		    "\"nvidia.com/gpu\":\"8\"},\"limits\":{\"cpu\":\"32\",\"memory\":\"256Gi\","
		    "\"nvidia.com/gpu\":\"8\"}},\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":"
		    "\"/data\"},{\"name\":\"shm\",\"mountPath\":\"/dev/shm\"}]}],\"tolerations\":[{"
		    "\"key\":\"nvidia.com/gpu\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}],"
		    "\"nodeSelector\":{\"gpu.nvidia.com/class\":\"H100\"},\"volumes\":[{\"name\":"
		    "\"data\",\"persistentVolumeClaim\":{\"claimName\":\"imagenet\"}},{\"name\":\"shm\","
		    "\"emptyDir\":{\"medium\":\"Memory\"}}]}}}",
		    i ? "," : "", i ? "Worker" : "Master", i ? 15 : 1);
	buf_add_str(&b, "}}}");
	http_load_head(out, "POST", path, s->token, b.len);
	buf_add_span(out, buf_span(&b));
	buf_done(&b);
}

static void make_get(void *arg, uint64_t n, struct buf *out)
{
	const struct server *s = arg;
	char path[128];
	snprintf(path, sizeof(path),
		 "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/bench-%llu",
		 (unsigned long long)(n % 1000));
	http_load_head(out, "GET", path, s->token, 0);
}

static void make_version(void *arg, uint64_t n, struct buf *out)
{
	const struct server *s = arg;
	(void)n;
	http_load_head(out, "GET", "/version", s->token, 0);
}

/* CPU time of the server so far, in seconds. */
static double server_cpu(const struct server *s)
{
	char path[64], line[1024] = "";
	unsigned long user = 0, system = 0;
	FILE *f;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)s->pid);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f) && strrchr(line, ')'))
		sscanf(strrchr(line, ')') + 2,
		       "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	if (f)
		fclose(f);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void measure(struct bench *b, struct server *s, const char *name, double target,
		    double seconds, void (*make)(void *, uint64_t, struct buf *))
{
	struct http_load l = {.port = s->port,
			      .token = s->token,
			      .connections = 64,
			      .seconds = b->quick ? 1 : seconds,
			      .make = make,
			      .arg = s};
	struct http_load_result r;
	struct err e = ERR_INIT;
	double cpu = server_cpu(s), own = (double)bench_cpu_now_ns() / 1e9;
	if (b->section && strcmp(b->section, name) != 0)
		return;
	if (http_load_run(&l, &r, &e) < 0 || r.failed) {
		fprintf(stderr, "%s: %s %s (%llu failed)\n", name, e.text, r.first_failure,
			(unsigned long long)r.failed);
		b->failed++;
		return;
	}
	bench_print(b, &(struct bench_row){name, "requests", "1/s", (double)r.done / r.seconds, 0,
					   target, target > 0 ? BENCH_AT_LEAST : BENCH_INFO});
	bench_print(b, &(struct bench_row){name, "p50", "ms",
					   bench_percentile(r.latencies, r.done, 50) * 1e3});
	bench_print(b, &(struct bench_row){name, "p99", "ms",
					   bench_percentile(r.latencies, r.done, 99) * 1e3});
	cpu = (server_cpu(s) - cpu) / (double)r.done * 1e6;
	own = ((double)bench_cpu_now_ns() / 1e9 - own) / (double)r.done * 1e6;
	bench_print(b, &(struct bench_row){name, "server-cpu", "us", cpu});
	bench_print(b, &(struct bench_row){name, "generator-cpu", "us", own});
	http_load_done(&r);
}

/* The same creates through the whole hub: its core has to see that no policy takes them. */
static void measure_hub(struct bench *b)
{
	struct server s = {0};
	struct process hub = {0};
	struct err e = ERR_INIT;
	char config[96], log[96], data[96];
	FILE *f;
	if (b->section && strcmp(b->section, "hub-create") != 0)
		return;
	snprintf(s.dir, sizeof(s.dir), "/tmp/bench-api-XXXXXX");
	if (!mkdtemp(s.dir))
		return;
	snprintf(config, sizeof(config), "%s/config.yaml", s.dir);
	snprintf(log, sizeof(log), "%s/log", s.dir);
	snprintf(data, sizeof(data), "%s/data", s.dir);
	f = fopen(config, "w");
	if (!f || fputs("requirePolicy: true\n", f) < 0 || fclose(f) != 0)
		return;
	const char *argv[] = {"./musterd", "--config", config,	      "--data-dir",
			      data,	   "--listen", "127.0.0.1:0", NULL};
	if (process_start(&hub, argv, 1, log, &e) < 0 || !read_token(&s, data)) {
		fprintf(stderr, "hub-create: %s (is the working directory the build's?)\n", e.text);
		b->failed++;
	} else {
		s.pid = hub.pid;
		s.port = process_port(&hub, 0);
		measure(b, &s, "hub-create", 10000, 10, make_create);
	}
	if (process_stop(&hub) < 0)
		b->failed++;
	remove_dir(&s);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct server s = {0};
	bench_init(&b, argc, argv);
	signal(SIGPIPE, SIG_IGN);
	if (!start(&s)) {
		fprintf(stderr, "bench_api: the server does not start\n");
		return 1;
	}
	measure(&b, &s, "api-version", 0, 3, make_version);
	measure(&b, &s, "api-create", 10000, 10, make_create);
	measure(&b, &s, "api-get", 0, 5, make_get);
	stop(&s);
	measure_hub(&b);
	return bench_finish(&b);
}
