#ifndef CORE_MEMBER_H
#define CORE_MEMBER_H
/*
 * Members: a Cluster object, its credentials, its streams, its place in the policies' view.
 *
 * A member is (kube-system uid, a number the hub gives). The number is given with the Cluster
 * object's uid and persists; orders, facts and cursors carry it. A server that answers with
 * another kube-system uid than the one that joined is not this member: its streams stop and the
 * Cluster says so, until it is unjoined and joined again.
 *
 * Credentials: Cluster.spec.secretRef names a Secret with the key `kubeconfig`.
 */
#include "core/state.h"

#define MEMBER_CORDON_TAINT "cluster.karmada.io/unschedulable"

/* The member where the job's copy is, or is to be, also of one that is parked there; NULL when
 * there is none. */
struct member *member_of(const struct core *c, const struct job *j);
/* The member that the job is placed on: none of a parked one, the next of one that leaves. */
struct member *member_placed(const struct core *c, const struct job *j);
struct member *member_by_number(const struct core *c, uint32_t number);
struct member *member_by_name(const struct core *c, struct span name);
struct member *member_by_view(const struct core *c, uint32_t view); /* number in the fleet */

/* A Cluster object was committed (or read at start): creates or refreshes its member, and sends
 * the credentials to the net thread when they are new. */
void member_observe(struct core *c, const struct store_object *cluster);
/* Deletes the member's rows in truth: number, identity, cursors. At most STREAM_MAX + 2 rows. */
void member_erase(struct core *c, struct member *m);
/* The Cluster object is gone. */
void member_forget(struct core *c, struct span name);
/* Frees the record alone (shutdown, rebuild). */
void member_free(struct core *c, struct member *m);
/* A Secret was committed or deleted: members that use it are joined anew. */
void member_observe_secret(struct core *c, struct span ns, struct span name);

/* FACT_MEMBER. */
void member_state(struct core *c, struct member *m, const struct fact *f);
/* The stream that brings the member's copies of a kind, and the kind in the version in which the
 * member serves it: where it serves two, the first one. */
enum member_stream member_stream_of(const struct member *m, uint16_t type);
const struct kind *member_kind(const struct core *c, const struct member *m, uint16_t type);
/* The plural path of a kind's objects on a member: "/apis/kubeflow.org/v1/namespaces/ns/
 * pytorchjobs" plus "/name" when name is not NULL. */
void member_path(const struct kind *kind, const char *ns, const char *name, struct buf *out);

#endif
