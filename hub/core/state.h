#ifndef CORE_STATE_H
#define CORE_STATE_H
/*
 * What the core thread knows: the memory behind its decisions. Private to hub/core.
 *
 * All of it is derived: truth is in the store, and core_restart() rebuilds this from there by the
 * same functions that keep it up to date. User writes reach it only after their commit
 * (observe.h). The core's own decisions change it before the commit that records them; should
 * that commit fail, everything here is thrown away and rebuilt.
 *
 * Thread: the core thread alone. A job that is finished and settled is not here.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/dispatch/dispatch.h"
#include "core/kueue/settings.h"
#include "kinds/job_digest.h"
#include "kinds/types.h"
#include "kube/kind.h"
#include "kube/managed_draft.h"
#include "kube/object.h"
#include "policies/ledger.h"
#include "policies/placement.h"
#include "policies/propagation.h"
#include "policies/waiting.h"
#include "quota-tree/elastic_queue.h"
#include "registry/inbox.h"
#include "registry/registry.h"
#include "wire/order.h"

struct core;

/* ---- members ---- */

/* A copy that belongs to no job, whose deletion was not answered yet. */
struct orphan {
	char *path, *uid;
	enum member_stream stream;
	usec retry_at;
};

/* An Event whose pod is not known yet. */
struct early_event {
	char *json;
	size_t len;
	usec until;
};

/* swap/node_jobs.h */
struct node_job {
	uint64_t job;
	uint32_t pods; /* 0: the last one went at `left`, without having succeeded */
	usec left;
};
struct node_jobs {
	struct VEC(struct node_job) items;
};

struct member {
	uint32_t number; /* persistent: in cursors, orders, facts */
	char *name;	 /* the Cluster object's */
	uint8_t cluster_uid[STORE_UID_LEN];
	uint8_t incarnation[STORE_UID_LEN]; /* kube-system uid; zero until first seen */
	uint32_t view;			    /* number in the policies' fleet */
	enum member_condition condition;
	char *message; /* of the condition */
	usec condition_since;
	char *kubernetes_version, *server;
	uint32_t apis; /* bit per member_stream */
	bool apis_known;
	bool nodes_listed, pods_listed; /* the view is complete */
	bool sweep_nodes, sweep_pods;	/* a relist ended: what it did not name goes */
	size_t n_over;			/* records of pods that are over */
	size_t n_unforgotten, reap_at;	/* after the last walk; in pods' entries: capacity_pod.c */
	bool cordoned, deleting, dead;	/* dead: the operator declared it */
	bool leaving;	 /* nothing of it is needed any more: its facts are dropped */
	uint64_t secret; /* revision of the Secret it was joined with */
	uint64_t join;	 /* id of the JOIN whose facts count; 0: none was sent */
	bool status_dirty;
	usec status_due;
	uint64_t cursors[STREAM_MAX];
	bool listing[STREAM_MAX];
	uint32_t held[STREAM_MAX];   /* effects that are not done: the cursor stays before them */
	uint64_t latest[STREAM_MAX]; /* where it goes then */
	uint32_t cursors_dirty;	     /* bit per stream */
	struct map nodes;	     /* name -> struct member_node */
	struct map pods;	     /* ns/name -> struct member_pod; not all: capacity.h */
	struct VEC(struct node_jobs) node_jobs; /* by number in the view */
	struct VEC(struct orphan) orphans;
	bool finished_revived; /* unjoin: copies of finished jobs have records again */
	usec unjoin_at;	       /* 0: nothing to do for an unjoin */
	struct VEC(struct early_event) early; /* member_event.h */
	usec early_due;			      /* 0: none */
	struct map dependencies;   /* path -> struct dependency (dispatch/dependency.h) */
	usec dependencies_due;	   /* earliest retry among them; 0: none */
	uint32_t conflicts;	   /* of them in conflict with foreign objects */
	struct VEC(uint64_t) jobs; /* numbers of jobs with a copy here, unordered; stale: skipped */
	uint32_t incoming;	   /* jobs that leave another member for this one */
	uint32_t ungating;	   /* patches under way: dispatch/ungater.h */
};

struct member_node {
	uint32_t node; /* number in the view */
	uint64_t revision;
	bool seen;	/* during a relist */
	usec not_ready; /* since when, by our clock; 0: it is ready */
	uint64_t shown; /* hash of the view that its object at the hub has; 0: not known */
};

struct member_pod {
	const char *key; /* "namespace/name": that of its member's map */
	uint64_t revision;
	uint32_t node;		/* charged on, or NODE_NONE */
	uint32_t epoch;		/* low bits of the placement's, 0 when it does not say */
	struct amount *amounts; /* what is charged */
	uint64_t job;		/* number of the hub's job, 0 for foreign pods */
	bool over;		/* terminal */
	bool live;		/* not terminal, and one of its job's live_pods */
	bool ready;		/* counted in its job's ready_pods */
	bool observed;		/* told to the ledger */
	bool out;	/* on its way out: the ledger counts on the one that replaces it (swap/) */
	bool exclusive; /* of a set with an exclusive topology */
	bool gated;	/* waits for dispatch/ungater.h */
	bool doomed; /* deleted while its node was lost: whoever waits for its end may wait long */
	bool object; /* kept as a Pod object in the mirror */
	bool seen;
	uint16_t set;	 /* its pod set; good when observed */
	uint32_t member; /* number */
	uint32_t job_at; /* place in its job's pods + 1; 0: not there */
	uint32_t domain; /* of those its set stands in, from 1 on: ungater.h; 0: not known */
	uint32_t n_amounts;
};

/* ---- jobs ---- */

enum job_hold { /* why a job is not even offered for placement */
		HOLD_NONE,
		HOLD_SUSPENDED,	       /* suspend: true, by its user */
		HOLD_NO_POLICY,	       /* requirePolicy */
		HOLD_NO_QUOTA,	       /* belongs to no elastic quota */
		HOLD_NO_QUEUE,	       /* names a LocalQueue that does not exist */
		HOLD_QUEUE,	       /* its queue takes nobody, or not this job */
		HOLD_POLICY_SUSPENDED, /* suspension.dispatching */
		HOLD_TOPOLOGY,	       /* asks for a topology that cannot be */
		HOLD_PROVISIONING,     /* names a ProvisioningRequest without nodes */
		HOLD_PREBUILT,	       /* names a Workload that it cannot have (kueue/prebuilt.h) */
		HOLD_MAX,
};

struct job_event {	  /* waits to be recorded */
	const char *type; /* Normal, Warning */
	const char *reason;
	char *message;
	bool of_queue;	       /* said by its Kueue queue */
	const char *component; /* who else says it; NULL: nobody else */
};

struct job {
	uint64_t number; /* for the ledger and for orders; never reused in a process; not 0 */
	const struct kind *kind;
	char *ns, *name;
	uint8_t uid[STORE_UID_LEN];
	char uid_text[OBJECT_UID_TEXT];
	char *digest_bytes;
	size_t digest_len;
	size_t member_at; /* place in its member's list + 1; 0: not there */
	struct arena mem; /* holds `digest` */
	struct job_digest digest;
	bool deleting; /* the hub's object has a deletionTimestamp */
	bool gone;     /* the hub's object is gone; the record lives until its copy is gone too */
	bool user_suspended;
	bool finished;
	int64_t generation; /* of the hub's object: its spec was edited when it grows */
	int32_t priority;
	bool priority_pending; /* its class does not exist yet */
	usec created, first_attempt, decided_at;
	/* starvation.h: parked since, not durable; no cluster could be promised to it lately */
	usec unplaced_since, hopeless_until;
	usec finished_at;      /* by our clock; 0: not, or not known */
	uint32_t replacements; /* placements so far, for the back-off of re-placement */

	/* policy */
	char *policy_ns, *policy_name; /* NULL, NULL: the built-in one; ns NULL: cluster-wide */
	bool must_queue, propagate_deps;
	enum job_hold hold;
	char *hold_detail; /* or NULL */

	/* placement */
	struct shape *shape;
	struct ask *ask;
	size_t heap_at; /* place in its ask's waiting heap + 1; 0: not there */

	/* queue */
	struct elastic_unit *unit; /* NULL when not queued */
	char *unit_name;	   /* of the QueueUnit object */
	char *elastic_name;	   /* namespace/name given to the queue */
	uint8_t unit_uid[STORE_UID_LEN];
	usec unit_created, dequeued_at;
	const char *unit_phase;
	bool unit_exists; /* the object */

	/* of a Kueue queue: core/kueue. NULL: not queued there */
	struct workload *workload;
	char *awaits; /* "namespace/name" of the Workload that it names, noted there; or NULL */

	/* dispatch */
	struct dispatch_state dispatch;
	enum dispatch_order order; /* to send once `dispatch` is durable */
	char order_uid[DISPATCH_UID_MAX];
	uint64_t order_epoch; /* of its plan: what the copy has to say */
	char *copy_text;      /* the copy as it was read, for a rewrite or an amendment, or NULL */
	size_t copy_len;
	uint64_t order_id;	     /* of the call in flight, 0 none */
	uint64_t copy_revision;	     /* of the copy's newest state that was seen */
	bool copy_seen;		     /* during a relist */
	bool holds;		     /* charged in ledger and quota */
	size_t prepare_at;	     /* next dependency to prepare */
	struct amendment *amendment; /* edits that its copy lacks (dispatch/amend.h), or NULL */
	bool edit_row;		     /* its row in truth exists */
	char *needs;		     /* paths of what its copy needs, as stored, or NULL */
	uint32_t needs_member;	     /* on which member */
	/* Records of its pods wherever they are, unordered; those of earlier placements too. */
	struct VEC(struct member_pod *) pods;
	uint32_t live_pods;	/* on the member of `dispatch`, as the pod stream shows */
	uint32_t ready_pods;	/* of this placement: Ready, or succeeded */
	uint32_t ready_beside;	/* of these: a submitter's */
	char *dispatch_message; /* last refusal or failure, for verdicts; or NULL */
	char *assignment;	/* nodes of the decision (assignment.h) while it holds, or NULL */
	size_t assignment_len;
	char *domains;		   /* of its topology, while it holds (domain.h), or NULL */
	uint32_t *spent;	   /* by pod set: pods that came and went while it holds, or NULL */
	struct swap *swap;	   /* it lost nodes (swap/swap.h), or NULL */
	struct failover *failover; /* it failed somewhere (admission/failover.h), or NULL */
	bool spent_row;		   /* its row in the mirror exists */
	uint32_t spent_member;	   /* under which number */
	enum copy_phase phase;

	/* binding */
	uint8_t binding_uid[STORE_UID_LEN];
	usec binding_created;
	bool binding_exists;

	/* what the next flush writes */
	bool dirty; /* in core->dirty */
	bool binding_dirty, unit_dirty, retention_dirty;
	bool finalize;	     /* take the hub's finalizer off the object */
	bool live_row;	     /* its row in STORE_AUX_LIVE exists */
	bool settled;	     /* finished and written: the record may go */
	bool durable_wanted; /* `order` waits for binding_dirty to be committed */
	bool flushed;	     /* in core->flushed: written by the batch under way */
	char *status;	     /* hub status text to splice, or NULL */
	size_t status_len;
	bool status_finished;
	usec status_due; /* not before this time; terminal ones at once */
	usec status_written;
	struct VEC(struct job_event) events;
	char *top_reason; /* last reason told as an event while waiting */
	usec top_reason_at;
	size_t timer_at; /* place in the timer heap + 1; 0: none */
	usec timer;
};

/* Jobs of one ask that wait for placement outside any queue, best first. */
struct waiting_jobs {
	struct VEC(struct job *) heap;
	size_t n_jobs;		/* that have this ask, wherever they wait or run */
	bool ready;		/* may be tried */
	char *reason, *summary; /* why not, as of explained_at; or NULL */
	usec explained_at;
	struct VEC(uint64_t) newcomers; /* numbers of jobs that were not told anything yet */
	struct ask *parked;		/* the reference that keeps a parked ask alive */
	struct VEC(uint32_t) shapes;	/* of Kueue's engine: woken with it */
};

/* ---- the quota tree ---- */

struct queue_object { /* one Queue per tree node */
	char *name;
	uint8_t uid[STORE_UID_LEN];
	bool exists, wanted;
	bool status_dirty;
};

struct quota {
	struct elastic_tree *tree; /* NULL: no tree */
	struct elastic_queues *queues;
	char *name;    /* of the ElasticQuotaTree object */
	char *created; /* of the last one that a user created, looked at or not; or NULL */
	uint8_t uid[STORE_UID_LEN];
	char *spec_text;   /* of the tree in force: status writes change nothing here */
	bool edited;	   /* the batch under way writes a tree: it admits nobody */
	bool queues_dirty; /* Queue objects lag behind the tree */
	bool status_dirty;
	usec status_due;
	struct map queue_by_path; /* path -> struct queue_object */
	/* admission/reclaim.h */
	bool reclaim_wanted;	     /* units or usage changed */
	usec reclaim_at;	     /* not looked at before */
	struct reclaim_claim *claim; /* the round under way, or NULL */
};

/* ---- all of it ---- */

/* An Event that found no room in its batch (recorder.h). */
struct late_event {
	char *ns, *name;
	struct object_draft draft;
};

struct core_settings {
	bool require_policy;	     /* jobs that no policy selects are left alone */
	usec keep_finished;	     /* members.keepFinished */
	usec starve_after;	     /* starvation.after; 0: nothing is ever reserved */
	uint32_t provision_parallel; /* provisioning.parallel */
	usec provision_patience;     /* provisioning.patience; 0: without end */
	usec provision_discovery;    /* provisioning.discovery; 0: as patience */
	bool hot_swap;		     /* hotSwap.enabled */
	usec not_ready_for; /* hotSwap.notReadyAfter: then a node that is not ready is lost */
	struct kueue_settings kueue;
};

/* A committed change that the core has yet to look at; level-triggered: only the name counts. */
struct observed {
	const struct kind *kind;
	char *ns, *name;
};

#define CORE_COMMIT_BUCKETS 12
/* What a cycle of Kueue's decides about one workload. */
enum kueue_decision {
	KUEUE_WAITS,
	KUEUE_PREEMPTS,
	KUEUE_RESERVES,
	KUEUE_DECISIONS,
};

struct core_counters {
	uint64_t batches, admitted, finished, orders, facts;
	uint64_t reserved;  /* Workloads that were given quota */
	usec decide_time;   /* of deciding who is admitted */
	uint64_t cycles[2]; /* of Kueue's: in vain, and not */
	uint64_t decisions[KUEUE_DECISIONS];
	uint64_t commits[CORE_COMMIT_BUCKETS + 1]; /* by time: query_metrics.c; last: beyond */
	usec commit_time;
};

/* Jobs by phase, counted a portion at a time (query_metrics.c). */
enum job_phase {
	JOB_QUEUED,
	JOB_PLACING,
	JOB_STARTING,
	JOB_RUNNING,
	JOB_ENDING,
	JOB_FINISHED,
	JOB_PHASE_MAX,
};
#define CORE_CENSUS_STEP 50000
struct job_census {
	size_t at; /* in jobs_by_number's entries */
	size_t counting[JOB_PHASE_MAX], counted[JOB_PHASE_MAX];
};

struct core {
	const struct kind_set *kinds;
	struct store *truth, *mirror;
	struct registry *registry;
	struct inbox *inbox;
	struct wakeup *wakeup;
	struct net *net;
	struct fact_queue *facts;
	const struct log *log;
	struct core_settings settings;
	char hub_uid[OBJECT_UID_TEXT];

	struct registry_batch *batch; /* the one under way */
	usec now;

	struct map members_by_name;	     /* -> struct member */
	struct VEC(struct member *) members; /* by number; holes are NULL */

	struct map jobs_by_key, jobs_by_uid; /* -> struct job */
	struct map jobs_by_number;	     /* 8 bytes -> struct job */
	uint64_t next_job, next_order;
	struct map calls; /* order id, 8 bytes -> struct call (courier.c) */

	struct propagation_index *policies;
	struct map priority_classes; /* name -> owned (priority.c) */
	int32_t default_priority;    /* of jobs that name no class */

	struct fleet *fleet;
	struct placer *placer;
	struct ledger *ledger;
	struct waiting *waiting;
	struct starvation *starvation;
	struct elastic_wait *elastic_wait;
	struct ungater *ungater;
	struct VEC(struct job *) swaps;	      /* those with a record (swap/swap.h) */
	struct VEC(struct waiting_jobs) asks; /* by ask id */
	struct VEC(uint32_t) ready_asks;
	struct quota quota;
	struct kueue *kueue;
	struct provisioning *provisioning;

	/* The first n_freed of the dirty ones let go of quota and nodes since their last flush:
	 * they are written before any that took them, whichever batch that falls into. */
	struct VEC(struct job *) dirty, flushed, timers;
	size_t n_freed;
	struct VEC(struct order *) orders;	   /* go out after the commit */
	struct VEC(struct late_event) late_events; /* those from late_first on, oldest first */
	size_t late_first;
	uint64_t events_named; /* how many the recorder has named; for their order */
	struct VEC(struct observed) observed;
	struct map observed_keys; /* those waiting, so that each waits once */
	/* Changes up to the first are queued or done with; the second is what is on disk of it. */
	uint64_t observed_revision, observed_saved;
	bool cursors_dirty, pump_wanted;
	unsigned pump_budget;
	usec retention_next;
	uint64_t retention_put; /* the last batch with rows of it (counters.batches) */
	struct {		/* retention_sweep.h */
		bool under_way;
		char *ns, *name; /* of the last Workload that was looked at, or NULL */
	} sweep;
	usec last_attempt; /* first attempts of new jobs are unique */
	struct core_counters counters;
	struct job_census census;
	struct fact *facts_head; /* taken, waiting for room in a batch */
	bool born;		 /* what a hub is born with is committed */
	bool restoring;
	bool rebuild;	    /* memory is ahead of a commit that failed */
	bool failed;	    /* an I/O error: the process must end */
	bool has_room;	    /* the stores say so, looked at before each batch */
	usec starved_since; /* since a commit found no space; 0: it did not */
	usec starved_until; /* not looked at again before this time */
};

/* Puts the job on the list of those whose objects the next batches write. */
void core_job_dirty(struct core *c, struct job *j);
/* The same for one that let go of quota and nodes; O(dirty jobs). */
void core_job_freed(struct core *c, struct job *j);
/* Wakes the job at `when` (EVENT_TIMER or a status that is due); keeps the earlier time. */
void core_job_timer(struct core *c, struct job *j, usec when);
void core_job_timer_remove(struct core *c, struct job *j);
/* The core's own writes into the batch under way: what fails is logged, and returned. Absence is
 * no failure of a delete. A put of a key that this batch deletes is -EAGAIN. */
int core_put(struct core *c, const struct kind *kind, struct span ns, struct span name,
	     struct object_draft *take_draft);
void core_delete(struct core *c, const struct kind *kind, struct span ns, struct span name);
/* The core as managedFields name it, writing now. */
#define CORE_MANAGER REGISTRY_MANAGER
struct managed_write core_manager(const struct core *c, const struct kind *kind);
/* object_draft_splice_status() of what the core says by itself, and managedFields tell so. */
int core_splice_status(const struct core *c, const struct kind *kind, const struct store_object *o,
		       struct span status, bool finished, struct object_draft *ret,
		       struct err *reterr) MUST_CHECK;
bool core_has_hub_finalizer(const struct store_object *o);
/* Takes a finalizer off an object that is being deleted; the row goes when it was the last one. Two
 * rows. */
bool core_has_finalizer(const struct store_object *o, const char *finalizer);
void core_remove_finalizer(struct core *c, const struct kind *kind, const struct store_object *o,
			   const char *finalizer);
/* The same for the hub's own. */
void core_remove_hub_finalizer(struct core *c, const struct kind *kind,
			       const struct store_object *o);
/* Throws memory away and reads it from the store again. */
void core_rebuild(struct core *c, struct err *reterr);
/* kube's taint effect in policies' words. */
enum taint_effect core_taint_effect(enum info_effect e);
/* The stream of a job kind; STREAM_MAX for others. */
enum member_stream core_stream_of(uint16_t type);

#endif
