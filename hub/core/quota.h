#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H
/*
 * The one ElasticQuotaTree of the hub and its queues, from object to engine.
 *
 * The tree in force is the one in kube-system. An edit builds tree and queues anew and files every
 * job again: admitted ones with a forced charge (nothing is evicted by an edit, usage may then
 * stand above max: V30), waiting ones at their place by first attempt.
 */
#include "core/state.h"

#define QUOTA_TREE_NAMESPACE "kube-system"

/* A tree object was committed, or read at start. */
void quota_observe(struct core *c, const struct store_object *tree);
void quota_forget(struct core *c, struct span ns, struct span name);
/* A Queue object was changed by a user: policy, priority, threshold. */
void quota_observe_queue(struct core *c, const struct store_object *queue);

/* Checks a write of a tree before it is taken: 422 with every path, a second tree, and warnings.
 * Fills the command's answer; 0 when it may go on. */
int quota_admit_command(struct core *c, struct command *cmd);

/* Before an UPDATE of a job is taken: what its pods ask for stays while it holds quota of the tree.
 * ERR_INVALID into cmd->err. */
int quota_admit_job(struct core *c, struct command *cmd);

/* A dry run of the tree's deletion: warnings. */
void quota_preview_delete(struct core *c, struct command *cmd);

/* What a job asks of a node of a tree. ret borrows amounts and the job's name.
 * ERR_INVALID: the sums overflow. */
int quota_unit_spec(const struct elastic_tree *tree, struct job *j, uint32_t node,
		    struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS],
		    struct elastic_unit_spec *ret, struct err *reterr) MUST_CHECK;

/* Files a job with its queue. 0, or ERR_NOT_FOUND with the documented sentence. */
int quota_enqueue(struct core *c, struct job *j, bool admitted, struct err *reterr) MUST_CHECK;
void quota_dequeue(struct core *c, struct job *j);

/* Writes status.root of the tree when it is due. */
void quota_flush(struct core *c);
usec quota_due(const struct core *c);

#endif
