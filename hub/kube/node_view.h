#ifndef KUBE_NODE_VIEW_H
#define KUBE_NODE_VIEW_H
/*
 * What the hub's LIST and WATCH of nodes show of a member's Node: enough for kubectl's columns
 * (STATUS, ROLES, AGE, VERSION) and no more, so that a row is about 400 bytes and changes only
 * when one of these does. The rest is there with a GET, which goes through to the member
 * (hub/api/member_get.h).
 */
#include "base/buf.h"
#include "base/span.h"

/* From checked JSON text of one Node: compact JSON with name, uid, creationTimestamp, the labels
 * that name roles, unschedulable, the condition Ready, and nodeInfo with the kubelet's version, the
 * architecture and the operating system; its other fields are there too, empty. */
void node_view_print(struct span node, struct buf *out);

#endif
