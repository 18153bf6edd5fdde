"""What a typed object's values become between a request and the answer (kubernetes-api.md 1.7):
quantities in canonical form, nothing that a Go struct cannot tell from absence, null in a list or a
map as a zero value. These tests pass against kube-apiserver 1.36 too."""

from session import Case, main

TEMPLATES = "/api/v1/namespaces/default/podtemplates"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MAPS = "/api/v1/namespaces/default/configmaps"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SPACES = "/api/v1/namespaces"


def template(container, **spec):
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "t"}, "template": {
        "spec": {"containers": [{"name": "c", "image": "b", **container}], **spec}}}


class Values(Case):
    def pods(self, container, **spec):
        o = self.must(201, self.client.post(TEMPLATES, template(container, **spec), dryRun="All"))
        return o["template"]["spec"]

    def test_quantities_are_canonical(self):
        for given, shown in (
                ("1000m", "1"), ("0.5", "500m"), ("1024Mi", "1Gi"), ("1.5Gi", "1536Mi"),
                ("1e3", "1e3"), ("12e2", "1200"), ("0.1Gi", "107374182400m"), (1, "1"),
                (1.5, "1500m"), ("100000k", "100M"), ("0.5Ki", "512"), ("0Gi", "0")):
            with self.subTest(given):
                c = self.pods({"resources": {"limits": {"memory": given}}})["containers"][0]
                self.assertEqual(c["resources"]["limits"], {"memory": shown})
        spec = self.pods({}, volumes=[{"name": "v", "emptyDir": {"sizeLimit": "2048Ki"}}])
        self.assertEqual(spec["volumes"][0]["emptyDir"], {"sizeLimit": "2Mi"})

    def test_an_object_is_read_back_as_it_was_answered(self):
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                 "spec": {"accessModes": ["ReadWriteOnce"],
                          "resources": {"requests": {"storage": "1024Mi"}}}}
        made = self.must(201, self.client.post(CLAIMS, claim))
        self.assertEqual(made["spec"]["resources"], {"requests": {"storage": "1Gi"}})
        self.assertEqual(self.must(200, self.client.get(CLAIMS + "/c")), made)

    def test_what_says_nothing_is_dropped(self):
        c = self.pods({"command": [], "tty": False, "workingDir": "",
                       "ports": [{"containerPort": 1, "hostPort": 0, "name": ""}]})["containers"][0]
        self.assertEqual(c["ports"], [{"containerPort": 1, "protocol": "TCP"}])
        self.assertEqual({"command", "tty", "workingDir"} & set(c), set())
        o = self.must(201, self.client.post(CLASSES, {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 0,
            "metadata": {"name": "p"}, "globalDefault": False, "description": ""}, dryRun="All"))
        self.assertEqual((o["value"], {"globalDefault", "description"} & set(o)), (0, set()))

    def test_a_pointer_keeps_its_zero(self):
        spec = self.pods({"securityContext": {"runAsUser": 0, "privileged": False}},
                         automountServiceAccountToken=False)
        self.assertEqual(spec["containers"][0]["securityContext"],
                         {"runAsUser": 0, "privileged": False})
        self.assertIs(spec["automountServiceAccountToken"], False)

    def test_null_in_a_map_or_list_is_a_zero_value(self):
        o = self.must(201, self.client.post(MAPS, {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
            "data": {"a": None, "b": "c"}}, dryRun="All"))
        self.assertEqual(o["data"], {"a": "", "b": "c"})
        status, o = self.client.post(TEMPLATES, template({"env": [None]}), dryRun="All")
        self.assertEqual((status, o["details"]["causes"][0]["field"]),
                         (422, "template.spec.containers[0].env[0].name"))

    def test_an_unknown_field_of_a_pod_is_told(self):
        status, o = self.client.post(TEMPLATES, template({"comand": ["x"]}, hostname2="h"),
                                     dryRun="All", fieldValidation="Strict")
        self.assertEqual(status, 400)
        for path in ("template.spec.containers[0].comand", "template.spec.hostname2"):
            self.assertIn('unknown field "%s"' % path, o["message"])

    def test_what_an_account_says_of_its_secrets_is_their_names(self):
        o = self.must(201, self.client.post(ACCOUNTS, {
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"},
            "secrets": [{"name": "s", "namespace": "default", "kind": "Secret"}]}, dryRun="All"))
        self.assertEqual(o["secrets"], [{"name": "s"}])

    def test_the_finalizers_of_a_namespace(self):
        def space(*finalizers):
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"},
                    "spec": {"finalizers": list(finalizers)}}
        o = self.must(201, self.client.post(SPACES, space("example.com/f"), dryRun="All"))
        self.assertEqual(o["spec"]["finalizers"], ["example.com/f", "kubernetes"])
        for bad in ("Bad!", "plain"):
            status, o = self.client.post(SPACES, space(bad), dryRun="All")
            self.assertEqual((status, {c["field"] for c in o["details"]["causes"]}),
                             (422, {"spec.finalizers"}))


if __name__ == "__main__":
    main()
