#!/usr/bin/env python3
"""Ray's priority scheduling with Kueue as its guide tells it: a queue with quota for one RayJob, a
development job with its head and its submitter, two more that wait, and a production job that
takes the place of the one that runs."""

import json
import os
import re

from walk import EXAMPLES, check, in_order, of, only, people, rows, waits, without
from muster_test import Fleet, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

EXAMPLE = os.path.join(EXAMPLES, "ray.yaml")
QUEUE = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/ray/pendingworkloads"


def ray_job(prefix="dev-", level="development", duration="600s", mode=None, cpu="2", queue=True,
            name=None):
    """The example's RayJob, named by the server unless it is given a name."""
    text = only(EXAMPLE, "RayJob").replace("name: tune", f"name: {name}" if name else
                                           f"generateName: {prefix}")
    text = text.replace("priority-class: development", "priority-class: " + level)
    text = text.replace("template:\n        spec:", "template:\n        metadata:\n          "
                        f"annotations: {{muster.dev/sim-duration: {duration}}}\n        spec:")
    text = text.replace("requests: {cpu: 2,", f"requests: {{cpu: {cpu},")
    if mode:
        text = text.replace("  entrypoint:", f"  submissionMode: {mode}\n  entrypoint:")
    if not queue:
        text = re.sub(r"  labels:\n(    .*\n)+", "", text)
    return text


def start(fleet, config=None):
    fleet.start_hub(config=config)
    sim = fleet.start_sim("gpus", [make.node("gpu", count=3, gpus=1, cpu="8", memory="32Gi")])
    fleet.join(sim)
    return sim, *people(fleet)


def create(user, text):
    out = user("create", "-f", "-", stdin=text)
    found = re.fullmatch(r"rayjob.ray.io/(\S+) created\n", out)
    check(found, f"kubectl create: {out.strip()}", out)
    return found.group(1)


def is_running(o):
    return o.get("status", {}).get("jobStatus") == "RUNNING"


def pods(user):
    return rows(user("get", "pods"))[1]


def has_its_two_pods(user, name, states=("Running", "Running")):
    table = pods(user)
    submitters = [n for n in table if re.fullmatch(name + "-[a-z0-9]{5}", n)]
    heads = [n for n in table if n.startswith(name + "-") and "-head-" in n]
    check(len(table) == 2 and len(submitters) == len(heads) == 1 and
          (table[submitters[0]]["STATUS"], table[heads[0]]["STATUS"]) == states and
          table[heads[0]]["READY"] == "1/1", f"kubectl get pods: {name}'s submitter and its head",
          table)


def story_the_guide_from_top_to_bottom(fleet):
    """Quota for one: a job runs and is deleted, of three two wait, production goes before"""
    sim, admin, user = start(fleet)
    created = admin("apply", "-f", "-", stdin=without(EXAMPLE, "RayJob"))
    check(in_order(created, "resourceflavor.kueue.x-k8s.io/gpu-node created",
                   "clusterqueue.kueue.x-k8s.io/ray created",
                   "localqueue.kueue.x-k8s.io/ray created",
                   "workloadpriorityclass.kueue.x-k8s.io/production created",
                   "workloadpriorityclass.kueue.x-k8s.io/development created"),
          "the admin makes the queue and two classes", created)
    user.refused("who sends jobs does not divide the fleet", "is forbidden", "apply", "-f", "-",
                 stdin=without(EXAMPLE, "RayJob"))
    jobs, workloads = fleet.watch("rayjobs"), fleet.watch("workloads")
    queues = fleet.watch("clusterqueues")

    # One job.
    first = create(user, ray_job(duration="15s"))
    jobs.await_object(first, "runs", is_running)
    has_its_two_pods(user, first)
    head, table = rows(user("get", "rayjobs.ray.io"))
    check(head == ["NAME", "JOB STATUS", "DEPLOYMENT STATUS", "RAY CLUSTER NAME", "START TIME",
                   "END TIME", "AGE"] and table[first]["JOB STATUS"] == "RUNNING" and
          table[first]["RAY CLUSTER NAME"].startswith(first + "-"), "kubectl get rayjobs", table)
    jobs.await_object(first, "is complete",
                      lambda o: o["status"].get("jobDeploymentStatus") == "Complete")
    for path, word in (("jobStatus", "SUCCEEDED"), ("jobDeploymentStatus", "Complete")):
        shown = user("get", "rayjobs.ray.io", first, "-o", f"jsonpath={{.status.{path}}}")
        check(shown == word, f"its {path} is {word}", shown)
    told = user("describe", "rayjob", first)
    check(in_order(told, "CreatedWorkload", "Created Workload: default/rayjob-" + first,
                   "Admitted by clusterQueue ray"), "kubectl describe tells its way", told)
    out = user("delete", "rayjob", first)
    check(out.startswith(f'rayjob.ray.io "{first}" deleted'), "it is deleted", out)
    fleet.watch("pods").await_state("its pods are gone", lambda objects: not objects)

    # Three of them.
    names = []
    for _ in range(3):
        names.append(create(user, ray_job()))
        workloads.await_state(f"{names[-1]} has a Workload", of(names[-1], lambda o: True))
    jobs.await_object(names[0], "runs", is_running)
    queues.await_object("ray", "two wait", lambda o: o["status"]["pendingWorkloads"] == 2 and
                        o["status"]["admittedWorkloads"] == 1, namespace="")
    head, table = rows(admin("get", "clusterqueue"))
    check(head == ["NAME", "COHORT", "PENDING WORKLOADS"] and
          table["ray"] == {"NAME": "ray", "COHORT": "", "PENDING WORKLOADS": "2"},
          "kubectl get clusterqueue: two wait", table)
    old = json.loads(admin("get", "clusterqueues.v1beta1.kueue.x-k8s.io", "ray", "-o", "json"))
    usage = [{"name": "gpu-node", "resources": [
        {"borrowed": "0", "name": "cpu", "total": "2"},
        {"borrowed": "0", "name": "memory", "total": "7812500Ki"},
        {"borrowed": "0", "name": "nvidia.com/gpu", "total": "1"}]}]
    status = old["status"]
    check(old["apiVersion"] == "kueue.x-k8s.io/v1beta1" and status["flavorsReservation"] == usage
          and status["flavorsUsage"] == usage and [status[f"{n}Workloads"] for n in (
              "admitted", "pending", "reserving")] == [1, 2, 1],
          "its status counts one job's resources, one admitted, two pending", status)
    head, table = rows(user("get", "workloads"))
    check(head == ["NAME", "QUEUE", "RESERVED IN", "ADMITTED", "FINISHED", "AGE"],
          "kubectl get workloads", head)
    by_job = {n.removeprefix("rayjob-")[:-6]: row for n, row in table.items()}
    check([(by_job[n]["RESERVED IN"], by_job[n]["ADMITTED"]) for n in names[:1]] == [
        ("ray", "True")] and all(not by_job[n]["RESERVED IN"] for n in names[1:]),
          "the oldest runs, the two others wait", table)
    for n in names[1:]:
        o = fleet.client.get("rayjobs", n)
        check(o["spec"]["suspend"] is True and not is_running(o), f"{n} is suspended", o)
    has_its_two_pods(user, names[0])
    # The second was looked at and told why; the third is not looked at before it.
    workloads.await_state("the second is told why", of(names[1], waits))
    why = user.muster("why", "rayjob/" + names[1])
    check("WHY    WaitingForQuota" in why and
          "insufficient unused quota for cpu in flavor gpu-node, 2 more needed" in why and
          "position 1 of 2 in ray" in why and "priority 100 (development)" in why,
          "muster why tells the second what it waits for", why)

    # Production.
    prod = create(user, ray_job("prod-", "production"))
    jobs.await_object(prod, "runs", is_running)
    has_its_two_pods(user, prod)
    victim = workloads.await_state("the oldest waits again", of(names[0], lambda o: is_true(
        o, "Preempted") and not is_true(o, "Admitted")))
    check(condition(victim, "Evicted")["reason"] == "Preempted" and
          condition(victim, "Preempted")["reason"] == "InClusterQueue" and
          is_true(victim, "Requeued"), "it was preempted in its queue", victim["status"])
    told = user("describe", "rayjob", names[0])
    check("Preempted to accommodate a workload" in told and "Suspend:" in told and
          re.search(r"Job Deployment Status:\s+Suspended", told),
          "kubectl describe tells its user", told)
    told = user("describe", "workload", victim["metadata"]["name"])
    check("EvictedDueToPreempted" in told, "and of the Workload", told)
    waiting = json.loads(admin("get", "--raw", QUEUE))["items"]
    check([i["metadata"]["name"].removeprefix("rayjob-")[:-6] for i in waiting] == names,
          "the three wait in the order of their ages: the oldest kept its place", waiting)
    check([i["priority"] for i in waiting] == [100] * 3, "with their class's priority", waiting)
    user("delete", "rayjob", prod)
    jobs.await_object(names[0], "runs again when production is done", lambda o: is_running(o) and
                      o["spec"]["suspend"] is False)
    runs = [r for r in sim.runs() if "-head-" in r["pod"]]
    for a in runs:
        check(all(a is b or a["end"] <= b["start"] or b["end"] <= a["start"] for b in runs),
              f"no head ran beside {a['pod']}")


def story_how_a_job_is_submitted(fleet):
    """A pod of its own, the operator over HTTP, a container beside the head, a person"""
    _, _, user = start(fleet)
    jobs = fleet.watch("rayjobs")
    for mode, containers in (("K8sJobMode", {"submitter": ["ray-job-submitter"],
                                             "ray-head": ["ray-head"]}),
                             ("HTTPMode", {"ray-head": ["ray-head"]}),
                             ("SidecarMode", {"ray-head": ["ray-head", "ray-job-submitter"]})):
        name = "by-" + mode.lower()
        create(user, ray_job(name=name, mode=mode, queue=False))
        jobs.await_object(name, "runs", is_running)
        seen = {p["metadata"]["labels"]["muster.dev/pod-set"]:
                [c["name"] for c in p["spec"]["containers"]]
                for p in fleet.client.items("pods", "default")}
        check(seen == containers, f"{mode}: its pods and containers", seen)
        user("delete", "rayjob", name)
        fleet.watch("pods").await_state("they are gone", lambda objects: not objects)
    create(user, ray_job(name="by-hand", mode="InteractiveMode", queue=False))
    jobs.await_object("by-hand", "waits for a person", lambda o: o.get("status", {}).get(
        "jobDeploymentStatus") == "Waiting")
    user("patch", "rayjob", "by-hand", "--type=merge", "-p", '{"spec":{"jobId":"mine"}}')
    jobs.await_object("by-hand", "runs when they have submitted it", is_running)
    user.refused("a template and the container beside the head", "may not be set with "
                 "submissionMode SidecarMode", "create", "-f", "-", stdin=ray_job(
                     mode="SidecarMode", queue=False).replace(
                         "  entrypoint:", "  submitterPodTemplate: {spec: {containers: "
                         "[{name: c, image: i}]}}\n  entrypoint:"))


def story_what_submits_has_room(fleet):
    """Quota leaves the submitter's pod out, nodes do not: a head that fills its cluster waits"""
    fleet.start_hub()
    small = fleet.start_sim("small", [make.node("gpu", gpus=1, cpu="2", memory="32Gi")])
    fleet.join(small)
    admin, user = people(fleet)
    admin("apply", "-f", "-", stdin=without(EXAMPLE, "RayJob"))
    workloads = fleet.watch("workloads")
    create(user, ray_job(name="full"))
    workloads.await_state("it is told that no cluster has room", of("full", lambda o: (
        condition(o, "QuotaReserved") or {}).get("reason") == "TopologyPlacementFailed"))
    why = user.muster("why", "rayjob/full")
    check(in_order(why, "BESIDE the submitter's pod needs room on the same cluster: cpu 500m, "
                   "memory 200Mi", "needs 2500m cpu, all matching nodes together have 2"),
          "muster why counts its submitter", why)
    queue = json.loads(admin("get", "clusterqueue", "ray", "-o", "json"))
    check(queue["status"].get("reservingWorkloads", 0) == 0, "it holds no quota", queue["status"])
    fleet.join(fleet.start_sim("large", [make.node("gpu", gpus=1, cpu="3", memory="32Gi")]))
    fleet.watch("rayjobs").await_object("full", "runs where both pods fit", is_running)
    has_its_two_pods(user, "full")
    usage = json.loads(admin("get", "clusterqueue", "ray", "-o", "json"))["status"]
    check({"name": "cpu", "total": "2", "borrowed": "0"} in usage["flavorsUsage"][0]["resources"],
          "with the quota of its head alone", usage)
    check(small.runs() == [], "nothing was started on the other")


def story_what_submits_may_count(fleet):
    """countRaySubmitter, and a container beside the head: 2.5 cpus are never to be had of 2"""
    _, admin, user = start(fleet, config={"kueue": {"countRaySubmitter": True}})
    admin("apply", "-f", "-", stdin=without(EXAMPLE, "RayJob"))
    workloads = fleet.watch("workloads")
    for name, mode, sets in (("counted", "K8sJobMode", ["head", "submitter"]),
                             ("beside", "SidecarMode", ["head"])):
        create(user, ray_job(name=name, mode=mode))
        o = workloads.await_state(f"{name} waits", of(name, waits))
        check([s["name"] for s in o["spec"]["podSets"]] == sets, f"{name}: its pod sets",
              o["spec"]["podSets"])
        check(condition(o, "QuotaReserved")["reason"] == "ExceedsMaxQuota" and
              "insufficient quota for cpu in flavor gpu-node" in
              condition(o, "QuotaReserved")["message"], f"{name}: it is told that it never fits",
              o["status"])
    create(user, ray_job(name="smaller", cpu="1500m").replace("memory: 8G", "memory: 7G"))
    fleet.watch("rayjobs").await_object("smaller", "fits with its submitter", is_running)


if __name__ == "__main__":
    main(globals(), Fleet)
