#!/usr/bin/env python3
"""Members whose kubeconfig is wrong: the Cluster's Ready condition says precisely what, within 10 s;
and what join must never do with credentials."""

import base64
import datetime
import json
import os
import socket
import subprocess
import sys
import time

from muster_test import Fleet, Kubeconfig, check, main
from muster_test import objects as make
from muster_test.programs import write_kubeconfig
from muster_test.watch import condition, is_true

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "api"))
from prometheus import Metrics  # noqa: E402

WITHIN = 10


def a_ca(fleet, name):
    """A self-signed certificate of a stranger: (certificate, key) files."""
    cert, key = fleet.path(name + ".crt"), fleet.path(name + ".key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name, "-keyout",
                    key, "-out", cert, "-days", "1"], check=True, capture_output=True)
    return cert, key


def encoded(path):
    with open(path, "rb") as f:
        return base64.b64encode(f.read()).decode()


def expired_certificate(fleet, sim):
    """A client certificate of the member's own CA that was valid until yesterday."""
    pki = os.path.join(sim.data, "pki")
    key, request, cert = (fleet.path("expired." + e) for e in ("key", "csr", "crt"))
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                    "/O=system:masters/CN=admin", "-keyout", key, "-out", request], check=True,
                   capture_output=True)
    now = datetime.datetime.now(datetime.timezone.utc)
    when = [(now - datetime.timedelta(days=d)).strftime("%Y%m%d%H%M%SZ") for d in (2, 1)]
    folder = fleet.path("ca")
    os.makedirs(folder, exist_ok=True)
    for name, text in (("index", ""), ("serial", "01\n")):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)
    config = fleet.path("ca.cnf")
    with open(config, "w", encoding="ascii") as f:
        f.write(f"[ca]\ndefault_ca=x\n[x]\ndatabase={folder}/index\nserial={folder}/serial\n"
                f"new_certs_dir={folder}\npolicy=p\ndefault_md=sha256\n"
                "[p]\nO=optional\nCN=supplied\n[e]\nextendedKeyUsage=clientAuth\n")
    subprocess.run(["openssl", "ca", "-batch", "-config", config, "-extensions", "e", "-cert",
                    os.path.join(pki, "ca.crt"), "-keyfile", os.path.join(pki, "ca.key"),
                    "-startdate", when[0], "-enddate", when[1], "-in", request, "-out", cert,
                    "-notext"], check=True, capture_output=True)
    return encoded(cert), encoded(key)


def hears(fleet, clusters, name, kubeconfig, reason, *words):
    """Joins, and expects Ready=False with that reason and those words within 10 s."""
    began = time.monotonic()
    fleet.muster("join", name, "--kubeconfig", kubeconfig)

    def holds(o):
        c = condition(o, "Ready")
        return c.get("status") in ("False", "Unknown") and c.get("reason") == reason
    o = clusters.await_object(name, f"Ready is False with {reason}", holds, namespace="",
                              deadline=WITHIN)
    message = condition(o, "Ready")["message"]
    check(all(w.lower() in message.lower() for w in words),
          f"{name}: {reason}: {message} ({time.monotonic() - began:.1f} s)", message, words)


def story_bad_kubeconfigs(fleet):
    """A wrong kubeconfig is named in the Ready condition within 10 s, and repaired by joining again"""
    fleet.start_hub()
    sim = fleet.start_sim("member", [make.node("gpu")])
    good = Kubeconfig(sim.kubeconfig)
    user = {"client-certificate-data": good.cert, "client-key-data": good.key}
    clusters = fleet.watch("clusters")

    stranger, stranger_key = a_ca(fleet, "stranger")
    hears(fleet, clusters, "bad-ca",
          write_kubeconfig(fleet.path("bad-ca"), good.server, encoded(stranger), user),
          "ServerCertificateInvalid", "certificate authority")
    cert, key = expired_certificate(fleet, sim)
    hears(fleet, clusters, "expired", write_kubeconfig(
        fleet.path("expired"), good.server, good.ca,
        {"client-certificate-data": cert, "client-key-data": key}),
        "ClientCertificateExpired", "expired")
    with socket.socket() as unused:  # bound, but nothing listens
        unused.bind(("127.0.0.1", 0))
        hears(fleet, clusters, "refused", write_kubeconfig(
            fleet.path("refused"), f"https://127.0.0.1:{unused.getsockname()[1]}", good.ca, user),
            "ClusterNotReachable", "refused")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        hears(fleet, clusters, "silent", write_kubeconfig(
            fleet.path("silent"), f"https://127.0.0.1:{silent.getsockname()[1]}", good.ca, user),
            "ClusterNotReachable")
    hears(fleet, clusters, "no-such-host", write_kubeconfig(
        fleet.path("no-such-host"), "https://member.invalid:6443", good.ca, user),
        "ClusterNotReachable", "member.invalid")
    hears(fleet, clusters, "wrong-token", write_kubeconfig(
        fleet.path("wrong-token"), good.server, good.ca, {"token": "0" * 64}),
        "Unauthorized")
    hears(fleet, clusters, "stranger", write_kubeconfig(
        fleet.path("stranger"), good.server, good.ca,
        {"client-certificate-data": encoded(stranger),
         "client-key-data": encoded(stranger_key)}), "Unauthorized")

    shown = fleet.muster("clusters").stdout
    check(all(name in shown for name in ("bad-ca", "expired", "refused")),
          "muster clusters lists them", shown)
    fleet.muster("join", "bad-ca", "--kubeconfig", sim.kubeconfig)
    clusters.await_object("bad-ca", "Ready", lambda o: is_true(o, "Ready"), namespace="")
    check(True, "joining again with a good kubeconfig makes it Ready")


def story_credentials_stay_secret(fleet):
    """join stores the credentials as a Secret and never prints them"""
    fleet.start_hub()
    sim = fleet.start_sim("member", [make.node("gpu")])
    done = fleet.muster("join", "member", "--kubeconfig", sim.kubeconfig)
    fleet.watch("clusters").await_object("member", "Ready", lambda o: is_true(o, "Ready"),
                                         namespace="")
    key = Kubeconfig(sim.kubeconfig).key
    secret = fleet.client.get("secrets", "member-member", "kube-system")
    stored = base64.b64decode(secret["data"]["kubeconfig"]).decode()
    check(key in stored, "the key is in the Secret", list(secret["data"]))
    seen = done.stdout + done.stderr + fleet.hub.tail(100000) + json.dumps(
        [fleet.client.items(p) for p in ("clusters", "events", "configmaps", "resourcebindings")])
    pem = base64.b64decode(key).decode().splitlines()[1]
    check(key[:40] not in seen and pem not in seen,
          "it is in no output, no log line and no other object")
    again = fleet.muster("join", "member", "--kubeconfig", fleet.path("missing"), check=False)
    check(again.returncode != 0 and "missing" in again.stderr,
          "a missing file is an error that names it: " + again.stderr.strip(), again)


def story_metrics_describe_the_hub(fleet):
    """/metrics is well-formed and tells of members, jobs, commits and the process"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("member", [make.node("gpu")]))
    fleet.client.create(make.namespace("counted"))
    m = Metrics(fleet.client.raw("GET", "/metrics")[2].decode())
    check(m.sum("muster_member_ready", cluster="member") == 1, "the member is ready")
    check(m.sum("muster_member_nodes", cluster="member", state="usable") == 1, "with its node")
    check(m.sum("muster_commit_duration_seconds_count") > 0, "commits are timed")
    check(m.sum("muster_jobs", phase="Running") == 0, "no job runs")
    check(m.sum("apiserver_request_total", resource="namespaces", verb="POST", code="201") == 1,
          "the create is counted")
    check(m.sum("muster_store_bytes", store="truth", part="data") > 0, "the store has a size")
    check(m.sum("process_resident_memory_bytes") > 1 << 20, "and the process too")
    code, _, text = fleet.client.raw("GET", "/readyz?verbose")
    check(code == 200 and text.decode().endswith("readyz check passed\n"), "the hub is ready")


if __name__ == "__main__":
    main(globals(), Fleet)
