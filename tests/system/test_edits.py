#!/usr/bin/env python3
"""What kubectl writes into a job whose copy runs on a member: it reaches the copy, or starts the
job anew, or is refused; at the hub and at the member one sees which."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import is_true

GROUP = "kueue.x-k8s.io/v1beta2"


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def begin(fleet):
    """The hub and one member of two nodes; kubectl, and the member."""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")])
    fleet.join(sim)
    return kubectl(fleet), sim


def queues(k):
    for o in ({"kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
              {"kind": "ClusterQueue", "metadata": {"name": "cq"}, "spec": {
                  "namespaceSelector": {}, "resourceGroups": [{
                      "coveredResources": ["cpu", "memory"], "flavors": [{
                          "name": "any", "resources": [{"name": "cpu", "nominalQuota": 8},
                                                       {"name": "memory",
                                                        "nominalQuota": "16Gi"}]}]}]}},
              {"kind": "LocalQueue", "metadata": {"name": "team", "namespace": "default"},
               "spec": {"clusterQueue": "cq"}}):
        k("apply", "-f", "-", stdin={"apiVersion": GROUP, **o})


def merge(k, what, patch, *more):
    return k("patch", what, "--type=merge", "-p", json.dumps(patch), *more)


def labels(o):
    return o["metadata"].get("labels", {})


def event(fleet, name, reason, *words):
    events = fleet.watch("events")
    events.await_state(f"event {reason} of {name}", lambda objects: any(
        e["involvedObject"]["name"] == name and e["reason"] == reason and
        all(w in e["message"] for w in words) for e in objects.values()))


def story_labels_and_parallelism_of_a_running_job(fleet):
    """Labels, annotations and parallelism reach the copy at once, and leave it; its pods go on"""
    k, sim = begin(fleet)
    job = make.batch_job("plain", gpus=0, duration="300s")
    job["spec"]["completions"] = 4
    k("create", "-f", "-", stdin=job)
    jobs = fleet.watch("jobs")
    copies = fleet.watch("jobs", client=sim.client)
    jobs.await_object("plain", "runs", lambda o: o.get("status", {}).get("active") == 1)
    uid = copies.await_object("plain", "its copy", lambda o: True)["metadata"]["uid"]
    k("label", "job/plain", "team=a")
    k("annotate", "job/plain", "note=first")
    copies.await_object("plain", "has both", lambda o: labels(o).get("team") == "a" and
                        o["metadata"]["annotations"].get("note") == "first")
    k("label", "--overwrite", "job/plain", "team=b")
    k("annotate", "job/plain", "note-")
    copies.await_object("plain", "has the new one, and not the other", lambda o: labels(o).get(
        "team") == "b" and "note" not in o["metadata"]["annotations"])
    event(fleet, "plain", "EditApplied", "Cluster c1 has the edit of", "metadata.labels.team")
    merge(k, "job/plain", {"spec": {"parallelism": 2, "activeDeadlineSeconds": 600}})
    copies.await_object("plain", "has two pods at a time", lambda o: (
        o["spec"]["parallelism"], o["spec"].get("activeDeadlineSeconds")) == (2, 600))
    jobs.await_object("plain", "runs two", lambda o: o["status"].get("active") == 2)
    copy = sim.client.get("jobs", "plain", "default")
    check(copy["metadata"]["uid"] == uid and not copy["spec"].get("suspend"),
          "it is the same copy, and was not stopped", copy)
    check(labels(copy).get("muster.dev/hub-uid"), "the hub's own marks stay", labels(copy))
    done = k.run("patch", "job/plain", "--type=merge", "-p", json.dumps(
        {"spec": {"template": {"spec": {"priorityClassName": "x"}}}}))
    check(done.returncode and "field is immutable" in done.stderr,
          "the template of a Job that has started is refused (422)", done.stderr)


def story_an_image_of_a_job_in_no_queue(fleet):
    """Another image goes to the running copy: pods that are made from now on have it"""
    k, sim = begin(fleet)
    k("create", "-f", "-", stdin=make.pytorch_job("train", workers=1, gpus=0, duration="300s"))
    fleet.watch("pytorchjobs").await_object("train", "runs", lambda o: is_true(o, "Running"))
    copies = fleet.watch("pytorchjobs", client=sim.client)
    uid = copies.await_object("train", "its copy", lambda o: True)["metadata"]["uid"]
    worker = make.pod_template(gpus=0, duration="300s")
    worker["spec"]["containers"][0]["image"] = "registry.example/train:2"
    merge(k, "pytorchjob/train", {"spec": {
        "runPolicy": {"backoffLimit": 7},
        "pytorchReplicaSpecs": {"Worker": {"template": worker}}}})
    copy = copies.await_object("train", "has the image and the limit", lambda o: (
        o["spec"]["runPolicy"].get("backoffLimit") == 7 and o["spec"]["pytorchReplicaSpecs"][
            "Worker"]["template"]["spec"]["containers"][0]["image"].endswith(":2")))
    check(copy["metadata"]["uid"] == uid and copy["spec"]["runPolicy"]["suspend"] is False,
          "the same copy goes on", copy)
    pod = copy["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["metadata"]["labels"]
    check(pod.get("muster.dev/pod-set") == "worker", "its pods are still the hub's", pod)


def workload_of(workloads, name, holds):
    return workloads.await_state(f"the workload of {name}", lambda objects: next(
        (o for o in objects.values() for r in o["metadata"].get("ownerReferences", [])
         if r["name"] == name and holds(o)), None))


def story_an_image_of_a_queued_job(fleet):
    """Under a Kueue queue another image is another job: a new Workload, and a new start"""
    k, sim = begin(fleet)
    queues(k)
    job = make.pytorch_job("train", workers=1, gpus=0, duration="300s",
                           labels={"kueue.x-k8s.io/queue-name": "team"})
    k("create", "-f", "-", stdin=job)
    workloads = fleet.watch("workloads")
    jobs = fleet.watch("pytorchjobs")
    jobs.await_object("train", "runs", lambda o: is_true(o, "Running"))
    first = workload_of(workloads, "train", lambda o: is_true(o, "Admitted"))["metadata"]["uid"]
    copies = fleet.watch("pytorchjobs", client=sim.client)
    k("label", "pytorchjob/train", "team=a")
    epoch = copies.await_object("train", "has the label", lambda o: labels(o).get(
        "team") == "a")["metadata"]["annotations"]["muster.dev/epoch"]
    check(workload_of(workloads, "train", lambda o: True)["metadata"]["uid"] == first,
          "a label starts nothing anew")
    done = k.run("label", "--overwrite", "pytorchjob/train", "kueue.x-k8s.io/queue-name=other")
    check(done.returncode and "immutable" in done.stderr, "its queue is refused", done.stderr)
    worker = make.pod_template(gpus=0, duration="300s")
    worker["spec"]["containers"][0]["image"] = "registry.example/train:2"
    merge(k, "pytorchjob/train", {"spec": {"pytorchReplicaSpecs": {"Worker": {
        "template": worker}}}})
    workload_of(workloads, "train", lambda o: o["metadata"]["uid"] != first and
                is_true(o, "Admitted"))
    copies.await_object("train", "a later placement, with the image", lambda o: (
        int(o["metadata"]["annotations"]["muster.dev/epoch"]) > int(epoch) and
        not o["spec"]["runPolicy"]["suspend"] and o["spec"]["pytorchReplicaSpecs"]["Worker"][
            "template"]["spec"]["containers"][0]["image"].endswith(":2")))
    event(fleet, "train", "DeletedWorkload", "Deleted not matching Workload: default/")
    # The hub shows it as started when the copy's first pods are known, which is after the copy is.
    until("the job is shown as started anew", lambda: not fleet.client.get(
        "pytorchjobs", "train")["spec"]["runPolicy"]["suspend"])
    said = k.run("patch", "pytorchjob/train", "--type=merge", "-p",
                 json.dumps({"spec": {"runPolicy": {"suspend": True}}}))
    check("it belongs to the job's queue" in said.stderr, "suspend is the queue's", said.stderr)


def story_what_only_a_suspended_job_may_change(fleet):
    """A queued JobSet that runs is suspended no more: its pods' tolerations stay, its labels do not"""
    k, sim = begin(fleet)
    queues(k)
    job = make.job_set("set", pods=1, gpus=0, duration="300s")
    job["spec"]["suspend"] = True
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    k("create", "-f", "-", stdin=job)
    copies = fleet.watch("jobsets", client=sim.client)
    fleet.watch("jobsets").await_object("set", "runs, and is not suspended any more",
                                        lambda o: o["spec"].get("suspend") is False)
    inner = job["spec"]["replicatedJobs"]
    inner[0]["template"]["spec"]["template"]["spec"]["tolerations"] = [
        {"key": "spot", "operator": "Exists"}]
    done = k.run("patch", "jobset/set", "--type=merge", "-p",
                 json.dumps({"spec": {"replicatedJobs": inner}}))
    check(done.returncode and "spec.replicatedJobs" in done.stderr and
          "field is immutable" in done.stderr, "refused at the hub", done.stderr)
    merge(k, "jobset/set", {"metadata": {"labels": {"team": "a"}}})
    copies.await_object("set", "has the label", lambda o: labels(o).get("team") == "a")


def story_suspension_in_the_queue_that_a_job_does_not_name(fleet):
    """A job of the LocalQueue `default`: a user's suspend is told to be the queue's, and it runs"""
    k, sim = begin(fleet)
    queues(k)
    k("apply", "-f", "-", stdin={"apiVersion": GROUP, "kind": "LocalQueue", "metadata": {
        "name": "default", "namespace": "default"}, "spec": {"clusterQueue": "cq"}})
    jobs = fleet.watch("jobs")
    k("create", "-f", "-", stdin=make.batch_job("plain", gpus=0, duration="300s"))
    jobs.await_object("plain", "runs", lambda o: o.get("status", {}).get("ready") == 1)
    done = k.run("patch", "job/plain", "--type=merge", "-p",
                 json.dumps({"metadata": {"labels": {"team": "a"}}, "spec": {"suspend": True}}))
    check(done.returncode == 0 and "spec.suspend: it belongs to the job's queue" in done.stderr,
          "a warning says whose it is", done.stderr)
    fleet.watch("jobs", client=sim.client).await_object("plain", "has the label beside it",
                                                        lambda o: labels(o).get("team") == "a")
    check(not any(o["spec"].get("suspend") for o in jobs.history("plain") if o.get(
        "status", {}).get("ready")), "the job was not shown suspended while it ran",
          jobs.history("plain"))
    check(sim.client.get("jobs", "plain")["spec"]["suspend"] is False, "and runs on")


if __name__ == "__main__":
    main(globals(), Fleet)
