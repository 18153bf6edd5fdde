"""What Kubernetes' clients ask for and this server does not do, refused in words that say where to
go instead."""

from session import Case, NS, main

PODS, NODES = NS + "pods", "/api/v1/nodes"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
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

    def test_what_is_no_way_to_a_pod_is_not_found(self):
        self.assertEqual(self.client.get(PODS + "/x/other")[0], 404)
        self.assertEqual(self.client.post(NODES + "/n/eviction", {})[0], 404)


if __name__ == "__main__":
    main()
