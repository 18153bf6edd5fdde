#ifndef CORE_ADMISSION_ELASTIC_WAIT_H
#define CORE_ADMISSION_ELASTIC_WAIT_H
/*
 * Nobody starves for quota of the ElasticQuotaTree: in a queue of policy Priority a large gang is
 * passed by small jobs that take what comes free, and other leaves borrow it. One that waits for
 * quota for longer than starvation.after since its first attempt is not passed any more by those
 * that go after it (the queue's priority, the job's, age, name: one order over the whole tree),
 * unless it costs it nothing: they end before its shadow time, fit beside it then, or stay within
 * the min of their own side of the tree (quota-tree/elastic_shadow.h). A gang that must go above
 * its min has no bound where another leaf could take back what it needs, and is told so; reclaim.h
 * is how an owner does that.
 *
 * The rest is as in kueue/quota_wait.h, which does this for Kueue's queues: several that starve
 * wait for those before them alone; quota that is free is kept until a cluster is promised or none
 * can be (starvation.h); where nobody knows a time only the gang's own queue keeps its order.
 * Derived; looks at the heads of the queues' lanes when the next of them starves, and works shadow
 * times out anew at most once a second, only while somebody does.
 */
#include "core/state.h"

struct elastic_wait *elastic_wait_create(void);
struct elastic_wait *elastic_wait_destroy(struct elastic_wait *w); /* NULL is fine; returns NULL */

/* A job waits in the tree from now on. */
void elastic_wait_added(struct core *c, const struct job *j);
/* Its unit goes. */
void elastic_wait_forget(struct core *c, const struct job *j);
/* Those that were held back are offered again: what was kept from them may not be any more. */
void elastic_wait_wake(struct core *c);
/* Forgets everybody: the tree is another one now. */
void elastic_wait_drop(struct core *c);
/* Before the queues are asked: who starves, until when, and whether those that were held back are
 * offered again. */
void elastic_wait_run(struct core *c);
usec elastic_wait_due(const struct core *c);

/* Whether a unit that quota and order allow may be tried. */
bool elastic_wait_lets(struct core *c, const struct elastic_unit *unit);
/* The unit is about to be charged. */
void elastic_wait_took(struct core *c, const struct elastic_unit *unit);

/* What one that starves is told, or one that waits behind it; false when neither. */
bool elastic_wait_tell(struct core *c, const struct job *j, char *out, size_t size);

#endif
