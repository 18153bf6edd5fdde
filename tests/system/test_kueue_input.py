#!/usr/bin/env python3
"""Bad input for Kueue's queues, through the API: refused with the field's path and nothing changed,
or taken and shown as inactive with Kueue's reason."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.kubectl import Kubectl
from muster_test.client import Kubeconfig
from muster_test.programs import write_kubeconfig
from muster_test.watch import condition, is_true

GROUP = "kueue.x-k8s.io/v1beta2"


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def kueue(kind, name, namespace=None, **fields):
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": GROUP, "kind": kind, "metadata": meta, **fields}


def group(flavor="f", resource="cpu", **quota):
    return {"coveredResources": [resource], "flavors": [
        {"name": flavor, "resources": [{"name": resource, "nominalQuota": 4, **quota}]}]}


def queue(name, *groups, **spec):
    return kueue("ClusterQueue", name, spec={"namespaceSelector": {}, **spec,
                                             "resourceGroups": list(groups) or [group()]})


def cohort(name, parent=None, **spec):
    return kueue("Cohort", name, spec={**({"parentName": parent} if parent else {}), **spec})


def local(name, behind, namespace="default"):
    return kueue("LocalQueue", name, namespace, spec={"clusterQueue": behind})


def workload(name, count=1, queue_name="lq", namespace="default", cpu="1", **pod_set):
    return kueue("Workload", name, namespace, spec={"queueName": queue_name, "podSets": [
        {"name": "main", "count": count, **pod_set, "template": {"spec": {
            "restartPolicy": "Never", "containers": [
                {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]}}}]})


def refused(k, o, *words):
    done = k.run("create", "-f", "-", stdin=json.dumps(o))
    check(done.returncode == 1 and all(w in done.stderr for w in words),
          f"refused: {done.stderr.strip()[:160]}", done, words)


def refused_patch(k, what, patch, *words, how=()):
    done = k.run("patch", *what, "--type=merge", "-p", json.dumps(patch), *how)
    check(done.returncode == 1 and all(w in done.stderr for w in words),
          f"refused: {done.stderr.strip()[:160]}", done, words)


def active_reason(fleet, name, status):
    def holds(o):
        c = condition(o, "Active")
        return c and c["status"] == status
    fleet.watch("clusterqueues").await_object(name, f"Active={status}", holds, namespace="")
    return condition(fleet.client.get("clusterqueues", name, namespace=None), "Active")


def story_quantities(fleet):
    """Overflowing, negative and malformed quantities, a flavor or resource in two groups"""
    fleet.start_hub()
    k = kubectl(fleet)
    at = "spec.resourceGroups[0].flavors[0].resources[0]."
    for bad in ("1e30", "-1", "1Gi5M", "5MiB", "0x10", "", "1e", "9223372036854775808"):
        refused(k, queue("q", group(nominalQuota=bad)), at + "nominalQuota")
        refused(k, queue("q", group(borrowingLimit=bad), cohortName="c"), at + "borrowingLimit")
        refused(k, queue("q", group(lendingLimit=bad), cohortName="c"), at + "lendingLimit")
        refused(k, cohort("c", resourceGroups=[group(nominalQuota=bad)]), at + "nominalQuota")
    refused(k, queue("q", group(lendingLimit=5), cohortName="c"), at + "lendingLimit")
    for bad in ("1e30", "-1", "1Gi5M", ""):
        refused(k, workload("w", cpu=bad), "spec.podSets[0].template.spec.containers[0]."
                                           "resources.requests")
    refused(k, workload("w", count=-1), "spec.podSets[0].count")
    refused(k, workload("w", count=2 ** 31), "spec.podSets[0].count")
    refused(k, workload("w", count=2, minCount=3), "spec.podSets[0]", "minCount")
    refused(k, workload("w", count=2, minCount=0), "spec.podSets[0]", "minCount")
    refused(k, queue("q", fairSharing={"weight": "-1"}), "spec.fairSharing", "greater than or equal to 0")
    refused(k, kueue("WorkloadPriorityClass", "p", value=2 ** 31), "value")
    refused(k, queue("q", group("f"), group("f", "memory")),
            "spec.resourceGroups[1].flavors[0].name: Duplicate value")
    refused(k, queue("q", group("f"), group("g")),
            "spec.resourceGroups[1].coveredResources[0]: Duplicate value")
    many = workload("w")
    many["spec"]["podSets"] = [{**many["spec"]["podSets"][0], "name": f"s{i}"} for i in range(19)]
    refused(k, many, "spec.podSets")
    for kind in ("cq", "co", "kwl", "wpc"):
        check(k("get", kind, "-A", "-o", "name") == "", f"nothing was made: {kind}")


def story_mixed_units_mean_what_they_say(fleet):
    """cpu in milli-units and memory in Gi and M in one cohort are added up exactly"""
    fleet.start_hub()
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=kueue("ResourceFlavor", "f", spec={}))
    for name, memory in (("a", "1Gi"), ("b", "1024M")):
        k("apply", "-f", "-", stdin=queue(
            name, {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "f", "resources": [
                {"name": "cpu", "nominalQuota": "500m"},
                {"name": "memory", "nominalQuota": memory}]}]}, cohortName="team"))
    rows = {(line.split()[0], line.split()[1]): line.split()[2:] for line in
            fleet.muster("quota").stdout.splitlines()[1:]}
    check(rows[("team", "f/cpu")][0] == "1", "500m and 500m are 1", rows)
    check(rows[("team", "f/memory")][0] == f"{(2 ** 30 + 1024 * 10 ** 6) // 1024}Ki",
          "1Gi and 1024M, to the byte", rows)


def story_what_does_not_exist(fleet):
    """Queues that name what is not there are inactive with Kueue's reasons, and come back"""
    fleet.start_hub()
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=queue("q", group("nowhere"), admissionChecksStrategy={
        "admissionChecks": [{"name": "nobody"}]}))
    c = active_reason(fleet, "q", "False")
    check(c["reason"] == "FlavorNotFound" and "nowhere" in c["message"] and
          "references missing AdmissionCheck(s): nobody" in c["message"],
          "the first reason, all in the message", c)
    k("apply", "-f", "-", stdin=kueue("ResourceFlavor", "nowhere", spec={}))
    fleet.watch("clusterqueues").await_object(
        "q", "AdmissionCheckNotFound", lambda o: condition(o, "Active")["reason"] ==
        "AdmissionCheckNotFound", namespace="")
    k("patch", "cq", "q", "--type=merge", "-p", '{"spec":{"admissionChecksStrategy":null}}')
    check(active_reason(fleet, "q", "True")["reason"] == "Ready", "and Ready")
    for o in (cohort("x", "y"), cohort("y", "z"), cohort("z", "x")):
        k("apply", "-f", "-", stdin=o)
    k("patch", "cq", "q", "--type=merge", "-p", '{"spec":{"cohortName":"x"}}')
    c = active_reason(fleet, "q", "False")
    check("cycle" in c["message"], "a cycle of cohorts stops its queues", c)
    k("patch", "cohort", "z", "--type=merge", "-p", '{"spec":{"parentName":null}}')
    check(active_reason(fleet, "q", "True")["reason"] == "Ready", "until it is none")


def story_what_may_not_change(fleet):
    """Immutable fields, each refused with its path"""
    fleet.start_hub()
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}), queue("q"), queue("other"), local("lq", "q"),
              kueue("Topology", "t", spec={"levels": [{"nodeLabel": "rack"}]}),
              kueue("ResourceFlavor", "racks", spec={"nodeLabels": {"a": "b"},
                                                     "topologyName": "t"}),
              workload("w")):
        k("create", "-f", "-", stdin=o)
    fleet.watch("workloads").await_object("w", "holds its quota",
                                          lambda o: is_true(o, "QuotaReserved"))
    refused_patch(k, ("lq", "lq"), {"spec": {"clusterQueue": "other"}}, "spec.clusterQueue")
    refused_patch(k, ("topology", "t"), {"spec": {"levels": [{"nodeLabel": "block"}]}},
                  "spec.levels")
    refused_patch(k, ("rf", "racks"), {"spec": {"topologyName": "u"}},
                  "spec: Invalid value", "immutable when topologyName is set")
    refused_patch(k, ("kwl", "w"), {"spec": {"queueName": "elsewhere"}}, "spec.queueName")
    refused_patch(k, ("kwl", "w"), {"spec": {"podSets": workload("w", 5)["spec"]["podSets"]}},
                  "spec.podSets")
    refused_patch(k, ("kwl", "w"), {"spec": {"maximumExecutionTimeSeconds": 5}},
                  "spec.maximumExecutionTimeSeconds")
    k("create", "-f", "-", stdin=kueue("AdmissionCheck", "c",
                                       spec={"controllerName": "example.com/a"}))
    refused_patch(k, ("ac", "c"), {"spec": {"controllerName": "example.com/b"}},
                  "spec.controllerName")
    k("create", "-f", "-", stdin=kueue("WorkloadPriorityClass", "p", value=5))
    k("patch", "wpc", "p", "--type=merge", "-p", '{"value":6}')
    check(True, "the value of a WorkloadPriorityClass may change, as in Kueue")


def story_other_namespaces(fleet):
    """A queue of another namespace is not there for a job, however it is named"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")]))
    k = kubectl(fleet)
    k("create", "namespace", "mine")
    for o in (kueue("ResourceFlavor", "f", spec={}), queue("q"), local("theirs", "q")):
        k("create", "-f", "-", stdin=o)
    o = make.batch_job("thief", namespace="mine", gpus=0)
    o["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "theirs"}
    k("create", "-f", "-", stdin=o)
    o = make.batch_job("slash", namespace="mine", gpus=0)
    o["metadata"]["annotations"] = {"kueue.x-k8s.io/queue-name": "default/theirs"}
    done = k.run("create", "-f", "-", stdin=json.dumps(o))
    workloads = fleet.watch("workloads")
    k("create", "-f", "-", stdin=workload("w", queue_name="theirs", namespace="mine"))
    workloads.await_state("all wait", lambda objects: len(objects) >= 2 and all(
        (condition(o, "QuotaReserved") or {}).get("reason") == "Misconfigured"
        for o in objects.values()))
    check(done.returncode == 1 or "slash" in k("get", "jobs", "-n", "mine"), "and a path is no name")
    lq = json.loads(k("get", "lq", "theirs", "-o", "json"))
    check(lq.get("status", {}).get("pendingWorkloads", 0) == 0, "nobody is in their queue", lq)


def as_user(fleet, name, *rules):
    """A ServiceAccount with a Role of these rules, and its kubectl."""
    k = kubectl(fleet)
    k("create", "serviceaccount", name)
    k("create", "-f", "-", stdin={"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                                  "metadata": {"name": name, "namespace": "default"},
                                  "rules": list(rules)})
    k("create", "rolebinding", name, f"--role={name}", f"--serviceaccount=default:{name}")
    token = k("create", "token", name).strip()
    c = Kubeconfig(fleet.hub.kubeconfig)
    path = write_kubeconfig(fleet.path(f"kubeconfig-{name}"), fleet.hub.url, c.ca, {"token": token})
    return Kubectl("PATH", k.path, path, fleet.path("home"))


def story_admission_is_the_hubs(fleet):
    """Status patches that steal or forge admission: by rights, and by the hub's word"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("c1", [make.node("n", count=2, gpus=0, cpu="8")]))
    k = kubectl(fleet)
    for o in (kueue("ResourceFlavor", "f", spec={}), queue("q"), local("lq", "q")):
        k("create", "-f", "-", stdin=o)
    job = make.batch_job("holder", gpus=0, cpu="3", duration="60s")
    job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "3"}
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "lq"}
    k("create", "-f", "-", stdin=job)
    workloads = fleet.watch("workloads")
    workloads.await_state("the job holds its quota", lambda objects: any(
        is_true(o, "Admitted") for o in objects.values()))
    [held] = [n.split("/")[1] for n in k("get", "kwl", "-o", "name").split()]
    k("create", "-f", "-", stdin=workload("w", count=4))
    workloads.await_object("w", "waits", lambda o: condition(o, "QuotaReserved"))
    rule = {"apiGroups": ["kueue.x-k8s.io"], "verbs": ["get", "list", "patch", "update"]}
    plain = as_user(fleet, "plain", {**rule, "resources": ["workloads"]})
    status = as_user(fleet, "status", {**rule, "resources": ["workloads", "workloads/status"]})
    forged = {"status": {"admission": {"clusterQueue": "q", "podSetAssignments": [
        {"name": "main", "count": 4, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}]}}}
    now = "2026-01-01T00:00:00Z"

    def say(kind, value):
        return {"status": {"conditions": [{"type": kind, "status": value, "reason": "ByMe",
                                           "message": "", "lastTransitionTime": now}]}}
    sub = ("--subresource=status",)
    refused_patch(plain, ("kwl", "w"), forged, "forbidden", 'workloads/status"', how=sub)
    refused_patch(status, ("kwl", "w"), forged, "status.admission", how=sub)
    for kind in ("QuotaReserved", "Admitted"):
        refused_patch(status, ("kwl", "w"), say(kind, "True"), "status.conditions", kind, how=sub)
    plain("patch", "kwl", "w", "--type=merge", "-p", json.dumps(forged))
    check("admission" not in fleet.client.get("workloads", "w")["status"],
          "a patch without the subresource changes no status")
    # what a job's workload holds is given back when its pods are gone, by nobody else
    before = fleet.client.get("workloads", held)
    refused_patch(status, ("kwl", held), {"status": {"admission": None}}, "status.admission",
                  how=sub)
    for kind in ("QuotaReserved", "Admitted"):
        refused_patch(status, ("kwl", held), say(kind, "False"), "status.conditions",
                      "by the hub's decision alone", how=sub)
    refused_patch(status, ("kwl", held), say("Finished", "True"), "status.conditions", "Finished",
                  how=sub)
    after = fleet.client.get("workloads", held)
    check(before["status"] == after["status"], "nothing changed", before, after)
    # of a workload that somebody made, they may give it back, and end it
    k("patch", "cq", "q", "--type=merge", "-p", json.dumps({"spec": queue(
        "q", group(nominalQuota=9))["spec"]}))
    workloads.await_object("w", "holds quota", lambda o: is_true(o, "QuotaReserved"))
    status("patch", "kwl", "w", "--type=merge", "-p", json.dumps(say("Finished", "True")), *sub)
    workloads.await_object("w", "is over", lambda o: is_true(o, "Finished"))
    fleet.watch("clusterqueues").await_object(
        "q", "one holds quota", lambda o: o["status"]["reservingWorkloads"] == 1, namespace="")


if __name__ == "__main__":
    main(globals(), Fleet)
