"""How the front behaves beside its verbs: metrics, health, its end, its limits, fairness."""

import http.client
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import uuid

import session
from client import Client, Server
from prometheus import Metrics

CM = "/api/v1/namespaces/default/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"


def config_map(name, size=1):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"k": "v" * size}}


def let_in(client, *users):
    """These users may do everything with config maps."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "maps"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": "maps"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "maps"},
               "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": u}
                            for u in users]}
    assert client.post(RBAC + "clusterroles", role)[0] == 201
    assert client.post(RBAC + "clusterrolebindings", binding)[0] == 201
    for user in users:
        while client.get(CM, headers={"Impersonate-User": user}, limit=1)[0] == 403:
            pass  # the authorizer follows the store


class Case(session.Case):
    def metrics(self):
        status, headers, text = self.client.request("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        return Metrics(text.decode())


class Counts(Case):
    def test_requests_are_counted_as_kube_apiserver_counts_them(self):
        labels = {"component": "apiserver", "group": "", "version": "v1",
                  "resource": "configmaps", "subresource": "", "dry_run": ""}
        before = self.metrics()
        self.client.post(CM, config_map("counted"))
        self.client.post(CM, config_map("counted"))
        for _ in range(3):
            self.client.get(CM + "/counted")
        self.client.get(CM)
        self.client.get("/api/v1/configmaps")
        after = self.metrics()

        def grew(name, **more):
            return after.sum(name, **labels, **more) - before.sum(name, **labels, **more)
        total = "apiserver_request_total"
        self.assertEqual(grew(total, verb="POST", scope="resource", code="201"), 1)
        self.assertEqual(grew(total, verb="POST", scope="resource", code="409"), 1)
        self.assertEqual(grew(total, verb="GET", scope="resource", code="200"), 3)
        self.assertEqual(grew(total, verb="LIST", scope="namespace", code="200"), 1)
        self.assertEqual(grew(total, verb="LIST", scope="cluster", code="200"), 1)
        duration = "apiserver_request_duration_seconds"
        self.assertEqual(grew(duration + "_count", verb="GET"), 3)
        self.assertEqual(grew(duration + "_bucket", verb="GET", le="+Inf"), 3)
        self.assertEqual(grew(duration + "_bucket", verb="GET", le="60"), 3)
        self.assertGreater(grew(duration + "_sum", verb="GET"), 0)

    def test_watches_and_their_events_are_counted(self):
        labels = {"version": "v1", "resource": "configmaps", "group": ""}
        before = self.metrics()
        rv = self.client.get(CM)[1]["metadata"]["resourceVersion"]
        w = [self.client.watch(CM, resourceVersion=rv) for _ in range(3)]
        self.client.post(CM, config_map("watched"))
        for one in w:
            one.next()
        after = self.metrics()
        name = "apiserver_longrunning_requests"
        self.assertEqual(after.sum(name, verb="WATCH", **labels)
                         - before.sum(name, verb="WATCH", **labels), 3)
        name = "apiserver_watch_events_total"
        self.assertEqual(after.sum(name, **labels) - before.sum(name, **labels), 3)
        for one in w:
            one.close()

    def test_what_clients_make_up_makes_no_series(self):
        self.client.get("/apis/made.up/v1/things")
        self.client.request("GET", "/made/up")
        self.client.get(CM + "/x/invented")
        before = len(self.metrics().samples)
        for i in range(50):
            self.client.get("/apis/made.up%d/v1/things" % i)
            self.client.request("GET", "/made/up/%d" % i)
            self.client.get(CM + "/x/invented%d" % i)
        self.assertLessEqual(len(self.metrics().samples), before)

    def test_a_busy_core_is_not_waited_for(self):
        self.assertEqual(self.metrics().sum("muster_metrics_complete"), 1)
        with open(self.server.file("busy"), "w", encoding="ascii"):
            pass
        try:
            began = time.monotonic()
            m = self.metrics()
            while m.sum("muster_metrics_complete") == 1:  # it was not busy yet
                m = self.metrics()
            self.assertLess(time.monotonic() - began, 8)
            self.assertGreater(m.sum("process_resident_memory_bytes"), 1 << 20)
        finally:
            os.unlink(self.server.file("busy"))
        while self.metrics().sum("muster_metrics_complete") != 1:
            pass

    def test_the_process_and_the_stores_are_described(self):
        m = self.metrics()
        self.assertGreater(m.sum("process_resident_memory_bytes"), 1 << 20)
        self.assertGreater(m.sum("process_open_fds"), 5)
        self.assertAlmostEqual(m.sum("process_start_time_seconds"), time.time(), delta=600)
        self.assertGreater(m.sum("muster_store_revision", store="truth"), 0)
        self.assertEqual(m.types["muster_store_bytes"], "gauge")
        self.assertEqual(m.sum("apiserver_flowcontrol_nominal_limit_seats"), 256)


class Health(Case):
    def ask(self, path):
        status, _, text = self.client.request("GET", path)
        return status, text.decode()

    def test_the_short_answer_is_ok(self):
        for path in ("/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/store"):
            self.assertEqual(self.ask(path), (200, "ok"))

    def test_the_long_answer_names_every_check(self):
        self.assertEqual(self.ask("/livez?verbose"),
                         (200, "[+]ping ok\n[+]store ok\nlivez check passed\n"))
        self.assertEqual(self.ask("/readyz?verbose=true"),
                         (200, "[+]ping ok\n[+]store ok\n[+]shutdown ok\nreadyz check passed\n"))

    def test_checks_may_be_left_out(self):
        self.assertEqual(self.ask("/livez?verbose&exclude=store&exclude=nope"),
                         (200, "[+]ping ok\n[+]store excluded: ok\n"
                               "warn: some health checks cannot be excluded: no matches for "
                               '"nope"\nlivez check passed\n'))

    def test_an_unknown_check_is_not_found(self):
        self.assertEqual(self.ask("/readyz/nope")[0], 404)
        self.assertEqual(self.ask("/livez/shutdown")[0], 404)


class Authorities(unittest.TestCase):
    def test_who_the_system_trusts_is_nobody_here(self):
        with tempfile.TemporaryDirectory() as d:
            cert, key = os.path.join(d, "cert"), os.path.join(d, "key")
            made = subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                 "/O=system:masters/CN=stranger", "-keyout", key, "-out", cert],
                stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(made.returncode, 0)
            os.environ["SSL_CERT_FILE"] = cert  # the server's system trusts it
            try:
                server = Server(session.PROGRAM)
            finally:
                del os.environ["SSL_CERT_FILE"]
            client = Client(server, cert=False)
            client.context.load_cert_chain(cert, key)
            try:
                self.assertEqual(client.get(CM)[0], 401)
            finally:
                client.close()
                server.close()


class Ending(unittest.TestCase):
    def test_readyz_fails_first_then_all_ends_well(self):
        server = Server(session.PROGRAM, "--drain", "1000")
        client = Client(server)
        watch = client.watch(CM, resourceVersion="0")
        self.assertEqual(client.request("GET", "/readyz")[0], 200)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        while client.request("GET", "/readyz")[0] == 200:
            pass
        status, _, text = client.request("GET", "/readyz?verbose")
        self.assertEqual(status, 500)
        self.assertIn("[-]shutdown failed: reason withheld\nreadyz check failed\n", text.decode())
        self.assertEqual(client.request("GET", "/livez")[0], 200)
        # Still served, and seen by the watch.
        self.assertEqual(client.post(CM, config_map("late"))[0], 201)
        self.assertEqual(watch.next()["object"]["metadata"]["name"], "late")
        self.assertIsNone(watch.next())
        self.assertEqual(server.process.wait(5), 0)
        self.assertLess(time.monotonic() - began, 5)
        watch.close()
        client.close()
        server.close()

    def test_many_watches_and_writes_under_way_end_well(self):
        server = Server(session.PROGRAM, "--durable", "--sync", "--drain", "50")
        client = Client(server)
        watches = [client.watch(CM, resourceVersion="0") for _ in range(300)]
        made, broken = [[] for _ in range(16)], []

        def write(k):
            c = Client(server)
            try:
                for i in range(100000):
                    name = "w%d-%d" % (k, i)
                    status, _ = c.post(CM, config_map(name, 500))
                    if status == 503:
                        return
                    if status != 201:
                        broken.append(status)
                    made[k].append(name)
            except OSError as error:
                # Between answers the connection may go; in the midst of one it may not.
                if "INCOMPLETE" in repr(error).upper():
                    broken.append(error)
            except Exception as error:  # IncompleteRead, a cut status line
                if type(error).__name__ != "RemoteDisconnected":
                    broken.append(error)
            finally:
                c.close()

        writers = [threading.Thread(target=write, args=(k,)) for k in range(16)]
        for t in writers:
            t.start()
        while not all(made):
            pass
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        seen = [{e["object"]["metadata"]["name"] for e in w.rest()} for w in watches[:10]]
        for w in watches:
            w.rest()  # raises when the last chunk is missing
        self.assertEqual(server.process.wait(5), 0)
        self.assertLess(time.monotonic() - began, 5)
        for t in writers:
            t.join()
        self.assertEqual(broken, [])
        for w in watches:
            w.close()
        client.close()
        # What was acknowledged is there.
        server.process.stdout.close()
        server.start()
        client = Client(server)
        names = {o["metadata"]["name"] for o in client.get(CM)[1]["items"]}
        self.assertLessEqual({n for k in made for n in k}, names)
        for s in seen:
            self.assertLessEqual(s, names)
        client.close()
        server.close()


    def test_clients_that_take_nothing_do_not_hold_up_the_end(self):
        server = Server(session.PROGRAM)
        client = Client(server)
        for i in range(40):
            client.post(CM, config_map("big-%d" % i, 200000))
        token = server.text("pki/admin.token").strip()
        held = []
        for path in (CM, CM + "?watch=1", CM + "?limit=39") * 10:
            s = client.raw_socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                       % (path, token)).encode())
            held.append(s)
        for s in held:
            s.recv(1)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 5)
        for s in held:
            s.close()
        client.close()
        server.close()


class Limits(Case):
    options = ("--watches", "20", "--seats", "4")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        let_in(cls.client, "ann", "ben")

    def busy(self, answer):
        status, headers, text = answer
        self.assertEqual(status, 429, text)
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        body = json.loads(text)
        self.assertEqual((body["kind"], body["reason"]), ("Status", "TooManyRequests"))
        self.assertEqual(body["message"], "Too many requests, please try again later.")

    def test_watches_are_bounded_and_one_user_has_half(self):
        ann = {"Impersonate-User": "ann"}
        held = [self.client.watch(CM, headers=ann, resourceVersion="0") for _ in range(10)]
        self.assertEqual({w.status for w in held}, {200})
        self.busy(self.client.request("GET", CM + "?watch=1", headers=ann))
        self.assertEqual(self.client.get(CM, headers=ann)[0], 200)
        held += [self.client.watch(CM, resourceVersion="0") for _ in range(10)]
        self.assertEqual({w.status for w in held}, {200})
        self.busy(self.client.request("GET", CM + "?watch=1"))
        for w in held:
            w.close()
        while True:
            w = self.client.watch(CM, headers=ann, resourceVersion="0")
            w.close()
            if w.status == 200:
                break

    def test_a_user_with_too_much_waiting_is_refused_and_others_are_not(self):
        for i in range(40):
            self.client.post(CM, config_map("big-%d" % i, 200000))
        before = self.client.request("GET", "/metrics")[2].decode()
        token = self.server.text("pki/admin.token").strip()
        head = ("GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                "Impersonate-User: ann\r\n\r\n" % (CM, token)).encode()
        # One LIST that nobody reads holds ann's seats; the others wait.
        held = []

        def hold():
            s = self.client.raw_socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(head)
            held.append(s)

        for _ in range(1003):
            hold()
        waiting = "apiserver_flowcontrol_current_inqueue_requests"
        # Who takes nothing is closed after 30 s, and on a busy machine that is not long.
        while Metrics(self.client.request("GET", "/metrics")[2].decode()).sum(waiting) < 1000:
            hold()
        self.busy(self.client.request("GET", CM + "/big-1", headers={"Impersonate-User": "ann"}))
        status, _ = self.client.get(CM + "/big-1", headers={"Impersonate-User": "ben"})
        self.assertEqual(status, 200)
        status, _ = self.client.get(CM + "/big-1")
        self.assertEqual(status, 200)
        after = Metrics(self.client.request("GET", "/metrics")[2].decode())
        refused = "apiserver_flowcontrol_rejected_requests_total"
        self.assertGreater(after.sum(refused), Metrics(before).sum(refused))
        for s in held:
            s.close()
        while Metrics(self.client.request("GET", "/metrics")[2].decode()).sum(
                "apiserver_flowcontrol_current_executing_seats"):
            pass
        self.assertEqual(self.client.get(CM + "/big-1", headers={"Impersonate-User": "ann"})[0],
                         200)

    def test_every_answer_has_an_audit_id_and_says_how_it_was_queued(self):
        ann = {"Impersonate-User": "ann"}
        seen, levels = set(), {}
        for who, method, path in (("ann", "GET", CM), ("ann", "GET", CM + "/no-such"),
                                  ("ann", "POST", CM), ("ann", "GET", "/api/v1/secrets"),
                                  ("admin", "GET", CM), ("admin", "GET", "/apis"),
                                  ("admin", "GET", "/metrics"), ("admin", "GET", "/no/such")):
            _, headers, _ = self.client.request(method, path,
                                                headers=ann if who == "ann" else None)
            uuid.UUID(headers["Audit-Id"])
            self.assertNotIn(headers["Audit-Id"], seen)
            seen.add(headers["Audit-Id"])
            pair = tuple(headers["X-Kubernetes-PF-%s-UID" % x]
                         for x in ("FlowSchema", "PriorityLevel"))
            self.assertEqual(levels.setdefault(who, pair), pair)
            for one in pair:
                uuid.UUID(one)
        self.assertFalse(set(levels["ann"]) & set(levels["admin"]))
        w = self.client.watch(CM, headers=ann)
        self.assertEqual(w.response.headers["X-Kubernetes-PF-FlowSchema-UID"], levels["ann"][0])
        uuid.UUID(w.response.headers["Audit-Id"])
        w.close()
        nobody = Client(self.server, token="no-such-token")
        status, headers, _ = nobody.request("GET", CM)
        self.assertEqual(status, 401)
        uuid.UUID(headers["Audit-Id"])
        self.assertNotIn("X-Kubernetes-PF-FlowSchema-UID", headers)
        nobody.close()

    def test_a_body_over_3_mib_is_refused(self):
        status, body = self.client.post(CM, "x" * ((3 << 20) + 1))
        self.assertEqual((status, body["reason"]), (413, "RequestEntityTooLarge"))
        self.client.close()
        status, _ = self.client.post(CM, "x" * (3 << 20))
        self.assertEqual(status, 400)

    def test_a_header_block_over_32_kib_ends_the_connection(self):
        s = self.client.raw_socket()
        try:
            s.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 33000 + b"\r\n\r\n")
            got = s.recv(65536)
        except (ConnectionError, ssl.SSLError):
            got = b""
        self.assertFalse(got.startswith(b"HTTP/1.1 2"), got[:100])
        s.close()
        self.assertEqual(self.client.request("GET", "/version",
                                             headers={"X-Long": "x" * 20000})[0], 200)

    def test_a_header_block_or_handshake_that_does_not_come_ends_after_ten_seconds(self):
        s = self.client.raw_socket()
        s.sendall(b"GET /version HTTP/1.1\r\nHost:")
        mute = socket.create_connection((self.server.host, self.server.port), timeout=20)
        began = time.monotonic()
        for one in (s, mute):
            try:
                self.assertEqual(one.recv(100), b"")
            except (ConnectionError, ssl.SSLError):
                pass
            self.assertTrue(8 < time.monotonic() - began < 15)
            one.close()


class Rudeness(Case):
    """What no well-behaved client sends: it ends that connection, and nothing else."""

    def post(self, promised, sent):
        """A create whose body stops in the middle."""
        s = self.client.raw_socket()
        s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  b"Content-Length: %d\r\n\r\n" % (CM.encode(), promised) + b"{" * sent)
        return s

    def connections(self):
        return self.metrics().sum("muster_api_connections")

    def test_a_client_that_vanishes_in_mid_body_leaves_nothing(self):
        before = self.connections()
        gone = [self.post(100000, n) for n in (0, 1, 5000, 99999) for _ in range(5)]
        while self.connections() < before + len(gone):
            pass
        self.assertEqual(self.client.get(CM)[0], 200)
        for s in gone:
            s.close()
        while self.connections() > before:
            pass
        self.assertEqual(self.metrics().sum("apiserver_current_inflight_requests",
                                            request_kind="mutating"), 0)
        self.assertEqual(self.client.get(CM)[1]["items"], [])

    def test_a_body_that_stops_is_waited_for_ten_seconds(self):
        stopped = [self.post(1000, n) for n in (0, 1, 999)]
        began = time.monotonic()
        for s in stopped:
            try:
                got = s.recv(100)
            except (ConnectionError, ssl.SSLError):
                got = b""
            self.assertFalse(got.startswith(b"HTTP/1.1 2"), got)
            s.close()
        self.assertGreater(time.monotonic() - began, 8)

    def test_lines_that_are_no_request_get_no_answer_that_helps(self):
        # libwebsockets answers most of them itself, and closes without an answer for others: it is
        # to be one or the other, and nobody else may notice. Some it takes.
        lenient = [b"GET /version", b"GET /version HTTP/9.9", b"GET  /version  HTTP/1.1",
                   b"GET /version HTTP/1.1\r\n: x"]
        lines = [b"GARBAGE", b"GET", b"GET ", b"\0\1\2\3", b"BREW /version HTTP/1.1",
                 b"GET version HTTP/1.1", b" GET /version HTTP/1.1",
                 b"GET /%zz HTTP/1.1", b"GET /" + b"a" * 9000,
                 b"\xff\xfe HTTP/1.1", b"GET /version HTTP/1.1\r\nContent-Length: -1",
                 b"GET /version HTTP/1.1\r\nContent-Length: x",
                 b"POST " + CM.encode() + b" HTTP/1.1\r\nContent-Length: 99999999999999999999"]
        for line in lines + lenient:
            s = self.client.raw_socket()
            try:
                s.sendall(line + b"\r\nHost: x\r\n\r\n")
                got = s.recv(100)
            except (ConnectionError, ssl.SSLError, OSError):
                got = b""
            finally:
                s.close()
            if line in lenient:
                self.assertTrue(got.startswith(b"HTTP/1.1 200 "), (line, got))
            else:
                self.assertTrue(not got or re.match(b"HTTP/1[.][01] 4", got), (line, got))
            self.assertEqual(self.client.request("GET", "/version")[0], 200)


class Future(Case):
    """Reads of a revision that is not there yet wait for it, at most three seconds."""
    options = ("--seats", "4")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        let_in(cls.client, "ann")

    def ahead(self, n):
        rv = self.client.get(CM)[1]["metadata"]["resourceVersion"]
        return str(int(rv) + n)

    def ask(self, path, **params):
        """Sends what is answered later, as a user whose seat can be seen taken."""
        sock = self.client.raw_socket()
        params = "&".join("%s=%s" % p for p in params.items())
        sock.sendall(("GET %s?%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                      "Impersonate-User: ann\r\n\r\n" % (
                          path, params, self.server.text("pki/admin.token").strip())).encode())
        return sock

    def await_seats(self, n):
        while self.metrics().sum("apiserver_flowcontrol_current_executing_seats") != n:
            pass

    def answer(self, sock):
        r = http.client.HTTPResponse(sock)
        r.begin()
        return r

    def test_a_commit_ends_the_wait(self):
        self.client.post(CM, config_map("old"))
        while not self.commits_end_waits():
            pass  # the machine took three seconds for it: they waited long enough

    def commits_end_waits(self):
        began = time.monotonic()
        for name in ("one", "two", "three"):
            self.client.delete(CM + "/" + name)
        rv = self.ahead(2)
        asked = [self.ask(CM, resourceVersion=rv), self.ask(CM + "/old", resourceVersion=rv)]
        self.await_seats(2)
        watch = self.ask(CM, resourceVersion=rv, watch=1)
        self.client.post(CM, config_map("one"))  # one too few
        self.client.post(CM, config_map("two"))
        listed, got = [self.answer(s) for s in asked]
        stream = self.answer(watch)
        if 504 in (listed.status, got.status, stream.status) and time.monotonic() - began > 3:
            return False
        self.assertEqual((listed.status, got.status), (200, 200))
        body = json.loads(listed.read())
        self.assertGreaterEqual(int(body["metadata"]["resourceVersion"]), int(rv))
        self.assertIn("two", [o["metadata"]["name"] for o in body["items"]])
        self.client.post(CM, config_map("three"))
        self.assertEqual(stream.status, 200)
        self.assertEqual(json.loads(stream.readline())["object"]["metadata"]["name"], "three")
        for sock in asked + [watch]:
            sock.close()
        return True

    def test_what_does_not_come_is_a_timeout_that_clients_know(self):
        rv = self.ahead(1000000)
        for path, params in ((CM, {}), (CM, {"resourceVersionMatch": "NotOlderThan"}),
                             (CM, {"resourceVersionMatch": "Exact"}), (CM + "/none", {}),
                             (CM, {"watch": "1"})):
            began = time.monotonic()
            status, headers, text = self.client.request("GET", path, resourceVersion=rv, **params)
            self.assertGreater(time.monotonic() - began, 2.9)
            body = json.loads(text)
            self.assertEqual((status, body["reason"]), (504, "Timeout"))
            self.assertRegex(body["message"],
                             "^Timeout: Too large resource version: %s, current: [0-9]+$" % rv)
            self.assertEqual(body["details"]["causes"],
                             [{"reason": "ResourceVersionTooLarge",
                               "message": "Too large resource version"}])
            self.assertEqual(body["details"]["retryAfterSeconds"], 1)
            self.assertEqual(headers["Retry-After"], "1")

    def test_a_client_that_goes_gives_its_seat_back(self):
        sock = self.ask(CM, resourceVersion=self.ahead(1000000))
        self.await_seats(1)
        sock.close()
        self.await_seats(0)

    def test_a_server_that_ends_waits_for_nothing(self):
        server = Server(session.PROGRAM)
        client = Client(server)
        sock = client.raw_socket()
        sock.sendall(("GET %s?resourceVersion=99999999 HTTP/1.1\r\nHost: x\r\n\r\n" % CM).encode())
        while Metrics(client.request("GET", "/metrics")[2].decode()).sum(
                "apiserver_current_inflight_requests") < 2:
            pass
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.answer(sock).status, 504)
        sock.close()
        client.close()
        server.close()


class Queues(Case):
    """The limits of what waits, set small. The core stands still, so that writes keep their seats:
    of four, a user who is alone has two."""
    options = ("--seats", "4", "--queue", "3", "--queue-user-bytes", "3000",
               "--queue-bytes", "4000")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        let_in(cls.client, "ann", "ben", "cleo")

    def setUp(self):
        self.sent = []
        with open(self.server.file("busy"), "w", encoding="ascii"):
            pass
        # It is looked at before each batch: the core has seen it when a page goes out without it.
        self.await_sum("muster_metrics_complete", lambda n: n == 0)

    def go_on(self):
        if os.path.exists(self.server.file("busy")):
            os.unlink(self.server.file("busy"))

    def tearDown(self):
        self.go_on()
        for s in self.sent:
            s.close()

    def await_sum(self, name, wanted, **labels):
        while not wanted(self.metrics().sum(name, **labels)):
            pass

    def send(self, user, name, size):
        """A create whose answer is read later, on a connection of its own."""
        body = json.dumps(config_map(name, size)).encode()
        token = self.server.text("pki/admin.token").strip()
        who = "" if user == "admin" else "Impersonate-User: %s\r\n" % user
        s = self.client.raw_socket()
        s.sendall(("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s"
                   "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                   % (CM, token, who, len(body))).encode() + body)
        self.sent.append(s)
        return s

    def waiting(self, n):
        self.await_sum("apiserver_flowcontrol_current_inqueue_requests", lambda x: x == n)

    def seats(self, n):
        self.await_sum("apiserver_flowcontrol_current_executing_seats", lambda x: x == n)

    def answer(self, s):
        r = http.client.HTTPResponse(s)
        r.begin()
        return r.status, r.headers, r.read()

    def refused(self, s):
        status, headers, text = self.answer(s)
        self.assertEqual(status, 429, text)
        self.assertGreaterEqual(int(headers["Retry-After"]), 1)
        self.assertEqual(json.loads(text)["reason"], "TooManyRequests")

    def test_a_flood_is_refused_beyond_its_queue_and_another_user_is_served(self):
        flood = [self.send("ann", "flood-%d" % i, 1) for i in range(5)]
        self.waiting(3)
        for i in range(4):
            self.refused(self.send("ann", "over-%d" % i, 1))
        # Neither her queue nor her seats are in the other's way; a read of hers waits in it.
        for _ in range(20):
            self.assertEqual(self.client.get(CM, headers={"Impersonate-User": "ben"})[0], 200)
        status, headers, _ = self.client.request("GET", CM, headers={"Impersonate-User": "ann"})
        self.assertEqual((status, headers["Retry-After"]), (429, "1"))
        bens = self.send("ben", "bens", 1)
        self.seats(3)
        self.go_on()
        self.assertEqual([self.answer(s)[0] for s in flood + [bens]], [201] * 6)
        names = {o["metadata"]["name"] for o in self.client.get(CM)[1]["items"]}
        self.assertLessEqual({"flood-%d" % i for i in range(5)} | {"bens"}, names)
        self.assertFalse({n for n in names if n.startswith("over-")})

    def test_bytes_that_wait_are_bounded_for_one_user_and_for_all(self):
        for i in range(2):
            self.send("ann", "held-a%d" % i, 1)
        self.seats(2)
        big = [self.send("ann", "big-a", 2500)]
        self.waiting(1)
        self.refused(self.send("ann", "big-a2", 2500))  # over her own 3,000
        small = self.send("ann", "small-a", 1)
        # A second user's queue fits its even part of all 4,000 bytes, though not what is left.
        self.send("ben", "held-b0", 1)
        self.seats(3)
        big.append(self.send("ben", "big-b", 1500))
        self.waiting(3)
        self.refused(self.send("ben", "big-b2", 1200))  # it has its part
        self.go_on()
        self.assertEqual([self.answer(s)[0] for s in big + [small]], [201] * 3)


if __name__ == "__main__":
    session.main()
