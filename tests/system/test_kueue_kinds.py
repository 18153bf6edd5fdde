#!/usr/bin/env python3
"""Kueue's kinds as their users meet them: kubectl in both versions, columns, explain, bad input."""

import glob
import json
import os

from muster_test import Fleet, check, main

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "examples", "kueue")
GROUP = "kueue.x-k8s.io"


def queue(version="v1beta2", name="q", **spec):
    return {"apiVersion": f"{GROUP}/{version}", "kind": "ClusterQueue",
            "metadata": {"name": name}, "spec": spec}


def group(*flavors, covered=("cpu",), **quota):
    return {"coveredResources": list(covered), "flavors": [
        {"name": f, "resources": [{"name": c, "nominalQuota": 9, **quota} for c in covered]}
        for f in flavors]}


def refused(kubectl, words, *objects, how=("apply",)):
    done = kubectl.run(*how, "-f", "-", stdin="\n".join(json.dumps(o) for o in objects))
    check(done.returncode == 1 and words in done.stderr,
          f"{kubectl.version}: refused: {done.stderr.strip()[:200]}", done)


def story_examples(fleet):
    """Every example goes in, again without a change, and reads alike in both versions"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    for path in sorted(glob.glob(os.path.join(EXAMPLES, "*.yaml"))):
        name = os.path.basename(path)
        done = kubectl.run("apply", "-f", path)
        check(done.returncode == 0 and "created" in done.stdout, f"{name} goes in", done)
        if name == "hotswap.yaml":
            for words in ("spec.namespaceSelector: missing", "coveredResources: missing",
                          "reclaimOutOfCohort: not a setting"):
                check(words in done.stderr, f"{name}: a warning: {words}", done)
        again = kubectl.run("apply", "-f", path)
        changed = [line for line in again.stdout.splitlines()
                   if GROUP in line and "unchanged" not in line]
        # What one version reads back in other words is sent again, and is no change.
        check(again.returncode == 0 and all("clusterqueue" in line for line in changed),
              f"{name} again", again)
        generations = kubectl("get", "cq", "-o", "jsonpath={.items[*].metadata.generation}")
        check(set(generations.split()) == {"1"}, f"{name}: nothing changed", generations)
    old = json.loads(kubectl("get", f"clusterqueues.v1beta1.{GROUP}", "queued", "-o", "json"))
    new = json.loads(kubectl("get", f"clusterqueues.v1beta2.{GROUP}", "queued", "-o", "json"))
    check(old["apiVersion"] == f"{GROUP}/v1beta1" and new["apiVersion"] == f"{GROUP}/v1beta2" and
          new["spec"]["admissionChecksStrategy"] == {"admissionChecks": [{"name": "nodes"}]} and
          old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"],
          "one queue in two versions", (old, new))


def story_kubectl(fleet):
    """Short names, columns, explain, edits through either version"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        v = kubectl.version
        name = "q" + v.replace(".", "").lower()
        kubectl("apply", "-f", "-", stdin=queue(
            "v1beta1", name, cohort="team", namespaceSelector={}, resourceGroups=[group("f")]))
        shown = kubectl("get", "cq", name).splitlines()
        check(shown[0].split() == ["NAME", "COHORT", "PENDING", "WORKLOADS"] and
              shown[1].split()[:2] == [name, "team"], f"{v}: columns", shown)
        for version in ("v1beta1", "v1beta2"):
            shown = kubectl("get", f"clusterqueues.{version}.{GROUP}", name, "-o", "wide")
            check(shown.splitlines()[0].split() == [
                "NAME", "COHORT", "STRATEGY", "PENDING", "WORKLOADS", "ADMITTED", "WORKLOADS"] and
                "BestEffortFIFO" in shown, f"{v}: wide columns of {version}", shown)
        kubectl("patch", f"clusterqueues.v1beta1.{GROUP}", name, "--type=merge", "-p",
                '{"spec":{"cohort":"other","stopPolicy":"Hold"}}')
        got = json.loads(kubectl("get", "cq", name, "-o", "json"))["spec"]
        check(got["cohortName"] == "other" and got["stopPolicy"] == "Hold" and
              "cohort" not in got, f"{v}: a patch through v1beta1", got)
        shown = kubectl("explain", "cq.spec.resourceGroups")
        check("FIELD" in shown and "coveredResources" in shown, f"{v}: explain", shown)
        shown = kubectl("explain", "clusterqueue.spec.cohort", f"--api-version={GROUP}/v1beta1")
        check("lend each other" in shown, f"{v}: explain of v1beta1", shown)
        done = kubectl.run("get", "lq,kwl,rf,ac,wpc,co,topo,prc,mkc,mkconf,provreq", "-A")
        check(done.returncode == 0 and "could also match" not in done.stderr,
              f"{v}: short names, the same in both versions, are no two kinds'", done)
        listed = json.loads(kubectl("get", "--raw", f"/apis/{GROUP}/v1beta1"))["resources"]
        check({"cq", "kwl", "lq"} <= {s for r in listed for s in r.get("shortNames", [])},
              f"{v}: short names of v1beta1 are discovered", listed)


def story_bad_input(fleet):
    """What is wrong is refused with its path, and nothing changed"""
    fleet.start_hub()
    kubectl = fleet.kubectls()[-1]
    refused(kubectl, "resources[0].nominalQuota: Invalid value: \"1e30\"",
            queue(resourceGroups=[group("f", nominalQuota="1e30")]))
    refused(kubectl, "resources[0].nominalQuota: Invalid value: \"-1\"",
            queue(resourceGroups=[group("f", nominalQuota="-1")]))
    refused(kubectl, "resources[0].nominalQuota: Invalid value: \"1Gi5M\"",
            queue(resourceGroups=[group("f", nominalQuota="1Gi5M")]))
    refused(kubectl, "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"f\"",
            queue(resourceGroups=[group("f"), group("f", covered=("memory",), nominalQuota="1Gi")]))
    refused(kubectl, "borrowingLimit must be nil when cohort is empty",
            queue(resourceGroups=[group("f", borrowingLimit=1)]))
    refused(kubectl, "unknown field \"spec.cohort\"", queue(cohort="c"))
    check(kubectl("get", "cq", "-o", "name") == "", "nothing was made")
    local = {"apiVersion": f"{GROUP}/v1beta2", "kind": "LocalQueue",
             "metadata": {"name": "l", "namespace": "default"}, "spec": {"clusterQueue": "a"}}
    kubectl("apply", "-f", "-", stdin=local)
    refused(kubectl, "spec.clusterQueue: Invalid value: \"b\": field is immutable",
            {**local, "spec": {"clusterQueue": "b"}})


if __name__ == "__main__":
    main(globals(), Fleet)
