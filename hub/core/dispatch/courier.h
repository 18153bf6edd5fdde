#ifndef CORE_DISPATCH_COURIER_H
#define CORE_DISPATCH_COURIER_H
/*
 * Carries dispatch plans out: turns orders into calls on members, outcomes and stream facts into
 * events of the state machine, and its plans into rows, releases and timers.
 *
 * Orders whose state must be durable wait in the job until the batch that wrote it is committed
 * (courier_committed). All others go out with the commit of the batch they were made in, too:
 * nothing leaves the core before a commit.
 */
#include "core/state.h"

/* Feeds one event to a job's dispatch and acts on the plan. */
void courier_feed(struct core *c, struct job *j, const struct dispatch_event *e);

/* The job's rows of this batch are durable: sends what waited for it. */
void courier_committed(struct core *c, struct job *j);

/* FACT_RESULT and FACT_COPY. */
void courier_outcome(struct core *c, const struct fact *f);
void courier_copy(struct core *c, struct member *m, const struct fact *f);
/* A relist of a job stream ended at `revision`: copies it did not name are gone. */
void courier_list_begin(struct core *c, struct member *m, enum member_stream s);
void courier_list_end(struct core *c, struct member *m, enum member_stream s);

/* The member is ready (again): what waited for its back-off is tried now. */
void courier_member_ready(struct core *c, struct member *m);

/* Copies without a job whose deletion was not answered: tried again. */
void courier_orphans(struct core *c, struct member *m);

/* What a call was for; a call is one order in flight. */
enum call_purpose { CALL_DISPATCH, CALL_DEPENDENCY, CALL_ORPHAN, CALL_REQUEST, CALL_UNGATE };
struct call {
	enum call_purpose purpose;
	/* DISPATCH: number; REQUEST: of the ProvisioningRequest; UNGATE: failures so far */
	uint64_t job;
	uint32_t member;
	enum dispatch_order order; /* DISPATCH, REQUEST */
	char *thing;		   /* DEPENDENCY, ORPHAN: path; UNGATE: namespace/name */
	char *uid;		   /* ORPHAN: precondition */
	enum member_stream stream; /* ORPHAN: which told of it */
};
/* Sends an order and remembers what it is for; takes both. Returns its id. */
uint64_t courier_call(struct core *c, struct order *take_order, struct call take_call);

#endif
