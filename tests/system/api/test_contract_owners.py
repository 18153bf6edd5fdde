"""Who owns what of a created object, once somebody else has written to it (kubernetes-api.md
section 5): structures that a Go value always has are nobody's, maps and items are their maker's.
These tests pass against kube-apiserver 1.36 too."""

from session import Case, main

JOBS = "/apis/batch/v1/namespaces/default/jobs"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
RBAC = "rbac.authorization.k8s.io"


def containers(*names):
    return [{"name": n, "image": "b", "resources": {"limits": {"cpu": "1"}}} for n in names]


class Owners(Case):
    def made(self, path, body):
        """The fields of whoever created it."""
        self.must(201, self.client.post(path, body, fieldManager="one"))
        o = self.must(200, self.client.patch(
            path + "/" + body["metadata"]["name"], {"metadata": {"annotations": {"new": "x"}}},
            fieldManager="two"))
        owners = {m["manager"]: m["fieldsV1"] for m in o["metadata"]["managedFields"]}
        self.assertEqual(owners["two"]["f:metadata"]["f:annotations"]["f:new"], {})
        return owners["one"]

    def test_structures_of_a_job_are_nobodys(self):
        fields = self.made(JOBS, {
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "o"}, "spec": {
                "template": {"metadata": {"annotations": {"a": "b"}}, "spec": {
                    "restartPolicy": "Never", "containers": containers("c", "d")}}}})
        spec = fields["f:spec"]
        pods = spec["f:template"]["f:spec"]
        for below in (fields, spec, spec["f:template"], spec["f:template"].get("f:metadata", {}),
                      pods, pods["f:containers"]):
            self.assertNotIn(".", below)
        self.assertEqual(pods["f:securityContext"], {})
        c = pods["f:containers"]['k:{"name":"c"}']
        self.assertEqual((c["."], c["f:resources"]["f:limits"]),
                         ({}, {".": {}, "f:cpu": {}}))
        self.assertEqual(spec["f:template"]["f:metadata"]["f:annotations"], {".": {}, "f:a": {}})

    def test_a_pod_template(self):
        fields = self.made(TEMPLATES, {
            "apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "o", "labels": {
                "a": "b"}}, "template": {"spec": {"containers": containers("c")}}})
        self.assertNotIn(".", fields["f:template"])
        self.assertNotIn(".", fields["f:template"]["f:spec"])
        self.assertEqual(fields["f:metadata"], {"f:labels": {".": {}, "f:a": {}}})

    def test_a_lease_and_a_binding(self):
        fields = self.made(LEASES, {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "o"},
            "spec": {"holderIdentity": "me"}})
        self.assertEqual(fields, {"f:spec": {"f:holderIdentity": {}}})
        fields = self.made(BINDINGS, {
            "apiVersion": RBAC + "/v1", "kind": "RoleBinding", "metadata": {"name": "o"},
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "User", "name": "u"}]})
        self.assertEqual(fields, {"f:roleRef": {}, "f:subjects": {}})


if __name__ == "__main__":
    main()
