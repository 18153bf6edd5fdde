#ifndef CORE_PROVISIONING_CONSUMER_H
#define CORE_PROVISIONING_CONSUMER_H
/*
 * Jobs whose pods take the nodes of a ProvisioningRequest: those that name one in an annotation of
 * their pods (consume-provisioning-request, in either spelling), and those whose queue has a
 * provisioning check. They go to the member that holds the nodes and nowhere else, not before it
 * says Provisioned (DESIGN section 6, "reserved"), and are fitted node by node on just those nodes
 * (request_nodes.h), whose claim makes way for them (request_claim.h). Pod sets that take none of
 * them are placed on the same member as any others; the gang goes when all fit.
 */
#include "core/provisioning/request.h"

/* As placement_decide(), for any job: a consumer's member is the one that holds its nodes. */
bool consumer_decide(struct core *c, const struct job *j,
		     const struct placement_exclusion *excluded, size_t n_excluded,
		     struct placement_decision *ret);

/* What the job asks besides, of the requests that have nodes for it: their labels, and their taints
 * tolerated; `terms` by pod set or NULL. `terms` itself where there is nothing of the kind, else a
 * copy from `mem`. */
struct job_term;
const struct job_term *consumer_terms(struct core *c, const struct job *j,
				      const struct job_term *terms, struct arena *mem);
/* It is placed: of a request that it names only the rest stays claimed. */
void consumer_placed(struct core *c, const struct job *j);

/* Whether the job names a request without nodes yet: the words say how far that is. It is told
 * when something changes. */
bool consumer_is_held(struct core *c, const struct job *j, struct buf *words);
/* Whether nodes will be asked for the job, or were: what is there now says nothing of it. */
bool consumer_gets_nodes(const struct core *c, const struct job *j);
/* Verdicts of a job that waits for its nodes: ,"neverFits":false,"clusters":[...] with what each
 * member has said. False, and nothing added, for any other job. */
bool consumer_add_verdicts(struct core *c, const struct job *j, struct buf *b);
/* A request changed: who waits for it is offered anew. */
void consumer_news(struct core *c, struct provisioning_request *r);

#endif
