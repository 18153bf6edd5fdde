#!/usr/bin/env python3
"""Every kind of job through the hub to its end, without a queue and in one of Kueue's: pod sets,
suspension, statuses and conditions as its own controllers write them."""

import json
import os

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

GROUP = "kueue.x-k8s.io/v1beta2"
MPI_EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "examples", "kueue",
                           "mpi.yaml")
TRAINING = {  # kind: member of the spec, its roles with pods of each
    "PyTorchJob": ("pytorchReplicaSpecs", {"Master": 1, "Worker": 2}),
    "TFJob": ("tfReplicaSpecs", {"Chief": 1, "PS": 1, "Worker": 2}),
    "MPIJob": ("mpiReplicaSpecs", {"Launcher": 1, "Worker": 2}),
    "XGBoostJob": ("xgbReplicaSpecs", {"Master": 1, "Worker": 2}),
    "PaddleJob": ("paddleReplicaSpecs", {"Worker": 2}),
    "JAXJob": ("jaxReplicaSpecs", {"Worker": 2}),
}
CONTAINERS = {"PyTorchJob": "pytorch", "TFJob": "tensorflow", "MPIJob": "mpi",
              "XGBoostJob": "xgboost", "PaddleJob": "paddle", "JAXJob": "jax"}


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def training(kind, name, queue=None, duration="2s"):
    member, roles = TRAINING[kind]

    def role(n):
        return {"replicas": n, "restartPolicy": "Never",
                "template": make.pod_template(container=CONTAINERS[kind], gpus=0,
                                              duration=duration)}
    meta = {"name": name, "namespace": "default"}
    if queue:
        meta["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": meta,
            "spec": {member: {r: role(n) for r, n in roles.items()}}}


def ray_cluster(name, queue=None, workers=2):
    template = make.pod_template(container="ray", gpus=0)
    meta = {"name": name, "namespace": "default"}
    if queue:
        meta["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": meta, "spec": {
        "rayVersion": "2.9.0", "headGroupSpec": {"rayStartParams": {}, "template": template},
        "workerGroupSpecs": [{"groupName": "small", "replicas": workers, "minReplicas": 1,
                              "maxReplicas": 4, "rayStartParams": {}, "template": template}]}}


def queues(k, cpu):
    k("apply", "-f", "-", stdin={"apiVersion": GROUP, "kind": "ResourceFlavor",
                                 "metadata": {"name": "f"}, "spec": {}})
    k("apply", "-f", "-", stdin={
        "apiVersion": GROUP, "kind": "ClusterQueue", "metadata": {"name": "cq"},
        "spec": {"namespaceSelector": {}, "resourceGroups": [{
            "coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [
                {"name": "cpu", "nominalQuota": cpu},
                {"name": "memory", "nominalQuota": "100Gi"}]}]}]}})
    k("apply", "-f", "-", stdin={"apiVersion": GROUP, "kind": "LocalQueue",
                                 "metadata": {"name": "lq", "namespace": "default"},
                                 "spec": {"clusterQueue": "cq"}})


def of(name, holds):
    return lambda objects: any(
        r["name"] == name and holds(o) for o in objects.values()
        for r in o["metadata"].get("ownerReferences", []))


def run_all(fleet, queue, prefix):
    k = kubectl(fleet)
    names = {kind: f"{prefix}-{kind.lower()}" for kind in TRAINING}
    watches = {kind: fleet.watch(kind.lower() + "s") for kind in TRAINING}
    for kind, name in names.items():
        k("create", "-f", "-", stdin=training(kind, name, queue))
    for kind, name in names.items():
        watches[kind].await_object(name, "succeeds", lambda o: is_true(o, "Succeeded"))
        o = fleet.client.get(kind.lower() + "s", name)
        said = [c["type"] for c in o["status"]["conditions"]]
        check(said[0] == "Created" and said[-1] == "Succeeded" and "Suspended" not in said,
              f"{kind}: Created to Succeeded", said)
        check(set(o["status"]["replicaStatuses"]) == set(TRAINING[kind][1]),
              f"{kind}: a status for each role", o["status"]["replicaStatuses"])
        check(condition(o, "Succeeded")["reason"] == f"{kind}Succeeded", f"{kind}: its reason")
    return names


def pods_ran(sim, names):
    runs = sim.runs()
    for kind, name in names.items():
        want = {(f"{name}-{r.lower()}" if kind == "MPIJob" and r == "Launcher"
                 else f"{name}-{r.lower()}-{i}")
                for r, n in TRAINING[kind][1].items() for i in range(n)}
        got = {r["pod"] for r in runs if r["pod"].startswith(name + "-")}
        check(want == got, f"{kind}: pods by role and index", (want, got))


def story_without_a_queue(fleet):
    """The training operator's six kinds, placed and run to their end"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=4, gpus=0, cpu="16")])
    fleet.join(sim)
    pods_ran(sim, run_all(fleet, None, "free"))


def story_in_kueues_queue(fleet):
    """The same with quota for a few at a time: pod sets by role, admitted, finished"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=4, gpus=0, cpu="16")])
    fleet.join(sim)
    queues(kubectl(fleet), 4)
    workloads = fleet.watch("workloads")
    names = run_all(fleet, "lq", "queued")
    pods_ran(sim, names)
    workloads.await_state("every Workload says Finished", lambda objects: len(objects) == 6 and
                          all(is_true(o, "Finished") for o in objects.values()))
    items = fleet.client.items("workloads", "default")
    for kind, name in names.items():
        [w] = [o for o in items if o["metadata"]["ownerReferences"][0]["name"] == name]
        sets = {s["name"]: s["count"] for s in w["spec"]["podSets"]}
        check(sets == {r.lower(): n for r, n in TRAINING[kind][1].items()},
              f"{kind}: its pod sets", sets)


def story_a_ray_cluster_stays_until_it_is_deleted(fleet):
    """Ready without a queue; in a queue it holds quota until it goes, and the next one comes"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=4, gpus=0, cpu="16")])
    fleet.join(sim)
    k = kubectl(fleet)
    queues(k, 3)
    clusters = fleet.watch("rayclusters")
    workloads = fleet.watch("workloads")

    def ready(o):
        return o.get("status", {}).get("state") == "ready"
    k("create", "-f", "-", stdin=ray_cluster("free"))
    clusters.await_object("free", "is ready", ready)
    shown = k("get", "raycluster", "free").splitlines()
    check(shown[0].split()[:5] == ["NAME", "DESIRED", "WORKERS", "AVAILABLE", "WORKERS"] and
          shown[1].split()[:3] == ["free", "2", "2"], "kubectl get raycluster", shown)
    status = fleet.client.get("rayclusters", "free")["status"]
    check(is_true({"status": status}, "HeadPodReady") and
          is_true({"status": status}, "RayClusterProvisioned") and
          not any("Suspend" in c["type"] for c in status["conditions"]),
          "its conditions, without the hub's own suspension", status)
    for name in ("one", "two"):
        k("create", "-f", "-", stdin=ray_cluster(name, "lq"))
    clusters.await_object("one", "is ready", ready)
    workloads.await_state("two waits", of("two", lambda o: (
        condition(o, "QuotaReserved") or {}).get("reason") == "WaitingForQuota"))
    [w] = [o for o in fleet.client.items("workloads", "default")
           if o["metadata"]["ownerReferences"][0]["name"] == "two"]
    check([(s["name"], s["count"]) for s in w["spec"]["podSets"]] == [("head", 1), ("small", 2)],
          "its pod sets", w["spec"]["podSets"])
    k("delete", "raycluster", "one", "--wait=false")
    clusters.await_object("two", "is ready when one is gone", ready)
    k("delete", "raycluster", "free", "two")
    clusters.await_gone("two")
    check(True, "deleted, with their pods")


def story_an_mpi_job_of_the_mpi_operator(fleet):
    """deploy/examples: MPIJob v2beta1 in Kueue's queue, read and edited in both versions"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="4")])
    fleet.join(sim)
    k = kubectl(fleet)
    jobs = fleet.watch("mpijobs")
    workloads = fleet.watch("workloads")
    k("apply", "-f", MPI_EXAMPLE)
    check("unchanged" in k("apply", "-f", MPI_EXAMPLE).splitlines()[-1], "applied again")
    workloads.await_state("it is admitted", of("estimate-pi", lambda o: is_true(o, "Admitted")))
    [w] = fleet.client.items("workloads", "default")
    check([(s["name"], s["count"]) for s in w["spec"]["podSets"]] ==
          [("launcher", 1), ("worker", 2)] and
          w["metadata"]["ownerReferences"][0]["apiVersion"] == "kubeflow.org/v2beta1",
          "its Workload", w)
    seen = {v: json.loads(k("get", f"mpijobs.{v}.kubeflow.org", "estimate-pi", "-o", "json"))
            for v in ("v1", "v2beta1")}
    check(all(o["apiVersion"] == f"kubeflow.org/{v}" and
              o["spec"]["sshAuthMountPath"] == "/home/mpiuser/.ssh" and
              o["spec"]["mpiImplementation"] == "OpenMPI" for v, o in seen.items()),
          "one job in two versions", seen)
    # Who reads it in v1 may write it back, strictly.
    seen["v1"]["metadata"].pop("resourceVersion")
    seen["v1"]["metadata"]["labels"]["edited"] = "yes"
    k("replace", "--validate=strict", "-f", "-", stdin=seen["v1"])
    jobs.await_object("estimate-pi", "runs", lambda o: is_true(o, "Running") or
                      is_true(o, "Succeeded"))
    copy = sim.client.call("GET", "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs/"
                           "estimate-pi")
    check(copy["spec"]["mpiImplementation"] == "OpenMPI" and
          "ttlSecondsAfterFinished" not in copy["spec"]["runPolicy"], "the member's copy", copy)
    jobs.await_object("estimate-pi", "succeeds", lambda o: is_true(o, "Succeeded"))
    o = fleet.client.get("mpijobs", "estimate-pi")
    check([condition(o, "Succeeded")[f] for f in ("reason", "message")] == [
        "MPIJobSucceeded", "MPIJob default/estimate-pi successfully completed."],
          "in the mpi-operator's words", o["status"])
    check(o["metadata"]["labels"]["edited"] == "yes", "the edit stands")
    workloads.await_state("its Workload says so", of("estimate-pi", lambda o: (
        condition(o, "Finished") or {}).get("reason") == "Succeeded"))
    shown = k("get", "mpijobs.v2beta1.kubeflow.org").splitlines()
    check(shown[0].split() == ["NAME", "AGE"], "columns", shown)
    check("/root/.ssh" in k("explain", "mpijob.spec.sshAuthMountPath",
                            "--api-version=kubeflow.org/v2beta1"), "kubectl explain")
    check({r["pod"] for r in sim.runs()} >= {"estimate-pi-launcher"}, "pods", sim.runs())


if __name__ == "__main__":
    main(globals(), Fleet)
