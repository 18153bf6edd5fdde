#ifndef KINDS_JOB_KEYS_H
#define KINDS_JOB_KEYS_H
/* Labels and annotations of jobs that the hub reads. */

#define JOB_KEY_QUEUE			"kueue.x-k8s.io/queue-name"
#define JOB_KEY_PRIORITY_CLASS		"kueue.x-k8s.io/priority-class"
#define JOB_KEY_PREBUILT		"kueue.x-k8s.io/prebuilt-workload-name"
#define JOB_KEY_MAX_EXECUTION		"kueue.x-k8s.io/max-exec-time-seconds"
#define JOB_KEY_MIN_PARALLELISM		"kueue.x-k8s.io/job-min-parallelism"
#define JOB_KEY_EQUAL_COMPLETIONS	"kueue.x-k8s.io/job-completions-equal-parallelism"
#define JOB_KEY_QUOTA			"quota.scheduling.alibabacloud.com/name"
#define JOB_KEY_QUOTA_KOORDINATOR	"quota.scheduling.koordinator.sh/name"
#define JOB_KEY_PREEMPTIBLE		"quota.scheduling.alibabacloud.com/preemptible"
#define JOB_KEY_PREEMPTIBLE_KOORDINATOR "quota.scheduling.koordinator.sh/preemptible"
#define JOB_KEY_EXCLUSIVE_TOPOLOGY	"alpha.jobset.sigs.k8s.io/exclusive-topology"
/* JobSet's other strategy for it, a flag: its user labels the nodes of each child Job with
 * namespace_name, and may taint them. */
#define JOB_KEY_NODE_SELECTOR	       "alpha.jobset.sigs.k8s.io/node-selector"
#define JOB_KEY_NAMESPACED_JOB	       "alpha.jobset.sigs.k8s.io/namespaced-job" /* node label */
#define JOB_KEY_NO_SCHEDULE	       "alpha.jobset.sigs.k8s.io/no-schedule"	 /* taint */
#define JOB_KEY_CONSUME		       "autoscaling.x-k8s.io/consume-provisioning-request"
#define JOB_KEY_CONSUME_OLD	       "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
#define JOB_KEY_PROVISIONING_CLASS     "autoscaling.x-k8s.io/provisioning-class-name"
#define JOB_KEY_PROVISIONING_CLASS_OLD "cluster-autoscaler.kubernetes.io/provisioning-class-name"
#define JOB_KEY_SAFE_TO_EVICT	       "cluster-autoscaler.kubernetes.io/safe-to-evict"
#define JOB_KEY_QUEUED_POOL	       "cloud.google.com/gke-queued" /* taint of queued node pools */
#define JOB_KEY_LAST_APPLIED	       "kubectl.kubernetes.io/last-applied-configuration"
/* spec.managedBy of a job that is written for MultiKueue. */
#define JOB_MANAGER_MULTIKUEUE "kueue.x-k8s.io/multikueue"

#endif
