#!/usr/bin/env python3
"""A job for which another was preempted, whose pod does not end: both users are told who waits for
whom, for which pod on which node, and what can be done. The member's clock is fifty times as fast as
the hub's, so that a node whose kubelet is silent is lost after a second."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import condition, is_true
from test_hotswap import kubectl, member_kubectl
from test_kueue_told import job, kueue, local, of, queue, says

SILENT = "muster.dev/sim-kubelet"


def gang(name, priority):
    o = job(name, "lq", "6", priority, "60000s")
    o["spec"].update(parallelism=2, completions=2)
    return o


def start(fleet):
    """Quota for one gang of two nodes, three nodes; low runs. (kubectl here and at the member)."""
    fleet.start_hub(config={"hotSwap": {"enabled": False}})
    sim = fleet.start_sim("gpu-a", [make.node("n", count=3, gpus=0, cpu="8")], time_scale=50)
    fleet.join(sim)
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}),
              queue("cq", ("f", 12), preemption={"withinClusterQueue": "LowerPriority"}),
              local("lq", "cq"), kueue("WorkloadPriorityClass", "low", value=10),
              kueue("WorkloadPriorityClass", "high", value=1000)):
        k("apply", "-f", "-", stdin=o)
    k("create", "-f", "-", stdin=gang("low", "low"))
    fleet.watch("jobs").await_object("low", "runs", lambda o: o.get("status", {}).get("ready") == 2)
    return k, member_kubectl(fleet, sim)


def story_who_waits_for_a_pod_that_does_not_end(fleet):
    """high preempts low, of which a pod stands on a node that fell silent"""
    k, member = start(fleet)
    pods = sorted((p["metadata"]["name"], p["spec"]["nodeName"])
                  for p in fleet.client.items("pods", "default"))
    pod, node = pods[0]
    member("annotate", "node", node, f"{SILENT}=silent")
    until("the hub shows that the node is lost", lambda: k(
        "get", "node", "gpu-a." + node, "-o",
        "jsonpath={.status.conditions[?(@.type=='Ready')].status}") != "True")
    workloads = fleet.watch("workloads")
    k("create", "-f", "-", stdin=gang("high", "high"))
    workloads.await_state("high waits for who gives way", of("high", lambda o: (
        condition(o, "QuotaReserved") or {}).get("reason") == "WaitingForPreemptedWorkloads"))
    [high] = [o for o in fleet.client.items("workloads", "default")
              if o["metadata"]["name"].startswith("job-high-")]
    says(condition(high, "QuotaReserved")["message"],
         "Pending the preemption of 1 workload(s): Job default/low on gpu-a")
    shown = until("one pod is left, and is named", lambda: (
        lambda text: text if "1 pod left" in text and "Terminating" in text else None)(
            fleet.muster("why", "job/high").stdout))
    says(shown, "WHY    WaitingForPreemptedWorkloads: Waits for 1 preempted job to stop: Job "
         "default/low on gpu-a (1 pod left)", "WAITS  for 1 preempted job to stop:",
         "Job default/low on gpu-a, told to stop ", f"pod {pod} on node {node} is Terminating",
         "nothing is heard of its node", "NEXT   have the cluster's admin bring the lost node back")
    says(fleet.muster("why", "job/low").stdout, "Job default/low: Stopping on gpu-a",
         "WHY    Preempted: Gives way to Job default/high: 1 pod left",
         "GAVE WAY to Job default/high ", ", InClusterQueue: Preempted to accommodate",
         "STOPS  Job default/low on gpu-a", f"pod {pod} on node {node} is Terminating")
    says(k("get", "jobs", "-o", "wide"), "WaitingForPreemptedWorkloads")
    row = fleet.client.get("workloads", high["metadata"]["name"])
    check(row["metadata"]["resourceVersion"] == high["metadata"]["resourceVersion"],
          "no row was written as pods ended", (row, high))
    member("annotate", "node", node, f"{SILENT}-")
    workloads.await_state("high is admitted", of("high", lambda o: is_true(o, "Admitted")))
    shown = fleet.muster("why", "job/low").stdout
    says(shown, "Job default/low: Queued", "GAVE WAY to Job default/high ")
    check("STOPS" not in shown, "low waits for no pod any more", shown)
    check("WAITS" not in fleet.muster("why", "job/high").stdout, "nor does high")


if __name__ == "__main__":
    main(globals(), Fleet)
