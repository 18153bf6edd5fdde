#ifndef MEMBER_SYNC_SIM_CLUSTER_STREAMS_H
#define MEMBER_SYNC_SIM_CLUSTER_STREAMS_H
/*
 * Connections to simulated pods: .../pods/NAME/exec, /attach and /portforward, as relays that
 * become WebSockets and that the cluster's core thread serves (wire/relay.h).
 *
 * What is behind them: remote_command.h, port_forward.h. A connection reads only while what it has
 * to say fits a window, so that a client that does not read is not heard either, and costs no more.
 * It ends with its pod. Refusals are the kubelet's and the API server's words
 * (k8s.io/kubelet/pkg/cri/streaming).
 */
#include "base/clock.h"
#include "wire/relay.h"

struct cluster;
struct cluster_streams;

struct cluster_streams *cluster_streams_create(struct cluster *c);
/* Ends what is open. NULL is fine; returns NULL. */
struct cluster_streams *cluster_streams_destroy(struct cluster_streams *s);

/* As backend_ops.proxy, for paths of these three; any thread. */
int cluster_streams_proxy(struct cluster_streams *s, struct relay *r, struct err *reterr);

/* Core thread, in a step, with its batch. When the next step is due for their sake; INT64_MAX
 * never, 0 at once. */
usec cluster_streams_step(struct cluster_streams *s);

#endif
