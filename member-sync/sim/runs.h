#ifndef MEMBER_SYNC_SIM_RUNS_H
#define MEMBER_SYNC_SIM_RUNS_H
/*
 * runs.jsonl: every interval in which a pod ran, one line each, written when it ends.
 *
 * A line: {"jobUid","epoch","ns","job","pod","podUid","node","start","end","result"}: jobUid is
 * the hub's job (annotation muster.dev/job-uid) or, without one, the owner's own uid; epoch is
 * the copy's annotation, absent without one; times are microseconds since 1970; result is
 * Succeeded, Failed or Killed.
 *
 * A line is written with one write(2) before the commit that makes the end visible, so that no
 * finished pod lacks its line; an interval (pod, start) that was written before, by a process
 * that died in between, is not written again. Without a file nothing is written.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"

struct runs;

struct runs_line {
	struct span job_uid, epoch, ns, job, pod, pod_uid, node; /* epoch absent: none */
	usec start, end;
	const char *result;
};

/* path NULL: no file. Reads the file's tail to know what is written already. */
int runs_open(const char *path, struct runs **ret, struct err *reterr) MUST_CHECK;
struct runs *runs_close(struct runs *r); /* NULL is fine; returns NULL */
int runs_append(struct runs *r, const struct runs_line *line, struct err *reterr) MUST_CHECK;

#endif
