#!/usr/bin/env python3
"""Clients from PyPI of those who write scripts and notebooks: Kubernetes' own in its newest version
(Debian's is test_python_client.py), kr8s and lightkube. What they do is tests/clients/python."""

import os
import subprocess

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.story import DEADLINE, Skip

CLIENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "clients")


def story_tools(fleet):
    """Python's clients of today read, watch, run and apply what they find at the hub"""
    found = subprocess.run([os.path.join(CLIENTS, "install"), "python"], capture_output=True,
                           text=True, timeout=600)
    if found.returncode == 77:
        raise Skip(found.stderr.strip())
    check(found.returncode == 0, "the packages are there", found.stderr)
    fleet.start_hub()
    fleet.join(*(fleet.start_sim(name, [make.node(f"{name}-1", gpu=8)]) for name in ("a", "b")))
    done = subprocess.run([found.stdout.strip(), os.path.join(CLIENTS, "python", "tools.py")],
                          env=dict(os.environ, KUBECONFIG=fleet.hub.kubeconfig),
                          capture_output=True, text=True, timeout=DEADLINE * 2)
    for line in done.stdout.splitlines():
        if line.startswith("holds: "):
            check(True, line[7:])
    if done.returncode:
        raise Failure(f"{done.stdout[-500:]}\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    main(globals(), Fleet)
