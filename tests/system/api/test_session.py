"""Who may come in, how connections are served, and how they end (kubernetes-api.md section 1)."""

import gzip
import json
import re
import socket
import unittest

from client import Client, Server
from session import CM, Case, config_map, main
import session


class Access(Case):
    def test_the_admin_token_is_accepted(self):
        c = Client(self.server, token=self.server.text("pki/admin.token"))
        self.must(200, c.get(CM))
        c.close()

    def test_a_wrong_token_is_unauthorized(self):
        c = Client(self.server, token="no")
        s = self.fails(401, "Unauthorized", c.get(CM))
        self.assertEqual(s["message"], "Unauthorized")
        self.fails(401, "Unauthorized", c.get("/version"))
        c.close()

    def test_anonymous_sees_version_and_health_only(self):
        c = Client(self.server, cert=False)
        self.must(200, c.get("/version"))
        for path in ("/healthz", "/livez", "/readyz", "/readyz/ping"):
            self.assertEqual(c.request("GET", path)[0], 200)
        for path in ("/api", "/metrics", CM, "/versions"):
            self.fails(401, "Unauthorized", c.get(path))
        c.close()

    def test_a_foreign_certificate_is_unauthorized(self):
        other = Server(session.PROGRAM)
        try:
            c = Client(self.server, cert=False)
            c.context.load_cert_chain(other.file("pki/admin.crt"), other.file("pki/admin.key"))
            self.fails(401, "Unauthorized", c.get(CM))
            c.close()
        finally:
            other.close()

    def test_keys_are_for_their_owner_only(self):
        import os
        import stat
        self.assertEqual(stat.S_IMODE(os.stat(self.server.file("pki")).st_mode), 0o700)
        for name in os.listdir(self.server.file("pki")):
            mode = os.stat(self.server.file("pki/" + name)).st_mode
            self.assertEqual(stat.S_IMODE(mode), 0o600, name)

    def test_one_may_ask_who_one_is_and_what_one_may(self):
        r = self.must(201, self.client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                            {"kind": "SelfSubjectReview",
                                             "apiVersion": "authentication.k8s.io/v1"}))
        self.assertEqual(r["status"]["userInfo"]["username"], "muster-admin")
        self.assertIn("system:masters", r["status"]["userInfo"]["groups"])
        r = self.must(201, self.client.post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
             "spec": {"resourceAttributes": {"verb": "create", "resource": "jobs",
                                             "group": "batch"}}}))
        self.assertIs(r["status"]["allowed"], True)


class Connections(Case):
    def test_a_pipelined_burst_is_answered_in_order(self):
        s = self.client.raw_socket()
        paths = ["/version", "/healthz", "/livez", "/version", "/readyz"]
        s.sendall("".join("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % p for p in paths).encode())
        got = b""
        while got.count(b"HTTP/1.1 200 OK") < len(paths):
            piece = s.recv(65536)
            self.assertTrue(piece, got)
            got += piece
        s.close()

    def chunked(self, method, path, body, more=""):
        """The whole answer to such a request on a connection that the server ends."""
        s = self.client.raw_socket()
        s.sendall(("%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   "Transfer-Encoding: chunked\r\n%s\r\n" % (method, path, more)).encode())
        for piece in body if isinstance(body, list) else [body]:
            s.sendall(piece)
        got = b""
        while True:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
        s.close()
        return int(got.split(b" ", 2)[1]), got

    def test_a_body_in_chunks_is_taken(self):
        text = json.dumps(config_map("in-chunks", data={"k": "v" * 50000})).encode()
        for cut in (1000, 16384, len(text)):
            pieces = [b"%x\r\n%s\r\n" % (len(text[i:i + cut]), text[i:i + cut])
                      for i in range(0, len(text), cut)] + [b"0\r\n", b"\r\n"]
            code, got = self.chunked("POST", CM, pieces)
            self.assertEqual(code, 201, got[:300])
            self.assertTrue(b"\r\nConnection: close\r\n" in got)
            self.assertTrue(self.client.get(CM + "/in-chunks")[1]["data"]["k"] == "v" * 50000)
            o = self.client.get(CM + "/in-chunks")[1]
            o["data"] = {"k": "changed"}
            text2 = json.dumps(o).encode()
            code, got = self.chunked("PUT", CM + "/in-chunks",
                                     b"%x\r\n%s\r\n0\r\n\r\n" % (len(text2), text2))
            self.assertEqual(code, 200, got[:300])
            self.assertEqual(self.client.get(CM + "/in-chunks")[1]["data"], {"k": "changed"})
            self.client.delete(CM + "/in-chunks")

    def test_a_delete_takes_its_options_in_chunks(self):
        def ask(method, path, options):
            text = json.dumps(options).encode()
            return self.chunked(method, path, b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))
        made = self.must(201, self.client.post(CM, config_map("in-chunks")))
        code, got = ask("DELETE", CM + "/in-chunks", {"preconditions": {"uid": "other"}})
        self.assertEqual(code, 409, got)
        code, got = ask("DELETE", CM + "/in-chunks", {
            "preconditions": {"uid": made["metadata"]["uid"]}})
        self.assertEqual((code, got.count(b"HTTP/1.1 ")), (200, 1), got)
        self.assertEqual(self.client.get(CM + "/in-chunks")[0], 404)
        code, got = self.chunked("DELETE", CM + "/none", b"0\r\n\r\n")
        self.assertEqual(code, 404, got)
        code, got = ask("GET", "/version", {"nobody": "reads this"})
        self.assertEqual((code, got.count(b"HTTP/1.1 ")), (200, 1), got)
        self.assertEqual(self.client.get("/version")[0], 200)

    def test_a_request_that_says_nothing_of_a_body_has_none(self):
        s = self.client.raw_socket()
        for method, path in (("POST", CM), ("PUT", CM + "/x"), ("PATCH", CM + "/x"),
                             ("DELETE", CM + "/x"), ("GET", "/version")):
            s.sendall(("%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n"
                       % (method, path)).encode())
            got = b""
            while b"\r\n\r\n" not in got:
                got += s.recv(65536)
            head, _, body = got.partition(b"\r\n\r\n")
            length = int(re.search(b"Content-Length: ([0-9]+)", head).group(1))
            while len(body) < length:
                body += s.recv(65536)
            self.assertIn(int(head.split(b" ", 2)[1]), (200, 400, 404, 415), (method, got))
            self.assertTrue(b"Connection: close" not in head, (method, got))
        s.close()

    def test_a_body_in_bad_chunks_changes_nothing(self):
        good = b"2\r\n{}\r\n0\r\n\r\n"
        for method, code, body, more in (
                ("POST", 400, b"2\r\n{}}\r\n0\r\n\r\n", ""),
                ("POST", 400, b"x\r\n", ""),
                ("POST", 400, good, "Content-Length: 2\r\n"),
                ("POST", 413, b"fffffff\r\n", ""),
                ("DELETE", 400, b"2\r\n{}}\r\n0\r\n\r\n", ""),
                ("DELETE", 400, good, "Content-Length: 2\r\n"),
                ("GET", 400, good, "Connection: Upgrade\r\nUpgrade: websocket\r\n")):
            got = self.chunked(method, CM, body, more)
            self.assertEqual(got[0], code, got)
        s = self.client.raw_socket()
        s.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n" % CM.encode())
        self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 501 "))
        s.close()
        self.assertEqual(self.client.get(CM)[1]["items"], [])

    def test_a_client_that_vanishes_from_a_watch_is_noticed(self):
        def watches():
            text = self.client.request("GET", "/metrics")[2].decode()
            for line in text.splitlines():
                if line.startswith("apiserver_longrunning_requests"):
                    return int(line.split()[-1])
            return 0
        before = watches()
        w = [self.client.watch(CM, resourceVersion="0") for _ in range(10)]
        self.assertEqual(watches(), before + 10)
        for one in w:
            one.connection.sock.shutdown(socket.SHUT_RDWR)
            one.close()
        for _ in range(2000):
            if watches() == before:
                break
        self.assertEqual(watches(), before)

    def test_a_client_that_vanishes_from_a_list_leaves_nothing(self):
        # More than sockets and slices hold, so that the answer is under way.
        data = {"k": "z" * 200000}
        for i in range(60):
            self.must(201, self.client.post(CM, config_map("gone-%d" % i, {"big": "yes"}, data)))
        token = self.server.text("pki/admin.token").strip()
        head = ("GET %s?labelSelector=big HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n"
                % (CM, token)).encode()
        for i in range(24):
            s = self.client.raw_socket()
            s.sendall(head)
            for _ in range(i % 8):
                s.recv(65536)
            if i % 2:
                s.shutdown(socket.SHUT_RDWR)
            s.close()
        found = self.must(200, self.client.get(CM, labelSelector="big"))["items"]
        self.assertEqual([o["data"] for o in found], [data] * 60)

    def test_a_watcher_that_reads_nothing_is_closed_and_others_are_not(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        slow = self.client.raw_socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(("GET %s?watch=true&resourceVersion=%s HTTP/1.1\r\nHost: x\r\n\r\n"
                      % (CM, rv)).encode())
        slow.recv(100)
        good = self.client.watch(CM, resourceVersion=rv)
        for i in range(24):
            self.must(201, self.client.post(CM, config_map("slow-%d" % i,
                                                           data={"k": "x" * 900000})))
            self.assertEqual(good.next()["object"]["metadata"]["name"], "slow-%d" % i)
        text = self.client.request("GET", "/metrics")[2].decode()
        self.assertIn("apiserver_terminated_watchers_total 1\n", text)
        good.close()
        slow.close()

    def test_a_thousand_requests_use_one_connection(self):
        for _ in range(1000):
            self.assertEqual(self.client.request("GET", "/version")[0], 200)

    def test_a_large_object_goes_in_and_out(self):
        data = {"k": "y" * 1000000}
        self.must(201, self.client.post(CM, config_map("large", data=data)))
        self.assertEqual(self.must(200, self.client.get(CM + "/large"))["data"], data)
        status, headers, body = self.client.request("GET", CM + "/large",
                                                    headers={"Accept-Encoding": "gzip"})
        self.assertEqual(headers.get("Content-Encoding"), "gzip")
        self.assertEqual(json.loads(gzip.decompress(body))["data"], data)


class Stopping(unittest.TestCase):
    def test_a_stop_ends_watches_with_a_bookmark_and_a_last_chunk(self):
        server = Server(session.PROGRAM)
        client = Client(server)
        rv = client.get(CM)[1]["metadata"]["resourceVersion"]
        w = client.watch(CM, resourceVersion=rv, allowWatchBookmarks="true")
        client.post(CM, config_map("before-stop"))
        self.assertEqual(w.next()["type"], "ADDED")
        self.assertEqual(server.stop(), 0)
        self.assertEqual([e["type"] for e in w.rest()], ["BOOKMARK"])
        w.close()
        client.close()
        server.close()

    def test_credentials_survive_a_restart(self):
        server = Server(session.PROGRAM)
        before = {n: server.text("pki/" + n) for n in ("ca.crt", "admin.crt", "admin.token")}
        server.stop()
        server.process.stdout.close()
        server.start()
        self.assertEqual(before, {n: server.text("pki/" + n) for n in before})
        client = Client(server)
        self.assertEqual(client.get(CM)[0], 200)
        client.close()
        server.close()


if __name__ == "__main__":
    main()
