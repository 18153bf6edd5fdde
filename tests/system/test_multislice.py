#!/usr/bin/env python3
"""TPU multislice as its tutorial tells it: our example in the order of the document's ages, the
variants with priority and preemption and in the Standard form, and slices and racks asked for with
Kueue's topology annotations. Three node pools, each a 2x4 slice of two hosts with four chips."""

import json
import os

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.story import Failure
from muster_test.programs import most_at_once
from muster_test.watch import condition, is_true
from test_kueue import ACCELERATOR, SLICES, TPU, admitted, kubectl, of, pool, slices, workload_of

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy",
                        "examples", "kueue")
POOL = "cloud.google.com/gke-nodepool"
ANNOTATION = "kueue.x-k8s.io/podset-"


def start(fleet, time_scale=1):
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(3)], time_scale=time_scale)
    fleet.join(sim)
    return sim, kubectl(fleet)


def runs_of(sim, job):
    return [r for r in sim.runs() if r["pod"].startswith(job + "-")]


def pool_of(run):
    return run["node"].rsplit("-", 1)[0]


def check_pools(runs, what):
    """Every Job (slice) has a pool for itself, and both hosts of it."""
    pools = {}
    for r in runs:
        pools.setdefault(r["pod"].rsplit("-", 2)[0], []).append(pool_of(r))
    check(all(len(p) == 2 and len(set(p)) == 1 for p in pools.values()) and
          len({p[0] for p in pools.values()}) == len(pools),
          f"{what}: each slice stood in a pool of its own, on both its hosts", pools)


def complete(fleet, *names):
    watch = fleet.watch("jobsets")
    for name in names:
        watch.await_object(name, "completes", lambda o: is_true(o, "Completed"))


def why(workloads, job, text):
    def told(objects):
        return any(workload_of(o, job) and
                   text in ((condition(o, "QuotaReserved") or {}).get("message") or "")
                   for o in objects.values())
    return workloads.await_state(f"{job} is told: {text}", told)


def story_the_walk_of_the_document(fleet):
    """Our example as it stands: slices-3 first and alone, then slices-2 and slices-1 together"""
    sim, k = start(fleet, time_scale=4)
    workloads = fleet.watch("workloads")
    k("apply", "-f", os.path.join(EXAMPLES, "multislice.yaml"))
    workloads.await_state("slices-3 is admitted", of("slices-3", admitted))
    for name in ("slices-2", "slices-1"):
        why(workloads, name, "insufficient unused quota for google.com/tpu in flavor v5e-2x4")
    waiting = json.loads(k("get", "--raw", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/"
                           "slices/pendingworkloads"))
    check([i["metadata"]["name"].rsplit("-", 1)[0] for i in waiting["items"]] ==
          ["jobset-slices-2", "jobset-slices-1"], "they wait in the order of their ages", waiting)
    complete(fleet, "slices-3", "slices-2", "slices-1")
    runs = {n: runs_of(sim, f"slices-{n}") for n in (3, 2, 1)}
    check([len(runs[n]) for n in (3, 2, 1)] == [6, 4, 2], "every pod ran once", runs)
    end = min(r["end"] for r in runs[3])
    check(all(r["start"] >= end for n in (2, 1) for r in runs[n]) and
          most_at_once(runs[3] + runs[2] + runs[1]) <= 6,
          "slices-3 ran alone, until its slices ended", runs)
    check(min(r["end"] for r in runs[2]) > min(r["start"] for r in runs[1]) and
          min(r["end"] for r in runs[1]) > min(r["start"] for r in runs[2]),
          "then slices-2 and slices-1 together", runs)
    check_pools(runs[3], "slices-3")
    check_pools(runs[2] + runs[1], "slices-2 and slices-1")
    pods = k("get", "pods", "--no-headers")
    check(pods.count("Completed") == 12, "kubectl get pods shows all twelve as Completed", pods)


LOW = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata:
  name: low-priority
value: 100
globalDefault: false
description: "This low priority class should be used for some Pods only."
"""


def low_priority(duration):
    job = slices(1, duration)
    job["metadata"]["name"] = "low-priority"
    template = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    template["spec"]["priorityClassName"] = "low-priority"
    return job


def story_a_priority_class_and_preemption(fleet):
    """The document's second ClusterQueue: a class of 100 goes before none, and takes its place"""
    sim, k = start(fleet)
    preempting = SLICES.replace(
        "        nominalQuota: 24\n",
        "        nominalQuota: 24\n  preemption:\n    reclaimWithinCohort: Any\n"
        "    withinClusterQueue: LowerPriority\n")
    k("apply", "-f", "-", stdin=preempting)
    k("apply", "-f", "-", stdin=LOW)
    workloads = fleet.watch("workloads")
    k("apply", "-f", "-", stdin=slices(3, "4s"))
    workloads.await_state("3slice is admitted", of("multislice-3slice", admitted))
    k("apply", "-f", "-", stdin=low_priority("2s"))
    workloads.await_state("low-priority is admitted", of("low-priority", admitted))
    workloads.await_state("3slice is preempted and waits", of(
        "multislice-3slice", lambda o: is_true(o, "Preempted") and not admitted(o)))
    [low] = [o for o in fleet.client.items("workloads", "default")
             if workload_of(o, "low-priority")]
    check(low["spec"]["priority"] == 100 and
          low["spec"]["priorityClassRef"]["name"] == "low-priority",
          "the Workload has the priority of the pods' class", low["spec"])
    complete(fleet, "low-priority", "multislice-3slice")
    low_runs, runs = runs_of(sim, "low-priority"), runs_of(sim, "multislice-3slice")
    ended = [r for r in runs if r["result"] == "Succeeded"]
    check(len(low_runs) == 2 and len(ended) == 6, "both ran to their end", runs)
    check(min(r["start"] for r in ended) >= max(r["end"] for r in low_runs),
          "3slice began anew when low-priority had ended", runs)
    check_pools(ended, "3slice")
    shown = k("describe", "jobset", "multislice-3slice")
    check("Preempted to accommodate a workload" in shown,
          "kubectl describe tells the user of 3slice", shown)


def story_the_standard_form(fleet):
    """hostNetwork, its DNS policy and a privileged container reach the member as they are"""
    sim, k = start(fleet)
    k("apply", "-f", "-", stdin=SLICES)
    job = slices(2, "2s")
    spec = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec["hostNetwork"] = True
    spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    spec["containers"][0]["securityContext"] = {"privileged": True}
    spec["containers"][0]["ports"] = [{"containerPort": 8471}, {"containerPort": 8080}]
    pods = fleet.watch("pods", client=sim.client)
    k("apply", "-f", "-", stdin=job)
    pods.await_state("four pods on the member", lambda objects: len(objects) == 4)
    for pod in sim.client.items("pods", "default"):
        check(pod["spec"].get("hostNetwork") is True and
              pod["spec"].get("dnsPolicy") == "ClusterFirstWithHostNet" and
              pod["spec"]["containers"][0]["securityContext"] == {"privileged": True},
              "the pod is in the Standard form: " + pod["metadata"]["name"], pod["spec"])
    complete(fleet, "multislice-2slice")
    check_pools(runs_of(sim, "multislice-2slice"), "2slice")


TOPOLOGY = f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata:
  name: pools
spec:
  levels:
  - nodeLabel: {POOL}
  - nodeLabel: kubernetes.io/hostname
---
""" + SLICES.replace("spec:\n  nodeLabels:", "spec:\n  topologyName: pools\n  nodeLabels:", 1)


def hosts(name, pods, annotations, duration="3s"):
    job = make.batch_job(name, pods=pods, gpus=0, duration=duration, nodeSelector=ACCELERATOR)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "multislice-queue"}
    template = job["spec"]["template"]
    template["metadata"]["annotations"].update(
        {ANNOTATION + key: value for key, value in annotations.items()})
    template["spec"]["containers"][0]["resources"] = {"limits": {TPU: 4}}
    return job


def refused(k, job, words):
    try:
        k("apply", "-f", "-", stdin=job)
    except Failure as e:
        check(words in str(e), f"refused: {words}", str(e))
        return
    check(False, f"{job['metadata']['name']} is refused")


def story_a_slice_is_one_unit_by_kueues_annotations(fleet):
    """podset-required-topology and slices of two hosts: a pool is taken whole, or waited for"""
    sim, k = start(fleet)
    k("apply", "-f", "-", stdin=TOPOLOGY)
    workloads = fleet.watch("workloads")
    refused(k, hosts("both", 2, {"required-topology": POOL, "preferred-topology": POOL}),
            "must not contain more than one topology annotation")
    refused(k, hosts("odd", 2, {"slice-required-topology": POOL}),
            "must be set when 'kueue.x-k8s.io/podset-slice-required-topology' is specified")
    # One host each of pool-0 and pool-1, by pods that nobody queued.
    for i in range(2):
        blocker = make.batch_job(f"blocker-{i}", gpus=0, duration="12s", nodeSelector={
            "kubernetes.io/hostname": f"pool-{i}-0"})
        blocker["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {TPU: 4}}
        k("apply", "-f", "-", stdin=blocker)
    jobs = fleet.watch("jobs")
    for i in range(2):
        jobs.await_object(f"blocker-{i}", "runs", lambda o: o.get("status", {}).get("ready") == 1)
    k("apply", "-f", "-", stdin=hosts("one-pool", 2, {"required-topology": POOL}, "9s"))
    workloads.await_state("one-pool is admitted", of("one-pool", admitted))
    [w] = [o for o in fleet.client.items("workloads", "default") if workload_of(o, "one-pool")]
    [assignment] = w["status"]["admission"]["podSetAssignments"]
    check(assignment["topologyAssignment"] == {
        "levels": [POOL], "slices": [{"domainCount": 1, "universalPodCount": 2, "valuesPerLevel": [
            {"universalValue": "pool-2"}]}]}, "the Workload says which pool", assignment)
    old = fleet.client.call("GET", "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads/" +
                            w["metadata"]["name"])
    [assignment] = old["status"]["admission"]["podSetAssignments"]
    check(assignment["topologyAssignment"] == {
        "levels": [POOL], "domains": [{"count": 2, "values": ["pool-2"]}]},
        "in v1beta1 as a domain", assignment)
    copy = sim.client.get("jobs", "one-pool")
    check(copy["spec"]["template"]["spec"]["nodeSelector"] == {**ACCELERATOR, POOL: "pool-2"},
          "and the member's job keeps to it", copy["spec"]["template"]["spec"])
    # Two hosts are free, in two halves of slices: not one slice.
    k("apply", "-f", "-", stdin=hosts("slice", 2, {"slice-required-topology": POOL,
                                                   "slice-size": "2"}))
    workloads.await_state("slice waits for a whole one", of("slice", lambda o: (
        condition(o, "QuotaReserved") or {}).get("reason") == "TopologyPlacementFailed"))
    why(workloads, "slice", "had room for 0 of 2 pods in domains of " + POOL)
    for name in ("one-pool", "slice"):
        jobs.await_object(name, "completes", lambda o: is_true(o, "Complete"))
    runs = runs_of(sim, "slice")
    check(len(runs) == 2 and len({pool_of(r) for r in runs}) == 1, "it got both hosts of one pool",
          runs)


def story_slices_of_one_template_each_keep_to_their_pool(fleet):
    """Four pods in slices of two: pods are born gated, and let go into the pool of their slice"""
    sim, k = start(fleet)
    k("apply", "-f", "-", stdin=TOPOLOGY)
    workloads = fleet.watch("workloads")
    pods = fleet.watch("pods")
    job = hosts("two-slices", 4, {"slice-required-topology": POOL, "slice-size": "2"}, "6s")
    job["spec"].update(completionMode="Indexed")
    k("apply", "-f", "-", stdin=job)
    workloads.await_state("two-slices is admitted", of("two-slices", admitted))
    [w] = [o for o in fleet.client.items("workloads", "default") if workload_of(o, "two-slices")]
    [assignment] = w["status"]["admission"]["podSetAssignments"]
    check(assignment["topologyAssignment"] == {
        "levels": [POOL], "slices": [{"domainCount": 2, "universalPodCount": 2, "valuesPerLevel": [
            {"prefix": "pool-", "roots": ["0", "1"]}]}]}, "the Workload says which pools",
        assignment)

    def held(o):
        spec, labels = o["spec"], o["metadata"]["labels"]
        rank = int(labels.get("batch.kubernetes.io/job-completion-index", 9))
        return (not spec.get("schedulingGates") and spec.get("nodeName", "").startswith(
            f"pool-{rank // 2}-") and spec["nodeSelector"][POOL] == f"pool-{rank // 2}")
    pods.await_state("each pod stands in the pool of its slice", lambda objects: sum(
        held(o) for o in objects.values()) == 4)
    copy = sim.client.get("jobs", "two-slices")["spec"]["template"]["spec"]
    check(copy["schedulingGates"] == [{"name": "kueue.x-k8s.io/topology"}] and
          POOL not in copy["nodeSelector"], "the member's job makes pods that wait to be let go",
          copy)
    fleet.watch("jobs").await_object("two-slices", "completes", lambda o: is_true(o, "Complete"))
    pools = sorted(pool_of(r) for r in runs_of(sim, "two-slices"))
    check(pools == ["pool-0", "pool-0", "pool-1", "pool-1"], "every pod ran once, two in a pool",
          pools)


if __name__ == "__main__":
    main(globals(), Fleet)
