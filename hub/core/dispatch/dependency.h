#ifndef CORE_DISPATCH_DEPENDENCY_H
#define CORE_DISPATCH_DEPENDENCY_H
/*
 * What stands on a member because copies need it: namespaces, PriorityClasses, and under
 * propagateDeps ConfigMaps, Secrets, PersistentVolumeClaims and ServiceAccounts.
 *
 * One record per object and member, level-triggered: it compares what the hub has and what copies
 * need with what is known of the member, and has at most one call under way. So a change at the
 * hub is carried over, whenever it comes, and several copies share one object. What it holds to:
 *  - only an object that carries the hub's uid is changed or deleted: a patch tests the label, a
 *    delete names the uid of an object whose label was read;
 *  - a foreign namespace is used as it is, and so is a foreign PriorityClass of the same value;
 *    any other foreign object of the name is a conflict. Jobs that need it are not sent there
 *    (prepare_refusals); it is read again every half minute, and they are offered anew when it is
 *    solved;
 *  - a ConfigMap, Secret or ServiceAccount goes when it is gone at the hub, or when the last copy
 *    that needs it is; a claim holds data that outlive copies, and goes only when it is gone at
 *    the hub; so do namespaces and PriorityClasses, which the next job needs, but not before the
 *    last copy that uses them. An unjoin takes everything.
 *
 * Rows in truth: "made/MEMBER/PATH" -> the hub's revision that stands there, "need/MEMBER/JOBUID"
 * -> paths (prepare.h). A restart rebuilds the records (dependency_record.h)
 * from them; dependency_look.h is the step of one record. Thread: core.
 */
#include "core/state.h"

enum dependency_answer {
	DEPENDENCY_READY,
	DEPENDENCY_WAIT, /* prepare_told() will say */
	DEPENDENCY_CONFLICT,
	DEPENDENCY_FAILED,
};

/* Makes sure of an object for a job's placement. Ones that the hub's jobs share (namespaces,
 * classes) are believed to stand; others are looked at each time. */
/* `j` NULL: for a ProvisioningRequest (request_try_told). */
enum dependency_answer dependency_ensure(struct core *c, struct member *m, const struct kind *kind,
					 const char *ns, const char *name, const struct job *j);
/* Why an object cannot be used on a member, as a sentence; NULL when nothing is known. */
const char *dependency_conflict(const struct member *m, const struct kind *kind, const char *ns,
				const char *name);
/* A copy that needs it comes (+1) or is gone (-1). */
void dependency_count(struct core *c, struct member *m, struct span path, int by);
/* A create was refused: the namespace may have been deleted under us. */
void dependency_doubt(struct member *m, const struct kind *kind, const char *ns, const char *name);

/* The hub's object was committed or is gone. */
void dependency_observe(struct core *c, const struct kind *kind, struct span ns, struct span name);
/* Does what is due of m->dependencies_due. */
void dependency_timers(struct core *c, struct member *m);

/* Unjoin: deletes what the hub created there. True when nothing is left. */
bool dependency_clean(struct core *c, struct member *m);

#endif
