#ifndef MEMBER_SYNC_SIM_CLUSTER_PRIV_H
#define MEMBER_SYNC_SIM_CLUSTER_PRIV_H
/*
 * The records of a simulated cluster, shared by the files that drive it.
 *
 * Records mirror the store as of the last commit, plus what this batch has made pending; they
 * are keyed by uid. A record's `revision` is what was committed last: a controller that finds
 * another one in the batch leaves the object alone until the next batch.
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "kinds/types.h"
#include "member-sync/sim/batch_job.h"
#include "member-sync/sim/cluster.h"
#include "member-sync/sim/job_set.h"
#include "member-sync/sim/ray_cluster.h"
#include "member-sync/sim/ray_job.h"
#include "member-sync/sim/runs.h"
#include "member-sync/sim/scheduler.h"
#include "member-sync/sim/training.h"
#include "member-sync/sim/writer.h"
#include "registry/registry.h"

struct sim_job;
struct sim_pod;

enum pod_restart { POD_RESTART_ALWAYS, POD_RESTART_ON_FAILURE, POD_RESTART_NEVER };

/* What pods with the same spec share. */
struct sim_class {
	struct scheduler_shape *shape;
	enum pod_restart restart;
	struct sim_container *containers;
	size_t n_containers;
	char *key; /* owned */
	size_t key_len, users;
	struct arena mem;
};

struct sim_pod {
	struct scheduler_pod sched; /* first: the scheduler's lists give it back */
	struct arena mem;	    /* owns the texts and labels */
	struct span ns, name, uid_text;
	uint8_t uid[STORE_UID_LEN];
	uint64_t revision;
	struct sim_class *class;
	struct sim_job *owner; /* NULL: none, or it is over */
	size_t owner_slot;     /* index in owner->pods */
	int32_t set, index, attempt;
	enum pod_phase phase;
	bool deleting, forever, told_pending;
	bool gated; /* spec.schedulingGates: its scheduler waits until somebody takes them off */
	bool ours;  /* the pending change of this pod is a controller's */
	/* Its node is not ready; or gone, or tainted: the kubelet's last act is due. */
	bool lost, node_gone;
	bool unheard; /* its node's kubelet is silent: not ready, whatever it does */
	bool held;    /* deleted while it was: it does not end before the kubelet is back */
	bool evicted; /* held, and not deleted by its controller */
	int32_t restarts, exit_code;
	usec duration, started, ended, created; /* started: of the present run, 0 none */
	usec start_time;			/* status.startTime */
	usec deleted;				/* since then it is known to be deleting */
	struct span node, job_uid, epoch, job_name;
	uint32_t address; /* of its podIP */
	usec leave_at;	  /* when it does not tolerate its node's taints any more; 0: ever */
	usec wake;	  /* when the kubelet acts on it; 0: never */
	size_t heap_slot; /* 1-based place among the timers; 0: none */
	struct sim_pod *next_pending, **at_pending;
};

static inline bool sim_pod_over(const struct sim_pod *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

struct sim_set {			   /* what the pods of one set are made from */
	char *labels, *annotations, *spec; /* owned JSON texts; objects */
	char name[64];
};

enum sim_job_type { SIM_BATCH, SIM_JOB_SET, SIM_TRAINING, SIM_RAY, SIM_RAY_CLUSTER };

struct sim_job {
	const struct kind *kind;
	enum sim_job_type type;
	char *ns, *name; /* owned */
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	uint64_t revision;
	char *job_uid, *epoch; /* owned; annotations of the hub's copies, or NULL */
	struct {
		struct batch_job_spec batch;
		struct job_set_spec *job_set; /* owned */
		struct training_spec training;
		struct ray_job_spec ray;
		struct ray_cluster_spec ray_cluster;
	} spec;
	struct {
		struct batch_job_state batch;
		struct job_set_state *job_set; /* owned */
		struct training_state training;
		struct ray_job_state ray;
		struct ray_cluster_state ray_cluster;
	} state;
	struct VEC(struct sim_set) sets;
	uint64_t templates; /* hash of what `sets` were read from (training jobs); 0: none */
	struct VEC(struct sim_pod *) pods;
	struct VEC(struct sim_job *) children; /* of a JobSet */
	struct sim_job *parent;
	size_t parent_slot;
	int32_t set, index, attempt, job_attempt; /* as a child of a JobSet */
	bool deleting, queued, has_services, managed_elsewhere;
	bool ours; /* the pending change of this job is a controller's */
	int64_t ttl;
	usec finished_at, created;
	usec again; /* look at it again; 0: never */
	size_t heap_slot;
	struct sim_job *next_queued;
};

struct sim_timer {
	usec at;
	struct sim_pod *pod; /* one of the two */
	struct sim_job *job;
};

struct cluster {
	struct cluster_options options;
	char *name;
	const struct kind_set *kinds;
	const struct kind *node_kind, *pod_kind, *event_kind, *service_kind, *batch_kind,
	    *namespace_kind, *provisioning_kind;
	struct store *store;
	struct registry *reg;
	struct inbox *inbox;
	struct cluster_logs *logs;
	struct provisioning *provisioning;
	struct cluster_streams *streams;
	struct runs *runs;
	struct scheduler *scheduler;
	struct map pods, jobs, classes;	     /* by uid; classes by spec text */
	struct map silent;		     /* struct sim_silence, by node name */
	struct VEC(struct sim_timer) timers; /* a heap, earliest first */
	struct sim_job *queue, **queue_tail;
	struct sim_pod *pending, **pending_tail;
	size_t n_pending;
	uint32_t next_address;
	uint64_t next_event;
	uint64_t scheduled_at; /* free generation of the last full pass */
	bool pending_new;
	struct cluster_stats stats;
	/* of the step that runs */
	struct registry_batch *batch;
	usec now;
	struct err failed; /* of something that must end the step's commit */
};

/* ---- cluster.c ---- */
/* The object as this batch sees it when its record is still the newest; -ESTALE when something
 * overtook the record, -ENOENT when it is gone. */
int cluster_current(struct cluster *c, const struct kind *k, struct span ns, struct span name,
		    uint64_t revision, struct store_object *ret);
void cluster_timer_set(struct cluster *c, usec at, struct sim_pod *pod, struct sim_job *job);
void cluster_timer_drop(struct cluster *c, size_t *slot);
/* Keeps the first failure of the step; returns its errno. */
int cluster_fail(struct cluster *c, const struct err *why);

/* ---- cluster_nodes.c ---- */
int cluster_nodes_load_file(struct cluster *c, const char *path, struct err *reterr) MUST_CHECK;
/* A new Node in the batch, with what its kubelet would say of it. */
int cluster_nodes_put(struct cluster *c, struct registry_batch *b, const struct cJSON *node,
		      const char *name, struct err *reterr) MUST_CHECK;
void cluster_nodes_observe(struct cluster *c, const struct registry_change *ch);
/* At start: a stored node. */
void cluster_nodes_add(struct cluster *c, const struct store_object *o);

/* ---- cluster_silence.c: nodes whose kubelet is not heard ----
 * A node with the annotation muster.dev/sim-kubelet: silent. After a grace of 50 s (simulated) its
 * Ready condition is Unknown and it has the two taints node.kubernetes.io/unreachable. Its pods
 * are not ready then, and those whose time of toleration is over are deleted; but whoever deletes
 * them, they end when the kubelet is back (the annotation is gone), when the node is deleted,
 * or when it has the taint node.kubernetes.io/out-of-service: then as lost. What a pod would have
 * done meanwhile is told when the kubelet is back. */
/* Looks at a node as committed; true when its pods are in silence's hands. */
bool cluster_silence_observe(struct cluster *c, const struct store_object *o,
			     const struct node_info *info);
void cluster_silence_forget(struct cluster *c, struct span node);
/* Writes what is due of nodes; false when the batch is full before it was through. */
bool cluster_silence_step(struct cluster *c);
usec cluster_silence_due(const struct cluster *c);
/* The kubelet of the pod's node is silent. */
bool cluster_silence_has(const struct cluster *c, const struct sim_pod *p);
/* What happens to a pod there, in the kubelet's stead. */
void cluster_silence_pod(struct cluster *c, struct sim_pod *p);
/* registry_options.in_use: a pod that only its silent kubelet could end. arg: the cluster. */
bool cluster_silence_in_use(void *arg, const struct kind *k, const struct store_object *o);

/* ---- cluster_pods.c ---- */
void cluster_pods_observe(struct cluster *c, const struct registry_change *ch);
void cluster_pods_add(struct cluster *c, const struct store_object *o);
void cluster_pods_forget(struct cluster *c, struct sim_pod *p); /* drops the record */
/* What its job's controller sees of it; borrowed from the record. */
struct pod_view cluster_pods_view(const struct sim_pod *p);
/* Deletes it as its controller; -ESTALE, -ENOENT: overtaken, look again. */
int cluster_pods_delete(struct cluster *c, struct sim_pod *p);
/* Takes it off the queue of pods without a node; fine when it is not there. */
void cluster_pods_unqueue(struct cluster *c, struct sim_pod *p);
/* The line of runs.jsonl about the run that ends now. */
void cluster_pods_log_run(struct cluster *c, struct sim_pod *p, usec end, const char *result);

/* ---- cluster_kubelet.c ---- */
/* Writes the record's state into the pod's status; -ESTALE, -ENOENT: overtaken. */
int cluster_kubelet_tell(struct cluster *c, struct sim_pod *p);
void cluster_kubelet_due(struct cluster *c, struct sim_pod *p); /* its timer ran out */
/* Binds what fits; false when the batch is full before it was through. */
bool cluster_kubelet_schedule(struct cluster *c);
/* The node went or is not ready: its pods fail, or go with it. */
void cluster_kubelet_lost(struct cluster *c, struct scheduler_node *n, bool node_gone);
/* The node is there: pods that do not tolerate its NoExecute taints fail, and are deleted. */
void cluster_kubelet_evict(struct cluster *c, struct scheduler_node *n);
/* The pod stands on the node: how long it tolerates its taints (scheduler_tolerated_for()); its
 * end is set when that is not for ever. */
int64_t cluster_kubelet_tolerates(struct cluster *c, struct sim_pod *p, struct scheduler_node *n);

/* ---- cluster_jobs.c ---- */
void cluster_jobs_observe(struct cluster *c, const struct registry_change *ch);
void cluster_jobs_add(struct cluster *c, const struct store_object *o);
void cluster_jobs_forget(struct cluster *c, struct sim_job *j);
void cluster_jobs_enqueue(struct cluster *c, struct sim_job *j);
/* Takes jobs off the queue; false when the batch is full before it was through. */
bool cluster_jobs_sync(struct cluster *c);
bool cluster_jobs_is_kind(const struct kind *k);
bool cluster_jobs_finished(const struct sim_job *j);

/* ---- cluster_children.c: Jobs of a JobSet ---- */
/* Creates as many as the batch takes, and the JobSet's headless service; -ENOSPC when some are
 * left for the next one. parent_object: the JobSet as this batch sees it. */
int cluster_children_create(struct cluster *c, struct sim_job *parent,
			    const struct store_object *parent_object,
			    const struct job_set_create *creates, size_t n);
int cluster_children_suspend(struct cluster *c, struct sim_job *child,
			     const struct store_object *set, bool suspend);

/* ---- cluster_services.c: headless services, which only exist ---- */
/* Unless it exists. ports: JSON array text, or NULL. */
int cluster_services_create(struct cluster *c, struct sim_job *owner, const char *name,
			    const char *selector, const char *ports);
int cluster_services_delete(struct cluster *c, struct sim_job *owner, const char *name);

/* ---- cluster_events.c ---- */
void cluster_event(struct cluster *c, const struct kind *k, struct span ns, struct span name,
		   struct span uid_text, const char *component, bool warning, const char *reason,
		   const char *fmt, ...) PRINTF_LIKE(9, 10);

#endif
