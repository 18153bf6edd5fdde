#!/usr/bin/env python3
"""The guide to nodes that an autoscaler queues for batch jobs: a queue whose check asks for them, a
sample job, the same by hand with a PodTemplate and a request, every state that a request may have,
and how it is cancelled."""

import os
import re

from walk import EXAMPLES, check, documents_of, in_order, of, only, operator, people, rows
from muster_test import Fleet, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import condition, is_true
from test_provisioning import CLASS, CONSUME, lacks, plain, pool

EXAMPLE = os.path.join(EXAMPLES, "queued-provisioning.yaml")
QUEUE = ("ResourceFlavor", "AdmissionCheck", "ProvisioningRequestConfig", "ClusterQueue",
         "LocalQueue")


def start(fleet, *pools, time_scale=1):
    fleet.start_hub(config={"provisioning": {"discovery": "2s"}})
    sim = fleet.start_sim("gpus", [plain(), *pools], time_scale=time_scale)
    fleet.join(sim)
    return sim, *people(fleet)


def job(name="queued-sample", duration="3s", node_pool="queued", gpus=None, namespace="default"):
    """The example's job of that name, as one that runs so long."""
    base = "by-hand" if name == "by-hand" else "queued-sample"
    [text] = [t for kind, t in documents_of(EXAMPLE)
              if kind == "Job" and f"  name: {base}\n" in t]
    text = text.replace(f"  name: {base}\n", f"  name: {name}\n")
    text = text.replace("  template:\n    spec:\n", "  template:\n    metadata:\n      annotations: "
                        f"{{muster.dev/sim-duration: {duration}}}\n    spec:\n")
    text = text.replace("      annotations:\n        autoscaling", "      annotations:\n        "
                        f"muster.dev/sim-duration: {duration}\n        autoscaling")
    text = text.replace("cloud.google.com/gke-nodepool: queued",
                        f"cloud.google.com/gke-nodepool: {node_pool}")
    if gpus:
        text = text.replace("nvidia.com/gpu: 1", f"nvidia.com/gpu: {gpus}")
    return text.replace("namespace: default", f"namespace: {namespace}")


def request(name="by-hand", node_pool="queued", count=2, run=3600):
    """The example's PodTemplate and ProvisioningRequest."""
    text = only(EXAMPLE, "PodTemplate", "ProvisioningRequest")
    text = text.replace("by-hand", name).replace("count: 2", f"count: {count}")
    text = text.replace('"3600"', f'"{run}"')
    return text.replace("cloud.google.com/gke-nodepool: queued",
                        f"cloud.google.com/gke-nodepool: {node_pool}")


def make_queue(admin, retries=""):
    out = admin("create", "-f", "-", stdin=only(EXAMPLE, *QUEUE).replace(
        "  managedResources: [nvidia.com/gpu]\n",
        "  managedResources: [nvidia.com/gpu]\n" + retries))
    check(in_order(out, "resourceflavor.kueue.x-k8s.io/queued-pool created",
                   "admissioncheck.kueue.x-k8s.io/nodes created",
                   "provisioningrequestconfig.kueue.x-k8s.io/queued created",
                   "clusterqueue.kueue.x-k8s.io/queued created",
                   "localqueue.kueue.x-k8s.io/queued created"),
          "the admin makes the queue and its check", out)
    admin("wait", "--for=condition=Active", "--timeout=120s", "admissioncheck/nodes",
          "clusterqueue/queued")


def of_request(name, holds):
    return lambda objects: next((o for o in objects.values() if re.match(
        rf"job-{name}-[0-9a-f]{{5}}-", o["metadata"]["name"]) and holds(o)), None)


def states(history):
    """The states that an object went through, each once."""
    seen = []
    for o in history:
        now = "Pending"
        for kind in ("Accepted", "Provisioned", "Failed", "BookingExpired"):
            now = kind if is_true(o, kind) else now
        if not seen or seen[-1] != now:
            seen.append(now)
    return seen


def story_the_guide_from_top_to_bottom(fleet):
    """The queue and its job; the same by hand; each on nodes of its own, which go afterwards"""
    sim, admin, user = start(fleet, pool("queued", delay="2s"))
    make_queue(admin)
    requests, workloads = fleet.watch("provisioningrequests"), fleet.watch("workloads")
    jobs = fleet.watch("jobs")

    # A job in the queue.
    out = user("create", "-f", "-", stdin=job())
    check(out == "job.batch/queued-sample created\n", "kubectl create", out)
    o = requests.await_event("it is accepted, without nodes", lambda kind, o: is_true(
        o, "Accepted") and lacks("NotProvisioned")(o))
    name = o["metadata"]["name"]
    check(name.endswith("-nodes-1") and o["spec"]["parameters"] == {"maxRunDurationSeconds": "600"}
          and o["spec"]["provisioningClassName"] == CLASS and [s["count"] for s in
                                                               o["spec"]["podSets"]] == [1],
          "the request has the job's parameter and its pods", o["spec"])
    w = workloads.await_state("it is admitted", of("queued-sample",
                                                   lambda o: is_true(o, "Admitted")))
    [state] = w["status"]["admissionChecks"]
    check(state["name"] == "nodes" and state["state"] == "Ready" and
          all(state["podSetUpdates"][0]["annotations"][c] == name for c in CONSUME),
          "the check is Ready and names the request", state)
    jobs.await_object("queued-sample", "completes", lambda o: is_true(o, "Complete"))
    check(states(requests.history(name))[-2:] == ["Accepted", "Provisioned"],
          "the request went from Accepted to Provisioned", states(requests.history(name)))
    check([o["spec"]["suspend"] for o in jobs.history("queued-sample")][0] is True and
          jobs.objects[("default", "queued-sample")]["spec"]["suspend"] is False,
          "the job was suspended, and then not")
    told = user("describe", "job", "queued-sample")
    lines = {line.split()[1]: line for line in told[told.index("Events:"):].splitlines()[3:]}
    for reason, words in (("Suspended", "job-controller"), ("CreatedWorkload",
                          "batch/job-kueue-controller  Created Workload: default/job-queued-sample-"),
                          ("SuccessfulCreate", "Created pod: queued-sample-"),
                          ("Resumed", "Job resumed"), ("Completed", "Job completed")):
        check(reason in lines and words in lines[reason], f"kubectl describe: {reason}", told)
    check("Admitted by clusterQueue queued" in told, "kubectl describe: Started", told)
    requests.await_state("its request is gone", lambda objects: not objects)

    # By hand.
    out = user("apply", "-f", "-", stdin=request())
    check(out == "podtemplate/by-hand created\nprovisioningrequest.autoscaling.x-k8s.io/by-hand "
          "created\n", "a PodTemplate and a request", out)
    requests.await_object("by-hand", "is provisioned", lambda o: is_true(o, "Provisioned"))
    head, table = rows(user("get", "provreq"))
    check(head == ["NAME", "AGE"] and list(table) == ["by-hand"], "kubectl get provreq", table)
    shown = user("describe", "provreq", "by-hand", "--namespace", "default")
    check(in_order(shown, "Type:                  Accepted", "Status:                True",
                   "Type:                  Provisioned"), "kubectl describe provreq", shown)
    user("create", "-f", "-", stdin=job("by-hand"))
    jobs.await_object("by-hand", "completes", lambda o: is_true(o, "Complete"))
    nodes = {n: {r["node"] for r in sim.runs() if r["pod"].startswith(n)}
             for n in ("queued-sample", "by-hand")}
    check(len(nodes["queued-sample"]) == 1 and nodes["by-hand"] and
          not nodes["queued-sample"] & nodes["by-hand"] and
          all(n.startswith("queued-") for s in nodes.values() for n in s),
          "each ran on nodes that came for it", nodes)
    pods = [p for p in sim.client.items("pods", "default")
            if p["metadata"]["name"].startswith("by-hand")]
    check(pods and all(p["metadata"]["annotations"].get(
        "cluster-autoscaler.kubernetes.io/safe-to-evict") == "false" for p in pods),
          "its pods may not be evicted by the autoscaler", [p["metadata"] for p in pods])
    user("delete", "provreq", "by-hand", "-n", "default")
    requests.await_gone("by-hand")


def story_the_states_of_a_request(fleet):
    """Failed, QuotaExceeded, BookingExpired: what describe, the Workload and muster why say"""
    sim, admin, user = start(fleet, pool("queued", delay="1s"), pool("small", quota=1),
                             time_scale=60)
    make_queue(admin, "  retryStrategy: {backoffLimitCount: 0, backoffBaseSeconds: 1, "
               "backoffMaxSeconds: 1}\n")
    requests, workloads = fleet.watch("provisioningrequests"), fleet.watch("workloads")

    user("create", "-f", "-", stdin=request("nowhere", node_pool="no-such-pool"))
    o = requests.await_object("nowhere", "failed", lambda o: is_true(o, "Failed"))
    check(condition(o, "Failed")["reason"] == "NoMatchingNodePool", "by hand: Failed with a reason",
          o["status"])
    user("create", "-f", "-", stdin=job("lost", node_pool="no-such-pool"))
    w = workloads.await_state("the job's check is rejected", of(
        "lost", lambda o: not o["spec"]["active"] and condition(o, "Evicted")))
    check(condition(w, "Evicted")["reason"] == "DeactivatedDueToAdmissionCheck",
          "in the queue: no retry is left, the Workload is deactivated", w["status"])

    user("create", "-f", "-", stdin=request("large", node_pool="small", count=8))
    requests.await_object("large", "is over quota", lacks("QuotaExceeded"))
    shown = user("describe", "provreq", "large", "--namespace", "default")
    check(in_order(shown, "Quota 'small' exceeded. Limit: 1", "Reason:                QuotaExceeded",
                   "Status:                False", "Type:                  Provisioned"),
          "kubectl describe provreq: QuotaExceeded", shown)
    user("create", "-f", "-", stdin=job("big", node_pool="small", gpus=2).replace(
        "parallelism: 1", "parallelism: 4").replace("completions: 1", "completions: 4"))
    workloads.await_state("the job's check says it", of("big", lambda o: any(
        "QuotaExceeded" in c.get("message", "") for c in o["status"].get("admissionChecks", []))))
    why = user.muster("why", "job/big")
    check("QuotaExceeded" in why and "gpus" in why, "muster why passes it on", why)
    user("delete", "job", "big")
    user("delete", "provreq", "large", "nowhere")

    user("create", "-f", "-", stdin=request("unused"))
    requests.await_object("unused", "is provisioned", lambda o: is_true(o, "Provisioned"))
    o = requests.await_object("unused", "is booked no more after ten minutes",
                              lambda o: is_true(o, "BookingExpired"))
    check(is_true(o, "Provisioned"), "it was Provisioned", o["status"])
    until("its nodes are removed", lambda: len(sim.client.items("nodes")) == 1)
    check(True, "and its nodes are gone")


def story_requests_are_cancelled(fleet):
    """By deleting the request before its nodes come, or the job in the queue"""
    sim, admin, user = start(fleet, pool("queued", delay="3600s"))
    make_queue(admin)
    requests = fleet.watch("provisioningrequests")
    user("create", "-f", "-", stdin=request())
    requests.await_object("by-hand", "is accepted", lambda o: is_true(o, "Accepted"))
    out = user("delete", "provreq", "by-hand", "-n", "default")
    check(out.startswith('provisioningrequest.autoscaling.x-k8s.io "by-hand" deleted'),
          "kubectl delete provreq", out)
    user("create", "-f", "-", stdin=job())
    requests.await_state("the job's is accepted", of_request("queued-sample",
                                                             lambda o: is_true(o, "Accepted")))
    user("delete", "job", "queued-sample")
    requests.await_state("no request is left", lambda objects: not objects)
    until("nor on the member", lambda: not sim.client.items("provisioningrequests", "default"))
    check(len(sim.client.items("nodes")) == 1, "no node came")


def story_other_namespaces_and_kinds(fleet):
    """A LocalQueue in another namespace leads to the same nodes; a JobSet gets them as a Job does"""
    sim, admin, user = start(fleet, pool("queued", delay="1s"))
    make_queue(admin)
    k = operator(fleet)
    k("create", "namespace", "team")
    admin("create", "-f", "-", stdin=only(EXAMPLE, "LocalQueue").replace(
        "namespace: default", "namespace: team"))
    user.refused("a submitter of one namespace", 'in the namespace "team"', "create", "-f", "-",
                 stdin=job(namespace="team"))
    k("create", "-f", "-", stdin=job(namespace="team"))
    sets = make.job_set("set", pods=2, duration="2s",
                        nodeSelector={"cloud.google.com/gke-nodepool": "queued"},
                        tolerations=[{"key": "nvidia.com/gpu", "operator": "Exists",
                                      "effect": "NoSchedule"}])
    sets["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "queued"}
    user("create", "-f", "-", stdin=sets)
    fleet.watch("jobs").await_object("queued-sample", "completes",
                                     lambda o: is_true(o, "Complete"), namespace="team")
    fleet.watch("jobsets").await_object("set", "completes", lambda o: is_true(o, "Completed"))
    nodes = {r["pod"].split("-")[0]: r["node"] for r in sim.runs()}
    check(set(nodes) == {"queued", "set"} and all(n.startswith("queued-") for n in nodes.values()),
          "both ran on nodes that came for them", nodes)


if __name__ == "__main__":
    main(globals(), Fleet)
