#!/usr/bin/env python3
"""Manifests written for MultiKueue: a check that names a MultiKueueConfig makes its clusters the
candidates of the queue's jobs, in its order; what is missing or forbidden is told as Kueue tells
it."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true
from test_kueue_told import job, kubectl, kueue, local, of, queue, says

CONTROLLER = "kueue.x-k8s.io/multikueue"


def config(name, *clusters):
    return kueue("MultiKueueConfig", name, spec={"clusters": list(clusters)})


def cluster(name):
    return kueue("MultiKueueCluster", name, spec={"clusterSource": {"kubeConfig": {
        "location": name + "-secret", "locationType": "Secret"}}})


def admission_check(name, config_name):
    return kueue("AdmissionCheck", name, spec={"controllerName": CONTROLLER, "parameters": {
        "apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": config_name}})


def start(fleet, *clusters):
    """Three members of 8 cpus each, and a queue whose jobs may go to these, in this order."""
    fleet.start_hub()
    sims = {n: fleet.start_sim(n, [make.node("n", gpus=0, cpu="8")]) for n in ("a", "b", "c")}
    fleet.join(*sims.values())
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}), admission_check("fleet", "workers"),
              config("workers", *clusters), *(cluster(n) for n in clusters),
              queue("cq", ("f", 100), admissionChecksStrategy={
                  "admissionChecks": [{"name": "fleet"}]}), local("lq", "cq")):
        k("apply", "-f", "-", stdin=o)
    return sims, k


def active(o, reason):
    return condition(o, "Active").get("reason") == reason


def placed(fleet, workloads, k, name, cpu="6", duration="600s", managed=True):
    o = job(name, "lq", cpu, duration=duration)
    if managed:
        o["spec"]["managedBy"] = CONTROLLER
    k("create", "-f", "-", stdin=o)
    workloads.await_state(f"{name} is admitted", of(name, lambda w: is_true(w, "Admitted")))
    [w] = [w for w in workloads.objects.values() if w["metadata"]["ownerReferences"][0]["name"] ==
           name]
    return w


def story_clusters_in_the_order_of_the_config(fleet):
    """c, then a, and never b: the check is Ready where the job is placed, the Workload says where"""
    sims, k = start(fleet, "c", "a")
    k("wait", "--for=condition=Active", "--timeout=120s", "admissioncheck/fleet",
      "clusterqueue/cq", "multikueuecluster/a", "multikueuecluster/c")
    shown = k("get", "multikueueclusters").splitlines()
    check(shown[0].split() == ["NAME", "CONNECTED", "AGE"] and
          [line.split()[:2] for line in shown[1:]] == [["a", "True"], ["c", "True"]],
          "kubectl get multikueueclusters", shown)
    workloads, jobs = fleet.watch("workloads"), fleet.watch("jobs")
    for name, where in (("first", "c"), ("second", "a")):
        w = placed(fleet, workloads, k, name)
        [state] = w["status"]["admissionChecks"]
        check(w["status"]["clusterName"] == where and state["state"] == "Ready" and
              state["message"] == f'The workload got reservation on "{where}"',
              f"{name} goes to {where}, and says so", w["status"])
        jobs.await_object(name, "runs", lambda o: o.get("status", {}).get("ready") == 1)
        copy = sims[where].client.get("jobs", name)
        check("managedBy" not in copy["spec"], "its copy is the member's own job", copy["spec"])
    k("create", "-f", "-", stdin=job("third", "lq", "6"))
    o = workloads.await_state("third waits, though b has room", of("third", lambda w: condition(
        w, "QuotaReserved").get("reason") == "TopologyPlacementFailed"))
    check(not o or not sims["b"].client.items("jobs", "default"), "nothing went to b")
    says(fleet.muster("why", "job/third").stdout, "\na ", "\nb ", "\nc ", "AffinityMismatch")
    told = k("describe", "workload", next(n for _, n in workloads.objects if "first" in n))
    check('The workload got reservation on "c"' in told, "kubectl describe tells it", told)
    # Given another cluster, the queue's jobs may go there.
    k("apply", "-f", "-", stdin=config("workers", "c", "a", "b"))
    workloads.await_state("third goes to b", of("third", lambda w: w["status"].get(
        "clusterName") == "b"))
    k("patch", "workload", next(n for _, n in workloads.objects if "first" in n), "--type=merge",
      "-p", '{"spec":{"active":false}}')
    workloads.await_state("first is evicted and nowhere", of("first", lambda w: not is_true(
        w, "QuotaReserved") and "clusterName" not in w["status"] and
        w["status"]["admissionChecks"][0]["state"] == "Pending"))


def story_what_is_missing_is_told(fleet):
    """No config, no usable cluster, some of them; two checks, or one beside ProvisioningRequests"""
    sims, k = start(fleet, "a", "later")
    checks, queues = fleet.watch("admissionchecks"), fleet.watch("clusterqueues")
    checks.await_object("fleet", "is active with one of two, and names the other", lambda o: active(
        o, "SomeActiveClusters") and is_true(o, "Active") and condition(o, "Active")["message"] ==
        "Inactive clusters: [later]", namespace="")
    shown = [line.split()[:2] for line in k("get", "mkc").splitlines()[1:]]
    check(shown == [["a", "True"], ["later", "False"]], "kubectl get mkc says the same", shown)
    sims["later"] = fleet.start_sim("later", [make.node("n", gpus=0, cpu="8")])
    fleet.join(sims["later"])
    checks.await_object("fleet", "is whole when it has joined", lambda o: active(o, "Active"),
                        namespace="")
    k("apply", "-f", "-", stdin=config("workers", "nowhere"))
    checks.await_object("fleet", "has no usable cluster", lambda o: active(
        o, "NoUsableClusters") and not is_true(o, "Active") and condition(o, "Active")["message"] ==
        "Missing clusters: [nowhere]", namespace="")
    queues.await_object("cq", "is inactive", lambda o: active(o, "AdmissionCheckInactive"),
                        namespace="")
    k("delete", "multikueueconfig", "workers")
    checks.await_object("fleet", "has no config", lambda o: active(o, "BadConfig"), namespace="")
    k("apply", "-f", "-", stdin=config("workers", "a"))
    k("apply", "-f", "-", stdin=admission_check("second", "workers"))
    k("wait", "--for=condition=Active", "--timeout=120s", "admissioncheck/fleet",
      "admissioncheck/second")
    for checks_of, reason in (
            ([{"name": "fleet"}, {"name": "second"}], "MultipleMultiKueueAdmissionChecks"),
            ([{"name": "fleet", "onFlavors": ["f"]}], "MultiKueueAdmissionCheckAppliedPerFlavor")):
        k("patch", "clusterqueue", "cq", "--type=merge", "-p", json.dumps(
            {"spec": {"admissionChecksStrategy": {"admissionChecks": checks_of}}}))
        queues.await_object("cq", "cannot: " + reason, lambda o: active(o, reason), namespace="")
    k("patch", "clusterqueue", "cq", "--type=merge", "-p", json.dumps(
        {"spec": {"admissionChecksStrategy": {"admissionChecks": [{"name": "fleet"}]}}}))
    w = placed(fleet, fleet.watch("workloads"), k, "last", managed=False)
    check(w["status"]["clusterName"] == "a", "with one check it admits again", w["status"])


if __name__ == "__main__":
    main(globals(), Fleet)
