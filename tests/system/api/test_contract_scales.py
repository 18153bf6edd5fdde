"""A Scale in the forms that a client may ask for (kubernetes-api.md 1.4, 1.11). These tests pass
against kube-apiserver 1.36 too."""

from contract import Case, TABLE, WIDGETS, widget
from session import main

SCALE = WIDGETS + "/%s/scale"
PARTIAL = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
COLUMNS = [("Name", "string", "name"), ("Desired", "integer", ""), ("Available", "integer", ""),
           ("Age", "date", "")]


class Scales(Case):
    def made(self, name, status=None, **spec):
        o = self.must(201, self.client.post(WIDGETS, widget(name, spec)))
        if status:
            o = self.must(200, self.client.patch(WIDGETS + "/" + name + "/status",
                                                 {"status": status}))
        return o["metadata"]

    def cells(self, table):
        self.assertEqual([(c["name"], c["type"], c["format"]) for c in table["columnDefinitions"]],
                         COLUMNS)
        row, = table["rows"]
        return row["cells"][:3]

    def test_a_table_has_what_is_wanted_and_what_is_there(self):
        meta = self.made("t", {"replicas": 2}, replicas=3)
        table = self.must(200, self.client.get(SCALE % "t", headers=TABLE))
        self.assertEqual((table["kind"], table["apiVersion"]), ("Table", "meta.k8s.io/v1"))
        self.assertEqual(table["metadata"], {"resourceVersion": meta["resourceVersion"]})
        self.assertEqual(self.cells(table), ["t", 3, 2])
        self.assertEqual(table["rows"][0]["object"], {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {k: meta[k] for k in ("name", "namespace", "uid", "resourceVersion",
                                              "creationTimestamp")}})
        self.made("none", replicas=0)
        self.assertEqual(self.cells(self.must(200, self.client.get(
            SCALE % "none", headers=TABLE))), ["none", None, 0])

    def test_a_rows_object(self):
        self.made("o", replicas=1)
        scale = self.must(200, self.client.get(SCALE % "o"))
        for include, want in (("None", None), ("Object", scale)):
            table = self.must(200, self.client.get(SCALE % "o", headers=TABLE,
                                                   includeObject=include))
            self.assertEqual(table["rows"][0]["object"], want)

    def test_other_forms(self):
        self.made("f", replicas=1)
        scale = self.must(200, self.client.get(SCALE % "f"))
        self.assertEqual(self.must(200, self.client.get(SCALE % "f", headers=PARTIAL)), {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": scale["metadata"]})
        status, headers, text = self.client.request("GET", SCALE % "f",
                                                    headers={"Accept": "application/yaml"})
        self.assertEqual((status, headers["Content-Type"]), (200, "application/yaml"))
        self.assertTrue({b"kind: Scale", b"apiVersion: autoscaling/v1"} <=
                        set(text.split(b"\n")), text)
        self.assertEqual(self.client.request("GET", SCALE % "f",
                                             headers={"Accept": "text/html"})[0], 406)

    def test_a_write_answers_in_the_same_forms(self):
        self.made("w", replicas=1)
        table = self.must(200, self.client.patch(SCALE % "w", {"spec": {"replicas": 4}},
                                                 headers=TABLE))
        self.assertEqual(self.cells(table), ["w", 4, 0])
        table = self.must(200, self.client.patch(SCALE % "w", {"spec": {"replicas": 4}},
                                                 headers=TABLE))
        self.assertEqual(self.cells(table), ["w", 4, 0])
        partial = self.must(200, self.client.patch(SCALE % "w", {"spec": {"replicas": 5}},
                                                   headers=PARTIAL))
        self.assertEqual(set(partial), {"kind", "apiVersion", "metadata"})
        self.assertEqual(self.must(200, self.client.get(SCALE % "w"))["spec"], {"replicas": 5})


if __name__ == "__main__":
    main()
