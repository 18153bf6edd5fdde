#ifndef MEMBER_SYNC_SIM_CLUSTER_LOGS_H
#define MEMBER_SYNC_SIM_CLUSTER_LOGS_H
/*
 * The kubelets' other half: GET .../pods/NAME/log, as relays that the cluster's core thread
 * answers (wire/relay.h).
 *
 * Each step sends every reader what its container printed since, a window at most; a reader that
 * does not read waits, and costs nothing. `follow` ends with the run, or with the pod. Refusals are
 * the kubelet's and the API server's words (kubernetes/pkg/kubelet, GetKubeletContainerLogs and
 * validateContainerLogStatus; registry/core/pod, LogLocation).
 */
#include "base/clock.h"
#include "wire/relay.h"

struct cluster;
struct cluster_logs;

struct cluster_logs *cluster_logs_create(struct cluster *c);
/* Ends what is open. NULL is fine; returns NULL. */
struct cluster_logs *cluster_logs_destroy(struct cluster_logs *l);

/* As backend_ops.proxy, for paths that end in /log; any thread. */
int cluster_logs_proxy(struct cluster_logs *l, struct relay *r, struct err *reterr);

/* Core thread, in a step, with its batch. When the next step is due for the logs' sake; INT64_MAX
 * never, 0 at once. */
usec cluster_logs_step(struct cluster_logs *l);

#endif
