"""What the front bounds: watches, seats, connections, bodies, and what no client should send."""

import json
import re
import socket
import ssl
import time
import uuid

import manners
import session
from client import Client, Server
from manners import CM, config_map, let_in
from prometheus import Metrics


class Limits(manners.Case):
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


class Rudeness(manners.Case):
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

    def test_a_request_line_that_cannot_be_read_is_refused_with_a_status(self):
        for line, code, reason in ((b"GET /api/v1/%zz", 400, "BadRequest"),
                                   (b"GET /api/v1/%4", 400, "BadRequest"),
                                   (b"GET /api/v1/configmaps?labelSelector=%zz", 400, "BadRequest"),
                                   (b"DELETE " + CM.encode() + b"?labelSelector=a%3", 400,
                                    "BadRequest"),
                                   (b"GET version", 400, "BadRequest"),
                                   (b"BREW /version", 405, "MethodNotAllowed"),
                                   (b"TRACE /version", 405, "MethodNotAllowed"),
                                   (b"PROPFIND " + CM.encode(), 405, "MethodNotAllowed")):
            s = self.client.raw_socket()
            s.sendall(line + b" HTTP/1.1\r\nHost: x\r\n\r\n")
            got = b""
            while piece := s.recv(65536):
                got += piece
            s.close()
            head, _, body = got.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 %d " % code), (line, got))
            self.assertIn(b"Content-Type: application/json", head)
            self.assertIn(b"Connection: close", head)
            said = json.loads(body)
            self.assertEqual((said["kind"], said["code"], said["reason"]),
                             ("Status", code, reason))


if __name__ == "__main__":
    session.main()
