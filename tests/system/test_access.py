#!/usr/bin/env python3
"""Who may do what, with the real kubectl: roles, refusals, reviews, tokens, impersonation."""

import base64
import http.client
import json
import os
import shutil
import ssl
import subprocess

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import Kubeconfig, until
from muster_test.issuer import run
from muster_test.kubectl import Kubectl
from muster_test.programs import program, write_kubeconfig
from muster_test.story import Skip
from muster_test.users import newest, refused

RBAC = "rbac.authorization.k8s.io"


def job(name, namespace):
    return json.dumps(make.pytorch_job(name, workers=0, duration="1s", cpu="1", gpus=0,
                                       namespace=namespace))


def with_token(fleet, token, version="PATH"):
    """A kubectl that has nothing but this token."""
    c = Kubeconfig(fleet.hub.kubeconfig)
    path = write_kubeconfig(fleet.path(f"kubeconfig-{abs(hash(token))}"), fleet.hub.url, c.ca,
                            {"token": token})
    found = [k for k in fleet.kubectls() if k.version == version]
    return Kubectl(version, found[0].path, path, fleet.path("home"))


def muster_as(kubectl, *args):
    return subprocess.run([program("MUSTER", "deploy/cli/muster"), *args], capture_output=True,
                          text=True, timeout=60,
                          env=kubectl.env)


def story_a_submitter(fleet):
    """A submitter sends jobs in their namespace, and is told in Kubernetes' words where not"""
    fleet.start_hub()
    admin = newest(fleet)
    for ns in ("team", "other"):
        admin("create", "namespace", ns)
    admin("create", "serviceaccount", "sam", "-n", "team")
    admin("create", "rolebinding", "sam", "--clusterrole=muster:submitter",
          "--serviceaccount=team:sam", "-n", "team")
    token = admin("create", "token", "sam", "-n", "team", "--duration=1h").strip()
    check(token.count(".") == 2, "create token gives a JSON Web Token")
    sam = with_token(fleet, token)
    who = "system:serviceaccount:team:sam"

    shown = sam("auth", "whoami", "-o", "json")
    user = json.loads(shown)["status"]["userInfo"]
    check(user["username"] == who and "system:serviceaccounts:team" in user["groups"] and
          "system:authenticated" in user["groups"] and user["uid"], "auth whoami knows them", user)

    sam("create", "-f", "-", stdin=job("train", "team"))
    check("train" in sam("get", "pytorchjobs", "-n", "team", "-o", "name"),
          "a job can be created and seen in the namespace")
    check(muster_as(sam, "jobs", "-n", "team", "-o", "json").stdout.count('"train"') == 1,
          "muster jobs shows it")
    check(muster_as(sam, "why", "-n", "team", "train").returncode == 0, "muster why explains it")
    check(muster_as(sam, "jobs", "-A").returncode == 4, "everybody's jobs are not shown")
    words = refused(sam, "not in another", "create", "-f", "-", stdin=job("train", "other"))
    check(f'pytorchjobs.kubeflow.org is forbidden: User "{who}" cannot create resource '
          f'"pytorchjobs" in API group "kubeflow.org" in the namespace "other"' in words,
          "in Kubernetes' words", words)
    words = refused(sam, "not everywhere", "get", "pytorchjobs", "-A")
    check(f'User "{who}" cannot list resource "pytorchjobs" in API group "kubeflow.org" at the '
          f'cluster scope' in words, "in Kubernetes' words", words)
    words = refused(sam, "not the quota", "get", "elasticquotatrees", "-n", "kube-system")
    check("is forbidden" in words, "in Kubernetes' words", words)
    words = refused(sam, "not a status", "patch", "pytorchjob", "train", "-n", "team",
                    "--subresource=status", "--type=merge", "-p", "{}")
    check('cannot patch resource "pytorchjobs/status"' in words, "in Kubernetes' words", words)
    words = refused(sam, "nor give it to others", "create", "rolebinding", "x",
                    "--clusterrole=muster:submitter", "--user=eve", "-n", "team")
    check('cannot create resource "rolebindings"' in words, "in Kubernetes' words", words)

    check(sam("auth", "can-i", "create", "pytorchjobs.kubeflow.org", "-n", "team").strip() ==
          "yes", "can-i says yes")
    done = sam.run("auth", "can-i", "create", "pytorchjobs.kubeflow.org", "-n", "other")
    check(done.stdout.strip() == "no" and done.returncode == 1, "can-i says no", done)
    shown = sam("auth", "can-i", "--list", "-n", "team")
    rows = {line.split()[0]: line for line in shown.splitlines()[1:] if line.split()}
    check("create" in rows["pytorchjobs.kubeflow.org"], "can-i --list names what they may", shown)
    check("elasticquotatrees" not in shown, "and nothing else", shown)

    admin("delete", "rolebinding", "sam", "-n", "team")
    words = refused(sam, "without the binding nothing is left", "get", "pytorchjobs", "-n", "team")
    admin("delete", "serviceaccount", "sam", "-n", "team")
    words = refused(sam, "without the account the token is worth nothing", "get", "pytorchjobs",
                    "-n", "team")
    check("Unauthorized" in words or "must be logged in" in words, "401", words)


def story_apply_creates_only_for_whoever_may_create(fleet):
    """Server-side apply is a patch; where it would create, it takes that right as well"""
    fleet.start_hub()
    admin = newest(fleet)
    admin("create", "serviceaccount", "pat")
    admin("create", "role", "patcher", "--verb=get,patch", "--resource=configmaps")
    admin("create", "rolebinding", "pat", "--role=patcher", "--serviceaccount=default:pat")
    admin("create", "configmap", "there", "--from-literal=a=1")
    pat = with_token(fleet, admin("create", "token", "pat").strip())

    def config(name):
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                           "data": {"b": "1"}})

    pat("apply", "--server-side", "-f", "-", stdin=config("there"))
    check(fleet.client.get("configmaps", "there")["data"] == {"a": "1", "b": "1"},
          "what is there may be changed")
    words = refused(pat, "what is not may not be made", "apply", "--server-side", "-f", "-",
                    stdin=config("new"))
    check('cannot create resource "configmaps"' in words, "and the verb is named", words)
    check(fleet.client.find("configmaps", "new") is None, "nothing was made")


def story_every_kubectl_asks(fleet):
    """auth can-i, roles and bindings work with every kubectl, and as somebody else"""
    fleet.start_hub()
    for kubectl in fleet.kubectls():
        v = kubectl.version
        ns = "n-" + v.lower().replace(".", "-")
        kubectl("create", "namespace", ns)
        kubectl("create", "role", "pods", "--verb=get,list", "--resource=pods", "-n", ns)
        kubectl("create", "rolebinding", "alice", "--role=pods", "--user=alice", "-n", ns)
        kubectl("create", "clusterrole", ns, "--verb=get", "--non-resource-url=/metrics")
        kubectl("create", "clusterrolebinding", ns, "--clusterrole=" + ns, "--group=g-" + ns)
        shown = kubectl("get", "rolebindings", "-n", ns, "-o", "wide")
        check("Role/pods" in shown and "alice" in shown, f"{v}: get rolebindings -o wide", shown)

        def may(*args):
            done = kubectl.run("auth", "can-i", *args)
            return done.stdout.strip().split("\n")[-1]
        check(may("list", "pods", "-n", ns, "--as=alice") == "yes", f"{v}: alice may list pods")
        check(may("get", "pods/x", "-n", ns, "--as=alice") == "yes", f"{v}: and get one")
        check(may("delete", "pods", "-n", ns, "--as=alice") == "no", f"{v}: not delete them")
        check(may("list", "pods", "-n", "default", "--as=alice") == "no", f"{v}: nor elsewhere")
        check(may("get", "/metrics", "--as=bob", "--as-group=g-" + ns) == "yes",
              f"{v}: a group reaches its path")
        check(may("get", "/metrics", "--as=bob", "--as-group=x", "--as-group=y") == "no",
              f"{v}: other groups do not")
        check(may("*", "*") == "yes", f"{v}: the admin may do everything")
        shown = kubectl("auth", "can-i", "--list", "-n", ns, "--as=alice")
        check("pods" in shown and "[get list]" in shown, f"{v}: can-i --list", shown)
        done = kubectl.run("get", "pods", "-n", ns, "--as=alice", "--as-group=dev")
        check(done.returncode == 0, f"{v}: get --as", done)


def story_nobody_grants_more_than_they_have(fleet):
    """A namespace's admin gives away what they have, not more; a role once bound stays"""
    fleet.start_hub()
    admin = newest(fleet)
    admin("create", "namespace", "team")
    admin("create", "rolebinding", "bob", "--clusterrole=admin", "--user=bob", "-n", "team")
    until("admin has its aggregated rules", lambda: admin.run(
        "auth", "can-i", "create", "rolebindings", "-n", "team", "--as=bob").returncode == 0)
    bob = ["--as=bob", "-n", "team"]
    admin("create", "rolebinding", "ok", "--clusterrole=view", "--user=carol", *bob)
    words = refused(admin, "not cluster-admin", "create", "rolebinding", "evil",
                    "--clusterrole=cluster-admin", "--user=bob", *bob)
    check('user "bob" (groups=["system:authenticated"]) is attempting to grant RBAC permissions '
          'not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}' in words,
          "in Kubernetes' words", words)
    words = refused(admin, "nor a role of their own with more", "create", "role", "r",
                    "--verb=get,delete", "--resource=nodes", *bob)
    check('{APIGroups:[""], Resources:["nodes"], Verbs:["delete"]}' in words,
          "in Kubernetes' words", words)
    words = refused(admin, "nor one that does not exist", "create", "rolebinding", "x",
                    "--role=nothing", "--user=bob", *bob)
    check(f'rolebindings.{RBAC} "nothing" not found' in words, "it is not found", words)
    # bind and escalate lift it
    admin("create", "clusterrole", "binder", "--verb=bind", f"--resource=clusterroles.{RBAC}",
          "--resource-name=cluster-admin")
    admin("create", "rolebinding", "binder", "--clusterrole=binder", "--user=bob", "-n", "team")
    admin("create", "rolebinding", "allowed", "--clusterrole=cluster-admin", "--user=dan", *bob)
    words = refused(admin, "a binding stays with its role", "patch", "rolebinding", "ok", "-n",
                    "team", "--type=merge", "-p", '{"roleRef":{"name":"edit"}}')
    check("cannot change roleRef" in words, "in Kubernetes' words", words)
    robot = with_token(fleet, admin("create", "token", "default", "-n", "team").strip())
    words = refused(robot, "impersonation takes a right", "get", "pods", "-n", "team", "--as=carol")
    check('cannot impersonate resource "users" in API group "" at the cluster scope' in words,
          "in Kubernetes' words", words)


def story_aggregation(fleet):
    """A ClusterRole that selects others by labels follows them"""
    fleet.start_hub()
    admin = newest(fleet)
    admin("create", "-f", "-", stdin={
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "sum"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]},
        "rules": []})
    admin("create", "clusterrolebinding", "sum", "--clusterrole=sum", "--user=alice")
    admin("create", "-f", "-", stdin={
        "apiVersion": f"{RBAC}/v1", "kind": "ClusterRole",
        "metadata": {"name": "part", "labels": {"part": "yes"}},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}]})

    def may():
        return admin.run("auth", "can-i", "get", "nodes", "--as=alice").stdout.strip() == "yes"
    until("the new part is in it", may)
    admin("label", "clusterrole", "part", "part-")
    until("the part is out of it again", lambda: not may())
    shown = json.loads(admin("get", "clusterrole", "edit", "-o", "json"))
    check(any("pytorchjobs" in r.get("resources", []) for r in shown["rules"]),
          "edit has Muster's jobs", len(shown["rules"]))


def story_bootstrap_token(fleet):
    """An agent introduces itself with a bootstrap token"""
    fleet.start_hub()
    admin = newest(fleet)
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef",
            "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:muster:agents"}
    admin("create", "-f", "-", stdin={
        "apiVersion": "v1", "kind": "Secret", "type": "bootstrap.kubernetes.io/token",
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "data": {k: base64.b64encode(v.encode()).decode() for k, v in data.items()}})
    agent = with_token(fleet, "abcdef.0123456789abcdef")
    user = json.loads(agent("auth", "whoami", "-o", "json"))["status"]["userInfo"]
    check(user["username"] == "system:bootstrap:abcdef" and
          "system:bootstrappers:muster:agents" in user["groups"], "it is known", user)
    refused(agent, "but may do nothing that is not granted", "get", "secrets", "-n", "kube-system")
    admin("delete", "secret", "bootstrap-token-abcdef", "-n", "kube-system")
    refused(agent, "the token ends with its Secret", "auth", "whoami")


def story_secrets_at_rest(fleet):
    """A Secret is nowhere plain on the disk, and its key can be changed"""
    fleet.start_hub()
    admin = newest(fleet)
    words = ("correct-horse", base64.b64encode(b"correct-horse").decode())
    manifest = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
                "stringData": {"password": words[0]}}
    admin("apply", "-f", "-", stdin=manifest)  # leaves a copy in an annotation
    admin("create", "configmap", "c", "--from-literal=a=battery-staple")

    def plain(word):
        with open(os.path.join(fleet.hub.data, "store", "data.mdb"), "rb") as f:
            return word.encode() in f.read()

    def read():
        return json.loads(admin("get", "secret", "s", "-o", "json"))["data"]["password"]
    check(read() == words[1], "it can be read")
    check(not any(plain(w) for w in words), "it is not in the store's file")
    check(plain("battery-staple"), "where other things are")
    path = os.path.join(fleet.hub.data, "pki", "secrets.keys")
    check(os.stat(path).st_mode & 0o777 == 0o600, "the key is the owner's alone")
    with open(path, encoding="ascii") as f:
        old = f.read()
    keys = "new " + base64.b64encode(os.urandom(32)).decode() + "\n"
    for text in (keys + old, keys):  # both, then the new one alone
        fleet.hub.stop()
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        fleet.restart_hub()
        check(read() == words[1], "it can be read under the new key")
    fleet.hub.stop()
    with open(path, "w", encoding="ascii") as f:
        f.write(old)
    try:
        fleet.restart_hub()
        raise AssertionError("the hub started with the wrong key")
    except Failure:
        check("cannot be opened with the keys there are" in fleet.hub.tail(),
              "with the wrong key the hub does not start, and says why")
    with open(path, "w", encoding="ascii") as f:
        f.write(keys)
    fleet.restart_hub()
    check(read() == words[1], "with the right one it does")


def story_certificates(fleet):
    """Users come with certificates that the hub's CA signed: CN is who they are, O their groups"""
    if not shutil.which("openssl"):
        raise Skip("the openssl program is not installed")
    fleet.start_hub()
    pki = os.path.join(fleet.hub.data, "pki")
    ca = Kubeconfig(fleet.hub.kubeconfig).ca

    def user(name, subject, days="1", ca_cert=None, ca_key=None):
        key, request, cert = (fleet.path(name + end) for end in (".key", ".csr", ".crt"))
        run("openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", subject,
            "-keyout", key, "-out", request)
        run("openssl", "x509", "-req", "-in", request, "-days", days, "-CAcreateserial",
            "-CA", ca_cert or os.path.join(pki, "ca.crt"),
            "-CAkey", ca_key or os.path.join(pki, "ca.key"), "-out", cert)
        data = [base64.b64encode(open(f, "rb").read()).decode() for f in (cert, key)]
        path = write_kubeconfig(fleet.path(name), fleet.hub.url, ca, {
            "client-certificate-data": data[0], "client-key-data": data[1]})
        return Kubectl("PATH", admin.path, path, fleet.path("home"))
    admin = newest(fleet)
    admin("create", "namespace", "ml")
    alice = user("alice", "/CN=alice/O=ml-team/O=night-shift")
    bob = user("bob", "/CN=bob")
    words = refused(alice, "alice has no rights yet", "get", "jobs", "-n", "ml")
    check('User "alice" cannot list resource "jobs"' in words, "in Kubernetes' words", words)
    who = alice("auth", "whoami")
    check("alice" in who and "ml-team" in who and "night-shift" in who and
          "system:authenticated" in who, "CN and both O are who she is", who)
    admin("create", "rolebinding", "team", "--clusterrole=muster:submitter", "--group=ml-team",
          "-n", "ml")
    admin("create", "rolebinding", "night", "--clusterrole=view", "--group=night-shift")
    admin("create", "rolebinding", "bob", "--clusterrole=view", "--user=bob", "-n", "ml")
    alice("create", "-f", "-", stdin=job("a", "ml"))
    check(alice("auth", "can-i", "list", "configmaps", "-n", "default").strip() == "yes",
          "the rights of both of alice's groups")
    check(bob("get", "pytorchjobs", "-n", "ml", "-o", "name").strip() ==
          "pytorchjob.kubeflow.org/a", "bob sees by his name")
    refused(bob, "bob sends none", "create", "-n", "ml", "-f", "-", stdin=job("b", "ml"))
    refused(bob, "bob makes no namespaces", "create", "namespace", "his")
    masters = user("masters", "/CN=eve/O=system:masters")
    masters("create", "namespace", "made-by-eve")
    check(True, "the CA's word makes administrators, as kube-apiserver's does")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
        "/CN=other", "-keyout", fleet.path("other.key"), "-out", fleet.path("other.crt"))
    mallory = user("mallory", "/CN=muster-admin/O=system:masters", ca_cert=fleet.path("other.crt"),
                   ca_key=fleet.path("other.key"))
    words = refused(mallory, "another CA's word counts for nothing", "get", "namespaces")
    check("Unauthorized" in words or "logged in" in words, "401", words)


def story_the_servers_certificate(fleet):
    """Every namespace has what verifies the hub, kube-root-ca.crt, whatever becomes of it"""
    fleet.start_hub()
    kubectl, name = newest(fleet), "kube-root-ca.crt"
    ca = base64.b64decode(Kubeconfig(fleet.hub.kubeconfig).ca).decode()
    maps = fleet.watch("configmaps")

    def published(what, namespace, also=lambda metadata: True):
        return maps.await_object(name, what, lambda o: (
            o["data"] == {"ca.crt": ca} and also(o["metadata"])), namespace=namespace)["metadata"]
    for namespace in ("default", "kube-system", "kube-queue"):
        published("there", namespace)
    kubectl("create", "namespace", "team")
    published("there", "team")
    path = fleet.path("published.crt")
    with open(path, "w", encoding="ascii") as f:
        f.write(fleet.client.get("configmaps", name, namespace="team")["data"]["ca.crt"])
    kubectl("--certificate-authority", path, "get", "namespaces")
    check(True, "kubectl verifies the hub by it")
    old = fleet.client.get("configmaps", name, namespace="team")["metadata"]["uid"]
    fleet.client.delete("configmaps", name, namespace="team")
    new = published("back", "team", lambda m: m["uid"] != old)
    edit = fleet.client.patch("configmaps", name, {"data": {"ca.crt": "mine"}, "metadata": {
        "labels": {"a": "b"}}}, namespace="team")["metadata"]["resourceVersion"]
    again = published("as it was", "team", lambda m: int(m["resourceVersion"]) > int(edit))
    check(again["uid"] == new["uid"] and again["labels"] == {"a": "b"}, "labels stay", again)
    kubectl("delete", "serviceaccount", "default", "-n", "team", "--wait=false")
    until("the account default comes back, too", lambda: kubectl.run(
        "get", "serviceaccount", "default", "-n", "team").returncode == 0)
    kubectl("delete", "namespace", "team")
    check(fleet.client.find("configmaps", name, namespace="team") is None,
          "with its namespace it goes")
    before = fleet.client.get("configmaps", name)["metadata"]["resourceVersion"]
    fleet.hub.stop()
    fleet.restart_hub()
    kubectl("create", "namespace", "later")
    published("there after a restart", "later")
    check(fleet.client.get("configmaps", name)["metadata"]["resourceVersion"] == before,
          "and nothing is written that is right")


def story_limits(fleet):
    """Limits of the API come from the configuration"""
    fleet.start_hub(config={"api": {"maxWatches": 6, "seats": 8, "maxConnections": 500}})
    address = fleet.hub.url.split("//")[1].split(":")
    check(fleet.client.metrics()["apiserver_flowcontrol_nominal_limit_seats"] == 8,
          "the seats are in the metrics")
    admin = newest(fleet)
    admin("create", "serviceaccount", "w")
    admin("create", "rolebinding", "w", "--clusterrole=view", "--serviceaccount=default:w")
    bearer = admin("create", "token", "w").strip()

    def watch():
        c = http.client.HTTPSConnection(address[0], int(address[1]), context=plain, timeout=30)
        c.request("GET", "/api/v1/namespaces/default/configmaps?watch=1",
                  headers={"Authorization": "Bearer " + bearer})
        return c, c.getresponse()
    plain = ssl.create_default_context()
    plain.load_verify_locations(cadata=base64.b64decode(Kubeconfig(
        fleet.hub.kubeconfig).ca).decode())
    open_ones = [watch() for _ in range(3)]
    check([r.status for _, r in open_ones] == [200] * 3, "a user has half of the watches")
    refusal = watch()
    check(refusal[1].status == 429 and refusal[1].headers["Retry-After"], "the fourth hears 429")
    for c, _ in [*open_ones, refusal]:
        c.close()
    for key, value in (("maxWatches", 0), ("seats", "many"), ("maxConnections", 1 << 30),
                       ("maxWatchers", 5)):
        path = fleet.path("bad.yaml")
        with open(path, "w", encoding="ascii") as f:
            json.dump({"api": {key: value}}, f)
        done = subprocess.run([program("MUSTERD", "musterd"), "--config", path, "--data-dir",
                               fleet.path("nowhere")], capture_output=True, text=True, timeout=60)
        check(done.returncode == 1 and f"api.{key}: " in done.stderr,
              f"api.{key}: {value} is refused", done)


def resources_of(client):
    """(prefix, APIResource) of everything that discovery shows."""
    paths = ["/api/v1"]
    for group in client.call("GET", "/apis")["groups"]:
        paths += ["/apis/" + v["groupVersion"] for v in group["versions"]]
    for path in paths:
        for resource in client.call("GET", path)["resources"]:
            yield path, resource


METHODS = {"get": "GET", "list": "GET", "watch": "GET", "create": "POST", "update": "PUT",
           "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETE"}
SELF = {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"}


def story_nothing_is_open(fleet):
    """Who was granted nothing gets 403 for every verb of every resource, and no more anonymously"""
    fleet.start_hub()
    admin = newest(fleet)
    token = admin("create", "token", "default", "-n", "default").strip()
    c = Kubeconfig(fleet.hub.kubeconfig)
    context = ssl.create_default_context(cadata=base64.b64decode(c.ca).decode())
    port = int(fleet.hub.url.rsplit(":", 1)[1])
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)

    def ask(method, path, **headers):
        connection.request(method, path, body=b"{}" if method in ("POST", "PUT", "PATCH") else None,
                           headers={"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    tried = 0
    for prefix, resource in resources_of(fleet.client):
        plural, _, sub = resource["name"].partition("/")
        for verb in resource["verbs"]:
            path = prefix + ("/namespaces/default" if resource["namespaced"] else "") + "/" + plural
            if sub or verb in ("get", "update", "patch", "delete"):
                path += "/x"
            path += "/" + sub if sub else ""
            path += "?watch=1" if verb == "watch" else ""
            want = 201 if plural in SELF else 403
            got = ask(METHODS[verb], path, Authorization="Bearer " + token)
            if got != want and not (plural in SELF and got in (400, 422)):
                raise Failure(f"{verb} {path}: {got}, not {want}")
            got = ask(METHODS[verb], path)
            if got != 401:
                raise Failure(f"anonymous {verb} {path}: {got}")
            tried += 1
    check(tried > 150, f"{tried} verbs of resources are refused")
    for path in ("clusters", "jobs", "queues", "quota", "namespaces/default/pytorchjobs/x/why"):
        path = "/apis/muster.dev/v1alpha1/" + path
        check(ask("GET", path, Authorization="Bearer " + token) == 403, path + " is refused")
    for method in METHODS.values():
        path = "/apis/cluster.karmada.io/v1alpha1/clusters/c/proxy/api/v1/nodes"
        if ask(method, path, Authorization="Bearer " + token) != 403:
            raise Failure(f"{method} {path} is not refused")
    check(True, "so is the way through to a member")

    def whoami(**headers):
        """As the admin, with these headers in their order."""
        connection.putrequest("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
        connection.putheader("Authorization", "Bearer " + admin_token)
        for name, values in headers.items():
            for value in values.split("|"):
                connection.putheader(name.replace("__", "%2F").replace("_", "-"), value)
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "2")
        connection.endheaders(b"{}")
        answer = connection.getresponse()
        body = json.loads(answer.read())
        return body["status"]["userInfo"] if answer.status == 201 else answer.status
    with open(os.path.join(fleet.hub.data, "pki", "admin.token"), encoding="ascii") as f:
        admin_token = f.read().strip()
    all_of_them = "system:authenticated"
    for headers, want in (
            ({"Impersonate_User": "z"}, {"username": "z", "groups": [all_of_them]}),
            ({"impersonate_user": "z", "X_Other": "y"}, {"username": "z", "groups": [all_of_them]}),
            ({"IMPERSONATE_GROUP": "a|b", "X_Other": "y", "Impersonate_User": "z"},
             {"username": "z", "groups": ["a", "b", all_of_them]}),
            ({"Impersonate_User": "z", "Impersonate_Group": "a"},
             {"username": "z", "groups": ["a", all_of_them]}),
            ({"Impersonate_Extra_Scopes": "v|w", "Impersonate_Extra_Acme.com__Team": "t",
              "Impersonate_Uid": "7", "Impersonate_User": "z"},
             {"username": "z", "uid": "7", "groups": [all_of_them],
              "extra": {"scopes": ["v", "w"], "acme.com/team": ["t"]}}),
            ({"Impersonate_Group": "a"}, 400), ({"Impersonate_Uid": "7"}, 400),
            ({"Impersonate_Extra_Scopes": "v"}, 400),
            ({"X_Other": "y", "Impersonate_Extra_Acme.com__Team": ""}, 400),
            ({"X_Other": "Impersonate-Extra-Scopes: v"},
             {"username": "muster-admin", "groups": ["system:masters", all_of_them]}),
            ({}, {"username": "muster-admin", "groups": ["system:masters", all_of_them]})):
        got = whoami(**headers)
        check(got == want, f"as {headers or 'oneself'}", got)
    for path, want in (("/version", 200), ("/healthz", 200), ("/livez", 200), ("/readyz", 200),
                       ("/metrics", 401), ("/api", 401), ("/apis", 401), ("/openapi/v3", 401),
                       ("/openid/v1/jwks", 401), ("/nothing", 401)):
        check(ask("GET", path) == want, f"anonymous GET {path}: {want}")
    check(ask("POST", "/version") == 401, "and no POST")


def covers(rule, verb, group, plural, sub, name):
    """RBAC's evaluation of one rule, as its documentation has it."""
    def among(key, *wanted):
        return any(w in rule.get(key, []) for w in ("*", *wanted))
    return (among("verbs", verb) and among("apiGroups", group)
            and among("resources", *([f"{plural}/{sub}", f"*/{sub}"] if sub else [plural]))
            and (not rule.get("resourceNames") or name in rule["resourceNames"]))


def requests_of_all(client):
    """(verb, group, plural, subresource, name, path) for all verbs and subresources there are."""
    for prefix, resource in resources_of(client):
        plural, _, sub = resource["name"].partition("/")
        group = prefix.split("/")[2] if prefix.startswith("/apis/") else ""
        base = prefix + ("/namespaces/default" if resource["namespaced"] else "") + "/" + plural
        for verb in ("get", "create", "update", "patch") if sub else METHODS:
            named = sub or verb in ("get", "update", "patch", "delete")
            yield (verb, group, plural, sub, "x" if named else "",
                   base + ("/x" if named else "") + ("/" + sub if sub else ""))


def story_every_role(fleet):
    """Every verb of every resource and subresource, for every ready-made role, over HTTP: allowed
    is what a second evaluator reads from the roles"""
    fleet.start_hub()
    roles = {r["metadata"]["name"]: r.get("rules") or [] for r in fleet.client.call(
        "GET", f"/apis/{RBAC}/v1/clusterroles")["items"]}
    bindings = fleet.client.call("GET", f"/apis/{RBAC}/v1/clusterrolebindings")["items"]
    everybody = [rule for b in bindings for s in b.get("subjects", [])
                 if s["name"] == "system:authenticated" for rule in roles[b["roleRef"]["name"]]]
    asked = list(requests_of_all(fleet.client))
    check({sub for _, _, _, sub, _, _ in asked} >= {
        "status", "token", "log", "exec", "attach", "portforward", "proxy", "finalize",
        "pendingworkloads"}, "subresources are among them",
          sorted({sub for _, _, _, sub, _, _ in asked}))
    for role in ("muster:submitter", "muster:viewer", "muster:quota-admin", "view", "edit", "admin"):
        user = "of-" + role
        fleet.client.call("POST", f"/apis/{RBAC}/v1/clusterrolebindings", {
            "apiVersion": RBAC + "/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": user.replace(":", "-")},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "User", "apiGroup": RBAC, "name": user}]})
        rules, allowed = roles[role] + everybody, 0
        headers = {"Impersonate-User": user}
        until(f"{role} is granted", lambda: fleet.client.raw(
            "GET", "/apis/batch/v1/jobs?limit=1", headers=headers)[0] != 403 or not any(
                covers(rule, "list", "batch", "jobs", "", "") for rule in rules))
        for verb, group, plural, sub, name, path in asked:
            # Neither waits for changes, nor makes any, when it is allowed.
            query = "?watch=1&fieldSelector=none" if verb == "watch" else "?dryRun=All&limit=1"
            body = {} if METHODS[verb] in ("POST", "PUT", "PATCH") else None
            code, _, text = fleet.client.raw(METHODS[verb], path + query, body, headers=headers)
            want = any(covers(rule, verb, group, plural, sub, name) for rule in rules)
            allowed += want
            if (code != 403) != want or code in (401, 500):
                raise Failure(f"{role}: {verb} {path}: {code}, and the role says {want}: {text}")
        check(0 < allowed < len(asked), f"{role}: {allowed} of {len(asked)} are allowed")


def story_restart(fleet):
    """Built-in roles come back at a start, tokens stay good, what was added stays"""
    fleet.start_hub()
    admin = newest(fleet)
    token = admin("create", "token", "default", "-n", "default").strip()
    admin("delete", "clusterrole", "muster:viewer")
    admin("create", "clusterrolebinding", "v", "--clusterrole=view",
          "--serviceaccount=default:default")
    sa = with_token(fleet, token)
    sa("get", "pods", "-A")
    fleet.hub.stop()
    fleet.restart_hub()
    check("muster:viewer" in admin("get", "clusterroles", "-o", "name"), "the role is back")
    sa("get", "pods", "-A")
    check(True, "the token and the binding are good")
    try:
        fleet.client.call("GET", "/openid/v1/jwks")
    except Failure as why:
        raise Failure("the keys are published") from why


if __name__ == "__main__":
    main(globals(), Fleet)
