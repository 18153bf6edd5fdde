"""Server-side apply and the other patches as kube-apiserver 1.36 answers them, word for word
(kubernetes-api.md section 1.8). These tests pass against that server too, but where a
comment says so."""

from contract import WIDGETS, Case, widget
from session import CM, NS, config_map, main


def managers(o):
    """{(manager, operation, subresource): (has a time, fieldsV1)}"""
    return {(e["manager"], e["operation"], e.get("subresource", "")): ("time" in e, e["fieldsV1"])
            for e in o["metadata"].get("managedFields", [])}


class ServerSideApply(Case):
    """Section 5, on a kind whose schema says how its lists and maps merge."""

    FULL = {"color": "red", "replicas": 2, "tags": ["a", "b"], "args": ["x", "y"],
            "ports": [{"port": 80, "name": "http"}, {"port": 53, "protocol": "UDP"}],
            "sel": {"k": "v"}, "lab": {"l": "1"}, "nest": {"need": "n", "deep": {"x": 1}},
            "ios": 5}

    def apply(self, name, spec, manager, door="", status=None, **params):
        o = widget(name, spec)
        if status is not None:
            o["status"] = status
        return self.client.patch(WIDGETS + "/" + name + door, o, kind="apply",
                                 fieldManager=manager, **params)

    def conflicts(self, answer, message, *fields):
        s = self.fails(409, "Conflict", answer)
        self.assertEqual(s["message"], message)
        self.assertEqual([c["field"] for c in s["details"]["causes"]], list(fields))
        for c in s["details"]["causes"]:
            self.assertEqual(c["reason"], "FieldManagerConflict")

    def test_what_a_configuration_owns(self):
        made = self.must(201, self.apply("own", self.FULL, "a"))
        self.assertEqual(managers(made), {("a", "Apply", ""): (True, {"f:spec": {
            "f:args": {}, "f:color": {}, "f:ios": {}, "f:lab": {"f:l": {}},
            "f:nest": {"f:deep": {"f:x": {}}, "f:need": {}},
            "f:ports": {
                'k:{"port":53,"protocol":"UDP"}': {".": {}, "f:port": {}, "f:protocol": {}},
                'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}}},
            "f:replicas": {}, "f:sel": {}, "f:tags": {'v:"a"': {}, 'v:"b"': {}}}})})
        self.assertEqual(made["spec"]["ports"][0]["protocol"], "TCP")
        self.assertEqual(self.must(200, self.apply("own", self.FULL, "a")), made)

    def test_sets_and_maps_of_several_managers(self):
        self.must(201, self.apply("lists", self.FULL, "a"))
        got = self.must(200, self.apply("lists", {"tags": ["c", "b"]}, "b"))
        self.assertEqual(got["spec"]["tags"], ["a", "c", "b"])
        got = self.must(200, self.apply("lists", {"tags": ["c"]}, "b"))
        self.assertEqual(got["spec"]["tags"], ["a", "c", "b"])
        got = self.must(200, self.apply("lists", {"ports": [
            {"port": 443, "name": "https"}, {"port": 80, "note": "mine"}]}, "b"))
        self.assertEqual(sorted(p["port"] for p in got["spec"]["ports"]), [53, 80, 443])
        self.assertEqual(sorted(got["spec"]["tags"]), ["a", "b"])
        self.conflicts(self.apply("lists", {"ports": [{"port": 80, "name": "web"}]}, "c"),
                       'Apply failed with 1 conflict: conflict with "a": '
                       '.spec.ports[port=80,protocol="TCP"].name',
                       '.spec.ports[port=80,protocol="TCP"].name')
        # The item that a does not list any more stays for what b has in it.
        got = self.must(200, self.apply("lists", {**self.FULL, "ports": [
            {"port": 53, "protocol": "UDP"}]}, "a"))
        shared = [p for p in got["spec"]["ports"] if p["port"] == 80]
        self.assertEqual(shared, [{"port": 80, "protocol": "TCP", "note": "mine"}])
        got = self.must(200, self.apply("lists", {}, "b"))
        self.assertEqual([p["port"] for p in got["spec"]["ports"]], [53])

    def test_atomic_fields_are_owned_as_a_whole(self):
        self.must(201, self.apply("atomic", self.FULL, "a"))
        self.conflicts(self.apply("atomic", {"args": ["x", "z"]}, "c"),
                       'Apply failed with 1 conflict: conflict with "a": .spec.args',
                       ".spec.args")
        self.conflicts(self.apply("atomic", {"sel": {"k": "v", "m": "n"}}, "c"),
                       'Apply failed with 1 conflict: conflict with "a": .spec.sel', ".spec.sel")
        got = self.must(200, self.apply("atomic", {"lab": {"m": "n"}}, "c"))
        self.assertEqual(got["spec"]["lab"], {"l": "1", "m": "n"})
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "atomic"},
                    "template": {"spec": {"nodeSelector": {"a": "b"}, "containers": [
                        {"name": "c", "image": "i"}]}}}
        path = NS + "podtemplates/atomic"
        self.must(201, self.client.patch(path, template, kind="apply", fieldManager="a"))
        template["template"]["spec"] = {"nodeSelector": {"a": "c"}}
        self.conflicts(self.client.patch(path, template, kind="apply", fieldManager="d"),
                       'Apply failed with 1 conflict: conflict with "a": '
                       ".template.spec.nodeSelector", ".template.spec.nodeSelector")

    def test_conflicts_are_told_level_by_level(self):
        self.must(201, self.apply("many", self.FULL, "a"))
        fields = (".spec.color", ".spec.replicas", ".spec.nest.need", ".spec.nest.deep.x")
        self.conflicts(self.apply("many", {"color": "blue", "replicas": 3, "nest": {
            "need": "o", "deep": {"x": 2}}}, "c"), 'Apply failed with 4 conflicts: conflicts '
            'with "a":' + "".join("\n- " + f for f in fields), *fields)
        got = self.must(200, self.apply("many", {"color": "blue"}, "c", force="true"))
        self.assertEqual(got["spec"]["color"], "blue")
        self.assertNotIn("f:color", managers(got)["a", "Apply", ""][1]["f:spec"])

    def test_who_comes_to_own_what_is_there_has_no_time(self):
        self.must(201, self.apply("time", {"color": "red"}, "z"))
        got = self.must(200, self.apply("time", {"color": "red"}, "b"))
        self.assertEqual(managers(got)["b", "Apply", ""], (False, {"f:spec": {"f:color": {}}}))
        self.assertEqual(got["metadata"]["managedFields"][0]["manager"], "b")
        got = self.must(200, self.apply("time", {"color": "red", "replicas": 1}, "b"))
        self.assertEqual(managers(got)["b", "Apply", ""][0], True)

    def test_an_empty_map_stays(self):
        self.must(201, self.apply("empty", {"lab": {"a": "1"}, "args": ["x"], "ports": [
            {"port": 1}], "tags": ["q"]}, "e"))
        got = self.must(200, self.apply("empty", {"lab": {}, "args": [], "ports": [], "tags": [],
                                                  "nest": {"deep": {}}}, "e"))
        self.assertEqual(got["spec"], {"lab": {}, "args": [], "nest": {"deep": {}}, "size": "M"})
        self.assertEqual(managers(got)["e", "Apply", ""][1], {"f:spec": {
            "f:args": {}, "f:lab": {}, "f:nest": {"f:deep": {}}}})
        got = self.must(200, self.apply("empty", {}, "e"))
        self.assertEqual(got["spec"], {"size": "M"})

    def test_the_status_has_owners_of_its_own(self):
        self.must(201, self.apply("st", {"color": "red"}, "a"))
        ready = [{"type": "Ready", "status": "True"}]
        got = self.must(200, self.apply("st", {"color": "blue"}, "h", "/status", {
            "replicas": 3, "conditions": ready}))
        self.assertEqual((got["spec"]["color"], got["status"]["conditions"]), ("red", ready))
        self.assertEqual(managers(got)["h", "Apply", "status"][1], {"f:status": {
            "f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:status": {}, "f:type": {}}},
            "f:replicas": {}}})
        who = 'with "h" with subresource "status"'
        fields = (".status.replicas", '.status.conditions[type="Ready"].status')
        self.conflicts(self.apply("st", None, "i", "/status", {
            "replicas": 4, "conditions": [{"type": "Ready", "status": "False"}]}),
            "Apply failed with 2 conflicts: conflicts " + who + ":" +
            "".join("\n- " + f for f in fields), *fields)
        got = self.must(200, self.apply("st", {"color": "red"}, "a", "", {"replicas": 9}))
        self.assertEqual(got["status"]["replicas"], 3)
        got = self.must(200, self.apply("st", None, "h", "/status", {}))
        self.assertEqual(got["status"], {})
        self.assertEqual(managers(got)["h", "Apply", "status"][1], {"f:status": {}})

    def test_a_scale_is_owned_through_its_door(self):
        self.must(201, self.apply("sc", {"replicas": 2}, "a"))
        self.must(200, self.client.patch(WIDGETS + "/sc/scale", {"spec": {"replicas": 4}},
                                         fieldManager="s"))
        got = self.must(200, self.client.get(WIDGETS + "/sc"))
        self.assertEqual(managers(got)["s", "Update", "scale"][1],
                         {"f:spec": {"f:replicas": {}}})
        self.conflicts(self.apply("sc", {"replicas": 6}, "k"), "Apply failed with 1 conflict: "
                       'conflict with "s" with subresource "scale" using example.com/v1: '
                       ".spec.replicas", ".spec.replicas")

    def test_the_list_is_reset_or_kept(self):
        """What a client sends in managedFields: [{}] and [] drop all, what cannot be read is as
        if it were not there."""
        entry = {"manager": "x", "operation": "Update", "apiVersion": "v1",
                 "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:z": {}}}}

        def put(n, fields):
            o = config_map("mf", data={"z": "1", "q": str(n)})
            o["metadata"]["managedFields"] = fields
            got = self.must(200, self.client.put(CM + "/mf", o, fieldManager="put"))
            return {k[0]: v[1] for k, v in managers(got).items()}
        o = config_map("mf", data={"z": "1", "q": "0"})
        self.must(201, self.client.patch(CM + "/mf", o, kind="apply", fieldManager="a"))
        applied = {"f:data": {"f:z": {}}}
        changed = {"f:data": {"f:q": {}}}
        self.assertEqual(put(1, [{**entry, "operation": "Nope"}]), {"a": applied, "put": changed})
        self.assertEqual(put(2, [{**entry, "fieldsV1": {"z:bad": {}}}]), {"put": changed})
        self.assertEqual(put(2, [entry]), {"x": {"f:data": {"f:z": {}}}})
        self.assertEqual(put(2, [{}]), {})
        self.assertEqual(put(3, []), {})
        got = self.must(200, self.client.patch(CM + "/mf", config_map("mf", data={"z": "1"}),
                                               kind="apply", fieldManager="d"))
        self.assertEqual(managers(got)["before-first-apply", "Update", ""][1], {
            "f:data": {".": {}, "f:q": {}, "f:z": {}}})

    def test_what_is_refused_says_where(self):
        self.must(201, self.apply("bad", self.FULL, "a"))
        for spec, words in (
                ({"tags": ["c", "c"]}, '.spec.tags: duplicate entries for key [="c"]'),
                ({"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
                 '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]'),
                ({"zzz": 1}, ".spec.zzz: field not declared in schema"),
                ({"replicas": "two"},
                 ".spec.replicas: expected numeric (int or float), got string")):
            status, s = self.apply("bad", spec, "b")
            # A 500 without a reason upstream; here it is the client's mistake.
            self.assertEqual(status, self.wrong_configuration)
            self.assertTrue(s["message"].startswith("failed to create typed patch object ("))
            self.assertTrue(s["message"].endswith(
                "/bad; example.com/v1, Kind=Widget): " + words), s["message"])
        o = widget("bad")
        del o["metadata"]["name"]
        self.must(200, self.client.patch(WIDGETS + "/bad", o, kind="apply", fieldManager="b"))
        o = config_map("bad")
        del o["metadata"]["name"]
        s = self.fails(400, "BadRequest", self.client.patch(
            CM + "/bad", o, kind="apply", fieldManager="b"))
        self.assertEqual(s["message"], "the name of the object (bad based on URL) was "
                         "undeterminable: name must be provided")
        other = "6f1a2b3c-0000-4000-8000-000000000000"
        s = self.fails(409, "Conflict", self.client.patch(
            WIDGETS + "/none", widget("none", uid=other), kind="apply", fieldManager="b"))
        self.assertEqual(s["message"], "Operation cannot be fulfilled on widgets.example.com "
                         '"none": uid mismatch: the provided object specified uid %s, and no '
                         "existing object was found" % other)
        self.must(201, self.client.patch(WIDGETS + "/versioned", widget(
            "versioned", resourceVersion="5"), kind="apply", fieldManager="b"))

    wrong_configuration = 400


class Patches(Case):
    """1.8."""

    def setUp(self):
        self.client.delete(WIDGETS + "/p")
        self.client.delete(CM + "/p")
        self.must(201, self.client.post(WIDGETS, widget("p", {
            "args": ["a", "b", "c"], "lab": {"t~u": "1", "x/y": "1"}})))
        o = config_map("p", {"l": "1"}, {"a": "1", "b": "2"})
        self.must(201, self.client.post(CM, o))

    def ops(self, path, *ops, **params):
        return self.client.patch(path, list(ops), kind="json", **params)

    def test_json_patch_on_maps(self):
        def data(*ops):
            return self.must(200, self.ops(CM + "/p", *ops))["data"]
        self.assertEqual(data(), {"a": "1", "b": "2"})
        self.assertEqual(data({"op": "test", "path": "/data/a", "value": "1"}),
                         {"a": "1", "b": "2"})
        self.assertEqual(data({"op": "test", "path": "/data/zz", "value": None}),
                         {"a": "1", "b": "2"})
        self.assertEqual(data({"op": "move", "from": "/data/a", "path": "/data/c"}),
                         {"b": "2", "c": "1"})
        self.assertEqual(data({"op": "copy", "from": "/data/c", "path": "/data/d"}),
                         {"b": "2", "c": "1", "d": "1"})
        got = self.must(200, self.ops(
            WIDGETS + "/p", {"op": "replace", "path": "/spec/lab/x~1y", "value": "9"},
            {"op": "replace", "path": "/spec/lab/t~0u", "value": "8"}))
        self.assertEqual(got["spec"]["lab"], {"x/y": "9", "t~u": "8"})
        for op in ({"op": "test", "path": "/data/b", "value": "3"},
                   {"op": "test", "path": "/data/zz", "value": "2"},
                   {"op": "move", "from": "/data/zz", "path": "/data/y"},
                   {"op": "remove", "path": "/data/zz"},
                   {"op": "add", "path": "/nope/x", "value": "1"}):
            self.fails(422, "Invalid", self.ops(CM + "/p", op))
        self.fails(409, "Conflict", self.ops(CM + "/p", {
            "op": "replace", "path": "/metadata/resourceVersion", "value": "1"}))
        self.assertEqual(data({"op": "replace", "path": "/data/new", "value": "1"})["new"], "1")
        s = self.fails(400, "BadRequest", self.ops(CM + "/p", {
            "op": "replace", "path": "", "value": {}}))
        self.assertEqual(s["message"], "the name of the object (p based on URL) was "
                         "undeterminable: name must be provided")
        many = [{"op": "test", "path": "/data/b", "value": "2"}]
        status, s = self.ops(CM + "/p", *(many * 10001))
        self.assertEqual((status, s["reason"]), (413, "RequestEntityTooLarge"))

    def test_json_patch_on_lists(self):
        def args(*ops):
            return self.must(200, self.ops(WIDGETS + "/p", *ops))["spec"]["args"]
        self.assertEqual(args({"op": "add", "path": "/spec/args/-", "value": "d"}),
                         ["a", "b", "c", "d"])
        self.assertEqual(args({"op": "add", "path": "/spec/args/1", "value": "i"}),
                         ["a", "i", "b", "c", "d"])
        self.assertEqual(args({"op": "add", "path": "/spec/args/5", "value": "e"}),
                         ["a", "i", "b", "c", "d", "e"])
        self.assertEqual(args({"op": "remove", "path": "/spec/args/0"}),
                         ["i", "b", "c", "d", "e"])
        self.assertEqual(args({"op": "move", "from": "/spec/args/0", "path": "/spec/args/2"}),
                         ["b", "c", "i", "d", "e"])
        for op in ({"op": "add", "path": "/spec/args/9", "value": "e"},
                   {"op": "replace", "path": "/spec/args/-", "value": "e"},
                   {"op": "remove", "path": "/spec/args/-"},
                   {"op": "replace", "path": "/spec/args/x", "value": "e"},
                   {"op": "add", "path": "/spec/args/0/x", "value": "e"}):
            self.fails(422, "Invalid", self.ops(WIDGETS + "/p", op))

    def test_a_merge_patch_and_its_nulls(self):
        def patch(body, path="/p"):
            return self.must(200, self.client.patch(CM + path, body))
        self.assertEqual(patch({"data": {"a": None, "zz": None}})["data"], {"b": "2"})
        self.assertNotIn("data", patch({"data": None}))
        self.assertEqual(patch({"data": {"c": "1"}, "metadata": {"labels": None}})["data"],
                         {"c": "1"})
        got = self.must(200, self.client.patch(WIDGETS + "/p", {"spec": {"size": "L"}}))
        self.assertEqual(got["spec"]["size"], "L")
        got = self.must(200, self.client.patch(WIDGETS + "/p", {"spec": {"size": None}}))
        self.assertEqual(got["spec"]["size"], "M")
        for body in ({"metadata": None}, {"metadata": {"name": None}}):
            self.fails(400, "BadRequest", self.client.patch(CM + "/p", body))
        for text in ("5", "[]", '"x"', "{", "{} {}", "data:\n  a: '6'\n"):
            self.fails(400, "BadRequest", self.client.patch(CM + "/p", text))

    def test_a_strategic_patch_and_its_directives(self):
        path = NS + "podtemplates"
        self.client.delete(path + "/s")
        made = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "s"},
                "template": {"spec": {
                    "containers": [
                        {"name": "c", "image": "i:1", "command": ["x"],
                         "ports": [{"containerPort": 80},
                                   {"containerPort": 53, "protocol": "UDP"}],
                         "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
                        {"name": "d", "image": "j:1"}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                    "nodeSelector": {"a": "b"}}}}
        self.must(201, self.client.post(path, made))

        def spec(**change):
            return self.must(200, self.client.patch(path + "/s", {"template": {"spec": change}},
                                                    kind="strategic", dryRun="All"))[
                                                        "template"]["spec"]

        def names(*items, **more):
            return [c["name"] for c in spec(containers=list(items), **more)["containers"]]
        self.assertEqual(names({"name": "e", "image": "e"}), ["e", "c", "d"])
        self.assertEqual(names({"name": "d", "$patch": "delete"}), ["c"])
        self.assertEqual(names({"name": "zz", "$patch": "delete"}), ["c", "d"])
        self.assertEqual(names({"$patch": "replace"}, {"name": "z", "image": "z"}), ["z"])
        order = [{"name": "d"}, {"name": "c"}]
        self.assertEqual(names({"name": "d"}, **{"$setElementOrder/containers": order}),
                         ["d", "c"])
        self.assertEqual([c["name"] for c in spec(**{"$setElementOrder/containers": order})[
            "containers"]], ["d", "c"])
        got = spec(containers=[{"name": "c", "command": ["y", "z"], "env": [
            {"name": "B", "value": "3"}, {"name": "A", "$patch": "delete"}], "ports": [
                {"containerPort": 80, "name": "http"}]}])["containers"][0]
        self.assertEqual((got["command"], got["env"], got["image"]),
                         (["y", "z"], [{"name": "B", "value": "3"}], "i:1"))
        self.assertEqual([(p["containerPort"], p.get("name")) for p in got["ports"]],
                         [(80, "http"), (53, None)])
        self.assertEqual(spec(tolerations=[{"key": "z"}])["tolerations"], [{"key": "z"}])
        self.assertEqual(spec(nodeSelector={"$patch": "replace", "z": "1"})["nodeSelector"],
                         {"z": "1"})
        self.assertEqual(spec(nodeSelector={"a": None, "q": "r"})["nodeSelector"], {"q": "r"})
        got = spec(volumes=[{"name": "v", "$retainKeys": ["name", "configMap"],
                             "configMap": {"name": "cm"}}])["volumes"]
        self.assertEqual((len(got), "emptyDir" in got[0], got[0]["configMap"]["name"]),
                         (1, False, "cm"))

    def test_primitive_lists_are_merged_and_taken_from(self):
        path = NS + "podtemplates"
        self.client.delete(path + "/f")
        made = {"apiVersion": "v1", "kind": "PodTemplate",
                "metadata": {"name": "f", "finalizers": ["a.b/c", "a.b/d"]},
                "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
        self.must(201, self.client.post(path, made))

        def finalizers(**change):
            return self.must(200, self.client.patch(path + "/f", {"metadata": change},
                                                    kind="strategic", dryRun="All"))[
                                                        "metadata"]["finalizers"]
        drop = {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}
        self.assertEqual(set(finalizers(finalizers=["x.y/z"])), {"a.b/c", "a.b/d", "x.y/z"})
        self.assertEqual(finalizers(**drop), ["a.b/d"])
        self.assertEqual(finalizers(finalizers=["n.n/n"], **drop, **{
            "$setElementOrder/finalizers": ["n.n/n", "a.b/d"]}), ["n.n/n", "a.b/d"])
        self.must(200, self.client.patch(path + "/f", {"metadata": {"finalizers": None}}))
        self.must(200, self.client.delete(path + "/f"))


if __name__ == "__main__":
    main()
