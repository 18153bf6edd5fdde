#!/usr/bin/env python3
"""Admission checks of controllers that are not the hub's, through kubectl: what they ask of the pods
chooses the member, is waited for where no node has it, and starts nothing where two of them
contradict each other."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true
from test_kueue_told import job, kubectl, kueue, local, of, queue

SINCE = "2026-01-01T00:00:00Z"


def start(fleet):
    """Two members, of which the second has the pool "paid", and a queue that asks two checks."""
    fleet.start_hub()
    sims = [fleet.start_sim(n, [make.node("n", gpus=0, cpu="8", labels=labels)])
            for n, labels in (("a", {"pool": "free"}), ("b", {"pool": "paid"}))]
    fleet.join(*sims)
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=kueue("ResourceFlavor", "f", spec={}))
    for name in ("budget", "zone"):
        k("apply", "-f", "-", stdin=kueue("AdmissionCheck", name, spec={
            "controllerName": "example.com/" + name}))
        fleet.client.patch("admissionchecks", name, {"status": {"conditions": [
            {"type": "Active", "status": "True", "reason": "Active", "message": "",
             "lastTransitionTime": SINCE}]}}, namespace=None, suffix="/status")
    k("apply", "-f", "-", stdin=queue("cq", ("f", 100), admissionChecksStrategy={
        "admissionChecks": [{"name": "budget"}, {"name": "zone"}]}))
    k("apply", "-f", "-", stdin=local("lq", "cq"))
    k("wait", "--for=condition=Active", "--timeout=60s", "clusterqueue/cq")
    return sims, k


def reserving(fleet, k, workloads, name):
    """The job is created; returns its Workload's name when it holds quota."""
    k("create", "-f", "-", stdin=job(name, "lq", "2"))
    workloads.await_state(f"{name} holds quota", of(name, lambda o: is_true(o, "QuotaReserved")))
    [w] = [o["metadata"]["name"] for o in workloads.objects.values()
           if o["metadata"]["ownerReferences"][0]["name"] == name]
    return w


def answer(fleet, workload, budget, zone):
    """Both controllers say Ready, and what the pods get."""
    fleet.client.patch("workloads", workload, {"status": {"admissionChecks": [
        {"name": name, "state": "Ready", "message": "", "lastTransitionTime": SINCE,
         "podSetUpdates": [{"name": "main", **update}]}
        for name, update in (("budget", budget), ("zone", zone))]}}, suffix="/status")


def story_a_check_says_which_nodes(fleet):
    """The member with such nodes is taken; without any the job waits, and is told so"""
    sims, k = start(fleet)
    workloads, jobs = fleet.watch("workloads"), fleet.watch("jobs")
    w = reserving(fleet, k, workloads, "paid")
    answer(fleet, w, {"nodeSelector": {"pool": "paid"}}, {"labels": {"tier": "a"}})
    workloads.await_state("it is admitted", of("paid", lambda o: is_true(o, "Admitted")))
    fleet.watch("pods").await_state("its pod runs", lambda objects: any(
        o["metadata"]["name"].startswith("paid-") and o["spec"]["nodeSelector"] == {
            "pool": "paid"} and o["metadata"]["labels"]["tier"] == "a" and
        o["status"].get("phase") == "Running" for o in objects.values()))
    check("b" == fleet.client.find("resourcebindings", "paid-job")["spec"]["clusters"][0]["name"],
          "on the member whose nodes the check asks for")

    w = reserving(fleet, k, workloads, "gold")
    answer(fleet, w, {"nodeSelector": {"pool": "gold"}}, {})
    workloads.await_state("both checks of the other are Ready", of("gold", lambda o: all(
        c["state"] == "Ready" for c in o["status"]["admissionChecks"])))
    why = fleet.muster("why", "job/gold").stdout
    check("AffinityMismatch" in why and "Admitted" not in why,
          "muster why: no member has nodes of that pool", why)
    late = fleet.start_sim("c", [make.node("n", gpus=0, cpu="8", labels={"pool": "gold"})])
    fleet.join(late)
    workloads.await_state("it starts where the first of them is", of("gold", lambda o: is_true(
        o, "Admitted")))
    jobs.await_object("gold", "runs", lambda o: o.get("status", {}).get("active") == 1)
    check("c" == fleet.client.find("resourcebindings", "gold-job")["spec"]["clusters"][0]["name"],
          "on the member that has come")


def story_checks_that_contradict_each_other(fleet):
    """Two values for one label: deactivated with the words, nothing is sent, quota is free"""
    sims, k = start(fleet)
    workloads = fleet.watch("workloads")
    w = reserving(fleet, k, workloads, "torn")
    answer(fleet, w, {"labels": {"tier": "a"}}, {"labels": {"tier": "b"}})
    words = ('in admission check "zone": invalid admission check PodSetUpdate: conflict for '
             'labels: conflict for key=tier, value1=a, value2=b')
    workloads.await_state("it is evicted", of("torn", lambda o: is_true(o, "Evicted") and
                                              not is_true(o, "QuotaReserved")))
    o = fleet.client.find("workloads", w)
    check(condition(o, "Evicted")["reason"] == "DeactivatedDueToAdmissionCheck" and
          condition(o, "Evicted")["message"] == words and o["spec"]["active"] is False,
          "and deactivated, with the reason", o["status"])
    shown = k("describe", "workload", w)
    check(words in shown, "kubectl describe says what contradicts what", shown)
    check(not any(s.runs() for s in sims), "no member has heard of it")
    k("patch", "workload", w, "--type=merge", "-p", '{"spec":{"active":true}}')
    workloads.await_state("let in again it holds quota", of("torn", lambda o: is_true(
        o, "QuotaReserved")))
    answer(fleet, w, {"labels": {"tier": "a"}}, {"labels": {"tier": "a"}})
    workloads.await_state("and starts when they agree", of("torn", lambda o: is_true(
        o, "Admitted")))


if __name__ == "__main__":
    main(globals(), Fleet)
