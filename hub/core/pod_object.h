#ifndef CORE_POD_OBJECT_H
#define CORE_POD_OBJECT_H
/*
 * Pods of the hub's own jobs as objects at the hub: the member's text with the label
 * muster.dev/cluster, a resourceVersion of ours, and neither managedFields nor owner references
 * (their owners live on the member). And all of members' nodes, as <member>.<name>, with what
 * kubectl's columns need (kube/node_view.h).
 */
#include "core/state.h"
#include "kube/pod_info.h"

/* json: checked text of the member's Pod. One row in the mirror. */
int pod_object_put(struct core *c, const struct member *m, const struct pod_info *info,
		   struct span json);
/* key: namespace/name. Unless another member's stands there by now: a job that is placed elsewhere
 * has pods of the same names. */
void pod_object_delete(struct core *c, const struct member *m, struct span key);

/* view: what node_view_print() made. One row in the mirror. -EMSGSIZE: its name at the hub would be
 * longer than names are. */
int node_object_put(struct core *c, const struct member *m, struct span name, struct span view);
void node_object_delete(struct core *c, const struct member *m, struct span name);

#endif
