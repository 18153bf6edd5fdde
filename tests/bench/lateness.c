#include "lateness.h"

#include "bench.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define PERIOD 2000000ULL
#define MOST   65536

struct lateness {
	pthread_t thread;
	_Atomic bool stop;
	size_t n;
	double ms[MOST];
};

static void *meter(void *arg)
{
	struct lateness *l = arg;
	for (uint64_t due = bench_now_ns() + PERIOD; !l->stop && l->n < MOST; due += PERIOD) {
		struct timespec t = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		l->ms[l->n++] = (double)(bench_now_ns() - due) / 1e6;
	}
	return NULL;
}

struct lateness *lateness_begin(void)
{
	struct lateness *l = xcalloc(1, sizeof(*l));
	if (pthread_create(&l->thread, NULL, meter, l))
		abort();
	return l;
}

double lateness_end(struct lateness *l)
{
	double p99;
	l->stop = true;
	pthread_join(l->thread, NULL);
	p99 = l->n ? bench_percentile(l->ms, l->n, 99) : 0;
	free(l);
	return p99;
}
