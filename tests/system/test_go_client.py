#!/usr/bin/env python3
"""The clients of a controller's author, in Go: shared informers over all kinds through a restart of
the hub, server-side apply, typed calls in protobuf, status patches with controller-runtime."""

import os
import subprocess

from muster_test import Failure, Fleet, check, main
from muster_test.client import Kubeconfig
from muster_test.programs import write_kubeconfig
from muster_test.story import DEADLINE, Skip

CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients")
RBAC = "rbac.authorization.k8s.io"
RULES = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["kubeflow.org", "batch"], "verbs": ["*"],
     "resources": ["pytorchjobs", "pytorchjobs/status", "jobs", "jobs/status"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
]


def with_token(fleet, name):
    """A kubeconfig with nothing but a ServiceAccount's token, bound by a ClusterRole."""
    base, roles = "/api/v1/namespaces/default/serviceaccounts", f"/apis/{RBAC}/v1"
    call = fleet.client.call
    call("POST", base, {"metadata": {"name": name}})
    call("POST", roles + "/clusterroles", {"metadata": {"name": name}, "rules": RULES})
    call("POST", roles + "/clusterrolebindings", {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    token = call("POST", f"{base}/{name}/token", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600}})["status"]["token"]
    return write_kubeconfig(fleet.path("kubeconfig-" + name), fleet.hub.url,
                            Kubeconfig(fleet.hub.kubeconfig).ca, {"token": token})


def story_go(fleet):
    """client-go and controller-runtime do what controllers do, and go on over a kill of the hub"""
    found = subprocess.run([os.path.join(CLIENTS, "install"), "go"], capture_output=True,
                           text=True, timeout=800)
    if found.returncode == 77:
        raise Skip(found.stderr.strip())
    check(found.returncode == 0, "the program builds", found.stderr)
    path = found.stdout.strip()
    fleet.start_hub()
    program = subprocess.Popen([path, "-kubeconfig", with_token(fleet, "controller")],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    lines = []
    try:
        for line in program.stdout:
            lines.append(line.rstrip())
            if line.startswith("holds: "):
                check(True, line[7:].rstrip())
            elif line.startswith("restart me"):
                fleet.hub.kill()
                fleet.restart_hub()
                program.stdin.write("\n")
                program.stdin.flush()
        if program.wait(DEADLINE):
            raise Failure(f"{lines[-3:]}\n{program.stderr.read()[-3000:]}")
    finally:
        program.kill()
        program.wait(DEADLINE)


if __name__ == "__main__":
    main(globals(), Fleet)
