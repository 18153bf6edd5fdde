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
    return sorted((o["metadata"]["uid"], o["metadata"].get("generation", 1), json.dumps(o["spec"]))
                  for plural in ("elasticquotatrees", "pytorchjobs")
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
    refused(fleet, "an unknown kind", 404, "NotFound", method="GET", path="/apis/kubeflow.org/v1/"
            "namespaces/default/caffejobs")
    refused(fleet, "an unknown version", 404, "NotFound", method="GET",
            path="/apis/kubeflow.org/v9/namespaces/default/pytorchjobs")
    refused(fleet, "an unknown object", 404, "NotFound", "pytorchjobs", "nobody", method="GET",
            path=JOBS + "/nobody")
    refused(fleet, "malformed JSON", 400, "BadRequest", "offset 23", body='{"kind":\n "PyTorchJob",,}')
    refused(fleet, "malformed YAML", 400, "BadRequest", "line 4",
            body="kind: PyTorchJob\nmetadata:\n  name: [x\nspec: }", content_type="application/yaml")
    refused(fleet, "JSON that ends in the middle", 400, "BadRequest", body='{"kind": "PyTorch')
    refused(fleet, "JSON nested too deeply", 400, "BadRequest", body="[" * 200 + "]" * 200)
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
    path = ("spec.pytorchReplicaSpecs[Master].template.spec.containers[0].resources."
            "requests")
    for value in ("many", "1Zi", "-1", "1e30", ""):
        job = make.pytorch_job("bad", workers=0)
        pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
        pod["containers"][0]["resources"]["requests"]["cpu"] = value
        s = refused(fleet, f"a request of {value!r} cpu", 422, "Invalid", body=job)
        check(any(f.startswith(path) and "cpu" in f for f in fields(s)), "with its path", s)
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
        "namespaces", "x")
    inner = leaf("a", "1", "5", None, [leaf("a", "1", "5", ["x"])])
    bad("a cycle of names", tree(inner), "a")
    deep = leaf("n19", "1", "5", ["x"])
    for i in reversed(range(19)):
        deep = leaf(f"n{i}", "1", "5", None, [deep])
    bad("a tree that is too deep", tree(deep), "spec.root")
    bad("a quantity that cannot be parsed", tree(leaf("a", "some", "5", ["x"])),
        "spec.root.children[0].min", "some")
    bad("a negative quantity", tree(leaf("a", "-1", "5", ["x"])), "spec.root.children[0].min")
    bad("an overflowing quantity", tree(leaf("a", "1", "1e30", ["x"])),
        "spec.root.children[0].max", "1e30")
    fleet.client.create(tree(leaf("a", "1", "5", ["x"])))
    bad("a second tree", tree(leaf("b", "1", "5", ["y"]), name="another"))
    error = fleet.client.refused("PATCH", TREES + "/elasticquotatree", {"spec": {"root": {
        "max": {"cpu": "3"}}}}, content_type="application/merge-patch+json")
    check(error.code == 422 and "10" in error.status["message"] and "3" in
          error.status["message"], "an edit that makes it so: 422: " +
          error.status.get("message", ""), error.body)


if __name__ == "__main__":
    main(globals(), Fleet)
