#!/usr/bin/env python3
"""Queued provisioning as its users know it, through kubectl and simulated autoscalers: a sample job
whose queue asks for nodes, a request by hand with a job that takes its nodes, and every way in
which it ends otherwise: failed, over quota, expired, revoked, cancelled."""

import json
import os

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import condition, is_true

CLASS = "queued-provisioning.gke.io"
POOL = "cloud.google.com/gke-nodepool"
CONSUME = ("autoscaling.x-k8s.io/consume-provisioning-request",
           "cluster-autoscaler.kubernetes.io/consume-provisioning-request")

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "examples", "kueue",
                       "queued-provisioning.yaml")

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata:
  name: "default-flavor"
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata:
  name: dws-prov
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters:
    apiGroup: kueue.x-k8s.io
    kind: ProvisioningRequestConfig
    name: dws-config
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata:
  name: dws-config
spec:
  provisioningClassName: queued-provisioning.gke.io
  managedResources:
  - nvidia.com/gpu
  retryStrategy: {backoffLimitCount: 1, backoffBaseSeconds: 1, backoffMaxSeconds: 2}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata:
  name: "dws-cluster-queue"
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["cpu", "memory", "nvidia.com/gpu"]
    flavors:
    - name: "default-flavor"
      resources:
      - name: "cpu"
        nominalQuota: 10000
      - name: "memory"
        nominalQuota: 10000Gi
      - name: "nvidia.com/gpu"
        nominalQuota: 10000
  admissionChecks:
  - dws-prov
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: "default"
  name: "dws-local-queue"
spec:
  clusterQueue: "dws-cluster-queue"
"""


def pool(name, count=4, quota=None, delay="3s"):
    """Nodes of two GPUs each that come when they are asked for."""
    annotations = {"muster.dev/sim-autoscale": CLASS, "muster.dev/sim-count": str(count),
                   "muster.dev/sim-provision-delay": delay}
    if quota:
        annotations["muster.dev/sim-quota"] = str(quota)
    node = make.node(name, gpus=2, cpu="16", memory="64Gi", labels={POOL: name})
    node["metadata"]["annotations"] = annotations
    node["spec"] = {"taints": [
        {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}
    return node


def plain():
    return make.node("plain", gpus=0, cpu="8")


def sample_job(name, node_pool, pods=1, duration="2s", gpus=1):
    job = make.batch_job(name, pods=pods, gpus=gpus, cpu="100m", memory="100Mi", duration=duration,
                         nodeSelector={POOL: node_pool},
                         tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists",
                                       "effect": "NoSchedule"}])
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "dws-local-queue"}
    job["metadata"]["annotations"] = {"provreq.kueue.x-k8s.io/maxRunDurationSeconds": "600"}
    job["spec"]["suspend"] = True
    return job


def template(name, node_pool):
    t = sample_job("t", node_pool)["spec"]["template"]
    return {"apiVersion": "v1", "kind": "PodTemplate",
            "metadata": {"name": name, "namespace": "default"}, "template": t}


def request(name, template_name, count=1, run="3600"):
    return {"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "ProvisioningRequest",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"provisioningClassName": CLASS,
                     "parameters": {"maxRunDurationSeconds": run},
                     "podSets": [{"count": count, "podTemplateRef": {"name": template_name}}]}}


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def lacks(reason):
    def holds(o):
        c = condition(o, "Provisioned") or {}
        return c.get("status") == "False" and c.get("reason") == reason
    return holds


def of_job(job, holds):
    """For a watch of ProvisioningRequests or Workloads: the job's."""
    return lambda objects: any(o["metadata"]["name"].startswith(f"job-{job}-") and holds(o)
                               for o in objects.values())


def story_the_sample_job_gets_its_nodes_and_completes(fleet):
    """A job waits for nodes: Accepted, Provisioned, Completed; kubectl describe tells it"""
    fleet.start_hub(config={"provisioning": {"discovery": "2s", "patience": "1h"}})
    small = fleet.start_sim("a-small", [plain()])
    sim = fleet.start_sim("gpus", [plain(), pool("queued")])
    fleet.join(small, sim)
    k = kubectl(fleet)
    created = k("create", "-f", "-", stdin=QUEUES)
    check("admissioncheck.kueue.x-k8s.io/dws-prov created" in created, "the queue is set up",
          created)
    k("wait", "--for=condition=Active", "--timeout=60s", "admissioncheck/dws-prov",
      "clusterqueue/dws-cluster-queue")
    requests, workloads = fleet.watch("provisioningrequests"), fleet.watch("workloads")
    out = k("create", "-f", "-", stdin=sample_job("sample-job", "queued"))
    check("job.batch/sample-job created" in out, "the sample job is created", out)
    requests.await_state("accepted, without nodes yet",
                         of_job("sample-job", lambda o: is_true(o, "Accepted")
                                and lacks("NotProvisioned")(o)))
    requests.await_state("provisioned", of_job("sample-job", lambda o: is_true(o, "Provisioned")))
    [r] = fleet.client.items("provisioningrequests", "default") or [None]
    check(r["spec"]["parameters"] == {"maxRunDurationSeconds": "600"} and
          len(r["spec"]["podSets"]) == 1 and r["metadata"]["name"].endswith("-dws-prov-1") and
          r["metadata"]["annotations"]["muster.dev/cluster"] == "gpus",
          "the request has the job's parameter, one pod set, and names its cluster", r)
    workloads.await_state("admitted", of_job("sample-job", lambda o: is_true(o, "Admitted")))
    [w] = fleet.client.items("workloads", "default")
    state = w["status"]["admissionChecks"][0]
    given = state["podSetUpdates"][0]["annotations"]
    check(state["state"] == "Ready" and all(given[c] == r["metadata"]["name"] for c in CONSUME),
          "the check is Ready and tells the pods which request is theirs", state)
    fleet.watch("jobs").await_object("sample-job", "completes", lambda o: is_true(o, "Complete"))
    [run] = [x for x in sim.runs() if x["pod"].startswith("sample-job-")]
    check(run["node"].startswith("queued-") and not small.runs(),
          "its pod ran on a node that came for it, on the member that could", run)
    shown = k("describe", "job", "sample-job")
    for words in ("Created Workload: default/job-sample-job-", "Admitted by clusterQueue "
                  "dws-cluster-queue", "Created pod: sample-job-", "Job completed"):
        check(words in shown, f"kubectl describe says \"{words}\"", shown)
    requests.await_state("gone with the job's end", lambda objects: not objects)
    until("the member's copy and template are gone", lambda: not
          sim.client.items("provisioningrequests", "default") and not
          sim.client.items("podtemplates", "default"))
    check(True, "its requests and templates are gone at the hub and on the member")


def story_a_job_without_any_pool_fails_and_is_given_up(fleet):
    """No pool can hold the pods: Failed on every member, one retry, then deactivated"""
    fleet.start_hub()
    sims = [fleet.start_sim(name, [plain(), pool("queued")]) for name in ("one", "two")]
    fleet.join(*sims)
    k = kubectl(fleet)
    k("create", "-f", "-", stdin=QUEUES)
    requests, workloads = fleet.watch("provisioningrequests"), fleet.watch("workloads")
    k("create", "-f", "-", stdin=sample_job("lost", "no-such-pool"))
    requests.await_state("the second attempt failed too",
                         of_job("lost", lambda o: o["metadata"]["name"].endswith("-2")
                                and is_true(o, "Failed")))
    workloads.await_state("deactivated", of_job("lost", lambda o: not o["spec"]["active"]))
    [w] = fleet.client.items("workloads", "default")
    check((condition(w, "Evicted") or {}).get("reason") == "DeactivatedDueToAdmissionCheck",
          "the Workload says why", w["status"])
    shown = k("describe", "provreq")
    check("NoMatchingNodePool" in shown and "No node pool of class" in shown,
          "kubectl describe provreq has the member's reason", shown)
    shown = k("describe", "workload", w["metadata"]["name"])
    check("AdmissionCheckRejected" in shown, "and its events the end", shown)
    until("nothing is left on the members", lambda: not any(
        s.client.items("provisioningrequests", "default") for s in sims))
    check(not any(s.runs() for s in sims), "no pod ever ran")


def story_quota_is_exceeded_and_the_job_is_cancelled(fleet):
    """QuotaExceeded is told by describe, by the check and by muster why; deleting cancels"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued", quota=1)])
    fleet.join(sim)
    k = kubectl(fleet)
    k("create", "-f", "-", stdin=QUEUES)
    requests, workloads = fleet.watch("provisioningrequests"), fleet.watch("workloads")
    k("create", "-f", "-", stdin=sample_job("big", "queued", pods=4))
    requests.await_state("over quota", of_job("big", lacks("QuotaExceeded")))
    shown = k("describe", "provreq")
    check("QuotaExceeded" in shown and "Quota 'queued' exceeded. Limit: 1" in shown,
          "kubectl describe provreq shows the quota and its limit", shown)
    workloads.await_state("the check says it", of_job("big", lambda o: "QuotaExceeded" in
                          o["status"]["admissionChecks"][0].get("message", "")))
    why = fleet.muster("why", "job/big").stdout
    check("QuotaExceeded" in why and "gpus" in why, "muster why passes it on", why)
    k("delete", "job", "big")
    requests.await_state("cancelled", lambda objects: not objects)
    until("cancelled on the member", lambda: not
          sim.client.items("provisioningrequests", "default"))
    check(len(sim.client.items("nodes")) == 1, "no node ever came")


def story_a_request_by_hand_serves_the_job_that_names_it(fleet):
    """PodTemplate, ProvisioningRequest, then a job that consumes it; the booking expires later"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued")], time_scale=60)
    fleet.join(sim)
    k = kubectl(fleet)
    requests = fleet.watch("provisioningrequests")
    job = sample_job("by-hand", "queued", pods=2, duration="30s")
    del job["metadata"]["labels"], job["spec"]["suspend"]
    job["spec"]["template"]["metadata"]["annotations"].update({
        "cluster-autoscaler.kubernetes.io/consume-provisioning-request": "hand",
        "cluster-autoscaler.kubernetes.io/provisioning-class-name": CLASS})
    k("create", "-f", "-", stdin=job)
    until("muster why tells what the job waits for", lambda: "hand" in
          fleet.muster("why", "job/by-hand").stdout)
    out = k("apply", "-f", "-", stdin=template("pods", "queued"))
    check("podtemplate/pods created" in out, "the PodTemplate is created", out)
    k("apply", "-f", "-", stdin=request("hand", "pods", count=2))
    requests.await_object("hand", "is provisioned", lambda o: is_true(o, "Provisioned"))
    check("hand" in k("get", "provreq"), "kubectl get provreq lists it")
    fleet.watch("jobs").await_object("by-hand", "completes", lambda o: is_true(o, "Complete"))
    runs = [x for x in sim.runs() if x["pod"].startswith("by-hand-")]
    check(len(runs) == 2 and all(x["node"].startswith("queued-") for x in runs),
          "both pods ran on the request's nodes", runs)
    requests.await_object("hand", "has an expired booking",
                          lambda o: is_true(o, "BookingExpired"))
    until("idle nodes are removed", lambda: len(sim.client.items("nodes")) == 1)
    check(True, "ten minutes later the booking has expired and the nodes are gone")
    refused = fleet.client.refused(
        "PATCH", "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests/hand",
        {"spec": {"provisioningClassName": "other"}}, content_type="application/merge-patch+json")
    check("immutable" in json.dumps(refused.status), "its spec cannot be changed", refused.status)


def story_the_example_runs(fleet):
    """deploy/examples: a job whose queue asks for nodes, and the same by hand"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued")], time_scale=10)
    fleet.join(sim)
    k = kubectl(fleet)
    jobs = fleet.watch("jobs")
    k("apply", "-f", EXAMPLE)
    for name in ("queued-sample", "by-hand"):
        jobs.await_object(name, "completes", lambda o: is_true(o, "Complete"))
    runs = sim.runs()
    nodes = {n: {r["node"] for r in runs if r["pod"].startswith(n)} for n in
             ("queued-sample", "by-hand")}
    check(len(runs) == 3 and not nodes["queued-sample"] & nodes["by-hand"] and
          all(n.startswith("queued-") for n in nodes["queued-sample"] | nodes["by-hand"]),
          "each ran on nodes of its own, which came for it", runs)


SMALL = "small.example.com"
TWO_CHECKS = QUEUES.replace("  admissionChecks:\n  - dws-prov\n",
                            "  admissionChecks:\n  - dws-prov\n  - rest\n") + """
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata:
  name: rest
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: rest}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata:
  name: rest
spec:
  provisioningClassName: small.example.com
"""


def gang(name):
    """A master without GPUs, and two workers with one each."""
    def replicas(count, gpus, node_pool):
        template = sample_job("t", node_pool, gpus=gpus)["spec"]["template"]
        template["spec"]["containers"][0]["name"] = "pytorch"
        template["spec"].pop("restartPolicy", None)
        return {"replicas": count, "restartPolicy": "Never", "template": template}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "namespace": "default",
                         "labels": {"kueue.x-k8s.io/queue-name": "dws-local-queue"}},
            "spec": {"pytorchReplicaSpecs": {"Master": replicas(1, 0, "small"),
                                             "Worker": replicas(2, 1, "queued")}}}


def story_two_checks_ask_for_nodes_of_two_kinds(fleet):
    """A queue with two checks: each asks for its own pods, the gang starts on one member"""
    fleet.start_hub(config={"provisioning": {"discovery": "5s"}})
    small = make.node("small", gpus=0, cpu="4", memory="16Gi", labels={POOL: "small"})
    small["metadata"]["annotations"] = {
        "muster.dev/sim-autoscale": SMALL, "muster.dev/sim-count": "2",
        "muster.dev/sim-provision-delay": "1s"}
    # The first member has nodes for the workers alone.
    half = fleet.start_sim("half", [plain(), pool("queued", delay="1s")])
    both = fleet.start_sim("with-both", [plain(), pool("queued", delay="1s"), small])
    fleet.join(half)
    fleet.join(both)
    k = kubectl(fleet)
    k("create", "-f", "-", stdin=TWO_CHECKS)
    jobs = fleet.watch("pytorchjobs")
    k("create", "-f", "-", stdin=gang("gang"))
    jobs.await_object("gang", "succeeds", lambda o: is_true(o, "Succeeded"))
    nodes = {r["pod"]: r["node"] for r in both.runs()}
    check(len(nodes) == 3 and not half.runs() and
          all(n.startswith("queued-" if "worker" in p else "small-") for p, n in nodes.items()),
          "workers ran on nodes of one class, the master on one of the other", nodes)
    until("its requests are gone", lambda: not fleet.client.items("provisioningrequests"))


RACK = "cloud.example.com/rack"
RACKS = QUEUES.replace("""metadata:
  name: "default-flavor"
""", """metadata:
  name: "default-flavor"
spec:
  nodeLabels: {cloud.google.com/gke-nodepool: queued}
  topologyName: racks
""", 1) + """
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: Topology
metadata:
  name: racks
spec:
  levels:
  - nodeLabel: cloud.example.com/rack
"""


def story_places_are_found_when_the_nodes_have_come(fleet):
    """Kueue's second pass: which rack a job gets is known when its nodes say where they stand"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued", delay="1s")])
    fleet.join(sim)
    k = kubectl(fleet)
    k("create", "-f", "-", stdin=RACKS)
    k("wait", "--for=condition=Active", "--timeout=60s", "clusterqueue/dws-cluster-queue")
    workloads = fleet.watch("workloads")
    job = sample_job("placed", "queued", pods=2)
    job["spec"]["template"]["metadata"]["annotations"][
        "kueue.x-k8s.io/podset-required-topology"] = RACK
    k("create", "-f", "-", stdin=job)
    # The nodes that come stand in no rack yet.
    workloads.await_state("its check is Ready, its places are not known", of_job(
        "placed", lambda o: (condition(o, "Admitted") or {}).get("reason") ==
        "PendingDelayedTopologyRequests"))
    [w] = fleet.client.items("workloads", "default")
    [given] = w["status"]["admission"]["podSetAssignments"]
    check(given["delayedTopologyRequest"] == "Pending" and "topologyAssignment" not in given and
          w["status"]["admissionChecks"][0]["state"] == "Ready" and
          condition(w, "Admitted")["message"] == "There are pending delayed topology requests",
          "kubectl get workload: delayedTopologyRequest is Pending", w["status"])
    for n in sim.client.items("nodes"):
        if n["metadata"]["name"].startswith("queued-"):
            sim.client.patch("nodes", n["metadata"]["name"],
                             {"metadata": {"labels": {RACK: "r1"}}}, namespace=None)
    workloads.await_state("it is admitted", of_job("placed", lambda o: is_true(o, "Admitted")))
    [w] = fleet.client.items("workloads", "default")
    [given] = w["status"]["admission"]["podSetAssignments"]
    check(given["delayedTopologyRequest"] == "Ready" and
          given["topologyAssignment"]["levels"] == [RACK] and
          "r1" in json.dumps(given["topologyAssignment"]), "and says which rack it has", given)
    fleet.watch("jobs").await_object("placed", "completes", lambda o: is_true(o, "Complete"))


def story_what_came_is_kept_for_its_consumer(fleet):
    """Between Provisioned and the job that names it nobody else gets a request's nodes"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued", count=1, delay="1s")])
    fleet.join(sim)
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=template("pods", "queued"))
    k("apply", "-f", "-", stdin=request("hand", "pods", count=2))
    fleet.watch("provisioningrequests").await_object("hand", "is provisioned",
                                                     lambda o: is_true(o, "Provisioned"))
    until("the hub sees its node", lambda: any(
        "queued-" in n["metadata"]["name"] for n in fleet.client.items("nodes")))
    # It tolerates everything, and asks for nodes of that pool; no queue holds it.
    lurks = sample_job("lurks", "queued", duration="1s")
    del lurks["metadata"]["labels"], lurks["spec"]["suspend"]
    lurks["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    k("create", "-f", "-", stdin=lurks)
    why = fleet.muster("why", "job/lurks").stdout
    check("NO placement" in why, "muster why: another job has no place there", why)
    taker = sample_job("takes", "queued", pods=2, duration="2s")
    del taker["metadata"]["labels"], taker["spec"]["suspend"]
    taker["spec"]["template"]["metadata"]["annotations"][CONSUME[0]] = "hand"
    k("create", "-f", "-", stdin=taker)
    fleet.watch("jobs").await_object("takes", "completes", lambda o: is_true(o, "Complete"))
    runs = sorted(sim.runs(), key=lambda r: r["start"])
    check([r["pod"].startswith("takes-") for r in runs[:2]] == [True, True] and
          all(r["node"].startswith("queued-") for r in runs[:2]),
          "its consumer has them, though it came later", runs)


def story_nodes_go_when_their_time_is_up(fleet):
    """maxRunDurationSeconds: CapacityRevoked, pods and nodes go, the job is deactivated"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued", delay="1s")])
    fleet.join(sim)
    k = kubectl(fleet)
    k("create", "-f", "-", stdin=QUEUES)
    workloads = fleet.watch("workloads")
    job = sample_job("long", "queued", duration="600s")
    job["spec"]["backoffLimit"] = 6  # else a pod that goes with its node may fail the job first
    job["metadata"]["annotations"]["provreq.kueue.x-k8s.io/maxRunDurationSeconds"] = "4"
    k("create", "-f", "-", stdin=job)
    workloads.await_state("admitted", of_job("long", lambda o: is_true(o, "Admitted")))
    workloads.await_state("deactivated", of_job("long", lambda o: not o["spec"]["active"]))
    until("the nodes are gone", lambda: len(sim.client.items("nodes")) == 1)
    until("the pods are gone", lambda: not sim.client.items("pods", "default"))
    check(True, "the nodes and the pods on them are gone, and the job does not come back")


def story_a_request_is_cancelled_by_deleting_it(fleet):
    """kubectl delete provreq before the nodes come, with the hub killed in between"""
    fleet.start_hub()
    sim = fleet.start_sim("gpus", [plain(), pool("queued", delay="3600s")])
    fleet.join(sim)
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=template("pods", "queued"))
    k("apply", "-f", "-", stdin=request("later", "pods"))
    fleet.watch("provisioningrequests").await_object(
        "later", "is accepted", lambda o: is_true(o, "Accepted"))
    fleet.stop_watches()
    fleet.hub.kill()
    fleet.restart_hub()
    [copy] = sim.client.items("provisioningrequests", "default")
    check(copy["metadata"]["name"] == "later", "the member has it, once, after a restart", copy)
    k("delete", "provreq", "later", "-n", "default")
    until("it is gone on the member too", lambda: not
          sim.client.items("provisioningrequests", "default"))
    until("with its template", lambda: not sim.client.items("podtemplates", "default"))
    check(len(sim.client.items("nodes")) == 1, "no node came")


if __name__ == "__main__":
    main(globals(), Fleet)
