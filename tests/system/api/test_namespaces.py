"""The end of a namespace, as its conditions tell it in the words of Kubernetes' namespace
controller."""

from session import Case, config_map, main

NAMESPACES = "/api/v1/namespaces"
HOLD = "example.com/hold"
GONE = "All content successfully removed"


def conditions(namespace):
    return {c["type"]: (c["status"], c["reason"], c["message"])
            for c in namespace.get("status", {}).get("conditions", [])}


class Namespaces(Case):
    def begin(self, name, *held):
        """A namespace that is deleted while these are held in it, and a watch of it."""
        self.must(201, self.client.post(NAMESPACES, {
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        for one in held:
            self.must(201, self.client.post(self.of(name), config_map(one, finalizers=[HOLD])))
        events = self.client.watch(NAMESPACES, fieldSelector="metadata.name=" + name)
        self.addCleanup(events.close)
        self.must(200, self.client.delete(NAMESPACES + "/" + name))
        return events

    def of(self, name):
        return NAMESPACES + "/" + name + "/configmaps"

    def release(self, name, one):
        self.must(200, self.client.patch(self.of(name) + "/" + one,
                                         {"metadata": {"finalizers": None}}))

    def told(self, events, message):
        """The namespace once it says so."""
        return events.until(lambda e: conditions(e["object"]).get(
            "NamespaceContentRemaining", (0, 0, ""))[2] == message)[-1]["object"]

    def test_it_says_what_remains_until_that_goes(self):
        events = self.begin("full", "a", "b")
        left = self.told(
            events, "Some resources are remaining: configmaps. has 2 resource instances")
        self.assertEqual(left["status"]["phase"], "Terminating")
        self.assertEqual(conditions(left), {
            "NamespaceDeletionDiscoveryFailure": (
                "False", "ResourcesDiscovered", "All resources successfully discovered"),
            "NamespaceDeletionGroupVersionParsingFailure": (
                "False", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
            "NamespaceDeletionContentFailure": (
                "False", "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization"),
            "NamespaceContentRemaining": (
                "True", "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 2 resource instances"),
            "NamespaceFinalizersRemaining": (
                "True", "SomeFinalizerRemain",
                "Some finalizers are remaining: %s in 2 resource instances" % HOLD)})
        entry, = [e for e in left["metadata"]["managedFields"]
                  if e.get("subresource") == "status"]
        self.assertEqual((entry["manager"], entry["operation"]), ("musterd", "Update"))
        self.release("full", "a")
        self.told(events, "Some resources are remaining: configmaps. has 1 resource instances")
        self.release("full", "b")
        events.until(lambda e: e["type"] == "DELETED")

    def test_a_cleared_finalizer_does_not_leave_its_contents_behind(self):
        events = self.begin("cleared", "a")
        left = self.told(
            events, "Some resources are remaining: configmaps. has 1 resource instances")
        left["spec"]["finalizers"] = []
        del left["metadata"]["resourceVersion"]
        self.must(200, self.client.put(NAMESPACES + "/cleared/finalize", left))
        self.must(200, self.client.get(NAMESPACES + "/cleared"))
        self.must(200, self.client.get(self.of("cleared") + "/a"))
        self.release("cleared", "a")
        events.until(lambda e: e["type"] == "DELETED")
        self.fails(404, "NotFound", self.client.get(self.of("cleared") + "/a"))


if __name__ == "__main__":
    main()
