#!/usr/bin/env python3
"""The story of the ACK documentation (steps 1 to 3): a quota tree that lets one job out at a time,
a gang policy, a PyTorchJob of one master and two workers, and what users see of it."""

import os
import re

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.programs import program
from muster_test.watch import is_true

# Steps 1 and 2 of the documentation, as they stand there.
TREE = """
apiVersion: scheduling.sigs.k8s.io/v1beta1
kind: ElasticQuotaTree
metadata:
  name: elasticquotatree
  namespace: kube-system
spec:
  root:
    name: root
    max:
      cpu: 999900
      memory: 400000Gi
      kube-queue/max-jobs: 10000000000
      nvidia.com/gpu: 100000
    min:
      cpu: 9999
      memory: 40Gi
    children:
    - name: child-2
      max:
        kube-queue/max-jobs: 1
        cpu: 10000
        nvidia.com/gpu: 10000
        memory: 10000Gi
      namespaces:
      - default
"""
POLICY = """
apiVersion: policy.one.alibabacloud.com/v1alpha1
kind: PropagationPolicy
metadata:
  name: example-policy
spec:
  propagateDeps: true
  failover:
    application:
      decisionConditions:
        tolerationSeconds: 30
      purgeMode: Immediately
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      customSchedulingType: Gang
  suspension:
    scheduling: true
  resourceSelectors:
  - apiVersion: kubeflow.org/v1
    kind: PyTorchJob
"""


def running(o):
    return is_true(o, "Running")


def three_members(fleet, http2):
    fleet.start_hub()
    sims = [fleet.start_sim(f"c{i}", [make.node("gpu", count=2)]) for i in (1, 2, 3)]
    if http2:
        for sim in sims:
            fleet.put_http2(sim)
    fleet.join(*sims)
    return sims


def columns(line):
    return re.split(r"\s{2,}", line.strip())


def the_story(fleet, http2):
    sims = three_members(fleet, http2)
    kubectl = fleet.kubectls()[-1]
    check(True, "three members join " + ("over HTTP/2" if http2 else "directly"))

    answer = kubectl.run("apply", "-f", "-", stdin=TREE)
    check(answer.returncode == 0, "the documentation's quota tree is accepted",
          answer.stdout + answer.stderr)
    check("Warning" in answer.stderr, "with a warning (the root's min is not its max)",
          answer.stderr)
    kubectl("apply", "-f", "-", stdin=POLICY)
    queues = fleet.watch("queues", "kube-queue")
    queues.await_state("two queues", lambda objects: len(objects) == 2)
    listed = kubectl("get", "queue", "-n", "kube-queue").splitlines()
    check(columns(listed[0]) == ["NAME", "AGE"], "kubectl get queue shows NAME and AGE", listed)
    names = sorted((columns(line)[0] for line in listed[1:]), key=len)
    check(re.fullmatch(r"root-[a-z0-9]{5}", names[0]) and
          re.fullmatch(r"root-child-2-[a-z0-9]{5}", names[1]),
          "the queues are named root-xxxxx and root-child-2-xxxxx", names)

    jobs, events = fleet.watch("pytorchjobs"), fleet.watch("events", "default")
    kubectl("apply", "-f", "-", stdin=make.pytorch_job("pytorch-test", duration="120s"))
    jobs.await_object("pytorch-test", "Running", running)
    shown = kubectl("get", "pytorchjob").splitlines()
    check(columns(shown[0]) == ["NAME", "STATE", "AGE"],
          "kubectl get pytorchjob shows NAME, STATE and AGE", shown)
    check(columns(shown[1])[:2] == ["pytorch-test", "Running"], "the job is Running", shown)
    states = [c["type"] for c in jobs.history("pytorch-test")[0]["status"]["conditions"]] if \
        jobs.history("pytorch-test")[0].get("status") else []
    first = next(o for o in jobs.history("pytorch-test") if o.get("status", {}).get("conditions"))
    check([c["type"] for c in first["status"]["conditions"]] == ["Created"],
          "its first condition was Created, written by the hub", states, first["status"])
    check(not any(is_true(o, "Suspended") for o in jobs.history("pytorch-test")),
          "a suspension by the hub's own dispatch was never shown")

    scheduled = events.await_event(
        "ScheduleBindingSucceed", lambda kind, o: o.get("reason") == "ScheduleBindingSucceed" and
        o["involvedObject"]["name"] == "pytorch-test" and
        o["involvedObject"]["kind"] == "PyTorchJob")
    cluster = re.fullmatch(r"Binding has been scheduled successfully\. Result: "
                           r"\{(c[123]):0,\[\{master 1\} \{worker 2\}\]\}", scheduled["message"])
    check(cluster, "the event's text is the documentation's", scheduled["message"])
    cluster = cluster.group(1)
    check(scheduled["source"].get("component") == "default-scheduler",
          "its source is default-scheduler", scheduled)
    described = kubectl("describe", "pytorchjob", "pytorch-test")
    check(re.search(r"Normal\s+ScheduleBindingSucceed\s+.*default-scheduler\s+Binding has been "
                    r"scheduled successfully", described), "kubectl describe shows it", described)

    member = next(s for s in sims if s.name == cluster)
    member_pods = fleet.watch("pods", "default", client=member.client)
    member_pods.await_state("three pods run", lambda objects: len(objects) == 3 and all(
        o["status"].get("phase") == "Running" for o in objects.values()))
    copies = {s.name: len(s.client.items("pytorchjobs")) for s in sims}
    check(copies == {s.name: int(s is member) for s in sims},
          "exactly one member holds a copy", copies)
    shown = fleet.muster("get", "pytorchjob", "-M", name="kubectl-amc").stdout.splitlines()
    check(columns(shown[0]) == ["NAME", "CLUSTER", "STATE", "AGE", "ADOPTION"],
          "amc get pytorchjob -M: NAME CLUSTER STATE AGE ADOPTION", shown)
    row = columns(shown[1])
    check(row[:3] == ["pytorch-test", cluster, "Running"] and row[-1] == "Y" and len(shown) == 2,
          "with one row, adopted", shown)
    # kubectl finds what is called kubectl-amc on its PATH, beside the program as it was built.
    cli = os.path.dirname(os.path.abspath(program("MUSTER", "deploy/cli/muster")))
    shown = kubectl("amc", "get", "pod", "-M",
                    env={"PATH": cli + ":" + os.environ["PATH"]}).splitlines()
    check(columns(shown[0]) == ["NAME", "CLUSTER", "READY", "STATUS", "RESTARTS", "AGE"],
          "kubectl amc get pod -M: NAME CLUSTER READY STATUS RESTARTS AGE", shown)
    rows = sorted(columns(line)[:5] for line in shown[1:])
    check(rows == [[f"pytorch-test-{n}", cluster, "1/1", "Running", "0"]
                   for n in ("master-0", "worker-0", "worker-1")],
          "with the three pods, 1/1 Running", rows)
    shown = fleet.muster("get", "pytorchjob", "pytorch-test", "-m", cluster, "-o", "yaml",
                         name="kubectl-amc").stdout
    check("kind: PyTorchJob" in shown and "replicaStatuses:" in shown,
          "amc get -m CLUSTER -o yaml shows the copy", shown)
    unit = fleet.client.items("queueunits", "default")
    check(len(unit) == 1 and unit[0]["metadata"]["name"] == "pytorch-test-pytorchjob-rb-qu" and
          unit[0]["status"]["phase"] == "Running", "its QueueUnit is Running", unit)

    kubectl("apply", "-f", "-", stdin=make.pytorch_job("second", duration="1s"))
    units = fleet.watch("queueunits", "default")
    waiting = units.await_object("second-pytorchjob-rb-qu", "waits with its reason", lambda o: (
        o.get("status", {}).get("phase") == "Enqueued" and
        "Insufficient quota(jobs)" in o["status"].get("message", "")))
    check(True, "V15: a second job waits: " + waiting["status"]["message"])
    why = fleet.why("second")
    check(any(not q["fits"] and q["resource"] == "kube-queue/max-jobs" and q["limit"] == "1"
              for q in why["quota"]), "muster why names the node and its limit of one job",
          why["quota"])
    second = fleet.client.get("pytorchjobs", "second")
    check(second["status"]["conditions"][-1]["type"] == "Created", "its STATE is Created")
    kubectl("delete", "pytorchjob", "pytorch-test")
    jobs.await_object("second", "Succeeded", lambda o: is_true(o, "Succeeded"))
    check(True, "it starts when the first is gone, and succeeds")
    fleet.watch("pytorchjobs", client=member.client).await_gone("pytorch-test")
    member_pods.await_state("no pod of the first is left", lambda objects: not any(
        name.startswith("pytorch-test") for _, name in objects))
    check(True, "the deleted job left nothing on its member")


def story_seed_over_http2(fleet):
    """The documentation's story, with members behind HTTP/2"""
    the_story(fleet, True)


def story_seed_directly(fleet):
    """The documentation's story, with members reached directly (HTTP/1.1)"""
    the_story(fleet, False)


if __name__ == "__main__":
    main(globals(), Fleet)
