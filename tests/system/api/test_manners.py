"""How the front behaves beside its verbs: metrics, health, whom it trusts, its end."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import manners
import session
from client import Client, Server
from manners import CM, config_map


class Counts(manners.Case):
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


class Health(manners.Case):
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


if __name__ == "__main__":
    session.main()
