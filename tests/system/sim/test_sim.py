#!/usr/bin/env python3
"""muster-sim as an operator meets it: kubectl against real processes. Usage: test_sim.py MUSTER_SIM"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SIM = os.path.abspath(sys.argv.pop(1))
DEADLINE = 60

NODES = """
kind: Node
metadata:
  name: gpu
  labels: {rack: r1}
  annotations: {muster.dev/sim-count: "4"}
status:
  allocatable: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "8"}
"""


def pod_template(container, duration, exit_code=0, gpus=1):
    return {
        "metadata": {"annotations": {"muster.dev/sim-duration": duration,
                                     "muster.dev/sim-exit-code": str(exit_code)}},
        "spec": {"containers": [{"name": container, "image": "x", "resources": {
            "requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": str(gpus)}}}]},
    }


def pytorch_job(name, duration, workers=1, restart="Never", exit_code=0, gpus=1, **policy):
    def replica(n):
        return {"replicas": n, "restartPolicy": restart,
                "template": pod_template("pytorch", duration, exit_code, gpus)}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"runPolicy": policy,
                     "pytorchReplicaSpecs": {"Master": replica(1), "Worker": replica(workers)}}}


def job(name, duration, **spec):
    template = pod_template("main", duration)
    template["spec"]["restartPolicy"] = "Never"
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": template, **spec}}


def job_set(name, duration, replicas, **spec):
    inner = {"parallelism": 2, "completions": 2, "template": pod_template("main", duration)}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicatedJobs": [{"name": "w", "replicas": replicas,
                                         "template": {"spec": inner}}], **spec}}


class Sim:
    """One muster-sim process over a data directory that outlives it."""

    def __init__(self, *more, count=1):
        self.dir = tempfile.mkdtemp(prefix="muster-sim-test-")
        self.nodes = os.path.join(self.dir, "nodes.yaml")
        with open(self.nodes, "w") as out:
            out.write(NODES)
        self.data = os.path.join(self.dir, "data")
        self.kubeconfig = os.path.join(self.dir, "kubeconfig")
        self.more, self.count = more, count
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [SIM, "--name", "m1", "--nodes", self.nodes, "--data-dir", self.data,
             "--kubeconfig-out", self.kubeconfig, "--count", str(self.count), *self.more],
            stdout=subprocess.PIPE, text=True)
        self.ready = [self.process.stdout.readline().split() for _ in range(self.count)]

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)
        self.process.stdout.close()

    def stop(self):
        """SIGTERM; the exit status and the seconds that it took."""
        began = time.monotonic()
        self.process.terminate()
        status = self.process.wait(DEADLINE)
        self.process.stdout.close()
        return status, time.monotonic() - began

    def remove(self):
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.dir)

    def kubectl(self, *args, stdin=None, check=True, kubeconfig=None):
        done = subprocess.run(["kubectl", "--kubeconfig", kubeconfig or self.kubeconfig, *args],
                              input=stdin, text=True, capture_output=True, timeout=DEADLINE)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stdout}{done.stderr}")
        return done.stdout

    def create(self, *objects):
        self.kubectl("create", "--validate=false", "-f", "-",
                     stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def get(self, *args):
        return json.loads(self.kubectl("get", "-o", "json", *args))

    def wait(self, what, *names):
        self.kubectl("wait", f"--for={what}", f"--timeout={DEADLINE}s", *names)

    def runs(self):
        with open(os.path.join(self.data, "runs.jsonl")) as lines:
            return [json.loads(line) for line in lines]


class Session(unittest.TestCase):
    more, count = (), 1

    def setUp(self):
        self.sim = Sim(*self.more, count=self.count)
        self.addCleanup(self.sim.remove)

    def conditions(self, kind, name):
        status = self.sim.get(kind, name)["status"]
        return [c["type"] + ("" if c["status"] == "True" else "=False")
                for c in status["conditions"]]


class Jobs(Session):
    def test_every_kind_of_job_finishes(self):
        sim = self.sim
        ray = {"apiVersion": "ray.io/v1", "kind": "RayJob",
               "metadata": {"name": "ray", "namespace": "default"},
               "spec": {"entrypoint": "true", "shutdownAfterJobFinishes": True, "rayClusterSpec": {
                   "headGroupSpec": {"rayStartParams": {},
                                     "template": pod_template("head", "500ms", gpus=0)},
                   "workerGroupSpecs": [{"groupName": "g", "replicas": 2, "rayStartParams": {},
                                         "template": pod_template("worker", "1s", gpus=0)}]}}}
        mpi = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob",
               "metadata": {"name": "mpi", "namespace": "default"},
               "spec": {"mpiReplicaSpecs": {
                   "Launcher": {"replicas": 1, "template": pod_template("mpi", "500ms")},
                   "Worker": {"replicas": 2, "template": pod_template("mpi", "500ms")}}}}
        tf = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob",
              "metadata": {"name": "tf", "namespace": "default"},
              "spec": {"tfReplicaSpecs": {
                  "Worker": {"replicas": 2, "template": pod_template("tensorflow", "500ms")}}}}
        sim.create(pytorch_job("torch", "500ms"), tf, mpi, ray,
                   job("plain", "500ms", completions=3, parallelism=2),
                   job_set("set", "500ms", 2))
        sim.wait("condition=Succeeded", "pytorchjob/torch", "tfjob/tf", "mpijob/mpi")
        sim.wait("condition=Complete", "job/plain")
        sim.wait("condition=Completed", "jobset/set")
        sim.wait("jsonpath={.status.jobDeploymentStatus}=Complete", "rayjob/ray")
        self.assertEqual(self.conditions("pytorchjob", "torch"),
                         ["Created", "Running=False", "Succeeded"])
        self.assertEqual(sim.get("jobset", "set")["status"]["terminalState"], "Completed")
        status = sim.get("job", "plain")["status"]
        self.assertEqual(status["succeeded"], 3)
        self.assertIn("completionTime", status)

    def test_a_suspended_job_waits_until_it_is_released(self):
        sim = self.sim
        sim.create(pytorch_job("copy", "500ms", suspend=True))
        sim.wait("condition=Suspended", "pytorchjob/copy")
        self.assertEqual(sim.get("pods")["items"], [])
        sim.kubectl("patch", "pytorchjob", "copy", "--type=merge", "-p",
                    '{"spec":{"runPolicy":{"suspend":false}}}')
        sim.wait("condition=Succeeded", "pytorchjob/copy")
        self.assertEqual(self.conditions("pytorchjob", "copy"),
                         ["Created", "Suspended=False", "Running=False", "Succeeded"])

    def test_a_failing_job_fails_and_says_why(self):
        sim = self.sim
        sim.create(pytorch_job("bad", "100ms", exit_code=3))
        sim.wait("condition=Failed", "pytorchjob/bad")
        pod = sim.get("pod", "bad-master-0")
        terminated = pod["status"]["containerStatuses"][0]["state"]["terminated"]
        self.assertEqual((pod["status"]["phase"], terminated["exitCode"]), ("Failed", 3))

    def test_deleting_a_job_leaves_nothing_behind(self):
        sim = self.sim
        sim.create(pytorch_job("gone", "600s", workers=3), job_set("set", "600s", 2))
        sim.wait("condition=Running", "pytorchjob/gone")
        sim.wait("condition=Ready", "pod", "--all")
        sim.kubectl("delete", "pytorchjob/gone", "jobset/set")
        sim.wait("delete", "pods", "--all")
        self.assertEqual(sim.get("pods,services,jobs")["items"], [])
        self.assertEqual({r["result"] for r in sim.runs()}, {"Killed"})

    def test_events_tell_the_story_of_a_pod(self):
        sim = self.sim
        sim.create(job("story", "100ms"))
        sim.wait("condition=Complete", "job/story")
        reasons = {e["reason"] for e in sim.get("events")["items"]}
        self.assertLessEqual({"SuccessfulCreate", "Scheduled", "Started", "Completed"}, reasons)

    def test_a_pod_that_fits_nowhere_says_why(self):
        sim = self.sim
        template = pod_template("main", "1s", gpus=9)
        template["spec"]["restartPolicy"] = "Never"
        big = job("big", "1s")
        big["spec"]["template"] = template
        sim.create(big)
        sim.wait("condition=PodScheduled=False", "pod", "-l", "job-name=big")
        pod, = sim.get("pods")["items"]
        self.assertEqual(pod["status"]["conditions"][0]["message"],
                         "0/4 nodes are available: 4 Insufficient nvidia.com/gpu.")

    def test_lists_are_counted(self):
        self.sim.get("pods")
        lines = self.sim.kubectl("get", "--raw", "/metrics").splitlines()
        self.assertTrue([l for l in lines if "request" in l and 'verb="LIST"' in l], lines[:40])


class Nodes(Session):
    def test_a_deleted_node_takes_its_pods_with_it(self):
        sim = self.sim
        sim.create(pytorch_job("p", "600s", workers=3, restart="OnFailure", gpus=4))
        sim.wait("condition=Ready", "pod", "--all")
        before = {p["metadata"]["uid"] for p in sim.get("pods")["items"]}
        node = sim.get("pod", "p-master-0")["spec"]["nodeName"]
        sim.kubectl("delete", "node", node)
        sim.wait("jsonpath={.status.replicaStatuses.Master.active}=1", "pytorchjob/p")
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            pods = sim.get("pods")["items"]
            if len(pods) == 4 and all(p["status"]["phase"] == "Running" for p in pods):
                break
        self.assertNotIn(node, [p["spec"]["nodeName"] for p in pods])
        self.assertTrue(before - {p["metadata"]["uid"] for p in pods})
        self.assertIn("Killed", [r["result"] for r in sim.runs()])

    def test_an_unready_node_fails_its_pods(self):
        sim = self.sim
        sim.create(job("j", "600s", backoffLimit=0))
        sim.wait("condition=Ready", "pod", "-l", "job-name=j")
        pod, = sim.get("pods")["items"]
        sim.kubectl("patch", "node", pod["spec"]["nodeName"], "--subresource=status",
                    "--type=merge", "-p",
                    '{"status":{"conditions":[{"type":"Ready","status":"False"}]}}')
        sim.wait("condition=Failed", "job/j")
        pod = sim.get("pod", pod["metadata"]["name"])
        self.assertEqual((pod["status"]["phase"], pod["status"]["reason"]), ("Failed", "NodeLost"))

    def test_a_new_node_gives_room(self):
        sim = self.sim
        sim.create(job("wide", "600s", completions=40, parallelism=40))
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "late"},
                "status": {"allocatable": {"cpu": "64", "nvidia.com/gpu": "8", "pods": "110"},
                           "conditions": [{"type": "Ready", "status": "True"}]}}
        sim.wait("jsonpath={.status.ready}=32", "job/wide")
        sim.create(node)
        sim.wait("jsonpath={.status.ready}=40", "job/wide")


class Restarts(Session):
    def test_a_killed_cluster_goes_on_where_it_was(self):
        sim = self.sim
        identity = sim.get("namespace", "kube-system")["metadata"]["uid"]
        sim.create(pytorch_job("long", "3s", workers=3), job("queue", "1s", completions=6))
        sim.wait("condition=Running", "pytorchjob/long")
        for _ in range(3):
            sim.kill()
            sim.start()
        self.assertEqual(sim.get("namespace", "kube-system")["metadata"]["uid"], identity)
        sim.wait("condition=Succeeded", "pytorchjob/long")
        sim.wait("condition=Complete", "job/queue")
        runs = [r["podUid"] for r in sim.runs()]
        self.assertEqual((len(runs), len(set(runs))), (10, 10))
        self.assertEqual({r["result"] for r in sim.runs()}, {"Succeeded"})

    def test_credentials_survive_and_term_is_quick(self):
        with open(self.sim.kubeconfig) as first:
            before = [l for l in first if "server:" not in l]
        status, took = self.sim.stop()
        self.assertEqual(status, 0)
        self.assertLess(took, 5)
        self.sim.start()
        with open(self.sim.kubeconfig) as second:
            self.assertEqual([l for l in second if "server:" not in l], before)


class Several(Session):
    count = 3

    def test_clusters_of_one_process_share_nothing(self):
        self.assertEqual([r[0] for r in self.sim.ready], ["ready"] * 3)
        self.assertEqual([r[2] for r in self.sim.ready], ["m1-0", "m1-1", "m1-2"])
        self.assertEqual(len({r[1] for r in self.sim.ready}), 3)
        uids = set()
        for i in range(3):
            config = f"{self.sim.kubeconfig}-{i}"
            namespace = json.loads(self.sim.kubectl("get", "ns", "kube-system", "-o", "json",
                                                    kubeconfig=config))
            uids.add(namespace["metadata"]["uid"])
        self.assertEqual(len(uids), 3)


class Mistakes(unittest.TestCase):
    def run_sim(self, *args):
        return subprocess.run([SIM, *args], text=True, capture_output=True, timeout=DEADLINE)

    def test_wrong_options_are_refused_with_words(self):
        done = self.run_sim("--name", "x")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--nodes is missing", done.stderr)

    def test_a_bad_nodes_file_is_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as bad:
            bad.write("kind: Pod\n")
            bad.flush()
            done = self.run_sim("--name", "x", "--nodes", bad.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn(bad.name, done.stderr)
        self.assertIn("not of kind Node", done.stderr)

    def test_help_is_help(self):
        done = self.run_sim("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--time-scale", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
