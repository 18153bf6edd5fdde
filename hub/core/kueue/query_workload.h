#ifndef CORE_KUEUE_QUERY_WORKLOAD_H
#define CORE_KUEUE_QUERY_WORKLOAD_H
/*
 * The part of `why` that is about Kueue: which queues, which place, what each flavor says, what
 * preemption could do, which checks and times it waits for, and whether members have room for the
 * flavors that quota allows.
 *
 * Asked of one job, computed from the structures that decide; nothing is changed, and who else
 * waits is not walked over.
 */
#include "core/kueue/workload.h"
#include "quota-tree/kueue_explain.h"

struct query_workload {
	struct kueue_explanation e;
	bool explained; /* it waits in a queue that the engine knows */
};

void query_workload_begin(struct core *c, const struct job *j, struct query_workload *ret);
void query_workload_done(struct query_workload *q);

/* ,"gates":{...},"pending":N: each true when it does not hold the job up. */
void query_workload_gates(const struct core *c, const struct query_workload *q, const struct job *j,
			  struct buf *b);
/* ,"kueue":{...} */
void query_workload_add(struct core *c, const struct query_workload *q, struct job *j,
			struct buf *b);
/* What the job would ask of members with the flavors that it would get now: a reference for the
 * caller, NULL where it would get none. */
struct ask *query_workload_ask(struct core *c, const struct query_workload *q, struct job *j);

#endif
