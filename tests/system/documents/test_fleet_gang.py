#!/usr/bin/env python3
"""The fleet's guide to queues and gangs for PyTorchJobs: a quota tree and its queues, the policy
without and with the queue, and what is seen of a job in the fleet and on its member."""

import os
import re

from walk import EXAMPLES, check, documents_of, in_order, only, operator, people, rows
from muster_test import Fleet, main
from muster_test import objects as make
from muster_test.programs import program
from muster_test.watch import is_true

EXAMPLE = os.path.join(EXAMPLES, "..", "one-at-a-time.yaml")
# kubectl finds what is called kubectl-amc on its PATH, beside the program as it was built.
PLUGINS = {"PATH": os.path.dirname(os.path.abspath(program("MUSTER", "deploy/cli/muster"))) + ":" +
           os.environ["PATH"]}


def start(fleet, members=("c1", "c2")):
    fleet.start_hub()
    sims = {name: fleet.start_sim(name, [make.node("gpu", count=2)]) for name in members}
    fleet.join(*sims.values())
    return sims, operator(fleet), *people(fleet)


def job(name="mnist", duration="600s", gpus="1", workers=2):
    text = only(EXAMPLE, "PyTorchJob").replace("name: mnist", f"name: {name}")
    text = text.replace("      template:\n        spec:", "      template:\n        metadata:\n"
                        f"          annotations: {{muster.dev/sim-duration: {duration}}}\n"
                        "        spec:")
    text = text.replace("replicas: 2", f"replicas: {workers}")
    return text.replace('nvidia.com/gpu: "1"', f'nvidia.com/gpu: "{gpus}"')


def policy(queue):
    text = only(EXAMPLE, "PropagationPolicy")
    return text if queue else text.replace("  suspension:\n    scheduling: true\n", "")


def failover(text, seconds=30):
    """What the guide's policies say of a job that fails to run."""
    return text.replace("  placement:", f"""  failover:
    application:
      decisionConditions: {{tolerationSeconds: {seconds}}}
      purgeMode: Immediately
  placement:""")


def breaks(sim, job):
    """One of its containers ends badly there, as its kubelet tells."""
    client = sim.client
    times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
    client.patch("pods", f"{job}-master-0", {"status": {"phase": "Failed", "containerStatuses": [{
        "name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
        "state": {"terminated": {"exitCode": 1, "reason": "Error", **times}}}]}}, suffix="/status")


def running(o):
    return is_true(o, "Running")


def cluster_of(binding):
    clusters = binding["spec"].get("clusters")
    return clusters[0]["name"] if clusters else None


def amc(k, *args):
    return k("amc", *args, env=PLUGINS)


def seen_on_its_member(fleet, k, user, name):
    """Step 3 of the guide: the state, the event, the member's job, pods and YAML."""
    head, table = rows(user("get", "pytorchjob"))
    check(head == ["NAME", "STATE", "AGE"] and table[name]["STATE"] == "Running",
          "kubectl get pytorchjob: NAME STATE AGE, Running", table)
    told = user("describe", "pytorchjob", name)
    found = re.search(r"Normal\s+ScheduleBindingSucceed\s+\S+\s+default-scheduler\s+Binding has "
                      r"been scheduled successfully\. Result: \{(c\d):0,\[\{master 1\} "
                      r"\{worker 2\}\]\}", told)
    check(found, "kubectl describe tells which cluster it went to, and how", told)
    member = found.group(1)
    head, table = rows(amc(k, "get", "pytorchjob", "-M"))
    check(head == ["NAME", "CLUSTER", "STATE", "AGE", "ADOPTION"] and list(table) == [name] and
          (table[name]["CLUSTER"], table[name]["STATE"], table[name]["ADOPTION"]) ==
          (member, "Running", "Y"), "kubectl amc get pytorchjob -M", table)
    fleet.watch("pods", client=fleet.sims[member].client).await_state(
        "its three pods run there", lambda objects: len(objects) == 3 and all(
            o["status"].get("phase") == "Running" for o in objects.values()))
    head, table = rows(amc(k, "get", "pod", "-M"))
    check(head == ["NAME", "CLUSTER", "READY", "STATUS", "RESTARTS", "AGE"] and {
        n: tuple(r[c] for c in head[1:5]) for n, r in table.items()} == {
            f"{name}-{n}": (member, "1/1", "Running", "0")
            for n in ("master-0", "worker-0", "worker-1")}, "kubectl amc get pod -M", table)
    shown = amc(k, "get", "pytorchjob", name, "-m", member, "-oyaml")
    check("kind: PyTorchJob" in shown and in_order(shown, "status:", "replicaStatuses:"),
          "kubectl amc get pytorchjob -m CLUSTER -oyaml", shown)
    check(len(user("get", "pods", "--no-headers").splitlines()) == 3,
          "kubectl get pods shows them in the fleet, too")
    return member


def story_gangs_without_a_queue(fleet):
    """The policy with Gang alone: all of a job on one cluster, or it waits and says why"""
    sims, k, admin, user = start(fleet)
    k("apply", "-f", "-", stdin=policy(queue=False))
    user.refused("who sends jobs makes no policies", "is forbidden", "apply", "-f", "-",
                 stdin=policy(queue=False))
    jobs = fleet.watch("pytorchjobs")
    out = user("create", "-f", "-", stdin=job())
    check(out == "pytorchjob.kubeflow.org/mnist created\n", "the job is created", out)
    jobs.await_object("mnist", "runs", running)
    first = next(o for o in jobs.history("mnist") if o.get("status", {}).get("conditions"))
    check([c["type"] for c in first["status"]["conditions"]] == ["Created"],
          "until its member said more its STATE was Created", first["status"])
    member = seen_on_its_member(fleet, k, user, "mnist")
    # Each cluster has 16 GPUs: 24 would fit in both together.
    user("create", "-f", "-", stdin=job("too-wide", gpus="8"))
    events = fleet.watch("events")
    events.await_event("it waits", lambda kind, o: o["reason"] == "ScheduleBindingFailed" and
                       o["involvedObject"]["name"] == "too-wide")
    head, table = rows(user("get", "pytorchjob"))
    check(table["too-wide"]["STATE"] == "Created", "a gang that no cluster holds stays Created",
          table)
    why = user.muster("why", "pytorchjob/too-wide")
    check("WHY    NeverFits" in why and in_order(why, "\nc1 ", "\nc2 ") and why.count(
        "needs 24 nvidia.com/gpu, all matching nodes together have 16") == 2,
          "muster why tells it of each cluster", why)
    check(not any(s.client.find("pytorchjobs", "too-wide") for s in sims.values()),
          "no part of it went anywhere")
    user("delete", "pytorchjob", "mnist", "too-wide")
    fleet.watch("pytorchjobs", client=sims[member].client).await_gone("mnist")


def story_the_guide_from_top_to_bottom(fleet):
    """The tree, its queues, the policy with the queue: one job at a time, in order"""
    sims, k, admin, user = start(fleet)
    out = admin("apply", "-f", "-", stdin=only(EXAMPLE, "ElasticQuotaTree"))
    check("elasticquotatree.scheduling.sigs.k8s.io/elasticquotatree created" in out,
          "the admin makes the tree", out)
    fleet.watch("queues", "kube-queue").await_state("two queues", lambda objects:
                                                    len(objects) == 2)
    head, table = rows(admin("get", "queue", "-n", "kube-queue"))
    names = sorted(table, key=len)
    check(head == ["NAME", "AGE"] and re.fullmatch(r"root-[a-z0-9]{5}", names[0]) and
          re.fullmatch(r"root-training-[a-z0-9]{5}", names[1]),
          "kubectl get queue -n kube-queue: one for the root, one for its child", table)
    done = admin.run("apply", "-f", "-", stdin=only(EXAMPLE, "ElasticQuotaTree").replace(
        "name: elasticquotatree", "name: another"))
    check(done.returncode == 1 and "elasticquotatree" in done.stderr,
          "there is one tree: " + done.stderr.strip()[-200:], done)
    k("apply", "-f", "-", stdin=policy(queue=True))
    jobs, units = fleet.watch("pytorchjobs"), fleet.watch("queueunits")
    user("create", "-f", "-", stdin=job())
    jobs.await_object("mnist", "runs", running)
    member = seen_on_its_member(fleet, k, user, "mnist")
    for name in ("second", "third"):
        user("create", "-f", "-", stdin=job(name))
        units.await_object(f"{name}-pytorchjob-rb-qu", "waits", lambda o: (
            o.get("status", {}).get("phase") == "Enqueued" and "Insufficient quota(jobs) in quota "
            "root/training: request 1, max 1, used 1" in o["status"].get("message", "")))
    head, table = rows(user("get", "pytorchjob"))
    check({n: r["STATE"] for n, r in table.items()} ==
          {"mnist": "Running", "second": "Created", "third": "Created"},
          "one job is out, two are Created", table)
    why = user.muster("why", "pytorchjob/third")
    check("kube-queue/max-jobs" in why and "training" in why and "position 2 of 2" in why,
          "muster why tells the third its place and what it waits for", why)
    user("delete", "pytorchjob", "mnist")
    jobs.await_object("second", "runs next", running)
    check(not running(fleet.client.get("pytorchjobs", "third")), "and not the third")
    check(not fleet.sims[member].client.find("pytorchjobs", "mnist"),
          "nothing of the first is left on its member")
    user("delete", "pytorchjob", "second")
    jobs.await_object("third", "runs last", running)


def story_what_else_the_guide_sets(fleet):
    """propagateDeps, and the guide's policy as it stands"""
    sims, k, _, user = start(fleet, members=("c1",))
    done = k.run("apply", "-f", "-", stdin=failover(policy(queue=False)))
    check(done.returncode == 0 and not done.stderr, "the guide's policy goes in", done)
    user("create", "configmap", "settings", "--from-literal=rate=0.1")
    text = job("with-settings").replace("schedulerName: default-scheduler", "volumes: [{name: s, "
                                        "configMap: {name: settings}}]")
    user("create", "-f", "-", stdin=text)
    fleet.watch("pytorchjobs").await_object("with-settings", "runs", running)
    copy = sims["c1"].client.get("configmaps", "settings")
    check(copy["data"] == {"rate": "0.1"}, "its ConfigMap went along", copy)


def story_a_job_that_fails_goes_elsewhere(fleet):
    """failover.application: a failed job leaves its cluster; when both have failed it, it failed"""
    sims, k, admin, user = start(fleet)
    admin("apply", "-f", "-", stdin=only(EXAMPLE, "ElasticQuotaTree"))
    k("apply", "-f", "-", stdin=failover(policy(queue=True), seconds=2))
    jobs, units, events = (fleet.watch(kind) for kind in ("pytorchjobs", "queueunits", "events"))
    text = job().replace("restartPolicy: OnFailure", "restartPolicy: Never")
    user("create", "-f", "-", stdin=text)
    jobs.await_object("mnist", "runs", running)
    user("create", "-f", "-", stdin=job("second"))
    units.await_object("second-pytorchjob-rb-qu", "waits", lambda o:
                       o.get("status", {}).get("phase") == "Enqueued")
    bindings = fleet.watch("resourcebindings")
    first = cluster_of(bindings.await_object("mnist-pytorchjob", "is placed", cluster_of))
    breaks(sims[first], "mnist")
    bindings.await_object("mnist-pytorchjob", "is unhealthy", lambda o: (
        o["status"].get("aggregatedStatus", [{}])[0].get("health") == "Unhealthy"))
    events.await_event("it is tolerated for a while", lambda kind, o: (
        o["reason"] == "ApplicationFailure" and "unless it recovers" in o["message"]))
    other = next(name for name in sims if name != first)
    bindings.await_object("mnist-pytorchjob", "is placed on the other cluster", lambda o:
                          cluster_of(o) == other)
    events.await_event("it was taken back", lambda kind, o: (
        o["reason"] == "EvictWorkloadFromClusterSucceed" and first in o["message"]))
    jobs.await_object("mnist", "runs again", running)
    check(not sims[first].client.find("pytorchjobs", "mnist"), "nothing is left where it failed")
    check(not any(is_true(o, "Failed") for o in jobs.history("mnist")),
          "in the fleet it never was Failed")
    told = user("describe", "pytorchjob", "mnist")
    check(in_order(told, "ScheduleBindingSucceed", "ApplicationFailure"),
          "kubectl describe tells the story", told)
    why = user.muster("why", "pytorchjob/mnist")
    check(f"FAILED on {first} at " in why, "muster why tells where it failed", why)
    check(not running(fleet.client.get("pytorchjobs", "second")),
          "it kept its place before the second")
    breaks(sims[other], "mnist")
    jobs.await_object("mnist", "has failed", lambda o: is_true(o, "Failed"))
    events.await_event("both clusters failed it", lambda kind, o: (
        o["reason"] == "ApplicationFailure" and "that stands" in o["message"]))
    jobs.await_object("second", "runs next", running)


def story_the_example_as_it_stands(fleet):
    """deploy/examples/one-at-a-time.yaml goes in and its job runs to its end"""
    _, k, _, _ = start(fleet)
    k("apply", "-f", EXAMPLE)
    check([kind for kind, _ in documents_of(EXAMPLE)] ==
          ["ElasticQuotaTree", "PropagationPolicy", "PyTorchJob"], "a tree, a policy, a job")
    fleet.watch("pytorchjobs").await_object("mnist", "succeeds", lambda o: is_true(o, "Succeeded"))


if __name__ == "__main__":
    main(globals(), Fleet)
