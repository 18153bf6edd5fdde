#!/usr/bin/env python3
"""Members seen through the hub: their API behind clusters/NAME/proxy, the logs of pods, their nodes
and pods."""

import json
import threading

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import Kubeconfig
from muster_test.kubectl import Kubectl
from muster_test.programs import write_kubeconfig
from muster_test.story import DEADLINE

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


if __name__ == "__main__":
    main(globals(), Fleet)
