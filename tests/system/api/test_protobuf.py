"""Protobuf bodies over the wire (kubernetes-api.md 1.3): of every built-in kind that takes writes,
the same object comes of them as of JSON."""

import copy

from protobuf import encode, envelope, field
from session import CM, JOBS, NS, Case, config_map, main, pytorch_job

MEDIA = "application/vnd.kubernetes.protobuf"
TIME, MICRO = "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901Z"
BATCH = "/apis/batch/v1/namespaces/default/"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"
SELECTOR = {"matchLabels": {"a": "b"},
            "matchExpressions": [{"key": "c", "operator": "In", "values": ["d", "e"]}]}
CLAIM = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeMode": "Filesystem",
         "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
         "selector": SELECTOR}
RULES = [{"verbs": ["get", "list"], "apiGroups": ["", "batch"], "resources": ["jobs", "pods"],
          "resourceNames": ["one"]}]
SUBJECTS = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "u"},
            {"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
CONTAINER = {
    "name": "main", "image": "registry.example/train:1", "command": ["sh", "-c"], "args": ["true"],
    "workingDir": "/", "stdin": True, "tty": True, "imagePullPolicy": "Always",
    "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {
        "secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
                                                         "divisor": "1m"}}}],
    "envFrom": [{"prefix": "P_", "configMapRef": {"name": "c", "optional": False}}],
    "ports": [{"name": "web", "containerPort": 8080, "protocol": "TCP"}],
    "resources": {"requests": {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "8"},
                  "limits": {"nvidia.com/gpu": "8"}, "claims": [{"name": "gpu"}]},
    "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "x"}],
    "livenessProbe": {"httpGet": {"path": "/", "port": "web", "scheme": "HTTPS",
                                  "httpHeaders": [{"name": "X", "value": ""}]},
                      "periodSeconds": 5, "terminationGracePeriodSeconds": 1},
    "readinessProbe": {"tcpSocket": {"port": 8080}},
    "startupProbe": {"grpc": {"port": 9000, "service": ""}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 0}}, "postStart": {"exec": {"command": ["a"]}}},
    "securityContext": {"runAsUser": 0, "privileged": False,
                        "capabilities": {"drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"}}}
POD = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "first", "image": "i:1", "restartPolicy": "Always"}],
    "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "nodeSelector": {"zone": "a"},
    "serviceAccountName": "default", "priorityClassName": "high", "hostNetwork": True,
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
                {"name": "tmp", "emptyDir": {}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
                {"name": "all", "projected": {"defaultMode": 420, "sources": [
                    {"serviceAccountToken": {"path": "t", "expirationSeconds": 600}},
                    {"downwardAPI": {"items": [{"path": "l", "fieldRef": {
                        "fieldPath": "metadata.labels"}}]}}]}},
                {"name": "own", "ephemeral": {"volumeClaimTemplate": {
                    "metadata": {"labels": {"x": "y"}}, "spec": CLAIM}}}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "Exists"}]}]}},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "host", "labelSelector": SELECTOR}}]}},
    "tolerations": [{"key": "t", "operator": "Exists", "effect": "NoExecute",
                     "tolerationSeconds": 0}],
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                                   "whenUnsatisfiable": "DoNotSchedule"}],
    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
    "schedulingGates": [{"name": "wait"}], "dnsConfig": {"options": [{"name": "ndots",
                                                                     "value": ""}]}}

# (collection, object, paths that the server makes for itself)
OBJECTS = [
    (CM, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v", "e": ""},
          "binaryData": {"b": "AP8="}, "immutable": False}),
    (NS + "secrets", {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
                      "data": {"k": "AP8="}, "stringData": {"s": "text"}, "immutable": True}),
    ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace"}),
    (NS + "serviceaccounts", {
        "apiVersion": "v1", "kind": "ServiceAccount", "secrets": [{"name": "s"}],
        "imagePullSecrets": [{"name": "p"}], "automountServiceAccountToken": False}),
    (NS + "persistentvolumeclaims", {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                                     "spec": CLAIM}),
    (NS + "podtemplates", {"apiVersion": "v1", "kind": "PodTemplate", "template": {
        "metadata": {"labels": {"l": "v"}, "annotations": {"a": ""}}, "spec": POD}}),
    (NS + "events", {
        "apiVersion": "v1", "kind": "Event", "reason": "Because", "message": "words",
        "involvedObject": {"kind": "Job", "namespace": "default", "name": "j", "uid": "u"},
        "source": {"component": "c", "host": "h"}, "firstTimestamp": TIME, "lastTimestamp": TIME,
        "count": 3, "type": "Warning", "eventTime": MICRO, "action": "Do",
        "series": {"count": 2, "lastObservedTime": MICRO}, "reportingComponent": "x.example/c",
        "reportingInstance": "c-0"}),
    ("/apis/events.k8s.io/v1/namespaces/default/events", {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "reason": "Because", "note": "words",
        "regarding": {"kind": "Job", "namespace": "default", "name": "j"}, "type": "Normal",
        "related": {"kind": "Pod", "name": "p"}, "eventTime": MICRO, "action": "Do",
        "reportingController": "x.example/c", "reportingInstance": "c-0"}),
    (BATCH + "jobs", {"apiVersion": "batch/v1", "kind": "Job", "spec": {
        "parallelism": 2, "completions": 2, "completionMode": "Indexed", "suspend": True,
        "backoffLimit": 0, "activeDeadlineSeconds": 600, "ttlSecondsAfterFinished": 0,
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {
            "operator": "In", "values": [1, 42]}}]},
        "template": {"metadata": {"labels": {"l": "v"}}, "spec": POD}}}),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {
            "holderIdentity": "", "leaseDurationSeconds": 15, "acquireTime": MICRO,
            "renewTime": MICRO, "leaseTransitions": 0}}),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": -7,
        "description": "words", "preemptionPolicy": "Never"}),
    (RBAC + "namespaces/default/roles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": RULES}),
    (RBAC + "namespaces/default/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "subjects": SUBJECTS,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "view"}}),
    (RBAC + "clusterroles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "rules": RULES + [{"verbs": ["get"], "nonResourceURLs": ["/healthz"]}]}),
    (RBAC + "clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "subjects": SUBJECTS[:1], "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                                              "kind": "ClusterRole", "name": "view"}}),
]
ASK = {"namespace": "default", "verb": "get", "group": "batch", "version": "*", "resource": "jobs",
       "subresource": "status", "name": "j"}
EXTRA = {"example.com/why": ["a", "b"]}
REVIEWS = [
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": ASK}}),
    ("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}, "user": "nobody",
                 "groups": ["system:authenticated"], "uid": "u", "extra": EXTRA}}),
    ("/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview",
        "metadata": {"namespace": "default"},
        "spec": {"resourceAttributes": ASK, "user": "nobody", "extra": EXTRA}}),
    ("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": "default"}}),
    ("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
    ("/apis/authentication.k8s.io/v1/tokenreviews", {
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": "no.such.token", "audiences": ["a"]}}),
]


def with_name(o, name):
    o = copy.deepcopy(o)
    o["metadata"] = {"name": name, "labels": {"l": "v", "empty": ""},
                     "annotations": {"example.com/a": "\u00fc \"q\" \n"},
                     "finalizers": ["example.com/f"] if o["kind"] != "Namespace" else []}
    if not o["metadata"]["finalizers"]:
        del o["metadata"]["finalizers"]
    return o


def stripped(o):
    """Without what the server makes new for every object."""
    o = copy.deepcopy(o)
    for key in ("name", "uid", "resourceVersion", "creationTimestamp", "managedFields"):
        o["metadata"].pop(key, None)
    o["metadata"].get("labels", {}).pop("kubernetes.io/metadata.name", None)
    template = o.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
    selector = o.get("spec", {}).get("selector", {}).get("matchLabels", {})
    for labels in (template, selector):
        for key in ("batch.kubernetes.io/controller-uid", "controller-uid", "job-name",
                    "batch.kubernetes.io/job-name"):
            labels.pop(key, None)
    return o


class Sender(Case):
    maxDiff = None

    def send(self, method, path, body, **params):
        return self.client.call(method, path, body, content_type=MEDIA, **params)


class Bodies(Sender):
    def test_every_kind_is_created_and_replaced_as_by_json(self):
        for path, o in OBJECTS:
            with self.subTest(kind=o["kind"], path=path):
                tag = "events-" if "events.k8s.io" in path else ""
                text, wire = with_name(o, tag + "text"), with_name(o, tag + "wire")
                want = self.must(201, self.client.post(path, text))
                got = self.must(201, self.send("POST", path, encode(wire)))
                self.assertEqual(stripped(got), stripped(want))
                read = self.must(200, self.client.get(path + "/" + wire["metadata"]["name"]))
                self.assertEqual(read, got)
                if o["kind"] == "Job":
                    continue
                for each in text, wire:
                    each["metadata"]["labels"] = {"l": "w"}
                want = self.must(200, self.client.put(
                    path + "/" + text["metadata"]["name"], text))
                got = self.must(200, self.send("PUT", path + "/" + wire["metadata"]["name"],
                                               encode(wire)))
                self.assertEqual(stripped(got), stripped(want))

    def test_every_review_is_answered_as_in_json(self):
        for path, o in REVIEWS:
            with self.subTest(kind=o["kind"]):
                want = self.must(201, self.client.post(path, o))
                got = self.must(201, self.send("POST", path, encode(o)))
                for each in got, want:
                    each.get("metadata", {}).pop("creationTimestamp", None)
                self.assertEqual(got, want)

    def test_a_token_is_asked_for(self):
        o = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {
            "audiences": ["me"], "expirationSeconds": 1200}}
        got = self.must(201, self.send("POST", NS + "serviceaccounts/default/token", encode(o)))
        self.assertEqual((got["spec"]["audiences"], got["spec"]["expirationSeconds"]),
                         (["me"], 1200))
        self.assertTrue(got["status"]["token"])

    def test_a_status_is_replaced(self):
        o = with_name(dict(OBJECTS)[BATCH + "jobs"], "status")
        made = self.must(201, self.send("POST", BATCH + "jobs", encode(o)))
        made["metadata"].pop("managedFields", None)
        made["status"] = {"active": 1, "startTime": TIME, "ready": 0, "conditions": [
            {"type": "Suspended", "status": "False", "lastTransitionTime": TIME}],
            "uncountedTerminatedPods": {"succeeded": ["a"]}}
        got = self.must(200, self.send("PUT", BATCH + "jobs/status/status", encode(made)))
        self.assertEqual(got["status"], made["status"])

    def test_a_definition_is_created_and_its_objects_scaled(self):
        def definition(plural):
            return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                    "metadata": {"name": plural + ".example.com"},
                    "spec": {"group": "example.com", "scope": "Namespaced", "names": {
                        "plural": plural, "kind": plural.capitalize(), "shortNames": [plural[:2]]},
                        "versions": [{"name": "v1", "served": True, "storage": True,
                                      "subresources": {"status": {}, "scale": {
                                          "specReplicasPath": ".spec.n",
                                          "statusReplicasPath": ".status.n"}},
                                      "additionalPrinterColumns": [
                                          {"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
                                      "schema": {"openAPIV3Schema": schema}}]}}
        schema = {"type": "object", "properties": {
            "spec": {"type": "object", "required": ["n"], "properties": {
                "n": {"type": "integer", "minimum": 0, "default": 1},
                "list": {"type": "array", "items": {"type": "string", "pattern": "^a"},
                         "x-kubernetes-list-type": "set"},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "all": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        want = self.must(201, self.client.post(crds, definition("texts")))
        got = self.must(201, self.send("POST", crds, encode(definition("wires"))))
        self.assertEqual(got["spec"]["versions"], want["spec"]["versions"])
        wires = "/apis/example.com/v1/namespaces/default/wires"
        o = {"apiVersion": "example.com/v1", "kind": "Wires", "metadata": {"name": "w"},
             "spec": {"n": 1}}
        while self.client.post(wires, o)[0] == 404:
            pass
        got = self.must(200, self.client.get(wires + "/w/scale"))
        for revision, code in (("1", 409), (got["metadata"]["resourceVersion"], 200)):
            got["spec"]["replicas"] = 5
            got["metadata"]["resourceVersion"] = revision
            self.must(code, self.send("PUT", wires + "/w/scale", encode(got)))
        self.assertEqual(self.must(200, self.client.get(wires + "/w"))["spec"], {"n": 5})

    def test_options_of_a_delete_are_read(self):
        for name, options, code in (
                ("wrong", {"preconditions": {"uid": "nope"}}, 409),
                ("dry", {"dryRun": ["All"]}, 200),
                ("gone", {"gracePeriodSeconds": 0, "propagationPolicy": "Foreground"}, 200)):
            self.must(201, self.client.post(CM, config_map(name)))
            self.must(code, self.send("DELETE", CM + "/" + name, encode(
                {"apiVersion": "v1", "kind": "DeleteOptions", **options})))
            status, _ = self.client.get(CM + "/" + name)
            self.assertEqual(status, 404 if name == "gone" else 200)

    def test_fields_of_later_versions_are_passed_over(self):
        more = envelope("v1", "ConfigMap", field(1, field(1, "later")) + field(1000, 7) +
                        field(1001, "words")) + field(9, "more")
        self.must(201, self.send("POST", CM, more))


class Refusals(Sender):
    """What cannot be read is 400, what is not taken in protobuf 415; the words say which."""

    def test_every_cut_is_refused(self):
        for path, o in OBJECTS:
            body = encode(with_name(o, "cut"))
            for n in range(0, len(body) - 4, 1 + len(body) // 30):
                with self.subTest(kind=o["kind"], cut=n):
                    status, s = self.send("POST", path, body[:n], dryRun="All")
                    self.assertIn((status, s["reason"]), [(400, "BadRequest"), (422, "Invalid")])

    def test_another_kind_than_the_paths_is_refused(self):
        for path, o in OBJECTS:
            other = {"apiVersion": "v1", "kind": "Secret"} if o["kind"] != "Secret" else \
                {"apiVersion": "v1", "kind": "ConfigMap"}
            with self.subTest(kind=o["kind"]):
                s = self.fails(400, "BadRequest", self.send(
                    "POST", path, encode(with_name(other, "other"))))
                # As for JSON: the version is looked at first.
                self.assertRegex(s["message"], other["kind"] + r"|data \(v1\) does not match")

    def test_kinds_without_protobuf_are_unsupported(self):
        job = pytorch_job("custom")
        s = self.fails(415, "UnsupportedMediaType", self.send("POST", JOBS, envelope(
            job["apiVersion"], job["kind"], b"")))
        self.assertIn("PyTorchJob", s["message"])
        self.assertIn("send JSON", s["message"])

    def test_patches_in_protobuf_are_unsupported(self):
        self.must(201, self.client.post(CM, config_map("patched")))
        self.fails(415, "UnsupportedMediaType", self.send(
            "PATCH", CM + "/patched", encode(config_map("patched"))))

    def test_what_is_not_protobuf_is_said_to_be(self):
        s = self.fails(400, "BadRequest", self.send("POST", CM, b'{"kind":"ConfigMap"}'))
        self.assertIn("protobuf", s["message"])
        self.fails(400, "BadRequest", self.send("POST", CM, envelope(
            "v1", "ConfigMap", field(1, field(1, b"\xff\xfe")))))


if __name__ == "__main__":
    main()
