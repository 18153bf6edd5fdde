#!/usr/bin/env python3
"""Connections to members' pods through the hub: kubectl exec, attach and port-forward."""

import base64
import json
import os
import re
import signal
import socket
import threading
import urllib.request

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.kubectl import Kubectl
from muster_test.story import DEADLINE
from muster_test.websocket import Refused, WebSocket
from test_views import Lines, pod, through

PODS = "/api/v1/namespaces/default/pods"
MIB = 1 << 20


def begin(fleet):
    """A hub, a member with a pod of a hub's job and a pod of its own, both running."""
    # Freed memory that the sanitizer keeps would be measured as the hub's.
    options = os.environ.get("ASAN_OPTIONS", "")
    fleet.start_hub(environment={"ASAN_OPTIONS": f"{options}:quarantine_size_mb=1".strip(":")})
    sim = fleet.start_sim("gpu-a", [make.node("node", gpus=0)])
    fleet.join(sim)
    fleet.client.create(make.pytorch_job("train", workers=0, duration="6000s", cpu="1", gpus=0))
    pods = fleet.watch("pods", "default")
    inside = Kubectl("PATH", "kubectl", sim.kubeconfig, fleet.path("home"))
    os.makedirs(fleet.path("home"), exist_ok=True)
    stranger = json.loads(pod("stranger"))
    stranger["metadata"]["annotations"] = {"muster.dev/sim-duration": "6000s"}
    inside("create", "-f", "-", stdin=stranger)
    inside("wait", "pod/stranger", "--for=condition=Ready")
    pods.await_object("train-master-0", "Running", lambda o: o["status"]["phase"] == "Running")
    return sim


def modern(fleet):
    """Every kubectl that speaks WebSockets."""
    return [k for k in fleet.kubectls() if k.version == "PATH" or k.version >= "1.31"]


def refusal(kubeconfig, path, **options):
    """The Status that a WebSocket is refused with."""
    try:
        WebSocket(kubeconfig, path, **options)
    except Refused as e:
        status = json.loads(e.body)
        if status["kind"] != "Status" or status["code"] != e.code:
            raise Failure(f"no Status: {e.body}")
        return status
    raise Failure("it was let through")


def open_connections(client, subresource):
    return sum(v for k, v in client.metrics().items()
               if k.startswith("apiserver_longrunning_requests") and
               f'subresource="{subresource}"' in k)


def story_exec(fleet):
    """kubectl exec and attach: input, output, exit codes and refusals, wherever the pod is named"""
    sim = begin(fleet)
    for k in modern(fleet):
        v = k.version
        for name, where in (("train-master-0", k), ("gpu-a.stranger", k),
                            ("stranger", through(fleet, "gpu-a", k)),
                            ("stranger", Kubectl(v, k.path, sim.kubeconfig, fleet.path("home")))):
            said = where("exec", name, "--", "echo", "one two", "&", "%41/ü")
            check(said == "one two & %41/ü\n", f"{v}: exec {name} prints", said)
            text = "a line\n" * 1000 + "\0\x01 and the end"
            said = where("exec", "-i", name, "--", "cat", stdin=text)
            check(said == text, f"{v}: exec -i {name} -- cat gives its input back", said[-100:])
        bad = k.run("exec", "train-master-0", "--", "exit", "42")
        check(bad.returncode == 42 and "exit code 42" in bad.stderr,
              f"{v}: the exit code comes back: {bad.stderr.strip()}", bad)
        bad = k.run("exec", "train-master-0", "--", "sh", "-c", "ls")
        check(bad.returncode == 127 and "sh: not found" in bad.stderr,
              f"{v}: there is no shell: {bad.stderr.splitlines()[0]}", bad)
        bad = k.run("exec", "gpu-a.nobody", "--", "true")
        check(bad.returncode == 1 and "not found" in bad.stderr,
              f"{v}: no such pod: {bad.stderr.strip()}", bad)
        bad = k.run("exec", "gpu-a.stranger", "-c", "nobody", "--", "true")
        check(bad.returncode == 1 and "container nobody is not valid for pod" in bad.stderr and
              "SPDY" not in bad.stderr, f"{v}: no such container: {bad.stderr.strip()}", bad)
        said = k("attach", "-i", "train-master-0", stdin="typed\n")
        check("muster-sim: attached to train-master-0\n" in said and "typed\n" in said,
              f"{v}: attach", said)
    for name, query, code, words in (
            ("train-master-0", "command=true&stdout=1&container=nobody", 400, "container nobody"),
            ("train-master-0", "command=true", 400, "at least one of stdin, stdout, stderr"),
            ("train-master-0", "stdout=1", 400, "at least 1 command"),
            ("gpu-a.nobody", "command=true&stdout=1", 404, 'pods "nobody" not found'),
            ("nobody", "command=true&stdout=1", 404, 'pods "nobody" not found'),
            ("nowhere.nobody", "command=true&stdout=1", 404, "not found")):
        said = refusal(fleet.hub.kubeconfig, f"{PODS}/{name}/exec?{query}")
        check(said["code"] == code and words in said["message"], f"{code}: {said['message']}", said)
    said = refusal(fleet.hub.kubeconfig, PODS + "/train-master-0/exec?command=true&stdout=1",
                   protocols="v9.channel.k8s.io")
    check(said["code"] == 403 and "server accepts [v5.channel.k8s.io v4.channel.k8s.io]" in
          said["message"], f"a protocol that the member does not speak: {said['message']}", said)
    kinds = fleet.client.call("GET", "/api/v1")["resources"]
    check({r["name"]: r["kind"] for r in kinds if r["name"].startswith("pods/")} ==
          {"pods/attach": "PodAttachOptions", "pods/exec": "PodExecOptions",
           "pods/log": "Pod", "pods/portforward": "PodPortForwardOptions",
           "pods/status": "Pod"}, "discovery names them", kinds)


def story_old_clients(fleet):
    """Who speaks SPDY only hears which client to take"""
    begin(fleet)
    old = [k for k in fleet.kubectls() if k.version.startswith("1.20")]
    for k in old:
        for words in (("exec", "train-master-0", "--", "true"), ("attach", "train-master-0"),
                      ("port-forward", "train-master-0", ":80")):
            bad = k.run(*words)
            check(bad.returncode == 1 and "use kubectl 1.31 or newer" in bad.stderr,
                  f"1.20: {words[0]}: {bad.stderr.strip()}", bad)
    for method in ("POST", "GET"):
        said = refusal(fleet.hub.kubeconfig, PODS + "/train-master-0/exec?command=true&stdout=1",
                       method=method, upgrade="SPDY/3.1")
        check(said["code"] == 400 and "kubectl 1.31" in said["message"], f"{method} of SPDY/3.1", said)
        said = refusal(fleet.hub.kubeconfig, PODS + "/nobody/exec?command=true&stdout=1",
                       method=method, upgrade="SPDY/3.1")
        check(said["code"] == 404 and 'pods "nobody" not found' in said["message"],
              f"{method} of SPDY/3.1 to a pod that is not there", said)
    fleet.client.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "metadata": {"name": "eve"}, "subjects": [{"kind": "User", "name": "eve"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "view"}})
    while fleet.client.raw("GET", PODS, headers={"Impersonate-User": "eve"})[0] == 403:
        pass  # the authorizer follows the store
    for k in modern(fleet) + old:
        bad = k.run("exec", "train-master-0", "--as=eve", "--", "true")
        check(bad.returncode == 1 and
              'User "eve" cannot create resource "pods/exec"' in bad.stderr,
              f"{k.version}: who may not is told so: {bad.stderr.strip()}", bad)
    code, _, body = fleet.client.raw("POST", PODS + "/train-master-0/exec", command="true", stdout="1")
    check(code == 400 and "Upgrade request required" in body.decode(),
          "without an upgrade there is nothing to answer", body)
    check(fleet.client.find("pods", "train-master-0"), "and others are served as before")


def story_port_forward(fleet):
    """kubectl port-forward: many connections, long answers"""
    begin(fleet)
    for k in modern(fleet):
        v = k.version
        forward = Lines(k.start("port-forward", "train-master-0", ":8080"))
        try:
            forward.wait_for("its address", lambda lines: lines)
            port = int(re.search(r"127\.0\.0\.1:(\d+) -> 8080", forward.lines[0]).group(1))
            url = f"http://127.0.0.1:{port}"
            answers = []

            def ask():
                with urllib.request.urlopen(url + "/", timeout=DEADLINE) as r:
                    answers.append(r.read())
            askers = [threading.Thread(target=ask) for _ in range(20)]
            for a in askers:
                a.start()
            for a in askers:
                a.join(DEADLINE)
            check(answers == [b"muster-sim: pod train-master-0, port 8080\n"] * 20,
                  f"{v}: twenty connections are answered", answers)
            with urllib.request.urlopen(url + f"/bytes/{30 * MIB}", timeout=DEADLINE) as r:
                n, at = 0, 0
                while True:
                    piece = r.read(MIB)
                    if not piece:
                        break
                    n += len(piece)
            check(n == 30 * MIB, f"{v}: 30 MiB come whole", n)
        finally:
            forward.close()
    until("the connection is closed at the hub",
          lambda: open_connections(fleet.client, "portforward") == 0)


def story_rights(fleet):
    """A connection takes the right to create it, at the hub, before anything goes to a member"""
    sim = begin(fleet)
    admin = [k for k in fleet.kubectls() if k.version == "PATH"][0]
    admin("create", "serviceaccount", "reader")
    admin("create", "clusterrole", "look", "--verb=get,list", "--resource=pods,pods/exec,pods/log")
    admin("create", "clusterrolebinding", "look", "--clusterrole=look",
          "--serviceaccount=default:reader")
    token = admin("create", "token", "reader").strip()
    path = through(fleet, "gpu-a", admin, token=token).env["KUBECONFIG"]
    with open(path, encoding="utf-8") as f:
        config = json.load(f)
    config["clusters"][0]["cluster"]["server"] = fleet.hub.url
    path = fleet.path("reader")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=1)
    reader = Kubectl("PATH", admin.path, path, fleet.path("home"))
    before = sim.client.metrics()
    for name in ("train-master-0", "gpu-a.stranger"):
        bad = reader.run("exec", name, "--", "true")
        check(bad.returncode == 1, f"exec of {name} is refused: {bad.stderr.strip()}", bad)
    where = PODS + "/train-master-0/exec?command=true&stdout=1"
    said = refusal(path, where)
    check(said["code"] == 403 and 'User "system:serviceaccount:default:reader" cannot create '
          'resource "pods/exec"' in said["message"], f"a Status says which: {said['message']}", said)
    asked = {k for k, v in sim.client.metrics().items()
             if 'subresource="exec"' in k and v != before.get(k, 0)}
    check(not asked, "the member was not asked", asked)
    admin("create", "role", "enter", "--verb=create", "--resource=pods/exec")
    admin("create", "rolebinding", "enter", "--role=enter", "--serviceaccount=default:reader")
    until("the right counts", lambda: reader.run(
        "auth", "can-i", "create", "pods", "--subresource=exec").stdout.strip() == "yes")
    said = reader("exec", "train-master-0", "--", "echo", "in")
    check(said == "in\n", "the right to create pods/exec is enough", said)
    bad = reader.run("attach", "train-master-0")
    check(bad.returncode == 1, f"for exec alone: {bad.stderr.strip()}", bad)
    cluster = "/apis/cluster.karmada.io/v1alpha1/clusters/gpu-a/proxy"
    admin("create", "clusterrole", "see", "--verb=get", "--resource=clusters/proxy")
    admin("create", "clusterrolebinding", "see", "--clusterrole=see",
          "--serviceaccount=default:reader")
    until("the other right counts", lambda: reader.run(
        "auth", "can-i", "get", "clusters", "--subresource=proxy").stdout.strip() == "yes")
    said = refusal(path, cluster + PODS + "/stranger/exec?command=true&stdout=1")
    check(said["code"] == 403 and 'cannot create resource "clusters/proxy"' in said["message"],
          "get on clusters/proxy opens no connection", said)
    hidden = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    anonymous = fleet.path("anonymous")
    del config["users"][0]["user"]["token"]
    with open(anonymous, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=1)
    ws = WebSocket(anonymous, where, protocols="v5.channel.k8s.io, "
                   f"base64url.bearer.authorization.k8s.io.{hidden}")
    check(ws.headers["sec-websocket-protocol"] == "v5.channel.k8s.io" and
          [c for c, _ in ws.channels()] == [3], "a browser's token comes as a subprotocol")
    ws.close()
    check(refusal(anonymous, where)["code"] == 401, "nobody in particular hears 401")


def story_ends(fleet):
    """Clients that vanish, pods that go, a hub that stops"""
    sim = begin(fleet)
    where = PODS + "/train-master-0/exec?command=cat&stdin=1&stdout=1"
    sockets = [WebSocket(fleet.hub.kubeconfig, where) for _ in range(5)]
    for ws in sockets:
        ws.send(b"\0hello")
        check(ws.receive() == (2, b"\1hello"), "an echo")
    check(open_connections(fleet.client, "exec") == 5 and
          open_connections(sim.client, "exec") == 5, "five are open, here and at the member")
    for ws in sockets[:4]:
        ws.close()
    until("the member hears that clients went away",
          lambda: open_connections(sim.client, "exec") == 1)
    check(open_connections(fleet.client, "exec") == 1, "and the hub has let go of them")
    last = sockets[4]
    last.send(b"\0still there")
    check(last.receive() == (2, b"\1still there"), "the fifth goes on")
    Kubectl("PATH", "kubectl", sim.kubeconfig, fleet.path("home"))(
        "delete", "pod", "train-master-0", "--grace-period=0", "--force")
    said = list(last.channels())
    check(said and said[-1][0] == 3 and "137" in said[-1][1].decode(),
          "it ends with its pod, and says how", said)
    last.close()
    where = PODS + "/gpu-a.stranger/exec?command=cat&stdin=1&stdout=1"
    last = WebSocket(fleet.hub.kubeconfig, where)
    fleet.hub.stop()
    check(last.receive() is None, "a hub that stops closes them")
    fleet.restart_hub()


def story_much(fleet):
    """Tens of megabytes both ways, in bounded memory: of a client that reads, one that does not,
    and a member that hangs"""
    sim = begin(fleet)
    k = modern(fleet)[-1]
    k("exec", "train-master-0", "--", "seq", "100000")  # what is allocated once
    before = fleet.hub.resident()[1]
    done = k.run("exec", "train-master-0", "--", "seq", "6000000")
    lines = done.stdout.split("\n")
    check(done.returncode == 0 and len(lines) == 6000001 and lines[5999999] == "6000000",
          "46 MB of output are whole", (len(lines), lines[-3:], done.stderr))
    text = "".join(f"{i:063d}\n" for i in range(500000))
    said = k("exec", "-i", "train-master-0", "--", "cat", stdin=text)
    check(said == text, "32 MB come back as they went", len(said))
    ws = WebSocket(fleet.hub.kubeconfig,
                   PODS + "/train-master-0/exec?command=seq&command=10000000&stdout=1",
                   receive_buffer=65536)
    ws.receive()
    check(fleet.client.find("pods", "train-master-0"), "one that does not read is nobody's trouble")
    n = sum(len(b) for c, b in ws.channels() if c == 1)
    ws.close()
    check(n > 78000000, "and has all when it does", n)
    ws = WebSocket(fleet.hub.kubeconfig,
                   PODS + "/train-master-0/exec?command=cat&stdin=1&stdout=1")
    ws.send(b"\0x")
    check(ws.receive() == (2, b"\1x"), "a last one")
    sim.signal(signal.SIGSTOP)
    sent, piece = 0, ws.frame(b"\0" + b"y" * 65535)
    ws.socket.settimeout(1)
    try:
        while sent < 64 * MIB:
            ws.socket.sendall(piece)
            sent += len(piece)
    except (TimeoutError, socket.timeout):
        pass
    check(sent < 16 * MIB, f"a member that hangs stops its client after {sent} bytes")
    check(fleet.client.find("pods", "train-master-0"), "the hub answers meanwhile")
    grown = fleet.hub.resident()[1] - before
    sim.signal(signal.SIGCONT)
    ws.close()
    until("the member hears that its client went away",
          lambda: open_connections(sim.client, "exec") == 0)
    check(grown < 24 * MIB, f"the hub took {grown / MIB:.1f} MiB more")


if __name__ == "__main__":
    main(globals(), Fleet)
