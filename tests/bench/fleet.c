#include "fleet.h"

#include "http_watch.h"
#include <limits.h>
#include <pthread.h>
#include <time.h>

void fleet_die(const char *what, const struct err *e)
{
	fprintf(stderr, "bench_e2e: %s: %s\n", what, e->text);
	exit(1);
}

static void die(const char *what, const char *why)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_INTERNAL, "%s", why);
	fleet_die(what, &e);
}

/* ---- programs ---- */

static char *program(char *out, const char *name)
{
	const char *build = getenv("MUSTER_BUILD");
	snprintf(out, PATH_MAX, "%s/%s", build ? build : ".", name);
	return out;
}

static void read_token(const char *dir, char token[128])
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/pki/admin.token", dir);
	FILE *f = fopen(path, "r");
	if (!f || !fgets(token, 128, f))
		die(path, "no token");
	token[strcspn(token, "\n")] = '\0';
	fclose(f);
}

void fleet_start_hub(struct fleet *f)
{
	char path[PATH_MAX], data[96];
	struct err e = ERR_INIT;
	snprintf(data, sizeof(data), "%s/hub", f->dir);
	const char *argv[] = {program(path, "musterd"),
			      "--data-dir",
			      data,
			      "--kubeconfig-out",
			      f->kubeconfig,
			      "--listen",
			      f->listen,
			      NULL};
	if (process_start(&f->hub, argv, 1, f->log, &e) < 0)
		fleet_die("musterd", &e);
	snprintf(f->listen, sizeof(f->listen), "127.0.0.1:%d", process_port(&f->hub, 0));
	read_token(data, f->token);
}

void fleet_open(struct fleet *f)
{
	*f = (struct fleet){.listen = "127.0.0.1:0"};
	snprintf(f->dir, sizeof(f->dir), "/tmp/bench-e2e-XXXXXX");
	if (!mkdtemp(f->dir))
		die("/tmp", "no directory");
	snprintf(f->log, sizeof(f->log), "%s/programs.log", f->dir);
	snprintf(f->kubeconfig, sizeof(f->kubeconfig), "%s/kubeconfig", f->dir);
	fleet_start_hub(f);
}

static void write_nodes(const char *path, int nodes)
{
	FILE *f = fopen(path, "w");
	if (!f)
		die(path, "cannot be written");
	fprintf(f,
		"apiVersion: v1\nkind: Node\nmetadata:\n  name: node\n  annotations:\n"
		"    muster.dev/sim-count: \"%d\"\nstatus:\n  allocatable:\n    cpu: \"96\"\n"
		"    memory: 1000Gi\n    pods: \"110\"\n    nvidia.com/gpu: \"8\"\n",
		nodes);
	fclose(f);
}

void fleet_start_members(struct fleet *f, int members, int nodes, bool in_memory)
{
	char path[PATH_MAX], nodes_file[96], config[96], data[96], count[8];
	struct err e = ERR_INIT;
	f->n_members = members;
	snprintf(nodes_file, sizeof(nodes_file), "%s/nodes.yaml", f->dir);
	snprintf(config, sizeof(config), "%s/member", f->dir);
	snprintf(data, sizeof(data), "%s/members", f->dir);
	snprintf(count, sizeof(count), "%d", members);
	write_nodes(nodes_file, nodes);
	const char *argv[] = {program(path, "member-sync/sim/muster-sim"),
			      "--name",
			      "m",
			      "--count",
			      count,
			      "--nodes",
			      nodes_file,
			      "--kubeconfig-out",
			      config,
			      in_memory ? NULL : "--data-dir",
			      data,
			      NULL};
	if (process_start(&f->sims, argv, members, f->log, &e) < 0)
		fleet_die("muster-sim", &e);
	for (int i = 0; i < members && !in_memory; i++) {
		char dir[128];
		snprintf(dir, sizeof(dir), "%s/m-%d", data, i);
		read_token(dir, f->sim_tokens[i]);
	}
}

bool fleet_close(struct fleet *f)
{
	char command[128];
	bool good = process_stop(&f->hub) == 0;
	good = process_stop(&f->sims) == 0 && good;
	snprintf(command, sizeof(command), "rm -rf %s", f->dir);
	if (system(command) != 0)
		fprintf(stderr, "bench_e2e: %s is left\n", f->dir);
	return good;
}

/* ---- joining ---- */

/* Set by each change of a Cluster. */
struct news {
	pthread_mutex_t lock;
	pthread_cond_t come;
	bool any;
};

static bool note_news(void *arg, char *line, size_t len)
{
	struct news *n = arg;
	(void)line;
	(void)len;
	pthread_mutex_lock(&n->lock);
	n->any = true;
	pthread_cond_signal(&n->come);
	pthread_mutex_unlock(&n->lock);
	return true;
}

/* The last list of a member may end without a change of its Cluster: at most 0.1 s then. */
static void await_news(struct news *n)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&n->lock);
	while (!n->any && pthread_cond_timedwait(&n->come, &n->lock, &until) == 0)
		;
	n->any = false;
	pthread_mutex_unlock(&n->lock);
}

static bool count_synced(void *arg, char *line, size_t len)
{
	(void)len;
	for (char *at = line; (at = strstr(at, "\"synced\":true")); at++)
		++*(int *)arg;
	return true;
}

static int synced(struct fleet *f)
{
	struct err e = ERR_INIT;
	int n = 0;
	struct http_watch get = {.port = process_port(&f->hub, 0),
				 .path = "/apis/muster.dev/v1alpha1/clusters",
				 .token = f->token,
				 .line = count_synced,
				 .arg = &n};
	if (http_watch_get(&get, &e) < 0)
		fleet_die("clusters", &e);
	return n;
}

static void join_one(struct fleet *f, int i)
{
	char path[PATH_MAX], config[128], name[16];
	struct err e = ERR_INIT;
	snprintf(config, sizeof(config), "%s/member-%d", f->dir, i);
	snprintf(name, sizeof(name), "m-%d", i);
	const char *argv[] = {
	    program(path, "deploy/cli/muster"), "join", name, "--kubeconfig", config, NULL};
	if (process_run(argv, f->log, &e) < 0)
		fleet_die("join", &e);
}

void fleet_join(struct fleet *f)
{
	struct news news = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
	struct http_watch clusters = {.port = process_port(&f->hub, 0),
				      .path = "/apis/cluster.karmada.io/v1alpha1/clusters"
					      "?watch=true",
				      .token = f->token,
				      .line = note_news,
				      .arg = &news};
	struct err e = ERR_INIT;
	struct http_watch_thread *watch = http_watch_start(&clusters, &e);
	if (!watch)
		fleet_die("clusters", &e);
	setenv("KUBECONFIG", f->kubeconfig, 1);
	for (int i = 0; i < f->n_members; i++)
		join_one(f, i);
	for (int tries = 0; synced(f) < f->n_members; tries++) {
		if (tries > 300)
			die("join", "not every member is Ready");
		await_news(&news);
	}
	http_watch_stop(watch);
}
