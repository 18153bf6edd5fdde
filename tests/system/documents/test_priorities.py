#!/usr/bin/env python3
"""The guide to priorities for AI workloads on one fleet: Kueue's queue alone, hot-swap alone, and
both together with a node that fails under the job of high priority; its quota for both jobs, and
for one of them."""

import json
import os

from walk import EXAMPLES, check, documents_of, in_order, of, only, operator, people, rows, waits, \
    without
from muster_test import Fleet, main
from muster_test.client import until
from muster_test.watch import condition, is_true
from test_hotswap import POOL, member_kubectl, pool, running, set_ready, told

EXAMPLE = os.path.join(EXAMPLES, "hotswap.yaml")
WARNINGS = ("spec.namespaceSelector: missing", "coveredResources: missing",
            "reclaimOutOfCohort: not a setting")


def start(fleet, pools):
    fleet.start_hub()
    sim = fleet.start_sim("tpu", [pool(i) for i in range(pools)])
    fleet.join(sim)
    return sim, member_kubectl(fleet, sim), *people(fleet)


def job_set(name, queue=True, duration="600s", namespace=None):
    [text] = [t for kind, t in documents_of(EXAMPLE)
              if kind == "JobSet" and f"  name: {name}\n" in t]
    text = text.replace("            labels:\n", "            annotations: {muster.dev/sim-duration: "
                        f"{duration}}}\n            labels:\n")
    if namespace:
        text = text.replace(f"  name: {name}\n", f"  name: {name}\n  namespace: {namespace}\n")
    return text if queue else text.replace("    kueue.x-k8s.io/queue-name: training\n", "")


def runs(fleet, name):
    until(f"{name} runs", lambda: sum(running(fleet, name).values()) == 8)
    nodes = running(fleet, name)
    check(len(nodes) == 8 and len({n.rsplit("-", 1)[0] for n in nodes}) == 2,
          f"{name} runs on two whole pools", nodes)
    return nodes


def fail(member, node):
    """The node's kubelet falls silent, and its whole slice is kept from new pods until repaired."""
    nodes = [f"{node.rsplit('-', 1)[0]}-{i}" for i in range(4)]
    member("cordon", *nodes)
    set_ready(member, node, False)
    return nodes


def repair(member, node, nodes):
    set_ready(member, node, True)
    member("uncordon", *nodes)


def statuses(user, name):
    table = rows(user("get", "pods"))[1]
    return [r["STATUS"] for n, r in table.items() if n.startswith(name + "-")]


def apply_queue(admin, text=None):
    done = admin.run("apply", "-f", "-", stdin=text or without(EXAMPLE, "JobSet"))
    check(done.returncode == 0 and in_order(
        done.stdout, "resourceflavor.kueue.x-k8s.io/v6e created",
        "clusterqueue.kueue.x-k8s.io/training created",
        "localqueue.kueue.x-k8s.io/training created"), "the admin makes the queue", done)
    return done.stderr


def story_kueue_alone(fleet):
    """No namespaceSelector, no coveredResources: all namespaces, one resource, each with a Warning"""
    _, _, admin, user = start(fleet, 2)
    warned = apply_queue(admin)
    for words in WARNINGS:
        check(words in warned, "a Warning: " + words, warned)
    queue = fleet.client.get("clusterqueues", "training")
    [group] = queue["spec"]["resourceGroups"]
    check(group["coveredResources"] == ["google.com/tpu"] and
          queue["spec"]["namespaceSelector"] == {},
          "the queue covers what its flavor names, for all namespaces", queue["spec"])
    workloads = fleet.watch("workloads")
    user("apply", "-f", "-", stdin=job_set("background"))
    o = workloads.await_state("the annotation names its queue", of("background", lambda o: is_true(
        o, "Admitted")))
    check(o["spec"]["queueName"] == "training" and
          o["status"]["admission"]["podSetAssignments"][0]["flavors"] == {"google.com/tpu": "v6e"}
          and o["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] == {
              "google.com/tpu": "32"}, "it was admitted with 32 of 64 chips", o)
    k = operator(fleet)
    k("create", "namespace", "other")
    local = only(EXAMPLE, "LocalQueue").replace("namespace: default", "namespace: other")
    admin("apply", "-f", "-", stdin=local)
    k("apply", "-f", "-", stdin=job_set("background", namespace="other"))
    workloads.await_state("a job of another namespace has its quota as well", lambda objects: any(
        o["metadata"]["namespace"] == "other" and condition(o, "QuotaReserved") for o in
        objects.values()))
    o = next(o for o in workloads.objects.values() if o["metadata"]["namespace"] == "other")
    check(condition(o, "QuotaReserved").get("reason") == "TopologyPlacementFailed",
          "the quota is there, the nodes are not: two pools are taken", o["status"])


def story_no_selector_means_none_in_the_new_version(fleet):
    """In v1beta2 a queue without namespaceSelector keeps its meaning: it takes nobody, and says so"""
    _, _, admin, user = start(fleet, 2)
    apply_queue(admin)
    old = fleet.client.get("clusterqueues", "training")
    spec = {k: v for k, v in old["spec"].items() if k != "namespaceSelector"}
    done = admin.run("apply", "-f", "-", stdin=json.dumps({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue",
        "metadata": {"name": "nobody"}, "spec": spec}))
    check(done.returncode == 0 and "namespaceSelector" not in done.stderr, "it goes in", done)
    admin("apply", "-f", "-", stdin=only(EXAMPLE, "LocalQueue").replace("training", "nobody"))
    user("apply", "-f", "-", stdin=job_set("background").replace(
        "queue-name: training", "queue-name: nobody"))
    text = "workload namespace doesn't match ClusterQueue selector"
    fleet.watch("workloads").await_state("its job is told", of(
        "background", lambda o: text in condition(o, "QuotaReserved").get("message", "")))
    check(text in user.muster("why", "jobset/background"), "muster why says: " + text)


def story_hot_swap_alone(fleet):
    """No queue: the node of a high-priority job fails, the low one gives way, and comes back"""
    _, member, admin, user = start(fleet, 4)
    made = admin("apply", "-f", "-", stdin=only(EXAMPLE, "PriorityClass"))
    check(in_order(made, "priorityclass.scheduling.k8s.io/background created",
                   "priorityclass.scheduling.k8s.io/urgent created"), "two classes", made)
    for name in ("background", "urgent"):
        user("apply", "-f", "-", stdin=job_set(name, queue=False))
        runs(fleet, name)
    node = sorted(running(fleet, "urgent"))[0]
    nodes = fail(member, node)
    said = told(fleet, "urgent", "HotSwap")
    check(f"node {node} is not ready" in said and "JobSet default/background (priority 1000)" in
          said, "the high one is told whose room it takes", said)
    until("it left the broken pool", lambda: not set(nodes) & set(running(fleet, "urgent")))
    runs(fleet, "urgent")
    check("JobSet default/urgent (priority 2000)" in told(fleet, "background", "Preempted"),
          "the low one is told for whom")
    until("no pod of it is left", lambda: not statuses(user, "background"))
    why = user.muster("why", "jobset/background")
    check("WHY    InsufficientFree" in why and "needs 32 google.com/tpu, 16 free on 12 matching "
          "nodes (4 more cordoned or not ready)" in why, "muster why: it waits for nodes", why)
    repair(member, node, nodes)
    runs(fleet, "background")
    check(sum(running(fleet, "urgent").values()) == 8, "beside the high one")


def story_a_spare_pool_is_taken_first(fleet):
    """With a pool to spare nobody is preempted"""
    _, member, admin, user = start(fleet, 5)
    admin("apply", "-f", "-", stdin=only(EXAMPLE, "PriorityClass"))
    for name in ("background", "urgent"):
        user("apply", "-f", "-", stdin=job_set(name, queue=False))
        runs(fleet, name)
    before = running(fleet, "background")
    node = sorted(running(fleet, "urgent"))[0]
    nodes = fail(member, node)
    until("it left the broken pool", lambda: not set(nodes) & set(running(fleet, "urgent")))
    runs(fleet, "urgent")
    check(running(fleet, "background") == before, "the low one ran on where it was", before)


def story_both_together(fleet):
    """Quota for both: the high one's node fails, the low one is preempted, requeued, and returns"""
    _, member, admin, user = start(fleet, 4)
    apply_queue(admin)
    user("apply", "-f", "-", stdin=job_set("background"))
    runs(fleet, "background")
    user("apply", "-f", "-", stdin=job_set("urgent"))
    runs(fleet, "urgent")
    head, table = rows(user("get", "workloads"))
    check({n.removeprefix("jobset-")[:-6]: (r["QUEUE"], r["RESERVED IN"], r["ADMITTED"])
           for n, r in table.items()} == {n: ("training", "training", "True")
                                          for n in ("background", "urgent")},
          "kubectl get workloads: both are admitted", table)
    workloads = fleet.watch("workloads")
    node = sorted(running(fleet, "urgent"))[0]
    nodes = fail(member, node)
    o = workloads.await_state("the low one waits in its queue", of("background", lambda o: is_true(
        o, "Preempted") and not is_true(o, "Admitted") and is_true(o, "Requeued")))
    check(condition(o, "Evicted")["reason"] == "Preempted", "evicted, its place kept", o["status"])
    until("it left the broken pool", lambda: not set(nodes) & set(running(fleet, "urgent")))
    runs(fleet, "urgent")
    fleet.watch("jobsets").await_object(
        "urgent", "was restarted by its own controller, once and within maxRestarts",
        lambda o: o["status"].get("restarts") == 1)
    head, table = rows(user("get", "workloads"))
    check({n.removeprefix("jobset-")[:-6]: r["ADMITTED"] for n, r in table.items()} ==
          {"background": "False", "urgent": "True"}, "kubectl get workloads: one waits", table)
    shown = user("describe", "jobset", "background")
    check("Preempted" in shown and "default/urgent" in shown, "kubectl describe tells for whom",
          shown)
    repair(member, node, nodes)
    workloads.await_state("the low one is admitted again", of("background", lambda o: is_true(
        o, "Admitted")))
    runs(fleet, "background")
    check(sum(running(fleet, "urgent").values()) == 8, "beside the high one")


def story_quota_for_one_of_them(fleet):
    """32 chips of quota, as the guide has it: the second waits, says why, and runs afterwards"""
    _, _, admin, user = start(fleet, 4)
    apply_queue(admin, without(EXAMPLE, "JobSet").replace("nominalQuota: 64", "nominalQuota: 32"))
    workloads = fleet.watch("workloads")
    user("apply", "-f", "-", stdin=job_set("background", duration="20s"))
    runs(fleet, "background")
    user("apply", "-f", "-", stdin=job_set("urgent", duration="5s"))
    o = workloads.await_state("urgent waits", of("urgent", waits))
    check(condition(o, "QuotaReserved")["reason"] == "WaitingForQuota" and
          "insufficient unused quota for google.com/tpu in flavor v6e, 32 more needed" in
          condition(o, "QuotaReserved")["message"], "it is told what it waits for", o["status"])
    why = user.muster("why", "jobset/urgent")
    check("WHY    WaitingForQuota" in why and "priority 2000 (urgent)" in why and
          "PREEMPTION finds nobody that the policies allow to preempt" in why,
          "muster why: its priority alone preempts nobody in this queue", why)
    sets = fleet.watch("jobsets")
    for name in ("background", "urgent"):
        sets.await_object(name, "completes", lambda o: is_true(o, "Completed"))


if __name__ == "__main__":
    main(globals(), Fleet)
