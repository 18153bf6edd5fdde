#!/usr/bin/env python3
"""Hot-swap as its users see it, through kubectl and simulated members: training jobs of two
priorities on slices of a node pool each, and a node that fails, is deleted, or is tainted."""

import json
import os

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.kubectl import Kubectl
from muster_test.watch import is_true

TPU = "google.com/tpu"
POOL = "cloud.google.com/gke-nodepool"
ACCELERATOR = {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice",
               "cloud.google.com/gke-tpu-topology": "4x4"}
EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "examples", "kueue",
                       "hotswap.yaml")


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def member_kubectl(fleet, sim):
    """kubectl at the member itself, as its operator has it."""
    home = fleet.path("home-" + sim.name)
    os.makedirs(home, exist_ok=True)
    return Kubectl("PATH", kubectl(fleet).path, sim.kubeconfig, home)


def pool(i):
    """A slice of 4x4: four hosts of four chips in a node pool of their own."""
    node = make.node(f"pool-{i}", count=4, gpus=0, labels={**ACCELERATOR, POOL: f"pool-{i}"})
    node["status"]["allocatable"][TPU] = "4"
    return node


def training(name, duration, queued=True):
    """Two slices, as in the example; started again as a whole when a Job of it fails."""
    job = make.job_set(name, replicas=2, pods=4, gpus=0, duration=duration,
                       nodeSelector=ACCELERATOR, priorityClassName=name)
    job["metadata"]["annotations"] = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": POOL}
    if queued:
        job["metadata"]["annotations"]["kueue.x-k8s.io/queue-name"] = "training"
    job["spec"]["failurePolicy"] = {"maxRestarts": 10, "restartStrategy": "BlockingRecreate"}
    replicated = job["spec"]["replicatedJobs"][0]
    replicated["name"] = "slice"
    container = replicated["template"]["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {TPU: 4}}
    return job


def set_ready(k, node, ready):
    """What the node's controller writes when its kubelet falls silent, and when it is back."""
    status = {"type": "Ready", "status": "True" if ready else "Unknown",
              "reason": "KubeletReady" if ready else "NodeStatusUnknown"}
    k("patch", "node", node, "--subresource=status", "--type=merge", "-p",
      json.dumps({"status": {"conditions": [status]}}))


def running(fleet, name):
    """{node: pods} of the job's pods that run, as the hub shows them."""
    nodes = {}
    for p in fleet.client.items("pods", "default"):
        if p["metadata"]["name"].startswith(name + "-") and p["status"].get("phase") == "Running":
            nodes[p["spec"]["nodeName"]] = nodes.get(p["spec"]["nodeName"], 0) + 1
    return nodes


def events(fleet, name, reason):
    return [e["message"] for e in fleet.client.items("events", "default")
            if e["involvedObject"]["name"] == name and e["reason"] == reason]


def told(fleet, name, reason):
    return until(f"{name} is told {reason}", lambda: events(fleet, name, reason))[0]


def binding(fleet, name):
    return fleet.client.get("resourcebindings", f"{name}-jobset")


def story_low_then_high_priority_and_a_node_fails(fleet):
    """A node fails under the urgent job: the background job gives way, and returns with the node"""
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(4)])
    fleet.join(sim)
    k, member = kubectl(fleet), member_kubectl(fleet, sim)
    with open(EXAMPLE, encoding="utf-8") as f:
        queues = [d for d in f.read().split("\n---\n") if "kind: JobSet" not in d]
    k("apply", "-f", "-", stdin="\n---\n".join(queues))
    k("apply", "-f", "-", stdin=training("background", "600s"))
    until("the background job runs", lambda: sum(running(fleet, "background").values()) == 8)
    k("apply", "-f", "-", stdin=training("urgent", "600s"))
    until("the urgent job runs, too", lambda: sum(running(fleet, "urgent").values()) == 8)

    # One host of a slice fails. The three others of its pool are well, and no place for a slice.
    node = sorted(running(fleet, "urgent"))[0]
    slice_nodes = [f"{node.rsplit('-', 1)[0]}-{i}" for i in range(4)]
    set_ready(member, node, False)
    said = told(fleet, "urgent", "HotSwap")
    check(f"node {node} is not ready" in said and "JobSet default/background (priority 1000)" in
          said, "the urgent job's user is told what happens", said)
    until("the urgent job runs again", lambda: sum(running(fleet, "urgent").values()) == 8)
    there = running(fleet, "urgent")
    check(not set(slice_nodes) & set(there) and len({n.rsplit("-", 1)[0] for n in there}) == 2,
          "on two other whole slices", there)
    jobs = fleet.watch("jobsets")
    jobs.await_object("urgent", "was restarted once, by its own controller",
                      lambda o: o["status"].get("restarts") == 1)
    check(binding(fleet, "urgent")["metadata"]["annotations"]["muster.dev/epoch"] == "1",
          "its copy on the member is the same")
    told(fleet, "urgent", "HotSwapDone")
    why = told(fleet, "background", "Preempted")
    check("JobSet default/urgent (priority 2000)" in why, "the background job's user is told", why)
    workloads = fleet.watch("workloads")
    [waiting] = workloads.await_state("the background job waits", lambda objects: [
        o for o in objects.values() if "background" in o["metadata"]["name"] and
        is_true(o, "Preempted") and not is_true(o, "Admitted")])
    check(is_true(waiting, "Requeued"), "it has kept its place in the queue", waiting["status"])
    check(not running(fleet, "background"), "and none of its pods is left")

    set_ready(member, node, True)
    until("the background job runs again",
          lambda: sum(running(fleet, "background").values()) == 8)
    check(sum(running(fleet, "urgent").values()) == 8, "beside the urgent one")


def story_a_deleted_node_and_a_spare_one(fleet):
    """Without a queue: the room of a node that is gone is found on a spare one, nobody goes"""
    fleet.start_hub()
    sim = fleet.start_sim("gpu", [make.node("n", count=4)])
    fleet.join(sim)
    k, member = kubectl(fleet), member_kubectl(fleet, sim)
    for name, value in (("background", 1000), ("urgent", 2000)):
        k("apply", "-f", "-", stdin=make.priority_class(name, value))
    for name, pods in (("urgent", 2), ("background", 1)):
        job = make.job_set(name, pods=pods, gpus=8, duration="600s", priorityClassName=name)
        job["spec"]["failurePolicy"] = {"maxRestarts": 3}
        k("apply", "-f", "-", stdin=job)
        until(f"{name} runs", lambda: sum(running(fleet, name).values()) == pods)
    node = sorted(running(fleet, "urgent"))[0]
    member("delete", "node", node)
    until("the urgent job runs again",
          lambda: sum(running(fleet, "urgent").values()) == 2 and node not in
          running(fleet, "urgent"))
    check(not events(fleet, "background", "Preempted") and
          sum(running(fleet, "background").values()) == 1, "the background job ran on")


def story_a_taint_without_room_moves_the_gang(fleet):
    """No spare node, nobody lower: it waits and says why; with a second member it moves there"""
    fleet.start_hub()
    a = fleet.start_sim("a", [make.node("a", count=2)])
    fleet.join(a)
    k, member = kubectl(fleet), member_kubectl(fleet, a)
    k("apply", "-f", "-", stdin=make.priority_class("urgent", 2000))
    job = make.job_set("urgent", pods=2, gpus=8, duration="600s", priorityClassName="urgent")
    job["spec"]["failurePolicy"] = {"maxRestarts": 3}
    k("apply", "-f", "-", stdin=job)
    until("it runs", lambda: sum(running(fleet, "urgent").values()) == 2)
    node = sorted(running(fleet, "urgent"))[0]
    member("taint", "node", node, "maintenance=now:NoExecute")
    said = told(fleet, "urgent", "HotSwapWaiting")
    check(f"node {node} is tainted NoExecute" in said and
          "no job of lower priority than 2000 is in the way" in said, "it says why it waits", said)
    shown = fleet.muster("why", "jobset/urgent").stdout
    check("pods wait for room: no node of cluster a is spare" in shown, "muster why says it", shown)
    check("Recovering" in fleet.muster("jobs").stdout, "muster jobs shows it as Recovering")
    condition = [c for c in binding(fleet, "urgent")["status"]["conditions"]
                 if c["type"] == "HotSwap"]
    check(condition and condition[0]["reason"] == "HotSwapWaiting",
          "its binding has the condition", condition)
    b = fleet.start_sim("b", [make.node("b", count=2)])
    fleet.join(b)
    said = until("it is told to move", lambda: [
        m for m in events(fleet, "urgent", "HotSwap") if "cluster b can" in m])[0]
    until("it runs there", lambda: set(running(fleet, "urgent")) == {"b-0", "b-1"})
    [on_a] = [[r for r in a.runs() if r["result"] == "Killed"]]
    first = min(r["start"] for r in b.runs()) if b.runs() else None
    check(first is None or all(r["end"] <= first for r in on_a),
          "no pod of it ran on both members at a time", a.runs())
    check(binding(fleet, "urgent")["metadata"]["annotations"]["muster.dev/epoch"] == "2",
          "by a second placement")


if __name__ == "__main__":
    main(globals(), Fleet)
