#!/usr/bin/env python3
"""A proxy before the hub that has authenticated its users, and names them in headers."""

import base64
import hashlib
import http.client
import json
import os
import shutil
import ssl
import subprocess

from muster_test import Fleet, check, main
from muster_test.client import Kubeconfig
from muster_test.issuer import run
from muster_test.programs import program
from muster_test.story import Skip

EVERYBODY = "system:authenticated"
CREDENTIAL = "authentication.kubernetes.io/credential-id"
# What openssl does not know by itself: kube-apiserver's attribute of a subject.
OPENSSL = """oid_section = oids
[oids]
kubernetesUID = 1.3.6.1.4.1.57683.2
[req]
distinguished_name = dn
[dn]
"""


def digest(path):
    with open(path, encoding="ascii") as f:
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(f.read())).hexdigest()


def authority(fleet, name):
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
        "/CN=" + name, "-keyout", fleet.path(name + ".key"), "-out", fleet.path(name + ".crt"))
    return fleet.path(name + ".crt"), fleet.path(name + ".key")


def certificate(fleet, name, subject, ca):
    """(certificate, key): files, for a client."""
    key, request, cert = (fleet.path(name + end) for end in (".key", ".csr", ".crt"))
    with open(fleet.path("openssl.cnf"), "w", encoding="ascii") as f:
        f.write(OPENSSL)
    run("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", key,
        "-out", request, "-config", fleet.path("openssl.cnf"))
    run("openssl", "x509", "-req", "-in", request, "-days", "1", "-CAcreateserial", "-CA", ca[0],
        "-CAkey", ca[1], "-out", cert)
    return cert, key


class Caller:
    """One TLS client; each call is a connection of its own."""

    def __init__(self, fleet, pair=None):
        self.port = int(fleet.hub.url.rsplit(":", 1)[1])
        self.context = ssl.create_default_context(
            cadata=base64.b64decode(Kubeconfig(fleet.hub.kubeconfig).ca).decode())
        if pair:
            self.context.load_cert_chain(*pair)

    def whoami(self, *headers):
        """What the hub takes the caller for, or the status code."""
        c = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        c.putrequest("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
        for name, value in (*headers, ("Content-Type", "application/json"),
                            ("Content-Length", "2")):
            c.putheader(name, value)
        c.endheaders(b"{}")
        answer = c.getresponse()
        body = json.loads(answer.read())
        c.close()
        return body["status"]["userInfo"] if answer.status == 201 else answer.status


def story_a_front_proxy(fleet):
    """Whom the proxy names is believed, and nobody else who sends its headers"""
    if not shutil.which("openssl"):
        raise Skip("the openssl program is not installed")
    ca = authority(fleet, "proxies")
    fleet.start_hub(config={"requestHeader": {"clientCAFile": ca[0], "allowedNames": ["front"]}})
    pki = os.path.join(fleet.hub.data, "pki")
    own = os.path.join(pki, "ca.crt"), os.path.join(pki, "ca.key")
    with open(os.path.join(pki, "admin.token"), encoding="ascii") as f:
        token = ("Authorization", "Bearer " + f.read().strip())
    eve, masters = ("X-Remote-User", "eve"), ("X-Remote-Group", "system:masters")

    front = Caller(fleet, certificate(fleet, "front", "/CN=front/O=system:masters", ca))
    for headers, want in (
            ([eve], {"username": "eve", "groups": [EVERYBODY]}),
            ([("x-other", "1"), ("x-remote-group", "a"), ("X-REMOTE-USER", "eve"),
              ("X-Remote-Group", "b c"), ("User-Agent", "proxy/1"), ("X-Other", "2")],
             {"username": "eve", "groups": ["a", "b c", EVERYBODY]}),
            ([eve, ("X-Remote-Extra-Acme.com%2Fteam", "t"), ("X-Remote-Extra-Scopes", "v"),
              ("X-Remote-Extra-Scopes", "w")],
             {"username": "eve", "groups": [EVERYBODY],
              "extra": {"acme.com/team": ["t"], "scopes": ["v", "w"]}}),
            ([eve, masters, ("Impersonate-User", "zoe"), ("Impersonate-Group", "z")],
             {"username": "zoe", "groups": ["z", EVERYBODY]}),
            ([eve, ("Impersonate-User", "zoe")], 403),
            ([eve, token], {"username": "eve", "groups": [EVERYBODY]}),
            ([masters, token], {"username": "muster-admin",
                                "groups": ["system:masters", EVERYBODY]}),
            ([masters], 401),
            ([], 401)):
        got = front.whoami(*headers)
        check(got == want, f"the proxy with {[name for name, _ in headers]}", got)

    back = Caller(fleet, certificate(fleet, "back", "/CN=back", ca))
    check(back.whoami(eve, masters) == 401, "a name that is not allowed is no proxy")
    alice = Caller(fleet, certificate(fleet, "alice", "/CN=alice/O=ml", own))
    got = alice.whoami(eve, masters)
    known = got.pop("extra")
    check(got == {"username": "alice", "groups": ["ml", EVERYBODY]},
          "a user of the hub's own CA stays who she is", got)
    check(known == {CREDENTIAL: ["X509SHA256=" + digest(fleet.path("alice.crt"))]},
          "and is known by her certificate", known)
    namesake = Caller(fleet, certificate(fleet, "namesake", "/CN=front", own))
    got = namesake.whoami(eve, masters)
    del got["extra"]
    check(got == {"username": "front", "groups": [EVERYBODY]}, "so does a proxy's namesake", got)
    for name, uids, want in (("one", ["42"], "42"), ("two", ["42", "43"], 401)):
        got = Caller(fleet, certificate(fleet, name, "/CN=carol" + "".join(
            f"/kubernetesUID={uid}" for uid in uids), own)).whoami()
        check((got if want == 401 else got["uid"]) == want, f"a certificate of {uids}", got)
    forger = Caller(fleet, certificate(fleet, "forger", "/CN=front", authority(fleet, "others")))
    check(forger.whoami(eve, masters) == 401, "a third CA's word counts for nothing")
    bare = Caller(fleet)
    got = bare.whoami(eve, token)
    check(got["username"] == "muster-admin", "without a certificate the headers are nothing", got)
    check(bare.whoami(eve, masters) == 401, "nor do they make anybody")


def story_a_ca_that_signs_users(fleet):
    """A proxies' CA that every user's certificate is of wants the proxies' names; it must be one"""
    fleet.start_hub()
    pki = os.path.join(fleet.hub.data, "pki")
    own = os.path.join(pki, "ca.crt"), os.path.join(pki, "ca.key")
    second = fleet.path("second")
    shutil.copytree(pki, os.path.join(second, "pki"))
    for setting, words in (({"clientCAFile": own[0]}, "requestHeader.allowedNames: must be given"),
                           ({"clientCAFile": fleet.path("none.crt")}, "none.crt"),
                           ({"clientCAFile": own[1]}, "holds no certificate")):
        path = fleet.path("bad.yaml")
        with open(path, "w", encoding="ascii") as f:
            json.dump({"requestHeader": setting, "listen": "127.0.0.1:0"}, f)
        done = subprocess.run([program("MUSTERD", "musterd"), "--config", path, "--data-dir",
                               second], capture_output=True, text=True, timeout=60)
        check(done.returncode == 1 and words in done.stderr, f"refused: {words}", done)


if __name__ == "__main__":
    main(globals(), Fleet)
