#!/usr/bin/env python3
"""What becomes of jobs: every kind runs to its end, priorities overtake, quota holds and is
borrowed, failures are told, users suspend and delete, and nothing is left on members."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true


def succeeded(o):
    return is_true(o, "Succeeded") or is_true(o, "Complete") or is_true(o, "Completed")


def two_members(fleet, nodes=1, gpus=8, **options):
    fleet.start_hub()
    sims = [fleet.start_sim(name, [make.node("gpu", count=nodes, gpus=gpus)], **options)
            for name in ("east", "west")]
    fleet.join(*sims)
    return sims


def quota(fleet, gpus, **more):
    """One leaf, the default namespace's, with so many GPUs at most; a policy that queues."""
    limits = {"nvidia.com/gpu": str(gpus), **more}
    fleet.client.create(
        make.quota_tree(make.quota_node("root", limits, limits, children=[
            make.quota_node("team", {}, limits, ["default"])])),
        make.policy(kinds=("PyTorchJob", "Job", "JobSet")))


def leftovers(sim):
    """What of the hub's jobs a member still holds."""
    return [(plural, o["metadata"]["name"]) for plural in
            ("pytorchjobs", "jobs", "jobsets", "pods") for o in sim.client.items(plural)]


def await_nothing_left(fleet, sim):
    for plural in ("pytorchjobs", "jobs", "jobsets", "pods"):
        fleet.watch(plural, client=sim.client).await_state(
            f"no {plural} on {sim.name}", lambda objects: not objects)


def story_every_kind_runs(fleet):
    """A PyTorchJob, a JobSet and a Job run to their end, without any policy"""
    sims = two_members(fleet)
    done = {plural: fleet.watch(plural) for plural in ("pytorchjobs", "jobsets", "jobs")}
    fleet.client.create(make.pytorch_job("torch"), make.job_set("set", replicas=2, pods=2),
                        make.batch_job("batch", pods=2))
    for plural, name in (("pytorchjobs", "torch"), ("jobsets", "set"), ("jobs", "batch")):
        o = done[plural].await_object(name, "succeeds", succeeded)
        check(True, f"{name} succeeded: {[c['type'] for c in o['status']['conditions']]}")
    events = [e for e in fleet.client.items("events", "default")
              if e["reason"] == "ScheduleBindingSucceed"]
    check(len(events) == 3, "each was scheduled once", [e["message"] for e in events])
    runs = [r for s in sims for r in s.runs()]
    check(len(runs) == 9 and all(r["result"] == "Succeeded" for r in runs),
          "nine pods ran, each once and to its end", runs)
    status = fleet.client.get("pytorchjobs", "torch")["status"]
    copies = [o for s in sims for o in s.client.items("pytorchjobs")]
    check(len(copies) == 1 and copies[0]["status"]["replicaStatuses"] ==
          status["replicaStatuses"] and copies[0]["status"]["completionTime"] ==
          status["completionTime"], "the member's status is the hub's", status, copies)
    for plural, name in (("pytorchjobs", "torch"), ("jobsets", "set"), ("jobs", "batch")):
        fleet.client.delete(plural, name, propagationPolicy="Background")
    for s in sims:
        await_nothing_left(fleet, s)
    check(True, "deleting the finished jobs takes their copies and pods along")


def story_priority_overtakes(fleet):
    """A job of higher priority overtakes one that waits longer"""
    two_members(fleet)
    quota(fleet, 3)
    fleet.client.create(make.priority_class("high", 1000))
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("holder", duration="60s"))
    jobs.await_object("holder", "runs", lambda o: is_true(o, "Running"))
    units = fleet.watch("queueunits")
    fleet.client.create(make.pytorch_job("patient"))
    units.await_object("patient-pytorchjob-rb-qu", "waits", lambda o: o["status"].get("message"))
    fleet.client.create(make.pytorch_job("urgent", priority_class="high"))
    units.await_object("urgent-pytorchjob-rb-qu", "waits", lambda o: o["status"].get("message"))
    line = [j["name"] for j in sorted((j for j in fleet.view("jobs") if j["position"]),
                                      key=lambda j: j["position"])]
    check(line == ["urgent", "patient"], "the urgent job stands before the patient one", line)
    fleet.client.delete("pytorchjobs", "holder")
    started = {}
    for name in ("urgent", "patient"):
        o = jobs.await_object(name, "succeeds", succeeded)
        started[name] = o["status"]["startTime"], condition(o, "Running")["lastTransitionTime"]
        started[name] = next(i for i, (_, e) in enumerate(jobs.events)
                             if e["metadata"]["name"] == name and is_true(e, "Running"))
    check(started["urgent"] < started["patient"], "and runs before it", started)


def story_quota_holds_and_is_borrowed(fleet):
    """A team borrows what another leaves idle, up to its max and never past its parent's"""
    two_members(fleet, nodes=2)
    limits = {"nvidia.com/gpu": "12"}
    fleet.client.create(make.namespace("team-a"), make.namespace("team-b"))
    fleet.client.create(make.quota_tree(make.quota_node("root", limits, limits, children=[
        make.quota_node("a", {"nvidia.com/gpu": "6"}, {"nvidia.com/gpu": "9"}, ["team-a"]),
        make.quota_node("b", {"nvidia.com/gpu": "6"}, {"nvidia.com/gpu": "9"}, ["team-b"])])))
    for name in ("team-a", "team-b"):
        fleet.client.create(make.policy(namespace=name))
    jobs, units = fleet.watch("pytorchjobs"), fleet.watch("queueunits")
    for i in range(4):
        fleet.client.create(make.pytorch_job(f"a{i}", "team-a", duration="60s"))
    for i in range(3):
        jobs.await_object(f"a{i}", "runs", lambda o: is_true(o, "Running"), "team-a")
    stuck = units.await_object("a3-pytorchjob-rb-qu", "waits", lambda o: o["status"].get("message"),
                               "team-a")
    check("Insufficient quota(nvidia.com/gpu) in quota root/a: request 3, max 9, used 9" in
          stuck["status"]["message"], "team a borrows 3 GPUs, but not past its max of 9",
          stuck["status"])
    fleet.client.create(make.pytorch_job("b0", "team-b", duration="60s"),
                        make.pytorch_job("b1", "team-b", duration="60s"))
    jobs.await_object("b0", "runs", lambda o: is_true(o, "Running"), "team-b")
    stuck = units.await_object("b1-pytorchjob-rb-qu", "waits", lambda o: o["status"].get("message"),
                               "team-b")
    check("in parent quota root" in stuck["status"]["message"],
          "team b is stopped by the root: " + stuck["status"]["message"])
    nodes = {n["path"]: n["resources"]["nvidia.com/gpu"] for n in fleet.view("quota")["nodes"]}
    check(nodes["root"]["used"] == "12" and nodes["root/a"]["used"] == "9" and
          nodes["root/b"]["used"] == "3", "muster quota shows 9 + 3 of 12 used", nodes)


def story_an_owner_takes_back_its_min(fleet):
    """With reclaim on, a team's own gang stops the latest borrower, which runs again later"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu", gpus=8)])
    fleet.join(sim)
    gpus = "nvidia.com/gpu"
    tree = make.quota_tree(make.quota_node("root", {gpus: "8"}, {gpus: "8"}, children=[
        make.quota_node("a", {gpus: "4"}, {gpus: "8"}, ["team-a"]),
        make.quota_node("b", {gpus: "4"}, {gpus: "8"}, ["team-b"])]))
    fleet.client.create(make.namespace("team-a"), make.namespace("team-b"), tree,
                        make.policy(namespace="team-a"), make.policy(namespace="team-b"))
    jobs = fleet.watch("pytorchjobs")
    for i in range(2):
        fleet.client.create(make.pytorch_job(f"a{i}", "team-a", workers=3, duration="12s"))
        jobs.await_object(f"a{i}", "runs", lambda o: is_true(o, "Running"), "team-a")
    fleet.client.create(make.pytorch_job("own", "team-b", workers=3, duration="2s"))
    fleet.watch("queueunits").await_object("own-pytorchjob-rb-qu", "waits",
                                           lambda o: o["status"].get("message"), "team-b")
    patch = json.dumps({"spec": {"root": {"attributes": {
        "reclaim-policy": "ReclaimMin", "reclaim-protect-time": "0s"}}}})
    kubectl = [k for k in fleet.kubectls() if k.version == "PATH"][0]
    edit = ("patch", "elasticquotatree", "elasticquotatree", "-n", "kube-system", "--type=merge",
            "-p", patch)
    done = kubectl.run(*edit, "--dry-run=server")
    check("Warning: PyTorchJob team-a/a1 would be stopped and queued again, so that PyTorchJob "
          "team-b/own can start" in done.stderr, "a dry run of the edit names who would be stopped",
          done.stdout, done.stderr)
    kubectl(*edit)
    jobs.await_object("own", "runs", lambda o: is_true(o, "Running"), "team-b")
    check(is_true(fleet.client.get("pytorchjobs", "a0", "team-a"), "Running"), "a0 runs on")
    events = [e for e in fleet.client.items("events", "team-a") if e["reason"] == "Preempted"]
    check(len(events) == 1 and "takes back its min for PyTorchJob team-b/own" in
          events[0]["message"], "the owner of a1 is told", events)
    for name, team in (("own", "team-b"), ("a0", "team-a"), ("a1", "team-a")):
        jobs.await_object(name, "succeeds", succeeded, team)
    check(True, "all three ran to their end")


def story_a_failing_job(fleet):
    """A job whose pods fail is Failed, and gives its quota back"""
    two_members(fleet)
    quota(fleet, 3)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("broken", exit_code=3),
                        make.pytorch_job("next"))
    o = jobs.await_object("broken", "fails", lambda o: is_true(o, "Failed"))
    check(condition(o, "Failed").get("reason"), "its condition Failed tells a reason",
          o["status"])
    jobs.await_object("next", "succeeds", succeeded)
    check(True, "the next one has its quota")
    unit = fleet.client.find("queueunits", "broken-pytorchjob-rb-qu")
    check(unit is None or unit["status"]["phase"] == "Failed", "its QueueUnit is Failed", unit)


def story_deleting_a_running_job(fleet):
    """Deleting a running job leaves nothing on the member, and frees its quota"""
    sims = two_members(fleet)
    quota(fleet, 3)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("doomed", duration="300s"), make.pytorch_job("next"))
    jobs.await_object("doomed", "runs", lambda o: is_true(o, "Running"))
    fleet.client.delete("pytorchjobs", "doomed")
    jobs.await_gone("doomed")
    jobs.await_object("next", "succeeds", succeeded)
    check(True, "its quota goes to the next job")
    for s in sims:
        fleet.watch("pods", client=s.client).await_state(
            "no pods", lambda objects: not any("doomed" in name for _, name in objects))
        fleet.watch("pytorchjobs", client=s.client).await_state(
            "no copies", lambda objects: not any("doomed" in name for _, name in objects))
    check(True, "no copy and no pod is left")
    bindings = fleet.watch("resourcebindings")
    bindings.await_gone("doomed-pytorchjob")
    check(True, "and neither is its ResourceBinding")


def story_suspend_and_resume(fleet):
    """A user suspends a running job, and resumes it"""
    sims = two_members(fleet)
    quota(fleet, 3)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("pausing", duration="2s", suspend=True))
    bindings = fleet.watch("resourcebindings")
    bindings.await_object("pausing-pytorchjob", "exists", lambda o: True)
    why = fleet.why("pausing")
    check(why["job"]["cluster"] == "", "a job that is created suspended is not placed", why["job"])
    check(all(not leftovers(s) for s in sims), "no member has heard of it")
    fleet.client.patch("pytorchjobs", "pausing", {"spec": {"runPolicy": {"suspend": False}}})
    jobs.await_object("pausing", "runs", lambda o: is_true(o, "Running"))
    check(True, "it runs once it is resumed")
    seen = len(jobs.events)
    fleet.client.patch("pytorchjobs", "pausing", {"spec": {"runPolicy": {"suspend": True}}})
    for s in sims:
        fleet.watch("pods", client=s.client).await_state("no pods", lambda objects: not objects)
    check(True, "suspending it stops its pods")
    fleet.client.create(make.pytorch_job("other", duration="300s"))
    jobs.await_object("other", "runs", lambda o: is_true(o, "Running"))
    check(True, "and frees its quota for another")
    fleet.client.patch("pytorchjobs", "pausing", {"spec": {"runPolicy": {"suspend": False}}})
    fleet.client.delete("pytorchjobs", "other")
    jobs.await_object("pausing", "succeeds", succeeded)
    check(len(jobs.events) > seen, "resumed, it waits for quota, then runs to its end")


def story_never_fits(fleet):
    """A job that no member can ever hold is accepted and waits, and why says what is missing"""
    two_members(fleet)
    quota(fleet, 1000)
    fleet.client.create(make.pytorch_job("giant", gpus=64), make.pytorch_job("small"))
    fleet.watch("pytorchjobs").await_object("small", "succeeds", succeeded)
    check(True, "a job behind it is not held up")
    why = fleet.why("giant")
    check(why["neverFits"] is True, "muster why: neverFits", why)
    check({v["cluster"] for v in why["clusters"]} == {"east", "west"} and
          all(v["never"] and "nvidia.com/gpu" in v["message"] for v in why["clusters"]),
          "with a verdict for both clusters, which name the GPUs: " +
          why["clusters"][0]["message"], why["clusters"])
    shown = fleet.muster("why", "pytorchjob/giant").stdout
    check("can never fit" in shown, "in words, too", shown)
    failed = fleet.watch("events", "default").await_event(
        "ScheduleBindingFailed", lambda kind, o: o["reason"] == "ScheduleBindingFailed" and
        o["involvedObject"]["name"] == "giant")
    check(True, "and an event: " + failed["message"])


def story_unjoin(fleet):
    """unjoin takes the hub's jobs back and leaves nothing behind"""
    sims = two_members(fleet)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.policy(queue=False, clusterAffinity={"clusterNames": ["east"]}))
    east = sims[0]
    foreign = make.batch_job("foreign", duration="300s", gpus=0)
    east.client.create(foreign)
    fleet.client.create(make.pytorch_job("done"), make.pytorch_job("busy", duration="300s"))
    jobs.await_object("done", "succeeds", succeeded)
    jobs.await_object("busy", "runs", lambda o: is_true(o, "Running"))
    fleet.muster("unjoin", "east")
    left = leftovers(east)
    check(all(name.startswith("foreign") for _, name in left) and left,
          "only what was not the hub's is left on it", left)
    check(fleet.client.find("secrets", "member-east", "kube-system") is None,
          "its credentials are gone")
    check([c["name"] for c in fleet.view("clusters")] == ["west"], "muster clusters knows west")
    why = fleet.why("busy")
    check(why["job"]["cluster"] == "", "its running job waits again", why["job"])
    fleet.client.delete("propagationpolicies", "example-policy")
    jobs.await_object("busy", "runs on the other member", lambda o: is_true(o, "Running"))
    check(True, "and runs on the other member once the policy lets it")


def story_quota_edit_previewed(fleet):
    """A dry run of a quota edit warns with the jobs whose fate changes, and changes nothing"""
    two_members(fleet)
    quota(fleet, 3)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("holder", duration="300s"))
    jobs.await_object("holder", "runs", lambda o: is_true(o, "Running"))
    fleet.client.create(make.pytorch_job("patient", duration="300s"))
    fleet.watch("queueunits").await_object("patient-pytorchjob-rb-qu", "waits",
                                           lambda o: o["status"].get("message"))

    def tree(gpus):
        limits = {"nvidia.com/gpu": str(gpus)}
        return json.dumps({"spec": make.quota_tree(make.quota_node(
            "root", limits, limits, children=[
                make.quota_node("team", {}, limits, ["default"])]))["spec"]})
    for kubectl in fleet.kubectls():
        for gpus, words in ((6, "PyTorchJob default/patient would start"),
                            (2, "PyTorchJob default/holder would no longer be within max")):
            done = kubectl.run("patch", "elasticquotatree", "elasticquotatree", "-n",
                               "kube-system", "--type=merge", "--dry-run=server", "-p",
                               tree(gpus))
            check(f"Warning: {words}" in done.stderr, f"kubectl {kubectl.version}: {words}",
                  done.stdout, done.stderr)
        done = kubectl.run("delete", "elasticquotatree", "elasticquotatree", "-n", "kube-system",
                           "--dry-run=server")
        check("default/holder would no longer belong to any elastic quota" in done.stderr,
              f"kubectl {kubectl.version} delete: they would belong to none", done)
    check(not is_true(fleet.client.get("pytorchjobs", "patient"), "Running"), "nothing changed")


if __name__ == "__main__":
    main(globals(), Fleet)
