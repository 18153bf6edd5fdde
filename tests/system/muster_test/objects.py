"""Objects that tests submit: small builders, plain dictionaries."""

NODE = {"kind": "Node", "apiVersion": "v1"}


def node(name, count=1, gpus=8, cpu="96", memory="1000Gi", pods="110", labels=None, **more):
    allocatable = {"cpu": cpu, "memory": memory, "pods": pods, **more}
    if gpus:
        allocatable["nvidia.com/gpu"] = str(gpus)
    meta = {"name": name, "labels": labels or {}}
    if count > 1:
        meta["annotations"] = {"muster.dev/sim-count": str(count)}
    return {**NODE, "metadata": meta, "status": {"allocatable": allocatable}}


def pod_template(container="pytorch", gpus=1, cpu="1", memory="1Gi", duration="1s", exit_code=0,
                 **spec):
    requests = {"cpu": cpu, "memory": memory}
    limits = {}
    if gpus:
        requests["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = str(gpus)
    return {"metadata": {"annotations": {"muster.dev/sim-duration": duration,
                                         "muster.dev/sim-exit-code": str(exit_code)}},
            "spec": {"containers": [{"name": container, "image": "registry.example/train:1",
                                     "resources": {"requests": requests, "limits": limits}}],
                     **spec}}


def pytorch_job(name, namespace="default", workers=2, labels=None, priority_class=None,
                annotations=None, suspend=None, **pod):
    """1 master and so many workers, alike."""
    def replicas(n):
        return {"replicas": n, "restartPolicy": "Never", "template": pod_template(**pod)}
    sets = {"Master": replicas(1)}
    if workers:
        sets["Worker"] = replicas(workers)
    policy = {}
    if priority_class:
        for s in sets.values():
            s["template"]["spec"]["priorityClassName"] = priority_class
    if suspend is not None:
        policy["suspend"] = suspend
    meta = {"name": name, "namespace": namespace}
    if labels:
        meta["labels"] = labels
    if annotations:
        meta["annotations"] = annotations
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": meta,
            "spec": {"runPolicy": policy, "pytorchReplicaSpecs": sets}}


def batch_job(name, namespace="default", pods=1, **pod):
    template = pod_template(container="main", restartPolicy="Never", **pod)
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0,
                     "template": template}}


def job_set(name, namespace="default", replicas=1, pods=2, **pod):
    inner = {"parallelism": pods, "completions": pods, "backoffLimit": 0,
             "template": pod_template(container="main", restartPolicy="Never", **pod)}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicatedJobs": [{"name": "w", "replicas": replicas,
                                         "template": {"spec": inner}}]}}


def namespace(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def priority_class(name, value):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value}


def policy(name="example-policy", namespace="default", queue=True, kinds=("PyTorchJob",),
           **placement):
    """As in the ACK documentation; queue: with spec.suspension.scheduling."""
    versions = {"PyTorchJob": "kubeflow.org/v1", "Job": "batch/v1",
                "JobSet": "jobset.x-k8s.io/v1alpha2"}
    spec = {"propagateDeps": True,
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided",
                                                "customSchedulingType": "Gang"}, **placement},
            "resourceSelectors": [{"apiVersion": versions[k], "kind": k} for k in kinds]}
    if queue:
        spec["suspension"] = {"scheduling": True}
    return {"apiVersion": "policy.one.alibabacloud.com/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def quota_node(name, low=None, high=None, namespaces=None, children=None):
    n = {"name": name, "min": low or {}, "max": high or {}}
    if namespaces:
        n["namespaces"] = namespaces
    if children:
        n["children"] = children
    return n


def quota_tree(root, name="elasticquotatree", namespace="kube-system"):
    return {"apiVersion": "scheduling.sigs.k8s.io/v1beta1", "kind": "ElasticQuotaTree",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"root": root}}
