#ifndef ACCESS_RBAC_BOOTSTRAP_H
#define ACCESS_RBAC_BOOTSTRAP_H
/*
 * The cluster roles and bindings that a server is born with (bootstrap.yaml), and how those that
 * exist are brought up to them at every start, as kube-apiserver's rbac/bootstrap-roles hook does:
 * what is missing is added, what somebody added stays, and an object whose annotation
 * rbac.authorization.kubernetes.io/autoupdate is "false" is left alone.
 *
 * Pure.
 */
#include <stdbool.h>

struct cJSON;

/* Checked JSON: an array of complete objects, without what the server sets. */
extern const char rbac_bootstrap_json[];

/* A tree of it; owned. */
struct cJSON *rbac_bootstrap_tree(void);

/* Adds to `have`, which exists, what `want`, a bootstrap object of the same name, has more: rules
 * that its own do not cover, subjects, labels, annotations, selectors. True when it changed. A
 * binding to another role is left as it is. */
bool rbac_bootstrap_reconcile(const struct cJSON *want, struct cJSON *have);

#endif
