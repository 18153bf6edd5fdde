#ifndef KINDS_JOB_DIGEST_H
#define KINDS_JOB_DIGEST_H
/*
 * What the core indexes of a job of any kind: its pod sets and the fields that queueing and
 * placement read. Kept in the row beside the JSON, so that a restart reads no JSON.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "kinds/topology_request.h"
#include "kube/kind.h"
#include "kube/pod_info.h"

#define JOB_MAX_POD_SETS 64
#define JOB_MAX_PODS	 100000 /* per job, all sets */

struct job_pod_set {
	struct span
	    name;      /* "master", "worker"; a replicated job's or group's name; "main" for Job */
	int64_t count; /* pods */
	struct template_info pod;
	/* jobset exclusive-topology: pods come in `groups` equal groups, each in its own domain */
	struct span exclusive_topology; /* node label key; absent when none */
	int64_t groups;			/* 1 when none */
	/* Kueue's topology annotations of the template; an exclusive topology goes before them. */
	struct topology_request topology;
	/* So many are enough when no more fit; 0: all are needed (job-min-parallelism). */
	int64_t min_count;
	/* Where its template stands in the job ("spec.template"): job_path.h. Absent in rows that
	 * an older version wrote. */
	struct span path;
};

struct job_dependency {
	enum {
		DEPENDENCY_CONFIG_MAP,
		DEPENDENCY_SECRET,
		DEPENDENCY_PVC,
		DEPENDENCY_SERVICE_ACCOUNT
	} kind;
	struct span name;
};

struct job_digest {
	struct job_pod_set *pod_sets;
	size_t n_pod_sets;
	bool single_template; /* Job: Result shows {c:n}; others show components */
	bool suspend;	      /* as the user set it */
	/* An MPIJob that was created as kubeflow.org/v2beta1 and goes to its member as that. */
	bool beta;
	/* Its launcher has the first rank among the workers (runLauncherAsWorker). */
	bool launcher_works;
	bool preemptible; /* label quota.scheduling.../preemptible, kube-queue default true */
	struct span priority_class; /* first pod set that names one, in the kind's order */
	/* runPolicy.schedulingPolicy.priorityClass: goes before the pods' in Kueue's order. */
	struct span scheduling_class;
	struct span queue_name; /* kueue.x-k8s.io/queue-name label, else annotation */
	/* kueue.x-k8s.io/prebuilt-workload-name annotation, else label: the Workload that its user
	 * made for it */
	struct span prebuilt;
	struct span quota_name; /* quota.scheduling.alibabacloud.com/name, else koordinator.sh */
	struct span provisioning_request; /* whose nodes its pods take */
	/* Which pod sets do, a bit each: those whose template names it; all, where the job does. */
	uint64_t consumers;
	struct job_dependency *dependencies; /* what its pods mount or name */
	size_t n_dependencies;
	struct info_pair *labels; /* of the job: policies select on them */
	size_t n_labels;
	/* A helper pod that is no part of the gang, but takes room: a RayJob's submitter in
	 * K8sJobMode. NULL: none. */
	struct job_pod_set *submitter;
	int64_t ttl_seconds;   /* ttlSecondsAfterFinished; -1 when absent */
	int64_t limit_seconds; /* activeDeadlineSeconds: it runs no longer; -1 when absent */
};

/* The kind of a job in the version in which it was created: `k`, or the other one of its type.
 * Borrowed from `kinds`. */
const struct kind *job_digest_kind(const struct kind_set *kinds, const struct kind *k,
				   const struct job_digest *d);

void job_digest_pack(const struct job_digest *d, struct buf *out);
/* Borrows strings from bytes. -EINVAL on a malformed digest. */
int job_digest_unpack(struct span bytes, struct arena *mem, struct job_digest *ret) MUST_CHECK;
/* The value of a label of the job, absent when it has none. */
struct span job_digest_label(const struct job_digest *d, const char *key);

/* The copy that goes to a member: the job's JSON with status, managedFields and hub-only fields
 * dropped, suspend set, ttlSecondsAfterFinished stripped, the labels and annotations of
 * kube/pod_info.h put on the object and on every pod template. Appends JSON to out. It is made of
 * the job's own parts: what is left of `job` is only good for json_free(). */
struct job_copy_options {
	const char *hub_uid, *job_uid;
	uint64_t epoch;
	bool suspend;
	/* What a queue's admission adds to the pod templates, or NULL: an array of {name (of the
	 * pod set), count, labels, annotations, nodeSelector, tolerations, schedulingGates (one
	 * at most)}. A value that stands there already and differs is ERR_INVALID. `count` sets a
	 * Job's parallelism. */
	const struct cJSON *pod_set_updates;
};
int job_copy_make(const struct kind *k, struct cJSON *job, const struct job_copy_options *o,
		  struct buf *out, struct err *reterr) MUST_CHECK;
/* The same as an owned tree. */
int job_copy_tree(const struct kind *k, struct cJSON *job, const struct job_copy_options *o,
		  struct cJSON **ret, struct err *reterr) MUST_CHECK;
/* Where the kind's suspend field stands, as a JSON pointer; static text. */
const char *job_suspend_path(const struct kind *k);
/* The status that users see: the member's, with the Suspended condition that the hub's own
 * dispatch causes hidden (DESIGN section 4, items 1 and 5), unless `suspended`: an evicted job's is
 * the truth. Appends to out. -ENOENT, and nothing
 * appended, when a kubeflow job's controller has said nothing else yet: then the status that
 * stands, with Created, is to be kept. ERR_INVALID when it is no object. */
int job_hub_status(uint16_t type, struct span member_status, bool suspended, struct buf *out,
		   struct err *reterr) MUST_CHECK;
/* The status that the hub writes when it accepts the job: PyTorchJob and siblings are Created,
 * others that are made suspended say so, as their controllers would. Nothing for the rest. */
void job_accepted_status(const struct kind *k, const char *name, bool suspended, usec now,
			 struct buf *out);

#endif
