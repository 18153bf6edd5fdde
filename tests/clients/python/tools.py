"""The clients of scripts and notebooks in Python, from PyPI: Kubernetes' own, whose types check
what they read, kr8s and lightkube. A line `holds: SENTENCE` for each thing that worked; status 1
else. KUBECONFIG: the hub's administrator. Two members with nodes have joined it."""

import sys

import kr8s
import lightkube
from kr8s.objects import Job as Kr8sJob
from kr8s.objects import new_class
from kubernetes import client, config, watch
from lightkube.generic_resource import get_generic_resource, load_in_cluster_generic_resources
from lightkube.resources.batch_v1 import Job

CONTAINER = {"name": "pytorch", "image": "train:1", "resources": {
    "requests": {"cpu": 1, "memory": "1024Mi", "nvidia.com/gpu": 1},
    "limits": {"nvidia.com/gpu": 1}}}
TEMPLATE = {"metadata": {"annotations": {"muster.dev/sim-duration": "1s"}},
            "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}


def holds(true, sentence):
    if not true:
        print("not so: " + sentence, flush=True)
        sys.exit(1)
    print("holds: " + sentence, flush=True)


def job(name, labels=None):
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": TEMPLATE},
            "metadata": {"name": name, "namespace": "default", "labels": labels or {}}}


def training(name):
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": TEMPLATE}}}}


def of_kubernetes():
    api = config.new_client_from_config()
    core, batch = client.CoreV1Api(api), client.BatchV1Api(api)
    custom = client.CustomObjectsApi(api)
    names = [n.metadata.name for n in core.list_node().items]
    holds(len(names) == 2, "the official client reads every member's nodes")
    custom.create_namespaced_custom_object("kubeflow.org", "v1", "default", "pytorchjobs",
                                           training("official"))
    stream = watch.Watch()
    for event in stream.stream(custom.list_namespaced_custom_object, "kubeflow.org", "v1",
                               "default", "pytorchjobs",
                               field_selector="metadata.name=official"):
        conditions = event["object"].get("status", {}).get("conditions", [])
        if any(c["type"] == "Succeeded" for c in conditions):
            stream.stop()
    pods = {}
    for event in stream.stream(core.list_namespaced_pod, "default"):
        pod = event["object"]
        pods[pod.metadata.name] = pod.spec.containers[0].resources.requests
        if len(pods) == 2:
            stream.stop()
    holds(all(amounts == {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}
              for amounts in pods.values()), "and their pods")
    Kr8sJob(job("numbers")).create()  # the official client does not send numbers
    requests = batch.read_namespaced_job("numbers", "default").spec.template.spec.containers[
        0].resources.requests
    holds(requests["cpu"] == "1" and requests["memory"] == "1Gi",
          "a Job that was written with numbers comes back in Kubernetes' words")
    core.list_event_for_all_namespaces()
    client.ApiextensionsV1Api(api).list_custom_resource_definition()
    client.AuthorizationV1Api(api).create_self_subject_rules_review(
        {"spec": {"namespace": "default"}})
    holds(True, "events, definitions and reviews are read")
    batch.delete_namespaced_job("numbers", "default", propagation_policy="Foreground")


def of_kr8s():
    api = kr8s.api()
    holds(api.version()["major"] and len(list(api.api_resources())) > 40, "kr8s discovers")
    mine = Kr8sJob(job("kr8s"))
    mine.create()
    mine.label({"seen": "yes"})
    mine.wait("condition=Complete", timeout=60)
    for _, pod in kr8s.watch("pods", namespace="default",
                             label_selector={"batch.kubernetes.io/job-name": "kr8s"}):
        holds(list(pod.logs()), "runs a Job and reads its pod's log")
        break
    mine.delete()
    mine.wait("delete", timeout=60)
    queue = new_class(kind="LocalQueue", version="kueue.x-k8s.io/v1beta2", namespaced=True)(
        {"metadata": {"name": "q", "namespace": "default"}, "spec": {"clusterQueue": "none"}})
    queue.create()
    queue.patch({"metadata": {"labels": {"seen": "yes"}}})
    queue.refresh()
    holds(queue.labels["seen"] == "yes", "and changes a queue")
    queue.delete()


def of_lightkube():
    kube = lightkube.Client(field_manager="lightkube")
    load_in_cluster_generic_resources(kube)
    kube.apply(Job.from_dict(job("light", {"set": "light"})))
    done = kube.wait(Job, "light", for_conditions=["Complete"], namespace="default")
    again = kube.apply(Job.from_dict(job("light", {"set": "light"})))
    holds(again.metadata.generation == done.metadata.generation,
          "lightkube applies twice and changes once")
    trainings = get_generic_resource("kubeflow.org/v1", "PyTorchJob")
    holds([t.metadata.name for t in kube.list(trainings, namespace="default")] == ["official"],
          "and lists kinds that it never heard of")


if __name__ == "__main__":
    of_kubernetes()
    of_kr8s()
    of_lightkube()
