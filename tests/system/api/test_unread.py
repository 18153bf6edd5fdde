"""Watches that nobody reads: front_server [COUNT]. The server's memory stays within what the
constants of hub/api/feed.h and a connection's own part come to, however much changes; whoever does
not take what is theirs is closed, the others are served meanwhile, and a watch that is resumed is
told everything, or that its revision is gone."""

import http.client
import json
import os
import socket
import sys
import unittest

from client import Client, Server
from prometheus import Metrics

PROGRAM, COUNT = None, 1000
CM = "/api/v1/namespaces/default/configmaps"
MIB = 1 << 20
FEED_MAX_BYTES, WATCH_MAX_LAG = 64 * MIB, 4 * MIB  # hub/api/feed.h
# A connection's part: a piece of 64 KiB (hub/api/http.h) that the socket did not take and one that
# TLS has in hand, a record of 16 KiB, and what an idle one has.
CONNECTION = 160 << 10
SLACK = 16 * MIB  # a read of the log, the store's cache, the allocator's holes
VALUE = 56 << 10  # an event fits into one piece
LONG, LONG_COUNT = 900_000, 300  # one that takes many, and its watches


def config_map(name, n, size=VALUE):
    # Nothing in common with the one before: so the log holds it whole.
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"n": str(n), "pad": "vw"[n % 2] * size}}


def number_of(event):
    return int(event["object"]["data"]["n"])


class Unread:
    """A watch whose client takes the head of the answer, and nothing more until it is asked."""

    def __init__(self, client, query):
        raw = socket.socket()
        # Small windows and segments, for which the kernel keeps little: on the loopback it would
        # take megabytes, and the server's queues would stay empty.
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1400)
        raw.settimeout(60)
        raw.connect((client.server.host, client.server.port))
        self.sock = client.context.wrap_socket(raw, server_hostname="localhost")
        self.sock.sendall(("GET %s?watch=1&%s HTTP/1.1\r\nHost: x\r\n\r\n" % (CM, query)).encode())
        self.response = http.client.HTTPResponse(self.sock)
        self.response.begin()

    def rest(self, last):
        """What is sent up to this number or the end; where it was cut, the last line is too."""
        events = []
        try:
            while not events or number_of(events[-1]) < last:
                events.append(json.loads(self.response.readline()))
        except (OSError, ValueError, http.client.HTTPException):
            pass
        return events

    def close(self):
        self.response.close()
        self.sock.close()


class Story(unittest.TestCase):
    options = ("--durable",)  # its pages are a file's, so what is anonymous is the server's own

    def setUp(self):
        given = os.environ.get("ASAN_OPTIONS")
        # What is freed is to be free: a sanitizer keeps 256 MiB of it otherwise.
        os.environ["ASAN_OPTIONS"] = ":".join(
            ([given] if given else []) +
            ["quarantine_size_mb=1", "thread_local_quarantine_size_kb=64"])
        self.server = Server(PROGRAM, *self.options)
        if given is None:
            del os.environ["ASAN_OPTIONS"]
        else:
            os.environ["ASAN_OPTIONS"] = given
        self.client = Client(self.server)
        self.greatest, self.held = 0, []
        with open("/proc/%d/maps" % self.server.process.pid, encoding="ascii") as f:
            self.sanitized = "libasan" in f.read()

    def tearDown(self):
        for w in self.held:
            w.close()
        self.client.close()
        self.server.close()

    def memory(self):
        with open("/proc/%d/smaps_rollup" % self.server.process.pid, encoding="ascii") as f:
            kib = next(int(l.split()[1]) for l in f if l.startswith("Anonymous:"))
        self.greatest = max(self.greatest, kib << 10)
        return kib << 10

    def assert_within(self, before, bound):
        if self.sanitized:
            bound += bound // 2  # shadow memory and red zones
        grown = self.greatest - before
        print("%d MiB of %d" % (grown // MIB, bound // MIB), file=sys.stderr, flush=True)
        self.assertLess(grown, bound)

    def metric(self, name):
        status, _, text = self.client.request("GET", "/metrics")
        self.assertEqual(status, 200)
        return Metrics(text.decode()).sum(name)

    def revision(self):
        return self.client.get(CM, limit=1)[1]["metadata"]["resourceVersion"]

    def put(self, name, n, size=VALUE):
        status, o = self.client.put(CM + "/" + name, config_map(name, n, size))
        self.assertEqual(status, 200)
        return o["metadata"]["resourceVersion"]

    def create(self, name):
        self.assertEqual(self.client.post(CM, config_map(name, 0))[0], 201)

    def resumed(self, unread, rv, last, query=""):
        """The numbers that a client sees who reads at last, and goes on where its watch was cut;
        None when it is told that this is too late."""
        seen = unread.rest(last)
        if seen:
            rv = seen[-1]["object"]["metadata"]["resourceVersion"]
        numbers = [number_of(e) for e in seen]
        if numbers and numbers[-1] == last:
            return numbers
        w = Unread(self.client, query + "resourceVersion=" + rv)
        self.held.append(w)
        if w.response.status == 410:
            return None
        self.assertEqual(w.response.status, 200)
        while not numbers or numbers[-1] < last:
            e = json.loads(w.response.readline())
            if e["type"] == "ERROR":
                self.assertEqual(e["object"]["code"], 410)
                return None
            numbers.append(number_of(e))
        return numbers


class Crowd(Story):
    def closed_for_their_lag(self):
        """Whether the lag did it; how often the one that changes was written, and since when."""
        self.create("one")
        before = self.memory()
        rv = self.revision()
        slow = self.metric("apiserver_terminated_watchers_total")
        reader = self.client.watch(CM, resourceVersion=rv)
        self.held = [Unread(self.client, "resourceVersion=" + rv) for _ in range(COUNT)]
        self.assertEqual({w.response.status for w in self.held}, {200})
        n = 0
        while self.metric("muster_api_watchers") > 1:
            n += 1
            self.put("one", n)
            self.assertEqual(self.client.get(CM + "/one")[1]["data"]["n"], str(n))
            self.assertEqual(reader.next()["object"]["data"]["n"], str(n))
            self.memory()
        reader.close()
        self.assert_within(before, WATCH_MAX_LAG + COUNT * CONNECTION + SLACK)
        for w in (self.held[0], self.held[-1]):
            numbers = self.resumed(w, rv, n)
            self.assertIn(numbers, (None, list(range(1, n + 1))))
        for w in self.held:
            w.close()
        self.held = []
        self.assertEqual(self.client.delete(CM + "/one")[0], 200)
        return self.metric("apiserver_terminated_watchers_total") > slow

    def test_a_crowd_that_reads_nothing_shares_what_is_queued_and_is_closed(self):
        while not self.closed_for_their_lag():
            pass  # the machine took thirty seconds for 4 MiB: they were closed for that

    def test_a_long_event_is_kept_once_for_all_who_do_not_take_it(self):
        self.create("one")
        before, rv = self.memory(), self.revision()
        self.held = [Unread(self.client, "resourceVersion=" + rv) for _ in range(LONG_COUNT)]
        self.put("one", 1, LONG)
        while self.metric("apiserver_watch_events_total") < LONG_COUNT:
            self.memory()
        self.memory()
        self.assert_within(before, WATCH_MAX_LAG + LONG_COUNT * CONNECTION + SLACK)
        self.put("one", 2)
        for w in self.held:
            self.assertIn(self.resumed(w, rv, 2), (None, [1, 2]))


class Many(Story):
    GROUPS, ROUNDS = 72, 48  # in all 190 MiB, for no watcher more than it may have

    def test_queues_of_many_objects_together_are_bounded(self):
        names = ["c-%02d" % i for i in range(self.GROUPS)]
        for name in names:
            self.create(name)
        before, rv = self.memory(), self.revision()
        query = "fieldSelector=metadata.name=%s&"
        self.held = [Unread(self.client, query % name + "resourceVersion=" + rv) for name in names]
        self.assertEqual({w.response.status for w in self.held}, {200})
        for n in range(1, self.ROUNDS + 1):
            for name in names:
                self.put(name, n)
            self.memory()
        self.assert_within(before, FEED_MAX_BYTES + self.GROUPS * CONNECTION + SLACK)
        # Those who lost their queues go on from the log.
        for name, w in list(zip(names, self.held)):
            numbers = self.resumed(w, rv, self.ROUNDS, query % name)
            self.assertIn(numbers, (None, list(range(1, self.ROUNDS + 1))))


class Forgotten(Story):
    options = ("--durable", "--log-bytes", str(MIB))

    def test_who_resumes_after_the_log_was_trimmed_is_told_so(self):
        self.create("one")
        rv = self.revision()
        w = Unread(self.client, "resourceVersion=" + rv)
        self.held.append(w)
        n = 0
        while self.metric("muster_api_watchers"):
            n += 1
            self.put("one", n)
        for n in range(n + 1, n + 41):  # the log holds eighteen of them
            self.put("one", n)
        self.assertIsNone(self.resumed(w, rv, n))
        self.held.append(Unread(self.client, "resourceVersion=" + rv))
        self.assertEqual(self.held[-1].response.status, 410)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        COUNT = int(sys.argv.pop(1))
    unittest.main(verbosity=2)
