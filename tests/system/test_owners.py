#!/usr/bin/env python3
"""Who owns which fields of what the hub writes: metadata.managedFields of statuses, as kubectl shows
them, and what becomes of them when a client writes the same status by server-side apply or by
patches."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

GROUP = "kueue.x-k8s.io/v1beta2"


def kubectl(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]


def queues(k):
    quota = {"coveredResources": ["cpu"], "flavors": [
        {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}]}
    for o in ({"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}},
              {"kind": "ClusterQueue", "metadata": {"name": "cq"},
               "spec": {"namespaceSelector": {}, "resourceGroups": [quota]}},
              {"kind": "LocalQueue", "metadata": {"name": "lq", "namespace": "default"},
               "spec": {"clusterQueue": "cq"}}):
        k("create", "-f", "-", stdin={"apiVersion": GROUP, **o})


def workload(name, cpu):
    return {"apiVersion": GROUP, "kind": "Workload",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {
                "spec": {"restartPolicy": "Never", "containers": [
                    {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]}}}]}}


def status(name, *conditions):
    return json.dumps({"apiVersion": GROUP, "kind": "Workload",
                       "metadata": {"name": name, "namespace": "default"},
                       "status": {"conditions": [
                           {"reason": "ByHand", "message": "", "status": "True",
                            "lastTransitionTime": "2026-01-01T00:00:00Z", **c}
                           for c in conditions]}})


def apply(k, text, manager, *args):
    return k.run("apply", "--server-side", "--subresource=status", "-f", "-",
                 "--field-manager=" + manager, *args, stdin=text)


def entries(o):
    """{(manager, subresource): entry}"""
    return {(e["manager"], e.get("subresource", "")): e for e in o["metadata"]["managedFields"]}


def conditions_of(entry):
    """Types of the conditions of which it owns anything."""
    owned = entry["fieldsV1"]["f:status"].get("f:conditions", {})
    return sorted(json.loads(key[2:])["type"] for key in owned if key.startswith("k:"))


def story_a_jobs_status(fleet):
    """Jobs and what the hub makes for them: the status is the hub's, the rest its maker's"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("member", [make.node("gpu", gpus=0)]))
    k = kubectl(fleet)
    k("apply", "-f", "-", stdin=make.pytorch_job("one", workers=1, duration="1s", gpus=0))
    fleet.watch("pytorchjobs").await_object("one", "Succeeded", lambda o: is_true(o, "Succeeded"))
    shown = k("get", "pytorchjob", "one", "-o", "yaml", "--show-managed-fields")
    check("manager: kubectl-client-side-apply" in shown and "manager: musterd" in shown and
          "subresource: status" in shown, "get --show-managed-fields names both", shown)
    o = fleet.client.get("pytorchjobs", "one")
    e = entries(o)[("musterd", "status")]
    check(e["operation"] == "Update" and e["apiVersion"] == "kubeflow.org/v1" and
          e["time"] >= o["metadata"]["creationTimestamp"], "an update through status, and when", e)
    binding = fleet.client.get("resourcebindings", "one-pytorchjob")
    check(set(entries(binding)) == {("musterd", ""), ("musterd", "status")},
          "the binding is the hub's as a whole", binding["metadata"])
    clash = k.run("apply", "--server-side", "-f", "-", stdin=json.dumps({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "one-pytorchjob", "namespace": "default"},
        "spec": {"resource": {"apiVersion": "v1", "kind": "Other", "name": "x"}}}))
    check(clash.returncode == 1 and 'conflicts with "musterd" using work.karmada.io/v1alpha2'
          in clash.stderr, "who applies another spec to it hears of the hub", clash)


def story_appliers_of_conditions(fleet):
    """A condition applied beside the hub's is the applier's; another value for one of the hub's is
    a conflict, and force takes it"""
    fleet.start_hub()
    k = kubectl(fleet)
    queues(k)
    watch = fleet.watch("workloads")
    k("create", "-f", "-", stdin=workload("w", "3"))
    watch.await_object("w", "Admitted", lambda o: is_true(o, "Admitted"))
    o = fleet.client.get("workloads", "w")
    check(entries(o)[("musterd", "status")]["fieldsV1"] == {},
          "what the hub alone has written is its own as a whole", o["metadata"])

    done = apply(k, status("w", {"type": "Checked"}), "checker")
    check(done.returncode == 0, "a condition of another type is no conflict", done)
    o = watch.await_object("w", "Checked", lambda o: is_true(o, "Checked"))
    check(conditions_of(entries(o)[("checker", "status")]) == ["Checked"] and
          conditions_of(entries(o)[("musterd", "status")]) == ["Admitted", "QuotaReserved"],
          "each owns its conditions, key by key", o["metadata"])
    check("f:admission" in entries(o)[("musterd", "status")]["fieldsV1"]["f:status"],
          "and the admission is the hub's")

    words = condition(o, "Admitted")
    other = status("w", {**words, "message": "otherwise"})
    done = apply(k, other, "thief")
    check(done.returncode == 1 and
          'Apply failed with 1 conflict: conflict with "musterd" with subresource "status" using '
          + GROUP + ': .status.conditions[type="Admitted"].message' in done.stderr,
          "another message for the hub's condition is a conflict with musterd", done)
    done = apply(k, other, "thief", "--force-conflicts")
    o = fleet.client.get("workloads", "w")
    hubs = entries(o)[("musterd", "status")]["fieldsV1"]["f:status"]["f:conditions"]
    check(done.returncode == 0 and condition(o, "Admitted")["message"] == "otherwise" and
          "f:message" not in hubs['k:{"type":"Admitted"}'] and
          "f:message" in hubs['k:{"type":"QuotaReserved"}'],
          "force takes the message and nothing else", done, o["metadata"])

    done = apply(k, status("w", {"type": "Checked"}, {"type": "Finished", "reason": "Succeeded"}),
                 "checker")
    check(done.returncode == 0, "who created it says Finished by apply", done)
    k("create", "-f", "-", stdin=workload("next", "3"))
    watch.await_object("next", "Admitted: the quota is free", lambda o: is_true(o, "Admitted"))


def story_patches_of_a_status(fleet):
    """A patch of a status takes what it changes, and the hub takes back what it writes"""
    fleet.start_hub()
    k = kubectl(fleet)
    queues(k)
    watch = fleet.watch("workloads")
    k("create", "-f", "-", stdin=workload("large", "4"))
    watch.await_object("large", "Admitted", lambda o: is_true(o, "Admitted"))
    k("create", "-f", "-", stdin=workload("w", "3"))
    watch.await_object("w", "pending", lambda o: condition(o, "QuotaReserved"))
    # An item at the end: the hub may say more of it meanwhile.
    mine = json.loads(status("w", {"type": "Seen"}))["status"]["conditions"][0]
    k("patch", "workload", "w", "--subresource=status", "--type=json", "--field-manager=eye", "-p",
      json.dumps([{"op": "add", "path": "/status/conditions/-", "value": mine}]))
    o = fleet.client.get("workloads", "w")
    check(conditions_of(entries(o)[("eye", "status")]) == ["Seen"],
          "only what is new in the list is the patcher's", o["metadata"])
    ended = json.loads(status("large", {"type": "Finished", "reason": "Succeeded"}))
    old = fleet.client.get("workloads", "large")["status"]["conditions"]
    k("patch", "workload", "large", "--subresource=status", "--type=merge", "-p",
      json.dumps({"status": {"conditions": old + ended["status"]["conditions"]}}))
    o = watch.await_object("w", "Admitted", lambda o: is_true(o, "Admitted"))
    check(is_true(o, "Seen") and conditions_of(entries(o)[("eye", "status")]) == ["Seen"],
          "the hub's next status leaves it there, and its owner", o["metadata"])
    check(entries(o)[("musterd", "status")]["fieldsV1"] == {}, "and owns the rest", o["metadata"])
    done = apply(k, status("w", {**condition(o, "Admitted"), "message": "otherwise"}), "thief")
    check(done.returncode == 1 and 'conflict with "musterd"' in done.stderr,
          "to which its conditions belong", done)
    done = apply(k, status("w", {**mine, "message": "otherwise"}), "thief")
    check(done.returncode == 1 and 'conflict with "eye"' in done.stderr,
          "and not the patcher's", done)
    queue = fleet.client.get("clusterqueues", "cq", namespace=None)
    check(("musterd", "status") in entries(queue), "as it owns the status of the queue",
          queue["metadata"])


if __name__ == "__main__":
    main(globals(), Fleet)
