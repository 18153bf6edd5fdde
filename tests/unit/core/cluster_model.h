#ifndef TESTS_CORE_CLUSTER_MODEL_H
#define TESTS_CORE_CLUSTER_MODEL_H
/*
 * A member cluster as the core sees one through wire/: it takes orders and answers them, keeps
 * copies of jobs, runs their pods on its nodes, and tells of every change on a stream that can be
 * resumed from a revision or listed anew.
 *
 * Nothing here keeps time or guesses: the test decides when an order arrives, whether its answer
 * does, how far the stream is read and how long pods run. Objects live until they are deleted, as
 * on a real cluster: deletion is in the foreground, pods first.
 */
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "kinds/job_digest.h"
#include "kube/kind.h"
#include "wire/fact.h"
#include "wire/order.h"

struct model_pod {
	char *name; /* in its copy's namespace, or "ns/name" of a foreign one */
	char *ns, *job_uid, *set, *node; /* node NULL: not bound */
	char *hub_uid;			 /* NULL: a foreign pod */
	uint64_t epoch, number;
	struct info_amount *requests;
	size_t n_requests;
	enum pod_phase phase;
	uint64_t revision;
	bool gone, hung; /* hung: deleted, and its node's kubelet is silent */
	bool last;	 /* comes when all before it run: a RayJob's submitter */
	/* Scheduling gates: born with them, and has them still. A Job's pods have an index; those
	 * of a JobSet stand in `replicas` Jobs of `job_pods` each. */
	bool born_gated, gated;
	int64_t index, replicas, job_pods;
	char *held; /* node selectors as they were patched, JSON; its scheduler looks at these */
};

struct model_copy {
	const struct kind *kind;
	char *path, *ns, *name, *uid, *hub_uid, *job_uid;
	uint64_t epoch, revision;
	bool suspended, deleting, gone;
	enum copy_phase phase;
	char *status;
	char *body; /* as it was written last, without status */
	bool body_read;
	usec started, ends; /* ends: when its pods succeed once all run; 0 not running */
	int64_t n_pods;
	struct VEC(struct model_pod *) pods;
	bool fails; /* ends as Failed */
};

struct model_node {
	char *name;
	int64_t cpu_milli, gpus, pods;
	int64_t cpu_used, gpus_used, pods_used;
	uint64_t revision;
	bool gone;
	bool down, tainted; /* not Ready; NoExecute */
	/* Static, or NULL; its scheduler looks at none of them. */
	const char *label_key, *label_value;
	const char *other_key, *other_value;
};

/* One change on a stream, as it was then. */
struct model_event {
	enum member_stream stream;
	uint64_t revision;
	bool deleted;
	const void *what; /* the pod, copy or node; never freed before the model */
	enum pod_phase pod_phase;
	const char *pod_node;
	bool pod_hung;
	struct model_copy copy; /* strings borrowed, but for status and body */
};

struct model {
	char *name;
	const struct kind_set *kinds;
	uint8_t incarnation[STORE_UID_LEN];
	uint64_t revision;
	struct map copies; /* path -> copy, those that are there */
	struct map things; /* path -> what else is there: model_things.h */
	struct VEC(struct model_copy *) all_copies;
	struct VEC(struct model_pod *) pods;
	struct VEC(struct model_node *) nodes;
	struct VEC(struct model_event *) events;
	uint64_t next_uid, next_pod;
	/* the hub's connection */
	bool joined;
	bool v1beta1;	/* serves ProvisioningRequests in v1beta1 and nothing newer */
	uint32_t lacks; /* a bit per stream whose kind it does not serve */
	uint32_t number;
	uint64_t join; /* id of the order, in every fact */
	uint64_t sent[STREAM_MAX];
	size_t at; /* in events */
	struct fact *out_head, **out_tail;
	size_t binds_from; /* its scheduler looks at nodes from this one on, in a circle */
	usec run_time;	   /* of the next copies */
	/* what came to pass, for assertions */
	uint64_t lists[STREAM_MAX];
	uint64_t joins, creates, starts, stops, deletes, finished, thing_writes, ungated;
	bool no_patches; /* of pods: 403 */
};

struct model *model_create(const char *name, const struct kind_set *kinds, uint8_t identity);
struct model *model_destroy(struct model *m);
struct model_node *model_add_node(struct model *m, const char *name, int64_t cpus, int64_t gpus);
/* All nodes get this label; static texts. */
void model_label_nodes(struct model *m, const char *key, const char *value);
/* A block and a rack of it (cloud.example.com/block, /rack): one node's two labels. */
void model_place_node(struct model *m, const char *name, const char *block, const char *rack);
/* A node of 8 cpus and 8 GPUs of the pool "queued" came, for a request that knows its nodes by
 * `mark` (autoscaling.gke.io/provisioning-request), or, with NULL, for nobody said whom. Static
 * texts. */
void model_provision_node(struct model *m, const char *name, const char *mark);
void model_remove_node(struct model *m, const char *name);
/* Its Ready condition, and a NoExecute taint. Its pods stay until model_recreate(). */
void model_set_node(struct model *m, const char *name, bool ready, bool tainted);
/* The copy's controller makes pods anew: those on nodes that are not well, or all of them. */
void model_recreate(struct model *m, struct model_copy *c, bool all);
/* The pods on the node are deleted, and stay as they are until its kubelet is back: then they end.
 * Neither is a copy gone before, nor a pod made anew; suspended, a copy keeps them. */
void model_hang(struct model *m, const char *node);
void model_unhang(struct model *m, const char *node);
/* Nodes on which the copy's pods work. */
size_t model_copy_bound(const struct model_copy *c);
/* A pod that is none of the hub's. */
struct model_pod *model_add_pod(struct model *m, const char *ns, const char *name, const char *node,
				int64_t cpus);
void model_end_pod(struct model *m, struct model_pod *p);
/* The node that the copy's pod with this index is bound to, or NULL. */
const char *model_pod_node(const struct model_copy *c, int64_t index);

/* ORDER_JOIN: the streams start at its cursors, or with a list. */
void model_join(struct model *m, const struct order *join);
/* Carries an ORDER_CALL out; the answer is a new FACT_RESULT. `o` stays the caller's. */
struct fact *model_call(struct model *m, struct order *o);
/* The answer when nobody knows, or the order was never sent. */
struct fact *model_no_answer(const struct order *o, bool sent);

/* One round of the member's controllers: pods bind, run and end, deleted copies go. True when
 * something changed. */
bool model_step(struct model *m, usec now);
/* The next stream fact that the hub has not been told yet, or NULL. */
struct fact *model_next_fact(struct model *m);
/* Makes the stream start over with lists. */
void model_relist(struct model *m);
/* What FACT_MEMBER says when all is well. */
struct fact *model_ready(const struct model *m);

struct model_copy *model_copy(const struct model *m, const char *ns, const char *name);
/* Whether a copy's pods may be working: bound and not ended. */
bool model_copy_works(const struct model_copy *c);
/* The copy ends as of now (for tests that do not wait). */
void model_finish(struct model *m, struct model_copy *c, bool fails);
/* The copy says this (single quotes for double ones): a ProvisioningRequest, which nobody here
 * serves. */
void model_set_status(struct model *m, struct model_copy *c, const char *json);
/* Deletes a copy behind the hub's back, pods and all. */
void model_vanish(struct model *m, struct model_copy *c);
/* The same without its pods. */
void model_orphan(struct model *m, struct model_copy *c);
/* Other objects by path: puts one there (single quotes for double ones), removes it, looks. */
void model_put_thing(struct model *m, const char *path, const char *json);
bool model_drop_thing(struct model *m, const char *path);
const struct cJSON *model_thing(const struct model *m, const char *path);

/* The cluster is gone with all that ran there, and another one answers at its address: nodes of the
 * same names, nothing else. Nobody is told. */
void model_replace(struct model *m, uint8_t identity);
/* What FACT_MEMBER says when the identity is not the one that the hub knows. */
struct fact *model_stranger(const struct model *m);
/* Objects that are left: copies, and other things that were created. */
size_t model_left(const struct model *m);

#endif
