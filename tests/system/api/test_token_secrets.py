"""Secrets that hold the token of a ServiceAccount (Kubernetes' tokens controller)."""

import base64
import json

from client import Client
from session import Case, NS, main

ACCOUNTS, SECRETS = NS + "serviceaccounts", NS + "secrets"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def secret(name, account, **annotations):
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
            "metadata": {"name": name, "annotations": {NAME: account, **annotations}}}


def plain(data, key):
    return base64.b64decode(data[key]).decode()


class TokenSecrets(Case):
    def account(self, name):
        return self.must(201, self.client.post(ACCOUNTS, {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}))

    def begin(self, body):
        """A watch of the Secret, from its creation on."""
        events = self.client.watch(SECRETS, fieldSelector="metadata.name=" +
                                   body["metadata"]["name"])
        self.addCleanup(events.close)
        made = self.must(201, self.client.post(SECRETS, body))
        self.assertNotIn("data", made) # who may create Secrets may not read them by that
        return events

    def filled(self, events, but=None):
        def is_it(e):
            token = (e["object"].get("data") or {}).get("token")
            return token and token != but
        return events.until(is_it)[-1]["object"]

    def who(self, token):
        client = Client(self.server, token=token)
        try:
            status, body = client.post(REVIEWS, {"apiVersion": "authentication.k8s.io/v1",
                                                 "kind": "SelfSubjectReview"})
        finally:
            client.close()
        return body["status"]["userInfo"]["username"] if status == 201 else status

    def test_it_is_filled(self):
        account = self.account("full")
        o = self.filled(self.begin(secret("full-token", "full")))
        self.assertEqual(plain(o["data"], "namespace"), "default")
        self.assertEqual(o["metadata"]["annotations"][UID], account["metadata"]["uid"])
        token = plain(o["data"], "token")
        claims = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        self.assertNotIn("exp", claims)
        self.assertEqual(claims["sub"], "system:serviceaccount:default:full")
        self.assertEqual(claims["kubernetes.io"]["secret"], {
            "name": "full-token", "uid": o["metadata"]["uid"]})
        self.assertEqual(self.who(token), "system:serviceaccount:default:full")
        entry = [e for e in o["metadata"]["managedFields"] if e["manager"] == "musterd"]
        self.assertEqual(set(entry[0]["fieldsV1"]["f:data"]), {".", "f:namespace", "f:token"})

    def test_the_token_ends_with_the_secret(self):
        self.account("ends")
        events = self.begin(secret("ends-token", "ends"))
        token = plain(self.filled(events)["data"], "token")
        self.assertEqual(self.who(token), "system:serviceaccount:default:ends")
        self.must(200, self.client.delete(SECRETS + "/ends-token"))
        self.assertEqual(self.who(token), 401)

    def test_what_is_taken_out_is_revoked_and_made_anew(self):
        self.account("anew")
        events = self.begin(secret("anew-token", "anew"))
        old = self.filled(events)["data"]["token"]
        self.must(200, self.client.patch(SECRETS + "/anew-token", {"data": {"token": None}}))
        new = self.filled(events, but=old)
        self.assertEqual(self.who(plain({"t": old}, "t")), 401)
        self.assertEqual(self.who(plain(new["data"], "token")),
                         "system:serviceaccount:default:anew")

    def test_it_goes_with_its_account(self):
        self.account("gone")
        events = self.begin(secret("gone-token", "gone"))
        token = plain(self.filled(events)["data"], "token")
        self.must(200, self.client.delete(ACCOUNTS + "/gone"))
        self.assertEqual(self.who(token), 401)
        events.until(lambda e: e["type"] == "DELETED")

    def test_one_of_no_account_goes_at_once(self):
        events = self.begin(secret("lost-token", "lost"))
        events.until(lambda e: e["type"] == "DELETED")
        self.account("other")
        events = self.begin(secret("other-token", "other", **{UID: "not-its"}))
        events.until(lambda e: e["type"] == "DELETED")

    def test_a_dry_run_makes_none(self):
        self.account("dry")
        o = self.must(201, self.client.post(SECRETS, secret("dry-token", "dry"), dryRun="All"))
        self.assertNotIn("data", o)


if __name__ == "__main__":
    main()
