#!/usr/bin/env python3
"""TPU multislice with JobSet and Kueue as its tutorial tells it, in the form without and with the
host's network: the queue, three JobSets in the order of the tutorial's ages, what is seen of them,
the queue with preemption and a priority class, and the way back."""

import json
import os
import re

from walk import EXAMPLES, check, documents_of, in_order, of, only, people, rows, waits, without
from muster_test import Fleet, main
from muster_test.programs import most_at_once
from muster_test.watch import condition, is_true
from test_multislice import check_pools, pool, runs_of

EXAMPLE = os.path.join(EXAMPLES, "multislice.yaml")
PREEMPTION = "  preemption:\n    reclaimWithinCohort: Any\n    withinClusterQueue: LowerPriority\n"
PRIORITY = "            priorityClassName: patient\n"


def queues(preemption):
    text = only(EXAMPLE, "ResourceFlavor", "ClusterQueue", "LocalQueue") + "\n"
    return text if preemption else text.replace(PREEMPTION, "")


def job_set(slices, duration, standard=False, name=None, priority=False):
    [text] = [t for kind, t in documents_of(EXAMPLE) if f"  name: slices-{slices}\n" in t]
    text = text.replace(PRIORITY, "")
    if name:
        text = text.replace(f"name: slices-{slices}\n", f"name: {name}\n")
    more = PRIORITY if priority else ""
    if standard:
        more += "            hostNetwork: true\n            dnsPolicy: ClusterFirstWithHostNet\n"
        text = text.replace("            - name: train\n", "            - name: train\n"
                            "              securityContext: {privileged: true}\n")
    return text.replace(
        "        template:\n          spec:\n", "        template:\n          metadata: {annotations:"
        f" {{muster.dev/sim-duration: {duration}}}}}\n          spec:\n{more}")


def admitted(o):
    return is_true(o, "Admitted")


def pods_of(user, name):
    return {n: r for n, r in rows(user("get", "pods"))[1].items() if n.startswith(name + "-")}


def check_pods(user, slices, status):
    table = pods_of(user, f"slices-{slices}")
    jobs = {n.rsplit("-", 2)[0] for n in table}
    check(len(table) == 2 * slices and {r["STATUS"] for r in table.values()} == {status} and
          jobs == {f"slices-{slices}-slice-{i}" for i in range(slices)} and
          {r["READY"] for r in table.values()} == {"1/1" if status == "Running" else "0/1"},
          f"kubectl get pods: {2 * slices} of slices-{slices} are {status}", table)


def await_running(fleet, *slices):
    def run(objects):
        return all(sum(o["metadata"]["name"].startswith(f"slices-{n}-") and
                       o["status"].get("phase") == "Running" for o in objects.values()) == 2 * n
                   for n in slices)
    fleet.watch("pods").await_state(f"the pods of {slices} run", run)


def check_form(sim, standard):
    for pod in sim.client.items("pods", "default"):
        spec = pod["spec"]
        form = (spec.get("hostNetwork"), spec.get("dnsPolicy", "ClusterFirst"),
                spec["containers"][0].get("securityContext"))
        want = (True, "ClusterFirstWithHostNet", {"privileged": True}) if standard else \
            (None, "ClusterFirst", None)
        check(form == want, f"the member's pod {pod['metadata']['name']} is in its form", spec)


def the_walk(fleet, standard):
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(3)])
    fleet.join(sim)
    admin, user = people(fleet)

    # The queue.
    created = admin("apply", "-f", "-", stdin=queues(preemption=False))
    check(in_order(created, "resourceflavor.kueue.x-k8s.io/v5e-2x4 created",
                   "clusterqueue.kueue.x-k8s.io/slices created",
                   "localqueue.kueue.x-k8s.io/slices created"), "the admin makes the queue",
          created)
    workloads, sets = fleet.watch("workloads"), fleet.watch("jobsets")

    # Three JobSets, the largest the oldest.
    created = user("apply", "-f", "-", stdin="\n---\n".join(
        job_set(n, duration, standard) for n, duration in ((3, "20s"), (2, "15s"), (1, "15s"))))
    check(in_order(created, *(f"jobset.jobset.x-k8s.io/slices-{n} created" for n in (3, 2, 1))),
          "the user applies three JobSets", created)
    workloads.await_state("slices-3 is admitted", of("slices-3", admitted))
    for n in (2, 1):
        o = workloads.await_state(f"slices-{n} waits", of(f"slices-{n}", waits))
        check(condition(o, "QuotaReserved")["reason"] == "WaitingForQuota" and
              "insufficient unused quota for google.com/tpu in flavor v5e-2x4, "
              f"{8 * n} more needed" in condition(o, "QuotaReserved")["message"],
              f"slices-{n} is told what it waits for", o["status"])
    head, table = rows(user("get", "workloads"))
    by_job = {n.removeprefix("jobset-")[:-6]: r for n, r in table.items()}
    check(head == ["NAME", "QUEUE", "RESERVED IN", "ADMITTED", "FINISHED", "AGE"] and
          all(re.fullmatch(r"jobset-slices-\d-[0-9a-f]{5}", n) for n in table) and
          {n: (r["QUEUE"], r["RESERVED IN"]) for n, r in by_job.items()} ==
          {"slices-3": ("slices", "slices"), "slices-2": ("slices", ""),
           "slices-1": ("slices", "")}, "kubectl get workloads: one has its quota, two wait", table)
    pending = json.loads(admin("get", "--raw", "/apis/visibility.kueue.x-k8s.io/v1beta2/"
                               "clusterqueues/slices/pendingworkloads"))["items"]
    check([i["metadata"]["name"][:-6] for i in pending] == ["jobset-slices-2", "jobset-slices-1"],
          "they wait in the order of their ages", pending)
    why = user.muster("why", "jobset/slices-1")
    check("position 2 of 2 in slices" in why and "WHY    WaitingForQuota" in why,
          "muster why tells the youngest its place", why)
    await_running(fleet, 3)
    check_pods(user, 3, "Running")
    check(not pods_of(user, "slices-2") and not pods_of(user, "slices-1"), "the others have none")
    check_form(sim, standard)
    await_running(fleet, 2, 1)
    check_pods(user, 3, "Completed")
    check_pods(user, 2, "Running")
    check_pods(user, 1, "Running")
    for n in (3, 2, 1):
        sets.await_object(f"slices-{n}", "completes", lambda o: is_true(o, "Completed"))
    runs = {n: runs_of(sim, f"slices-{n}") for n in (3, 2, 1)}
    check([len(runs[n]) for n in (3, 2, 1)] == [6, 4, 2], "every pod ran once", runs)
    end = min(r["end"] for r in runs[3])
    check(all(r["start"] >= end for n in (2, 1) for r in runs[n]) and
          most_at_once(runs[3] + runs[2] + runs[1]) <= 6,
          "slices-3 ran alone, until its slices ended", runs)
    check_pools(runs[3], "slices-3")
    check_pools(runs[2] + runs[1], "slices-2 and slices-1")
    workloads.await_state("all are finished", lambda objects: len(objects) == 3 and all(
        is_true(o, "Finished") for o in objects.values()))
    head, table = rows(user("get", "workloads"))
    check({r["FINISHED"] for r in table.values()} == {"True"}, "kubectl get workloads: finished",
          table)
    user("delete", "jobset", "slices-3", "slices-2", "slices-1")

    # Priority and preemption.
    changed = admin("apply", "-f", "-", stdin=queues(preemption=True))
    check("clusterqueue.kueue.x-k8s.io/slices configured" in changed and
          "resourceflavor.kueue.x-k8s.io/v5e-2x4 unchanged" in changed,
          "the admin lets the queue preempt", changed)
    made = admin("apply", "-f", "-", stdin=only(EXAMPLE, "PriorityClass"))
    check("priorityclass.scheduling.k8s.io/patient created" in made, "and makes a class", made)
    user("apply", "-f", "-", stdin=job_set(3, "12s", standard))
    await_running(fleet, 3)
    user("apply", "-f", "-", stdin=job_set(1, "3s", standard, "low-priority", True))
    low = workloads.await_state("low-priority is admitted", of("low-priority", admitted))
    check(low["spec"]["priority"] == 100 and low["spec"]["priorityClassRef"]["name"] == "patient",
          "its Workload has the value of the pods' class", low["spec"])
    workloads.await_state("slices-3 gives way and waits", of(
        "slices-3", lambda o: is_true(o, "Preempted") and not admitted(o)))
    told = user("describe", "jobset", "slices-3")
    check("Preempted to accommodate a workload" in told, "kubectl describe tells its user", told)
    for name in ("low-priority", "slices-3"):
        sets.await_object(name, "completes", lambda o: is_true(o, "Completed"))
    first = runs_of(sim, "low-priority")
    anew = [r for r in runs_of(sim, "slices-3") if r["start"] >= max(e["end"] for e in first)]
    check(len(first) == 2 and len(anew) == 6 and all(r["result"] == "Succeeded" for r in anew),
          "slices-3 began anew when low-priority had ended", anew)
    check_pools(anew, "slices-3")

    # The way back.
    user("delete", "jobset", "--all")
    admin("delete", "localqueue", "slices", "-n", "default")
    admin("delete", "clusterqueue", "slices")
    admin("delete", "resourceflavor", "v5e-2x4")
    admin("delete", "priorityclass", "patient")
    left = admin("get", "localqueues,clusterqueues,resourceflavors,workloads", "-A", "-o", "name")
    check(left == "", "nothing is left of the queue", left)
    fleet.watch("jobs", client=sim.client).await_state("nor on the member",
                                                       lambda objects: not objects)


def story_the_tutorial_from_top_to_bottom(fleet):
    """3slice alone, then 1slice and 2slice together; then by priority; then all is deleted"""
    the_walk(fleet, standard=False)


def story_the_same_in_the_standard_form(fleet):
    """The same with the host's network, its DNS policy and privileged containers"""
    the_walk(fleet, standard=True)


def story_in_the_order_of_the_manifest(fleet):
    """1slice and 2slice first, as the manifest lists them: then it is 3slice that waits for both"""
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(3)])
    fleet.join(sim)
    admin, user = people(fleet)
    admin("apply", "-f", "-", stdin=queues(preemption=False))
    workloads = fleet.watch("workloads")
    user("apply", "-f", "-", stdin="\n---\n".join(job_set(n, "5s") for n in (1, 2, 3)))
    for n in (1, 2):
        workloads.await_state(f"slices-{n} is admitted", of(f"slices-{n}", admitted))
    o = workloads.await_state("slices-3 waits", of("slices-3", waits))
    check("24 more needed" in condition(o, "QuotaReserved")["message"], "for all of the quota",
          o["status"])
    fleet.watch("jobsets").await_object("slices-3", "completes",
                                        lambda o: is_true(o, "Completed"))
    end = max(r["end"] for n in (1, 2) for r in runs_of(sim, f"slices-{n}"))
    check(all(r["start"] >= end for r in runs_of(sim, "slices-3")), "it ran when both had ended")


def story_the_example_as_it_stands(fleet):
    """deploy/examples/kueue/multislice.yaml: a class of its own, and all three JobSets complete"""
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(3)], time_scale=20)
    fleet.join(sim)
    admin, user = people(fleet)
    admin("apply", "-f", "-", stdin=without(EXAMPLE, "JobSet"))
    user("apply", "-f", "-", stdin=only(EXAMPLE, "JobSet"))
    sets = fleet.watch("jobsets")
    for n in (3, 2, 1):
        sets.await_object(f"slices-{n}", "completes", lambda o: is_true(o, "Completed"))


if __name__ == "__main__":
    main(globals(), Fleet)
