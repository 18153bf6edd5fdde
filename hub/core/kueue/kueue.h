#ifndef CORE_KUEUE_KUEUE_H
#define CORE_KUEUE_KUEUE_H
/*
 * Kueue's dialect in the core: its objects, as they are committed, in the engine of quota-tree, and
 * what the engine decides, as rows. Private to core/kueue, except for the functions below.
 *
 * All of it is derived, like everything in core/state.h: queues, cohorts, flavors and classes from
 * their objects, workloads from theirs (spec from the row's digest, standing from the status text),
 * usage from what the workloads hold. A restart runs the same functions.
 *
 * Files by noun: compose (what a job asks), resource_flavor and cohort, cluster_queue, local_queue,
 * priority_class, admission_check, topology; workload (the record), prebuilt (those that users made
 * for their jobs), workload_file (where it waits), workload_row and workload_status (its object),
 * admit (the cycle), evict (taking back); queue_status (what queues show).
 */
#include "core/kueue/queue_meter.h"
#include "core/kueue/settings.h"
#include "core/state.h"
#include "kube/selector.h"
#include "quota-tree/kueue_queues.h"

struct workload;
struct quota_shadow;

struct topology {
	char *name;
	struct span *levels; /* each with memory of its own; the widest first */
	size_t n_levels;
};

/* A flavor, a check or a topology that is being deleted (in_use.h). */
struct kueue_leaving {
	const struct kind *kind;
	char *name;
};

/* Sums by cell, in no order. */
struct usage {
	struct VEC(struct kueue_use) items;
};

struct queue_check { /* one entry of admissionChecksStrategy */
	char *name;
	char **on_flavors; /* none: every flavor */
	size_t n_on_flavors;
};

struct cluster_queue {
	char *name;
	uint32_t node;	 /* in the forest; KUEUE_NONE when it has no room */
	char *spec_text; /* as it was taken: status writes change nothing here */
	uint8_t uid[STORE_UID_LEN];
	bool deleting;
	enum kueue_stop stop;
	bool has_selector; /* false: no namespace at all */
	struct selector namespaces;
	struct VEC(struct queue_check) checks;
	struct usage admitted;			      /* what admitted ones use */
	bool status_dirty;			      /* in kueue->dirty_queues */
	struct VEC(struct workload *) short_of_quota; /* of others' (quota_wait.h) */
	struct queue_meter meter;
};

struct local_usage {
	char *resource;
	double value;
};

struct local_queue {
	char *key; /* "namespace/name" */
	struct span ns, name;
	uint32_t number; /* dense, for the engine */
	bool exists;
	char *spec_text;
	enum kueue_stop stop;
	char *cluster_queue; /* or NULL */
	double weight;
	struct VEC(struct local_usage) consumed; /* as stored, until the engine has been told */
	usec consumed_at;
	struct workload *workloads; /* all that name it */
	struct usage reserved, admitted;
	bool status_dirty; /* in kueue->dirty_locals */
};

struct kueue {
	struct kueue_settings settings;
	struct kueue_forest *forest;
	struct kueue_queues *queues;
	struct map cluster_queues;			   /* name -> struct cluster_queue */
	struct map local_queues;			   /* ns/name -> struct local_queue */
	struct VEC(struct local_queue *) locals_by_number; /* holes are NULL */
	struct map classes; /* WorkloadPriorityClass: name -> owned int32_t */
	struct map checks;  /* AdmissionCheck: name -> struct admission_check */
	struct map multikueue_configs, multikueue_clusters; /* multikueue.h */
	struct VEC(struct topology) topologies;		    /* in order of name (topology.h) */
	struct map workloads; /* ns/name -> struct workload, those not finished */
	struct map awaited;   /* ns/name -> struct awaited: Workloads that jobs name (prebuilt.h) */
	struct VEC(struct workload *) dirty;  /* of no job; jobs' go with their job */
	size_t n_freed;			      /* the first of them gave quota back */
	struct VEC(struct workload *) timers; /* a heap by `timer` */
	struct VEC(struct cluster_queue *) dirty_queues;
	struct VEC(struct local_queue *) dirty_locals;
	struct VEC(struct kueue_leaving) leaving;
	bool leaving_changed; /* one of them came, or somebody may name one no more */
	struct VEC(struct workload *) placing;	/* hold quota, wait for a member; holes are NULL */
	struct VEC(struct workload *) checking; /* provisioning_check.h; holes are NULL */
	bool checking_soon;			/* one of them is to be looked at at once */
	bool checks_changed;			/* an AdmissionCheck or its config did */
	struct VEC(struct workload *) lacking;	/* have asks that no member took */
	struct VEC(struct workload *) claims;	/* claim.h */
	usec status_due;
	struct selector managed_namespaces; /* of the setting */
	usec usage_due;	  /* of the next sample of LocalQueues' usage; INT64_MAX: none */
	size_t n_unready; /* hold quota, and not all their pods are ready */
	/* quota_wait.h: the first time at which one starves that does not yet; shapes that were
	 * refused for those that do. quota_shadow.h: these, in their order; when their shadow times
	 * were worked out, and whether they are new, dropped, or behind what is held since */
	usec starves_at;
	struct VEC(uint32_t) refused_shapes;
	struct VEC(struct quota_shadow *) starving;
	usec shadows_at;
	bool shadows_new, shadows_moved, shadows_stale;
	/* bypass.h: when it goes on, and where; whether there is reason for another pass */
	usec bypass_at; /* INT64_MAX: nobody is to be told */
	size_t bypass_queue, bypass_place;
	bool bypass_again;
	bool blocked; /* a head waits for them: nothing is tried meanwhile */
	bool edited;  /* the batch under way writes queues or flavors: it admits nobody */
};

/* ---- what core calls ---- */

void kueue_open(struct core *c);
void kueue_close(struct core *c);

/* Objects of Kueue's kinds were committed, or read at start. False: not such a kind. */
bool kueue_observe(struct core *c, const struct kind *kind, const struct store_object *o);
bool kueue_observe_absent(struct core *c, const struct kind *kind, struct span ns,
			  struct span name);
bool kueue_is_interesting(const struct kind *kind);
/* Kinds whose edit may lower quota: nobody is admitted by the old ones in the batch that holds it.
 */
bool kueue_is_quota(const struct kind *kind);
/* Admissions were decided that are not written yet. */
bool kueue_owes_admissions(const struct core *c);
/* Whether jobs of a namespace are Kueue's business at all (managedJobsNamespaceSelector). */
bool kueue_manages(struct core *c, struct span ns);
/* A namespace's labels may have changed. */
void kueue_observe_namespace(struct core *c, struct span name);

/* What is due. */
void kueue_timers(struct core *c);
usec kueue_due(const struct core *c);

/* Status of queues that had to wait for too long: goes before everything else. */
void kueue_flush_late_status(struct core *c);
/* Rows of workloads without a job, those that gave quota back first; then status of queues. False:
 * there was no room for all of it. */
bool kueue_flush_workloads(struct core *c, bool freed_only);
void kueue_flush_status(struct core *c);

#endif
