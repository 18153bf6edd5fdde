#include "bench.h"
#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#define PROBE_NS 50000000u /* 50 ms: long enough for a steady number, short beside any scenario */

void bench_init(struct bench *b, int argc, char **argv)
{
	*b = (struct bench){0};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			b->json = true;
		} else if (strcmp(argv[i], "--quick") == 0) {
			b->quick = true;
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
			b->section = argv[++i];
		} else {
			fprintf(stderr, "usage: %s [--json] [--quick] [--only SECTION]\n", argv[0]);
			exit(2);
		}
	}
}

static bool row_is_ok(const struct bench_row *row)
{
	switch (row->goal) {
	case BENCH_AT_LEAST:
		return row->value >= row->target;
	case BENCH_AT_MOST:
		return row->value <= row->target;
	case BENCH_INFO:
		break;
	}
	return true;
}

void bench_print(struct bench *b, const struct bench_row *row)
{
	bool ok = row_is_ok(row);
	if (!ok)
		b->failed++;
	if (b->json) {
		printf("{\"name\":\"%s\",\"metric\":\"%s\",\"value\":%.6g,\"unit\":\"%s\","
		       "\"floor\":%.6g,\"target\":%.6g,\"ok\":%s}\n",
		       row->name, row->metric, row->value, row->unit, row->floor, row->target,
		       ok ? "true" : "false");
	} else {
		static const char *const signs[] = {"", ">=", "<="};
		char target[32] = "-", floor[32] = "-";
		if (row->goal != BENCH_INFO)
			snprintf(target, sizeof(target), "%s%.6g", signs[row->goal], row->target);
		if (row->floor > 0)
			snprintf(floor, sizeof(floor), "%.6g", row->floor);
		if (b->printed == 0)
			printf("%-14s %-34s %12s %-8s %12s %12s %s\n", "NAME", "METRIC", "VALUE",
			       "UNIT", "FLOOR", "TARGET", "OK");
		printf("%-14s %-34s %12.6g %-8s %12s %12s %s\n", row->name, row->metric, row->value,
		       row->unit, floor, target, ok ? "ok" : "MISSED");
	}
	fflush(stdout);
	b->printed++;
}

int bench_finish(const struct bench *b)
{
	return b->failed ? 1 : 0;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;
	if (clock_gettime(id, &ts) != 0)
		abort();
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_now_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_log_slope(const double *x, const double *y, size_t n)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, dn = (double)n;
	for (size_t i = 0; i < n; i++) {
		double lx = log(x[i]), ly = log(y[i]);
		sx += lx;
		sy += ly;
		sxx += lx * lx;
		sxy += lx * ly;
	}
	double spread = dn * sxx - sx * sx;
	return n < 2 || spread <= 0 ? 0 : (dn * sxy - sx * sy) / spread;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

double bench_percentile(double *values, size_t n, double p)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), compare_doubles);
	size_t i = (size_t)(p / 100 * (double)(n - 1) + 0.5);
	return values[i < n ? i : n - 1];
}

uint64_t bench_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double bench_probe_random_loads(size_t bytes)
{
	size_t n = bytes / sizeof(uint32_t) > 2 ? bytes / sizeof(uint32_t) : 2;
	uint32_t *next = xcalloc(n, sizeof(*next));
	for (size_t i = 0; i < n; i++)
		next[i] = (uint32_t)i;
	/* Sattolo's shuffle: one cycle through all of it, so that no walk stays in a corner. */
	uint64_t seed = 1;
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = bench_random(&seed) % i;
		uint32_t t = next[i];
		next[i] = next[j];
		next[j] = t;
	}
	uint64_t start = bench_now_ns(), loads = 0, elapsed;
	uint32_t at = 0;
	do {
		for (int i = 0; i < 4096; i++)
			at = next[at];
		loads += 4096;
		elapsed = bench_now_ns() - start;
	} while (elapsed < PROBE_NS);
	bench_keep(at);
	free(next);
	return (double)loads * 1e9 / (double)elapsed;
}

double bench_probe_cache_loads(void)
{
	return bench_probe_random_loads(16384);
}

double bench_probe_durable_appends(const char *dir, size_t bytes)
{
	char *path = NULL;
	if (asprintf(&path, "%s/bench-probe-XXXXXX", dir) < 0)
		abort();
	int fd = mkstemp(path);
	if (fd < 0) {
		free(path);
		return -1;
	}
	unlink(path);
	free(path);
	char *data = xcalloc(1, bytes);
	uint64_t start = bench_now_ns(), n = 0, elapsed = 1;
	bool good = true;
	do {
		good = write(fd, data, bytes) == (ssize_t)bytes && fdatasync(fd) == 0;
		n++;
		elapsed = bench_now_ns() - start;
	} while (good && elapsed < 4 * (uint64_t)PROBE_NS);
	free(data);
	close(fd);
	return good ? (double)n * 1e9 / (double)elapsed : -1;
}
