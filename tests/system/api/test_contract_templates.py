"""Pod templates of Kubernetes' own kinds (kubernetes-api.md 1.7): what the server fills in, on
creation and on every later write, and who owns it. These tests pass against kube-apiserver 1.36
too; what the hub leaves out (a Job's selector and its controller's labels belong to the copy on the
member) is taken out of both answers first."""

import copy


from session import Case, main

JOBS = "/apis/batch/v1/namespaces/default/jobs"
TEMPLATES = "/api/v1/namespaces/default/podtemplates"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
LAST_WORDS = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}
OF_SPEC = {"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
           "securityContext": {}, "terminationGracePeriodSeconds": 30}
PROBE = {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
OF_CONTROLLER = ("controller-uid", "job-name")


def container(name, image, **more):
    return {"name": name, "image": image, **more}


def filled(name, image, policy, **more):
    return {**container(name, image, imagePullPolicy=policy, resources={}, **LAST_WORDS), **more}


def job(name, containers, of=None, **spec):
    """of: what else the spec of the job has."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        **(of or {}), "template": {"spec": {
            "containers": containers, "restartPolicy": "Never", **spec}}}}


def template(name, spec):
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name},
            "template": {"spec": spec}}


def own(labels):
    return {k: v for k, v in (labels or {}).items() if k.split("/")[-1] not in OF_CONTROLLER}


class Templates(Case):
    def kept(self, answer, status=201):
        """The spec of a Job without what its controller goes by."""
        o = self.must(status, answer)
        spec = copy.deepcopy(o["spec"])
        spec.pop("selector", None)
        labels = own(spec["template"]["metadata"].pop("labels", None))
        if labels:
            spec["template"]["metadata"]["labels"] = labels
        return spec

    def apply(self, path, body, **params):
        return self.client.patch(path, body, "apply", **params)

    def pods(self, spec):
        """What a PodTemplate with this spec becomes."""
        return self.must(201, self.client.post(TEMPLATES, template("t", spec), dryRun="All"))[
            "template"]["spec"]

    def test_a_job(self):
        spec = self.kept(self.client.post(JOBS, job("a", [container("c", "busybox")]),
                                          dryRun="All"))
        self.assertEqual(spec, {
            "completions": 1, "parallelism": 1, "backoffLimit": 6, "suspend": False,
            "completionMode": "NonIndexed", "manualSelector": False,
            "podReplacementPolicy": "TerminatingOrFailed",
            "template": {"metadata": {}, "spec": {
                **OF_SPEC, "restartPolicy": "Never",
                "containers": [filled("c", "busybox", "Always")]}}})
        rules = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
        spec = self.kept(self.client.post(JOBS, job("a", [container("c", "b")], {
            "parallelism": 2, "podFailurePolicy": rules}), dryRun="All"))
        self.assertEqual(spec["podFailurePolicy"]["rules"][0]["onPodConditions"],
                         [{"type": "DisruptionTarget", "status": "True"}])
        self.assertEqual((spec.get("completions"), spec["podReplacementPolicy"]), (None, "Failed"))
        o = self.must(201, self.client.post(JOBS, job("a", [container("c", "b")]), dryRun="All"))
        self.assertEqual(o["status"], {})

    def test_images_are_pulled_by_their_tags(self):
        digest = "@sha256:" + "a" * 64
        for image, policy in (
                ("busybox", "Always"), ("busybox:latest", "Always"), ("busybox:1", "IfNotPresent"),
                ("localhost:5000/busybox", "Always"), ("localhost:5000/b:2", "IfNotPresent"),
                ("localhost:5000/busybox" + digest, "IfNotPresent"),
                ("localhost:5000/b:1" + digest, "IfNotPresent"),
                ("busybox:latest" + digest, "Always")):
            spec = self.pods({
                "containers": [container("c", image)], "initContainers": [container("i", image)],
                "volumes": [{"name": "v", "image": {"reference": image}}]})
            self.assertEqual([spec["containers"], spec["initContainers"]], [
                [filled("c", image, policy)], [filled("i", image, policy)]])
            self.assertEqual(spec["volumes"][0]["image"]["pullPolicy"], policy)

    def test_containers(self):
        http = {"httpGet": {"port": 80}}
        c = container(
            "c", "b:1", livenessProbe=http, readinessProbe={"grpc": {"port": 9}},
            startupProbe={"exec": {"command": ["x"]}, "periodSeconds": 0, "timeoutSeconds": 5},
            ports=[{"containerPort": 80}], lifecycle={"postStart": http},
            env=[{"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                 {"name": "R", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
            resources={"limits": {"cpu": "1"}}, imagePullPolicy="", terminationMessagePath="")
        served = {"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}}
        spec = self.pods({"containers": [c], "restartPolicy": ""})
        self.assertEqual(spec["containers"], [filled(
            "c", "b:1", "IfNotPresent", livenessProbe={**served, **PROBE},
            readinessProbe={"grpc": {"port": 9, "service": ""}, **PROBE},
            startupProbe={**c["startupProbe"], **PROBE, "timeoutSeconds": 5},
            ports=[{"containerPort": 80, "protocol": "TCP"}], lifecycle={"postStart": served},
            env=[{"name": "F", "valueFrom": {
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
                 {"name": "R", "valueFrom": {
                     "resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
            # requests are taken from limits in pods, not in their templates
            resources={"limits": {"cpu": "1"}})])
        self.assertEqual(spec["restartPolicy"], "Always")

    def test_volumes(self):
        path, ref = {"path": "/x"}, {"fieldPath": "metadata.name"}
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        for given, want in (
                ({}, {"emptyDir": {}}), ({"hostPath": path}, {"hostPath": {**path, "type": ""}}),
                ({"secret": {"secretName": "s"}},
                 {"secret": {"secretName": "s", "defaultMode": 0o644}}),
                ({"secret": {"secretName": "s", "defaultMode": 0}},
                 {"secret": {"secretName": "s", "defaultMode": 0}}),
                ({"configMap": {"name": "s"}}, {"configMap": {"name": "s", "defaultMode": 0o644}}),
                ({"downwardAPI": {"items": [{"path": "x", "fieldRef": ref}]}},
                 {"downwardAPI": {"defaultMode": 0o644, "items": [
                     {"path": "x", "fieldRef": {"apiVersion": "v1", **ref}}]}}),
                ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                 {"projected": {"defaultMode": 0o644, "sources": [
                     {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}}),
                ({"rbd": {"monitors": ["m"], "image": "i"}},
                 {"rbd": {"monitors": ["m"], "image": "i", "pool": "rbd", "user": "admin",
                          "keyring": "/etc/ceph/keyring"}}),
                ({"azureDisk": {"diskName": "d", "diskURI": "https://x/y"}},
                 {"azureDisk": {"diskName": "d", "diskURI": "https://x/y", "fsType": "ext4",
                                "cachingMode": "ReadWrite", "readOnly": False, "kind": "Shared"}}),
                ({"ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
                 {"ephemeral": {"volumeClaimTemplate": {
                     "metadata": {}, "spec": {**claim, "volumeMode": "Filesystem"}}}})):
            spec = self.pods({"containers": [container("c", "b")],
                              "volumes": [{"name": "v", **given}]})
            self.assertEqual(spec["volumes"], [{"name": "v", **want}])

    def test_pods_of_templates(self):
        one = [container("c", "b", ports=[{"containerPort": 1}])]
        for given, want in (
                ({"serviceAccountName": "a"}, ("a", "a")), ({"serviceAccount": "a"}, ("a", "a")),
                ({"serviceAccount": "a", "serviceAccountName": "b"}, ("b", "b")),
                ({}, (None, None))):
            spec = self.pods({"containers": one, **given})
            self.assertEqual((spec.get("serviceAccountName"), spec.get("serviceAccount")), want)
        spec = self.pods({"containers": one, "hostNetwork": True,
                          "terminationGracePeriodSeconds": 0, "securityContext": None})
        self.assertEqual(spec["containers"][0]["ports"], [{"containerPort": 1, "protocol": "TCP"}])
        self.assertEqual((spec["terminationGracePeriodSeconds"], spec["securityContext"]), (0, {}))
        self.assertNotIn("enableServiceLinks", spec)

    def test_claims_and_leases(self):
        o = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
             "spec": {"accessModes": ["ReadWriteOnce"],
                      "resources": {"requests": {"storage": "1Gi"}}}}
        made = self.must(201, self.client.post(CLAIMS, o, dryRun="All"))
        self.assertEqual((made["spec"], made["status"]), (
            {**o["spec"], "volumeMode": "Filesystem"}, {"phase": "Pending"}))
        made = self.must(201, self.client.post(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases", {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "l"}}, dryRun="All"))
        self.assertEqual(made["spec"], {})

    def test_quantities_are_stored_as_they_are_printed(self):
        def resources(cpu, memory):
            return {"requests": {"cpu": cpu, "memory": memory, "nvidia.com/gpu": 1},
                    "limits": {"nvidia.com/gpu": 1}}

        for cpu, memory, want in (
                (1, "1024Mi", ("1", "1Gi")), ("1000m", 2147483648, ("1", "2147483648")),
                (0.5, "1.5Gi", ("500m", "1536Mi")), ("1.5", "1000000", ("1500m", "1M")),
                ("0.1m", "15e2", ("1m", "1500"))):
            spec = self.pods({
                "containers": [container("c", "b:1", resources=resources(cpu, memory))],
                "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1024Mi"}}]})
            self.assertEqual(spec["containers"][0]["resources"]["requests"], {
                "cpu": want[0], "memory": want[1], "nvidia.com/gpu": "1"})
            self.assertEqual(spec["volumes"][0]["emptyDir"], {"sizeLimit": "1Gi"})
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"},
                 "spec": {"accessModes": ["ReadWriteOnce"],
                          "resources": {"requests": {"storage": 1073741824}}}}
        made = self.must(201, self.client.post(CLAIMS, claim, dryRun="All"))
        self.assertEqual(made["spec"]["resources"], {"requests": {"storage": "1073741824"}})
        # Whoever spells an amount in another way changes nothing, not even what is immutable.
        self.client.delete(JOBS + "/spelled", propagationPolicy="Background")
        o = job("spelled", [container("c", "b", resources=resources(1, "1024Mi"))],
                {"suspend": True})
        made = self.must(201, self.apply(JOBS + "/spelled", o, fieldManager="m"))
        o = job("spelled", [container("c", "b", resources=resources("1000m", "1Gi"))])
        for got in (self.client.patch(JOBS + "/spelled", o, "merge"),
                    self.client.patch(JOBS + "/spelled", o, "strategic"),
                    self.apply(JOBS + "/spelled", {**o, "spec": {**o["spec"], "suspend": True}},
                               fieldManager="m")):
            got = self.must(200, got)
            self.assertEqual((got["metadata"]["generation"], got["spec"]["template"]),
                             (1, made["spec"]["template"]))

    def test_the_next_write_changes_nothing(self):
        # A template cannot be changed, and a client that sends it as it was written does not.
        self.client.delete(JOBS + "/again", propagationPolicy="Background")
        o = job("again", [container("c", "b")], {"suspend": True})
        made = self.must(201, self.client.post(JOBS, o))
        for kind in ("merge", "strategic"):
            got = self.must(200, self.client.patch(JOBS + "/again", o, kind))
            self.assertEqual((got["metadata"]["generation"], got["spec"]), (1, made["spec"]))
        spec = {k: v for k, v in made["spec"].items() if k != "template"}
        sent = copy.deepcopy(o)
        sent["spec"] = {**spec, "template": {**o["spec"]["template"],
                                             "metadata": made["spec"]["template"]["metadata"]}}
        sent["metadata"] = got["metadata"]
        got = self.must(200, self.client.put(JOBS + "/again", sent))
        self.assertEqual((got["metadata"]["generation"], got["spec"]), (1, made["spec"]))
        sent["spec"]["template"]["spec"]["dnsPolicy"] = "Default"
        self.assertIn("field is immutable", self.fails(422, "Invalid", self.client.put(
            JOBS + "/again", sent))["message"])

    def test_who_applies_does_not_own_defaults(self):
        self.client.delete(TEMPLATES + "/applied")
        o = template("applied", {"containers": [container("c", "b:1", env=[
            {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}])]})
        made = self.must(201, self.apply(TEMPLATES + "/applied", o, fieldManager="m"))
        c = {".": {}, "f:name": {}, "f:image": {}, "f:env": {'k:{"name":"F"}': {
            ".": {}, "f:name": {}, "f:valueFrom": {"f:fieldRef": {}}}}}
        self.assertEqual([m["fieldsV1"] for m in made["metadata"]["managedFields"]], [
            {"f:template": {"f:spec": {"f:containers": {'k:{"name":"c"}': c}}}}])
        self.assertEqual(made["template"]["spec"]["dnsPolicy"], "ClusterFirst")
        again = self.must(200, self.apply(TEMPLATES + "/applied", o, fieldManager="m"))
        self.assertEqual(again, made)
        # What is applied no longer falls back to its default; another manager may set it.
        other = template("applied", {"dnsPolicy": "Default", "containers": [
            container("c", "b:1", imagePullPolicy="Never")]})
        got = self.must(200, self.apply(TEMPLATES + "/applied", other, fieldManager="n",
                                               force="true"))
        spec = got["template"]["spec"]
        self.assertEqual((spec["dnsPolicy"], spec["containers"][0]["imagePullPolicy"]),
                         ("Default", "Never"))
        other = template("applied", {"containers": [container("c", "b:1")]})
        spec = self.must(200, self.apply(TEMPLATES + "/applied", other, fieldManager="n"))[
            "template"]["spec"]
        self.assertEqual((spec["dnsPolicy"], spec["containers"][0]["imagePullPolicy"]),
                         ("ClusterFirst", "IfNotPresent"))

    def test_who_creates_owns_them(self):
        self.client.delete(TEMPLATES + "/created")
        self.must(201, self.client.post(TEMPLATES, template("created", {
            "containers": [container("c", "b")]}), fieldManager="m"))
        # The hub spells an owner of everything out when there is a second one.
        got = self.must(200, self.client.patch(TEMPLATES + "/created", {
            "metadata": {"labels": {"a": "b"}}}, fieldManager="n"))
        fields = {m["manager"]: m["fieldsV1"] for m in got["metadata"]["managedFields"]}
        spec = fields["m"]["f:template"]["f:spec"]
        self.assertEqual(spec["f:containers"]['k:{"name":"c"}'], {
            ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
            "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}})
        self.assertEqual(spec.keys() - {"."}, {
            "f:containers", "f:dnsPolicy", "f:restartPolicy", "f:schedulerName",
            "f:securityContext", "f:terminationGracePeriodSeconds"})


if __name__ == "__main__":
    main()
