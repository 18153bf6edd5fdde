#!/usr/bin/env python3
"""Kinds of users' own: CustomResourceDefinitions with every kubectl, over a restart of the hub."""

import json

from muster_test import Fleet, check, main
from muster_test.client import until
from muster_test.story import DEADLINE
from test_kubectl import Lines

GROUP = "example.com"


def version(name, storage, **more):
    return {
        "name": name, "served": True, "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {
                "type": "object", "description": "What it is to be.", "required": ["color"],
                "properties": {
                    "color": {"type": "string", "enum": ["red", "blue"],
                              "description": "Its colour."},
                    "size": {"type": "integer", "default": 3, "minimum": 1},
                    "replicas": {"type": "integer"}}},
            "status": {"type": "object", "properties": {
                "replicas": {"type": "integer"}, "selector": {"type": "string"}}}}}},
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector"}},
        "additionalPrinterColumns": [
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        "selectableFields": [{"jsonPath": ".spec.color"}], **more}


WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"


def definition(plural="widgets", kind="Widget", **names):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced",
                     "names": {"plural": plural, "kind": kind, **names},
                     "versions": [version("v1", True), version("v1beta1", False,
                                                               deprecated=True)]}}


def widget(name, **spec):
    return {"apiVersion": f"{GROUP}/v1", "kind": "Widget",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"color": "red", **spec}}


def wait_established(kubectl, name):
    kubectl("wait", "--for=condition=Established", f"crd/{name}", f"--timeout={DEADLINE:.0f}s")


def refused(kubectl, words, *args, stdin=None):
    done = kubectl.run(*args, stdin=json.dumps(stdin) if stdin else None)
    check(done.returncode == 1 and words in done.stderr,
          f"{kubectl.version}: refused: {done.stderr.strip()[:160]}", done)


def make_and_change(kubectl):
    v = kubectl.version
    kubectl("apply", "-f", "-", stdin=definition(shortNames=["wd"]))
    wait_established(kubectl, f"widgets.{GROUP}")
    shown = kubectl("apply", "-f", "-", stdin=definition(shortNames=["wd"]))
    check("unchanged" in shown, f"{v}: the definition applied again is unchanged", shown)
    shown = kubectl("explain", "widgets.spec")
    check("What it is to be." in shown and "Its colour." in shown, f"{v}: explain", shown)
    shown = kubectl("apply", "-f", "-", stdin=widget("a", replicas=1))
    check("created" in shown, f"{v}: an object is created", shown)
    shown = kubectl("get", "wd").split()
    check(shown == ["NAME", "COLOR", "SIZE", "a", "red", "3"], f"{v}: its columns, its default",
          shown)
    refused(kubectl, "spec.color: Unsupported value: \"green\": supported values: \"red\", "
            "\"blue\"", "create", "-f", "-", stdin=widget("b", color="green"))
    refused(kubectl, "bogus", "create", "-f", "-", stdin=widget("b", bogus=1))
    kubectl("patch", "widget", "a", "--type=merge", "-p", '{"spec":{"size":5}}')
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
            stdin=widget("a", color="blue", replicas=1))
    got = json.loads(kubectl("get", "widget", "a", "-o", "json"))
    check(got["spec"] == {"color": "blue", "size": 5, "replicas": 1},
          f"{v}: patch and server-side apply", got["spec"])
    kubectl("scale", "widget", "a", "--replicas=7")
    got = json.loads(kubectl("get", "--raw",
                             f"/apis/{GROUP}/v1/namespaces/default/widgets/a/scale"))
    check(got["kind"] == "Scale" and got["spec"] == {"replicas": 7}, f"{v}: scale", got)
    whole = json.loads(kubectl("get", "--raw",
                               f"/apis/{GROUP}/v1/namespaces/default/widgets/a"))
    check([e["fieldsV1"] for e in whole["metadata"]["managedFields"]
           if e.get("subresource") == "scale"] == [{"f:spec": {"f:replicas": {}}}],
          f"{v}: who scaled owns the replicas, through scale", whole["metadata"]["managedFields"])
    done = kubectl.run("get", f"widgets.v1beta1.{GROUP}", "a", "-o", "json")
    got = json.loads(done.stdout)
    check(got["apiVersion"] == f"{GROUP}/v1beta1" and got["spec"]["replicas"] == 7 and
          "Widget is deprecated" in done.stderr, f"{v}: in another version, with its warning", done)
    shown = kubectl("get", "wd", "--field-selector", "spec.color=blue", "-o", "name").split()
    none = kubectl("get", "wd", "--field-selector", "spec.color=red", "-o", "name").split()
    check(shown == [f"widget.{GROUP}/a"] and none == [], f"{v}: a selectable field", shown, none)


def unmake(kubectl):
    v = kubectl.version
    watching = Lines(kubectl.start("get", "widgets", "-w", "--output-watch-events"))
    try:
        watching.wait_for("the object", lambda line: line.split()[:2] == ["ADDED", "a"])
        kubectl("delete", "crd", f"widgets.{GROUP}", f"--timeout={DEADLINE:.0f}s")
        watching.wait_for("its end", lambda line: line.split()[:2] == ["DELETED", "a"])
        check(True, f"{v}: a watch sees the object come and go")
    finally:
        watching.close()
    shown = kubectl("api-resources", "--api-group", GROUP, "-o", "name").split()
    check(shown == [], f"{v}: the deleted kind is not discovered", shown)
    kubectl("apply", "-f", "-", stdin=definition(shortNames=["wd"]))
    wait_established(kubectl, f"widgets.{GROUP}")
    shown = kubectl("get", "widgets", "-A", "-o", "name").split()
    check(shown == [], f"{v}: its objects went with it", shown)
    kubectl("delete", "crd", f"widgets.{GROUP}", f"--timeout={DEADLINE:.0f}s")


def story_every_kubectl(fleet):
    """A definition is applied, used, kept over a restart, and deleted with its objects"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        make_and_change(kubectl)
        fleet.hub.stop()
        fleet.hub.start()
        got = json.loads(kubectl("get", "widget", "a", "-o", "json"))
        check(got["spec"] == {"color": "blue", "size": 5, "replicas": 7},
              f"{kubectl.version}: a restart keeps all of it", got["spec"])
        unmake(kubectl)


def story_schema_changes(fleet):
    """A changed schema holds for the writes after it, its defaults for objects from before too"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    kubectl("apply", "-f", "-", stdin=definition())
    wait_established(kubectl, f"widgets.{GROUP}")
    refused(kubectl, "Unsupported value", "create", "-f", "-", stdin=widget("g", color="green"))
    changed = definition()
    for v in changed["spec"]["versions"]:
        spec = v["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["color"]["enum"].append("green")
    kubectl("apply", "-f", "-", stdin=changed)
    kubectl("create", "-f", "-", stdin=widget("g", color="green"))
    check(True, "what the new schema allows is created")
    stored = fleet.client.call("GET", f"{WIDGETS}/g")
    for v in changed["spec"]["versions"]:
        spec = v["schema"]["openAPIV3Schema"]["properties"]["spec"]
        spec["properties"]["shape"] = {"type": "string", "default": "round"}
        v["additionalPrinterColumns"].append(
            {"name": "Shape", "type": "string", "jsonPath": ".spec.shape"})
    kubectl("apply", "-f", "-", stdin=changed)

    def both(when):
        until(f"old objects have the default {when}", lambda: fleet.client.call(
            "GET", f"{WIDGETS}/g")["spec"].get("shape") == "round")
        got = fleet.client.call("GET", f"{WIDGETS}/g")
        check(got["spec"] == dict(stored["spec"], shape="round") and
              got["metadata"] == stored["metadata"],
              f"an object from before has the new default, and is otherwise as it was, {when}", got)
        items = fleet.client.call("GET", WIDGETS)["items"]
        check([o["spec"]["shape"] for o in items] == ["round"], "in lists", items)
        got = fleet.client.call("GET", f"/apis/{GROUP}/v1beta1/namespaces/default/widgets/g")
        check(got["apiVersion"] == f"{GROUP}/v1beta1" and got["spec"]["shape"] == "round",
              "in another version", got)
        check(kubectl("get", "widget", "g", "--no-headers").split() == ["g", "green", "3", "round"],
              "and in tables")
    both("at once")
    fleet.hub.stop()
    fleet.restart_hub()
    both("after a restart")
    kubectl("create", "-f", "-", stdin=widget("h", shape="oval"))
    seen = fleet.client.call("GET", f"{WIDGETS}/h")["spec"]["shape"]
    check(seen == "oval", "what an object says itself stays", seen)


def story_names_conflict(fleet):
    """A definition whose names are taken waits until they are free"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    kubectl("apply", "-f", "-", stdin=definition())
    wait_established(kubectl, f"widgets.{GROUP}")
    kubectl("apply", "-f", "-", stdin=definition("gadgets", "Widget", singular="gadget",
                                                        listKind="GadgetList"))
    name = f"gadgets.{GROUP}"
    kubectl("wait", "--for=condition=NamesAccepted=False", f"crd/{name}",
            f"--timeout={DEADLINE:.0f}s")
    got = json.loads(kubectl("get", "crd", name, "-o", "json"))["status"]["conditions"]
    check(any(c["reason"] == "KindConflict" and "already in use" in c["message"] for c in got),
          "the condition says which name is taken", got)
    kubectl("delete", "crd", f"widgets.{GROUP}")
    wait_established(kubectl, name)
    check(True, "when the first is gone the second is established")


def story_watched_to_the_end(fleet):
    """A watch that lags is told the ends of its objects before it ends with their definition"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    kubectl("apply", "-f", "-", stdin=definition())
    wait_established(kubectl, f"widgets.{GROUP}")
    names = {f"w{i}" for i in range(120)}
    for name in names:
        big = dict(widget(name), metadata={"name": name, "annotations": {"x": "x" * 200_000}})
        fleet.client.call("POST", WIDGETS, big)
    # More than any buffer on the way holds: the watch is still at its first objects below.
    connection = fleet.client.connect()
    connection.request("GET", WIDGETS + "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                       "&resourceVersionMatch=NotOlderThan")
    answer = connection.getresponse()
    kubectl("delete", "crd", f"widgets.{GROUP}", f"--timeout={DEADLINE:.0f}s")
    until("the kind is gone", lambda: fleet.client.raw("GET", WIDGETS)[0] == 404)
    events = [json.loads(line) for line in answer]
    connection.close()
    there = {"ADDED": set(), "DELETED": set()}
    for e in events:
        if e["type"] in there:
            there[e["type"]].add(e["object"]["metadata"]["name"])
    check(there == {"ADDED": names, "DELETED": names}, "every object came and went",
          {t: len(n) for t, n in there.items()}, events[-1]["type"])
    check(events[-1]["type"] == "BOOKMARK", "then the stream ended with a bookmark")


def ruled(rules):
    """The definition with validation rules of spec in its versions."""
    changed = definition()
    for v in changed["spec"]["versions"]:
        v["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = rules
    return changed


def story_validation_rules(fleet):
    """Rules in CEL hold for every write, and in their own words; old objects can still be changed"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        v = kubectl.version
        kubectl("apply", "-f", "-", stdin=definition())
        wait_established(kubectl, f"widgets.{GROUP}")
        kubectl("create", "-f", "-", stdin=widget("old", size=9, replicas=1))
        kubectl("apply", "-f", "-", stdin=ruled([
            {"rule": "self.size <= 5 || self.color == 'blue'", "message": "large ones are blue"},
            {"rule": "!has(self.replicas) || self.replicas < 100",
             "messageExpression": "'at most 99, not ' + string(self.replicas)",
             "fieldPath": ".replicas", "reason": "FieldValueForbidden"},
            {"rule": "self.color == oldSelf.color", "message": "color is immutable"}]))
        kubectl("create", "-f", "-", stdin=widget("a", size=5))
        refused(kubectl, "spec: Invalid value: large ones are blue",
                "create", "-f", "-", stdin=widget("b", size=6))
        refused(kubectl, "spec.replicas: Forbidden: at most 99, not 100",
                "create", "-f", "-", stdin=widget("b", replicas=100))
        refused(kubectl, "spec: Invalid value: color is immutable", "patch", "widget", "a",
                "--type=merge", "-p", '{"spec":{"color":"blue"}}')
        refused(kubectl, "large ones are blue", "apply", "--server-side", "-f", "-",
                stdin=widget("b", size=7))
        kubectl("label", "widget", "old", "x=y")
        check(True, f"{v}: an object from before the rule can be labelled")
        refused(kubectl, "large ones are blue", "patch", "widget", "old", "--type=merge", "-p",
                '{"spec":{"size":10}}')
        got = fleet.client.call("GET", f"{WIDGETS}/old")["spec"]
        check(got["size"] == 9, f"{v}: what is refused changes nothing", got)
        kubectl("delete", "crd", f"widgets.{GROUP}", f"--timeout={DEADLINE:.0f}s")


def story_what_is_refused(fleet):
    """What the hub cannot do for a definition it refuses by its path"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    for rule, words in (("url(self.color).getHost() == 'x'", "undeclared reference to 'url'"),
                        ("self.colour == 'red'", "undefined field 'colour'"),
                        ("self.size > 'x'", "no matching overload for '_>_'")):
        refused(kubectl, "properties[spec].x-kubernetes-validations[0].rule: Invalid value",
                "apply", "-f", "-", stdin=ruled([{"rule": rule}]))
        refused(kubectl, words, "apply", "-f", "-", stdin=ruled([{"rule": rule}]))
    webhook = definition()
    webhook["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com"}}}
    refused(kubectl, "spec.conversion.strategy: Forbidden", "apply", "-f", "-", stdin=webhook)


def story_built_in(fleet):
    """The kinds that the hub serves itself have definitions that stay as they are"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    wait_established(kubectl, "jobsets.jobset.x-k8s.io")
    mine = json.loads(kubectl("get", "crd", "jobsets.jobset.x-k8s.io", "-o", "json"))
    before = mine["spec"]
    theirs = {"apiVersion": mine["apiVersion"], "kind": mine["kind"],
              "metadata": {"name": mine["metadata"]["name"]}, "spec": json.loads(
                  json.dumps(before))}
    theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "true"}]
    for k in fleet.kubectls():
        for how in (["--server-side"], ["--server-side", "--force-conflicts"], []):
            done = k.run("apply", *how, "-f", "-", stdin=json.dumps(theirs))
            check(done.returncode == 0 and "serves jobsets.jobset.x-k8s.io itself" in done.stderr,
                  f"{k.version}: apply {' '.join(how)} of another definition is fine, with a "
                  "warning", done)
    after = json.loads(kubectl("get", "crd", "jobsets.jobset.x-k8s.io", "-o", "json"))["spec"]
    check(after == before, "and changes nothing")
    theirs["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com"}}}
    done = kubectl.run("create", "-f", "-", stdin=json.dumps(theirs))
    check(done.returncode == 0 and "serves jobsets.jobset.x-k8s.io itself" in done.stderr,
          "so is creating it", done)
    after = json.loads(kubectl("get", "crd", "jobsets.jobset.x-k8s.io", "-o", "json"))["spec"]
    check(after == before, "which changes nothing either")
    refused(kubectl, "serves the kind itself", "delete", "crd", "jobsets.jobset.x-k8s.io")


def story_not_run(fleet):
    """What an installer brings beside definitions is refused by name, and the rest goes in"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        v = kubectl.version
        installer = "\n".join(json.dumps(o) for o in [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}},
            {"apiVersion": "apps/v1", "kind": "Deployment",
             "metadata": {"name": "manager", "namespace": "kueue-system"}, "spec": {}},
            {"apiVersion": "admissionregistration.k8s.io/v1",
             "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"}},
            {"apiVersion": "v1", "kind": "Service",
             "metadata": {"name": "svc", "namespace": "kueue-system"}},
            {"apiVersion": "v1", "kind": "ServiceAccount",
             "metadata": {"name": "manager", "namespace": "kueue-system"}}])
        for how in (["apply"], ["apply", "--server-side"]):
            done = kubectl.run(*how, "-f", "-", stdin=installer)
            check(done.returncode == 1 and all(w in done.stderr for w in (
                "deployments.apps \"manager\" is not for this server",
                "validatingwebhookconfigurations.admissionregistration.k8s.io \"hook\" is not",
                "it runs no services", "Skip this step")) and
                "serviceaccount/manager" in done.stdout, f"{v}: {' '.join(how)}", done)
        shown = kubectl("api-resources", "--no-headers")
        check("deployments" not in shown, f"{v}: they are not listed", shown)
        refused(kubectl, "it runs no deployments", "get", "deployment", "manager")
        refused(kubectl, "pods are not created here", "apply", "-f", "-", stdin={
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": {
                "containers": [{"name": "c", "image": "train:1"}]}})
        refused(kubectl, "kubectl create job NAME --image=IMAGE", "run", "x", "--image=busybox")
        shown = kubectl("get", "priorityclass", "-o", "name").split()
        check(shown == [f"priorityclass.scheduling.k8s.io/system-{of}-critical"
                        for of in ("cluster", "node")], f"{v}: the system's classes", shown)
        shown = kubectl("get", "services", "-A", "--no-headers")
        check(shown == "", f"{v}: of services, which clients list unasked, there are none", shown)
        done = kubectl.run("get", "all", "-n", "kueue-system")
        check(done.returncode == 0, f"{v}: so that get all is no failure", done)
        shown = kubectl("cluster-info")
        check(fleet.hub.url in shown, f"{v}: nor is cluster-info", shown)
        if v == "1.20":
            continue  # its prune looks for batch/v1beta1 and extensions, which no server has now
        # Without a list of its own, prune looks for every kind that kubectl knows.
        kept, gone = ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": name, "namespace": "default", "labels": {"set": "one"}}}
            for name in ("kept", "gone"))
        kubectl("apply", "-f", "-", stdin="\n".join(map(json.dumps, (kept, gone))))
        pruned = kubectl("apply", "--prune", "-l", "set=one", "-f", "-", stdin=kept)
        check("configmap/gone pruned" in pruned, f"{v}: nor apply --prune", pruned)


if __name__ == "__main__":
    main(globals(), Fleet)
