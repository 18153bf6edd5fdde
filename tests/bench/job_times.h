#ifndef TESTS_BENCH_JOB_TIMES_H
#define TESTS_BENCH_JOB_TIMES_H
/*
 * When jobs came to what: jobs `job-N`, followed by watches at the hub and at the members, as any
 * client would.
 *
 * Counts and times of a stage may be read by other threads while watches run; a time is written
 * before the count that includes it.
 */
#include "fleet.h"

#include <pthread.h>
#include <stdatomic.h>

#define JOB_TIMES_MAX  400000
#define JOB_TIMES_PATH "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"

enum job_stage { JOB_STARTED, JOB_RUNNING, JOB_FINISHED, JOB_STAGES };

struct http_watch_thread;

struct job_times {
	double *created; /* in seconds; the creator writes them */
	double *at[JOB_STAGES];
	atomic_uint_fast64_t n[JOB_STAGES];
	pthread_mutex_t lock;
	pthread_cond_t more;
	uint64_t wanted[JOB_STAGES]; /* that somebody waits for; 0: nobody */
	struct http_watch_thread *watches[FLEET_MEMBERS_MAX + 1];
};

void job_times_init(struct job_times *t);
void job_times_done(struct job_times *t); /* ends the watches too */

double job_times_now(void);

/* Follows the hub's jobs; with `members` also the copies, for JOB_STARTED. */
void job_times_watch(struct job_times *t, struct fleet *f, bool members);
void job_times_unwatch(struct job_times *t);
/* Waits until n jobs came so far; false when they did not in time. One waiter. */
bool job_times_await(struct job_times *t, enum job_stage s, uint64_t n, double seconds);

#endif
