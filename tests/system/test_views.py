#!/usr/bin/env python3
"""Members seen through the hub: their API behind clusters/NAME/proxy, the logs of pods, their nodes
and pods."""

import json
import threading

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import Kubeconfig, until
from muster_test.kubectl import Kubectl
from muster_test.programs import write_kubeconfig
from muster_test.story import DEADLINE
from muster_test.watch import is_true

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"


class Lines:
    """Output of a kubectl that goes on, line by line as it comes."""

    def __init__(self, process):
        self.process, self.lines, self.ended = process, [], False
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, what, holds):
        with self.changed:
            if not self.changed.wait_for(lambda: holds(self.lines), DEADLINE):
                raise Failure(f"kubectl never showed {what}: {self.lines[-20:]}")

    def wait_for_end(self):
        with self.changed:
            if not self.changed.wait_for(lambda: self.ended, DEADLINE):
                raise Failure(f"kubectl did not end: {self.lines[-20:]}")
        return self.process.wait(DEADLINE)

    def close(self):
        self.process.kill()
        self.process.wait(DEADLINE)


def through(fleet, member, kubectl, **user):
    """A kubectl whose server is the member behind the hub."""
    hub = Kubeconfig(fleet.hub.kubeconfig)
    path = write_kubeconfig(
        fleet.path(f"through-{member}-{kubectl.version}-{len(user)}"),
        f"{fleet.hub.url}{CLUSTERS}/{member}/proxy", hub.ca,
        user or {"client-certificate-data": hub.cert, "client-key-data": hub.key})
    return Kubectl(kubectl.version, kubectl.path, path, fleet.path("home"))


def pod(name):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                       "spec": {"containers": [{"name": "main", "image": "registry.example/x:1"}]}})


def story_the_proxy(fleet):
    """clusters/NAME/proxy: every verb of kubectl, watches that stream, refusals in the member's words"""
    fleet.start_hub()
    sim = fleet.start_sim("gpu-a", [make.node("node", count=2)])
    fleet.join(sim)
    for plain in fleet.kubectls():
        v = plain.version
        k = through(fleet, "gpu-a", plain)
        shown = k("get", "nodes", "-o", "name").split()
        check(shown == ["node/node-0", "node/node-1"], f"{v}: get nodes through the hub", shown)
        watching = Lines(k.start("get", "nodes", "-w"))
        try:
            watching.wait_for("the nodes", lambda lines: len(lines) >= 3)
            k("label", "node", "node-0", "--overwrite", f"seen={v.lower()}")  # a PATCH
            watching.wait_for("the change", lambda lines: len(lines) >= 4)
            check(True, f"{v}: a watch through the hub streams")
        finally:
            watching.close()
        name = "pod-" + v.lower().replace(".", "-")
        k("create", "-f", "-", stdin=pod(name))
        check(k("get", "pod", name, "-o", "name").strip() == f"pod/{name}",
              f"{v}: create through the hub")
        k("delete", "pod", name, "--grace-period=0", "--force")
        bad = k.run("get", "pod", name)
        check(bad.returncode == 1 and f'(NotFound): pods "{name}" not found' in bad.stderr,
              f"{v}: a refusal is in the member's words: {bad.stderr.strip()}", bad)
    status, body = answer(fleet, "GET", CLUSTERS + "/nobody/proxy/version")
    check(status == 404 and "no such member" in body["message"],
          "a cluster that does not exist is a 404", body)
    status, body = answer(fleet, "PUT", CLUSTERS + "/gpu-a/proxy/api/v1/nodes/node-0",
                          {"kind": "Node"})
    code, headers, _ = fleet.client.raw(
        "POST", CLUSTERS + "/gpu-a/proxy/api/v1/namespaces/default/configmaps",
        {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}, "odd": 1},
        fieldValidation="Warn")
    check(code == 201 and 'unknown field \\"odd\\"' in headers["Warning"],
          f"a member's warnings go through: {headers['Warning']}", dict(headers))
    code, headers, _ = fleet.client.raw(
        "GET", CLUSTERS + "/gpu-a/proxy/api/v1/nodes", resourceVersion=10 ** 15)
    check(code == 504 and headers["Retry-After"] == "1",
          "and when to ask again", code, dict(headers))
    check(status in (400, 409, 422), f"PUT goes through, and is refused there: {status}", body)


def answer(fleet, method, path, body=None):
    status, _, text = fleet.client.raw(method, path, body)
    return status, json.loads(text)


def story_rights(fleet):
    """The hub's rights are asked before anything goes to a member"""
    fleet.start_hub()
    sim = fleet.start_sim("gpu-a", [make.node("node")])
    fleet.join(sim)
    admin = [k for k in fleet.kubectls() if k.version == "PATH"][0]
    admin("create", "serviceaccount", "reader")
    admin("create", "clusterrole", "look", "--verb=get", "--resource=clusters/proxy")
    admin("create", "clusterrolebinding", "look", "--clusterrole=look",
          "--serviceaccount=default:reader")
    token = admin("create", "token", "reader").strip()
    k = through(fleet, "gpu-a", admin, token=token)
    shown = k("get", "nodes", "-o", "name").split()
    check(shown == ["node/node"], "get on clusters/proxy lets a GET through", shown)
    bad = k.run("label", "node", "node", "a=b")
    check(bad.returncode == 1 and "cannot patch resource \"clusters/proxy\"" in bad.stderr,
          f"and nothing else: {bad.stderr.strip()}", bad)
    node = through(fleet, "gpu-a", admin)("get", "node", "node", "-o", "json")
    check("a" not in json.loads(node)["metadata"].get("labels", {}),
          "the member was not asked", node)


def story_nodes(fleet):
    """kubectl get, describe and watch of members' nodes, and get of any pod, at the hub"""
    fleet.start_hub()
    sims = [fleet.start_sim(name, [make.node("node", count=2, labels={"pool": name})])
            for name in ("gpu-a", "gpu-b")]
    fleet.join(*sims)
    fleet.client.create(make.pytorch_job("train", workers=0, duration="600s", cpu="1", gpus=1))
    pods = fleet.watch("pods", "default")
    pods.await_object("train-master-0", "Running", lambda o: o["status"]["phase"] == "Running")
    where = fleet.client.get("pods", "train-master-0")["metadata"]["labels"]["muster.dev/cluster"]
    found = fleet.kubectls()
    inside = through(fleet, "gpu-a", found[-1])
    inside("create", "-f", "-", stdin=pod("stranger"))
    all_nodes = ["gpu-a.node-0", "gpu-a.node-1", "gpu-b.node-0", "gpu-b.node-1"]
    for k in found:
        v = k.version
        rows = [line.split() for line in k("get", "nodes").splitlines()]
        check(rows[0] == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"] and
              [r[0] for r in rows[1:]] == all_nodes and all(r[1] == "Ready" for r in rows[1:]),
              f"{v}: get nodes", rows)
        shown = k("get", "nodes", "-l", "muster.dev/cluster=gpu-b", "-o", "name").split()
        check(shown == ["node/gpu-b.node-0", "node/gpu-b.node-1"], f"{v}: get nodes -l", shown)
        rows = [line.split()[:2] for line in k("get", "node", "gpu-a.node-1").splitlines()]
        check(rows == [["NAME", "STATUS"], ["gpu-a.node-1", "Ready"]], f"{v}: get node NAME", rows)
        o = json.loads(k("get", "node", "gpu-a.node-0", "-o", "json"))
        check(o["metadata"]["labels"]["pool"] == "gpu-a" and
              o["metadata"]["labels"]["muster.dev/cluster"] == "gpu-a" and
              o["status"]["allocatable"]["nvidia.com/gpu"] == "8",
              f"{v}: get node -o json is the member's whole object", o)
        shown = k("describe", "node", "gpu-a.node-0")
        check("Name:               gpu-a.node-0" in shown and "nvidia.com/gpu" in shown,
              f"{v}: describe node", shown)
        shown = k("get", "pods", "-A", "-l", f"muster.dev/cluster={where}", "-o", "name").split()
        check(shown == ["pod/train-master-0"], f"{v}: get pods -A -l muster.dev/cluster", shown)
        shown = k("get", "pod", "gpu-a.stranger", "-o", "name").strip()
        check(shown == "pod/gpu-a.stranger", f"{v}: get of a pod that is no hub job's", shown)
        bad = k.run("get", "node", "gpu-a.nobody")
        check(bad.returncode == 1 and "(NotFound)" in bad.stderr,
              f"{v}: no such node: {bad.stderr.strip()}", bad)
        bad = k.run("delete", "node", "gpu-a.node-0")
        check(bad.returncode == 1 and "MethodNotAllowed" in bad.stderr,
              f"{v}: nodes are read only here: {bad.stderr.strip()}", bad)
    watching = Lines(found[-1].start("get", "nodes", "-w"))
    try:
        watching.wait_for("the nodes", lambda lines: len(lines) >= 5)
        inside("label", "node", "node-1", "quiet=change")  # not shown: no row
        inside("cordon", "node-1")
        watching.wait_for("the cordon", lambda lines: "SchedulingDisabled" in lines[-1])
        check(len(watching.lines) == 6 and watching.lines[5].startswith("gpu-a.node-1"),
              "get -w shows what changed, once", watching.lines)
    finally:
        watching.close()
    inside("delete", "node", "node-1")
    until("the node is gone at the hub", lambda: found[-1]("get", "nodes", "-o", "name").split() ==
          ["node/" + n for n in all_nodes if n != "gpu-a.node-1"])
    check(True, "a node deleted at its member is gone at the hub")
    fleet.hub.stop()
    fleet.restart_hub()
    until("the nodes are there after a restart", lambda: len(fleet.client.items("nodes")) == 3)
    fleet.muster("unjoin", "gpu-b")
    until("its nodes go with a member", lambda: [
        o["metadata"]["name"] for o in fleet.client.items("nodes")] == ["gpu-a.node-0"])
    check(True, "a member that leaves takes its nodes along")


def story_logs(fleet):
    """kubectl logs: follow, tail, since, limits and refusals, at the hub and at the member"""
    fleet.start_hub()
    sim = fleet.start_sim("gpu-a", [make.node("node", gpus=0)])
    fleet.join(sim)
    fleet.client.create(make.pytorch_job("long", workers=0, duration="600s", cpu="1", gpus=0))
    admin = fleet.kubectls()
    inside = through(fleet, "gpu-a", admin[-1])
    inside("create", "-f", "-", stdin={
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "short", "annotations": {"muster.dev/sim-duration": "3s"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "x:1"}]}})
    inside("wait", "pod/short", "--for=condition=Ready")
    name = "gpu-a.short"  # a pod that is no hub job's
    pods = fleet.watch("pods", "default")
    following = Lines(inside.start("logs", "-f", "short"))
    following.wait_for("the first line", lambda lines: lines)
    check(not following.ended, "follow brings lines while the pod runs", following.lines)
    check(following.wait_for_end() == 0, "and ends well with it")
    check("simulated run" in following.lines[0] and
          following.lines[-1] == "muster-sim: the simulated run is over, exit code 0" and
          following.lines[1:-1] == [line for i, line in enumerate(following.lines[1:-1], 1)
                                    if line.startswith(f"step {i} loss ")],
          "from the first line to the last, each once", following.lines)
    pods.await_object("long-master-0", "Running", lambda o: o["status"]["phase"] == "Running")
    for k in admin:
        v = k.version
        shown = k("logs", name).splitlines()
        check(shown == following.lines, f"{v}: the same lines afterwards", shown)
        shown = k("logs", name, "-c", "main", "--tail=2").splitlines()
        check(shown == following.lines[-2:], f"{v}: --tail", shown)
        shown = k("logs", name, "--limit-bytes=10")
        check(shown == following.lines[0][:10], f"{v}: --limit-bytes", shown)
        shown = k("logs", name, "--timestamps").splitlines()
        check(all(line.split(" ", 1)[0].endswith("Z") for line in shown) and
              [line.split(" ", 1)[1] for line in shown] == following.lines,
              f"{v}: --timestamps", shown)
        shown = k("logs", "long-master-0", "--since=2s").splitlines()
        check(1 <= len(shown) <= 6, f"{v}: --since", shown)
        bad = k.run("logs", name, "-c", "nobody")
        check(bad.returncode == 1 and "container nobody is not valid for pod" in
              bad.stderr, f"{v}: no such container: {bad.stderr.strip()}", bad)
        bad = k.run("logs", name, "--previous")
        check(bad.returncode == 1 and "previous terminated container" in bad.stderr,
              f"{v}: --previous of a first run: {bad.stderr.strip()}", bad)
        member = Kubectl(v, k.path, sim.kubeconfig, fleet.path("home"))
        check(member("logs", "short").splitlines() == following.lines,
              f"{v}: the same at the member itself")
    ends = [Lines(admin[0].start("logs", "-f", "long-master-0", "--tail=1")) for _ in range(3)]
    for e in ends:
        e.wait_for("new lines", lambda lines: len(lines) >= 3)
        e.close()
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits"},
           "spec": {"nodeSelector": {"no": "where"}, "containers": [{"name": "main",
                                                                     "image": "x:1"}]}}
    k = through(fleet, "gpu-a", admin[-1])
    k("create", "-f", "-", stdin=pod)
    bad = k.run("logs", "waits")
    check(bad.returncode == 1 and 'container "main" in pod "waits" is waiting to start' in
          bad.stderr, f"a pod that did not start: {bad.stderr.strip()}", bad)
    bad = admin[-1].run("logs", "gpu-a.waits")
    check(bad.returncode == 1, f"by its name at the hub, too: {bad.stderr.strip()}", bad)


def story_finished(fleet):
    """Pods of finished jobs and their logs stay readable at the hub until the job is deleted"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("gpu-a", [make.node("node", count=2)]))
    jobs, pods = fleet.watch("pytorchjobs"), fleet.watch("pods")
    fleet.client.create(make.pytorch_job("done", duration="100ms"))
    jobs.await_object("done", "is over", lambda o: is_true(o, "Succeeded"))
    names = {"done-master-0", "done-worker-0", "done-worker-1"}
    for again in ("", ", also after a restart of the hub"):
        pods.await_state("its pods are over", lambda objects: {
            o["metadata"]["name"] for o in objects.values()
            if o["status"].get("phase") == "Succeeded"} == names)
        for k in fleet.kubectls():
            shown = k("logs", "done-master-0")
            check("the simulated run is over, exit code 0" in shown,
                  f"{k.version}: the logs of a finished job's pod{again}", shown)
        if not again:
            fleet.hub.kill()
            fleet.restart_hub()
    fleet.client.delete("pytorchjobs", "done")
    pods.await_state("the pods go with the job", lambda objects: not objects)


if __name__ == "__main__":
    main(globals(), Fleet)
