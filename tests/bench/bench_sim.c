/*
 * The simulator's core thread: three clusters, one-pod PyTorchJobs that run for no time, each
 * created suspended, released, finished and deleted, as the hub does it.
 *
 * Measured is the time inside cluster_step() alone: the API front and its workers run on other
 * threads. What it costs the hub to drive a member is the hub's own figure.
 */
#include "base/json.h"
#include "bench.h"
#include "kinds/types.h"
#include "member-sync/sim/cluster.h"
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_CLUSTERS 3
#define WINDOW	   100 /* jobs in flight per cluster */

static const char nodes_yaml[] =
    "kind: Node\nmetadata: {name: node, annotations: {muster.dev/sim-count: \"64\"}}\n"
    "status: {allocatable: {cpu: \"64\", memory: 256Gi, nvidia.com/gpu: \"8\"}}\n";

static const char job_json[] =
    "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"metadata\":{\"namespace\":"
    "\"default\",\"annotations\":{\"muster.dev/job-uid\":\"u\",\"muster.dev/epoch\":\"1\"}},"
    "\"spec\":{\"runPolicy\":{\"suspend\":%s},\"pytorchReplicaSpecs\":{\"Master\":{"
    "\"replicas\":1,\"restartPolicy\":\"Never\",\"template\":{\"metadata\":{\"annotations\":{"
    "\"muster.dev/sim-duration\":\"0s\"}},\"spec\":{\"containers\":[{\"name\":\"pytorch\","
    "\"image\":\"x\",\"resources\":{\"requests\":{\"cpu\":\"1\",\"nvidia.com/gpu\":\"1\"}}}]"
    "}}}}}}";

struct run {
	struct cluster *clusters[N_CLUSTERS];
	const struct kind *kind;
	uint64_t made[N_CLUSTERS], released[N_CLUSTERS], over[N_CLUSTERS];
	double inside; /* seconds in cluster_step() */
};

/* CPU time, since other threads and programs share the machine. */
static double seconds(void)
{
	return (double)bench_cpu_now_ns() / 1e9;
}

static void done(struct command *c)
{
	if (c->err.kind != ERR_NONE) {
		fprintf(stderr, "%s: %s\n", c->name, c->err.text);
		exit(1);
	}
	command_destroy(c);
}

static void submit(struct run *r, int i, enum command_verb verb, uint64_t number,
		   const char *suspend, uint64_t revision)
{
	struct backend *b = cluster_backend(r->clusters[i]);
	struct err e = ERR_INIT;
	char name[32], uid[64], text[2048];
	auto_json *tree = NULL;
	snprintf(name, sizeof(name), "job-%llu", (unsigned long long)number);
	struct command *c = command_create(verb, r->kind, SPAN("default"), span_of(name));
	c->done = done;
	c->expected_revision = revision;
	if (verb != COMMAND_DELETE) {
		snprintf(text, sizeof(text), job_json, suspend);
		snprintf(uid, sizeof(uid), "1111111%d-0000-4000-8000-%012llu", i,
			 (unsigned long long)number);
		if (json_parse(span_of(text), NULL, &tree, &e))
			exit(1);
		json_set_str(json_get(tree, "metadata"), "name", name);
		json_set_str(json_get(tree, "metadata"), "uid", uid);
		if (object_draft_from_tree(r->kind, tree, &c->draft, &e))
			exit(1);
	}
	if (b->ops->submit(b, c, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(1);
	}
}

/* The job's revision and the last condition's type; 0 when it is absent. */
static uint64_t look(struct store_reader *reader, uint16_t type, uint64_t number, char out[32])
{
	char name[32];
	struct store_object o;
	struct span list, one, key = SPAN_NONE, last = SPAN_NONE;
	snprintf(name, sizeof(name), "job-%llu", (unsigned long long)number);
	struct store_key k = {type, SPAN("default"), span_of(name)};
	*out = '\0';
	if (store_get(reader, &k, &o))
		return 0;
	if (json_text_path(o.json, &list, "status", "conditions", NULL) == 0)
		for (size_t pos = 0; json_text_next(list, &pos, &key, &one);)
			last = one;
	if (last.len && json_text_member(last, "type", &one) == 0)
		snprintf(out, 32, "%.*s", SPAN_ARGS(json_text_plain(one)));
	return o.revision;
}

static void drive(struct run *r, int i, uint64_t jobs)
{
	struct err e = ERR_INIT;
	char state[32];
	auto_reader *reader = NULL;
	while (r->made[i] < jobs && r->made[i] - r->over[i] < WINDOW)
		submit(r, i, COMMAND_CREATE, r->made[i]++, "true", 0);
	if (store_read_begin(cluster_backend(r->clusters[i])->truth, &reader, &e))
		exit(1);
	while (r->released[i] < r->made[i]) {
		uint64_t revision = look(reader, r->kind->type, r->released[i], state);
		if (strcmp(state, "Suspended") != 0)
			break;
		submit(r, i, COMMAND_UPDATE, r->released[i]++, "false", revision);
	}
	while (r->over[i] < r->released[i]) {
		uint64_t revision = look(reader, r->kind->type, r->over[i], state);
		if (strcmp(state, "Succeeded") != 0)
			break;
		submit(r, i, COMMAND_DELETE, r->over[i]++, NULL, revision);
	}
}

static void run_jobs(struct run *r, uint64_t jobs)
{
	for (bool more = true; more;) {
		more = false;
		for (int i = 0; i < N_CLUSTERS; i++) {
			struct err e = ERR_INIT;
			usec due;
			drive(r, i, jobs);
			double before = seconds();
			if (cluster_step(r->clusters[i], clock_now(), &due, &e)) {
				fprintf(stderr, "%s\n", e.text);
				exit(1);
			}
			r->inside += seconds() - before;
			more |= r->over[i] < jobs || due == 0;
		}
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct run r = {0};
	struct err e = ERR_INIT;
	char dir[] = "/tmp/muster-bench-XXXXXX", nodes[64], data[64];
	bench_init(&b, argc, argv);
	if (!mkdtemp(dir))
		return 1;
	snprintf(nodes, sizeof(nodes), "%s/nodes.yaml", dir);
	int fd = open(nodes, O_WRONLY | O_CREAT, 0600);
	if (write(fd, nodes_yaml, sizeof(nodes_yaml) - 1) < 0)
		return 1;
	close(fd);
	for (int i = 0; i < N_CLUSTERS; i++) {
		snprintf(data, sizeof(data), "%s/%d", dir, i);
		struct cluster_options o = {.name = "m",
					    .data_dir = data,
					    .nodes_file = nodes,
					    .time_scale = 1,
					    .seed = 1 + (uint64_t)i,
					    .map_bytes = (size_t)8 << 30,
					    .events = true,
					    .version = "v1.34.0"};
		if (cluster_open(&o, &r.clusters[i], &e)) {
			fprintf(stderr, "%s\n", e.text);
			return 1;
		}
	}
	r.kind = kind_by_type(cluster_backend(r.clusters[0])->kinds, TYPE_PYTORCH_JOB);
	uint64_t jobs = b.quick ? 300 : 5000;
	run_jobs(&r, jobs);
	struct bench_row row = {.name = "sim",
				.metric = "jobs_per_core_second",
				.value = (double)(jobs * N_CLUSTERS) / r.inside,
				.unit = "1/s",
				.target = 1000,
				.goal = BENCH_AT_LEAST};
	bench_print(&b, &row);
	for (int i = 0; i < N_CLUSTERS; i++)
		cluster_close(r.clusters[i]);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return bench_finish(&b);
}
