#include "why_next.h"

#include "base/json.h"
#include "why_waits.h"

static const struct advice {
	const char *reason;
	const char *text;
} advices[] = {
    {"AdmissionGated", "whoever set the gate takes it away"},
    {"ApplicationFailure",
     "wait: its policy places it on another cluster; what went wrong: kubectl describe, muster "
     "logs"},
    {"ExceedsMaxQuota",
     "ask for less, or have the quota's admin raise nominalQuota or borrowingLimit: as they are, "
     "it never fits"},
    {"HotSwap", "wait: its controller makes the pods anew in the room that was made"},
    {"HotSwapWaiting", "wait for nodes, or have the cluster's admin bring them back"},
    {"Misconfigured",
     "what is said above is missing or wrong: create it, or name another queue in the job's label "
     "kueue.x-k8s.io/queue-name"},
    {"NoElasticQuota",
     "name a leaf in the label quota.scheduling.alibabacloud.com/name, or have the quota's admin "
     "give the namespace one"},
    {"NoMatchingFlavor",
     "change the pods' node selector or tolerations to those of a flavor of the queue, or use "
     "another queue: kubectl get resourceflavors -o yaml"},
    {"NoPolicy", "have an admin write a PropagationPolicy that selects the job"},
    {"QueueInactive", "have the quota's admin look at the queue: kubectl describe clusterqueue"},
    {"QueueNotFound", "create the LocalQueue, or name one that is there in the job's label "
		      "kueue.x-k8s.io/queue-name: kubectl get localqueues"},
    {"Suspended", "set suspend to false where it is true; a queue that is inactive is its admin's: "
		  "stopPolicy None, or what kubectl describe clusterqueue names"},
    {"TopologyPlacementFailed",
     "wait for nodes, or ask for fewer or smaller pods: the clusters below say what each lacks"},
    {"UnsatisfiedAdmissionChecks", "wait for the checks below; their owners can say more"},
    {"WaitingForPodsReady", "wait until the pods of the jobs before it are ready"},
    {"WaitingForPreemptedWorkloads", "wait: those who give way are stopping"},
    {"WaitingForProvisioning", "wait for the nodes, or see: kubectl describe provreq"},
    {"WaitingForQuota",
     "wait for those who hold the quota, give the job a higher priority class, or have the "
     "quota's admin raise it: muster quota"},
};

static const char *workload_of(const struct cJSON *answer)
{
	const char *name = json_str(json_get(answer, "kueue"), "workload");

	return name && name[0] ? name : NULL;
}

/* With names in them, as commands that can be pasted. */
static bool print_named(const char *reason, const struct cJSON *answer, struct buf *out)
{
	const char *workload = workload_of(answer);
	const char *ns = json_str(json_get(answer, "job"), "namespace");
	const char *until = json_str(json_get(answer, "kueue"), "backoffUntil");

	if (why_waits_is_stuck(answer)) {
		buf_add_str(
		    out, "NEXT   have the cluster's admin bring the lost node back; if it is down "
			 "for good, delete it, or taint it "
			 "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute\n");
		return true;
	}
	if (strcmp(reason, "Deactivated") == 0 && workload && ns) {
		buf_addf(out,
			 "NEXT   activate it again: kubectl patch workload -n %s %s --type=merge "
			 "-p '{\"spec\":{\"active\":true}}'\n",
			 ns, workload);
		return true;
	}
	if (until && workload && ns) {
		buf_addf(out,
			 "NEXT   wait until %s; what took it back: kubectl describe workload -n %s "
			 "%s\n",
			 until, ns, workload);
		return true;
	}
	if (strcmp(reason, "Suspended") == 0) {
		buf_addf(out, "NEXT   %s\n",
			 workload ? "have the quota's admin set stopPolicy of its LocalQueue and "
				    "ClusterQueue to None"
				  : "set suspend to false in the job, or in its policy");
		return true;
	}
	return false;
}

void why_next_print(const struct cJSON *answer, struct buf *out)
{
	const char *reason = json_str(json_get(answer, "job"), "reason");

	if (!reason || !reason[0] || print_named(reason, answer, out))
		return;
	for (size_t i = 0; i < ARRAY_LEN(advices); i++) {
		if (strcmp(advices[i].reason, reason) != 0)
			continue;
		buf_addf(out, "NEXT   %s\n", advices[i].text);
		return;
	}
}
