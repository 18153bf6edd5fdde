"""What the walks through the documents share: the two people who walk, each with a kubeconfig of
their own and no more rights than their roles give, and the tables that they read."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from muster_test import check  # noqa: E402
from muster_test.client import Kubeconfig, until  # noqa: E402
from muster_test.kubectl import Kubectl  # noqa: E402
from muster_test.programs import program, write_kubeconfig  # noqa: E402
from muster_test.story import Failure  # noqa: E402
from muster_test.watch import condition  # noqa: E402

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "deploy",
                        "examples", "kueue")


class Person(Kubectl):
    """Somebody with a token: kubectl and muster as they have them."""

    def muster(self, *args, name="muster"):
        done = subprocess.run([name, *args], executable=program("MUSTER", "deploy/cli/muster"),
                              capture_output=True, text=True, timeout=240, env=self.env)
        if done.returncode:
            raise Failure(f"{name} {' '.join(args)}: status {done.returncode}\n"
                          f"{done.stdout}{done.stderr}")
        return done.stdout

    def refused(self, what, words, *args, stdin=None):
        done = self.run(*args, stdin=stdin)
        check(done.returncode == 1 and words in done.stderr, f"{what}: {done.stderr.strip()[:300]}",
              done)


def operator(fleet):
    """kubectl with the kubeconfig that the hub wrote at its start."""
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def person(fleet, name, *bindings):
    """A ServiceAccount with these roles: (cluster role, namespace, or None for everywhere)."""
    k = operator(fleet)
    k("create", "serviceaccount", name)
    for i, (role, namespace) in enumerate(bindings):
        where = ["rolebinding", f"{name}-{i}", "-n", namespace] if namespace else \
            ["clusterrolebinding", f"{name}-{i}"]
        k("create", *where, "--clusterrole=" + role, f"--serviceaccount=default:{name}")
    token = k("create", "token", name, "--duration=1h").strip()
    path = write_kubeconfig(fleet.path("kubeconfig-" + name), fleet.hub.url,
                            Kubeconfig(fleet.hub.kubeconfig).ca, {"token": token})
    home = fleet.path("home-" + name)
    os.makedirs(home, exist_ok=True)
    p = Person("PATH", k.path, path, home)
    for role, namespace in bindings:
        until(f"{name} has the rights of {role}", lambda: p.run(
            "auth", "can-i", "get", "workloads.kueue.x-k8s.io",
            *(["-n", namespace] if namespace else ["-A"])).returncode == 0)
    return p


def people(fleet):
    """Who divides the fleet, and who sends jobs from the namespace default."""
    admin = person(fleet, "admin", ("muster:quota-admin", None))
    return admin, person(fleet, "user", ("muster:submitter", "default"))


def documents_of(path):
    """The objects of an example, as texts, each with its kind."""
    with open(path, encoding="utf-8") as f:
        texts = f.read().split("\n---\n")
    return [(re.search(r"^kind: (\w+)", t, re.M).group(1), t) for t in texts]


def only(path, *kinds):
    return "\n---\n".join(t for kind, t in documents_of(path) if kind in kinds)


def without(path, *kinds):
    return "\n---\n".join(t for kind, t in documents_of(path) if kind not in kinds)


def rows(shown):
    """A table of kubectl: its header, and {NAME: cells by column}. Cells may be empty."""
    lines = shown.splitlines()
    starts = [m.start() for m in re.finditer(r"\S+(?: \S+)*", lines[0])]
    ends = starts[1:] + [None]

    def cut(line):
        return [line[a:b].strip() for a, b in zip(starts, ends)]
    head = cut(lines[0])
    return head, {cut(line)[0]: dict(zip(head, cut(line))) for line in lines[1:]}


def of(job, holds):
    """For a watch of Workloads: whether the job's is so."""
    return lambda objects: next((o for o in objects.values() if owner_of(o) == job and holds(o)),
                                None)


def owner_of(o):
    return next((r["name"] for r in o["metadata"].get("ownerReferences", [])), None)


def is_reserved(o):
    return condition(o, "QuotaReserved").get("status") == "True"


def waits(o):
    return condition(o, "QuotaReserved").get("status") == "False"


def in_order(shown, *words):
    """Whether the words come one after the other in what was shown."""
    at = 0
    for w in words:
        at = shown.find(w, at)
        if at < 0:
            return False
        at += len(w)
    return True
