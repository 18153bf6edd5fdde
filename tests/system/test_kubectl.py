#!/usr/bin/env python3
"""The daily verbs of kubectl, with each version that tests/kubectl-versions finds."""

import json
import threading

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.story import DEADLINE
from muster_test.watch import is_true


class Lines:
    """Output of a kubectl that goes on, line by line as it comes."""

    def __init__(self, process):
        self.process, self.lines, self.changed = process, [], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()

    def wait_for(self, what, matches):
        with self.changed:
            if not self.changed.wait_for(lambda: any(map(matches, self.lines)), DEADLINE):
                raise Failure(f"kubectl get -w never showed {what}: {self.lines}")

    def close(self):
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


def manifest(name, duration, cpu="1"):
    return json.dumps(make.pytorch_job(name, workers=1, duration=duration, cpu=cpu, gpus=0))


def the_verbs(fleet, kubectl):
    v = kubectl.version
    name = "train-" + v.lower().replace(".", "-")
    where = fleet.path(name + ".json")
    with open(where, "w", encoding="utf-8") as f:
        f.write(manifest(name, "120s"))

    shown = kubectl("apply", "-f", where)
    check("created" in shown, f"{v}: apply creates", shown)
    shown = kubectl("apply", "-f", where)
    check("unchanged" in shown, f"{v}: apply again changes nothing", shown)
    watching = Lines(kubectl.start("get", "pytorchjob", name, "-w"))
    try:
        watching.wait_for("the job running", lambda line: line.startswith(name) and
                          "Running" in line)
        check(True, f"{v}: get -w shows it go to Running")
        with open(where, "w", encoding="utf-8") as f:
            text = json.loads(manifest(name, "120s"))
            text["metadata"]["labels"] = {"team": "blue"}
            json.dump(text, f)
        shown = kubectl("apply", "-f", where)
        check("configured" in shown, f"{v}: apply of an edited file configures", shown)
        job = fleet.client.get("pytorchjobs", name)
        check(job["metadata"]["labels"] == {"team": "blue"}, f"{v}: and the label is there",
              job["metadata"])
        shown = kubectl("get", "pytorchjob", "-l", "team=blue", "-o", "name")
        check(shown.split() == [f"pytorchjob.kubeflow.org/{name}"],
              f"{v}: get -l finds it", shown)
        shown = kubectl("get", "pytorchjobs", "-A", "-o",
                        "jsonpath={.items[*].metadata.name}")
        check(name in shown.split(), f"{v}: get -A -o jsonpath", shown)
        shown = kubectl("describe", "pytorchjob", name)
        check("ScheduleBindingSucceed" in shown and "Running" in shown,
              f"{v}: describe shows status and events", shown)
        # edit: the editor is sed.
        shown = kubectl("edit", "pytorchjob", name, env={"EDITOR": "sed -i s/blue/green/",
                                                         "KUBE_EDITOR": "sed -i s/blue/green/"})
        check("edited" in shown, f"{v}: edit", shown)
        job = fleet.client.get("pytorchjobs", name)
        check(job["metadata"]["labels"] == {"team": "green"}, f"{v}: and the edit is kept",
              job["metadata"])
        kubectl("label", "pytorchjob", name, "team-")
        kubectl("annotate", "pytorchjob", name, "note=seen")
        job = fleet.client.get("pytorchjobs", name)["metadata"]
        check("labels" not in job or "team" not in job["labels"], f"{v}: label takes one off", job)
        shown = kubectl("get", "pods", "-o", "name").split()
        check(f"pod/{name}-master-0" in shown, f"{v}: the hub shows the job's pods", shown)
        kubectl("delete", "pytorchjob", name)
        check(fleet.client.find("pytorchjobs", name) is None, f"{v}: delete, and wait until it is"
              " gone")
    finally:
        watching.close()

    kubectl("create", "-f", "-", stdin=manifest(name + "-short", "1s"))
    kubectl("wait", "--for=condition=Succeeded", f"pytorchjob/{name}-short",
            f"--timeout={DEADLINE:.0f}s")
    check(is_true(fleet.client.get("pytorchjobs", name + "-short"), "Succeeded"),
          f"{v}: wait --for=condition=Succeeded")
    kubectl("delete", "--wait=false", "pytorchjob", name + "-short")
    done = kubectl.run("wait", "--for=delete", f"pytorchjob/{name}-short",
                       f"--timeout={DEADLINE:.0f}s")
    gone = fleet.client.find("pytorchjobs", name + "-short") is None
    # Old ones complain when there is nothing left to wait for.
    check(gone and (done.returncode == 0 or "no matching" in done.stderr or
                    "NotFound" in done.stderr), f"{v}: wait --for=delete", done)

    shown = kubectl("explain", "pytorchjob.spec.pytorchReplicaSpecs")
    check("pytorchReplicaSpecs" in shown and "DESCRIPTION" in shown, f"{v}: explain", shown)
    shown = kubectl("explain", "elasticquotatree.spec.root")
    check("children" in shown and "namespaces" in shown, f"{v}: explain of a quota tree", shown)
    shown = kubectl("api-resources", "-o", "name").split()
    for kind in ("pytorchjobs.kubeflow.org", "jobsets.jobset.x-k8s.io", "jobs.batch", "pods",
                 "clusters.cluster.karmada.io", "elasticquotatrees.scheduling.sigs.k8s.io"):
        check(kind in shown, f"{v}: api-resources knows {kind}", shown)
    bad = kubectl.run("get", "pytorchjob", "nobody")
    check(bad.returncode == 1 and '(NotFound): pytorchjobs.kubeflow.org "nobody" not found' in
          bad.stderr, f"{v}: an error as from any API server: {bad.stderr.strip()}", bad)
    bad = kubectl.run("apply", "-f", "-", stdin=manifest(name, "1s").replace(
        '"restartPolicy": "Never"', '"restartPolicy": "Perhaps"'))
    check(bad.returncode == 1 and "restartPolicy" in bad.stderr,
          f"{v}: a bad field is refused: {bad.stderr.strip()[:200]}", bad)


def story_every_kubectl(fleet):
    """apply, get -w, describe, edit, label, delete, wait and explain work with every kubectl"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("member", [make.node("gpu", gpus=0)]))
    for kubectl in fleet.kubectls():
        the_verbs(fleet, kubectl)


def server_side(fleet, kubectl):
    v = kubectl.version
    name = "side-" + v.lower().replace(".", "-")

    def config(**data):
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": name}, "data": data})

    def apply(text, *args):
        return kubectl.run("apply", "--server-side", "-f", "-", *args, stdin=text)

    def managers():
        entries = fleet.client.get("configmaps", name)["metadata"].get("managedFields", [])
        return sorted((e["manager"], e["operation"]) for e in entries)

    shown = apply(config(a="1", b="1"))
    check(shown.returncode == 0 and "serverside-applied" in shown.stdout,
          f"{v}: apply --server-side creates", shown)
    check(managers() == [("kubectl", "Apply")], f"{v}: and owns what it said", managers())
    shown = apply(config(b="2"), "--field-manager=other")
    check(shown.returncode == 1 and
          'Apply failed with 1 conflict: conflict with "kubectl": .data.b' in shown.stderr and
          "--force-conflicts" in shown.stderr, f"{v}: another manager hears of a conflict", shown)
    shown = apply(config(b="2"), "--field-manager=other", "--force-conflicts")
    check(shown.returncode == 0, f"{v}: --force-conflicts takes the field", shown)
    shown = apply(config(a="3"), "--dry-run=server")
    check(shown.returncode == 0 and
          fleet.client.get("configmaps", name)["data"] == {"a": "1", "b": "2"},
          f"{v}: --dry-run=server changes nothing", shown)
    shown = apply(config(a="3"))
    check(shown.returncode == 0 and
          fleet.client.get("configmaps", name)["data"] == {"a": "3", "b": "2"},
          f"{v}: a field that another owns is not removed", shown)
    if v != "1.20":  # which always shows them
        shown = kubectl("get", "configmap", name, "-o", "yaml")
        check("managedFields" not in shown, f"{v}: get hides managedFields", shown)
        shown = kubectl("get", "configmap", name, "-o", "yaml", "--show-managed-fields")
        check("f:data:" in shown, f"{v}: get --show-managed-fields shows them", shown)
        diff = kubectl.run("diff", "--server-side", "-f", "-", stdin=config(a="4"))
        lines = [line for line in diff.stdout.splitlines() if line[:1] in "+-" and
                 line[:3] not in ("+++", "---")]
        check(diff.returncode == 1 and lines == ["-  a: \"3\"", "+  a: \"4\""],
              f"{v}: diff --server-side shows what would change, and nothing else", diff)
    kubectl("delete", "configmap", name)

    # From client-side to server-side, and back.
    kubectl("apply", "-f", "-", stdin=config(a="1", b="1"))
    shown = apply(config(a="2"))
    check(shown.returncode == 0, f"{v}: server-side apply after client-side: no conflict", shown)
    data = fleet.client.get("configmaps", name)["data"]
    if v == "1.20":  # which does not hand its fields over
        check(data == {"a": "2", "b": "1"}, f"{v}: and the value is there", data)
    else:
        check(data == {"a": "2"} and ("kubectl-client-side-apply", "Update") not in managers(),
              f"{v}: and what it does not say any more is gone", (data, managers()))
    kubectl("apply", "-f", "-", stdin=config(a="3"))
    check(fleet.client.get("configmaps", name)["data"].get("a") == "3",
          f"{v}: client-side apply again")
    kubectl("delete", "configmap", name)


def story_server_side_apply(fleet):
    """Server-side apply: owners, conflicts, force, dry run, and going over from client-side"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        server_side(fleet, kubectl)


def story_strict_fields(fleet):
    """A kubectl that validates on the server hears of a misspelt field"""
    fleet.start_hub()
    fleet.start_sim("member", [make.node("gpu", gpus=0)])
    text = json.loads(manifest("typo", "1s"))
    text["spec"]["runPolicies"] = {}
    for kubectl in fleet.kubectls():
        if kubectl.version == "1.20":
            continue  # validates by itself, and only against what it knows
        bad = kubectl.run("apply", "-f", "-", stdin=json.dumps(text))
        check(bad.returncode == 1 and "runPolicies" in bad.stderr,
              f"{kubectl.version}: strict: {bad.stderr.strip()[:200]}", bad)
        lax = kubectl.run("apply", "--validate=warn", "-f", "-", stdin=json.dumps(text))
        check(lax.returncode == 0 and "runPolicies" in lax.stderr,
              f"{kubectl.version}: warn: {lax.stderr.strip()[:200]}", lax)
        kubectl("delete", "pytorchjob", "typo")


def story_raw(fleet):
    """kubectl create, replace and delete --raw, which send chunks, end a namespace that is stuck"""
    fleet.start_hub()
    for k in fleet.kubectls():
        stuck = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "stuck"},
                 "spec": {"finalizers": ["kubernetes", "example.com/nobody"]}}
        k("create", "--raw", "/api/v1/namespaces", "-f", "-", stdin=stuck)
        k("delete", "namespace", "stuck", "--wait=false")
        now = json.loads(k("get", "namespace", "stuck", "-o", "json"))
        check(now["status"]["phase"] == "Terminating", f"{k.version}: the namespace is stuck", now)
        now["spec"]["finalizers"].remove("example.com/nobody")
        k("replace", "--raw", "/api/v1/namespaces/stuck/finalize", "-f", "-", stdin=now)
        until(f"{k.version}: it is gone",
              lambda: "NotFound" in k.run("get", "namespace", "stuck").stderr)
        k("create", "configmap", "raw")
        k("delete", "--raw", "/api/v1/namespaces/default/configmaps/raw", "-f", "-",
          stdin={"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]})
        k("get", "configmap", "raw")
        k("delete", "--raw", "/api/v1/namespaces/default/configmaps/raw", "-f", "-", stdin={})
        done = k.run("get", "configmap", "raw")
        check("NotFound" in done.stderr, f"{k.version}: a delete with chunks", done)


def story_wide_columns(fleet):
    """kubectl get -o wide of jobs: QUEUE, CLUSTER, POS and REASON; without it the upstream columns"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("m0", [make.node("gpu", gpus=8)]))
    most = {"nvidia.com/gpu": "4"}
    fleet.client.create(make.namespace("team-a"), make.quota_tree(make.quota_node(
        "root", most, most, children=[make.quota_node("a", {}, most, ["team-a"])])))
    fleet.client.create(make.policy(namespace="team-a"))
    jobs = fleet.watch("pytorchjobs")

    def job(name):
        return make.pytorch_job(name, "team-a", workers=1, gpus=2, duration="600s")
    fleet.client.create(job("one"))
    jobs.await_object("one", "runs", lambda o: is_true(o, "Running"), namespace="team-a")
    for k in fleet.kubectls():
        v = k.version
        watching = Lines(k.start("get", "pytorchjobs", "-n", "team-a", "-w", "-o", "wide"))
        watching.wait_for("the running one", lambda line: line.startswith("one "))
        fleet.client.create(job("three"), job("two"))

        def rows(*args):
            lines = [x.split() for x in k("get", *args, "-n", "team-a").splitlines()]
            return lines[0], {x[0]: x[-4:] for x in lines[1:]}

        def settled():
            waits = rows("pytorchjobs", "-o", "wide")[1]
            return [waits.get(n, [""])[0] for n in ("two", "three")] == ["root/a"] * 2
        until("both wait", settled)
        head, shown = rows("pytorchjobs", "-o", "wide")
        check(head == ["NAME", "STATE", "AGE", "QUEUE", "CLUSTER", "POS", "REASON"] and shown == {
            "one": ["root/a", "m0", "<none>", "<none>"],
            "three": ["root/a", "<none>", "1", "WaitingForQuota"],
            "two": ["root/a", "<none>", "2", "WaitingForQuota"]},
            f"{v}: a list with -o wide", head, shown)
        check(rows("pytorchjobs", "-o", "wide", "--chunk-size=1")[1] == shown,
              f"{v}: the same in chunks")
        check(rows("pytorchjob", "three", "-o", "wide")[1] == {"three": shown["three"]},
              f"{v}: by name")
        check(rows("pytorchjobs")[0] == ["NAME", "STATE", "AGE"], f"{v}: without -o wide as upstream")
        watching.wait_for("the waiting ones", lambda line: line.startswith("two "))
        check("QUEUE" in watching.lines[0] and watching.lines[1].split()[-4:] == shown["one"],
              f"{v}: a watch has the columns", watching.lines)
        watching.close()
        fleet.client.delete("pytorchjobs", "two", "team-a")
        fleet.client.delete("pytorchjobs", "three", "team-a")
        jobs.await_state("one is left", lambda objects: len(objects) == 1)


if __name__ == "__main__":
    main(globals(), Fleet)
