#!/usr/bin/env python3
"""Sends bodies that are wrong in one place each to two servers, and prints where they differ: in
status, reason, the causes' fields, or the object that was made of what both took.

usage: compare_bodies.py FRONT_SERVER OTHER [NAME]

OTHER is called as front_server is (CONTRIBUTING.md says how kube-apiserver can be); NAME is the
beginning of the cases' names. Nothing is stored: every request is a dry run.
"""

import json
import sys

from client import Client, Server
import mutations

SET_BY_SERVER = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation")
OF_CONTROLLER = ("controller-uid", "job-name")
CLAIM_PROTECTION = ["kubernetes.io/pvc-protection"]


def without_controller(meta):
    """Labels that only a server with controllers gives."""
    labels = {k: v for k, v in (meta.pop("labels", None) or {}).items()
              if k.split("/")[-1] not in OF_CONTROLLER}
    if labels:
        meta["labels"] = labels


def comparable(o):
    meta = o.get("metadata", {})
    for key in SET_BY_SERVER:
        meta.pop(key, None)
    if o.get("kind") == "PersistentVolumeClaim" and meta.get("finalizers") == CLAIM_PROTECTION:
        meta.pop("finalizers")  # of an admission plugin whose controller would take it away
    if "generateName" in meta:
        meta.pop("name", None)
    if o.get("kind") == "Job":
        o["spec"].pop("selector", None)
        without_controller(meta)
        without_controller(o["spec"]["template"].get("metadata", {}))
    return o


def ask(client, path, body):
    try:
        status, o = client.post(path, body, dryRun="All", fieldValidation="Strict")
    except OSError as e:  # a handler of the other server may end without an answer
        client.close()
        client.connection = client.connect()
        return {"status": repr(e)}
    if status < 400:
        return {"status": status, "object": comparable(o)}
    causes = (o.get("details") or {}).get("causes", [])
    return {"status": status, "reason": o.get("reason"),
            "causes": sorted({(c.get("reason", ""), c.get("field", "")) for c in causes}),
            "message": o["message"] if status == 400 else ""}


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    servers = [Server(argv[1]), Server(argv[2])]
    clients = [Client(s) for s in servers]
    cases = different = 0
    try:
        for name, path, body in mutations.cases():
            if not name.startswith(argv[3] if len(argv) > 3 else ""):
                continue
            here, there = (ask(c, path, body) for c in clients)
            cases += 1
            if here != there:
                different += 1
                print(name)
                for who, answer in (("here", here), ("there", there)):
                    print("   ", who, json.dumps(answer)[:400])
    finally:
        for s in servers:
            s.close()
    print("%d cases, %d different" % (cases, different))


if __name__ == "__main__":
    main(sys.argv)
