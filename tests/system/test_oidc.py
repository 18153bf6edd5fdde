#!/usr/bin/env python3
"""Users of an OpenID Connect issuer: names and groups, keys that come late and change, and the
tokens that must not be good."""

import json
import os
import time

from muster_test import Failure, Fleet, check, main
from muster_test.client import Client, Kubeconfig, Unreachable, until
from muster_test.issuer import Issuer, base64url
from muster_test.kubectl import Kubectl
from muster_test.programs import write_kubeconfig

REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def kubectl_with(fleet, token):
    path = write_kubeconfig(fleet.path("kubeconfig-user"), fleet.hub.url,
                            Kubeconfig(fleet.hub.kubeconfig).ca, {"token": token})
    found = [k for k in fleet.kubectls() if k.version == "PATH"][0]
    return Kubectl("PATH", found.path, path, fleet.path("home"))


class Asker:
    """Asks the hub who it is, with one token after the other."""

    def __init__(self, fleet):
        path = write_kubeconfig(fleet.path("kubeconfig-nobody"), fleet.hub.url,
                                Kubeconfig(fleet.hub.kubeconfig).ca, {})
        self.client = Client(path)

    def __call__(self, token):
        """The user, or None with a 401."""
        code, _, body = self.client.raw("POST", REVIEWS, {
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
            headers={"Authorization": "Bearer " + token})
        if code not in (201, 401):
            raise Failure(f"{code}: {body}")
        return json.loads(body)["status"]["userInfo"] if code == 201 else None

    def name(self, token):
        user = self(token)
        return user and user["username"]


def settings(issuer, **more):
    return {"oidc": {"issuer": issuer.url, "clientId": "muster", "caFile": issuer.cert, **more}}


def story_names_and_groups(fleet):
    """Users come with their names and groups, and may what their groups may"""
    issuer = Issuer(fleet)
    fleet.start_hub(config=settings(issuer, usernameClaim="email", groupsClaim="groups",
                                    groupsPrefix="oidc:"))
    admin = [k for k in fleet.kubectls() if k.version == "PATH"][0]
    admin("create", "clusterrolebinding", "ml", "--clusterrole=muster:viewer", "--group=oidc:ml")
    ask = Asker(fleet)
    until("the issuer's keys are there", lambda: ask(issuer.token("one")))
    jo = kubectl_with(fleet, issuer.token("one"))
    user = json.loads(jo("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    check(user["username"] == "jo@example.com" and
          user["groups"] == ["oidc:ml", "system:authenticated"], "name and groups", user)
    jo("get", "pytorchjobs", "-A")
    done = jo.run("create", "configmap", "x")
    check(done.returncode == 1 and "forbidden" in done.stderr, "no more than the group may", done)
    check(ask(issuer.token("one", groups="ml"))["groups"] == ["oidc:ml", "system:authenticated"],
          "groups may be one text")
    check(ask(issuer.token("one", groups=None))["groups"] == ["system:authenticated"], "or none")
    many = [f"group-{i}" for i in range(200)]
    check(len(ask(issuer.token("one", groups=many))["groups"]) == 201, "or two hundred")
    check(ask(issuer.token("one", groups={"x": "admin"})) is None, "but not a map")
    check(ask(issuer.token("one", email_verified=True)), "a verified email")
    check(ask(issuer.token("one", email_verified=False)) is None, "not one that is not")
    issuer.stop()


def story_what_is_no_token(fleet):
    """Tokens that must not be good are not, whichever way they are wrong"""
    issuer = Issuer(fleet)
    issuer.new_key("p256", "ES256")
    issuer.new_key("p384", "ES384")
    fleet.start_hub(config=settings(issuer, usernamePrefix="-", requiredClaims=["hd=x.example"]))
    ask, now = Asker(fleet), int(time.time())

    def token(kid="one", alg="RS256", **more):
        return issuer.token(kid, alg, **{"hd": "x.example", **more})
    until("the issuer's keys are there", lambda: ask(token()))
    for kid, algorithms in (("one", ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
                            ("p256", ("ES256",)), ("p384", ("ES384",))):
        for alg in algorithms:
            check(ask.name(token(kid, alg)) == "jo", f"{alg} is good")
    check(ask.name(token(aud=["other", "muster"])) == "jo", "one audience of several")
    head, claims, signature = token().split(".")
    other = token(sub="admin").split(".")
    for what, text in {
            "no algorithm": token(alg="none"),
            "no algorithm, with a signature": token(alg="none") + signature,
            "a public key as a shared secret": token(alg="HS256"),
            "an algorithm of another key": token("one", header={"alg": "ES256"}),
            "an unknown algorithm": token(header={"alg": "RS1"}),
            "critical headers": token(header={"crit": ["exp"]}),
            "another issuer": token(iss="https://other.example"),
            "the issuer with a slash": token(iss=issuer.url + "/"),
            "another audience": token(aud="other"),
            "no audience": token(aud=None),
            "an audience that is no text": token(aud={"muster": True}),
            "a token that has ended": token(exp=now - 60),
            "a token without an end": token(exp=None),
            "an end that is no number": token(exp="9999999999"),
            "a token of tomorrow": token(nbf=now + 86400),
            "no name": token(sub=None),
            "an empty name": token(sub=""),
            "a name of the system": token(sub="system:admin"),
            "another value of a required claim": token(hd="x.example.evil"),
            "no required claim": token(hd=None),
            "claims of another token": ".".join((head, other[1], signature)),
            "a signature of zeros": ".".join((head, claims, base64url(bytes(256)))),
            "no signature": head + "." + claims + ".",
            "a cut signature": ".".join((head, claims, signature[:-4])),
            "a fourth part": token() + ".x",
            "padding": token() + "=",
            "20 KB of claims": token(more="x" * 15000)}.items():
        check(ask(text) is None, what + " is refused")
    try:
        code, _, _ = ask.client.raw("POST", REVIEWS, {}, headers={
            "Authorization": "Bearer " + token(more="x" * 40000)})
    except Unreachable:  # closed without an answer, as after any header block beyond the limit
        code = 431
    check(code in (401, 431), "headers beyond their limit are refused", code)
    check(ask.name(token()) == "jo", "and good ones are still good")
    issuer.stop()


def story_keys_change(fleet):
    """Keys are asked for anew when a token shows one; what was withdrawn is good no longer"""
    issuer = Issuer(fleet)
    fleet.start_hub(config=settings(issuer, jwksUrl=issuer.url + "/keys"))
    ask = Asker(fleet)
    old = issuer.token("one")
    until("the issuer's keys are there", lambda: ask(old))
    check(ask.name(old) == issuer.url + "#jo", "the issuer stands before the name", ask(old))
    asked, since = issuer.asked, time.monotonic()
    unknown = issuer.token("one", header={"kid": "nobody"})
    check(not any(ask(unknown) for _ in range(50)), "a key that nobody knows is refused")
    most = 2 + (time.monotonic() - since) // 10
    check(issuer.asked <= asked + most, "and does not make the hub ask each time",
          issuer.asked - asked)
    issuer.new_key("two")
    until("the new key is found", lambda: ask(issuer.token("two")))
    check(ask(old), "the old one is still there")
    del issuer.keys["one"]
    issuer.new_key("two")  # the name of one that is known
    until("the key behind a name is found", lambda: ask(issuer.token("two")))
    check(ask(old) is None, "a key that was withdrawn is good no longer")
    issuer.stop()


def story_keys_come_late(fleet):
    """The hub starts without its issuer, and takes its users as soon as that is there"""
    issuer = Issuer(fleet, start=False)
    fleet.start_hub(config=settings(issuer))
    ask = Asker(fleet)
    check(ask(issuer.token("one")) is None, "nobody is known while the issuer is down")
    fleet.client.list("configmaps", "default")
    issuer.start()
    until("the issuer's users are known", lambda: ask(issuer.token("one")))
    token = issuer.token("one")
    issuer.stop()
    check(ask(token) and ask(issuer.token("one", sub="jane")),
          "and stay known when it is down again")


def story_keys_in_a_file(fleet):
    """Keys may stand in a file, which may come late and change"""
    issuer = Issuer(fleet, start=False)
    path = fleet.path("keys.json")

    def write(text):
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(path + ".new", path)
    fleet.start_hub(config=settings(issuer, jwksFile=path))
    ask = Asker(fleet)
    check(ask(issuer.token("one")) is None, "nobody is known without the file")
    write(json.dumps(issuer.key_set()))
    until("the file is read", lambda: ask(issuer.token("one")))
    token = issuer.token("one")
    check(ask(token), "a user is known")
    write("{\"keys\": [")
    check(ask(issuer.token("one", header={"kid": "other"})) is None, "a key that is not there")
    check(ask(token), "a file that is cut changes nothing")
    issuer.new_key("two")
    del issuer.keys["one"]
    write(json.dumps(issuer.key_set()))
    until("the file is read again", lambda: ask(issuer.token("two")))
    check(ask(token) is None, "what is not there any more is good no longer")


if __name__ == "__main__":
    main(globals(), Fleet)
