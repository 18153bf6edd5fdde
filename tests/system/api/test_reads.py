"""Lists and watches over real TLS, as clients see them (kubernetes-api.md sections 1 and 2)."""

import gzip
import json
import unittest

from client import Client, Server
from session import CM, NS, Case, config_map, main
import session


class Lists(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for i in range(25):
            cls.client.post(CM, config_map("l-%02d" % i, {"n": str(i % 5)}))

    def test_pages_are_read_at_one_revision(self):
        page = self.must(200, self.client.get(CM, limit=10, labelSelector="n"))
        rv = page["metadata"]["resourceVersion"]
        self.must(201, self.client.post(CM, config_map("l-99", {"n": "9"})))
        self.must(200, self.client.delete(CM + "/l-24"))
        names = [i["metadata"]["name"] for i in page["items"]]
        while page["metadata"].get("continue"):
            page = self.must(200, self.client.get(CM, **{
                "limit": 10, "labelSelector": "n", "continue": page["metadata"]["continue"]}))
            self.assertEqual(page["metadata"]["resourceVersion"], rv)
            names += [i["metadata"]["name"] for i in page["items"]]
        self.assertEqual(names, ["l-%02d" % i for i in range(25)])
        self.must(200, self.client.delete(CM + "/l-99"))
        self.must(201, self.client.post(CM, config_map("l-24", {"n": "4"})))

    def test_empty_parameters_hide_none_behind_them(self):
        for query in ("&limit=1", "&&limit=1", "&&&&&limit=1", "a&&&limit=1", "=&&=&limit=1&&"):
            page = self.must(200, self.client.get(CM + "?" + query))
            self.assertEqual(len(page["items"]), 1, query)
        self.must(200, self.client.call("DELETE", CM + "/l-00?&&&&dryRun=All"))
        self.must(200, self.client.get(CM + "/l-00"))

    def test_the_rest_is_counted_without_selectors(self):
        total = len(self.must(200, self.client.get(CM))["items"])
        page = self.must(200, self.client.get(CM, limit=7))
        self.assertEqual(page["metadata"]["remainingItemCount"], total - 7)
        page = self.must(200, self.client.get(CM, **{
            "limit": 7, "continue": page["metadata"]["continue"]}))
        self.assertEqual(page["metadata"]["remainingItemCount"], total - 14)

    def test_a_token_is_only_good_for_its_own_request(self):
        page = self.must(200, self.client.get(CM, limit=3, labelSelector="n"))
        self.fails(400, "BadRequest", self.client.get(CM, **{
            "limit": 3, "labelSelector": "m", "continue": page["metadata"]["continue"]}))

    def test_selectors_choose(self):
        items = self.must(200, self.client.get(CM, labelSelector="n=3"))["items"]
        self.assertEqual({i["metadata"]["labels"]["n"] for i in items}, {"3"})
        items = self.must(200, self.client.get(CM, fieldSelector="metadata.name=l-07"))["items"]
        self.assertEqual([i["metadata"]["name"] for i in items], ["l-07"])
        none = self.must(200, self.client.get(CM, fieldSelector="metadata.name=nobody"))
        self.assertEqual(none["items"], [])

    def test_an_exact_revision_shows_the_past(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        self.must(201, self.client.post(CM, config_map("later")))
        then = self.must(200, self.client.get(CM, resourceVersion=rv,
                                              resourceVersionMatch="Exact"))
        self.assertNotIn("later", [i["metadata"]["name"] for i in then["items"]])
        self.assertEqual(then["metadata"]["resourceVersion"], rv)
        self.must(200, self.client.delete(CM + "/later"))

    def test_a_revision_of_the_future_times_out(self):
        s = self.fails(504, "Timeout", self.client.get(CM, resourceVersion="99999999"))
        self.assertEqual(s["details"]["causes"][0]["reason"], "ResourceVersionTooLarge")
        self.assertEqual(s["details"]["retryAfterSeconds"], 1)

    def test_wrong_combinations_are_invalid(self):
        self.fails(422, "Invalid", self.client.get(CM, resourceVersionMatch="Exact"))
        self.fails(422, "Invalid", self.client.get(CM, resourceVersion="0",
                                                   resourceVersionMatch="Exact"))
        self.fails(422, "Invalid", self.client.get(CM, sendInitialEvents="true"))

    def test_metadata_alone_is_given_when_asked_for(self):
        accept = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
        got = self.must(200, self.client.get(CM, headers=accept))
        self.assertEqual(got["kind"], "PartialObjectMetadataList")
        self.assertEqual(set(got["items"][0]), {"kind", "apiVersion", "metadata"})

    def test_a_long_list_comes_in_chunks_and_as_gzip(self):
        path = "/api/v1/namespaces/kube-system/configmaps"
        want = {}
        for i in range(12):
            want["big-%02d" % i] = ("%d" % i) * 100000
            self.must(201, self.client.post(path, config_map("big-%02d" % i,
                                                             data={"k": want["big-%02d" % i]})))
        for headers in ({}, {"Accept-Encoding": "gzip"}):
            status, h, body = self.client.request("GET", path, headers=headers)
            self.assertEqual(h.get("Transfer-Encoding"), "chunked")
            if headers:
                self.assertEqual(h.get("Content-Encoding"), "gzip")
                body = gzip.decompress(body)
            got = {i["metadata"]["name"]: i["data"]["k"] for i in json.loads(body)["items"]}
            self.assertEqual(got, want)
        # The connection is good for more.
        self.must(200, self.client.get(path + "/big-01"))


class Watches(Case):
    def test_events_come_in_order_with_rising_versions(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        w = self.client.watch(CM, resourceVersion=rv)
        made = self.must(201, self.client.post(CM, config_map("w1")))
        made["data"] = {"x": "1"}
        self.must(200, self.client.put(CM + "/w1", made))
        self.must(200, self.client.delete(CM + "/w1"))
        events = [w.next() for _ in range(3)]
        self.assertEqual([e["type"] for e in events], ["ADDED", "MODIFIED", "DELETED"])
        versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
        self.assertEqual(versions, sorted(set(versions)))
        w.close()

    def test_a_watch_resumes_where_it_was(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        for i in range(40):
            self.must(201, self.client.post(CM, config_map("r-%d" % i)))
        w = self.client.watch(CM, resourceVersion=rv)
        first = [w.next() for _ in range(15)]
        w.close()
        w = self.client.watch(CM, resourceVersion=first[-1]["object"]["metadata"]["resourceVersion"])
        rest = [w.next() for _ in range(25)]
        w.close()
        self.assertEqual([e["object"]["metadata"]["name"] for e in first + rest],
                         ["r-%d" % i for i in range(40)])

    def test_without_a_version_it_starts_with_what_is_there(self):
        ns = "/api/v1/namespaces/kube-system/configmaps"
        self.must(201, self.client.post(ns, config_map("there")))
        for rv in ({}, {"resourceVersion": "0"}):
            w = self.client.watch(ns, fieldSelector="metadata.name!=other", **rv)
            events = w.until(lambda e: e["object"]["metadata"]["name"] == "there")
            self.assertEqual({e["type"] for e in events}, {"ADDED"})
            w.close()

    def test_initial_events_end_with_a_bookmark(self):
        ns = "/api/v1/namespaces/kube-system/configmaps"
        self.client.post(ns, config_map("initial"))
        w = self.client.watch(ns, sendInitialEvents="true", allowWatchBookmarks="true",
                              resourceVersionMatch="NotOlderThan")
        events = w.until(lambda e: e["type"] == "BOOKMARK")
        last = events[-1]["object"]["metadata"]
        self.assertEqual(last["annotations"], {"k8s.io/initial-events-end": "true"})
        self.assertIn("initial", [e["object"]["metadata"]["name"] for e in events[:-1]])
        self.must(201, self.client.post(ns, config_map("after-initial")))
        self.assertEqual(w.next()["object"]["metadata"]["name"], "after-initial")
        w.close()

    def test_initial_events_need_their_match(self):
        self.fails(422, "Invalid", self.client.get(CM, watch="true", sendInitialEvents="true"))

    def test_selectors_turn_changes_into_added_and_deleted(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        w = self.client.watch(CM, resourceVersion=rv, labelSelector="seen=yes")
        made = self.must(201, self.client.post(CM, config_map("sel")))
        made["metadata"]["labels"] = {"seen": "yes"}
        made = self.must(200, self.client.put(CM + "/sel", made))
        made["data"] = {"a": "b"}
        made = self.must(200, self.client.put(CM + "/sel", made))
        made["metadata"]["labels"] = {"seen": "no"}
        made = self.must(200, self.client.put(CM + "/sel", made))
        self.must(200, self.client.delete(CM + "/sel"))
        self.must(201, self.client.post(CM, config_map("sel2", {"seen": "yes"})))
        events = w.until(lambda e: e["object"]["metadata"]["name"] == "sel2")
        self.assertEqual([e["type"] for e in events], ["ADDED", "MODIFIED", "DELETED", "ADDED"])
        w.close()
        # The same from the log.
        w = self.client.watch(CM, resourceVersion=rv, labelSelector="seen=yes")
        again = w.until(lambda e: e["object"]["metadata"]["name"] == "sel2")
        self.assertEqual(again, events)
        w.close()

    def test_one_object_is_watched_by_its_name(self):
        self.must(201, self.client.post(CM, config_map("one")))
        w = self.client.watch(CM, fieldSelector="metadata.name=one")
        self.assertEqual(w.next()["type"], "ADDED")
        self.must(201, self.client.post(CM, config_map("two")))
        self.must(200, self.client.delete(CM + "/one"))
        self.assertEqual(w.next()["type"], "DELETED")
        w.close()

    def test_the_older_path_watches_too(self):
        ns = "/api/v1/namespaces/kube-system/configmaps"
        older = "/api/v1/watch/namespaces/kube-system/configmaps"
        self.must(201, self.client.post(ns, config_map("older")))
        self.must(201, self.client.post(ns, config_map("newer")))
        for path, fields in ((older + "/older", {}),
                             (older + "/older", {"fieldSelector": "metadata.name=older"}),
                             (older, {"fieldSelector": "metadata.name=older"}),
                             ("/api/v1/watch/configmaps",
                              {"fieldSelector": "metadata.name=older"})):
            w = self.client.watch(path, **fields)
            self.assertEqual(w.status, 200)
            self.assertEqual(w.next()["object"]["metadata"]["name"], "older")
            w.close()
        rv = self.must(200, self.client.get(ns))["metadata"]["resourceVersion"]
        w = self.client.watch(older + "/older", resourceVersion=rv)
        self.must(200, self.client.delete(ns + "/newer"))
        self.must(200, self.client.delete(ns + "/older"))
        self.assertEqual(w.next()["type"], "DELETED")
        w.close()
        # The parameter is not needed; a path of a kind of the cluster, and of a group.
        sock = self.client.raw_socket()
        sock.sendall(b"GET /apis/batch/v1/watch/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
        self.assertTrue(sock.recv(100).startswith(b"HTTP/1.1 200 "))
        sock.close()
        w = self.client.watch("/api/v1/watch/namespaces/default")
        self.assertEqual(w.next()["object"]["kind"], "Namespace")
        w.close()

    def test_the_older_path_is_for_watching_only(self):
        path = "/api/v1/watch/namespaces/default/configmaps/x"
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            self.fails(405, "MethodNotAllowed",
                       self.client.call(method, path, config_map("x")))
        self.fails(404, "NotFound", self.client.get(path + "/status"))
        self.fails(404, "NotFound",
                   self.client.get("/api/v1/watch/namespaces/default/pods/x/log"))
        self.fails(404, "NotFound", self.client.get("/api/v1/watch/no-such-things"))
        got = self.fails(400, "BadRequest",
                         self.client.get(path, fieldSelector="metadata.name=y"))
        self.assertEqual(got["message"],
                         "fieldSelector metadata.name doesn't match requested name")
        self.assertEqual(self.client.request("GET", "/api/v1/watch")[0], 404)

    def test_a_timeout_ends_it_cleanly_with_a_bookmark(self):
        w = self.client.watch(CM, timeoutSeconds="1", allowWatchBookmarks="true",
                              resourceVersion=self.must(200, self.client.get(CM))[
                                  "metadata"]["resourceVersion"])
        events = w.rest()
        self.assertEqual([e["type"] for e in events], ["BOOKMARK"])
        # The same connection serves on: the end was a last chunk.
        w.connection.request("GET", "/version")
        self.assertEqual(w.connection.getresponse().status, 200)
        w.close()

    def test_a_revision_of_the_future_is_refused(self):
        self.fails(504, "Timeout", self.client.get(CM, watch="true", resourceVersion="9999999"))

    def test_metadata_alone_is_watched(self):
        accept = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
        self.client.post(CM, config_map("meta"))
        w = self.client.watch(CM, headers=accept, fieldSelector="metadata.name=meta")
        e = w.next()["object"]
        self.assertEqual(e["kind"], "PartialObjectMetadata")
        self.assertNotIn("data", e)
        w.close()

    def test_a_hundred_watchers_see_the_same(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        watches = [self.client.watch(CM, resourceVersion=rv) for _ in range(100)]
        for i in range(20):
            self.must(201, self.client.post(CM, config_map("many-%d" % i)))
        want = ["many-%d" % i for i in range(20)]
        for w in watches:
            self.assertEqual([w.next()["object"]["metadata"]["name"] for _ in range(20)], want)
            w.close()


class Expiry(Case):
    options = ("--log-bytes", "20000")

    def test_a_revision_below_the_floor_is_gone(self):
        rv = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        page = None
        for i in range(200):
            self.must(201, self.client.post(CM, config_map("e-%d" % i, data={"k": "x" * 500})))
            if i == 10:
                page = self.must(200, self.client.get(CM, limit=2))
        self.fails(410, "Expired", self.client.get(CM, watch="true", resourceVersion=rv))
        s = self.fails(410, "Expired", self.client.get(CM, **{
            "limit": 2, "continue": page["metadata"]["continue"]}))
        more = self.must(200, self.client.get(CM, **{
            "limit": 500, "continue": s["metadata"]["continue"]}))
        self.assertGreater(len(more["items"]), 150)
        self.fails(410, "Expired", self.client.get(CM, resourceVersion=rv,
                                                   resourceVersionMatch="Exact"))


class Beginning(unittest.TestCase):
    def test_a_list_of_nothing_says_where_a_watch_may_start(self):
        # "0" would mean "any": an informer would not know what it has seen.
        server = Server(session.PROGRAM)
        client = Client(server)
        for path in (NS + "events", "/api/v1/nodes", "/api/v1/pods"):
            rv = client.get(path)[1]["metadata"]["resourceVersion"]
            self.assertGreater(int(rv), 0, path)
        rv = client.get(NS + "events")[1]["metadata"]["resourceVersion"]
        status, body = client.post(NS + "events", {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "first"}, "reason": "First",
            "involvedObject": {"kind": "ConfigMap", "name": "a", "namespace": "default"}})
        self.assertEqual(status, 201, body)
        w = client.watch(NS + "events", resourceVersion=rv)
        first = w.next()
        self.assertEqual((first["type"], first["object"]["reason"]), ("ADDED", "First"))
        self.assertGreater(int(first["object"]["metadata"]["resourceVersion"]), int(rv))
        w.close()
        client.close()
        server.close()


if __name__ == "__main__":
    main()
