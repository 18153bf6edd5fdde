"""What Kubernetes' clients ask for and this server does not do, refused in words that say where to
go instead."""

from session import Case, NS, main

PODS, NODES = NS + "pods", "/api/v1/nodes"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"},
       "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Refusals(Case):
    def refused(self, answer, *words):
        message = self.fails(405, "MethodNotAllowed", answer)["message"]
        for one in words:
            self.assertIn(one, message)

    def test_a_pod_is_not_created(self):
        for options in ({}, {"dryRun": "All"}):
            self.refused(self.client.post(PODS, POD, **options), "pods are not created here",
                         "kubectl create job NAME --image=IMAGE", "to debug a node or a pod")

    def test_a_pod_is_a_view(self):
        at = PODS + "/x"
        for answer in (self.client.delete(at), self.client.patch(at, {}),
                       self.client.put(at, POD),
                       self.client.patch(at + "/ephemeralcontainers", {}, "strategic"),
                       self.client.post(at + "/eviction", {})):
            self.refused(answer, 'pods "x" cannot be changed', "muster.dev/cluster",
                         "the job that it belongs to")
        self.refused(self.client.delete(PODS), "pods cannot be changed")

    def test_a_node_is_a_view(self):
        for answer in (self.client.delete(NODES + "/n"), self.client.patch(NODES + "/n", {})):
            self.refused(answer, 'nodes "n" cannot be changed', "Cordon, drain")

    def test_what_runs_for_ever(self):
        self.refused(self.client.post(DEPLOYMENTS, {}), "deployments.apps is not for this server",
                     "it runs no deployments", "kubectl create job", "Skip this step")
        self.refused(self.client.get(DEPLOYMENTS + "/d"), 'deployments.apps "d" is not')
        self.refused(self.client.post(NS + "services", {}), "services is not for this server: it "
                     "runs no services. Skip this step")

    def test_kinds_of_other_clusters_users(self):
        for group, plural, words in (
                ("leaderworkerset.x-k8s.io/v1", "leaderworkersets", "can be a JobSet"),
                ("workload.codeflare.dev/v1beta2", "appwrappers", "the job that it wraps"),
                ("ray.io/v1", "rayservices", "submit a RayJob or a RayCluster"),
                ("trainer.kubeflow.org/v1alpha1", "trainjobs", "submit the JobSet"),
                ("sparkoperator.k8s.io/v1beta2", "sparkapplications", "spark-submit does as a Job"),
                ("resource.k8s.io/v1", "resourceclaimtemplates", "make it at the member clusters"),
                ("batch/v1", "cronjobs", "create its Jobs here")):
            at = f"/apis/{group}/namespaces/default/{plural}"
            listed = self.must(200, self.client.get("/apis/" + group))["resources"]
            self.assertEqual([r["verbs"] for r in listed if r["name"] == plural], [[]])
            self.assertEqual(self.must(200, self.client.get(at))["items"], [])
            self.refused(self.client.post(at, {}), f"it runs no {plural}; ", words)

    def test_a_definition_takes_the_place_of_a_kind_that_is_known_by_name(self):
        group, plural = "leaderworkerset.x-k8s.io", "leaderworkersets"
        self.must(201, self.client.post(CRDS, {
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": plural, "kind": "LeaderWorkerSet"},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": {"type": "object"}}}]}}))
        at = f"/apis/{group}/v1/namespaces/default/{plural}"
        body = {"apiVersion": group + "/v1", "kind": "LeaderWorkerSet",
                "metadata": {"name": "x", "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
        events = self.client.watch(CRDS)
        events.until(lambda e: any(
            c["type"] == "Established" and c["status"] == "True"
            for c in e["object"].get("status", {}).get("conditions", [])
            if e["object"]["metadata"]["name"].startswith(plural)))
        events.close()
        status, headers, text = self.client.request("POST", at, body)
        self.assertEqual(status, 201, text)
        self.assertIn("metadata.labels[kueue.x-k8s.io/queue-name]: has no effect here",
                      headers["Warning"])
        events = self.client.watch(CRDS)
        self.must(200, self.client.delete(f"{CRDS}/{plural}.{group}"))
        events.until(lambda e: e["type"] == "DELETED")
        events.close()
        self.refused(self.client.post(at, body), "it runs no leaderworkersets")

    def test_what_is_no_way_to_a_pod_is_not_found(self):
        self.assertEqual(self.client.get(PODS + "/x/other")[0], 404)
        self.assertEqual(self.client.post(NODES + "/n/eviction", {})[0], 404)


if __name__ == "__main__":
    main()
