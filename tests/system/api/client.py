"""A Kubernetes client of the standard library only, and the server it talks to."""

import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import urllib.parse


class Server:
    """front_server in a directory of its own."""

    def __init__(self, program, *options):
        self.program = program
        self.options = options
        self.dir = tempfile.mkdtemp(prefix="api-test-")
        self.start()

    def start(self):
        self.process = subprocess.Popen([self.program, self.dir, *self.options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError("the server did not start: " + line)
        url = urllib.parse.urlparse(line.split()[1])
        self.host, self.port = url.hostname, url.port
        self.url = line.split()[1]

    def file(self, name):
        return os.path.join(self.dir, name)

    def text(self, name):
        with open(self.file(name), encoding="utf-8") as f:
            return f.read()

    def stop(self, deadline=10):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(deadline)

    def close(self):
        if self.process.poll() is None:
            self.stop()
        self.process.stdout.close()
        shutil.rmtree(self.dir)
        if self.process.returncode != 0:
            raise RuntimeError("the server ended with %d" % self.process.returncode)


class Client:
    """One connection with the admin's certificate, or another credential."""

    def __init__(self, server, cert=True, token=None):
        self.server = server
        self.token = token
        self.context = ssl.create_default_context(cafile=server.file("pki/ca.crt"))
        if cert and not token:
            self.context.load_cert_chain(server.file("pki/admin.crt"),
                                         server.file("pki/admin.key"))
        self.connection = self.connect()

    def connect(self):
        return http.client.HTTPSConnection(self.server.host, self.server.port, timeout=20,
                                           context=self.context)

    def raw_socket(self):
        sock = socket.create_connection((self.server.host, self.server.port), timeout=20)
        return self.context.wrap_socket(sock, server_hostname="localhost")

    def request(self, method, path, body=None, content_type="application/json", headers=None,
                **params):
        """(status, headers, body bytes)"""
        h = dict(headers or {})
        if self.token:
            h["Authorization"] = "Bearer " + self.token
        if body is not None:
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            if isinstance(body, str):
                body = body.encode()
            if content_type:
                h["Content-Type"] = content_type
        if params:
            path += "?" + urllib.parse.urlencode(params)
        self.connection.request(method, path, body=body, headers=h)
        r = self.connection.getresponse()
        return r.status, r.headers, r.read()

    def call(self, method, path, body=None, **kw):
        """(status, decoded JSON, or the text of a page)"""
        status, headers, text = self.request(method, path, body, **kw)
        if (headers["Content-Type"] or "").startswith("text/"):
            return status, text.decode()
        return status, json.loads(text) if text else None

    def get(self, path, **kw):
        return self.call("GET", path, **kw)

    def post(self, path, body, **kw):
        return self.call("POST", path, body, **kw)

    def put(self, path, body, **kw):
        return self.call("PUT", path, body, **kw)

    def delete(self, path, body=None, **kw):
        return self.call("DELETE", path, body, **kw)

    def patch(self, path, body, kind="merge", **kw):
        types = {"merge": "application/merge-patch+json", "json": "application/json-patch+json",
                 "strategic": "application/strategic-merge-patch+json",
                 "apply": "application/apply-patch+yaml"}
        return self.call("PATCH", path, body, content_type=types[kind], **kw)

    def watch(self, path, headers=None, **params):
        return Watch(self, path, headers, params)

    def close(self):
        self.connection.close()


class Watch:
    """A stream of events on a connection of its own."""

    def __init__(self, client, path, headers, params):
        self.connection = client.connect()
        params["watch"] = "true"
        self.connection.request("GET", path + "?" + urllib.parse.urlencode(params),
                                headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def next(self):
        """The next event, or None at a clean end."""
        line = self.response.readline()
        return json.loads(line) if line else None

    def until(self, wanted):
        """Events up to and with the first for which wanted(event) holds."""
        events = []
        while True:
            e = self.next()
            if e is None:
                raise AssertionError("the watch ended after %r" % events)
            events.append(e)
            if wanted(e):
                return events

    def rest(self):
        events = []
        while True:
            e = self.next()
            if e is None:
                return events
            events.append(e)

    def close(self):
        self.connection.close()
