#!/usr/bin/env python3
"""Quota that comes back before its job ends: pods that will not run again, through kubectl and a
simulated member."""

import json

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import is_true

QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def queues(cpus):
    group = {"coveredResources": ["cpu", "memory"],
             "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": cpus},
                                                       {"name": "memory",
                                                        "nominalQuota": "100Gi"}]}]}
    kueue = {"apiVersion": "kueue.x-k8s.io/v1beta2"}
    return [{**kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
            {**kueue, "kind": "ClusterQueue", "metadata": {"name": "all"},
             "spec": {"namespaceSelector": {}, "resourceGroups": [group]}},
            {**kueue, "kind": "LocalQueue",
             "metadata": {"name": "team", "namespace": "default"},
             "spec": {"clusterQueue": "all"}}]


def two_parts(name):
    """A JobSet whose two preparing pods end at once, and whose third pod stays."""
    job = make.job_set(name, replicas=1, pods=2, gpus=0, duration="1s")
    first = job["spec"]["replicatedJobs"][0]
    first["name"] = "prepare"
    other = make.job_set(name, replicas=1, pods=1, gpus=0, duration="1h")
    other["spec"]["replicatedJobs"][0]["name"] = "train"
    job["spec"]["replicatedJobs"] += other["spec"]["replicatedJobs"]
    job["metadata"]["labels"] = QUEUE
    return job


def story_pods_that_will_not_run_again_give_their_quota_back(fleet):
    """What a JobSet's finished part held is given to the next job while the rest runs."""
    fleet.start_hub()
    member = fleet.start_sim("one", [make.node("n", gpus=0, cpu="3")])
    fleet.join(member)
    kubectl = fleet.kubectls()[0]
    workloads = fleet.watch("workloads")

    def told(prefix, what, so):
        return workloads.await_state(what, lambda all_of: next(
            (o for (_, name), o in all_of.items() if name.startswith(prefix) and so(o)), None))

    for o in queues(3):
        kubectl("apply", "-f", "-", stdin=o)
    kubectl("apply", "-f", "-", stdin=two_parts("parts"))
    following = make.batch_job("following", pods=2, gpus=0, duration="1s")
    following["metadata"]["labels"] = QUEUE
    kubectl("apply", "-f", "-", stdin=following)
    part = told("jobset-parts-", "the first part is reclaimable",
                lambda o: o.get("status", {}).get("reclaimablePods"))
    check(part["status"]["reclaimablePods"] == [{"name": "prepare", "count": 2}],
          "the Workload names the part and its pods", part["status"])
    told("job-following-", "the next job ended", lambda o: is_true(o, "Finished"))
    part = json.loads(kubectl("get", "kwl", part["metadata"]["name"], "-o", "json"))
    check(is_true(part, "Admitted") and not is_true(part, "Finished"),
          "and the JobSet still runs", part)


if __name__ == "__main__":
    main(globals(), Fleet)
