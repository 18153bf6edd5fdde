#ifndef API_AUDIT_H
#define API_AUDIT_H
/*
 * The audit log: who asked for what, when, and what became of it, as audit.k8s.io/v1 Events, one
 * JSON object a line: when a request has come and is known to be somebody's, when the headers of a
 * long-running one are out, and when it is over. access/audit_policy.h says which requests, which
 * of these stages and how much of them; the policy can be read again while it runs. Bodies go in
 * when they are JSON, up to AUDIT_MAX_BODY, and those of Secrets and tokens never.
 *
 * Lines are made on the loop, gathered, and written by a worker once a second or every 64 KiB, so
 * that a slow disk delays no request. When more than AUDIT_MAX_PENDING waits, events are dropped
 * and counted, and the count is logged. The file is appended to (mode 0600); at AUDIT_MAX_FILE it
 * becomes FILE.1 and a new one is begun.
 */
#include "access/audit_policy.h"
#include "api/task.h"
#include "base/log.h"

struct audit;
struct call;

#define AUDIT_MAX_BODY	  ((size_t)64 << 10)
#define AUDIT_MAX_PENDING ((size_t)8 << 20)
#define AUDIT_MAX_FILE	  ((size_t)100 << 20)

/* ERR_INVALID with what is wrong with the policy file, ERR_INTERNAL for the log file. */
int audit_open(const char *policy_file, const char *log_file, const struct log *log,
	       struct audit **ret, struct err *reterr) MUST_CHECK;
/* Writes what is pending; no worker may run any more. NULL is fine; returns NULL. */
struct audit *audit_close(struct audit *a);

/* Loop: a call has come to this stage; at AUDIT_RESPONSE_COMPLETE its answer is complete and not
 * yet compressed. */
void audit_call(struct audit *a, const struct call *c, enum audit_stage stage);
/* Reads the policy file again. ERR_INVALID: what is wrong with it; the old policy stays. Any
 * thread.
 */
int audit_reload(struct audit *a, struct err *reterr) MUST_CHECK;
/* Events that were taken, and that were dropped, since the start. Any thread. */
void audit_counts(struct audit *a, uint64_t *ret_taken, uint64_t *ret_dropped);
/* Loop, once a second. */
void audit_tick(struct audit *a, struct workers *w);

#endif
