"""What the stories about the API share: a front and a client for each class of tests, and a few
objects. A file of stories ends with main(), which takes the front's program from the arguments."""

import sys
import unittest

from client import Client, Server

PROGRAM = None
NS = "/api/v1/namespaces/default/"
CM = NS + "configmaps"
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"


def main():
    global PROGRAM
    PROGRAM = sys.argv.pop(1)
    unittest.main(verbosity=2)


def config_map(name, labels=None, data=None, **meta):
    m = {"name": name, **meta}
    if labels:
        m["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": m, "data": data or {"k": "v"}}


def pytorch_job(name, workers=2, **container):
    def replicas(n):
        return {"replicas": n, "restartPolicy": "OnFailure",
                "template": {"spec": {"containers": [
                    {"name": "pytorch", "image": "train:1", **container}]}}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name},
            "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(workers)}}}


class Case(unittest.TestCase):
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, *cls.options)
        cls.client = Client(cls.server)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.close()

    def must(self, want, answer):
        status, body = answer
        self.assertEqual(status, want, body)
        return body

    def fails(self, code, reason, answer):
        status, body = answer
        self.assertEqual((status, body.get("reason")), (code, reason), body)
        self.assertEqual(body["kind"], "Status")
        self.assertEqual(body["code"], code)
        return body
