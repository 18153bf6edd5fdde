"""Reviews, refusals and the documents about tokens, as kube-apiserver 1.36 has them
(kubernetes-api.md 1.11 and 1.12). These tests pass against that server too."""

import base64
import hashlib
import json
import ssl

from client import Client
from session import CM, NS, Case, main

ACCESS = "/apis/authorization.k8s.io/v1"
LOCAL = ACCESS + "/namespaces/default/localsubjectaccessreviews"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PODS = {"verb": "get", "resource": "pods", "namespace": "default"}


def review(kind, metadata=None, **spec):
    o = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    if metadata is not None:
        o["metadata"] = metadata
    return o


class Reviews(Case):
    def fields(self, answer):
        s = self.fails(422, "Invalid", answer)
        return [(c["field"], c["message"].rsplit(": ", 1)[1]) for c in s["details"]["causes"]]

    def test_a_local_review_is_of_its_namespace(self):
        def ask(metadata=None, ns="default", **attributes):
            return self.client.post(
                ACCESS + f"/namespaces/{ns}/localsubjectaccessreviews",
                review("LocalSubjectAccessReview", metadata, user="x",
                       resourceAttributes={**PODS, **attributes}))
        for metadata in (None, {}, {"namespace": ""}, {"namespace": "default"},
                         {"creationTimestamp": None}):
            r = self.must(201, ask(metadata))
            self.assertEqual((r["metadata"]["namespace"], r["status"]),
                             ("default", {"allowed": False}))
        r = self.must(201, ask(ns="nowhere", namespace="nowhere"))
        self.assertEqual(r["metadata"]["namespace"], "nowhere")
        s = self.fails(400, "BadRequest", ask({"namespace": "other"}))
        self.assertEqual(s["message"], "the namespace of the provided object does not match the "
                                       "namespace sent on the request")
        for ns in ("other", ""):
            self.assertEqual(self.fields(ask(namespace=ns)), [
                ("spec.resourceAttributes.namespace", "must match metadata.namespace")])
        self.assertEqual(self.fields(ask({"name": "x"}, namespace="other")), [
            ("metadata", "must be empty except for namespace"),
            ("spec.resourceAttributes.namespace", "must match metadata.namespace")])
        self.assertEqual(self.fields(self.client.post(LOCAL, review(
            "LocalSubjectAccessReview", nonResourceAttributes={"verb": "get", "path": "/x"}))), [
                ("spec.user", "at least one of user or group must be specified"),
                ("spec.nonResourceAttributes", "disallowed on this kind of request")])

    def test_a_review_has_no_metadata(self):
        for kind, path, spec in (
                ("SubjectAccessReview", "/subjectaccessreviews", {"user": "x"}),
                ("SelfSubjectAccessReview", "/selfsubjectaccessreviews", {})):
            for metadata in ({"name": "n"}, {"generateName": "n"}, {"labels": {"a": "b"}},
                             {"generation": 1}, {"finalizers": ["a.b/c"]}):
                self.assertEqual(self.fields(self.client.post(ACCESS + path, review(
                    kind, metadata, resourceAttributes=PODS, **spec))), [
                        ("metadata", "must be empty")])
            for metadata in ({"creationTimestamp": None}, {"name": "", "labels": {}}):
                self.must(201, self.client.post(ACCESS + path, review(
                    kind, metadata, resourceAttributes=PODS, **spec)))

    def test_a_token_must_be_given(self):
        s = self.fails(400, "BadRequest", self.client.post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {}}))
        self.assertEqual(s["message"], "token is required for TokenReview in authentication")


class Refusals(Case):
    def test_a_refusal_names_what_a_field_selector_asks_for(self):
        for selector, name in (("metadata.name=one", "one"), ("metadata.name!=one", None),
                               ("metadata.namespace=default,metadata.name=one", "one")):
            s = self.fails(403, "Forbidden", self.client.get(
                CM, fieldSelector=selector, headers={"Impersonate-User": "nobody"}))
            self.assertEqual(s["details"], {"name": name, "kind": "configmaps"} if name
                             else {"kind": "configmaps"})


class Impersonation(Case):
    def test_whoever_is_said_to_be_has_a_name(self):
        for more in ({"Impersonate-Group": "a"}, {"Impersonate-Uid": "7"},
                     {"Impersonate-Extra-Scopes": "v"}, {"Impersonate-Extra-a.b%2Fc": ""},
                     {"X-Other": "y", "Impersonate-Extra-Scopes": "v", "X-More": "z"}):
            s = self.fails(400, "BadRequest", self.client.get(CM, headers=more))
            self.assertIn("without impersonating a user", s["message"])
            # What an earlier request of the connection said is not said again.
            self.must(200, self.client.get(CM))
            self.must(200, self.client.get(CM, headers={**more, "Impersonate-User": "admin",
                                                        "Impersonate-Group": "system:masters"}))
            self.must(200, self.client.get(CM, headers={"X-Other": "y"}))
        self.must(200, self.client.get(CM, headers={"X-Other": "Impersonate-Extra-Scopes: v"}))


class Credentials(Case):
    """1.12: what a user is known by besides the name."""

    ID = "authentication.kubernetes.io/credential-id"

    def whoami(self, client):
        return self.must(201, client.post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}))[
                "status"]["userInfo"]

    def test_a_certificate_by_its_digest(self):
        der = ssl.PEM_cert_to_DER_cert(self.server.text("pki/admin.crt"))
        user = self.whoami(self.client)
        self.assertEqual((user.get("uid"), user["extra"]), (None, {
            self.ID: ["X509SHA256=" + hashlib.sha256(der).hexdigest()]}))

    def test_a_token_by_its_id(self):
        account = NS + "serviceaccounts/known"
        self.client.post(NS + "serviceaccounts", {"metadata": {"name": "known"}})
        token = self.must(201, self.client.post(account + "/token", {}))["status"]["token"]
        claims = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        want = {self.ID: ["JTI=" + claims["jti"]]}
        client = Client(self.server, token=token)
        self.assertEqual(self.whoami(client)["extra"], want)
        client.close()
        review = self.must(201, self.client.post(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
             "spec": {"token": token}}))
        self.assertEqual(review["status"]["user"]["extra"], want)


class Roles(Case):
    def test_who_may_not_do_everything_aggregates_nothing(self):
        def role(name, rules, **more):
            return {"apiVersion": RBAC[6:], "kind": "ClusterRole", "metadata": {"name": name},
                    "rules": rules, **more}
        self.must(201, self.client.post(RBAC + "/clusterroles", role("maker", [
            {"verbs": ["create"], "apiGroups": [RBAC[6:-3]], "resources": ["clusterroles"]}])))
        self.must(201, self.client.post(RBAC + "/clusterrolebindings", {
            "apiVersion": RBAC[6:], "kind": "ClusterRoleBinding", "metadata": {"name": "maker"},
            "roleRef": {"apiGroup": RBAC[6:-3], "kind": "ClusterRole", "name": "maker"},
            "subjects": [{"kind": "User", "apiGroup": RBAC[6:-3], "name": "mo"}]}))
        rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        refusal = "must have cluster-admin privileges to use the aggregationRule"
        words = None
        while words is None or "cannot create resource" in words:  # until the grant is known
            s = self.fails(403, "Forbidden", self.client.post(
                RBAC + "/clusterroles", role("sum", [], aggregationRule=rule),
                headers={"Impersonate-User": "mo"}))
            words = s["message"]
        self.assertEqual(words, 'clusterroles.rbac.authorization.k8s.io "sum" is forbidden: '
                         + refusal)


class Tokens(Case):
    def test_their_documents_may_be_kept_for_an_hour(self):
        for path, kind in (("/openid/v1/jwks", "application/jwk-set+json"),
                           ("/.well-known/openid-configuration", "application/json")):
            status, headers, _ = self.client.request("GET", path)
            self.assertEqual((status, headers["Content-Type"], headers.get_all("Cache-Control")),
                             (200, kind, ["public, max-age=3600"]))
        _, headers, _ = self.client.request("GET", "/version")
        self.assertEqual(headers.get_all("Cache-Control"), ["no-cache, private"])


if __name__ == "__main__":
    main()
