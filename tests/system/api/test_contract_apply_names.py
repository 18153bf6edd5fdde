"""The name in an apply, which says which object it is about, and what a body may leave out
(kubernetes-api.md section 5). These tests pass against kube-apiserver 1.36 too."""

from contract import Case, WIDGETS, widget
from session import CM, config_map, main

LEFT_OUT = ({}, {"generateName": "x-"}, None, "absent")
EMPTY = ({"name": ""}, {"name": None})


class Names(Case):
    def apply(self, path, kind, metadata):
        body = {"apiVersion": "v1" if kind == "ConfigMap" else "example.com/v1", "kind": kind}
        if metadata != "absent":
            body["metadata"] = metadata
        return self.client.patch(path, body, "apply", fieldManager="m")

    def refused(self, words, answer):
        self.assertEqual(self.fails(400, "BadRequest", answer)["message"], words)

    def test_what_is_there_needs_no_name(self):
        self.must(201, self.client.post(CM, config_map("there")))
        self.must(201, self.client.post(WIDGETS, widget("there")))
        for path, kind in ((CM, "ConfigMap"), (WIDGETS, "Widget")):
            for metadata in LEFT_OUT:
                o = self.must(200, self.apply(path + "/there", kind, metadata))
                self.assertEqual(o["metadata"]["name"], "there")
            for metadata in EMPTY:
                self.refused("the name of the object (there based on URL) was undeterminable: "
                             "name must be provided",
                             self.apply(path + "/there", kind, metadata))

    def test_what_is_new_needs_one(self):
        for path, kind in ((CM, "ConfigMap"), (WIDGETS, "Widget")):
            for metadata in LEFT_OUT + EMPTY:
                self.refused("the name of the object (new based on URL) was undeterminable: "
                             "name must be provided", self.apply(path + "/new", kind, metadata))
            self.must(201, self.apply(path + "/new", kind, {"name": "new", "generateName": "x-"}))

    def test_another_name_is_not_this_one(self):
        self.must(201, self.client.post(CM, config_map("its")))
        self.must(201, self.client.post(WIDGETS, widget("its")))
        for path, kind in ((CM, "ConfigMap"), (WIDGETS, "Widget")):
            for name in ("its", "no"):
                self.refused("the name of the object (other) does not match the name on the URL "
                             "(%s)" % name,
                             self.apply(path + "/" + name, kind, {"name": "other"}))

    def test_the_status_of_what_is_there_needs_no_name(self):
        self.must(201, self.client.post(WIDGETS, widget("s")))
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "status": {"replicas": 2}}
        o = self.must(200, self.client.patch(WIDGETS + "/s/status", body, "apply",
                                             fieldManager="m"))
        self.assertEqual(o["status"], {"replicas": 2})
        self.fails(404, "NotFound", self.client.patch(WIDGETS + "/absent/status", body, "apply",
                                                      fieldManager="m"))


if __name__ == "__main__":
    main()
