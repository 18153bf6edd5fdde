"""metadata.generation: which of Kubernetes' own kinds have one, and what counts it up
(kubernetes-api.md 1.7). These tests pass against kube-apiserver 1.36 too."""

from session import Case, NS, main

RBAC = "/apis/rbac.authorization.k8s.io/v1/"
VIEW = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
PODS = {"spec": {"containers": [{"name": "a", "image": "b"}]}}
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
# (path, apiVersion, kind, what else it needs, generation)
KINDS = (
    ("/api/v1/namespaces", "v1", "Namespace", {}, None),
    (NS + "configmaps", "v1", "ConfigMap", {}, None),
    (NS + "secrets", "v1", "Secret", {}, None),
    (NS + "serviceaccounts", "v1", "ServiceAccount", {}, None),
    (NS + "events", "v1", "Event", {"involvedObject": {
        "kind": "Pod", "namespace": "default", "name": "x"}}, None),
    (NS + "persistentvolumeclaims", "v1", "PersistentVolumeClaim", {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}, None),
    (NS + "podtemplates", "v1", "PodTemplate", {"template": PODS}, 1),
    ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "coordination.k8s.io/v1", "Lease",
     {}, None),
    (CLASSES, "scheduling.k8s.io/v1", "PriorityClass", {"value": 1}, 1),
    (RBAC + "clusterroles", "rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": []}, None),
    (RBAC + "namespaces/default/roles", "rbac.authorization.k8s.io/v1", "Role", {"rules": []},
     None),
    (RBAC + "clusterrolebindings", "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
     {"roleRef": VIEW}, None),
    (RBAC + "namespaces/default/rolebindings", "rbac.authorization.k8s.io/v1", "RoleBinding",
     {"roleRef": VIEW}, None),
    ("/apis/batch/v1/namespaces/default/jobs", "batch/v1", "Job", {"spec": {"template": {
        "spec": {**PODS["spec"], "restartPolicy": "Never"}}}}, 1),
)


class Generations(Case):
    def create(self, path, version, kind, more, name="zz"):
        return self.must(201, self.client.post(path, {
            "apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}))

    def test_kinds_with_one_and_without(self):
        for path, version, kind, more, want in KINDS:
            with self.subTest(kind):
                made = self.create(path, version, kind, more, "first")
                self.assertEqual(made["metadata"].get("generation"), want)
                self.must(200, self.client.delete(path + "/first"))

    def test_rules_do_not_count(self):
        path = RBAC + "clusterroles"
        self.create(path, "rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": []})
        got = self.must(200, self.client.patch(path + "/zz", {"rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}))
        self.assertNotIn("generation", got["metadata"])

    def test_a_template_counts_and_its_labels_do_not(self):
        path = NS + "podtemplates"
        self.create(path, "v1", "PodTemplate", {"template": PODS})
        for change, want in (({"metadata": {"labels": {"a": "b"}}}, 1),
                             ({"template": {"metadata": {"labels": {"a": "b"}}}}, 2)):
            got = self.must(200, self.client.patch(path + "/zz", change))
            self.assertEqual(got["metadata"]["generation"], want)

    def test_a_priority_class_stays_the_first(self):
        self.create(CLASSES, "scheduling.k8s.io/v1", "PriorityClass", {"value": 1})
        got = self.must(200, self.client.patch(CLASSES + "/zz", {"description": "x"}))
        self.assertEqual((got["description"], got["metadata"]["generation"]), ("x", 1))


if __name__ == "__main__":
    main()
