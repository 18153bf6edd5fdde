#ifndef MEMBER_SYNC_SIM_PORT_FORWARD_H
#define MEMBER_SYNC_SIM_PORT_FORWARD_H
/*
 * What `kubectl port-forward` finds behind every port of a simulated pod: an HTTP responder. PURE.
 *
 * GET anything is answered with a line that names the pod and the port, GET /bytes/N with N bytes,
 * on a connection that then closes; whatever else is sent is read and dropped. Connections come as
 * pairs of SPDY streams, "data" and "error", that have a request's number in common
 * (k8s.io/kubelet/pkg/cri/streaming/portforward).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

#define PORT_FORWARD_STREAMS 256 /* open ones */

struct port_forward;

struct port_forward *port_forward_create(struct span pod);
struct port_forward *port_forward_destroy(struct port_forward *p);

/* Bytes of the client's SPDY stream, as they come. Answers go to `out` as frames of a WebSocket.
 * ERR_BAD_REQUEST, ERR_TOO_LARGE, ERR_TOO_MANY: the connection is to end. */
int port_forward_input(struct port_forward *p, struct span bytes, struct buf *out,
		       struct err *reterr) MUST_CHECK;
/* More of the answers, about `room` bytes. False: none, until there is input. */
bool port_forward_run(struct port_forward *p, size_t room, struct buf *out);

#endif
