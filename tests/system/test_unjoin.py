#!/usr/bin/env python3
"""`muster unjoin` waits until the hub has taken everything back, whenever that is."""

import http.server
import os
import ssl
import subprocess
import threading

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.programs import program


class Front(http.server.ThreadingHTTPServer):
    """Stands before the hub with the hub's own certificate. The deletion of a Cluster waits with it
    until somebody watches, whose watch is passed on when the Cluster is gone."""

    def __init__(self, fleet, clusters):
        super().__init__(("127.0.0.1", 0), Passage)
        self.client, self.clusters, self.waits, self.held = fleet.client, clusters, None, False
        pki = os.path.join(fleet.hub.data, "pki")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(pki, "serving.crt"), os.path.join(pki, "serving.key"))
        self.socket = context.wrap_socket(self.socket, server_side=True)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def kubeconfig(self, fleet):
        path = fleet.path("front.kubeconfig")
        with open(fleet.hub.kubeconfig, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(fleet.hub.url, f"https://127.0.0.1:{self.server_port}"))
        return path


class Passage(http.server.BaseHTTPRequestHandler):
    def keep(self):
        """A deletion: answered, and left for later."""
        self.server.waits = self.path.rsplit("/", 1)[1]
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"kind":"Status","apiVersion":"v1","status":"Success"}')

    def make_up(self):
        name, self.server.waits, self.server.held = self.server.waits, None, True
        self.server.client.delete("clusters", name, namespace=None)
        self.server.clusters.await_gone(name, namespace="")

    def pass_on(self):
        if self.command == "DELETE" and "/clusters/" in self.path:
            self.keep()
            return
        if "watch=true" in self.path and self.server.waits:
            self.make_up()
        length = int(self.headers.get("Content-Length") or 0)
        headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
        hub = self.server.client.connect()
        hub.request(self.command, self.path, self.rfile.read(length) or None, headers)
        answer = hub.getresponse()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.end_headers()
        try:
            while data := answer.read1(65536):
                self.wfile.write(data)
        except OSError:
            pass  # the reader has had enough
        hub.close()

    do_GET = do_POST = do_DELETE = do_PATCH = pass_on

    def log_message(self, format, *args):
        pass


def story_the_cluster_goes_before_the_watch_begins(fleet):
    """The Cluster goes between its last GET and the watch: its end is not missed"""
    fleet.start_hub()
    sim = fleet.start_sim("gpu", [make.node("n", count=1)])
    fleet.join(sim)
    clusters = fleet.watch("clusters")
    front = Front(fleet, clusters)
    done = subprocess.run([program("MUSTER", "deploy/cli/muster"), "unjoin", "gpu"], text=True,
                          capture_output=True, timeout=45,
                          env=dict(os.environ, KUBECONFIG=front.kubeconfig(fleet)))
    check(front.held, "the watch was asked for when the Cluster was gone")
    check(done.returncode == 0 and "unjoined" in done.stdout, "unjoin ends", done)
    front.shutdown()


if __name__ == "__main__":
    main(globals(), Fleet)
