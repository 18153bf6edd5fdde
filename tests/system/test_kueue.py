#!/usr/bin/env python3
"""Kueue's queues as users of that product know them, through kubectl and simulated members: slices
of TPU pools that take turns, Ray jobs of which one fits, production before development."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.programs import most_at_once
from muster_test.watch import condition, is_true

TPU = "google.com/tpu"
ACCELERATOR = {"cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
               "cloud.google.com/gke-tpu-topology": "2x4"}

SLICES = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: vlp-24
spec:
  nodeLabels:
    cloud.google.com/gke-tpu-accelerator: tpu-v5-lite-podslice
    cloud.google.com/gke-tpu-topology: 2x4
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: cluster-queue
spec:
  namespaceSelector: {}
  queueingStrategy: BestEffortFIFO
  resourceGroups:
  - coveredResources: ["google.com/tpu"]
    flavors:
    - name: vlp-24
      resources:
      - name: google.com/tpu
        nominalQuota: 24
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: default
  name: multislice-queue
spec:
  clusterQueue: cluster-queue
"""


def queue(name, resources, local="team", preemption=""):
    quotas = "\n".join(f"      - name: {r}\n        nominalQuota: {q}" for r, q in resources)
    return f"""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: default-flavor
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: {name}
spec:
  namespaceSelector: {{}}
  {preemption}
  resourceGroups:
  - coveredResources: [{", ".join(r for r, _ in resources)}]
    flavors:
    - name: default-flavor
      resources:
{quotas}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: default
  name: {local}
spec:
  clusterQueue: {name}
"""


def pool(i):
    """A slice of 2x4: two hosts of four chips in a node pool of their own."""
    node = make.node(f"pool-{i}", count=2, gpus=0,
                     labels={**ACCELERATOR, "cloud.google.com/gke-nodepool": f"pool-{i}"})
    node["status"]["allocatable"][TPU] = "4"
    return node


def slices(n, duration):
    job = make.job_set(f"multislice-{n}slice", replicas=n, pods=2, gpus=0, duration=duration,
                       nodeSelector=ACCELERATOR)
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "multislice-queue"}
    job["metadata"]["annotations"] = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    replicated = job["spec"]["replicatedJobs"][0]
    replicated["name"] = "slice"
    container = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {TPU: 4}}
    return job


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def admitted(o):
    return is_true(o, "Admitted")


def workload_of(o, job):
    return any(r["name"] == job for r in o["metadata"].get("ownerReferences", []))


def of(job, holds):
    return lambda objects: any(workload_of(o, job) and holds(o) for o in objects.values())


def story_slices_of_tpu_pools_take_turns(fleet):
    """3slice runs alone; 1slice and 2slice wait for its slices, then run together"""
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(3)])
    fleet.join(sim)
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=SLICES)
    workloads = fleet.watch("workloads")
    k("apply", "-f", "-", stdin=slices(3, "4s"))
    workloads.await_state("3slice admitted", of("multislice-3slice", admitted))
    k("apply", "-f", "-", stdin=slices(2, "3s"))
    k("apply", "-f", "-", stdin=slices(1, "3s"))
    for n in (1, 2):
        workloads.await_state(
            f"{n}slice waits for quota",
            of(f"multislice-{n}slice", lambda o: (condition(o, "QuotaReserved") or {}).get("reason")
               == "WaitingForQuota"))
    shown = k("get", "workloads")
    lines = [line.split() for line in shown.splitlines()]
    check(lines[0] == ["NAME", "QUEUE", "RESERVED", "IN", "ADMITTED", "FINISHED", "AGE"],
          "kubectl get workloads has Kueue's columns", shown)
    by_name = {line[0].rsplit("-", 1)[0]: line for line in lines[1:]}
    check(by_name["jobset-multislice-3slice"][1:4] ==
          ["multislice-queue", "cluster-queue", "True"], "3slice is admitted", shown)
    check("cluster-queue" not in by_name["jobset-multislice-1slice"] and
          "cluster-queue" not in by_name["jobset-multislice-2slice"],
          "1slice and 2slice wait in multislice-queue", shown)
    done = fleet.watch("jobsets")
    for n in (3, 2, 1):
        done.await_object(f"multislice-{n}slice", "completes",
                          lambda o: is_true(o, "Completed"))
    runs = {n: [r for r in sim.runs() if f"multislice-{n}slice-" in r["pod"]] for n in (1, 2, 3)}
    check([len(runs[n]) for n in (3, 2, 1)] == [6, 4, 2], "every pod ran once", runs)
    end = min(r["end"] for r in runs[3])
    check(all(r["start"] >= end for n in (1, 2) for r in runs[n]) and
          most_at_once(runs[1] + runs[2] + runs[3]) <= 6,
          "1slice and 2slice began as the slices of 3slice ended", runs)
    check(min(r["end"] for r in runs[2]) > min(r["start"] for r in runs[1]) and
          min(r["end"] for r in runs[1]) > min(r["start"] for r in runs[2]),
          "and ran together", runs)
    workloads.await_state(
        "all Workloads finished", lambda objects: len(objects) == 3 and
        all(is_true(o, "Finished") for o in objects.values()))
    check(True, "the Workloads say Finished")


def ray_job(name, queue_name, cpu="2", duration="3s", priority=None):
    head = make.pod_template(container="ray-head", gpus=0, cpu=cpu, duration=duration)
    labels = {"kueue.x-k8s.io/queue-name": queue_name}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    return {"apiVersion": "ray.io/v1", "kind": "RayJob",
            "metadata": {"name": name, "namespace": "default", "labels": labels},
            "spec": {"entrypoint": "python /home/ray/samples/sample_code.py",
                     "shutdownAfterJobFinishes": True, "suspend": True,
                     "rayClusterSpec": {"rayVersion": "2.9.0",
                                        "headGroupSpec": {"rayStartParams": {},
                                                          "template": head}}}}


def story_a_queue_of_two_cpus_admits_one_ray_job(fleet):
    """Of two RayJobs whose heads ask two CPUs, one runs; the other waits until it is over"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("ray", [make.node("cpu", count=2, gpus=0, cpu="8")]))
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=queue("cluster-queue", [("cpu", "2"), ("memory", "8G")]))
    workloads = fleet.watch("workloads")
    for name in ("rayjob-a", "rayjob-b"):
        k("create", "-f", "-", stdin=ray_job(name, "team"))
    workloads.await_state("the first admitted", of("rayjob-a", admitted))
    workloads.await_state(
        "the second waiting",
        of("rayjob-b", lambda o: (condition(o, "QuotaReserved") or {}).get("status") == "False"))
    [waiting] = [o for o in fleet.client.items("workloads", "default") if workload_of(o, "rayjob-b")]
    check([s["name"] for s in waiting["spec"]["podSets"]] == ["head"],
          "its pod sets have no submitter", waiting["spec"]["podSets"])
    api = "/apis/visibility.kueue.x-k8s.io"
    for path in (f"{api}/v1beta2/clusterqueues/cluster-queue",
                 f"{api}/v1beta1/namespaces/default/localqueues/team"):
        pending = json.loads(k("get", "--raw", f"{path}/pendingworkloads"))
        check(path.startswith("/apis/" + pending["apiVersion"]) and
              [i["metadata"]["name"] for i in pending["items"]] == [waiting["metadata"]["name"]] and
              pending["items"][0]["positionInClusterQueue"] == 0,
              f"the visibility API tells who waits: {path}", pending)
    jobs = fleet.watch("rayjobs")
    for name in ("rayjob-a", "rayjob-b"):
        jobs.await_object(name, "succeeds",
                          lambda o: o.get("status", {}).get("jobStatus") == "SUCCEEDED")
    check(True, "both succeeded, one after the other")


def story_production_preempts_development(fleet):
    """A dev job gives way to a prod job, waits, and starts again"""
    fleet.start_hub()
    sim = fleet.start_sim("cpu", [make.node("cpu", gpus=0, cpu="16")])
    fleet.join(sim)
    k = kubectl(fleet)
    for name, value in (("prod-priority", 1000), ("dev-priority", 100)):
        k("apply", "-f", "-", stdin={
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "WorkloadPriorityClass",
            "metadata": {"name": name}, "value": value})
    k("apply", "-f", "-", stdin=queue("cluster-queue", [("cpu", "4"), ("memory", "64Gi")],
                                      preemption="preemption: {withinClusterQueue: LowerPriority}"))
    workloads = fleet.watch("workloads")

    def job(name, priority, duration):
        o = make.batch_job(name, gpus=0, cpu="4", duration=duration)
        o["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team",
                                   "kueue.x-k8s.io/priority-class": priority}
        return o
    k("create", "-f", "-", stdin=job("dev", "dev-priority", "6s"))
    workloads.await_state("dev admitted", of("dev", admitted))
    k("create", "-f", "-", stdin=job("prod", "prod-priority", "2s"))
    workloads.await_state("prod admitted", of("prod", admitted))
    workloads.await_state("dev preempted and waiting", of("dev", lambda o:
                          is_true(o, "Preempted") and not admitted(o)))
    shown = k("describe", "job", "dev")
    check("batch/job-kueue-controller" in shown and "Preempted to accommodate a workload" in shown,
          "kubectl describe tells the dev job's user", shown)
    jobs = fleet.watch("jobs")
    for name in ("prod", "dev"):
        jobs.await_object(name, "completes", lambda o: is_true(o, "Complete"))
    runs = [(r["pod"].split("-")[0], r["result"]) for r in sim.runs()]
    check(("prod", "Succeeded") in runs and ("dev", "Succeeded") in runs, "both ran to their end",
          json.dumps(runs))


if __name__ == "__main__":
    main(globals(), Fleet)
