"""The API over real TLS, as clients see it (kubernetes-api.md sections 1 and 2)."""

import gzip
import json
import socket
import sys
import unittest

from client import Client, Server

PROGRAM = None
NS = "/api/v1/namespaces/default/"
CM = NS + "configmaps"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"


def config_map(name, labels=None, data=None, **meta):
    m = {"name": name, **meta}
    if labels:
        m["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": data or {"k": "v"}}


def pytorch_job(name, workers=2, **container):
    def replicas(n):
        return {"replicas": n, "restartPolicy": "OnFailure",
                "template": {"spec": {"containers": [
                    {"name": "pytorch", "image": "train:1", **container}]}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(workers)}}}


class Case(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, *cls.options)
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.close()

    def must(self, want, answer):
        status, body = answer
        self.assertEqual(status, want, body)
        return body

    def fails(self, code, reason, answer):
        status, body = answer
        self.assertEqual((status, body.get("reason")), (code, reason), body)
        self.assertEqual(body["kind"], "Status")
        self.assertEqual(body["code"], code)
        return body


class Objects(Case):
    def test_a_created_object_is_read_back_the_same(self):
        made = self.must(201, self.client.post(CM, config_map("same")))
        self.assertTrue(made["metadata"]["uid"])
        self.assertEqual(made["metadata"]["namespace"], "default")
        self.assertEqual(made, self.must(200, self.client.get(CM + "/same")))

    def test_a_body_without_content_type_is_json(self):
        self.must(201, self.client.post(CM, config_map("untyped"), content_type=None))

    def test_a_yaml_body_is_taken(self):
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  on: 'yes'\n"
        made = self.must(201, self.client.post(CM, text, content_type="application/yaml"))
        self.assertEqual(made["data"], {"true": "yes"} if "true" in made["data"] else {"on": "yes"})

    def test_a_second_create_is_already_exists(self):
        self.must(201, self.client.post(CM, config_map("twice")))
        s = self.fails(409, "AlreadyExists", self.client.post(CM, config_map("twice")))
        self.assertEqual(s["message"], 'configmaps "twice" already exists')

    def test_generate_name_gives_a_name_with_five_more_letters(self):
        body = config_map("x")
        del body["metadata"]["name"]
        body["metadata"]["generateName"] = "gen-"
        names = set()
        for _ in range(20):
            names.add(self.must(201, self.client.post(CM, body))["metadata"]["name"])
        self.assertEqual(len(names), 20)
        for n in names:
            self.assertRegex(n, "^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$")

    def test_a_dry_run_changes_nothing(self):
        made = self.must(201, self.client.post(CM, config_map("dry"), dryRun="All"))
        self.assertEqual(made["metadata"]["name"], "dry")
        self.assertTrue(made["metadata"]["uid"])
        self.fails(404, "NotFound", self.client.get(CM + "/dry"))
        self.must(201, self.client.post(CM, config_map("dry2")))
        self.must(200, self.client.delete(CM + "/dry2", {"dryRun": ["All"]}))
        self.must(200, self.client.get(CM + "/dry2"))
        self.fails(422, "Invalid", self.client.post(CM, config_map("dry"), dryRun="Some"))

    def test_an_update_with_an_old_version_is_a_conflict(self):
        made = self.must(201, self.client.post(CM, config_map("old")))
        made["data"] = {"a": "1"}
        new = self.must(200, self.client.put(CM + "/old", made))
        self.assertGreater(int(new["metadata"]["resourceVersion"]),
                           int(made["metadata"]["resourceVersion"]))
        made["data"] = {"a": "2"}
        s = self.fails(409, "Conflict", self.client.put(CM + "/old", made))
        self.assertEqual(s["message"], 'Operation cannot be fulfilled on configmaps "old": the '
                         'object has been modified; please apply your changes to the latest '
                         'version and try again')

    def test_an_update_that_changes_nothing_keeps_the_version(self):
        made = self.must(201, self.client.post(CM, config_map("noop")))
        again = self.must(200, self.client.put(CM + "/noop", made))
        self.assertEqual(again["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])

    def test_an_update_of_nothing_is_not_found(self):
        s = self.fails(404, "NotFound", self.client.put(CM + "/none", config_map("none")))
        self.assertEqual(s["message"], 'configmaps "none" not found')

    def test_a_dry_run_shows_what_would_be(self):
        """kubectl diff compares it with what is there: the version must not differ."""
        made = self.must(201, self.client.post(CM, config_map("dr")))
        got = self.must(201, self.client.post(CM, config_map("dr-new"), dryRun="All"))
        self.assertNotIn("resourceVersion", got["metadata"])
        self.assertIn("uid", got["metadata"])
        for answer in (self.client.patch(CM + "/dr", {"data": {"k": "w"}}, dryRun="All"),
                       self.client.put(CM + "/dr", config_map("dr", data={"k": "w"}),
                                       dryRun="All")):
            got = self.must(200, answer)
            self.assertEqual(got["data"], {"k": "w"})
            self.assertEqual(got["metadata"]["resourceVersion"],
                             made["metadata"]["resourceVersion"])
        for options in ({"body": {"dryRun": ["All"]}}, {"dryRun": "All"}):
            self.must(200, self.client.delete(CM + "/dr", **options))
            self.must(200, self.client.delete(CM, labelSelector="!x", **options))
        self.assertEqual(self.must(200, self.client.get(CM + "/dr")), made)

    def test_contrary_delete_options_are_refused(self):
        self.must(201, self.client.post(CM, config_map("do")))
        for options in ({"propagationPolicy": "Perhaps"}, {"dryRun": ["Some"]},
                        {"propagationPolicy": "Orphan", "orphanDependents": True}):
            self.fails(422, "Invalid", self.client.delete(CM + "/do", options))
        self.must(200, self.client.get(CM + "/do"))

    def test_a_delete_answers_with_the_uid(self):
        made = self.must(201, self.client.post(CM, config_map("gone")))
        s = self.must(200, self.client.delete(CM + "/gone", {"propagationPolicy": "Background"}))
        self.assertEqual((s["kind"], s["status"]), ("Status", "Success"))
        self.assertEqual(s["details"]["uid"], made["metadata"]["uid"])
        self.fails(404, "NotFound", self.client.get(CM + "/gone"))
        self.fails(404, "NotFound", self.client.delete(CM + "/gone"))

    def test_a_delete_with_a_wrong_precondition_is_a_conflict(self):
        made = self.must(201, self.client.post(CM, config_map("pre")))
        wrong = {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}
        self.fails(409, "Conflict", self.client.delete(CM + "/pre", wrong))
        right = {"preconditions": {"uid": made["metadata"]["uid"]}}
        self.must(200, self.client.delete(CM + "/pre", right))

    def test_an_object_with_finalizers_stays_until_the_last_is_removed(self):
        self.must(201, self.client.post(CM, config_map("held", finalizers=["example.com/hold"])))
        held = self.must(200, self.client.delete(CM + "/held"))
        self.assertTrue(held["metadata"]["deletionTimestamp"])
        again = self.must(200, self.client.delete(CM + "/held"))
        self.assertEqual(again["metadata"]["deletionTimestamp"],
                         held["metadata"]["deletionTimestamp"])
        held = self.must(200, self.client.get(CM + "/held"))
        held["metadata"]["finalizers"] = []
        self.must(200, self.client.put(CM + "/held", held))
        self.fails(404, "NotFound", self.client.get(CM + "/held"))

    def test_a_collection_is_deleted_by_selector(self):
        for i in range(150):
            self.must(201, self.client.post(CM, config_map("coll-%d" % i,
                                                           {"group": "ab"[i % 2]})))
        gone = self.must(200, self.client.delete(CM, labelSelector="group=a"))
        self.assertEqual((gone["kind"], gone["apiVersion"]), ("ConfigMapList", "v1"))
        self.assertEqual(sorted(o["metadata"]["name"] for o in gone["items"]),
                         sorted("coll-%d" % i for i in range(0, 150, 2)))
        self.assertTrue(all(o["data"] for o in gone["items"]))
        self.assertGreater(int(gone["metadata"]["resourceVersion"]),
                           int(gone["items"][0]["metadata"]["resourceVersion"]))
        left = self.must(200, self.client.get(CM, labelSelector="group in (a,b)"))
        self.assertEqual({i["metadata"]["labels"]["group"] for i in left["items"]}, {"b"})
        self.assertEqual(len(left["items"]), 75)

    def test_a_deleted_collection_is_answered_as_asked_for(self):
        for name in ("d-1", "d-2", "d-3", "d-4", "d-5"):
            self.must(201, self.client.post(CM, config_map(
                name, {"group": "d"}, finalizers=["example.com/x"] if name == "d-2" else None)))
        names = lambda answer: [o["metadata"]["name"] for o in answer["items"]]
        dry = self.must(200, self.client.delete(CM, labelSelector="group=d", dryRun="All"))
        self.assertEqual(names(dry), ["d-1", "d-2", "d-3", "d-4", "d-5"])
        self.assertEqual(len(self.must(200, self.client.get(
            CM, labelSelector="group=d"))["items"]), 5)
        one = self.must(200, self.client.delete(CM, fieldSelector="metadata.name=d-5"))
        self.assertEqual(names(one), ["d-5"])
        two = self.must(200, self.client.delete(CM, labelSelector="group=d", limit=2))
        self.assertEqual(names(two), ["d-1", "d-2"])
        self.assertNotIn("deletionTimestamp", two["items"][1]["metadata"])
        rest = self.must(200, self.client.delete(CM, labelSelector="group=d", limit=2,
                                                 **{"continue": two["metadata"]["continue"]}))
        self.assertEqual(names(rest), ["d-3", "d-4"])
        self.assertNotIn("continue", rest["metadata"])
        self.fails(400, "BadRequest", self.client.delete(
            CM, labelSelector="group=a", **{"continue": two["metadata"]["continue"]}))
        held = self.must(200, self.client.delete(CM, labelSelector="group=d"))
        self.assertEqual(names(held), ["d-2"])
        self.assertTrue(held["items"][0]["metadata"]["deletionTimestamp"])
        held["items"][0]["metadata"]["finalizers"] = []
        self.must(200, self.client.put(CM + "/d-2", dict(
            held["items"][0], kind="ConfigMap", apiVersion="v1")))
        none = self.must(200, self.client.delete(CM, labelSelector="group=d"))
        self.assertEqual((none["kind"], none["items"]), ("ConfigMapList", []))
        self.must(201, self.client.post(CM, config_map("d-6", {"group": "d"})))
        status, headers, body = self.client.request(
            "DELETE", CM, labelSelector="group=d",
            headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"})
        table = json.loads(body)
        self.assertEqual((status, table["kind"], [r["cells"][0] for r in table["rows"]]),
                         (200, "Table", ["d-6"]))

    def test_a_collection_that_would_be_a_long_answer_is_a_status(self):
        for i in range(24):
            made = config_map("long-%d" % i, {"group": "long"}, data={"k": "x" * 1000000})
            self.must(201, self.client.post(CM, made))
        status = self.must(200, self.client.delete(CM, labelSelector="group=long"))
        self.assertEqual((status["kind"], status["status"]), ("Status", "Success"))
        self.assertEqual(self.must(200, self.client.get(CM, labelSelector="group=long"))["items"],
                         [])

    def test_many_writers_without_a_version_all_succeed_or_conflict_at_last(self):
        self.must(201, self.client.post(CM, config_map("busy")))
        for i in range(30):
            self.must(200, self.client.put(CM + "/busy", config_map("busy", data={"n": str(i)})))


class Patches(Case):
    def test_a_merge_patch_changes_and_removes(self):
        self.must(201, self.client.post(CM, config_map("m", {"a": "1", "b": "2"})))
        got = self.must(200, self.client.patch(CM + "/m", {
            "metadata": {"labels": {"a": None, "c": "3"}}, "data": {"k": "w"}}))
        self.assertEqual(got["metadata"]["labels"], {"b": "2", "c": "3"})
        self.assertEqual(got["data"], {"k": "w"})

    def test_a_json_patch_is_all_or_nothing(self):
        made = self.must(201, self.client.post(CM, config_map("j")))
        got = self.must(200, self.client.patch(CM + "/j", [
            {"op": "test", "path": "/data/k", "value": "v"},
            {"op": "replace", "path": "/data/k", "value": "w"},
            {"op": "add", "path": "/data/n", "value": "x"}], kind="json"))
        self.assertEqual(got["data"], {"k": "w", "n": "x"})
        self.assertEqual(got["metadata"]["uid"], made["metadata"]["uid"])
        self.fails(422, "Invalid", self.client.patch(CM + "/j", [
            {"op": "remove", "path": "/data/n"},
            {"op": "test", "path": "/data/k", "value": "no"}], kind="json"))
        self.assertEqual(self.must(200, self.client.get(CM + "/j"))["data"], got["data"])

    def test_a_strategic_patch_is_for_built_in_kinds_only(self):
        self.must(201, self.client.post(CM, config_map("s", finalizers=["a.com/x"])))
        got = self.must(200, self.client.patch(CM + "/s", {
            "metadata": {"finalizers": ["b.com/y"]}}, kind="strategic"))
        self.assertEqual(sorted(got["metadata"]["finalizers"]), ["a.com/x", "b.com/y"])
        path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
        self.must(201, self.client.post(path, pytorch_job("s")))
        s = self.fails(415, "UnsupportedMediaType",
                       self.client.patch(path + "/s", {"spec": {}}, kind="strategic"))
        self.assertEqual(s["message"], "the body of the request was in an unknown format - "
                         "accepted media types include: application/json-patch+json, "
                         "application/merge-patch+json, application/apply-patch+yaml")
        self.fails(415, "UnsupportedMediaType", self.client.call(
            "PATCH", CM + "/s", "{}", content_type="application/apply-patch+cbor",
            fieldManager="x"))

    def test_a_patch_that_changes_nothing_keeps_the_version(self):
        made = self.must(201, self.client.post(CM, config_map("same")))
        got = self.must(200, self.client.patch(CM + "/same", {"data": {"k": "v"}}))
        self.assertEqual(got, made)

    def test_a_patch_with_a_version_is_a_precondition(self):
        made = self.must(201, self.client.post(CM, config_map("ver")))
        self.must(200, self.client.patch(CM + "/ver", {"data": {"n": "1"}}))
        self.fails(409, "Conflict", self.client.patch(CM + "/ver", {
            "metadata": {"resourceVersion": made["metadata"]["resourceVersion"]},
            "data": {"n": "2"}}))

    def test_status_is_written_through_its_own_door(self):
        path = JOBS
        made = self.must(201, self.client.post(path, pytorch_job("st")))
        self.assertEqual(made["metadata"]["generation"], 1)
        got = self.must(200, self.client.patch(path + "/st/status", {
            "status": {"conditions": [{"type": "Created", "status": "True"}]},
            "spec": {"runPolicy": {"suspend": True}}}))
        self.assertEqual(got["status"]["conditions"][0]["type"], "Created")
        self.assertFalse(got["spec"]["runPolicy"]["suspend"])
        self.assertEqual(got["metadata"]["generation"], 1)
        got = self.must(200, self.client.patch(path + "/st", {
            "status": {"conditions": []}, "spec": {"runPolicy": {"suspend": True}}}))
        self.assertEqual(got["status"]["conditions"][0]["type"], "Created")
        self.assertTrue(got["spec"]["runPolicy"]["suspend"])
        self.assertEqual(got["metadata"]["generation"], 2)

    def test_many_patches_at_once_all_take_effect(self):
        import threading
        self.must(201, self.client.post(CM, config_map("race", data={})))
        failures = []

        def patch_some(k):
            client = Client(self.server)
            for i in range(20):
                status, body = client.patch(CM + "/race", {"data": {"k%d-%d" % (k, i): "x"}})
                while status == 409:
                    status, body = client.patch(CM + "/race", {"data": {"k%d-%d" % (k, i): "x"}})
                if status != 200:
                    failures.append(body)
            client.close()

        threads = [threading.Thread(target=patch_some, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(self.must(200, self.client.get(CM + "/race"))["data"]), 81)

    def test_a_malformed_patch_is_a_bad_request(self):
        self.must(201, self.client.post(CM, config_map("mal")))
        self.fails(400, "BadRequest", self.client.patch(CM + "/mal", "{"))
        self.fails(400, "BadRequest", self.client.patch(CM + "/mal", {"op": "x"}, kind="json"))
        self.fails(404, "NotFound", self.client.patch(CM + "/nobody", {"data": {}}))


def owners(o):
    """{(manager, operation, subresource): fieldsV1}"""
    return {(e["manager"], e["operation"], e.get("subresource", "")): e["fieldsV1"]
            for e in o["metadata"].get("managedFields", [])}


class Apply(Case):
    """Server-side apply (kubernetes-api.md section 5)."""

    def apply(self, name, manager="a", data=None, labels=None, path=None, **params):
        o = config_map(name, labels, data)
        if data is None:
            del o["data"]
        return self.client.patch(path or CM + "/" + name, o, kind="apply", fieldManager=manager,
                                 **params)

    def test_an_apply_creates_and_then_changes_what_it_owns(self):
        made = self.must(201, self.apply("ac", data={"a": "1", "b": "1"}, labels={"l": "x"}))
        self.assertEqual(owners(made), {("a", "Apply", ""): {
            "f:data": {"f:a": {}, "f:b": {}}, "f:metadata": {"f:labels": {"f:l": {}}}}})
        got = self.must(200, self.apply("ac", data={"a": "2"}))
        self.assertEqual(got["data"], {"a": "2"})
        self.assertNotIn("labels", got["metadata"])
        self.assertEqual(got["metadata"]["uid"], made["metadata"]["uid"])

    def test_the_same_again_keeps_the_version(self):
        made = self.must(201, self.apply("as", data={"a": "1"}))
        again = self.must(200, self.apply("as", data={"a": "1"}))
        self.assertEqual(made, again)

    def test_a_conflict_names_fields_and_managers(self):
        self.must(201, self.client.post(CM, config_map("ak", data={"a": "1"}),
                                        fieldManager="maker"))
        s = self.fails(409, "Conflict", self.apply("ak", data={"a": "2"}))
        self.assertEqual(s["message"], 'Apply failed with 1 conflict: conflict with "maker" '
                         'using v1: .data.a')
        self.assertEqual(s["details"]["causes"], [
            {"reason": "FieldManagerConflict", "message": 'conflict with "maker" using v1',
             "field": ".data.a"}])
        got = self.must(200, self.apply("ak", data={"a": "2"}, force="true"))
        self.assertEqual(got["data"], {"a": "2"})
        self.assertEqual(owners(got)["a", "Apply", ""], {"f:data": {"f:a": {}}})
        self.assertEqual(owners(got)["maker", "Update", ""], {"f:data": {}})

    def test_shared_fields_stay_until_the_last_lets_go(self):
        self.must(201, self.apply("ah", data={"a": "1"}))
        self.must(200, self.apply("ah", manager="b", data={"a": "1", "b": "1"}))
        got = self.must(200, self.apply("ah"))
        self.assertEqual(got["data"], {"a": "1", "b": "1"})
        self.assertEqual(list(owners(got)), [("b", "Apply", "")])

    def test_status_is_applied_through_its_own_door(self):
        job = pytorch_job("at")
        self.must(201, self.client.post(JOBS, job, fieldManager="maker"))
        status = {"apiVersion": job["apiVersion"], "kind": "PyTorchJob",
                  "metadata": {"name": "at", "labels": {"no": "no"}},
                  "status": {"startTime": "2026-01-01T00:00:00Z"}}
        got = self.must(200, self.client.patch(JOBS + "/at/status", status, kind="apply",
                                               fieldManager="c"))
        self.assertEqual(got["status"]["startTime"], "2026-01-01T00:00:00Z")
        self.assertNotIn("labels", got["metadata"])
        self.assertEqual(owners(got)["c", "Apply", "status"], {"f:status": {"f:startTime": {}}})
        self.assertNotIn("f:status", owners(got)["maker", "Update", ""])
        self.fails(404, "NotFound", self.client.patch(JOBS + "/none/status", status, kind="apply",
                                                      fieldManager="c"))

    def test_list_items_have_owners_by_their_keys(self):
        def pod_template(name, **containers):
            return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name},
                    "template": {"spec": {"containers": [
                        {"name": k, "image": v} for k, v in containers.items()]}}}
        path = NS + "podtemplates/al"

        def apply(o, manager):
            return self.must(200, self.client.patch(path, o, kind="apply", fieldManager=manager))
        self.must(201, self.client.post(NS + "podtemplates", pod_template("al", one="i:1")))
        got = apply(pod_template("al", two="i:2"), "b")
        names = [c["name"] for c in got["template"]["spec"]["containers"]]
        self.assertEqual(sorted(names), ["one", "two"])
        self.assertEqual(owners(got)["b", "Apply", ""]["f:template"]["f:spec"], {
            "f:containers": {'k:{"name":"two"}': {".": {}, "f:image": {}, "f:name": {}}}})
        got = apply({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "al"}}, "b")
        self.assertEqual([c["name"] for c in got["template"]["spec"]["containers"]], ["one"])

    def test_a_dry_run_leaves_nothing(self):
        got = self.must(201, self.apply("ad", data={"a": "1"}, dryRun="All"))
        self.assertEqual(got["data"], {"a": "1"})
        self.fails(404, "NotFound", self.client.get(CM + "/ad"))
        before = self.must(201, self.apply("ad", data={"a": "1"}))
        got = self.must(200, self.apply("ad", data={"a": "2"}, dryRun="All"))
        self.assertEqual(got["data"], {"a": "2"})
        self.assertEqual(self.must(200, self.client.get(CM + "/ad")), before)

    def test_a_version_in_the_configuration_is_a_precondition(self):
        made = self.must(201, self.apply("av", data={"a": "1"}))
        o = config_map("av", data={"a": "2"})
        o["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
        self.must(200, self.client.patch(CM + "/av", o, kind="apply", fieldManager="a"))
        s = self.fails(409, "Conflict", self.client.patch(CM + "/av", o, kind="apply",
                                                          fieldManager="a"))
        self.assertIn("the object has been modified", s["message"])

    def test_what_cannot_be_applied_is_refused(self):
        o = config_map("aw")
        s = self.fails(422, "Invalid", self.client.patch(CM + "/aw", o, kind="apply"))
        self.assertEqual(s["message"], 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: '
                         'Required value: is required for apply patch')
        self.fails(422, "Invalid", self.apply("aw", manager="x" * 129))
        self.fails(422, "Invalid", self.client.patch(CM + "/aw", o, force="true"))
        s = self.fails(400, "BadRequest", self.apply("aw", path=CM + "/other"))
        for change, words in (({"apiVersion": "v2"}, "invalid object type: /v2, Kind=ConfigMap"),
                              ({"kind": "Secret"}, "invalid object type: /v1, Kind=Secret"),
                              ({"bogus": 1}, ".bogus: field not declared in schema"),
                              ({"data": []}, ".data: expected map, got array")):
            s = self.fails(400, "BadRequest", self.client.patch(
                CM + "/aw", {**o, **change}, kind="apply", fieldManager="a"))
            self.assertIn(words, s["message"])
        o["metadata"]["managedFields"] = []
        s = self.fails(400, "BadRequest", self.client.patch(CM + "/aw", o, kind="apply",
                                                            fieldManager="a"))
        self.assertEqual(s["message"], "metadata.managedFields must be nil")

    def test_a_configuration_may_be_yaml(self):
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ay}\ndata:\n  a: 'yes'\n"
        got = self.must(201, self.client.patch(CM + "/ay", text, kind="apply", fieldManager="a"))
        self.assertEqual(got["data"], {"a": "yes"})

    def test_plain_writes_record_their_managers(self):
        status, _, body = self.client.request("POST", CM, config_map("ap", data={"a": "1"}),
                                              headers={"User-Agent": "my-tool/v1 (x)"})
        self.assertEqual(status, 201, body)
        # In short: all of it. Spelled out when somebody else writes to it.
        self.assertEqual(owners(json.loads(body)), {("my-tool", "Update", ""): {}})
        got = self.must(200, self.client.patch(CM + "/ap", {"data": {"a": "2"}},
                                               fieldManager="other"))
        self.assertEqual(owners(got), {("my-tool", "Update", ""): {"f:data": {}},
                                       ("other", "Update", ""): {"f:data": {"f:a": {}}}})
        # Who does not know of managedFields does not drop them.
        got["data"]["a"] = "3"
        del got["metadata"]["managedFields"]
        got = self.must(200, self.client.put(CM + "/ap", got, fieldManager="other"))
        self.assertEqual(len(owners(got)), 2)
        # An empty entry drops them all; then the first apply finds nobody's fields.
        got["metadata"]["managedFields"] = [{}]
        got = self.must(200, self.client.put(CM + "/ap", got))
        self.assertEqual(owners(got), {})
        s = self.fails(409, "Conflict", self.apply("ap", data={"a": "4"}))
        self.assertIn('conflict with "before-first-apply" using v1: .data.a', s["message"])

    def test_managed_fields_may_be_patched(self):
        """What kubectl does when it goes over from client-side apply."""
        self.must(201, self.client.post(CM, config_map("aj", data={"a": "1"}),
                                        fieldManager="kubectl-client-side-apply"))
        got = self.must(200, self.client.get(CM + "/aj"))
        entry = dict(got["metadata"]["managedFields"][0], manager="kubectl", operation="Apply")
        got = self.must(200, self.client.patch(CM + "/aj", [
            {"op": "replace", "path": "/metadata/managedFields", "value": [entry]},
            {"op": "replace", "path": "/metadata/resourceVersion",
             "value": got["metadata"]["resourceVersion"]}], kind="json"))
        self.assertEqual(owners(got), {("kubectl", "Apply", ""):
                                       {"f:data": {".": {}, "f:a": {}}}})

    def test_many_appliers_at_once_all_take_effect(self):
        self.must(201, self.apply("am", manager="m0", data={"k0": "v"}))
        clients = [Client(self.server) for _ in range(8)]
        try:
            for i, c in enumerate(clients):  # sent together, read afterwards
                body = json.dumps(config_map("am", data={"k%d" % (i + 1): "v"}))
                c.connection.request("PATCH", CM + "/am?fieldManager=m%d" % (i + 1), body=body,
                                     headers={"Content-Type": "application/apply-patch+yaml"})
            for c in clients:
                r = c.connection.getresponse()
                self.assertEqual(r.status, 200, r.read())
                r.read()
        finally:
            for c in clients:
                c.close()
        got = self.must(200, self.client.get(CM + "/am"))
        self.assertEqual(len(got["data"]), 9)
        self.assertEqual(len(owners(got)), 9)


class Validation(Case):
    path = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"

    def test_unknown_fields_are_refused_warned_of_or_ignored(self):
        job = pytorch_job("bogus")
        job["spec"]["bogus"] = 1
        s = self.fails(400, "BadRequest",
                       self.client.post(self.path, job, fieldValidation="Strict"))
        self.assertEqual(s["message"], 'PyTorchJob in version "v1" cannot be handled as a '
                         'PyTorchJob: strict decoding error: unknown field "spec.bogus"')
        status, headers, body = self.client.request("POST", self.path, job)
        self.assertEqual(status, 201, body)
        self.assertEqual(headers.get("Warning"), '299 - "unknown field \\"spec.bogus\\""')
        self.assertNotIn("bogus", json.loads(body)["spec"])
        job["metadata"]["name"] = "bogus2"
        status, headers, body = self.client.request("POST", self.path, job,
                                                    fieldValidation="Ignore")
        self.assertEqual((status, headers.get("Warning")), (201, None), body)
        self.fails(422, "Invalid", self.client.post(self.path, job, fieldValidation="Maybe"))

    def test_duplicate_keys_are_named_by_their_paths(self):
        text = json.dumps(config_map("dup", {"a": "1"}))[:-1] + ', "data": {"k": "x", "k": "y"}}'
        text = text.replace('"a": "1"', '"a": "1", "\\u0061": "2", "a": "3"')
        status, headers, body = self.client.request("POST", CM, text[:-1] + ', "bogus": 1}',
                                                    fieldValidation="Strict")
        s = json.loads(body)
        self.assertEqual((status, headers.get("Warning")), (400, None), s)
        self.assertEqual(s["message"], 'ConfigMap in version "v1" cannot be handled as a '
                         'ConfigMap: strict decoding error: duplicate field "metadata.labels.a", '
                         'duplicate field "data", duplicate field "data.k", unknown field '
                         '"bogus"')
        status, headers, body = self.client.request("POST", CM, text)
        self.assertEqual(status, 201, body)
        self.assertEqual(headers.get_all("Warning"), [
            '299 - "duplicate field \\"metadata.labels.a\\""',
            '299 - "duplicate field \\"data\\""', '299 - "duplicate field \\"data.k\\""'])
        self.assertEqual(json.loads(body)["data"], {"k": "y"})
        self.assertEqual(json.loads(body)["metadata"]["labels"], {"a": "3"})
        status, headers, body = self.client.request("POST", CM, text.replace('"dup"', '"dup2"'),
                                                    fieldValidation="Ignore")
        self.assertEqual((status, headers.get("Warning")), (201, None), body)

    def test_a_patch_is_judged_as_a_patch(self):
        self.must(201, self.client.post(CM, config_map("vp")))
        patch = '{"bogus":1,"data":{"a":"1","a":"2"}}'
        s = self.fails(422, "Invalid", self.client.patch(CM + "/vp", patch,
                                                         fieldValidation="Strict"))
        self.assertEqual(s["message"], ' "" is invalid: patch: Invalid value: '
                         + json.dumps(patch) + ': strict decoding error: duplicate field '
                         '"data.a", unknown field "bogus"')
        self.assertEqual([c["field"] for c in s["details"]["causes"]], ["patch"])
        status, headers, body = self.client.request(
            "PATCH", CM + "/vp", patch, content_type="application/merge-patch+json")
        self.assertEqual(status, 200, body)
        self.assertEqual(headers.get_all("Warning"), [
            '299 - "duplicate field \\"data.a\\""', '299 - "unknown field \\"bogus\\""'])
        self.assertEqual(json.loads(body)["data"], {"k": "v", "a": "2"})

    def test_duplicate_keys_in_yaml_are_named_by_their_lines(self):
        text = ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vy}\n"
                "data:\n  a: '1'\n  a: '2'\n")
        s = self.fails(400, "BadRequest", self.client.patch(
            CM + "/vy", text, kind="apply", fieldManager="m", fieldValidation="Strict"))
        self.assertEqual(s["message"],
                         'error strict decoding YAML: error converting YAML to JSON: yaml: '
                         'unmarshal errors:\n  line 6: key "a" already set in map')
        status, headers, body = self.client.request(
            "POST", CM, text, content_type="application/yaml")
        self.assertEqual(status, 201, body)
        self.assertEqual(headers["Warning"],
                         '299 - "line 6: key \\"a\\" already set in map"')

    def test_every_wrong_field_is_named(self):
        job = pytorch_job("wrong")
        job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = "two"
        del job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"]
        s = self.fails(422, "Invalid", self.client.post(self.path, job))
        fields = {c["field"] for c in s["details"]["causes"]}
        self.assertIn("spec.pytorchReplicaSpecs[Worker].replicas", fields)
        self.assertIn("spec.pytorchReplicaSpecs[Master].template.spec.containers", fields)
        self.assertIn("PyTorchJob.kubeflow.org \"wrong\" is invalid", s["message"])

    def test_kinds_of_kubernetes_are_refused_in_its_decoders_words(self):
        words = ('ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot '
                 "unmarshal number into Go struct field ConfigMap.data of type string")
        wrong = config_map("typed", data={"a": 1})
        made = self.must(201, self.client.post(CM, config_map("typed", data={"a": "1"})))
        for answer in (self.client.post(CM, wrong), self.client.put(CM + "/typed", wrong),
                       self.client.post(CM, wrong, fieldValidation="Strict"),
                       self.client.post(CM, dict(wrong, bogus=1), fieldValidation="Strict")):
            s = self.fails(400, "BadRequest", answer)
            self.assertEqual(s["message"], words)
            self.assertNotIn("causes", s.get("details", {}))
        s = self.fails(422, "Invalid", self.client.patch(CM + "/typed", {"data": {"a": 1}}))
        self.assertIn("patch: Invalid value: ", s["message"])
        self.assertIn("cannot unmarshal number into Go struct field ConfigMap.data of type string",
                      s["details"]["causes"][0]["message"])
        self.fails(422, "Invalid", self.client.patch(
            CM + "/typed", [{"op": "replace", "path": "/data/a", "value": 1}], kind="json"))
        self.assertEqual(self.must(200, self.client.get(CM + "/typed")), made)


class SharedRows(Case):
    """One row, several groups: each answers in its own words."""

    def test_a_policy_is_served_in_both_groups(self):
        a = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
        b = "/apis/policy.one.alibabacloud.com/v1alpha1/namespaces/default/propagationpolicies"
        body = {"apiVersion": "policy.one.alibabacloud.com/v1alpha1", "kind": "PropagationPolicy",
                "metadata": {"name": "both"},
                "spec": {"resourceSelectors": [{"apiVersion": "batch/v1", "kind": "Job"}]}}
        made = self.must(201, self.client.post(b, body))
        self.assertEqual(made["apiVersion"], "policy.one.alibabacloud.com/v1alpha1")
        other = self.must(200, self.client.get(a + "/both"))
        self.assertEqual(other["apiVersion"], "policy.karmada.io/v1alpha1")
        self.assertEqual(other["metadata"], made["metadata"])
        self.assertEqual(other["spec"], made["spec"])
        items = self.must(200, self.client.get(b))["items"]
        self.assertEqual([i["apiVersion"] for i in items], [made["apiVersion"]])
        w = self.client.watch(b)
        self.assertEqual(w.next()["object"], made)
        w.close()
        got = self.must(200, self.client.patch(b + "/both", {"metadata": {"labels": {"x": "y"}}}))
        self.assertEqual(got["apiVersion"], "policy.one.alibabacloud.com/v1alpha1")
        self.fails(409, "AlreadyExists", self.client.post(a, {**body, "apiVersion":
                                                              "policy.karmada.io/v1alpha1"}))

    def test_an_event_has_two_shapes(self):
        core = NS + "events"
        new = "/apis/events.k8s.io/v1/namespaces/default/events"
        self.must(201, self.client.post(core, {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Normal",
            "involvedObject": {"kind": "Job", "name": "j", "namespace": "default",
                               "apiVersion": "batch/v1"},
            "reason": "Started", "message": "it runs", "count": 1,
            "firstTimestamp": "2026-11-21T00:00:00Z", "lastTimestamp": "2026-11-21T00:00:00Z",
            "source": {"component": "test"}}))
        e = self.must(200, self.client.get(new + "/e"))
        self.assertEqual((e["apiVersion"], e["note"], e["regarding"]["name"]),
                         ("events.k8s.io/v1", "it runs", "j"))
        found = self.must(200, self.client.get(core, fieldSelector="involvedObject.name=j"))
        self.assertEqual([i["message"] for i in found["items"]], ["it runs"])
        self.assertEqual(self.must(200, self.client.get(
            core, fieldSelector="involvedObject.name=other"))["items"], [])


class BadInput(Case):
    def test_malformed_json_is_a_bad_request_with_its_position(self):
        s = self.fails(400, "BadRequest", self.client.post(CM, '{"kind":"ConfigMap",,}'))
        self.assertIn("offset 20", s["message"])

    def test_malformed_yaml_is_a_bad_request_with_its_line(self):
        s = self.fails(400, "BadRequest",
                       self.client.post(CM, "a: b\n c: [\n", content_type="application/yaml"))
        self.assertIn("line", s["message"])

    def test_a_body_that_is_no_object_is_refused(self):
        for body in ("[]", "7", '"x"', "null", ""):
            self.fails(400, "BadRequest", self.client.post(CM, body))

    def test_too_deep_json_is_refused(self):
        self.fails(400, "BadRequest", self.client.post(CM, '{"a":' * 70 + "1" + "}" * 70))

    def test_a_body_over_three_mebibytes_is_too_large(self):
        client = Client(self.server)
        self.fails(413, "RequestEntityTooLarge", client.post(CM, b"x" * (3 * 2**20 + 1)))
        client.close()

    def test_an_object_over_its_limit_is_too_large(self):
        self.fails(413, "RequestEntityTooLarge",
                   self.client.post(JOBS, pytorch_job("big", args=["x" * (2 * 2**20)])))

    def test_a_config_map_holds_at_most_a_mebibyte(self):
        big = config_map("big", data={"k": "x" * (2**20 + 1)})
        self.fails(422, "Invalid", self.client.post(CM, big))

    def test_an_unknown_media_type_is_unsupported(self):
        s = self.fails(415, "UnsupportedMediaType",
                       self.client.post(CM, "x", content_type="application/cbor"))
        self.assertIn("application/json", s["message"])

    def test_an_unacceptable_answer_is_refused(self):
        self.fails(406, "NotAcceptable", self.client.get(CM, headers={"Accept": "text/html"}))

    def test_unknown_kinds_and_versions_are_not_found(self):
        for path in ("/api/v1/namespaces/default/dinosaurs", "/apis/example.com/v1/things",
                     "/apis/batch/v7/jobs", NS + "configmaps/x/bogus", "/api/v1/configmaps/x"):
            s = self.fails(404, "NotFound", self.client.get(path))
            self.assertEqual(s["message"], "the server could not find the requested resource")

    def test_an_unknown_path_is_a_plain_404(self):
        status, headers, text = self.client.request("GET", "/nothing/here")
        self.assertEqual((status, text), (404, b"404 page not found\n"))

    def test_a_wrong_method_is_not_allowed(self):
        self.fails(405, "MethodNotAllowed", self.client.post(CM + "/x", config_map("x")))

    def test_the_body_must_fit_the_path(self):
        s = self.fails(400, "BadRequest",
                       self.client.post(CM, {**config_map("x"), "kind": "Secret"}))
        s = self.fails(400, "BadRequest", self.client.post(CM, config_map("x", namespace="other")))
        self.assertIn("namespace", s["message"])

    def test_a_bad_name_is_invalid_with_its_path(self):
        s = self.fails(422, "Invalid", self.client.post(CM, config_map("Not_Good")))
        self.assertEqual(s["details"]["causes"][0]["field"], "metadata.name")

    def test_a_missing_namespace_is_named(self):
        s = self.fails(404, "NotFound",
                       self.client.post("/api/v1/namespaces/nowhere/configmaps", config_map("x")))
        self.assertEqual(s["message"], 'namespaces "nowhere" not found')

    def test_a_namespace_that_ends_takes_nothing_and_says_so_by_a_cause(self):
        spaces = "/api/v1/namespaces"
        maps = spaces + "/ending/configmaps"
        self.assertEqual(self.client.post(spaces, {"metadata": {"name": "ending"}})[0], 201)
        held = dict(config_map("held"))
        held["metadata"]["finalizers"] = ["example.com/held"]
        self.assertEqual(self.client.post(maps, held)[0], 201)
        self.assertEqual(self.client.delete(spaces + "/ending")[0], 200)
        status, s = self.client.post(maps, config_map("late"))
        self.assertEqual((status, s["reason"]), (403, "Forbidden"))
        self.assertEqual(s["details"]["causes"], [
            {"reason": "NamespaceTerminating", "field": "metadata.namespace",
             "message": "namespace ending is being terminated"}])
        self.client.patch(maps + "/held", {"metadata": {"finalizers": None}})

    def test_bad_selectors_are_bad_requests(self):
        self.fails(400, "BadRequest", self.client.get(CM, labelSelector="a=="
                                                                        "=b,,"))
        s = self.fails(400, "BadRequest", self.client.get(CM, fieldSelector="spec.x=1"))
        self.assertIn("field label not supported: spec.x", s["message"])

    def test_a_bad_continue_token_is_a_bad_request(self):
        for token in ("x", "AAAA", "AQ" * 60):
            self.fails(400, "BadRequest", self.client.get(CM, **{"limit": 1, "continue": token}))


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
        other = Server(PROGRAM)
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

    def test_a_chunked_body_needs_a_length(self):
        s = self.client.raw_socket()
        s.sendall(b"POST " + CM.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
                  b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 411 "))
        s.close()

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


class Beginning(unittest.TestCase):
    def test_a_list_of_nothing_says_where_a_watch_may_start(self):
        # "0" would mean "any": an informer would not know what it has seen.
        server = Server(PROGRAM)
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


class Stopping(unittest.TestCase):
    def test_a_stop_ends_watches_with_a_bookmark_and_a_last_chunk(self):
        server = Server(PROGRAM)
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
        server = Server(PROGRAM)
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
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)
