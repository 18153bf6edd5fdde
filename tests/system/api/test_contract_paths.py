"""Which paths there are, which methods they take and what their parameters may say, as kube-apiserver
1.36 has it (kubernetes-api.md 1.1, 1.2, 1.10, 1.11). These tests pass against that server too."""

import json

from contract import CRDS, WIDGETS, Case, widget
from session import CM, NS, Case as Base, config_map, main

NAMESPACES = "/api/v1/namespaces"
BATCH = "/apis/batch/v1"
PAGE = (404, "text/plain; charset=utf-8", b"404 page not found\n")


class Paths(Case):
    def look(self, method, path, **kw):
        status, headers, body = self.client.request(method, path, **kw)
        return status, headers.get("Content-Type"), body

    def bare(self, code, answer):
        """A refusal by the router, which knows nothing of what is asked for."""
        reason, words = {404: ("NotFound", "the server could not find the requested resource"),
                         405: ("MethodNotAllowed", "the server does not allow this method on the "
                               "requested resource")}[code]
        s = self.fails(code, reason, answer)
        self.assertEqual((s["details"], s["message"]), ({}, words))

    def test_the_root_lists_what_there_is(self):
        for path in ("/", "/index.html"):
            paths = self.must(200, self.client.get(path))["paths"]
            self.assertEqual(paths, sorted(paths))
            self.assertLessEqual({"/api", "/api/v1", "/apis", "/apis/", "/apis/batch", BATCH,
                                  "/apis/example.com", "/apis/example.com/v1", "/healthz",
                                  "/livez/ping", "/metrics", "/openapi/v2", "/openapi/v3",
                                  "/readyz", "/version"}, set(paths))

    def test_a_slash_at_the_end(self):
        for path in ("/api", "/apis", "/apis/batch", BATCH, "/api/v1", "/version",
                     "/apis/example.com/v1", CM):
            self.assertEqual(self.must(200, self.client.get(path)).get("kind"),
                             self.must(200, self.client.get(path + "/")).get("kind"))
        for path in ("/healthz/", "/livez/", "/readyz/", "/openapi", "/openapi/", "/openapi/v2/"):
            self.assertEqual(self.look("GET", path), PAGE)
        for path in ("/openapi/v3/", "/openapi/v3/nope", "/openapi/v3/apis/nope/v1"):
            self.assertEqual(self.look("GET", path), (404, None, b""))

    def test_paths_that_lead_nowhere(self):
        for path in ("/nope", "/apis/nope", "/apis/nope/v1/x", "/apis/example.com/v9",
                     "/apis/example.com/v9/widgets", "/apis/example.com/v1/nope",
                     "/apis/example.com/v1/widgets/w", "/readyz/nope",
                     "/apis/example.com/v1/namespaces/default/gadgets"):
            self.assertEqual(self.look("GET", path), PAGE)
        for path in ("/api/v2", "/apis/batch/v9", BATCH + "/nope", "/api/v1/configmaps/x",
                     BATCH + "/namespaces/default/nope/x", NS + "nodes",
                     NS + "configmaps/kube-root-ca.crt/status", BATCH + "/jobs/x"):
            self.bare(404, self.client.get(path))

    def test_methods_that_are_not_taken(self):
        for method, path in (
                ("POST", "/api"), ("PUT", BATCH), ("DELETE", "/version"),
                ("POST", "/.well-known/openid-configuration"), ("POST", "/api/v1/configmaps"),
                ("DELETE", "/api/v1/configmaps"), ("PATCH", "/api/v1/configmaps"),
                ("DELETE", NAMESPACES), ("PUT", NAMESPACES), ("POST", NAMESPACES + "/default"),
                ("PUT", CM), ("PATCH", CM), ("POST", CM + "/x"), ("OPTIONS", CM)):
            self.bare(405, self.client.call(method, path))
        self.assertNotIn("deletecollection", {
            r["name"]: r for r in self.must(200, self.client.get("/api/v1"))["resources"]}[
                "namespaces"]["verbs"])
        for method in ("GET", "POST"):
            self.assertEqual(self.look(method, "/healthz"),
                             (200, "text/plain; charset=utf-8", b"ok"))

    def test_where_the_server_is(self):
        said = self.must(200, self.client.get("/api"))
        self.assertEqual((said["versions"], said["serverAddressByClientCIDRs"]), (["v1"], [{
            "clientCIDR": "0.0.0.0/0",
            "serverAddress": "%s:%d" % (self.server.host, self.server.port)}]))

    def test_the_id_of_a_request_is_the_clients(self):
        for path in ("/version", CM, CM + "/nope", "/nope"):
            for said in ("abc", "x" * 100):
                _, headers, _ = self.client.request("GET", path, headers={"Audit-ID": said})
                self.assertEqual(headers["Audit-Id"], said)
            _, headers, _ = self.client.request("GET", path, headers={"Audit-ID": ""})
            self.assertEqual(len(headers["Audit-Id"]), 36)


class Documents(Case):
    def test_the_older_document_is_json_for_whoever_does_not_ask_for_protobuf(self):
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
            status, headers, body = self.client.request("GET", "/openapi/v2", headers=accept)
            self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        doc = json.loads(body)
        self.assertEqual(doc["swagger"], "2.0")
        kinds = {(g["group"], g["version"], g["kind"]): name
                 for name, d in doc["definitions"].items()
                 for g in d.get("x-kubernetes-group-version-kind", [])}
        self.assertEqual(kinds["batch", "v1", "Job"], "io.k8s.api.batch.v1.Job")
        widgets = doc["definitions"][kinds["example.com", "v1", "Widget"]]["properties"]["spec"]
        self.assertEqual(widgets["properties"]["color"], {"type": "string", "maxLength": 10})
        path = doc["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
        self.assertLessEqual({"get", "put", "patch", "delete"}, set(path))
        self.assertEqual(path["patch"]["x-kubernetes-group-version-kind"],
                         {"group": "example.com", "version": "v1", "kind": "Widget"})
        refs = {r.split('"')[0] for r in body.decode().split('"#/definitions/')[1:]}
        self.assertEqual(refs - set(doc["definitions"]), set())


class Parameters(Case):
    def refuses(self, words, answer):
        s = self.fails(400, "BadRequest", answer)
        self.assertEqual(s["message"], words)
        self.assertNotIn("details", s)

    def test_how_long_a_client_waits(self):
        for said in ("0", "-0", "-1s", "1.5s", "1.s", "1h2m3s", "100ms", ""):
            self.must(200, self.client.get(CM, timeout=said))
        for said, words in (
                ("x", 'invalid duration "x"'), ("-", 'invalid duration "-"'),
                ("--1s", 'invalid duration "--1s"'), (".s", 'invalid duration ".s"'),
                ('a"b', 'invalid duration "a\\"b"'),
                ("99999999999999999h", 'invalid duration "99999999999999999h"'),
                ("1", 'missing unit in duration "1"'), ("1h1", 'missing unit in duration "1h1"'),
                ("1d", 'unknown unit "d" in duration "1d"'),
                ("1h x", 'unknown unit "h x" in duration "1h x"')):
            for path in (CM, CM + "/x", "/version", "/nope", WIDGETS):
                self.refuses("invalid timeout specified in the request URL - time: " + words,
                             self.client.get(path, timeout=said))
        status, _, _ = self.client.request("GET", CM, watch="1", timeout="x", timeoutSeconds="1")
        self.assertEqual(status, 200)

    def test_numbers(self):
        for name in ("limit", "timeoutSeconds"):
            for said in ("0", "-1"):
                self.must(200, self.client.get(CM, **{name: said}))
            for said, why in (("x", "invalid syntax"), ("", "invalid syntax"),
                              ("1.5", "invalid syntax"),
                              ("9" * 20, "value out of range")):
                self.refuses('strconv.ParseInt: parsing "%s": %s' % (said, why),
                             self.client.get(CM, **{name: said}))
        self.refuses('invalid resource version: resourceVersion: Invalid value: "x": '
                     'strconv.ParseUint: parsing "x": invalid syntax',
                     self.client.get(CM, resourceVersion="x"))
        s = self.fails(400, "BadRequest", self.client.get(CM, **{"continue": "x"}))
        self.assertTrue(s["message"].startswith(
            "invalid continue token: continue key is not valid"))

    def test_only_a_table_has_included_objects(self):
        self.must(200, self.client.get(CM, includeObject="x"))
        status, _, _ = self.client.request("GET", CM, includeObject="x", headers={
            "Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
        self.assertEqual(status, 400)

    def test_words_about_selectors(self):
        between = "found '%s', expected: %s"
        within = "unable to parse requirement: found '%s'%s"
        first = "!, identifier, or 'end of string'"
        for said, words in (
                ("=", between % ("=", first)), ("(", between % ("(", first)),
                (",a", between % (",", first)), ("<a", between % ("<", first)),
                ("a,", between % ("", "identifier after ','")),
                ("a,,b", between % (",", "identifier after ','")),
                ("a=b c", between % ("c", "',' or 'end of string'")),
                ("!a=b", between % ("=", "',' or 'end of string'")),
                ("a in b", within % ("b", " expected: '('")),
                ("a notin", within % ("", " expected: '('")),
                ("!", within % ("", ", expected: identifier"))):
            self.refuses(words, self.client.get(CM, labelSelector=said))
        self.refuses("invalid selector: 'a'; can't understand 'a'",
                     self.client.get(CM, fieldSelector="a"))
        self.refuses("invalid field selector: invalid escape sequence: \\q",
                     self.client.get(CM, fieldSelector="metadata.name=a\\q"))
        self.refuses("invalid field selector: unescaped character in value: 61",
                     self.client.get(CM, fieldSelector="metadata.name=a=b"))

    def test_words_about_fields_that_a_kind_is_not_selected_by(self):
        plain = '%s is not a known field selector: only "metadata.name", "metadata.namespace"'
        words = "field label not supported: %s"
        rbac, events = "/apis/rbac.authorization.k8s.io/v1/", "/apis/events.k8s.io/v1/events"
        for path, field, want in (
                (CM, "spec.x", plain % '"spec.x"'), (CM, 'a"b', plain % '"a\\"b"'),
                (rbac + "clusterroles", "type", plain % '"type"'), (CRDS, "x", plain % '"x"'),
                (NS + "secrets", "spec.x", words % "spec.x"),
                (WIDGETS, "spec.x", words % "spec.x"), (NAMESPACES, "x", words % "x"),
                (NAMESPACES, "metadata.namespace", words % "metadata.namespace"),
                (BATCH + "/jobs", "spec.x", 'field label "spec.x" not supported for Job'),
                (NS + "events", "regarding.name", words % "regarding.name"),
                (events, "involvedObject.name", words % "involvedObject.name"),
                (events, "source", words % "source")):
            for more in ("", "metadata.name=a,"):
                self.refuses(want, self.client.get(path, fieldSelector=more + field + "=1"))
        for path, field in ((NS + "events", "involvedObject.name"), (NS + "events", "source"),
                            (events, "regarding.name"), (events, "reportingController"),
                            (BATCH + "/jobs", "status.successful"), (NS + "secrets", "type")):
            self.must(200, self.client.get(path, fieldSelector=field + "=1"))


class Collections(Case):
    """DELETE of many."""

    def setUp(self):
        self.client.delete(CM, labelSelector="of=c")
        for n, x in (("a", "1"), ("b", "2"), ("c", "1")):
            self.must(201, self.client.post(CM, config_map(n, {"of": "c", "x": x})))

    def left(self):
        return [o["metadata"]["name"] for o in self.must(200, self.client.get(
            CM, labelSelector="of=c"))["items"]]

    def test_what_is_not_understood_deletes_nothing(self):
        for params, words in (
                ({"gracePeriodSeconds": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
                ({"limit": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
                ({"timeoutSeconds": "x"}, 'strconv.ParseInt: parsing "x": invalid syntax'),
                ({"labelSelector": "="}, None), ({"fieldSelector": "x.y=1"}, None),
                ({"resourceVersion": "x"}, None), ({"continue": "x"}, None)):
            s = self.fails(400, "BadRequest", self.client.delete(CM, **params))
            if words:
                self.assertEqual(s["message"], words)
        for said in ("x", "9" * 20):
            self.fails(400, "BadRequest", self.client.delete(CM + "/a", gracePeriodSeconds=said))
        for body in ("[]", "nope", " "):
            self.fails(400, "BadRequest", self.client.delete(CM, body))
        self.fails(400, "BadRequest", self.client.delete(CM, {"gracePeriodSeconds": 1.5}))
        self.assertEqual(self.left(), ["a", "b", "c"])

    def test_dry_runs(self):
        for params, want in (({}, ["a", "b", "c"]), ({"x": "1"}, ["a", "c"])):
            labels = ",".join("%s=%s" % kv for kv in {"of": "c", **params}.items())
            for how in ({"dryRun": "All"}, {"body": {"dryRun": ["All", "All"]}}):
                got = self.must(200, self.client.delete(CM, labelSelector=labels, **how))
                self.assertEqual([o["metadata"]["name"] for o in got["items"]], want)
                self.assertEqual(got["kind"], "ConfigMapList")
        for path in (CM, CM + "/a"):
            for how, shown in ((({"dryRun": ["x"]}), '["x"]'),
                               (({"dryRun": ["x", "All"]}), '["x","All"]')):
                self.refused_options("DeleteOptions", self.client.delete(path, how), (
                    "FieldValueNotSupported", "dryRun",
                    'Unsupported value: %s: supported values: "All"' % shown))
        self.assertEqual(self.left(), ["a", "b", "c"])

    def test_a_page_after_the_other(self):
        labels = {"labelSelector": "of=c"}
        got = self.must(200, self.client.delete(CM, limit="2", **labels))
        self.assertEqual([o["metadata"]["name"] for o in got["items"]], ["a", "b"])
        self.assertEqual(self.left(), ["c"])
        got = self.must(200, self.client.delete(CM, limit="2", **labels, **{
            "continue": got["metadata"]["continue"]}))
        self.assertEqual([o["metadata"]["name"] for o in got["items"]], ["c"])
        self.assertFalse(got["metadata"].get("continue"))
        self.assertEqual(self.left(), [])

    def test_a_precondition_is_of_each(self):
        for p in ({"uid": "x"}, {"resourceVersion": "1"}):
            for path, params in ((CM, {"labelSelector": "of=c,x=2"}), (CM + "/b", {})):
                s = self.fails(409, "Conflict", self.client.delete(
                    path, {"preconditions": p}, **params))
                self.assertEqual(s["details"], {"kind": "ConfigMap", "name": "b"})
        uid = self.must(200, self.client.get(CM + "/b"))["metadata"]["uid"]
        self.must(200, self.client.delete(CM, {"preconditions": {"uid": uid}},
                                          labelSelector="of=c,x=2"))
        self.assertEqual(self.left(), ["a", "c"])

    def test_what_has_a_finalizer_stays_on_its_way(self):
        self.must(200, self.client.patch(CM + "/a", {"metadata": {"finalizers": ["e.x/y"]}}))
        got = self.must(200, self.client.delete(CM, "null", labelSelector="of=c,x=1"))
        self.assertEqual([(o["metadata"]["name"], "deletionTimestamp" in o["metadata"])
                          for o in got["items"]], [("a", False), ("c", False)])
        self.assertEqual(self.left(), ["a", "b"])
        got = self.must(200, self.client.delete(CM, labelSelector="of=c"))
        self.assertEqual([(o["metadata"]["name"], "deletionTimestamp" in o["metadata"])
                          for o in got["items"]], [("a", True), ("b", False)])
        self.must(200, self.client.patch(CM + "/a", {"metadata": {"finalizers": None}}))
        self.assertEqual(self.left(), [])

    def test_nothing_there_is_nothing_deleted(self):
        self.assertEqual(self.must(200, self.client.delete(
            "/api/v1/namespaces/nope/configmaps"))["items"], [])
        self.must(200, self.client.delete(CRDS, labelSelector="no=such"))


class Finalizers(Case):
    """1.8: who takes one away is answered with the object, though it goes with that."""

    def test_a_write_is_answered_with_what_was_written(self):
        for policy in ("Foreground", "Background", "Orphan"):
            self.client.patch(WIDGETS + "/f", {"metadata": {"finalizers": None}})
            self.must(201, self.client.post(WIDGETS, widget("f", finalizers=["e.x/y"])))
            o = self.must(200, self.client.delete(WIDGETS + "/f", {"propagationPolicy": policy}))
            at = "/metadata/finalizers/%d" % o["metadata"]["finalizers"].index("e.x/y")
            got = self.must(200, self.client.patch(WIDGETS + "/f", [
                {"op": "test", "path": at, "value": "e.x/y"}, {"op": "remove", "path": at}],
                kind="json"))
            self.assertEqual((got["kind"], got["metadata"]["uid"]),
                             ("Widget", o["metadata"]["uid"]))
            self.assertIn("deletionTimestamp", got["metadata"])
            self.assertNotIn("e.x/y", got["metadata"].get("finalizers", []))
            self.client.patch(WIDGETS + "/f", {"metadata": {"finalizers": None}})


class Scale(Case):
    """1.10: the object is the path's, whatever stands in the body."""

    PATH = WIDGETS + "/s/scale"

    def setUp(self):
        self.client.delete(WIDGETS + "/s")
        self.made = self.must(201, self.client.post(WIDGETS, widget("s", {"replicas": 2})))

    def scale(self, replicas=3, **meta):
        return {"apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "s", "namespace": "default", **meta},
                "spec": {"replicas": replicas}}

    def replicas(self):
        return self.must(200, self.client.get(WIDGETS + "/s"))["spec"].get("replicas")

    def test_what_is_of_another_object_changes_nothing(self):
        uid = "6f1a2b3c-0000-4000-8000-000000000000"
        for body, words in (
                (self.scale(name="other"), "the name of the object (other) does not match the "
                 "name on the URL (s)"),
                ({"spec": {"replicas": 4}, "apiVersion": "autoscaling/v1", "kind": "Scale"},
                 "the name of the object (s based on URL) was undeterminable: name must be "
                 "provided")):
            s = self.fails(400, "BadRequest", self.client.put(self.PATH, body))
            self.assertEqual(s["message"], words)
        for body in ({**self.scale(), "kind": "Foo"}, {**self.scale(), "apiVersion": "x/v1"},
                     self.scale("x"), "x"):
            self.fails(400, "BadRequest", self.client.put(self.PATH, body))
        for patch in ({"metadata": {"name": "x"}}, ):
            self.fails(400, "BadRequest", self.client.patch(self.PATH, patch))
        s = self.fails(409, "Conflict", self.client.put(self.PATH, self.scale(uid=uid)))
        self.assertIn("Precondition failed: UID in precondition: %s, UID in object meta: %s" % (
            uid, self.made["metadata"]["uid"]), s["message"])
        self.fails(409, "Conflict", self.client.put(self.PATH, self.scale(resourceVersion="1")))
        self.fails(422, "Invalid", self.client.put(self.PATH, self.scale(-1)))
        self.assertEqual(self.replicas(), 2)

    def test_what_is_answered_is_a_scale(self):
        for answer, want in (
                (self.client.get(self.PATH), 2), (self.client.put(self.PATH, self.scale()), 3),
                (self.client.put(self.PATH, self.scale(
                    5, uid=self.made["metadata"]["uid"]), dryRun="All"), 5),
                (self.client.patch(self.PATH, {"spec": {"replicas": 4}}), 4),
                (self.client.patch(self.PATH, [{"op": "replace", "path": "/spec/replicas",
                                                "value": 6}], kind="json"), 6)):
            got = self.must(200, answer)
            self.assertEqual((got["apiVersion"], got["kind"], got["spec"]), (
                "autoscaling/v1", "Scale", {"replicas": want}))
        self.assertEqual(self.must(200, self.client.put(self.PATH, self.scale(0)))["spec"], {})
        self.assertEqual(self.replicas(), 0)

    def apply(self, replicas, manager, force=None, **more):
        return self.client.patch(self.PATH, {**self.scale(), "spec": (
            {} if replicas is None else {"replicas": replicas}), **more}, kind="apply",
            fieldManager=manager, **({"force": force} if force else {}))

    def owners(self):
        o = self.must(200, self.client.get(WIDGETS + "/s"))
        return {(e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"]
                for e in o["metadata"]["managedFields"]
                if "f:replicas" in e["fieldsV1"].get("f:spec", {})}

    def test_who_applies_a_scale_owns_the_replicas(self):
        self.client.patch(self.PATH, {"spec": {"replicas": 4}}, fieldManager="s")
        s = self.fails(409, "Conflict", self.apply(5, "hpa"))
        self.assertEqual(s["message"], "Apply failed with 1 conflict: conflict with \"s\" with "
                         "subresource \"scale\" using autoscaling/v1: .spec.replicas")
        self.assertEqual(self.replicas(), 4)
        self.assertEqual(self.must(200, self.apply(4, "hpa"))["spec"], {"replicas": 4})
        self.assertEqual(set(self.owners()), {("s", "Update", "scale"),
                                              ("hpa", "Apply", "scale")})
        got = self.must(200, self.apply(6, "hpa", force="true"))
        self.assertEqual((got["kind"], got["spec"]), ("Scale", {"replicas": 6}))
        self.assertEqual(self.owners(), {
            ("hpa", "Apply", "scale"): {"f:spec": {"f:replicas": {}}}})
        revision = self.must(200, self.client.get(WIDGETS + "/s"))["metadata"]["resourceVersion"]
        self.assertEqual(self.must(200, self.apply(6, "hpa"))["metadata"]["resourceVersion"],
                         revision)
        # What it does not say any more is none: a Scale knows no absence.
        self.assertEqual(self.must(200, self.apply(None, "hpa"))["spec"], {})
        self.assertEqual((self.replicas(), self.owners()), (0, {}))

    def test_what_is_no_scale_is_not_applied(self):
        for more in ({"kind": "Foo"}, {"apiVersion": "example.com/v1"},
                     {"metadata": {"name": "other"}}):
            self.fails(400, "BadRequest", self.apply(5, "hpa", **more))
        self.fails(422, "Invalid", self.apply(-1, "hpa", force="true"))
        self.fails(409, "Conflict", self.apply(2, "hpa", metadata={
            "name": "s", "resourceVersion": "1"}))
        self.fails(404, "NotFound", self.client.patch(
            WIDGETS + "/nobody/scale", {**self.scale(name="nobody")}, kind="apply",
            fieldManager="hpa"))
        self.assertEqual(self.replicas(), 2)


class Namespaces(Case):
    """1.13."""

    def setUp(self):
        self.client.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace",
                                      "metadata": {"name": "n"}})

    def test_only_finalize_changes_what_a_namespace_waits_for(self):
        for change in ({"spec": {"finalizers": []}}, {"spec": None},
                       {"spec": {"finalizers": ["a.b/c"]}}):
            got = self.must(200, self.client.patch(NAMESPACES + "/n", change))
            self.assertEqual((got["spec"], got["status"]),
                             ({"finalizers": ["kubernetes"]}, {"phase": "Active"}))
        self.fails(405, "MethodNotAllowed", self.client.get(NAMESPACES + "/n/finalize"))

    def test_what_is_missing_is_the_namespace(self):
        for params in ({}, {"dryRun": "All"}):
            s = self.fails(404, "NotFound", self.client.post(
                "/api/v1/namespaces/nope/configmaps", config_map("x"), **params))
            self.assertEqual((s["message"], s["details"]), (
                'namespaces "nope" not found', {"kind": "namespaces", "name": "nope"}))

    def test_one_that_waits_for_others_is_on_its_way_too(self):
        self.client.post(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": "waits", "finalizers": ["e.x/y"]}})
        for _ in range(2):
            got = self.must(200, self.client.delete(NAMESPACES + "/waits"))
            self.assertEqual(got["status"]["phase"], "Terminating")
            self.assertIn("deletionTimestamp", got["metadata"])
            self.assertNotIn("deletionGracePeriodSeconds", got["metadata"])
        self.fails(403, "Forbidden", self.client.post("/api/v1/namespaces/waits/configmaps",
                                                      config_map("x")))
        self.must(200, self.client.patch(NAMESPACES + "/waits", {
            "metadata": {"finalizers": None}}))

    def test_some_never_go(self):
        for finalizers in (None, ["e.x/y"], None):
            for name in ("default", "kube-system"):
                self.must(200, self.client.patch(NAMESPACES + "/" + name, {
                    "metadata": {"finalizers": finalizers}}))
                for params in ({}, {"dryRun": "All"}):
                    s = self.fails(403, "Forbidden", self.client.delete(
                        NAMESPACES + "/" + name, **params))
                    self.assertEqual(s["message"], 'namespaces "%s" is forbidden: this namespace '
                                     "may not be deleted" % name)


class NewEvents(Case):
    """1.13: events.k8s.io asks for more than v1."""

    PATH = "/apis/events.k8s.io/v1/namespaces/default/events"

    def event(self, name, **change):
        return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name},
                "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "R", "action": "A",
                "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
                "note": "N", "type": "Normal", "reportingController": "c.x/y",
                "reportingInstance": "i", **change}

    def test_what_must_be_said(self):
        for field in ("eventTime", "reason", "action", "reportingController",
                      "reportingInstance"):
            o = self.event("bad")
            del o[field]
            self.assertIn(("FieldValueRequired", field), [
                c[:2] for c in self.causes(self.client.post(self.PATH, o))])
        for kind in ("", "Weird"):
            self.assertEqual([c[:2] for c in self.causes(self.client.post(
                self.PATH, self.event("bad", type=kind)))], [("FieldValueInvalid", "type")])
        self.must(201, self.client.post(NS + "events", {
            "metadata": {"name": "old"}, "type": "Weird", "involvedObject": {}}))

    def test_it_grows_by_its_series(self):
        self.client.delete(self.PATH + "/e")
        self.must(201, self.client.post(self.PATH, self.event("e")))
        for field in ("note", "reason", "action"):
            self.assertTrue(self.causes(self.client.patch(
                self.PATH + "/e", {field: "other"})))
        series = {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
        got = self.must(200, self.client.patch(self.PATH + "/e", {"series": series}))
        self.assertEqual(got["series"], series)


class Names(Base):
    """1.7: names that are taken. Only the hub's front can be made to run out of them."""

    options = ("--few-names",)

    def test_a_generated_name_is_tried_again_and_in_the_end_refused(self):
        o = config_map("")
        o["metadata"] = {"generateName": "g-"}
        names = [self.must(201, self.client.post(CM, o))["metadata"]["name"] for _ in range(2)]
        self.assertEqual((len(set(names)), {len(n) for n in names}), (2, {7}))
        for params in ({}, {"dryRun": "All"}):
            s = self.fails(409, "AlreadyExists", self.client.post(CM, o, **params))
            self.assertIn(s["details"]["name"], names)
            self.assertEqual(s["details"]["retryAfterSeconds"], 1)
            self.assertEqual(s["message"], 'configmaps "%s" already exists, the server was not able '
                             "to generate a unique name for the object" % s["details"]["name"])
        self.must(200, self.client.delete(CM + "/" + names[1]))
        self.assertEqual(self.must(201, self.client.post(CM, o))["metadata"]["name"], names[1])


class Tokens(Case):
    """1.10, 1.12: a request for a token is of the account in the path."""

    PATH = NS + "serviceaccounts/t/token"

    def setUp(self):
        self.client.post(NS + "serviceaccounts", {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "t"}})

    def ask(self, spec=None, **more):
        return self.client.post(self.PATH, {"apiVersion": "authentication.k8s.io/v1",
                                            "kind": "TokenRequest", "spec": spec or {}, **more})

    def test_requests_for_another(self):
        self.assertEqual(self.causes(self.ask(metadata={"name": "x"})), [
            ("FieldValueInvalid", "metadata.name",
             'Invalid value: "x": must match the service account name if specified')])
        s = self.fails(400, "BadRequest", self.ask(metadata={"namespace": "x"}))
        self.assertEqual(s["message"], "the namespace of the provided object does not match the "
                         "namespace sent on the request")
        self.fails(400, "BadRequest", self.ask(kind="Foo"))
        self.fails(404, "NotFound", self.ask({"boundObjectRef": {
            "kind": "Secret", "apiVersion": "v1", "name": "nope"}}))
        self.fails(400, "BadRequest", self.ask({"boundObjectRef": {
            "kind": "Foo", "apiVersion": "v1", "name": "nope"}}))
        s = self.fails(404, "NotFound", self.client.post(NS + "serviceaccounts/nope/token", {}))
        self.assertEqual(s["details"], {"kind": "serviceaccounts", "name": "nope"})

    def test_what_is_given(self):
        account = self.must(200, self.client.get(NS + "serviceaccounts/t"))["metadata"]
        got = self.must(201, self.ask({"expirationSeconds": 600, "audiences": ["a", "b"]},
                                      metadata={"name": "t", "namespace": "default"}))
        self.assertEqual((got["metadata"]["name"], got["metadata"]["uid"]),
                         ("t", account["uid"]))
        self.assertEqual((got["spec"]["audiences"], got["spec"]["expirationSeconds"]),
                         (["a", "b"], 600))
        s = self.fails(422, "Invalid", self.ask({"expirationSeconds": 599}))
        self.assertEqual((s["details"]["group"], s["details"]["kind"]),
                         ("authentication.k8s.io", "TokenRequest"))


if __name__ == "__main__":
    main()
