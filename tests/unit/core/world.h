#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H
/*
 * A core without its thread, over memory stores, with model clusters as members and a clock that
 * the test owns. Objects are JSON literals with single quotes for double ones.
 *
 * Orders that the core sends lie in world->orders until the test answers them: one by one
 * (world_take, world_answer), or all of them as a healthy member would (world_settle).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster_model.h"
#include "core/core.h"
#include "core/state.h"
#include "kinds/kinds.h"
#include "kinds/types.h"

#define WORLD_MEMBERS 4

/* The usage of a tree with one level of leaves, of one namespace each, as the watch log tells. */
struct world_leaf {
	char ns[64];
	int64_t max;
};
struct world_replay {
	uint64_t revision, rows;
	bool has_tree;
	int64_t max_root;
	struct world_leaf leaves[8];
	size_t n_leaves;
	struct map units;
	struct map queues, workloads; /* world_kueue.c */
};

struct world {
	struct store *truth, *mirror; /* both can be made to fail */
	struct core *core;
	struct net net; /* the core's orders come here */
	usec now;
	bool require_policy;
	bool v1beta1; /* of ProvisioningRequests: members that join from now on serve nothing newer
		       */
	uint32_t lacks; /* streams that members that join from now on do not have, a bit each */
	bool full;	/* world_open() finds stores without room */
	bool dry_run;	/* of the commands that are sent from now on */
	usec keep_finished, starve_after;
	/* The section kueue: of the configuration, from the next start on; NULL: defaults. */
	const char *kueue;
	struct cJSON *kueue_tree;
	struct arena kueue_mem;
	uint32_t provision_parallel;
	usec provision_patience, provision_discovery;
	uint64_t seed;
	struct VEC(struct order *) orders; /* sent and not answered, oldest first */
	struct model *members[WORLD_MEMBERS];
	size_t n_members;
	struct err err; /* of the last command, and of the last turn that failed */
	char *warnings; /* of the last command */
	char *result;	/* of the last query */
	size_t waiting; /* commands without an answer */
	uint64_t answered, refused;
	uint64_t next_uid, turns;
	struct world_replay replay;
	void (*after_turn)(struct world *w); /* NULL, or called after every turn */
};

/* Set require_policy, full, seed, keep_finished or starve_after before. */
void world_open(struct world *w);
void world_close(struct world *w);
/* Ends the core as kill -9 would, and starts another over the same stores. Orders that were not
 * answered are lost. */
void world_restart(struct world *w);

/* Turns until nothing is left to do now. */
void world_run(struct world *w);
/* One turn; true when the core wants another one at once. */
bool world_turn(struct world *w);
/* Later by `by`, and what is due by then is done. */
void world_advance(struct world *w, usec by);

/* ---- users ---- */

/* Each runs the core until the command is answered; the answer's kind is returned. */
enum err_kind world_create(struct world *w, uint16_t type, const char *json);
enum err_kind world_patch(struct world *w, uint16_t type, const char *ns, const char *name,
			  const char *merge_patch);
enum err_kind world_delete(struct world *w, uint16_t type, const char *ns, const char *name);
/* What pods request on a member, as the core sees it; milli-cpus. */
int64_t world_requested(struct world *w, const struct model *m);
/* Rows of the mirror (STORE_AUX_DIGEST) whose key begins with this member's number. */
size_t world_digests(struct world *w, uint32_t member);
/* Asks for an unjoin (kubectl delete cluster). */
void world_unjoin(struct world *w, const char *name);
/* Sends a create without waiting. */
void world_send_create(struct world *w, uint16_t type, const char *json);
void world_send_delete(struct world *w, uint16_t type, const char *ns, const char *name);
void world_send_patch(struct world *w, uint16_t type, const char *ns, const char *name,
		      const char *merge_patch);
/* The answer's JSON text, borrowed until the next query. */
const char *world_query(struct world *w, const char *path);

/* A batch/v1 Job `name` in namespace ns: `pods` pods of `cpus` cpus each; `more` is put into
 * metadata (",'labels':{...}"), or "". */
enum err_kind world_job(struct world *w, const char *ns, const char *name, int pods, int cpus,
			const char *more);
/* The text of such a job; caller frees. */
char *world_job_text(const char *ns, const char *name, int pods, int cpus, const char *more);

/* ---- what most stories begin with ---- */

/* Two open/close functions for cmocka: a world of its own, looked at after every turn. */
int world_setup(void **state);
int world_teardown(void **state);
/* Namespace `ns`. */
void world_space(struct world *w, const char *ns);
/* PropagationPolicy `p` in `ns`: Jobs, Gang; `more` is put into its spec (",'suspension':{...}").
 */
void world_policy(struct world *w, const char *ns, const char *more);
/* Namespaces team-a and team-b, each a leaf of ElasticQuotaTree `tree` (a: min 4, max `max_a` cpus;
 * b: min 4, max 12; root `max_root`), with policies that queue their jobs. */
void world_teams(struct world *w, int max_root, int max_a);
/* Its manifest; caller frees. `name` of the tree. */
char *world_tree_text(const char *name, int max_root, int max_a);
/* The merge patch that gives the tree `tree` these numbers. */
enum err_kind world_edit_tree(struct world *w, int max_root, int max_a);

/* ---- Kueue's objects (world_queues.c) ---- */

/* ResourceFlavor; `spec` is its members, or "". */
void world_flavor(struct world *w, const char *name, const char *spec);
/* ClusterQueue of one group: cpu, as much of each flavor ("one two"); `more` is put into its spec.
 */
void world_cluster_queue(struct world *w, const char *name, const char *flavors, int cpus,
			 const char *more);
/* LocalQueue in namespace default. */
void world_local_queue(struct world *w, const char *name, const char *behind);
/* WorkloadPriorityClass. */
void world_priority(struct world *w, const char *name, int value);
/* Job in namespace default and in a LocalQueue; `labels`: more of them (",'a':'b'"), or "". */
void world_queued_job(struct world *w, const char *name, const char *queue, int pods, int cpus,
		      const char *labels);
/* A field of the Workload of a Job in default, as world_field(); "" when it has none. */
const char *world_workload(struct world *w, const char *job, const char *path);
/* A field of the condition of this type of an object; "" when there is none. */
const char *world_condition(struct world *w, uint16_t type, const char *ns, const char *name,
			    const char *condition, const char *field);
/* The same of the Workload of a Job in default. */
const char *world_workload_condition(struct world *w, const char *job, const char *condition,
				     const char *field);

/* ---- members ---- */

/* A member with `nodes` nodes of `cpus` cpus: its Secret and Cluster are created, it is Ready and
 * listed. */
struct model *world_join(struct world *w, const char *name, int nodes, int cpus);
/* Creates its Cluster again, after an unjoin. */
void world_rejoin(struct world *w, const struct model *m);
struct model *world_member(const struct world *w, uint32_t number);
/* Gives the core the stream facts that are waiting, and runs. */
void world_streams(struct world *w);
/* Answers every order as it should be, gives all facts, lets members work, until nothing moves at
 * this time. */
void world_settle(struct world *w);
/* The oldest unanswered order with this method whose path contains `path`; NULL. Not removed. */
struct order *world_find(struct world *w, const char *method, const char *path);
/* Carries it out on its member and gives the answer; the order is gone then. */
void world_answer(struct world *w, struct order *o);
/* Carries it out, or not, and nobody knows. */
void world_lose(struct world *w, struct order *o, bool carried_out);
/* Gives a fact to the core (no turn). */
void world_push(struct world *w, struct fact *take_fact);

/* ---- looking ---- */

/* A value of a stored object by a dotted path ("status.conditions.0.type"), as text without
 * quotes; "" when absent. Good for a few calls. */
const char *world_field(struct world *w, uint16_t type, const char *ns, const char *name,
			const char *path);
bool world_exists(struct world *w, uint16_t type, const char *ns, const char *name);
size_t world_count(struct world *w, uint16_t type, const char *ns);
/* Events with this reason about this job whose message contains `text`. */
size_t world_events(struct world *w, const char *job, const char *reason, const char *text);
/* dispatch step of a job's binding, "" without one ("Started", ...). */
const char *world_step(struct world *w, const char *ns, const char *binding);
struct job *world_record(struct world *w, uint16_t type, const char *ns, const char *name);
int64_t world_used(struct world *w, const char *node, const char *resource);

/* Everything that was derived, as text: usage, ledger, queue positions, dispatch states. Equal
 * before and after a restart. Caller frees. */
char *world_memory(struct world *w);
/* The line of one job in it, with what is not durable; caller frees. */
char *world_job_line(struct world *w, const struct job *j);
/* What must hold at any time; fails the test otherwise. */
void world_check(struct world *w);
/* The parts of the above that are about Kueue's objects. */
void world_check_kueue(struct world *w);
void world_add_kueue(const struct world *w, struct buf *out);
void world_replay_kueue(struct world_replay *p, const struct store_log_row *row);
void world_replay_kueue_done(struct world_replay *p);
/* Reads what was committed since the last call, row by row: none may raise the usage of a node to
 * above its max. world_check() calls it. */
void world_replay(struct world *w);
void world_replay_done(struct world *w);

#endif
