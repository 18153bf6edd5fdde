"""What else is refused, taken and filled in of the bodies of Kubernetes' own kinds: times, nulls,
events, bindings, claims, leases. These tests pass against kube-apiserver 1.36 too."""

import mutations
from session import Case, main

DROP = mutations.ABSENT

# (which object of mutations.py, where, what is put there, (reason, path) of each cause)
REFUSED = [
    ("newevent", "reason", "x" * 129, [("Invalid", "reason")]),
    ("newevent", "action", "x" * 129, [("Invalid", "action")]),
    ("newevent", "reportingInstance", "x" * 129, [("Invalid", "reportingInstance")]),
    ("newevent", "note", "x" * 1025, [("Invalid", "message")]),
    ("newevent", "reportingController", "a b", [("Invalid", "reportingController")]),
    ("newevent", "eventTime", None, [("Required", "eventTime")]),
    ("newevent", "series.count", 1, [("Invalid", "series.count")]),
    ("rolebinding", "subjects.0.kind", "", [("NotSupported", "subjects[0].kind")]),
    ("rolebinding", "roleRef.kind", DROP, [("NotSupported", "roleRef.kind")]),
    ("clusterrole", "aggregationRule.clusterRoleSelectors.0.matchExpressions.0.key", "",
     [("Invalid", "aggregationRule.clusterRoleSelectors[0]"),
      ("Invalid", "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].key")]),
    ("ssh", "data.ssh-privatekey", "", [("Required", "data[ssh-privatekey]")]),
    ("priorityclass", "preemptionPolicy", "", [("Required", "preemptionPolicy")]),
    ("configmap", "metadata.finalizers.0", "Bad_Name!",
     [("Invalid", "metadata.finalizers"), ("Invalid", "metadata.finalizers[0]")]),
    ("plainjob", "spec.manualSelector", False, [("Invalid", "spec.selector")]),
    ("jobpods", "spec.template.metadata.labels.app", "a b",
     [("Invalid", "metadata.labels"), ("Invalid", "spec.template.labels")]),
    ("claim", "spec.accessModes", [], [("Required", "spec.accessModes")]),
    ("claim", "spec.accessModes", ["ReadWriteOncePod", "ReadWriteMany"],
     [("Forbidden", "spec.accessModes")]),
    ("claim", "spec.resources.requests.storage", "0", [("Invalid", "spec.resources[storage]")]),
    ("claim", "spec.storageClassName", "A", [("Invalid", "spec.storageClassName")]),
    ("claim", "spec.dataSourceRef.kind", "Pod",
     [("Invalid", "spec.dataSource"), ("Invalid", "spec.dataSourceRef")]),
]

# (which object, where, what is put there, what it has become)
TAKEN = [
    ("configmap", "metadata.annotations.a", None, ""),
    ("configmap", "metadata.labels.app.example.com/l", None, ""),
    ("event", "metadata.name", "Bad_Name!", "Bad_Name!"),
    ("event", "firstTimestamp", "2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z"),
    ("event", "lastTimestamp", "2024-01-01T00:00:00.999999999Z", "2024-01-01T00:00:00Z"),
    ("lease", "spec.acquireTime", "2024-01-01T01:00:00.000001+01:00",
     "2024-01-01T00:00:00.000001Z"),
    ("newevent", "regarding.namespace", "other", "other"),
    ("rolebinding", "roleRef.apiGroup", "", "rbac.authorization.k8s.io"),
    ("rolebinding", "subjects", [], DROP),
    ("role", "rules", [], None),
    ("claim", "spec.dataSourceRef", {"kind": "PersistentVolumeClaim", "name": "y"},
     {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "y"}),
]


def steps(where):
    """ "a.0.b" -> ("a", 0, "b"); what follows labels. is one key."""
    head, dot, key = where.partition(".labels.")
    parts = [int(s) if s.isdigit() else s for s in head.split(".")]
    return tuple(parts + (["labels", key] if dot else []))


class Bodies(Case):
    def post(self, which, where, value, **params):
        url, body = mutations.OBJECTS[which]
        return self.client.post(url, mutations.changed(body, steps(where), value), dryRun="All",
                                **params)

    def test_what_is_wrong_in_one_place_is_told_with_its_path(self):
        for which, where, value, causes in REFUSED:
            with self.subTest(which=which, where=where, value=value):
                s = self.fails(422, "Invalid", self.post(which, where, value))
                self.assertEqual(sorted({(c["reason"].replace("FieldValue", ""), c["field"])
                                         for c in s["details"]["causes"]}), sorted(causes))

    def test_what_is_odd_is_taken_as_go_reads_it(self):
        for which, where, value, want in TAKEN:
            with self.subTest(which=which, where=where, value=value):
                at = self.must(201, self.post(which, where, value))
                for step in steps(where):
                    at = at.get(step, DROP) if isinstance(at, dict) else at[step]
                self.assertEqual(at, want)

    def test_a_claims_source_has_both_of_its_names(self):
        o = self.must(201, self.post("claim", "spec.volumeName", "v"))
        self.assertEqual(o["spec"]["dataSource"], o["spec"]["dataSourceRef"])

    def test_a_lease_has_no_fields_of_a_feature_that_is_off(self):
        o = self.must(201, self.post("lease", "spec.leaseTransitions", 2))
        self.assertEqual(sorted(o["spec"]), ["acquireTime", "holderIdentity",
                                             "leaseDurationSeconds", "leaseTransitions",
                                             "renewTime"])

    def test_a_time_with_microseconds_has_six_digits(self):
        for which, where in (("lease", "spec.renewTime"), ("newevent", "eventTime")):
            for value, words in (("2024-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
                                 ("2024-01-01T00:00:00.1234567Z",
                                  'cannot parse "7Z" as "Z07:00"'),
                                 ("", 'cannot parse "" as "2006"')):
                with self.subTest(which=which, value=value):
                    s = self.fails(400, "BadRequest", self.post(which, where, value))
                    self.assertTrue(s["message"].endswith(words), s["message"])


if __name__ == "__main__":
    main()
