"""Definitions of users' kinds: what a version may say of its columns and its scale, and where a
refusal says it (kubernetes-api.md 1.4, 1.11). These tests pass against kube-apiserver 1.36 too."""

from contract import Case, CRDS, definition
from session import main

SIMPLE = "must be a simple json path starting with ."
TYPES = "must be one of boolean,date,integer,number,string"
FORMATS = "must be one of byte,date,date-time,double,float,int32,int64,password"
COLUMN = "spec.additionalPrinterColumns[0]."
SCALE = "spec.subresources.scale."
SCHEMA = {"openAPIV3Schema": {"type": "object"}}


def invalid(field, value, words):
    return ("FieldValueInvalid", field, 'Invalid value: "%s": %s' % (value, words))


def required(field, words=""):
    return ("FieldValueRequired", field, "Required value" + (": " + words if words else ""))


def column(path, **more):
    return {"additionalPrinterColumns": [
        {"name": "A", "type": "string", "jsonPath": path, **more}]}


def scale(of_spec, of_status, **more):
    return {"subresources": {"scale": {
        "specReplicasPath": of_spec, "statusReplicasPath": of_status, **more}}}


class Definitions(Case):
    def create(self, *versions):
        return self.client.post(CRDS, definition("dogs", "Dog", [
            {"name": "v%d" % (i + 1), "served": True, "storage": i == 0, "schema": SCHEMA, **v}
            for i, v in enumerate(versions)]), dryRun="All")

    def refused(self, *versions):
        return self.causes(self.create(*versions))

    def test_a_columns_path_starts_with_a_dot(self):
        for path in ("spec.color", "{.spec.color}", "$.spec.color", "  .spec", "[0].x", "@.spec",
                     "color", "{.a}{.b}"):
            self.assertEqual(self.refused(column(path)),
                             [invalid(COLUMN + "JSONPath", path, SIMPLE)])
        self.assertEqual(self.refused(column("")), [required(COLUMN + "JSONPath")])
        for path in (".spec.x[*].y", ".spec['a']", ".spec.*", ".spec[?(@.x)].y", ".spec.x[0:2]",
                     '.status.conditions[?(@.type=="Ready")].status',
                     ".metadata.labels['a\\.b']"):
            self.must(201, self.create(column(path)))

    def test_what_else_a_column_has(self):
        self.assertEqual(self.refused(column(".a", name="")), [required(COLUMN + "name")])
        self.assertEqual(self.refused(column(".a", type="str")),
                         [invalid(COLUMN + "type", "str", TYPES)])
        self.assertEqual(self.refused(column("a", type="")), [
            required(COLUMN + "type", TYPES), invalid(COLUMN + "JSONPath", "a", SIMPLE)])
        self.assertEqual(self.refused(column(".a", format="xx")),
                         [invalid(COLUMN + "format", "xx", FORMATS)])
        self.must(201, self.create(column(".a", type="integer", format="int32")))

    def test_what_all_versions_share_is_refused_once(self):
        self.assertEqual(self.refused(column("a"), column("a")),
                         [invalid(COLUMN + "JSONPath", "a", SIMPLE)])
        at = "spec.versions[%d].additionalPrinterColumns[0].JSONPath"
        self.assertEqual(self.refused(column("a"), column("b")),
                         [invalid(at % 0, "a", SIMPLE), invalid(at % 1, "b", SIMPLE)])
        self.assertEqual(self.refused(column(".a"), column("b")),
                         [invalid(at % 1, "b", SIMPLE)])
        self.assertEqual(self.refused(column("a"), {}), [invalid(at % 0, "a", SIMPLE)])

    def test_the_paths_of_a_scale(self):
        below = ("should be a json path under .spec", "should be a json path under .status")
        of = (SCALE + "specReplicasPath", SCALE + "statusReplicasPath")
        self.assertEqual(self.refused(scale("a", "b")), [
            invalid(of[0], "a", SIMPLE), invalid(of[1], "b", SIMPLE)])
        self.assertEqual(self.refused(scale(".status.a", ".spec.b")), [
            invalid(of[0], ".status.a", below[0]), invalid(of[1], ".spec.b", below[1])])
        self.assertEqual(self.refused(scale("", "")), [required(of[0]), required(of[1])])
        good = (".spec.a", ".status.b")
        for path, words in (("x", SIMPLE),
                            (".x", "should be a json path under either .spec or .status")):
            self.assertEqual(self.refused(scale(*good, labelSelectorPath=path)),
                             [invalid(SCALE + "labelSelectorPath", path, words)])
        self.assertEqual(self.refused(scale("a", ".status.b"), scale("a", ".status.b")),
                         [invalid(of[0], "a", SIMPLE)])
        self.assertEqual(self.refused(scale("a", ".status.b"), {}), [
            invalid("spec.versions[0].subresources.scale.specReplicasPath", "a", SIMPLE)])


if __name__ == "__main__":
    main()
