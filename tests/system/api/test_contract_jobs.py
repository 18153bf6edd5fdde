"""Rules of batch/v1 Jobs beyond their pods (pkg/apis/batch/validation). These tests pass against
kube-apiserver 1.36 too."""

from session import Case, main

JOBS = "/apis/batch/v1/namespaces/default/jobs"
REQUIRED, INVALID, DUPLICATE = "FieldValueRequired", "FieldValueInvalid", "FieldValueDuplicate"
UNSUPPORTED = "FieldValueNotSupported"


def job(spec, restart="Never", name="j"):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        **spec, "template": {"spec": {"restartPolicy": restart,
                                      "containers": [{"name": "c", "image": "b"}]}}}}


def indexed(**spec):
    return {"completionMode": "Indexed", "completions": 3, "parallelism": 1, **spec}


def by_codes(**codes):
    return {"podFailurePolicy": {"rules": [{"action": "Ignore", "onExitCodes": {
        "operator": "In", "values": [1], **codes}}]}}


class Jobs(Case):
    def wrong(self, spec, *causes, **more):
        """Exactly these are refused: (reason, path below the spec)."""
        status, o = self.client.post(JOBS, job(spec, **more), dryRun="All")
        self.assertEqual(status, 422 if causes else 201, o)
        got = {(c["reason"], c["field"]) for c in (o.get("details") or {}).get("causes", [])}
        self.assertEqual(got, {(reason, "spec." + path) for reason, path in causes})

    def test_exit_codes_are_ordered_and_differ(self):
        at = "podFailurePolicy.rules[0].onExitCodes."
        self.wrong(by_codes(values=[1, 2, 9]))
        self.wrong(by_codes(values=[2, 1]), (INVALID, at + "values"))
        self.wrong(by_codes(values=[1, 1]), (DUPLICATE, at + "values[1]"))
        self.wrong(by_codes(values=[0, 1]), (INVALID, at + "values[0]"))
        self.wrong(by_codes(values=[0, 1], operator="NotIn"))
        self.wrong(by_codes(values=[]), (INVALID, at + "values"))
        self.wrong(by_codes(containerName="x"), (INVALID, at + "containerName"))
        self.wrong(by_codes(operator=""), (REQUIRED, at + "operator"))

    def test_a_failure_rule_goes_by_codes_or_by_conditions(self):
        def rule(**more):
            return {"podFailurePolicy": {"rules": [{"action": "Count", **more}]}}
        at = "podFailurePolicy.rules[0]"
        condition = {"type": "DisruptionTarget", "status": "True"}
        self.wrong(rule(), (INVALID, at))
        self.wrong(rule(onPodConditions=[condition]))
        self.wrong(rule(onPodConditions=[condition], onExitCodes={
            "operator": "In", "values": [1]}), (INVALID, at))
        self.wrong(rule(onPodConditions=[{**condition, "status": "Maybe"}]),
                   (UNSUPPORTED, at + ".onPodConditions[0].status"))
        self.wrong(rule(onPodConditions=[condition], action="FailIndex"),
                   (INVALID, at + ".action"))
        self.wrong({**rule(onPodConditions=[condition]),
                    "podReplacementPolicy": "TerminatingOrFailed"},
                   (UNSUPPORTED, "podReplacementPolicy"))
        self.wrong(rule(onPodConditions=[condition]), (INVALID, "template.spec.restartPolicy"),
                   restart="OnFailure")

    def test_a_success_rule_names_indexes_that_are(self):
        def rule(**of):
            return indexed(successPolicy={"rules": [of]})
        at = "successPolicy.rules[0]"
        self.wrong(rule(succeededIndexes="0,2", succeededCount=2))
        for bad in ("3", "1-3", "x", "1,0", "2-1", "0-1-2", "1,,2"):
            self.wrong(rule(succeededIndexes=bad), (INVALID, at + ".succeededIndexes"))
        self.wrong(rule(succeededIndexes="0", succeededCount=2), (INVALID, at + ".succeededCount"))
        self.wrong(rule(succeededCount=4), (INVALID, at + ".succeededCount"))
        self.wrong(rule(), (REQUIRED, at))
        self.wrong(indexed(successPolicy={"rules": []}), (REQUIRED, "successPolicy.rules"))
        self.wrong({"successPolicy": {"rules": [{"succeededCount": 1}]}},
                   (INVALID, "successPolicy"))

    def test_numbers_of_indexes_are_bounded(self):
        self.wrong(indexed(parallelism=100001), (INVALID, "parallelism"))
        self.wrong(indexed(backoffLimitPerIndex=1, maxFailedIndexes=4),
                   (INVALID, "maxFailedIndexes"))
        self.wrong(indexed(maxFailedIndexes=1), (REQUIRED, "backoffLimitPerIndex"))
        many = {"completions": 100001, "backoffLimitPerIndex": 1}
        self.wrong(indexed(**many), (REQUIRED, "maxFailedIndexes"))
        self.wrong(indexed(**many, maxFailedIndexes=10001), (INVALID, "maxFailedIndexes"))
        self.wrong(indexed(**many, maxFailedIndexes=1, parallelism=10001), (INVALID, "parallelism"))
        self.wrong(indexed(**many, maxFailedIndexes=1))

    def test_a_selector_of_ones_own_must_match(self):
        own = {"manualSelector": True}
        self.wrong(own, (REQUIRED, "selector"), (INVALID, "template.metadata.labels"))
        self.wrong({**own, "selector": {"matchLabels": {"a": "b"}}},
                   (INVALID, "template.metadata.labels"))

    def test_a_name_must_fit_its_pods(self):
        status, o = self.client.post(JOBS, job({}, name="x" * 64), dryRun="All")
        self.assertEqual((status, {c["field"] for c in o["details"]["causes"]}),
                         (422, {"spec.template.labels"}))
        status, o = self.client.post(JOBS, job(indexed(), name="x" * 62), dryRun="All")
        self.assertEqual((status, {c["field"] for c in o["details"]["causes"]}),
                         (422, {"metadata.name"}))

    def test_a_job_without_labels_has_its_pods(self):
        o = job({}, name="labels")
        o["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
        made = self.must(201, self.client.post(JOBS, o, dryRun="All"))
        self.assertEqual(made["metadata"]["labels"]["app"], "x")
        o["metadata"]["labels"] = {"mine": "y"}
        made = self.must(201, self.client.post(JOBS, o, dryRun="All"))
        self.assertEqual(made["metadata"]["labels"], {"mine": "y"})

    def test_managers_have_a_domain(self):
        self.wrong({"managedBy": ""}, (REQUIRED, "managedBy"))
        self.wrong({"managedBy": "me"}, (INVALID, "managedBy"))


if __name__ == "__main__":
    main()
