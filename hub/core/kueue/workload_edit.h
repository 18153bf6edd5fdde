#ifndef CORE_KUEUE_WORKLOAD_EDIT_H
#define CORE_KUEUE_WORKLOAD_EDIT_H
/*
 * What the next write of a Workload's row changes in its status. Recorded by the calls of
 * workload_status.h, applied to the stored text in one of two ways that give the same bytes: as a
 * tree, and, where only conditions and the admission change (every admission without checks), by
 * copying the text around them. Internal to workload_edit.c, workload_tree.c and workload_text.c.
 */
#include "core/kueue/workload_status.h"

struct condition_edit {
	const char *type, *reason;
	bool status;
	bool clear;    /* only where it stands True */
	char *message; /* NULL with clear */
};

/* What becomes of the checks, in the order in which it was decided. */
struct check_edit {
	bool reset; /* all of `names` begin anew; none: those that stand */
	struct VEC(char *) names;
	char *name, *state, *message, *updates; /* of one, without reset */
	int64_t requeue_after;
};

struct workload_edit {
	struct VEC(struct condition_edit) conditions;
	bool has_admission, has_requeue, deactivate;
	char *admission;   /* NULL: to be taken away */
	char *domains;	   /* or NULL */
	bool ends_delay;   /* delayedTopologyRequest: Pending becomes Ready */
	char *unhealthy;   /* JSON; "": to be taken away; NULL: as it stands */
	char *reclaimable; /* the same */
	char *cluster;	   /* or NULL */
	struct VEC(struct check_edit) checks;
	const char *evicted_for, *evicted_by; /* NULL: no eviction to count */
};

/* metav1.Condition allows no longer message. */
#define WORKLOAD_MAX_MESSAGE 32768
/* One that is longer is cut in place, with " ..." at its end. */
void workload_edit_shorten(char *message);

/* The edit applied to a tree of the stored text; anything that is not an object counts as absent.
 */
void workload_tree_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			 bool *ret_finished);
/* The same by text; false when it cannot be (the edit changes more, or the text has what only a
 * tree understands), with `out` as it was. */
bool workload_text_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			 bool *ret_finished);

#endif
