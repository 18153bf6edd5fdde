"""Requests that wait: for a revision that is not there yet, and in queues for a seat."""

import http.client
import json
import os
import signal
import time

import manners
import session
from client import Client, Server
from manners import CM, config_map, let_in
from prometheus import Metrics


class Future(manners.Case):
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


class Queues(manners.Case):
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
