"""PriorityClasses (pkg/apis/scheduling): the two that a cluster is born with, and what users may
call theirs. These tests pass against kube-apiserver 1.36 too, but where a comment says so."""

from session import Case, main

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error: "
BORN = {
    "system-cluster-critical": (
        2000000000, "Used for system critical pods that must run in the cluster, but can be moved "
        "to another node if necessary."),
    "system-node-critical": (
        2000001000, "Used for system critical pods that must not be moved from their current "
        "node."),
}


def priority(name, value, **more):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value, **more}


class Priorities(Case):
    def invalid(self, answer, *causes):
        s = self.fails(422, "Invalid", answer)
        self.assertEqual([(c["reason"], c["field"], c["message"])
                          for c in s["details"]["causes"]], list(causes))

    def test_two_are_there_from_the_beginning(self):
        for name, (value, about) in BORN.items():
            o = self.must(200, self.client.get(CLASSES + "/" + name))
            self.assertEqual((o["value"], o["description"], o["preemptionPolicy"]),
                             (value, about, "PreemptLowerPriority"))
            self.assertNotIn("globalDefault", o)
            self.assertEqual(o["metadata"]["generation"], 1)
            entry, = o["metadata"]["managedFields"]
            self.assertEqual((entry["operation"], entry["apiVersion"]),
                             ("Update", "scheduling.k8s.io/v1"))

    def test_they_stay(self):
        for name in BORN:
            for options in ({}, {"dryRun": "All"}):
                s = self.fails(403, "Forbidden", self.client.delete(CLASSES + "/" + name,
                                                                    **options))
                self.assertEqual(s["message"], 'priorityclasses.scheduling.k8s.io "%s" is '
                                 "forbidden: this is a system priority class and cannot be "
                                 "deleted" % name)
            self.fails(409, "AlreadyExists",
                       self.client.post(CLASSES, priority(name, BORN[name][0])))

    def test_a_collection_goes_without_them(self):
        # kube-apiserver takes these too, and makes them again at its next start.
        self.must(201, self.client.post(CLASSES, priority("goes", 5)))
        gone = [o["metadata"]["name"]
                for o in self.must(200, self.client.delete(CLASSES))["items"]]
        self.assertIn("goes", gone)
        self.assertFalse(set(BORN) & set(gone))
        left = [o["metadata"]["name"] for o in self.client.get(CLASSES)[1]["items"]]
        self.assertEqual(left, sorted(BORN))

    def test_names_of_the_system(self):
        def refused(words, *what, **more):
            self.invalid(self.client.post(CLASSES, priority(*what, **more)),
                         ("FieldValueForbidden", "metadata.name",
                          "Forbidden: " + RESERVED + words))
        refused("system-foo is not a known system priority class", "system-foo", 5)
        refused("system-foo is not a known system priority class", "system-foo", 2000000001)
        refused("value of system-node-critical PriorityClass must be 2000001000",
                "system-node-critical", 5)
        refused("globalDefault of system-node-critical PriorityClass must be false",
                "system-node-critical", 2000001000, globalDefault=True)

    def test_values_of_users(self):
        self.invalid(self.client.post(CLASSES, priority("big", 1000000001)), (
            "FieldValueForbidden", "value",
            "Forbidden: maximum allowed value of a user defined priority is 1000000000"))
        self.must(201, self.client.post(CLASSES, priority("most", 1000000000)))
        self.must(201, self.client.post(CLASSES, priority("least", -2147483648)))

    def test_what_does_not_change(self):
        value = ("FieldValueForbidden", "value", "Forbidden: may not be changed in an update.")
        policy = ("FieldValueInvalid", "preemptionPolicy",
                  'Invalid value: "Never": field is immutable')
        self.must(201, self.client.post(CLASSES, priority("mine", 5)))
        for name in ("mine", "system-node-critical"):
            at = CLASSES + "/" + name
            self.invalid(self.client.patch(at, {"value": 2000000000}), value)
            self.invalid(self.client.patch(at, {"preemptionPolicy": "Never"}), policy)
            self.invalid(self.client.patch(at, {"value": 6, "preemptionPolicy": "Never"}),
                         value, policy)
            self.must(200, self.client.patch(at, {"preemptionPolicy": None}))
            o = self.must(200, self.client.patch(at, {"metadata": {"labels": {"a": "b"}}}))
            self.assertEqual(o["metadata"]["labels"], {"a": "b"})


if __name__ == "__main__":
    main()
