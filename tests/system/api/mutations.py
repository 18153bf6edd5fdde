"""Complete valid objects of Kubernetes' own kinds, and bodies made from them by one change each."""

import copy

LONG = "x" * 300


def container(name):
    return {
        "name": name, "image": "busybox:1", "command": ["sh"], "args": ["-c"],
        "workingDir": "/w", "imagePullPolicy": "Always", "tty": True,
        "ports": [{"name": "http", "containerPort": 80, "hostPort": 0, "protocol": "TCP"}],
        "env": [{"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"fieldRef": {"apiVersion": "v1",
                                                         "fieldPath": "metadata.name"}}},
                {"name": "C", "valueFrom": {"resourceFieldRef": {
                    "containerName": name, "resource": "limits.cpu", "divisor": "1m"}}},
                {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}},
                {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}},
                    {"secretRef": {"name": "s", "optional": True}}],
        "resources": {"limits": {"cpu": "2", "memory": "2Gi", "example.com/gpu": "1"},
                      "requests": {"cpu": "1", "memory": "1Gi"}},
        "volumeMounts": [{"name": "empty", "mountPath": "/e", "readOnly": True,
                          "mountPropagation": "None", "subPath": "a"}],
        "livenessProbe": {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP",
                                      "httpHeaders": [{"name": "X-A", "value": "b"}]},
                          "periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1,
                          "failureThreshold": 3, "initialDelaySeconds": 1,
                          "terminationGracePeriodSeconds": 5},
        "readinessProbe": {"tcpSocket": {"port": "http"}},
        "startupProbe": {"exec": {"command": ["true"]}},
        "lifecycle": {"preStop": {"exec": {"command": ["true"]}},
                      "postStart": {"sleep": {"seconds": 1}}},
        "securityContext": {"runAsUser": 1, "runAsGroup": 1, "runAsNonRoot": True,
                            "privileged": False, "allowPrivilegeEscalation": False,
                            "capabilities": {"add": ["A"], "drop": ["ALL"]}, "procMount": "Default",
                            "seccompProfile": {"type": "RuntimeDefault"},
                            "appArmorProfile": {"type": "RuntimeDefault"}},
        "terminationMessagePath": "/t", "terminationMessagePolicy": "File",
        "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]}


def node_terms():
    return {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]},
                                 {"key": "n", "operator": "Gt", "values": ["1"]},
                                 {"key": "e", "operator": "Exists"}],
            "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}


def pod_term():
    return {"labelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [
        {"key": "x", "operator": "In", "values": ["y"]}]},
        "namespaces": ["default"], "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {"matchLabels": {"a": "b"}}}


def volumes():
    return [
        {"name": "empty", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "secret", "secret": {"secretName": "s", "defaultMode": 256, "optional": True,
                                      "items": [{"key": "k", "path": "p", "mode": 256}]}},
        {"name": "config", "configMap": {"name": "cm", "defaultMode": 256,
                                         "items": [{"key": "k", "path": "p"}]}},
        {"name": "down", "downwardAPI": {"defaultMode": 256, "items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
            {"path": "cpu", "mode": 256, "resourceFieldRef": {
                "containerName": "main", "resource": "limits.cpu"}}]}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}},
        {"name": "host", "hostPath": {"path": "/h", "type": "Directory"}},
        {"name": "nfs", "nfs": {"server": "s", "path": "/p", "readOnly": True}},
        {"name": "csi", "csi": {"driver": "d.example.com", "fsType": "ext4",
                                "volumeAttributes": {"a": "b"},
                                "nodePublishSecretRef": {"name": "s"}}},
        {"name": "projected", "projected": {"defaultMode": 256, "sources": [
            {"secret": {"name": "s", "items": [{"key": "k", "path": "s"}]}},
            {"configMap": {"name": "cm", "items": [{"key": "k", "path": "c"}]}},
            {"downwardAPI": {"items": [{"path": "d", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"serviceAccountToken": {"audience": "a", "expirationSeconds": 3600, "path": "t"}}]}},
        {"name": "made", "ephemeral": {"volumeClaimTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                     "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}}}}},
        {"name": "image", "image": {"reference": "busybox:1", "pullPolicy": "IfNotPresent"}}]


def pod_spec(restart):
    return {
        "containers": [container("main"), {"name": "side", "image": "b"}],
        "initContainers": [{"name": "init", "image": "b", "restartPolicy": "Always"}],
        "restartPolicy": restart, "terminationGracePeriodSeconds": 30,
        "activeDeadlineSeconds": 100, "dnsPolicy": "ClusterFirst",
        "nodeSelector": {"disk": "ssd"}, "serviceAccountName": "sa",
        "automountServiceAccountToken": False, "nodeName": "node-1",
        "securityContext": {"runAsUser": 1, "runAsGroup": 1, "fsGroup": 1,
                            "supplementalGroups": [1], "fsGroupChangePolicy": "Always",
                            "supplementalGroupsPolicy": "Merge",
                            "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}],
                            "seccompProfile": {"type": "Localhost", "localhostProfile": "p"}},
        "imagePullSecrets": [{"name": "pull"}], "hostname": "h", "subdomain": "sub",
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [node_terms()]},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": node_terms()}]},
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [pod_term()]},
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": pod_term()}]}},
        "schedulerName": "default-scheduler",
        "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute",
                         "tolerationSeconds": 5}, {"operator": "Exists"}],
        "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a.example.com"]}],
        "priorityClassName": "high", "runtimeClassName": "rc", "enableServiceLinks": True,
        "preemptionPolicy": "Never", "readinessGates": [{"conditionType": "example.com/x"}],
        "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": ["a.b"],
                      "options": [{"name": "ndots", "value": "1"}]},
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}}, "minDomains": 1,
            "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}],
        "setHostnameAsFQDN": False, "os": {"name": "linux"}, "hostUsers": True,
        "schedulingGates": [{"name": "example.com/gate"}],
        "resourceClaims": [{"name": "rc", "resourceClaimName": "claim"}],
        "overhead": {"cpu": "1m"},
        "volumes": volumes()}


def template(restart):
    return {"metadata": {"labels": {"app": "a"}, "annotations": {"n.example.com/a": "x"}},
            "spec": pod_spec(restart)}


def meta(name, **more):
    return {"name": name, "labels": {"app.example.com/l": "v"}, "annotations": {"a": "b"}, **more}


def small(restart="Never"):
    return {"spec": {"restartPolicy": restart, "containers": [{"name": "c", "image": "b"}]}}


OBJECTS = {
    "job": ("/apis/batch/v1/namespaces/default/jobs", {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
            "parallelism": 2, "completions": 2, "completionMode": "Indexed",
            "activeDeadlineSeconds": 10, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1,
            "backoffLimit": 3, "suspend": True, "ttlSecondsAfterFinished": 5,
            "podReplacementPolicy": "Failed", "managedBy": "example.com/me",
            "manualSelector": False,
            "podFailurePolicy": {"rules": [
                {"action": "FailJob", "onExitCodes": {
                    "containerName": "c", "operator": "In", "values": [1, 2]}},
                {"action": "Ignore", "onPodConditions": [
                    {"type": "DisruptionTarget", "status": "True"}]},
                {"action": "Count", "onExitCodes": {"operator": "NotIn", "values": [0, 3]}}]},
            "successPolicy": {"rules": [{"succeededIndexes": "0-1", "succeededCount": 1},
                                        {"succeededCount": 1}]},
            "template": small()}}),
    "plainjob": ("/apis/batch/v1/namespaces/default/jobs", {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
            "parallelism": 2, "completions": 4, "completionMode": "NonIndexed",
            "selector": {"matchLabels": {"a": "b"}}, "manualSelector": True,
            "template": {"metadata": {"labels": {"a": "b"}}, **small("OnFailure")}}}),
    "jobpods": ("/apis/batch/v1/namespaces/default/jobs", {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
            "template": template("Never")}}),
    "podtemplate": ("/api/v1/namespaces/default/podtemplates", {
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": meta("pt"),
        "template": template("Always")}),
    "configmap": ("/api/v1/namespaces/default/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": meta("cm", finalizers=["example.com/f"], ownerReferences=[
            {"apiVersion": "v1", "kind": "Node", "name": "o", "uid": "u", "controller": True,
             "blockOwnerDeletion": True}]),
        "data": {"k": "v"}, "binaryData": {"b": "AAAA"}, "immutable": False}),
    "generated": ("/api/v1/namespaces/default/configmaps", {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "cm-"}}),
    "secret": ("/api/v1/namespaces/default/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": meta("s"), "type": "Opaque",
        "data": {"k": "AAAA"}, "stringData": {"p": "text"}, "immutable": False}),
    "tls": ("/api/v1/namespaces/default/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "type": "kubernetes.io/tls", "data": {"tls.crt": "AAAA", "tls.key": "AAAA"}}),
    "basic": ("/api/v1/namespaces/default/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "type": "kubernetes.io/basic-auth", "data": {"username": "AAAA"}}),
    "ssh": ("/api/v1/namespaces/default/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": "AAAA"}}),
    "dockercfg": ("/api/v1/namespaces/default/secrets", {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "e30="}}),
    "serviceaccount": ("/api/v1/namespaces/default/serviceaccounts", {
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta("sa"),
        "secrets": [{"name": "s", "namespace": "default", "kind": "Secret"}],
        "imagePullSecrets": [{"name": "p"}], "automountServiceAccountToken": True}),
    "namespace": ("/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": meta("team-x"),
        "spec": {"finalizers": ["kubernetes", "example.com/f"]}, "status": {"phase": "Active"}}),
    "priorityclass": ("/apis/scheduling.k8s.io/v1/priorityclasses", {
        "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta("p"),
        "value": 5, "globalDefault": False, "description": "d", "preemptionPolicy": "Never"}),
    "lease": ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta("l"), "spec": {
            "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 1,
            "acquireTime": "2024-01-01T00:00:00.000000Z",
            "renewTime": "2024-01-01T00:00:00.000000Z", "strategy": "OldestEmulationVersion",
            "preferredHolder": "you"}}),
    "event": ("/api/v1/namespaces/default/events", {
        "apiVersion": "v1", "kind": "Event", "metadata": meta("e.1"),
        "involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "c",
                           "apiVersion": "v1", "uid": "u", "fieldPath": "f"},
        "reason": "Why", "message": "m", "type": "Normal", "count": 1,
        "source": {"component": "c", "host": "h"}, "firstTimestamp": "2024-01-01T00:00:00Z",
        "lastTimestamp": "2024-01-01T00:00:00Z"}),
    "newevent": ("/apis/events.k8s.io/v1/namespaces/default/events", {
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e.2"},
        "regarding": {"kind": "ConfigMap", "namespace": "default", "name": "c"},
        "related": {"kind": "ConfigMap", "namespace": "default", "name": "c"},
        "reason": "Why", "note": "m", "type": "Normal", "action": "Did",
        "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
        "reportingInstance": "i", "series": {
            "count": 2, "lastObservedTime": "2024-01-01T00:00:00.000000Z"}}),
    "role": ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta("r"),
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"],
                   "resourceNames": ["a"]}]}),
    "clusterrole": ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": meta("r"), "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}],
        "aggregationRule": {"clusterRoleSelectors": [{
            "matchLabels": {"a": "b"}, "matchExpressions": [
                {"key": "k", "operator": "In", "values": ["v"]},
                {"key": "k", "operator": "Exists"}]}]}}),
    "rolebinding": ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": meta("r"),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
        "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                     {"kind": "ServiceAccount", "name": "s", "namespace": "default"}]}),
    "clusterrolebinding": ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": meta("r"),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "x"},
        "subjects": [{"kind": "Group", "name": "u", "apiGroup": "rbac.authorization.k8s.io"},
                     {"kind": "ServiceAccount", "name": "s", "namespace": "default"}]}),
    "claim": ("/api/v1/namespaces/default/persistentvolumeclaims", {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta("c"), "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Block",
            "resources": {"requests": {"storage": "1Gi"}, "limits": {"storage": "2Gi"}},
            "selector": {"matchLabels": {"a": "b"}, "matchExpressions": [
                {"key": "k", "operator": "In", "values": ["v"]}]},
            "volumeName": "v", "volumeAttributesClassName": "vac",
            "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "x"}}}),
}

ABSENT = object()
STRINGS = ["", "Bad_Name!", LONG, 1]
QUANTITIES = ["-1", "0.5", "1000m", "1024Mi", "1x", "1e3", "0", 1, 1.5, "1Ei",
              "10000000000000000000"]
TIMES = ["", "yesterday", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.123456789Z",
         "2024-01-01T01:00:00+01:00", 1]
MAPS = ("labels", "annotations", "matchLabels", "data", "nodeSelector", "binaryData", "stringData",
        "limits", "requests", "overhead", "volumeAttributes")


def variants(path, value):
    if path:
        yield "absent", ABSENT
        yield "null", None
    if isinstance(value, bool):
        yield from ((repr(not value), not value), ("text", "yes"))
    elif isinstance(value, int):
        for n in (-1, 0, 1, 100001, 2147483647, 2147483648, 1.5, "x"):
            yield repr(n), n
    elif isinstance(value, str):
        quantity = path[-1] in ("cpu", "memory", "storage", "sizeLimit", "example.com/gpu",
                                "divisor")
        more = QUANTITIES if quantity else TIMES if "Time" in str(path[-1]) else STRINGS
        for s in more:
            yield ("long" if s is LONG else repr(s)), s
    elif isinstance(value, list):
        yield from (("empty", []), ("object", {}), ("doubled", value + copy.deepcopy(value)))
        if value and isinstance(value[0], dict):
            yield "with {}", value + [{}]
    else:
        yield from (("empty", {}), ("text", "x"), ("more", {**value, "bogusField": 1}))
        if path and path[-1] in MAPS:
            for key in ("", "Bad key!", LONG, "a/b/c", "/x", "x/", "..", "Ex.com/a"):
                yield "key " + ("long" if key is LONG else key), {**value, key: "1"}


def walk(path, value):
    yield path, value
    if isinstance(value, dict):
        for k, v in value.items():
            yield from walk(path + (k,), v)
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from walk(path + (i,), v)


def changed(body, path, value):
    body = copy.deepcopy(body)
    if not path:
        return value
    at = body
    for step in path[:-1]:
        at = at[step]
    if value is ABSENT:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return body


def cases():
    for name, (url, body) in OBJECTS.items():
        yield name + " as it is", url, body
        for path, value in walk((), body):
            if path in (("apiVersion",), ("kind",)) or not path:
                continue
            for what, v in variants(path, value):
                yield "%s %s %s" % (name, ".".join(map(str, path)), what), url, changed(
                    body, path, v)
