#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H
/*
 * What every benchmark shares: a clock, rows of results, a fitted slope, and floor probes.
 *
 * A row is one measured number beside the floor (what the machine itself can do: a probe, so that a
 * slow machine is told from slow code; 0 when there is none) and the target it is judged by. Rows
 * print as a table line `name metric value unit floor target ok` or, with --json, as one JSON
 * object per line {name, metric, value, unit, floor, target, ok}. Programs exit 1 when a row is not
 * ok.
 */
#include "base/compat.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_goal {
	BENCH_INFO = 0, /* no target; always ok */
	BENCH_AT_LEAST,
	BENCH_AT_MOST,
};

struct bench_row {
	const char *name;   /* scenario */
	const char *metric; /* what was measured; no spaces */
	const char *unit;
	double value;
	double floor;
	double target;
	enum bench_goal goal;
};

struct bench {
	bool json;
	bool quick;	     /* --quick: shorter runs for a smoke test; figures not to be trusted */
	const char *section; /* --only SECTION, or NULL */
	int failed;	     /* rows that were not ok */
	int printed;
};

/* Reads --json, --quick and --only SECTION; exits 2 on anything else. */
void bench_init(struct bench *b, int argc, char **argv);
void bench_print(struct bench *b, const struct bench_row *row);
/* Exit status: 0 when every row was ok. */
int bench_finish(const struct bench *b);

uint64_t bench_now_ns(void);	 /* monotonic */
uint64_t bench_cpu_now_ns(void); /* CPU time of this process */

/* Least-squares slope of log(y) over log(x): the exponent of growth. */
double bench_log_slope(const double *x, const double *y, size_t n);
/* The p-th percentile (0..100) of n values, which it sorts. */
double bench_percentile(double *values, size_t n, double p);

/* Floor probes, in operations a second: dependent loads that hit the first cache, dependent random
 * loads over `bytes` of memory, and durable appends of `bytes` (write and fdatasync) in `dir`, -1
 * when that cannot be done. */
double bench_probe_cache_loads(void);
double bench_probe_random_loads(size_t bytes);
double bench_probe_durable_appends(const char *dir, size_t bytes);

/* Deterministic random numbers: splitmix64. */
uint64_t bench_random(uint64_t *state);

/* Keeps a value alive against the optimizer. */
static inline void bench_keep(uint64_t value)
{
	__asm__ volatile("" : : "r"(value) : "memory");
}

#endif
