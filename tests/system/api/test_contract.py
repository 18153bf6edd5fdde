"""What kube-apiserver 1.36 answers, word for word, to requests that are not everyday ones
(kubernetes-api.md sections 1 and 5). These tests pass against that server too, but where a comment
says so."""

import json

from contract import CRDS, GADGETS, LABEL_KEY, SUBDOMAIN, TABLE, WIDGETS, Case, definition, widget
from session import CM, NS, config_map, main


class Options(Case):
    """Options of requests (1.5, 1.7, 1.9): the Status is about them, not about the object."""

    def test_options_of_writes(self):
        self.must(201, self.client.post(CM, config_map("ow")))
        validation = ('Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"')
        for kind, ask in (("CreateOptions", lambda **kw: self.client.post(
                               CM, config_map("ow2"), **kw)),
                          ("UpdateOptions", lambda **kw: self.client.put(
                              CM + "/ow", config_map("ow"), **kw)),
                          ("PatchOptions", lambda **kw: self.client.patch(CM + "/ow", {}, **kw))):
            self.refused_options(kind, ask(fieldValidation="x"), (
                "FieldValueNotSupported", "fieldValidation", validation))
            self.refused_options(kind, ask(fieldManager="a\tb"), (
                "FieldValueInvalid", "fieldManager",
                'Invalid value: "a\\tb": invalid character U+0009 (at position 1)'))
            self.refused_options(kind, ask(fieldManager="m" * 129), (
                "FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes"))
            s = self.fails(422, "Invalid", ask(dryRun="x"))
            self.assertEqual((s["details"]["kind"], s["details"]["causes"][0]["reason"]),
                             (kind, "FieldValueNotSupported"))
        self.refused_options("PatchOptions", self.client.patch(CM + "/ow", {}, force="true"), (
            "FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch"))
        self.refused_options("PatchOptions", self.client.patch(CM + "/ow", {}, kind="apply"), (
            "FieldValueRequired", "fieldManager",
            "Required value: is required for apply patch"))

    def test_options_of_deletes(self):
        self.must(201, self.client.post(CM, config_map("od")))
        path = CM + "/od"
        policy = ('Unsupported value: "Some": supported values: "Foreground", "Background", '
                  '"Orphan", "nil"')
        for answer in (self.client.delete(path, {"propagationPolicy": "Some"}),
                       self.client.delete(path, propagationPolicy="Some"),
                       self.client.delete(CM, {"propagationPolicy": "Some"})):
            self.refused_options("DeleteOptions", answer, (
                "FieldValueNotSupported", "propagationPolicy", policy))
        self.refused_options("DeleteOptions", self.client.delete(
            path, {"propagationPolicy": "Orphan", "orphanDependents": True}), (
                "FieldValueInvalid", "propagationPolicy", 'Invalid value: "Orphan": '
                "orphanDependents and deletionPropagation cannot be both set"))
        self.must(200, self.client.get(path))

    def test_what_is_no_delete_options_deletes_nothing(self):
        self.must(201, self.client.post(CM, config_map("no")))
        for body in ({"kind": "Foo", "apiVersion": "v1"}, {"gracePeriodSeconds": "x"},
                     {"preconditions": "x"}, {"preconditions": {"uid": 5}},
                     {"propagationPolicy": 5}, {"dryRun": "All"}, {"orphanDependents": "no"}):
            for path in (CM + "/no", CM):
                s = self.fails(400, "BadRequest", self.client.delete(path, body))
                self.assertNotIn("details", s)
        self.must(200, self.client.get(CM + "/no"))
        for body in ({"kind": "DeleteOptions", "apiVersion": "v1"},
                     {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"},
                     {"preconditions": None, "gracePeriodSeconds": None}, {"unknown": 1}):
            self.must(200, self.client.delete(CM + "/no", {**body, "dryRun": ["All"]}))

    def test_the_matrix_of_list_options(self):
        match = "resourceVersionMatch"
        none = ("FieldValueForbidden", match, "Forbidden: resourceVersionMatch is forbidden "
                "unless resourceVersion is provided")
        zero = ("FieldValueForbidden", match, 'Forbidden: resourceVersionMatch "exact" is '
                'forbidden for resourceVersion "0"')
        bogus = ("FieldValueNotSupported", match, 'Unsupported value: "Bogus": supported values: '
                 '"Exact", "NotOlderThan", ""')
        send = ("FieldValueForbidden", "sendInitialEvents",
                "Forbidden: sendInitialEvents is forbidden for list")
        more = ("FieldValueForbidden", match,
                "Forbidden: resourceVersionMatch is forbidden when continue is provided")
        now = self.must(200, self.client.get(CM))["metadata"]["resourceVersion"]
        for revision, how, want in (
                ("", "Exact", none), ("", "NotOlderThan", none), ("0", "Exact", zero),
                ("0", "Bogus", bogus), (now, "Bogus", bogus), ("0", "NotOlderThan", None),
                (now, "Exact", None), (now, "NotOlderThan", None)):
            answer = self.client.get(CM, resourceVersion=revision, resourceVersionMatch=how)
            if want:
                self.refused_options("ListOptions", answer, want)
            else:
                self.must(200, answer)
        self.refused_options("ListOptions", self.client.get(CM, sendInitialEvents="true"), send)
        self.refused_options("ListOptions", self.client.get(
            CM, resourceVersion=now, resourceVersionMatch="Exact", **{"continue": "x"}), more)
        for bad in ("abc", "-1"):
            s = self.fails(400, "BadRequest", self.client.get(CM, resourceVersion=bad))
            self.assertTrue(s["message"].startswith(
                'invalid resource version: resourceVersion: Invalid value: "%s"' % bad))
        self.assertNotIn("continue", self.must(200, self.client.get(CM, limit=-1))["metadata"])

    def test_the_matrix_of_watch_options(self):
        match = "resourceVersionMatch"
        needs = ("FieldValueForbidden", match, "Forbidden: sendInitialEvents requires setting "
                 "resourceVersionMatch to NotOlderThan")
        alone = ("FieldValueForbidden", match, "Forbidden: resourceVersionMatch is forbidden for "
                 "watch unless sendInitialEvents is provided")
        exact = ("FieldValueNotSupported", match,
                 'Unsupported value: "Exact": supported values: "NotOlderThan"')
        for send in (None, "true", "false"):
            for how in (None, "NotOlderThan", "Exact"):
                for revision in ("", "0"):
                    params = {"watch": "1", "timeoutSeconds": "1", "resourceVersion": revision}
                    if send:
                        params["sendInitialEvents"] = send
                    if how:
                        params[match] = how
                    want = {None: {None: (), "NotOlderThan": (alone,), "Exact": (alone, exact)}}.get(
                        send, {None: (needs,), "NotOlderThan": (), "Exact": (needs, exact)})[how]
                    if want:
                        self.refused_options("ListOptions", self.client.get(CM, **params), *want)
                    else:
                        status, _, _ = self.client.request("GET", CM, **params)
                        self.assertEqual(status, 200)
        self.refused_options("ListOptions", self.client.get(CM, watch="1", **{"continue": "x"}), (
            "FieldValueForbidden", match,
            "Forbidden: resourceVersionMatch is forbidden when continue is provided"))


class Metadata(Case):
    """1.7, and the words of apimachinery's validation."""

    def test_names(self):
        for name, words in (("BAD", SUBDOMAIN), ("a.", SUBDOMAIN), ("a/b", SUBDOMAIN),
                            ("a" * 254, "must be no more than 253 characters")):
            for path, o in ((CM, config_map(name)), (WIDGETS, widget(name))):
                self.assertEqual(self.causes(self.client.post(path, o)), [
                    ("FieldValueInvalid", "metadata.name", 'Invalid value: "%s": %s' % (
                        name, words))])
        for name, words in (
                ("a.b", "must not contain dots"),
                ("a_b", "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                 "characters or '-', and must start and end with an alphanumeric character (e.g. "
                 "'my-name',  or '123-abc', regex used for validation is "
                 "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')")):
            self.assertEqual(self.causes(self.client.post("/api/v1/namespaces", {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})), [
                    ("FieldValueInvalid", "metadata.name",
                     'Invalid value: "%s": %s' % (name, words))])
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": "a%b"}, "rules": []}
        self.assertEqual(self.causes(self.client.post(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", role)), [
                ("FieldValueInvalid", "metadata.name",
                 'Invalid value: "a%b": may not contain \'%\'')])

    def test_the_base_of_a_generated_name_is_checked_too(self):
        o = widget("x")
        o["metadata"] = {"generateName": "BAD_"}
        s = self.fails(422, "Invalid", self.client.post(WIDGETS, o))
        made = s["details"]["name"]
        self.assertTrue(made.startswith("BAD_") and len(made) == 9)
        self.assertEqual([(c["field"], c["message"]) for c in s["details"]["causes"]], [
            ("metadata.generateName", 'Invalid value: "BAD_": ' + SUBDOMAIN),
            ("metadata.name", 'Invalid value: "%s": %s' % (made, SUBDOMAIN))])
        o["metadata"] = {"generateName": "a" * 70}
        made = self.must(201, self.client.post(WIDGETS, o, dryRun="All"))
        self.assertEqual(len(made["metadata"]["name"]), 63)

    def test_labels_and_annotations(self):
        for what, key, words in (
                ("labels", "a b", "name part " + LABEL_KEY),
                ("labels", "x" * 64, "name part must be no more than 63 bytes"),
                ("labels", "/a", "prefix part must be non-empty"),
                ("labels", "a/", "name part must be non-empty"),
                ("labels", "A/b", "prefix part " + SUBDOMAIN),
                ("labels", "a/b/c", "a valid label key " + LABEL_KEY + " with an optional DNS "
                 "subdomain prefix and '/' (e.g. 'example.com/MyName')"),
                ("annotations", "a b", "name part " + LABEL_KEY)):
            # A text may break two rules; the first is told here, both upstream.
            self.assertEqual(self.causes(self.client.post(WIDGETS, widget("l", **{
                what: {key: "v"}})))[0], ("FieldValueInvalid", "metadata." + what,
                                          'Invalid value: "%s": %s' % (key, words)))
        self.assertEqual(self.causes(self.client.post(WIDGETS, widget("l", labels={
            "k": "y" * 64}))), [("FieldValueInvalid", "metadata.labels", 'Invalid value: "%s": '
                                "must be no more than 63 bytes" % ("y" * 64))])
        self.must(201, self.client.post(WIDGETS, widget("l", annotations={"Example.com/K": "v"}),
                                        dryRun="All"))

    def test_finalizers(self):
        both = ("FieldValueInvalid", "metadata.finalizers",
                'Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
                "foregroundDeletion cannot be both set")
        self.assertEqual(self.causes(self.client.post(WIDGETS, widget("f", finalizers=[
            "orphan", "foregroundDeletion"]))), [both])
        self.assertEqual(self.causes(self.client.post(CM, config_map("f", finalizers=["x"]))), [
            ("FieldValueInvalid", "metadata.finalizers[0]", 'Invalid value: "x": name is neither '
             "a standard finalizer name nor is it fully qualified")])
        self.must(201, self.client.post(WIDGETS, widget("f", finalizers=["x"]), dryRun="All"))

    def test_owners(self):
        path = "metadata.ownerReferences"
        self.assertEqual(self.causes(self.client.post(WIDGETS, widget("o", ownerReferences=[
            {"apiVersion": "", "kind": "", "name": "", "uid": ""},
            {"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "y"}]))), [
                ("FieldValueInvalid", path + ".apiVersion",
                 'Invalid value: "": version must not be empty'),
                ("FieldValueInvalid", path + ".kind", 'Invalid value: "": must not be empty'),
                ("FieldValueInvalid", path + ".name", 'Invalid value: "": must not be empty'),
                ("FieldValueInvalid", path + ".uid", 'Invalid value: "": must not be empty'),
                ("FieldValueInvalid", path, 'Invalid value: {"apiVersion":"v1","kind":"Event",'
                 '"name":"x","uid":"y"}: /v1, Kind=Event is disallowed from being an owner')])
        owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": n, "uid": n,
                   "controller": True} for n in "ab"]
        self.assertEqual(self.causes(self.client.post(CM, config_map(
            "o", ownerReferences=owners)))[0][2].split(": ")[-1],
            'Only one reference can have Controller set to true. Found "true" in references for '
            "ConfigMap/a and ConfigMap/b")

    def test_what_identifies_an_object_does_not_change(self):
        made = self.must(201, self.client.post(WIDGETS, widget("id", {"color": "a"})))
        other = "6f1a2b3c-0000-4000-8000-000000000000"
        self.assertEqual(set(self.causes(self.client.patch(WIDGETS + "/id", {
            "metadata": {"uid": other}}))), {("FieldValueInvalid", "metadata.uid",
                                              'Invalid value: "%s": field is immutable' % other)})
        s = self.fails(409, "Conflict", self.client.put(WIDGETS + "/id", {
            **made, "metadata": {**made["metadata"], "uid": other}}))
        self.assertIn("Precondition failed: UID in precondition: %s, UID in object meta: %s" % (
            other, made["metadata"]["uid"]), s["message"])
        self.assertEqual(set(self.causes(self.client.put(WIDGETS + "/id", {
            **made, "metadata": {**made["metadata"],
                                 "deletionTimestamp": "2001-01-01T00:00:00Z"}}))), {
            ("FieldValueInvalid", "metadata.deletionTimestamp",
             'Invalid value: "2001-01-01T00:00:00Z": field is immutable')})
        for change in ({"generation": 77}, {"creationTimestamp": "2001-01-01T00:00:00Z"},
                       {"selfLink": "/x"}):
            same = self.must(200, self.client.put(WIDGETS + "/id", {
                **made, "metadata": {**made["metadata"], **change}}))
            self.assertEqual(same, made)
        self.assertEqual(self.causes(self.client.put(WIDGETS + "/id", widget("id")))[0], (
            "FieldValueInvalid", "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update"))

    def test_preconditions_of_a_delete(self):
        made = self.must(201, self.client.post(WIDGETS, widget("pre")))
        uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
        wrong = "6f1a2b3c-0000-4000-8000-000000000000"
        for p, words in (
                ({"uid": wrong}, "the UID in the precondition (%s) does not match the UID in "
                 "record (%s). The object might have been deleted and then recreated" % (
                     wrong, uid)),
                ({"resourceVersion": "1"}, "the ResourceVersion in the precondition (1) does not "
                 "match the ResourceVersion in record (%s). The object might have been "
                 "modified" % version)):
            s = self.fails(409, "Conflict", self.client.delete(WIDGETS + "/pre", {
                "preconditions": p}))
            self.assertEqual(s["message"], 'Operation cannot be fulfilled on Widget.example.com '
                             '"pre": ' + words)
        self.must(200, self.client.delete(WIDGETS + "/pre", {"preconditions": {
            "uid": uid, "resourceVersion": version}}))


class Bodies(Case):
    """1.3 and 1.5."""

    def test_a_custom_resource_says_what_it_is(self):
        o = widget("b")
        del o["kind"]
        s = self.fails(400, "BadRequest", self.client.post(WIDGETS, o))
        self.assertIn("the object provided is unrecognized (must be of type Widget): Object "
                      "'Kind' is missing", s["message"])
        o = widget("b")
        del o["apiVersion"]
        s = self.fails(400, "BadRequest", self.client.post(WIDGETS, o))
        self.assertEqual(s["message"], "the API version in the data () does not match the "
                         "expected API version (example.com/v1)")
        self.assertEqual(self.causes(self.client.post(WIDGETS, {**widget("b"), "kind": "Gadget"})),
                         [("FieldValueInvalid", "kind",
                           'Invalid value: "Gadget": must be Widget')])
        o = config_map("b")
        del o["kind"], o["apiVersion"]
        self.must(201, self.client.post(CM, o, dryRun="All"))

    def test_duplicates_are_told_as_they_are_met(self):
        text = ('{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"d","name":'
                '"d"},"spec":{"color":"a","color":"b","lab":{"z":"1","z":"2"},"bogus":1}}')
        s = self.fails(400, "BadRequest", self.client.post(WIDGETS, text,
                                                           fieldValidation="Strict"))
        self.assertEqual(s["message"], 'Widget in version "v1" cannot be handled as a Widget: '
                         'strict decoding error: duplicate field "metadata.name", duplicate field '
                         '"spec.color", duplicate field "spec.lab.z", unknown field "spec.bogus"')
        self.assertNotIn("details", s)
        text = ("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: d}\nspec:\n"
                "  color: red\n  bogus: 1\n  color: blue\n")
        s = self.fails(400, "BadRequest", self.client.post(
            WIDGETS, text, content_type="application/yaml", fieldValidation="Strict"))
        self.assertEqual(s["message"], 'Widget in version "v1" cannot be handled as a Widget: '
                         "strict decoding error: yaml: unmarshal errors:\n  line 7: key "
                         '"color" already set in map, unknown field "spec.bogus"')

    def test_an_unsupported_type_is_about_the_request(self):
        s = self.fails(415, "UnsupportedMediaType", self.client.post(
            CM, "x", content_type="application/cbor"))
        self.assertNotIn("details", s)
        s = self.fails(405, "MethodNotAllowed", self.client.patch(CM, {}))
        s = self.fails(405, "MethodNotAllowed", self.client.put(CM, config_map("x")))

    def test_a_scale_is_no_other_object(self):
        self.must(201, self.client.post(WIDGETS, widget("s", {"replicas": 2})))
        self.fails(400, "BadRequest", self.client.put(
            WIDGETS + "/s/scale", widget("s", {"replicas": 8})))
        got = self.must(200, self.client.put(WIDGETS + "/s/scale", {
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "s"},
            "spec": {"replicas": 8}}))
        self.assertEqual((got["kind"], got["apiVersion"], got["spec"]),
                         ("Scale", "autoscaling/v1", {"replicas": 8}))

    def test_deprecated_versions_name_their_successor(self):
        for version, words in (("v1beta1", "example.com/v1beta1 Gadget is deprecated; use "
                                "example.com/v1 Gadget"), ("v1alpha1", 'gone \\"soon\\"')):
            _, headers, _ = self.client.request("GET", GADGETS % version)
            self.assertEqual(headers.get_all("Warning"), ['299 - "%s"' % words])
        _, headers, _ = self.client.request("GET", GADGETS % "v1")
        self.assertIsNone(headers.get_all("Warning"))


class Tables(Case):
    """1.4."""

    def table(self, path, **params):
        status, headers, body = self.client.request("GET", path, headers=TABLE, **params)
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def test_columns_of_a_definition(self):
        self.must(201, self.client.post(WIDGETS, widget("t1", {
            "color": "red", "replicas": 3, "when": "2020-01-01T00:00:00Z", "tags": ["a", "b"]},
            labels={"app.kubernetes.io/name": "N"})))
        self.must(201, self.client.post(WIDGETS, widget("t2")))
        self.must(200, self.client.patch(WIDGETS + "/t1/status", {"status": {"conditions": [
            {"type": "Synced", "status": "False"}, {"type": "Ready", "status": "True"},
            {"type": "Last", "status": "x"}]}}))
        t = self.table(WIDGETS)
        self.assertEqual([(c["name"], c["type"], c["format"], c["priority"])
                          for c in t["columnDefinitions"]], [
            ("Name", "string", "name", 0), ("Color", "string", "", 0),
            ("Replicas", "integer", "int32", 0), ("When", "date", "", 0),
            ("Ready", "string", "", 1), ("Last", "string", "", 0), ("Tags", "string", "", 0),
            ("Text", "string", "", 0), ("Bad", "integer", "", 0), ("App", "string", "", 0)])
        about = [c["description"] for c in t["columnDefinitions"]]
        self.assertEqual(about[1:3], [
            "the color", "Custom resource definition column (in JSONPath format): .spec.replicas"])
        rows = {r["cells"][0]: r["cells"][1:] for r in t["rows"]}
        self.assertRegex(rows["t1"].pop(2), "^[0-9]+y([0-9]+d)?$")
        self.assertEqual(rows["t1"], ["red", 3, "True", "Last", '["a","b"]', "3", None, "N"])
        self.assertEqual(rows["t2"], [None] * 9)

    def test_the_object_of_a_row(self):
        self.must(201, self.client.post(WIDGETS, widget("row", {"color": "red"})))
        for include, kind in (("None", None), ("", "PartialObjectMetadata"),
                              ("Metadata", "PartialObjectMetadata"), ("Object", "Widget")):
            row = self.table(WIDGETS + "/row", includeObject=include)["rows"][0]
            self.assertIn("object", row)
            self.assertEqual((row["object"] or {}).get("kind"), kind)
        status, _, body = self.client.request("GET", WIDGETS, headers=TABLE, includeObject="x")
        self.assertEqual((status, json.loads(body)["message"]), (
            400, 'Unable to convert to Table as requested: includeObject: Invalid value: "x": '
            "must be 'Metadata', 'Object', 'None', or empty"))

    def test_columns_of_built_in_kinds(self):
        def columns(path):
            return [(c["name"], c["priority"]) for c in self.table(path)["columnDefinitions"]]
        events = [("Last Seen", 0), ("Type", 0), ("Reason", 0), ("Object", 0), ("Subobject", 1),
                  ("Source", 1), ("Message", 0), ("First Seen", 1), ("Count", 1), ("Name", 1)]
        self.assertEqual(columns(NS + "events"), events)
        self.assertEqual(columns("/apis/events.k8s.io/v1/namespaces/default/events"), events)
        self.assertEqual(columns("/apis/scheduling.k8s.io/v1/priorityclasses"), [
            ("Name", 0), ("Value", 0), ("Global-Default", 0), ("Age", 0),
            ("PreemptionPolicy", 0)])


class Selectors(Case):
    """1.9: the fields that each kind may be selected by."""

    def test_fields_of_kinds(self):
        batch = "/apis/batch/v1/namespaces/default/jobs"
        events = "/apis/events.k8s.io/v1/namespaces/default/events"
        for path, selector in (
                (CM, "metadata.name=x,metadata.namespace=default"), (WIDGETS, "metadata.name!=x"),
                ("/api/v1/namespaces", "status.phase=Active"), (NS + "secrets", "type=Opaque"),
                (NS + "pods", "spec.nodeName=x,status.phase=Running"),
                (NS + "pods", "spec.restartPolicy=Always,spec.schedulerName=x,status.podIP=x"),
                ("/api/v1/nodes", "spec.unschedulable=true"), (batch, "status.successful=1"),
                (NS + "events", "involvedObject.kind=a,involvedObject.namespace=b,"
                 "involvedObject.name=c,involvedObject.uid=d,involvedObject.apiVersion=e,"
                 "involvedObject.resourceVersion=f,involvedObject.fieldPath=g"),
                (NS + "events", "reason=a,source=b,type=c,reportingComponent=d"),
                (events, "reason=a,type=Normal,regarding.kind=x")):
            self.must(200, self.client.get(path, fieldSelector=selector))
        for path in (CM, WIDGETS, "/api/v1/nodes", NS + "pods", NS + "events", NS + "secrets",
                     batch, CRDS, "/api/v1/namespaces"):
            s = self.fails(400, "BadRequest", self.client.get(path, fieldSelector="x.y=1"))
            self.assertIn("x.y", s["message"])  # upstream has three sentences for it


class OpenApi(Case):
    """1.2: what `kubectl explain` shows of a user's kind."""

    def test_a_schema_tells_what_values_must_be(self):
        index = self.must(200, self.client.get("/openapi/v3"))["paths"]
        url = index["apis/example.com/v1"]["serverRelativeURL"]
        doc = self.must(200, self.client.get(url))
        spec = doc["components"]["schemas"]["com.example.v1.Widget"]["properties"]["spec"][
            "properties"]
        self.assertEqual(spec["color"], {"type": "string", "maxLength": 10})
        self.assertEqual(spec["replicas"], {"type": "integer", "minimum": 0})
        self.assertEqual(spec["size"], {"type": "string", "enum": ["S", "M", "L"],
                                        "default": "M"})
        self.assertEqual(spec["when"], {"type": "string", "format": "date-time"})
        self.assertEqual((spec["ports"]["x-kubernetes-list-type"],
                          spec["ports"]["x-kubernetes-list-map-keys"]),
                         ("map", ["port", "protocol"]))
        self.assertEqual(spec["sel"]["x-kubernetes-map-type"], "atomic")
        status, headers, _ = self.client.request("GET", url)
        status, _, body = self.client.request("GET", url, headers={
            "If-None-Match": headers["ETag"]})
        self.assertEqual((status, body), (304, b""))


class Protobuf(Case):
    """1.3: what typed clients send."""

    MEDIA = "application/vnd.kubernetes.protobuf"

    @staticmethod
    def field(number, value):
        def varint(n):
            out = b""
            while n > 127:
                out, n = out + bytes([n & 127 | 128]), n >> 7
            return out + bytes([n])
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        value = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(value)) + value

    def envelope(self, version, kind, raw):
        f = self.field
        return b"k8s\0" + f(1, f(1, version) + f(2, kind)) + f(2, raw) + f(3, "") + f(4, "")

    def send(self, method, path, body, **params):
        return self.client.call(method, path, body, content_type=self.MEDIA, **params)

    def config_map(self, name):
        f = self.field
        empty = b"".join(f(n, "") for n in (2, 3, 4, 5, 6)) + f(7, 0) + f(8, "")
        return self.envelope("v1", "ConfigMap", f(1, f(1, name) + empty) +
                             f(2, f(1, "k") + f(2, "v")) + f(3, f(1, "bin") + f(2, b"\0\xff")))

    def test_an_object_and_its_delete_options(self):
        f = self.field
        for version in ("v1", "meta.k8s.io/v1", "batch/v1"):
            made = self.must(201, self.send("POST", CM, self.config_map("pb")))
            self.assertEqual((made["data"], made["binaryData"]), ({"k": "v"}, {"bin": "AP8="}))
            self.assertTrue(made["metadata"]["creationTimestamp"].startswith("2"))

            def delete(raw):
                return self.send("DELETE", CM + "/pb", self.envelope(
                    version, "DeleteOptions", raw))
            self.must(200, delete(f(1, 0) + f(4, "Background") + f(5, "All")))
            self.fails(409, "Conflict", delete(f(2, f(1, "nope"))))
            self.must(200, delete(f(2, f(1, made["metadata"]["uid"])) + f(4, "Background")))
            self.fails(404, "NotFound", self.client.get(CM + "/pb"))

    def test_what_is_cut_or_of_another_kind_is_refused(self):
        body = self.config_map("cut")
        for wrong in (b"abc", b"k8s\0\xff\xff\xff", body[:-3], body[:40],
                      self.envelope("v1", "Secret", b"")):
            status, _ = self.send("POST", CM, wrong)
            self.assertEqual(status, 400)
        self.must(201, self.send("POST", CM, body))
        options = self.envelope("v1", "DeleteOptions", self.field(2, self.field(1, "nope")))
        for n in range(options.index(b"nope") - 3, len(options)):
            status, _ = self.send("DELETE", CM + "/cut", options[:n])
            self.assertIn(status, (400, 409))
        self.must(200, self.client.get(CM + "/cut"))


if __name__ == "__main__":
    main()
