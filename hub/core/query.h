#ifndef CORE_QUERY_H
#define CORE_QUERY_H
/*
 * Answers from the structures that decide, as JSON, for `muster`, the dashboard and scripts:
 * GET /apis/muster.dev/v1alpha1/...
 *
 *	clusters				every member: state, capacity, largest gang
 *	jobs					every live job: where it stands
 *	namespaces/NS/jobs			those of one namespace
 *	queues					every queue: pending, admitted, its first units
 *	quota					the tree and Cohorts: min, max, used
 *	namespaces/NS/KIND/NAME/why		one job: gates, quota, verdict of every cluster
 *
 *	kueue/VERSION/clusterqueues/CQ/pendingworkloads	who waits there, in order (visibility API)
 *	kueue/VERSION/namespaces/NS/localqueues/LQ/pendingworkloads
 *
 * Verdicts are computed here, when asked, by the functions that decide (DESIGN section 4); nothing
 * is changed. KIND is the plural resource or the kind, in any case.
 */
#include "core/state.h"

/* Adds one commit's time to the counters. */
void query_count_commit(struct core_counters *k, usec took);
/* The core's part of /metrics, which asks for it by COMMAND_QUERY_METRICS. */
void query_metrics(struct core *c, struct buf *out);
/* The answer to COMMAND_QUERY_COLUMNS. */
void query_columns(struct core *c, struct span lines, struct buf *out);
/* Fills cmd->result, or cmd->err. */
void query_answer(struct core *c, struct command *cmd);

/* A job kind by plural, singular or kind in any case; NULL. */
const struct kind *query_job_kind(const struct core *c, struct span word);
/* The parts, each one JSON value appended to out. */
void query_why(struct core *c, struct job *j, struct buf *out);
void query_job_line(struct core *c, struct job *j, struct buf *out);
/* `,"KEY":"QUANTITY"` of a resource in the tree's unit; nothing when it is unlimited. */
void query_add_quantity(struct buf *b, const char *key, struct span resource, int64_t v);
/* One sentence and a code on where the job stands. code is static. */
const char *query_standing(struct core *c, struct job *j, char *sentence, size_t size,
			   size_t *ret_position);

#endif
