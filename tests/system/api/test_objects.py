"""Objects over real TLS, as clients see them made, changed and deleted (kubernetes-api.md sections
1 and 2)."""

from contextlib import closing
import json

from client import Client
from session import CM, JOBS, NS, Case, config_map, main, pytorch_job


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

    def test_what_a_delete_says_of_dependents_holds_while_finalizers_are_waited_for(self):
        hold = "example.com/hold"
        path = CM + "/owner-held"
        for policy, word, left in (("Orphan", "orphan", 200),
                                   ("Foreground", "foregroundDeletion", 404)):
            with self.subTest(policy):
                child = "child-" + word.lower()
                owner = self.must(201, self.client.post(CM, config_map("owner-held",
                                                                       finalizers=[hold])))
                reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner-held",
                             "uid": owner["metadata"]["uid"], "blockOwnerDeletion": True}
                self.must(201, self.client.post(CM, config_map(child, finalizers=[hold],
                                                               ownerReferences=[reference])))
                other = {"Orphan": "Foreground", "Foreground": "Orphan"}[policy]
                self.must(200, self.client.delete(path, {"propagationPolicy": other},
                                                  dryRun="All"))
                with closing(self.client.watch(
                        CM, fieldSelector="metadata.name=" + child)) as w:
                    held = self.must(200, self.client.delete(path, {"propagationPolicy": policy}))
                    self.assertEqual(held["metadata"]["finalizers"], [hold, word])
                    w.until(lambda e: (e["object"]["metadata"].get("deletionTimestamp")
                                       if policy == "Foreground" else
                                       "ownerReferences" not in e["object"]["metadata"]))
                drop = [{"op": "remove", "path": "/metadata/finalizers/0"}]
                self.must(200, self.client.patch(CM + "/" + child, drop, kind="json"))
                self.must(200, self.client.patch(path, drop, kind="json"))
                with closing(self.client.watch(
                        CM, fieldSelector="metadata.name=owner-held",
                        resourceVersion=held["metadata"]["resourceVersion"])) as w:
                    w.until(lambda e: e["type"] == "DELETED")
                self.assertEqual(self.client.get(CM + "/" + child)[0], left)

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


if __name__ == "__main__":
    main()
