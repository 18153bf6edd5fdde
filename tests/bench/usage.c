#include "usage.h"

#include "http_watch.h"

static bool read_revision(void *arg, char *line, size_t len)
{
	const char *at = memmem(line, len, "\"resourceVersion\":\"", 19);
	*(uint64_t *)arg = at ? strtoull(at + 19, NULL, 10) : 0;
	return false;
}

/* Of the newest row of the store that this list comes from. */
static uint64_t list_revision(struct fleet *f, const char *path)
{
	uint64_t revision = 0;
	struct err e = ERR_INIT;
	struct http_watch list = {.port = process_port(&f->hub, 0),
				  .path = path,
				  .token = f->token,
				  .line = read_revision,
				  .arg = &revision};
	if (http_watch_get(&list, &e) < 0)
		fleet_die("list", &e);
	return revision;
}

void usage_take(struct fleet *f, uint64_t finished, struct usage *ret)
{
	ret->at = (double)bench_now_ns() / 1e9;
	ret->finished = finished;
	ret->hub = process_cpu(&f->hub);
	ret->sims = process_cpu(&f->sims);
	ret->truth = list_revision(f, "/api/v1/namespaces/none/configmaps");
	ret->mirror = list_revision(f, "/api/v1/namespaces/none/pods");
	ret->own = (double)bench_cpu_now_ns() / 1e9;
	ret->n_threads[0] = process_threads(&f->hub, ret->threads[0], PROCESS_THREADS_MAX);
	ret->n_threads[1] = process_threads(&f->sims, ret->threads[1], PROCESS_THREADS_MAX);
}

static void print_cpu(struct bench *b, const char *metric, double seconds, double jobs)
{
	bench_print(b, &(struct bench_row){"e2e", metric, "us/job", seconds / jobs * 1e6});
}

static double cpu_of(const struct usage *u, int which, const char *name)
{
	double cpu = 0;
	for (size_t i = 0; i < u->n_threads[which]; i++)
		if (strcmp(u->threads[which][i].name, name) == 0)
			cpu += u->threads[which][i].cpu;
	return cpu;
}

static bool is_first(const struct usage *u, int which, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(u->threads[which][k].name, u->threads[which][i].name) == 0)
			return false;
	return true;
}

/* Threads of one name are one row. */
static void print_threads(struct bench *b, const char *who, const struct usage *from,
			  const struct usage *to, int which, double jobs)
{
	for (size_t i = 0; i < to->n_threads[which]; i++) {
		const char *name = to->threads[which][i].name;
		double cpu = cpu_of(to, which, name) - cpu_of(from, which, name);
		char metric[64];
		snprintf(metric, sizeof(metric), "way-cpu-%s-%s", who, name);
		if (is_first(to, which, i) && cpu > 0)
			print_cpu(b, metric, cpu, jobs);
	}
}

void usage_print(struct bench *b, const struct usage *from, const struct usage *to, double floor)
{
	double jobs = (double)(to->finished - from->finished);
	double all = to->hub - from->hub + to->sims - from->sims + to->own - from->own;
	bench_print(b,
		    &(struct bench_row){"e2e", "way-3-members-finished", "1/s",
					jobs / (to->at - from->at), floor, 1000, BENCH_AT_LEAST});
	bench_print(b, &(struct bench_row){"e2e", "way-rows-of-truth", "rows/job",
					   (double)(to->truth - from->truth) / jobs});
	bench_print(b, &(struct bench_row){"e2e", "way-rows-of-mirror", "rows/job",
					   (double)(to->mirror - from->mirror) / jobs});
	print_cpu(b, "way-cpu-hub", to->hub - from->hub, jobs);
	print_threads(b, "hub", from, to, 0, jobs);
	print_cpu(b, "way-cpu-sims", to->sims - from->sims, jobs);
	print_threads(b, "sims", from, to, 1, jobs);
	print_cpu(b, "way-cpu-generator", to->own - from->own, jobs);
	print_cpu(b, "way-cpu-all", all, jobs);
}
