#ifndef TESTS_BENCH_PROCESS_H
#define TESTS_BENCH_PROCESS_H
/*
 * The product's programs as children of a benchmark: started until they say `ready`, ended with
 * SIGTERM, and asked by /proc for what they cost.
 *
 * A child dies with the thread that started it. Not for more than one thread at a time.
 */
#include "base/buf.h"
#include "base/err.h"
#include <stdio.h>
#include <sys/types.h>

#define PROCESS_THREADS_MAX 32
#define PROCESS_READY_MAX   16

struct process {
	pid_t pid;
	FILE *out;
	char urls[PROCESS_READY_MAX][64]; /* second words of the ready lines */
	int n_urls;
};

struct process_thread {
	int tid;
	char name[16];
	double cpu; /* seconds so far, user and system */
};

/* Starts argv[0] and waits for n_ready lines `ready URL ...` on its standard output. What it says
 * on standard error is appended to the file `log`. */
int process_start(struct process *p, const char *const *argv, int n_ready, const char *log,
		  struct err *reterr) MUST_CHECK;
/* SIGTERM, then waits. -EPROTO when it does not end with status 0. NULL-safe by pid 0. */
int process_stop(struct process *p);
/* Runs to its end; what it says goes to `log`. 0 when it ends with status 0. */
int process_run(const char *const *argv, const char *log, struct err *reterr) MUST_CHECK;

/* CPU seconds so far of the whole process; 0 when it cannot be read. */
double process_cpu(const struct process *p);
/* The same by thread. Returns how many were filled. */
size_t process_threads(const struct process *p, struct process_thread *ret, size_t max);
/* Resident bytes, and private ones outside the files that end in `except` (LMDB's pages). */
int process_memory(const struct process *p, const char *except, size_t *ret_resident,
		   size_t *ret_private);
/* Resident bytes now, and of them those of files (LMDB's pages), from the cheap figures of
 * /proc/PID/status; both 0 when it cannot be read. */
void process_resident(const struct process *p, size_t *ret_resident, size_t *ret_of_files);
int process_port(const struct process *p, int i);

#endif
