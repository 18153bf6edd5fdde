#!/usr/bin/env python3
"""What muster says of Kueue's queues: why a job waits, flavor by flavor and member by member, whom
it would preempt, and who uses which quota."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

GROUP = "kueue.x-k8s.io/v1beta2"


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def kueue(kind, name, namespace=None, **fields):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": GROUP, "kind": kind, "metadata": meta, **fields}


def queue(name, *flavors, **spec):
    """A ClusterQueue of cpu: flavors as (name, nominal)."""
    return kueue("ClusterQueue", name, spec={
        "namespaceSelector": {}, **spec,
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
            {"name": f, "resources": [{"name": "cpu", "nominalQuota": q}]} for f, q in flavors]}]})


def local(name, behind):
    return kueue("LocalQueue", name, "default", spec={"clusterQueue": behind})


def job(name, queue_name, cpu, priority=None, duration="20s"):
    o = make.batch_job(name, gpus=0, cpu=cpu, duration=duration)
    o["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": cpu}
    o["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue_name}
    if priority:
        o["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority
    return o


def of(name, holds):
    return lambda objects: any(
        r["name"] == name and holds(o) for o in objects.values()
        for r in o["metadata"].get("ownerReferences", []))


def waits(reason):
    return lambda o: (condition(o, "QuotaReserved") or {}).get("reason") == reason


def says(text, *words):
    for w in words:
        check(w in text, f"muster says: {w}", text)


def story_why_a_job_waits(fleet):
    """Quota by flavor, room by member, an inactive queue: each is told with its numbers"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")]))
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "spot", spec={}),
              kueue("ResourceFlavor", "gpu", spec={"nodeLabels": {"accelerator": "h100"}}),
              queue("cq", ("spot", 4)), local("lq", "cq"),
              queue("labels", ("gpu", 40)), local("gpus", "labels"),
              queue("broken", ("nowhere", 4)), local("broken", "broken"),
              kueue("WorkloadPriorityClass", "prod", value=1000)):
        k("apply", "-f", "-", stdin=o)
    workloads = fleet.watch("workloads")
    k("create", "-f", "-", stdin=job("holder", "lq", "3"))
    workloads.await_state("holder admitted", of("holder", lambda o: is_true(o, "Admitted")))
    for name, queue_name, reason in (("waiter", "lq", "WaitingForQuota"),
                                     ("labelled", "gpus", "TopologyPlacementFailed"),
                                     ("lost", "broken", "Suspended")):
        k("create", "-f", "-", stdin=job(name, queue_name, "2", "prod"))
        workloads.await_state(f"{name} waits", of(name, waits(reason)))
    k("create", "-f", "-", stdin=job("short", "lq", "1", "prod", duration="1s"))
    workloads.await_state("short is over", of("short", lambda o: is_true(o, "Finished")))
    says(fleet.muster("why", "job/waiter").stdout,
         "position 1 of 1 in lq", "WHY    WaitingForQuota",
         "insufficient unused quota for cpu in flavor spot, 1 more needed",
         "QUEUE  lq, ClusterQueue cq, priority 1000 (prod)", "NO quota",
         "PREEMPTION finds nobody that the policies allow to preempt")
    says(fleet.muster("why", "job/labelled").stdout, "WHY    TopologyPlacementFailed", "ok quota",
         "0 of 1 have room (AffinityMismatch)", "quota fits")
    says(fleet.muster("why", "job/lost").stdout, "NO queue", "inactive, FlavorNotFound",
         "references missing ResourceFlavor(s): nowhere")
    rows = {line.split()[1]: line.split() for line in
            fleet.muster("jobs", "-n", "default").stdout.splitlines()[1:]}
    check(rows["waiter"][3:5] == ["lq", "1000"], "muster jobs: queue and the workload's priority",
          rows)
    check(rows["short"][3:5] == ["lq", "1000"], "and those of one that is over", rows["short"])


def story_who_uses_which_quota(fleet):
    """Cohorts and ClusterQueues with nominal, used, borrowed, pending, admitted"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")]))
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "spot", spec={}),
              queue("a", ("spot", 4), cohortName="team"),
              queue("b", ("spot", 4), cohortName="team"), local("la", "a")):
        k("apply", "-f", "-", stdin=o)
    workloads = fleet.watch("workloads")
    for name, cpu in (("one", "6"), ("two", "4")):
        k("create", "-f", "-", stdin=job(name, "la", cpu))
        workloads.await_state(f"{name} is looked at", of(name, lambda o: condition(
            o, "QuotaReserved") is not None))
    lines = [line.split() for line in fleet.muster("quota").stdout.splitlines()]
    rows = {(line[0], line[1]): line[2:] for line in lines[1:]}
    check(lines[0] == ["NODE", "RESOURCE", "MIN", "MAX", "USED", "BORROWED", "PENDING", "ADMITTED",
                       "SHARE"], "muster quota: columns", lines)
    check(rows[("team", "spot/cpu")][:4] == ["8", "8", "6", "0"], "the cohort", rows)
    check(rows[("a", "spot/cpu")][:6] == ["4", "8", "6", "2", "1", "1"],
          "a borrows 2, one waits, one is admitted", rows)
    shown = fleet.muster("queue").stdout
    check(any(line.split()[:5] == ["a", "ClusterQueue", "BestEffortFIFO", "0", "1"] and
              "default/two" in line for line in shown.splitlines()),
          "muster queue: who is next", shown)


def story_the_visibility_group_is_discovered(fleet):
    """kubectl finds the group, and means Kueue's own queues by their short names"""
    fleet.start_hub()
    for k in fleet.kubectls():
        versions = k("api-versions").split()
        for version in ("v1beta1", "v1beta2"):
            check(f"visibility.kueue.x-k8s.io/{version}" in versions, f"{k.version}: {version}")
            listed = json.loads(k("get", "--raw", f"/apis/visibility.kueue.x-k8s.io/{version}"))
            names = {(r["name"], r["namespaced"], r["kind"], tuple(r["verbs"]))
                     for r in listed["resources"]}
            check(("clusterqueues/pendingworkloads", False, "PendingWorkloadsSummary", ("get",))
                  in names and ("localqueues/pendingworkloads", True, "PendingWorkloadsSummary",
                                ("get",)) in names, f"{k.version}: what it answers", listed)
        done = k.run("get", "clusterqueues")
        check("No resources found" in done.stderr, f"{k.version}: kubectl get clusterqueues", done)
        check("No resources found" in k.run("get", "localqueues").stderr, "and localqueues")
        done = k.run("get", "clusterqueues.visibility.kueue.x-k8s.io")
        check(done.returncode == 1 and "could not find" in done.stderr,
              f"{k.version}: the question alone is none", done)


def story_nodes_are_preempted_where_quota_is_free(fleet):
    """Quota for both, nodes for one: low runs, high takes its nodes, low stops and comes back"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")])
    fleet.join(sim)
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}),
              queue("cq", ("f", 100), preemption={"withinClusterQueue": "LowerPriority"}),
              local("lq", "cq"), kueue("WorkloadPriorityClass", "low", value=10),
              kueue("WorkloadPriorityClass", "high", value=1000)):
        k("apply", "-f", "-", stdin=o)
    workloads, jobs = fleet.watch("workloads"), fleet.watch("jobs")

    def gang(name, duration):
        o = job(name, "lq", "6", name, duration)
        o["spec"].update(parallelism=2, completions=2)
        return o

    def ready(n):
        return lambda o: o.get("status", {}).get("ready") == n
    k("create", "-f", "-", stdin=gang("low", "300s"))
    jobs.await_object("low", "runs on both nodes", ready(2))
    k("create", "-f", "-", stdin=gang("high", "20s"))
    workloads.await_state("low is preempted and waits", of("low", lambda o: (
        condition(o, "Preempted") or {}).get("status") == "True" and not is_true(o, "Admitted")))
    jobs.await_object("high", "runs on its nodes", ready(2))
    says(fleet.muster("why", "job/low").stdout, "Job default/low: Queued", "ok quota", "NO placement",
         "WHY    TopologyPlacementFailed", "0 of 1 have room (InsufficientFree)", "quota fits")
    [w] = [o for o in fleet.client.items("workloads", "default")
           if o["metadata"]["name"].startswith("job-low-")]
    check((condition(w, "Evicted") or {}).get("reason") == "Preempted", "low was evicted for high",
          w["status"])
    copy = sim.client.get("jobs", "low")
    check(copy["spec"]["suspend"] is True, "its copy stays, suspended, without pods", copy["spec"])
    rows = {tuple(line.split()[:2]): line.split()[2:] for line in
            fleet.muster("quota").stdout.splitlines()[1:]}
    check(rows[("cq", "f/cpu")][2] == "12", "of 100 cpus of quota 12 are used", rows)
    jobs.await_object("high", "completes", lambda o: is_true(o, "Complete"))
    jobs.await_object("low", "runs again", ready(2))
    runs = [r for r in sim.runs() if r["pod"].startswith("low-")]
    check(len(runs) == 2 and all(r["result"] == "Killed" for r in runs),
          "its first pods were stopped, once each", runs)
    check(sim.client.get("jobs", "low")["metadata"]["uid"] == copy["metadata"]["uid"],
          "and the same copy was resumed")


if __name__ == "__main__":
    main(globals(), Fleet)
