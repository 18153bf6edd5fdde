#!/usr/bin/env python3
"""Jobs that name a Workload which their user made: kueue.x-k8s.io/prebuilt-workload-name."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

GROUP = "kueue.x-k8s.io/v1beta2"
NAMES = "kueue.x-k8s.io/prebuilt-workload-name"


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def kueue(kind, name, namespace=None, **fields):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": GROUP, "kind": kind, "metadata": meta, **fields}


def scene(fleet):
    """A queue with 8 cpus of quota before one member with 8."""
    fleet.start_hub()
    fleet.join(fleet.start_sim("c1", [make.node("n", gpus=0, cpu="8")]))
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}),
              kueue("ClusterQueue", "cq", spec={
                  "namespaceSelector": {},
                  "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                      {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 8}]}]}]}),
              kueue("LocalQueue", "lq", "default", spec={"clusterQueue": "cq"})):
        k("apply", "-f", "-", stdin=o)
    return k


def job(name, workload, pods=2, duration="3600s"):
    o = make.batch_job(name, pods=pods, gpus=0, cpu="3", duration=duration)
    o["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    o["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "lq", NAMES: workload}
    return o


def workload(k, name, like, count=2):
    """As a user makes one: of the pod template as the server has it, with its defaults."""
    template = json.loads(k("get", "job", like, "-o", "json"))["spec"]["template"]
    return kueue("Workload", name, "default", spec={
        "queueName": "lq", "podSets": [{"name": "main", "count": count, "template": template}]})


def says(fleet, name, *words):
    text = fleet.muster("why", f"job/{name}").stdout
    for w in words:
        check(w in text, f"muster why {name} says: {w}", text)


def runs(k, name, owner):
    w = json.loads(k("get", "workload", name, "-o", "json"))
    uid = k("get", "job", owner, "-o", "jsonpath={.metadata.uid}")
    owners = w["metadata"]["ownerReferences"]
    check([(o["kind"], o["name"], o["uid"], o["controller"]) for o in owners] ==
          [("Job", owner, uid, True)], f"{name} belongs to {owner}", owners)
    check(w["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == uid, "and its label says so", w)
    listed = k("get", "workloads", "-o", "name").split()
    check(listed.count(f"workload.kueue.x-k8s.io/{name}") == 1, "it is listed once", listed)


def story_a_job_waits_for_its_workload(fleet):
    """The job first: it waits, starts with the Workload, and both finish together"""
    k = scene(fleet)
    jobs, workloads = fleet.watch("jobs"), fleet.watch("workloads")
    k("create", "-f", "-", stdin=job("one", "mine", duration="2s"))
    k("create", "-f", "-", stdin=job("two", "mine", duration="2s"))
    jobs.await_object("one", "is there", lambda o: o["spec"]["suspend"])
    says(fleet, "one", "PrebuiltWorkloadNotFound", "prebuilt workload not found: default/mine")
    check(k("get", "workloads", "-o", "name") == "", "no Workload was made for it")
    k("create", "-f", "-", stdin=workload(k, "mine", like="one"))
    workloads.await_object("mine", "admitted", lambda o: is_true(o, "Admitted"))
    runs(k, "mine", "one")
    says(fleet, "two", "The workload is already controlled by another object: default/mine")
    jobs.await_object("one", "complete", lambda o: is_true(o, "Complete"))
    workloads.await_object("mine", "finished", lambda o: (
        condition(o, "Finished") or {}).get("reason") == "Succeeded")
    refused = k.run("label", "job", "two", f"{NAMES}=other", "--overwrite")
    check("field is immutable" in refused.stderr, "the name stays", refused.stderr)


def story_quota_comes_before_the_job(fleet):
    """A Workload that was admitted by quota alone keeps it for the job that comes"""
    k = scene(fleet)
    jobs, workloads = fleet.watch("jobs"), fleet.watch("workloads")
    k("create", "-f", "-", stdin=job("one", "mine"))
    o = workload(k, "mine", like="one")
    k("delete", "job", "one")
    k("create", "-f", "-", stdin=o)
    admitted = workloads.await_object("mine", "admitted", lambda o: is_true(o, "Admitted"))
    since = condition(admitted, "Admitted")["lastTransitionTime"]
    k("create", "-f", "-", stdin=job("one", "mine"))
    jobs.await_object("one", "runs", lambda o: o.get("status", {}).get("active") == 2)
    runs(k, "mine", "one")
    now = json.loads(k("get", "workload", "mine", "-o", "json"))
    check(condition(now, "Admitted")["lastTransitionTime"] == since, "admitted as long as it was")
    used = k("get", "clusterqueue", "cq", "-o",
             "jsonpath={.status.flavorsUsage[0].resources[0].total}")
    check(used == "6", "it holds its quota once", used)
    # Deleted, it stops its job; the next of its name starts it again.
    k("delete", "workload", "mine")
    jobs.await_object("one", "stopped", lambda o: o["spec"]["suspend"])
    says(fleet, "one", "prebuilt workload not found: default/mine")
    k("create", "-f", "-", stdin=o)
    workloads.await_object("mine", "admitted again", lambda o: is_true(o, "Admitted"))
    runs(k, "mine", "one")


def story_another_job_is_out_of_sync(fleet):
    """What was made for another job ends, and the job waits"""
    k = scene(fleet)
    workloads = fleet.watch("workloads")
    k("create", "-f", "-", stdin=job("one", "mine"))
    k("create", "-f", "-", stdin=workload(k, "mine", like="one", count=1))
    workloads.await_object("mine", "finished", lambda o: (
        condition(o, "Finished") or {}).get("reason") == "OutOfSync")
    runs(k, "mine", "one")
    says(fleet, "one", "The prebuilt workload is out of sync with its user job: default/mine")


if __name__ == "__main__":
    main(globals(), Fleet)
