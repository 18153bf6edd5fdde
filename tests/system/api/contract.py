"""What the stories about the contract share: two kinds of users' own, in a front that has them, and
the words in which refusals come."""

from client import Client, Server
from session import Case as Base
import session

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
GADGETS = "/apis/example.com/%s/gadgets"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
SUBDOMAIN = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
             "'-' or '.', and must start and end with an alphanumeric character (e.g. "
             "'example.com', regex used for validation is "
             "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')")
LABEL_KEY = ("must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
             "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
             "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")


def definition(plural, kind, versions, scope="Namespaced"):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": plural + ".example.com"},
            "spec": {"group": "example.com", "scope": scope,
                     "names": {"plural": plural, "kind": kind}, "versions": versions}}


def widgets():
    spec = {"type": "object", "properties": {
        "color": {**STRING, "maxLength": 10}, "replicas": {**INTEGER, "minimum": 0},
        "size": {**STRING, "enum": ["S", "M", "L"], "default": "M"},
        "when": {**STRING, "format": "date-time"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        "args": {"type": "array", "items": STRING},
        "ports": {"type": "array", "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["port", "protocol"],
                  "items": {"type": "object", "required": ["port"], "properties": {
                      "port": INTEGER, "protocol": {**STRING, "default": "TCP"}, "name": STRING,
                      "note": STRING}}},
        "sel": {"type": "object", "x-kubernetes-map-type": "atomic",
                "additionalProperties": STRING},
        "lab": {"type": "object", "additionalProperties": STRING},
        "nest": {"type": "object", "properties": {
            "need": STRING, "deep": {"type": "object", "properties": {"x": INTEGER}}}},
        "ios": {"x-kubernetes-int-or-string": True}}}
    conditions = {"type": "array", "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": ["type"],
                  "items": {"type": "object", "required": ["type", "status"], "properties": {
                      "type": STRING, "status": STRING}}}
    status = {"type": "object", "properties": {
        "replicas": INTEGER, "selector": STRING, "conditions": conditions}}

    def column(name, kind, path, **more):
        return {"name": name, "type": kind, "jsonPath": path, **more}
    return definition("widgets", "Widget", [{
        "name": "v1", "served": True, "storage": True,
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector"}},
        "additionalPrinterColumns": [
            column("Color", "string", ".spec.color", description="the color"),
            column("Replicas", "integer", ".spec.replicas", format="int32"),
            column("When", "date", ".spec.when"),
            column("Ready", "string", '.status.conditions[?(@.type=="Ready")].status',
                   priority=1),
            column("Last", "string", ".status.conditions[-1:].type"),
            column("Tags", "string", ".spec.tags"),
            column("Text", "string", ".spec.replicas"),
            column("Bad", "integer", ".spec.color"),
            column("App", "string", ".metadata.labels.app\\.kubernetes\\.io/name")],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": spec, "status": status}}}}])


def gadgets():
    schema = {"openAPIV3Schema": {"type": "object",
                                  "x-kubernetes-preserve-unknown-fields": True}}
    return definition("gadgets", "Gadget", [
        {"name": "v1", "served": True, "storage": True, "schema": schema},
        {"name": "v1beta1", "served": True, "storage": False, "deprecated": True,
         "schema": schema},
        {"name": "v1alpha1", "served": True, "storage": False, "deprecated": True,
         "deprecationWarning": 'gone "soon"', "schema": schema}], scope="Cluster")


def widget(name, spec=None, **meta):
    o = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, **meta}}
    if spec is not None:
        o["spec"] = spec
    return o


class Case(Base):
    """With two kinds of users' own, through the same doors."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(session.PROGRAM, *cls.options)
        cls.client = Client(cls.server)
        events = cls.client.watch(CRDS)
        for d in (widgets(), gadgets()):
            status, body = cls.client.post(CRDS, d)
            assert status == 201, body
            events.until(lambda e: {"Established"} <= {
                c["type"] for c in e["object"].get("status", {}).get("conditions") or []
                if c["status"] == "True"} and e["object"]["metadata"]["name"] ==
                d["metadata"]["name"])
        events.close()

    def refused_options(self, kind, answer, *causes):
        """A 422 about the options, each cause (reason, field, message)."""
        s = self.fails(422, "Invalid", answer)
        self.assertEqual(s["details"], {"group": "meta.k8s.io", "kind": kind, "causes": [
            {"reason": r, "field": f, "message": m} for r, f, m in causes]})
        texts = ["%s: %s" % (f, m) for _, f, m in causes]
        self.assertEqual(s["message"], '%s.meta.k8s.io "" is invalid: %s' % (
            kind, texts[0] if len(texts) == 1 else "[%s]" % ", ".join(texts)))

    def causes(self, answer):
        s = self.fails(422, "Invalid", answer)
        return [(c["reason"], c["field"], c["message"]) for c in s["details"]["causes"]]
