"""What is refused in the pods of Kubernetes' own kinds, with upstream's paths and reasons
(pkg/apis/core/validation). These tests pass against kube-apiserver 1.36 too."""

import copy

import mutations
from session import Case, main

TEMPLATES = "/api/v1/namespaces/default/podtemplates"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
C = "template.spec.containers[0]"
V = "template.spec.volumes"
TERM = "requiredDuringSchedulingIgnoredDuringExecution"

# (where in the complete template of mutations.py, what is put there, (reason, path) of each cause)
ROWS = [
    ("containers.0.ports.0.name", "Bad_Name!", [("Invalid", C + ".ports[0].name")]),
    ("containers.0.ports.0.name", "x" * 16, [("Invalid", C + ".ports[0].name")]),
    ("containers.0.ports.0.hostPort", 65536, [("Invalid", C + ".ports[0].hostPort")]),
    ("containers.0.env.0.name", "A=B", [("Invalid", C + ".env[0].name")]),
    ("containers.0.env.1.valueFrom.fieldRef.fieldPath", "metadata.labels",
     [("NotSupported", C + ".env[1].valueFrom.fieldRef.fieldPath")]),
    ("containers.0.env.1.valueFrom.fieldRef.fieldPath", "metadata.labels['a b']",
     [("Invalid", C + ".env[1].valueFrom.fieldRef")]),
    ("containers.0.env.1.valueFrom.fieldRef.fieldPath", "no.such",
     [("Invalid", C + ".env[1].valueFrom.fieldRef.fieldPath")]),
    ("containers.0.env.2.valueFrom.resourceFieldRef.divisor", "1k",
     [("Invalid", C + ".env[2].valueFrom.resourceFieldRef.divisor")]),
    ("containers.0.env.3.valueFrom.configMapKeyRef.key", "a/b",
     [("Invalid", C + ".env[3].valueFrom.configMapKeyRef.key")]),
    ("containers.0.env.3.valueFrom", {}, [("Invalid", C + ".env[3].valueFrom")]),
    ("containers.0.envFrom.0", {}, [("Invalid", C + ".envFrom")]),
    ("containers.0.volumeMounts.0.name", "none", [("NotFound", C + ".volumeMounts[0].name")]),
    ("containers.0.volumeMounts.0.subPath", "../up", [("Invalid", C + ".volumeMounts.subPath")]),
    ("containers.0.volumeMounts.0.mountPropagation", "Bidirectional",
     [("Forbidden", C + ".volumeMounts.mountPropagation")]),
    ("containers.0.livenessProbe", {}, [("Required", C + ".livenessProbe")]),
    ("containers.0.livenessProbe.tcpSocket", {"port": 1},
     [("Forbidden", C + ".livenessProbe.tcpSocket")]),
    ("containers.0.livenessProbe.httpGet.port", 0, [("Invalid", C + ".livenessProbe.httpGet.port")]),
    ("containers.0.livenessProbe.successThreshold", 2,
     [("Invalid", C + ".livenessProbe.successThreshold")]),
    ("containers.0.readinessProbe.terminationGracePeriodSeconds", 2,
     [("Invalid", C + ".readinessProbe.terminationGracePeriodSeconds")]),
    ("containers.0.startupProbe.exec", {}, [("Required", C + ".startupProbe.exec.command")]),
    ("containers.0.lifecycle.postStart.sleep.seconds", 31,
     [("Invalid", C + ".lifecycle.postStart.sleep")]),
    ("containers.0.resources.requests.cpu", "3", [("Invalid", C + ".resources.requests")]),
    ("containers.0.resources.requests.example.com/fpga", "1", [("Required", C + ".resources.limits")]),
    ("containers.0.resources.limits.example.com/gpu", "0.5",
     [("Invalid", C + ".resources.limits[example.com/gpu]")]),
    ("containers.0.resources.limits.hugepages-2Mi", "3Mi",
     [("Invalid", C + ".resources.limits[hugepages-2Mi]")]),
    ("containers.0.resources.claims", [{"name": "none"}], [("NotFound", C + ".resources.claims[0]")]),
    ("containers.0.resizePolicy.0.resourceName", "disk", [("NotSupported", C + ".resizePolicy")]),
    ("containers.0.securityContext.runAsUser", 2 ** 31,
     [("Invalid", C + ".securityContext.runAsUser")]),
    ("containers.0.securityContext.privileged", True, [("Invalid", C + ".securityContext")]),
    ("containers.0.securityContext.appArmorProfile", {"type": "Localhost"},
     [("Required", C + ".securityContext.appArmorProfile.localhostProfile")]),
    ("initContainers.0", {"name": "main", "image": "b"},
     [("Duplicate", "template.spec.initContainers[0].name")]),
    ("initContainers.0", {"name": "i", "image": "b", "startupProbe": {"exec": {"command": ["a"]}}},
     [("Forbidden", "template.spec.initContainers[0].startupProbe")]),
    ("affinity.nodeAffinity.%s.nodeSelectorTerms" % TERM, [],
     [("Required", "template.spec.affinity.nodeAffinity.%s.nodeSelectorTerms" % TERM)]),
    ("affinity.nodeAffinity.%s.nodeSelectorTerms.0.matchExpressions.1.values" % TERM, ["1", "2"],
     [("Required", "template.spec.affinity.nodeAffinity.%s.nodeSelectorTerms[0]"
       ".matchExpressions[1].values" % TERM)]),
    ("affinity.nodeAffinity.%s.nodeSelectorTerms.0.matchFields.0.key" % TERM, "spec.x",
     [("Invalid", "template.spec.affinity.nodeAffinity.%s.nodeSelectorTerms[0]"
       ".matchFields[0].key" % TERM)]),
    ("affinity.podAffinity.%s.0.topologyKey" % TERM, "a b",
     [("Invalid", "template.spec.affinity.podAffinity.%s[0].topologyKey" % TERM)]),
    ("affinity.podAffinity.%s.0.namespaces" % TERM, ["A"],
     [("Invalid", "template.spec.affinity.podAffinity.%s[0].namespace" % TERM)]),
    ("affinity.podAffinity.%s.0.labelSelector.matchExpressions.0.operator" % TERM, "",
     [("Invalid", "template.spec.affinity.podAffinity.%s[0].labelSelector"
       ".matchExpressions[0].operator" % TERM)]),
    ("affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.weight", 101,
     [("Invalid", "template.spec.affinity.podAntiAffinity"
       ".preferredDuringSchedulingIgnoredDuringExecution[0].weight")]),
    ("topologySpreadConstraints.0.whenUnsatisfiable", "ScheduleAnyway",
     [("Invalid", "template.spec.topologySpreadConstraints[0].minDomains")]),
    ("tolerations.0.operator", "Gt", [("NotSupported", "template.spec.tolerations[0].operator")]),
    ("tolerations.0.key", "a b", [("Invalid", "template.spec.tolerations[0].key")]),
    ("hostAliases.0.ip", "1.2.3", [("Invalid", "template.spec.hostAliases[0].ip")]),
    ("hostAliases.0.hostnames.0", "A_b", [("Invalid", "template.spec.hostAliases[0].hostnames[0]")]),
    ("dnsConfig.nameservers", ["1.1.1.1"] * 4, [("Invalid", "template.spec.dnsConfig.nameservers")]),
    ("dnsConfig.searches.0", "a b", [("Invalid", "template.spec.dnsConfig.searches[0]")]),
    ("dnsConfig.options.0", {"value": "1"}, [("Required", "template.spec.dnsConfig.options[0]")]),
    ("hostname", "a.b", [("Invalid", "template.spec.hostname")]),
    ("activeDeadlineSeconds", 2 ** 31, [("Invalid", "template.spec.activeDeadlineSeconds")]),
    ("schedulingGates.0.name", "a b", [("Invalid", "template.spec.schedulingGates[0]")]),
    ("readinessGates.0.conditionType", "", [("Invalid", "template.spec.readinessGates[0].conditionType")]),
    ("resourceClaims.0", {"name": "rc"}, [("Invalid", "template.spec.resourceClaims[0]")]),
    ("os.name", "beos", [("NotSupported", "template.spec.os")]),
    ("overhead.cpu", "-1", [("Invalid", "template.spec.overhead.limits[cpu]")]),
    ("securityContext.sysctls.0.name", "A", [("Invalid", "template.spec.securityContext.sysctls[0].name")]),
    ("securityContext.seccompProfile.localhostProfile", "/p",
     [("Invalid", "template.spec.securityContext.seccompProfile.localhostProfile")]),
    # a volume that is refused is none for those who mount it
    ("volumes.0.emptyDir.sizeLimit", "-1", [("Forbidden", V + "[0].emptyDir.sizeLimit"),
                                            ("NotFound", C + ".volumeMounts[0].name")]),
    ("volumes.1.secret.items.0.path", "../p", [("Invalid", V + "[1].secret.items[0].path")]),
    ("volumes.3.downwardAPI.items.0.fieldRef.fieldPath", "spec.nodeName",
     [("NotSupported", V + "[3].downwardAPI.fieldRef.fieldPath")]),
    ("volumes.3.downwardAPI.items.0", {"path": "p"}, [("Required", V + "[3].downwardAPI")]),
    ("volumes.5.hostPath.path", "/a/../b", [("Invalid", V + "[5].hostPath.path")]),
    ("volumes.7.csi.driver", "a b", [("Invalid", V + "[7].csi.driver")]),
    ("volumes.8.projected.sources.0.secret.items.0.path", "c",
     [("Invalid", V + "[8].projected")]),
    ("volumes.8.projected.sources.3.serviceAccountToken.expirationSeconds", 1,
     [("Invalid", V + "[8].projected.sources[3].serviceAccountToken.expirationSeconds")]),
    ("volumes.9.ephemeral.volumeClaimTemplate.metadata.name", "n",
     [("Forbidden", V + "[9].ephemeral.volumeClaimTemplate.metadata.name")]),
    ("volumes.9.ephemeral.volumeClaimTemplate.spec.accessModes", [],
     [("Required", V + "[9].ephemeral.volumeClaimTemplate.spec.accessModes")]),
]


def steps(where):
    """ "a.0.b" -> ("a", 0, "b"); what follows limits. and requests. is one key."""
    head, dot, key = where.partition(".resources.")
    parts = [int(s) if s.isdigit() else s for s in head.split(".")]
    if dot:
        which, _, name = key.partition(".")
        parts += ["resources", which] + ([name] if name else [])
    return tuple(parts)


class PodRules(Case):
    def causes(self, answer):
        s = self.fails(422, "Invalid", answer)
        return sorted({(c["reason"].replace("FieldValue", ""), c["field"])
                       for c in s["details"]["causes"]})

    def test_what_is_wrong_in_one_place_is_told_with_its_path(self):
        body = mutations.OBJECTS["podtemplate"][1]
        self.must(201, self.client.post(TEMPLATES, body, dryRun="All"))
        for where, value, causes in ROWS:
            with self.subTest(where=where, value=value):
                wrong = mutations.changed(body, ("template", "spec") + steps(where), value)
                self.assertEqual(self.causes(self.client.post(TEMPLATES, wrong, dryRun="All")),
                                 sorted(causes))

    def test_a_jobs_pods_have_the_same_rules(self):
        body = copy.deepcopy(mutations.OBJECTS["jobpods"][1])
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["resources"]["requests"]["example.com/fpga"] = "1"
        container["livenessProbe"] = {}
        self.assertEqual(self.causes(self.client.post(JOBS, body, dryRun="All")), [
            ("Required", "spec.template.spec.containers[0].livenessProbe"),
            ("Required", "spec.template.spec.containers[0].resources.limits")])


if __name__ == "__main__":
    main()
