#ifndef MEMBER_SYNC_SIM_POD_LOG_H
#define MEMBER_SYNC_SIM_POD_LOG_H
/*
 * What a simulated container prints, and which part of it is asked for. PURE: lines are a function
 * of the run, so that a log needs no room and is the same whoever reads it, and when.
 *
 * A run prints a first line that says that it is simulated, two lines per second of simulated time
 * while it runs, and, when it ended by itself, a last line with its exit code. Parameters are
 * those of Kubernetes' PodLogOptions (core/v1).
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

#define POD_LOG_PERIOD	  (500 * USEC_PER_MS) /* of simulated time */
#define POD_LOG_MAX_LINE  400
#define POD_LOG_CONTAINER 64

struct pod_log_options {
	char container[POD_LOG_CONTAINER]; /* "": not said */
	bool follow, previous, timestamps;
	int64_t tail;	       /* lines; -1: all */
	int64_t since_seconds; /* 0: not said */
	usec since_time;       /* 0: not said */
	int64_t limit;	       /* bytes; 0: none */
};

/* Reads a query string ("follow=true&tailLines=10", still encoded). ERR_INVALID in Kubernetes'
 * words for a value that cannot be; unknown parameters mean nothing. */
int pod_log_parse(struct span query, struct pod_log_options *ret, struct err *reterr) MUST_CHECK;

struct pod_log_run {
	struct span container, pod, node;
	usec started, ended; /* ended 0: it runs */
	usec duration;	     /* as simulated, undivided */
	bool forever, killed;
	int32_t time_scale, exit_code;
	uint64_t seed; /* of its figures */
};

/* How many lines there are at `now`. */
int64_t pod_log_count(const struct pod_log_run *r, usec now);
/* The first of them that the options ask for. */
int64_t pod_log_first(const struct pod_log_run *r, const struct pod_log_options *o, usec now);
/* When line k is, or was, printed. */
usec pod_log_time(const struct pod_log_run *r, int64_t k);
/* Line k, below pod_log_count(). At most POD_LOG_MAX_LINE bytes. */
void pod_log_line(const struct pod_log_run *r, int64_t k, bool timestamps, struct buf *out);

#endif
