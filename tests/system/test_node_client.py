#!/usr/bin/env python3
"""@kubernetes/client-node, as a ServiceAccount's token lets it in: an informer that lives on over
restarts of the hub, and calls of every sort."""

import json
import os
import subprocess
import threading

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import Kubeconfig
from muster_test.programs import write_kubeconfig
from muster_test.story import DEADLINE, Skip

CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients")
RBAC = "rbac.authorization.k8s.io"
RULES = [
    {"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["*"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
]


def with_token(fleet, name):
    """A kubeconfig with nothing but a ServiceAccount's token, bound by a Role."""
    base = "/api/v1/namespaces/default/serviceaccounts"
    roles = f"/apis/{RBAC}/v1/namespaces/default"
    call = fleet.client.call
    call("POST", base, {"metadata": {"name": name}})
    call("POST", roles + "/roles", {"metadata": {"name": name}, "rules": RULES})
    call("POST", roles + "/rolebindings", {
        "metadata": {"name": name}, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    token = call("POST", f"{base}/{name}/token", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600}})["status"]["token"]
    return write_kubeconfig(fleet.path("kubeconfig-" + name), fleet.hub.url,
                            Kubeconfig(fleet.hub.kubeconfig).ca, {"token": token})


class Node:
    """tests/clients/node/informer.mjs as a process: what it says, and what it is told."""

    def __init__(self, kubeconfig):
        script = os.path.join(CLIENTS, "install")
        found = subprocess.run([script, "node"], capture_output=True, text=True, timeout=200)
        if found.returncode == 77:
            raise Skip(found.stderr.strip())
        where = found.stdout.strip()
        self.process = subprocess.Popen(
            ["node", os.path.join(where, "informer.mjs")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env=dict(os.environ, KUBECONFIG=kubeconfig))
        self.said, self.changed, self.at = [], threading.Condition(), 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.said.append(json.loads(line))
                self.changed.notify_all()
        with self.changed:
            self.said.append({"what": "ended"})
            self.changed.notify_all()

    def tell(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def hear(self, what, **fields):
        """The next line that says this, after what was heard before."""
        def found():
            for i in range(self.at, len(self.said)):
                line = self.said[i]
                if line["what"] in ("failed", "ended"):
                    return i
                if line["what"] == what and all(line.get(k) == v for k, v in fields.items()):
                    return i
            return None
        with self.changed:
            if not self.changed.wait_for(lambda: found() is not None, DEADLINE):
                raise Failure(f"it never said {what} {fields}: {self.said[self.at:]}")
            self.at = found() + 1
            line = self.said[self.at - 1]
        if line["what"] != what:
            raise Failure(f"{line['what']} instead of {what} {fields}: {self.said}")
        return line

    def every(self, what):
        with self.changed:
            return [line for line in self.said if line["what"] == what]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdin.close()


def job(name, duration="1s", **more):
    return make.pytorch_job(name, workers=0, duration=duration, cpu="1", gpus=0, **more)


def through_restarts(fleet, node):
    node.hear("started")
    fleet.client.create(job("first"))
    node.hear("add", name="first")
    node.hear("update", name="first", state="Succeeded")
    check(True, "an informer sees a job from its creation to its success")
    for turn, end in enumerate((fleet.hub.stop, fleet.hub.kill)):
        before = len(node.every("connect"))
        end()
        fleet.restart_hub()
        name = f"after-{turn}"
        fleet.client.create(job(name))
        if turn == 0:
            fleet.client.delete("pytorchjobs", "first")
            node.hear("delete", name="first")
        else:
            node.hear("add", name=name)
            node.hear("update", name=name, state="Succeeded")
        check(len(node.every("connect")) > before, "it starts again by itself")
    node.tell("list")
    held = node.hear("list")["names"]
    check(held == ["after-0", "after-1"], "and holds what the hub holds", held)
    added = [line["name"] for line in node.every("add")]
    check(added == ["first", "after-0", "after-1"], "each job was added once, in order", added)
    check([line["name"] for line in node.every("delete")] == ["first"],
          "and the deletion came once")
    revisions = [int(line["revision"]) for line in node.said if "revision" in line]
    check(revisions == sorted(set(revisions)), "revisions only grow", revisions)


def story_an_informer_over_restarts(fleet):
    """An informer of @kubernetes/client-node goes on over a stop and a kill of the hub"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("member", [make.node("gpu", gpus=0)]))
    node = Node(with_token(fleet, "node"))
    try:
        through_restarts(fleet, node)
        node.tell("end")
        node.hear("ended")
    finally:
        node.close()


def story_calls(fleet):
    """Its clients, of any kind and typed, create, patch, apply, list, delete and are refused"""
    fleet.start_hub()
    node = Node(with_token(fleet, "node"))
    try:
        node.hear("started")
        node.tell("crud")
        node.hear("done")
        for line in node.every("holds"):
            check(True, line["sentence"])
        node.tell("end")
        node.hear("ended")
    finally:
        node.close()


if __name__ == "__main__":
    main(globals(), Fleet)
