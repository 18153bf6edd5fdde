#!/usr/bin/env python3
"""Bad input gets a clear Kubernetes Status and changes nothing."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import url_of

TREES = url_of("elasticquotatrees", "kube-system")
JOBS = url_of("pytorchjobs", "default")


def desired(fleet):
    """What users asked for so far: a refused call leaves all of it as it is."""
    return sorted((o["metadata"]["uid"], o["metadata"].get("generation", 1),
                   json.dumps(o.get("spec", o.get("value"))))
                  for plural in ("elasticquotatrees", "pytorchjobs", "jobs", "jobsets", "clusters",
                                 "propagationpolicies", "priorityclasses", "queueunits")
                  for o in fleet.client.items(plural))


def refused(fleet, sentence, code, reason, *words, method="POST", path=JOBS, body=None, **kw):
    """The call is refused with a Status of that code and reason whose text has the words."""
    before = desired(fleet)
    error = fleet.client.refused(method, path, body, **kw)
    s = error.status
    check(error.code == code and s.get("kind") == "Status" and s.get("code") == code and
          s.get("reason") == reason and s.get("status") == "Failure", f"{sentence}: {code}",
          error.code, error.body)
    text = json.dumps(s, ensure_ascii=False)
    check(all(w in text for w in words), "    " + s["message"][:300], words, s)
    check(desired(fleet) == before, "    and nothing changed")
    return s


def nowhere(fleet, sentence, method, path, body=None):
    """The path leads nowhere: the router's answer is no Status."""
    before = desired(fleet)
    error = fleet.client.refused(method, path, body)
    check(error.code == 404 and error.body == b"404 page not found\n" and desired(fleet) == before,
          f"{sentence}: 404, and nothing changed", error.code, error.body)


def fields(status):
    return {c["field"] for c in status.get("details", {}).get("causes", [])}


def tree(*children, low="10", high="10", **more):
    return make.quota_tree(make.quota_node("root", {"cpu": low}, {"cpu": high},
                                           children=list(children)), **more)


def leaf(name, low=None, high=None, namespaces=None, children=None):
    return make.quota_node(name, {"cpu": low} if low else {}, {"cpu": high} if high else {},
                           namespaces, children)


def story_requests(fleet):
    """Requests that no object can come of"""
    fleet.start_hub()
    nowhere(fleet, "an unknown kind", "GET", "/apis/kubeflow.org/v1/namespaces/default/caffejobs")
    nowhere(fleet, "an unknown version", "GET",
            "/apis/kubeflow.org/v9/namespaces/default/pytorchjobs")
    nowhere(fleet, "a new object of an unknown kind", "POST",
            "/apis/kubeflow.org/v1/namespaces/default/caffejobs",
            {"apiVersion": "kubeflow.org/v1", "kind": "CaffeJob", "metadata": {"name": "x"}})
    nowhere(fleet, "one of an unknown group", "POST",
            "/apis/example.org/v1/namespaces/default/jobs",
            {"apiVersion": "example.org/v1", "kind": "Job", "metadata": {"name": "x"}})
    refused(fleet, "a body of another kind than its path", 422, "Invalid", "TFJob", "PyTorchJob",
            body=dict(make.pytorch_job("x"), kind="TFJob"))
    refused(fleet, "a body of an unknown version", 400, "BadRequest", "kubeflow.org/v9",
            body=dict(make.pytorch_job("x"), apiVersion="kubeflow.org/v9"))
    refused(fleet, "an unknown object", 404, "NotFound", "pytorchjobs", "nobody", method="GET",
            path=JOBS + "/nobody")
    refused(fleet, "malformed JSON", 400, "BadRequest", "offset 23", body='{"kind":\n "PyTorchJob",,}')
    refused(fleet, "malformed YAML", 400, "BadRequest", "line 4",
            body="kind: PyTorchJob\nmetadata:\n  name: [x\nspec: }", content_type="application/yaml")
    refused(fleet, "malformed YAML by a tab", 400, "BadRequest", "line 2",
            body="kind: PyTorchJob\n\tmetadata: {}", content_type="application/yaml")
    refused(fleet, "JSON that ends in the middle", 400, "BadRequest", "offset 17",
            body='{"kind": "PyTorch')
    refused(fleet, "JSON that goes on behind its end", 400, "BadRequest", "offset 23",
            body='{"kind": "PyTorchJob"} x')
    refused(fleet, "JSON that is no UTF-8", 400, "BadRequest", "offset 10",
            body=b'{"kind": "\xff"}')
    refused(fleet, "no body", 400, "BadRequest", body="")
    refused(fleet, "JSON nested too deeply", 400, "BadRequest", "offset", body="[" * 200 + "]" * 200)
    refused(fleet, "YAML nested too deeply", 400, "BadRequest", "line 1", body="[" * 200 + "]" * 200,
            content_type="application/yaml")
    refused(fleet, "a malformed patch", 400, "BadRequest", "offset 7", method="PATCH",
            path=JOBS + "/nobody", body='[{"op":]', content_type="application/json-patch+json")
    refused(fleet, "a body of more than 3 MiB", 413, "RequestEntityTooLarge",
            body=json.dumps(dict(make.pytorch_job("big"), x="y" * (3 << 20))))
    refused(fleet, "a media type that it does not know", 415, "UnsupportedMediaType",
            body="<job/>", content_type="application/xml")
    fleet.client.create(make.pytorch_job("here", gpus=0))
    refused(fleet, "an object that is there already", 409, "AlreadyExists", "here",
            body=make.pytorch_job("here"))
    stale = fleet.client.get("pytorchjobs", "here")
    stale["metadata"]["resourceVersion"] = "1"
    refused(fleet, "an update of an old revision", 409, "Conflict", method="PUT",
            path=JOBS + "/here", body=stale)
    refused(fleet, "a wrong media type of a patch", 415, "UnsupportedMediaType", method="PATCH",
            path=JOBS + "/here", body="{}", content_type="application/json")


POLICY = "policy.one.alibabacloud.com/v1alpha1"


def every_field(fleet):
    """An object with several faults is told all of them at once, whatever its kind."""
    def bad(plural, body, *paths):
        kind = body["kind"]
        s = refused(fleet, f"a {kind} with {len(paths)} wrong or missing fields", 422, "Invalid",
                    path=url_of(plural, "default"), body=body)
        check(fields(s) == set(paths), "    with the path of every one", sorted(fields(s)), paths)
    job = make.pytorch_job("bad", labels={"a b": "c"})
    specs = job["spec"]["pytorchReplicaSpecs"]
    del specs["Master"]["template"]["spec"]["containers"]
    del specs["Worker"]["template"]["spec"]["containers"][0]["name"]
    specs["Worker"]["replicas"] = -1
    job["spec"]["runPolicy"] = {"backoffLimit": "x", "ttlSecondsAfterFinished": 1.5}
    bad("pytorchjobs", job, "metadata.labels", "spec.pytorchReplicaSpecs[Worker].replicas",
        "spec.pytorchReplicaSpecs[Master].template.spec.containers",
        "spec.pytorchReplicaSpecs[Worker].template.spec.containers[0].name",
        "spec.runPolicy.backoffLimit", "spec.runPolicy.ttlSecondsAfterFinished")
    bad("jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "No_Job"}, "spec": {
        "parallelism": -2, "completions": -1, "template": {"spec": {"containers": [
            {"name": "A B"}]}}}}, "metadata.name", "spec.parallelism", "spec.completions",
        "spec.template.spec.containers[0].name", "spec.template.spec.containers[0].image",
        "spec.template.spec.restartPolicy")
    bad("jobsets", {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
                    "metadata": {"name": "bad"}, "spec": {"replicatedJobs": [
                        {"replicas": "x", "template": {}}, {"name": "b"}]}},
        "spec.replicatedJobs[0].replicas", "spec.replicatedJobs[0].name",
        "spec.replicatedJobs[1].template")
    bad("propagationpolicies", {"apiVersion": POLICY, "kind": "PropagationPolicy",
                                "metadata": {"name": "bad"}, "spec": {
                                    "resourceSelectors": "x", "placement": {
                                        "clusterAffinity": {"clusterNames": [1]},
                                        "replicaScheduling": {"customSchedulingType": "Foo"}}}},
        "spec.resourceSelectors", "spec.placement.clusterAffinity.clusterNames[0]",
        "spec.placement.replicaScheduling.customSchedulingType")
    bad("clusters", {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                     "metadata": {"name": "No_Cluster"}, "spec": {
                         "syncMode": "Sideways", "taints": [{"key": "a", "effect": "X"}]}},
        "metadata.name", "spec.syncMode", "spec.taints[0].effect")
    bad("priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                            "metadata": {"name": "bad"}, "value": 2000000000}, "value")


def wrong_types(fleet):
    """Kinds of Kubernetes itself are decoded: 400, and the decoder's words for the first."""
    def bad(plural, body, words):
        kind = body["kind"]
        refused(fleet, f"a {kind} with a value of the wrong type", 400, "BadRequest",
                json.dumps(f'{kind} in version "v1" cannot be handled as a {kind}: {words}')[1:-1],
                path=url_of(plural, "default"), body=body)
    into = "json: cannot unmarshal %s into Go struct field %s of type %s"
    bad("jobs", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "No_Job"}, "spec": {
        "parallelism": "x", "completions": -1}},
        into % ("string", "JobSpec.spec.parallelism", "int32"))
    bad("priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                            "metadata": {"name": "bad"}, "value": "high"},
        into % ("string", "PriorityClass.value", "int32"))
    bad("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "bad", "labels": {"a": 1}}, "data": {"b": True}},
        into % ("number", "ObjectMeta.metadata.labels", "string"))
    bad("secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bad"},
                    "data": {"a": "no base64"}}, "illegal base64 data at input byte 2")
    refused(fleet, "a ClusterRole too", 400, "BadRequest",
            into % ("string", "PolicyRule.rules.verbs", "[]string"),
            path="/apis/rbac.authorization.k8s.io/v1/clusterroles",
            body={"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                  "metadata": {"name": "bad"}, "rules": [{"verbs": "get"}]})
    path = url_of("configmaps", "default")
    fleet.client.create({"apiVersion": "v1", "kind": "ConfigMap",
                         "metadata": {"name": "typed", "namespace": "default"}})
    refused(fleet, "a patch that makes one", 422, "Invalid",
            "patch: Invalid value: ", into % ("number", "ConfigMap.data", "string"), method="PATCH", path=path + "/typed",
            body='{"data": {"a": 1}}', content_type="application/merge-patch+json")


def bad_amounts(fleet):
    """Amounts that are wrong in several places, or only all together."""
    job = make.pytorch_job("bad")
    master, worker = (job["spec"]["pytorchReplicaSpecs"][r]["template"]["spec"]
                      for r in ("Master", "Worker"))
    master["overhead"] = {"cpu": "x"}
    master["initContainers"] = [{"name": "i", "image": "i", "resources": {
        "requests": {"cpu": "-1"}}}]
    worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "1e30"
    s = refused(fleet, "several bad quantities", 422, "Invalid", body=job)
    begin = "spec.pytorchReplicaSpecs[{}].template.spec."
    check({begin.format("Master") + "overhead[cpu]",
           begin.format("Master") + "initContainers[0].resources.requests[cpu]",
           begin.format("Worker") + "containers[0].resources.limits[nvidia.com/gpu]"} == fields(s),
          "with the path of each", sorted(fields(s)))
    job = make.pytorch_job("bad", workers=3, memory="4E")
    s = refused(fleet, "pods that together ask for more than can be counted", 422, "Invalid",
                "memory", body=job)
    check(fields(s) == {"spec.pytorchReplicaSpecs[Worker]"}, "with the path", s)
    job = make.pytorch_job("bad", workers=1000000)
    s = refused(fleet, "too many pods", 422, "Invalid", "1000001", "100000", body=job)
    check(fields(s) == {"spec.pytorchReplicaSpecs[Worker]"}, "with the path", s)


def story_fields(fleet):
    """Fields of the wrong type, missing ones and quantities: 422 or 400 with every path"""
    fleet.start_hub()
    job = make.pytorch_job("bad")
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]
    worker = job["spec"]["pytorchReplicaSpecs"]["Worker"]
    master["replicas"], worker["restartPolicy"] = "two", "Perhaps"
    s = refused(fleet, "wrong types", 422, "Invalid", body=job)
    check({"spec.pytorchReplicaSpecs[Master].replicas",
           "spec.pytorchReplicaSpecs[Worker].restartPolicy"} <= fields(s),
          "with the path of each", s)
    job = make.pytorch_job("bad")
    del job["spec"]["pytorchReplicaSpecs"]
    s = refused(fleet, "a missing field", 422, "Invalid", body=job)
    check("spec.pytorchReplicaSpecs" in fields(s), "with its path", s)
    refused(fleet, "a name that is none", 422, "Invalid", "metadata.name",
            body=make.pytorch_job("No_Name"))
    every_field(fleet)
    wrong_types(fleet)
    path = ("spec.pytorchReplicaSpecs[Master].template.spec.containers[0].resources."
            "requests")
    for value in ("many", "1Zi", "-1", "1e30", ""):
        job = make.pytorch_job("bad", workers=0)
        pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        pod["containers"][0]["resources"]["requests"]["cpu"] = value
        s = refused(fleet, f"a request of {value!r} cpu", 422, "Invalid", body=job)
        check(any(f.startswith(path) and "cpu" in f for f in fields(s)), "with its path", s)
    bad_amounts(fleet)
    job = make.pytorch_job("small", workers=0, gpus=0, cpu="0.1m")
    fleet.client.create(job)
    fleet.watch("resourcebindings").await_object("small-pytorchjob", "exists", lambda o: True)
    small = next(j for j in fleet.view("jobs") if j["name"] == "small")
    check(small["resources"]["cpu"] in ("1m", "0.001"), "0.1m of a cpu counts as 1m", small)


def story_quota_trees(fleet):
    """Quota trees that contradict themselves: 422 with the path and both numbers"""
    fleet.start_hub()

    def bad(sentence, body, *words):
        return refused(fleet, sentence, 422, "Invalid", *words, path=TREES, body=body)
    bad("min above max", tree(leaf("a", "7", "5", ["x"])), "spec.root.children[0]", "7", "5")
    bad("children's min above the parent's", tree(leaf("a", "7", "10", ["x"]),
                                                  leaf("b", "6", "10", ["y"])),
        "spec.root", "13", "10")
    bad("a namespace in two leaves", tree(leaf("a", "1", "5", ["x"]), leaf("b", "1", "5", ["x"])),
        "spec.root.children[1].namespaces[0]", "spec.root.children[0]", "x")
    inner = leaf("a", "1", "5", None, [leaf("a", "1", "5", ["x"])])
    bad("a cycle of names", tree(inner), "spec.root.children[0].children[0].name", '\\"a\\"')
    bad("a cycle over the root", tree(leaf("root", "1", "5", ["x"])), "spec.root.children[0].name")
    deep = leaf("n19", "1", "5", ["x"])
    for i in reversed(range(19)):
        deep = leaf(f"n{i}", "1", "5", None, [deep])
    bad("a tree that is too deep", tree(deep), "spec.root" + ".children[0]" * 16, "17", "16")
    bad("a tree that is too wide", tree(*(leaf(f"n{i}", "0", "5", [f"ns{i}"])
                                          for i in range(10001))),
        "spec.root.children", "10001", "10000")
    bad("children's min that cannot be added up", tree(
        leaf("a", "9P", "9P", ["x"]), leaf("b", "9P", "9P", ["y"]), low="9P", high="9P"),
        "spec.root.min.cpu", "9P")
    bad("a node that has children and namespaces", tree(leaf("a", "1", "5", ["x"], [
        leaf("b", "1", "5", ["y"])])), "spec.root.children[0].namespaces")
    bad("a node without a name", tree(leaf("", "1", "5", ["x"])), "spec.root.children[0].name")
    bad("a negative number of jobs", tree(make.quota_node("a", {}, {
        "kube-queue/max-jobs": "-3"}, ["x"])), "spec.root.children[0].max[kube-queue/max-jobs]")
    s = bad("several at once", tree(leaf("a", "x", "5", ["x"]), leaf("b", "1", "y")))
    check(fields(s) == {"spec.root.children[0].min[cpu]", "spec.root.children[1].max[cpu]"},
          "with the path of each", s)
    bad("a quantity that cannot be parsed", tree(leaf("a", "some", "5", ["x"])),
        "spec.root.children[0].min", "some")
    bad("a negative quantity", tree(leaf("a", "-1", "5", ["x"])), "spec.root.children[0].min")
    bad("an overflowing quantity", tree(leaf("a", "1", "1e30", ["x"])),
        "spec.root.children[0].max", "1e30")
    fleet.client.create(tree(leaf("a", "1", "5", ["x"])))
    bad("a second tree", tree(leaf("b", "1", "5", ["y"]), name="another"), "elasticquotatree")
    _, headers, _ = fleet.client.raw("POST", url_of("elasticquotatrees", "default"), tree(
        leaf("b", "1", "5", ["y"]), name="elsewhere", namespace="default"))
    check("kube-system" in (headers.get("Warning") or ""),
          "one outside kube-system has no effect, and a warning says so", headers.items())
    error = fleet.client.refused("PATCH", TREES + "/elasticquotatree", {"spec": {"root": {
        "max": {"cpu": "3"}}}}, content_type="application/merge-patch+json")
    check(error.code == 422 and "10" in error.status["message"] and "3" in
          error.status["message"], "an edit that makes it so: 422: " +
          error.status.get("message", ""), error.body)


if __name__ == "__main__":
    main(globals(), Fleet)
