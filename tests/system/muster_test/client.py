"""HTTPS calls with the credentials of a kubeconfig."""

import base64
import http.client
import json
import os
import re
import ssl
import tempfile
import threading
import time
import urllib.parse

from .story import DEADLINE, Failure

PATCHES = {"merge": "application/merge-patch+json", "json": "application/json-patch+json",
           "strategic": "application/strategic-merge-patch+json"}

# Where each kind that tests use lives: plural -> (prefix, namespaced).
KINDS = {
    "namespaces": ("/api/v1", False),
    "nodes": ("/api/v1", False),
    "pods": ("/api/v1", True),
    "secrets": ("/api/v1", True),
    "configmaps": ("/api/v1", True),
    "events": ("/api/v1", True),
    "services": ("/api/v1", True),
    "jobs": ("/apis/batch/v1", True),
    "pytorchjobs": ("/apis/kubeflow.org/v1", True),
    "tfjobs": ("/apis/kubeflow.org/v1", True),
    "mpijobs": ("/apis/kubeflow.org/v1", True),
    "xgboostjobs": ("/apis/kubeflow.org/v1", True),
    "paddlejobs": ("/apis/kubeflow.org/v1", True),
    "jaxjobs": ("/apis/kubeflow.org/v1", True),
    "jobsets": ("/apis/jobset.x-k8s.io/v1alpha2", True),
    "rayjobs": ("/apis/ray.io/v1", True),
    "rayclusters": ("/apis/ray.io/v1", True),
    "workloads": ("/apis/kueue.x-k8s.io/v1beta2", True),
    "admissionchecks": ("/apis/kueue.x-k8s.io/v1beta2", False),
    "clusterqueues": ("/apis/kueue.x-k8s.io/v1beta2", False),
    "provisioningrequests": ("/apis/autoscaling.x-k8s.io/v1", True),
    "podtemplates": ("/api/v1", True),
    "priorityclasses": ("/apis/scheduling.k8s.io/v1", False),
    "propagationpolicies": ("/apis/policy.one.alibabacloud.com/v1alpha1", True),
    "clusterpropagationpolicies": ("/apis/policy.one.alibabacloud.com/v1alpha1", False),
    "clusters": ("/apis/cluster.karmada.io/v1alpha1", False),
    "resourcebindings": ("/apis/work.karmada.io/v1alpha2", True),
    "elasticquotatrees": ("/apis/scheduling.sigs.k8s.io/v1beta1", True),
    "queues": ("/apis/scheduling.x-k8s.io/v1alpha1", True),
    "queueunits": ("/apis/scheduling.x-k8s.io/v1alpha1", True),
}
PLURALS = {"Namespace": "namespaces", "Node": "nodes", "Pod": "pods", "Secret": "secrets",
           "ConfigMap": "configmaps", "Job": "jobs", "PyTorchJob": "pytorchjobs",
           "JobSet": "jobsets", "PriorityClass": "priorityclasses",
           "PropagationPolicy": "propagationpolicies",
           "ClusterPropagationPolicy": "clusterpropagationpolicies", "Cluster": "clusters",
           "ElasticQuotaTree": "elasticquotatrees", "Queue": "queues"}


def url_of(plural, namespace=None, name=None):
    prefix, namespaced = KINDS[plural]
    url = prefix
    if namespaced and namespace:
        url += "/namespaces/" + namespace
    url += "/" + plural
    return url + ("/" + name if name else "")


class StatusError(Failure):
    """An answer that is not 2xx; .code and the decoded Status in .status."""

    def __init__(self, call, code, body):
        self.code, self.body = code, body
        try:
            self.status = json.loads(body)
        except ValueError:
            self.status = {}
        super().__init__(f"{call}: {code} {body[:2000]!r}")


class Unreachable(Failure):
    """No answer: the connection was refused, cut or timed out. What became of the call is
    unknown."""


class Kubeconfig:
    """The few fields of a kubeconfig that a client needs, read without a YAML library."""

    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as f:
            text = f.read()

        def field(name):
            found = re.search(rf"^\s*-?\s*\"?{name}\"?:\s*\"?([^\s\",]+)", text, re.M)
            return found.group(1) if found else None
        self.server = field("server")
        self.ca = field("certificate-authority-data")
        self.cert = field("client-certificate-data")
        self.key = field("client-key-data")
        self.token = field("token")

    def context(self):
        c = ssl.create_default_context()
        c.load_verify_locations(cadata=base64.b64decode(self.ca).decode())
        if self.cert:
            with tempfile.NamedTemporaryFile(suffix=".pem") as pem:
                pem.write(base64.b64decode(self.cert) + b"\n" + base64.b64decode(self.key))
                pem.flush()
                c.load_cert_chain(pem.name)
        return c


class Client:
    """Calls from any thread, one connection per thread. The kubeconfig is read again when the
    server is gone, for a restart may have moved it."""

    def __init__(self, kubeconfig):
        self.path = kubeconfig
        self.config = Kubeconfig(kubeconfig)
        self.context = self.config.context()
        self.local = threading.local()

    def connect(self, timeout=DEADLINE):
        url = urllib.parse.urlparse(self.config.server)
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout,
                                           context=self.context)

    def reread(self):
        """After a restart: its address again, and a new connection for this thread."""
        self.local.connection = None
        if os.path.exists(self.path):
            self.config = Kubeconfig(self.path)

    def raw(self, method, path, body=None, content_type="application/json", headers=None,
            timeout=DEADLINE, **params):
        """(code, headers, bytes); Unreachable when there is no whole answer."""
        if params:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(params)
        h = dict(headers or {})
        if self.config.token:
            h["Authorization"] = "Bearer " + self.config.token
        if body is not None:
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
            body = body.encode() if isinstance(body, str) else body
            h["Content-Type"] = content_type
        connection = getattr(self.local, "connection", None)
        if connection is not None and self.local.server == self.config.server:
            try:
                return self.exchange(connection, method, path, body, h)
            except Unreachable:
                if method != "GET":
                    raise  # else as every HTTP client: the server may have closed it meanwhile
        self.local.connection, self.local.server = self.connect(timeout), self.config.server
        return self.exchange(self.local.connection, method, path, body, h)

    def exchange(self, connection, method, path, body, headers):
        try:
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as why:
            connection.close()
            self.local.connection = None
            raise Unreachable(f"{method} {path}: {why!r}") from why

    def call(self, method, path, body=None, **kw):
        code, _, text = self.raw(method, path, body, **kw)
        if not 200 <= code < 300:
            raise StatusError(f"{method} {path}", code, text)
        return json.loads(text) if text else None

    def refused(self, method, path, body=None, **kw):
        """The error of a call that must be refused."""
        try:
            answer = self.call(method, path, body, **kw)
        except StatusError as error:
            return error
        raise Failure(f"{method} {path} was not refused: {answer}")

    def get(self, plural, name=None, namespace="default", **params):
        return self.call("GET", url_of(plural, namespace if name else None, name), **params)

    def list(self, plural, namespace=None, **params):
        return self.call("GET", url_of(plural, namespace), **params)

    def items(self, plural, namespace=None, **params):
        return self.list(plural, namespace, **params)["items"]

    def create(self, *objects):
        answers = [self.call("POST", url_of(PLURALS[o["kind"]],
                                            o["metadata"].get("namespace")), o) for o in objects]
        return answers[0] if len(answers) == 1 else answers

    def delete(self, plural, name, namespace="default", **params):
        return self.call("DELETE", url_of(plural, namespace, name), **params)

    def patch(self, plural, name, body, namespace="default", kind="merge", suffix=""):
        return self.call("PATCH", url_of(plural, namespace, name) + suffix, body,
                         content_type=PATCHES[kind])

    def find(self, plural, name, namespace="default"):
        """The object, or None."""
        try:
            return self.get(plural, name, namespace)
        except StatusError as error:
            if error.code == 404:
                return None
            raise

    def metrics(self):
        """{series: value} of /metrics."""
        _, _, text = self.raw("GET", "/metrics")
        lines = [line.rsplit(" ", 1) for line in text.decode().splitlines()
                 if line and not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    def requests_of(self, verb):
        return sum(v for k, v in self.metrics().items()
                   if k.startswith("apiserver_request_total{") and f'verb="{verb}"' in k)


def until(what, probe, deadline=DEADLINE, pause=0.02):
    """Asks again until probe() is true: only for what no watch or process end tells. Returns it."""
    end = time.monotonic() + deadline
    waited = threading.Event()
    while True:
        seen = probe()
        if seen:
            return seen
        if time.monotonic() > end:
            raise Failure(f"not within {deadline:.0f} s: {what}")
        waited.wait(pause)
