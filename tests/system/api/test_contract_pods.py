"""Rules of pod templates (pkg/apis/core/validation) about volumes, sources of environments and
selectors. These tests pass against kube-apiserver 1.36 too."""

from session import Case, main

TEMPLATES = "/api/v1/namespaces/default/podtemplates"
REQUIRED, INVALID, DUPLICATE = "FieldValueRequired", "FieldValueInvalid", "FieldValueDuplicate"
FORBIDDEN = "FieldValueForbidden"


class Pods(Case):
    def wrong(self, container, spec, *causes):
        """Exactly these are refused: (reason, path below the spec)."""
        status, o = self.client.post(TEMPLATES, {
            "apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {
                "spec": {"containers": [{"name": "c", "image": "b", **container}], **spec}}},
            dryRun="All")
        self.assertEqual(status, 422 if causes else 201, o)
        got = {(c["reason"], c["field"]) for c in (o.get("details") or {}).get("causes", [])}
        self.assertEqual(got, {(reason, "template.spec." + path) for reason, path in causes})

    def volumes(self, *volumes):
        return {"volumes": [{"name": "v%d" % i, **v} for i, v in enumerate(volumes)]}

    def test_volumes_name_what_they_show(self):
        self.wrong({}, self.volumes({"secret": {"secretName": "s"}}, {"configMap": {"name": "m"}}))
        self.wrong({}, self.volumes({"secret": {}}), (REQUIRED, "volumes[0].secret.secretName"))
        self.wrong({}, self.volumes({"configMap": {}}), (REQUIRED, "volumes[0].configMap.name"))
        self.wrong({}, self.volumes({"projected": {"sources": [
            {"secret": {"name": "s"}}, {"configMap": {}}]}}),
            (REQUIRED, "volumes[0].projected.sources[1].configMap.name"))
        self.wrong({}, self.volumes({"csi": {"driver": "d", "nodePublishSecretRef": {}}}),
                   (REQUIRED, "volumes[0].csi.nodePublishSecretRef.name"))
        self.wrong({}, self.volumes({"nfs": {"server": "s", "path": "p"}}),
                   (INVALID, "volumes[0].nfs.path"))

    def test_volumes_differ_and_have_one_source(self):
        self.wrong({}, {"volumes": [{"name": "a"}, {"name": "a"}]},
                   (DUPLICATE, "volumes[1].name"))
        self.wrong({}, self.volumes({"emptyDir": {}, "secret": {"secretName": "s"}}),
                   (FORBIDDEN, "volumes[0].secret"))

    def test_a_template_has_no_ephemeral_containers(self):
        self.wrong({}, {"ephemeralContainers": [{
            "name": "e", "image": "b", "imagePullPolicy": "Always",
            "terminationMessagePolicy": "File"}]}, (FORBIDDEN, "ephemeralContainers"))

    def test_whole_environments(self):
        at = "containers[0].envFrom"
        self.wrong({"envFrom": [{"prefix": "P_", "configMapRef": {"name": "m"}}]}, {})
        self.wrong({"envFrom": [{"prefix": "P_"}]}, {}, (INVALID, at))
        self.wrong({"envFrom": [{"secretRef": {}}]}, {}, (REQUIRED, at + "[0].secretRef.name"))
        self.wrong({"envFrom": [{"secretRef": {"name": "s"}, "configMapRef": {"name": "m"}}]}, {},
                   (INVALID, at))

    def test_selectors_can_be_read(self):
        def term(**selector):
            return {"topologyKey": "zone", "labelSelector": selector}
        how = "requiredDuringSchedulingIgnoredDuringExecution"
        at = "affinity.podAntiAffinity.%s[0].labelSelector." % how
        for selector, reason, where in (
                ({"matchLabels": {"a b": "c"}}, INVALID, "matchLabels"),
                ({"matchExpressions": [{"key": "a", "operator": "In"}]}, REQUIRED,
                 "matchExpressions[0].values"),
                ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]},
                 FORBIDDEN, "matchExpressions[0].values"),
                ({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
                 INVALID, "matchExpressions[0].operator")):
            with self.subTest(selector):
                self.wrong({}, {"affinity": {"podAntiAffinity": {how: [term(**selector)]}}},
                           (reason, at + where))
        self.wrong({}, {"affinity": {"podAffinity": {how: [term(matchLabels={"a": "b"})]}}})


if __name__ == "__main__":
    main()
