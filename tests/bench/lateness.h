#ifndef TESTS_BENCH_LATENESS_H
#define TESTS_BENCH_LATENESS_H
/*
 * How late the machine wakes whoever asks for it: a thread that sleeps until each of its times, 500
 * a second, beside a measurement. What others on the machine do to a latency is seen here, and
 * tells it from what the server does.
 */

struct lateness;

struct lateness *lateness_begin(void);
/* The 99th percentile in ms. The meter is gone. */
double lateness_end(struct lateness *l);

#endif
