#!/usr/bin/env python3
"""Watches as messages of a WebSocket, as fabric8's Java client and browsers ask for them."""

import contextlib
import json

from muster_test import Fleet, check, main
from muster_test.client import until, url_of
from muster_test.programs import write_kubeconfig
from muster_test.users import newest
from muster_test.websocket import Refused, WebSocket

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
MAPS = url_of("configmaps", "default")


def watch(kubeconfig, **options):
    """A watch of the ConfigMaps of `default`; query: what its path ends with."""
    query = options.pop("query", "")
    return WebSocket(kubeconfig, f"{MAPS}?watch=1{query}", protocols="v4.base64", **options)


def event(ws):
    """The next message: type, name, object."""
    frame = ws.receive()
    check(frame and frame[0] == TEXT, "a message of text", frame)
    said = json.loads(frame[1])
    return said["type"], said["object"]["metadata"].get("name"), said["object"]


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": data}


def open_watches(fleet):
    lines = (s for s in fleet.client.metrics().items() if "longrunning" in s[0] and
             'resource="configmaps"' in s[0])
    return sum(value for _, value in lines)


def story_events(fleet):
    """Each event is a message; pings are answered; both ends say Close"""
    fleet.start_hub()
    since = fleet.client.list("configmaps", "default")["metadata"]["resourceVersion"]
    ws = watch(fleet.hub.kubeconfig, query=f"&resourceVersion={since}")
    check(ws.headers["sec-websocket-protocol"] == "v4.base64", "its protocol is taken")
    fleet.client.create(config_map("a", x="1"))
    fleet.client.patch("configmaps", "a", {"data": {"x": "line\nbreak"}})
    fleet.client.delete("configmaps", "a")
    seen = [event(ws) for _ in range(3)]
    check([s[:2] for s in seen] == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")] and
          seen[1][2]["data"] == {"x": "line\nbreak"}, "three messages", seen)
    ws.send(b"are you there?", PING)
    check(ws.receive() == (PONG, b"are you there?"), "a ping is answered")
    ws.send(b"what is this", TEXT)
    fleet.client.create(config_map("b"))
    check(event(ws)[:2] == ("ADDED", "b"), "what a client says besides is passed over")
    ws.send((1001).to_bytes(2, "big") + b"going", CLOSE)
    check(ws.receive() == (CLOSE, (1001).to_bytes(2, "big")) and ws.receive() is None,
          "its Close is answered, and ends the connection")
    until("the hub has let go of the watch", lambda: not open_watches(fleet))
    ws = watch(fleet.hub.kubeconfig, query="&resourceVersion=0&timeoutSeconds=1")
    last = None
    while (frame := ws.receive()) and frame[0] == TEXT:
        last = json.loads(frame[1])["object"]["metadata"]["name"]
    check(last == "kube-root-ca.crt" and frame == (CLOSE, (1000).to_bytes(2, "big")),
          "what there is, then its time is over", (last, frame))


def story_much(fleet):
    """Large objects, many of them, and one who does not read"""
    fleet.start_hub()
    since = fleet.client.list("configmaps", "default")["metadata"]["resourceVersion"]
    text = "x" * (900 << 10)
    slow = watch(fleet.hub.kubeconfig, query=f"&resourceVersion={since}", receive_buffer=65536)
    ws = watch(fleet.hub.kubeconfig, query=f"&resourceVersion={since}")
    for i in range(16):
        fleet.client.create(config_map(f"large-{i}", text=text))
        said = event(ws)
        check(said[1] == f"large-{i}" and said[2]["data"]["text"] == text, f"{i} came whole")
    again = watch(fleet.hub.kubeconfig, query=f"&resourceVersion={since}", receive_buffer=65536)
    names = [event(again)[1] for _ in range(16)]
    check(names == [f"large-{i}" for i in range(16)], "from the log as well", names)
    until("who does not read is closed", lambda: open_watches(fleet) == 2, pause=0.5)
    with contextlib.suppress(OSError):  # what was not read yet may be lost with its end
        while slow.receive() is not None:
            pass
    ws.close()
    again.close()
    until("and nothing is left open", lambda: not open_watches(fleet))


def story_ends(fleet):
    """Who may not, what is no WebSocket, clients and hubs that go"""
    fleet.start_hub()
    k = newest(fleet)
    k("create", "serviceaccount", "reader")
    k("create", "role", "reader", "--verb=watch", "--resource=configmaps")
    path = write_kubeconfig(fleet.path("reader"), fleet.hub.url, fleet.client.config.ca,
                            {"token": k("create", "token", "reader").strip()})

    def refusal(**options):
        try:
            watch(path, **options).close()
        except Refused as refused:
            return refused.code, refused.body
        return 101, ""

    code, body = refusal()
    check(code == 403 and 'cannot watch resource' in body, "not without the right",
          (code, body))
    k("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader")
    until("watch is all that it takes", lambda: refusal()[0] == 101)
    code, body = refusal(query="&resourceVersion=x")
    check(code == 400, "a bad option is refused as ever", (code, body))
    code, body = refusal(version=12)
    check(code == 400 and "Sec-WebSocket-Version must be 13" in body, "another version",
          (code, body))
    sockets = [watch(fleet.hub.kubeconfig) for _ in range(5)]
    until("five are open", lambda: open_watches(fleet) == 5)
    for ws in sockets[1:]:
        ws.close()
    until("the hub hears that four went away", lambda: open_watches(fleet) == 1)
    event(sockets[0])
    sockets[0].socket.sendall(b"\x81\x05Hello")
    check(sockets[0].receive() is None, "frames that no client may send end it")
    ws = watch(fleet.hub.kubeconfig)
    event(ws)
    fleet.hub.stop()
    check(ws.receive() == (CLOSE, (1000).to_bytes(2, "big")), "a hub that stops says Close")
    fleet.restart_hub()


if __name__ == "__main__":
    main(globals(), Fleet)
