"""What is in a body, and what of it is refused: server-side apply, validation, bad input
(kubernetes-api.md sections 1, 2 and 5)."""

import json

from client import Client
from session import CM, JOBS, NS, Case, config_map, main, pytorch_job


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
        for path in ("/api/v1/namespaces/default/dinosaurs", "/apis/batch/v1/things",
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
        self.assertIn('"spec.x" is not a known field selector: only "metadata.name", '
                      '"metadata.namespace"', s["message"])

    def test_a_bad_continue_token_is_a_bad_request(self):
        for token in ("x", "AAAA", "AQ" * 60):
            self.fails(400, "BadRequest", self.client.get(CM, **{"limit": 1, "continue": token}))


if __name__ == "__main__":
    main()
