"""What the fault stories share: a fleet under load, and the checks when the dust has settled."""

import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from muster_test import check  # noqa: E402  (the harness is next door)
from muster_test import objects as make  # noqa: E402
from muster_test.client import until  # noqa: E402
from muster_test.watch import is_true, revision_of  # noqa: E402


def parameter(name, default):
    """A size: MUSTER_FAULT_NAME, else the issue's."""
    return int(os.environ.get("MUSTER_FAULT_" + name, default))


def seeded(name):
    """Randomness that a failure tells how to repeat."""
    seed = int(os.environ.get("MUSTER_FAULT_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"    MUSTER_FAULT_SEED={seed} ({name})", flush=True)
    return random.Random(seed)


def over(o):
    return is_true(o, "Succeeded") or is_true(o, "Failed")


def quota(client, gpus, leaves=("a", "b"), jobs=1000):
    """A namespace per leaf; each may hold two thirds of the GPUs, together not more than all."""
    client.create(*(make.namespace("team-" + leaf) for leaf in leaves))
    most = {"nvidia.com/gpu": str(gpus), "kube-queue/max-jobs": str(jobs)}
    each = {"nvidia.com/gpu": str(gpus * 2 // 3)}
    client.create(make.quota_tree(make.quota_node("root", most, most, children=[
        make.quota_node(leaf, {}, each, ["team-" + leaf]) for leaf in leaves])))
    client.create(*(make.policy(namespace="team-" + leaf) for leaf in leaves))
    return {"root": gpus, **{leaf: gpus * 2 // 3 for leaf in leaves}}


def gpus_of(job):
    total = 0
    for s in job["spec"]["pytorchReplicaSpecs"].values():
        limits = s["template"]["spec"]["containers"][0]["resources"].get("limits", {})
        total += s.get("replicas", 1) * int(limits.get("nvidia.com/gpu", "0"))
    return total


def check_quota(events, listed, jobs, limits):
    """Replays the QueueUnits' history: the usage of no node was ever raised above its max. A unit
    holds its quota from Dequeued until it is over or gone."""
    held, worst, state = {}, dict.fromkeys(limits, 0), {}
    for o in listed:
        state[o["metadata"]["namespace"], o["metadata"]["name"]] = o
    for kind, o in events:
        namespace, name = o["metadata"]["namespace"], o["metadata"]["name"]
        key = namespace, name
        phase = o.get("status", {}).get("phase", "")
        holds = kind != "DELETED" and phase in ("Reserved", "Dequeued", "Running")
        before = held.get(key, 0)
        job = jobs.get((namespace, name.removesuffix("-pytorchjob-rb-qu")))
        held[key] = gpus_of(job) if holds and job else 0
        if held[key] <= before:
            continue
        used = {"root": sum(held.values())}
        for (ns, _), n in held.items():
            leaf = ns.removeprefix("team-")
            used[leaf] = used.get(leaf, 0) + n
        for node, limit in limits.items():
            worst[node] = max(worst[node], used.get(node, 0))
            if used.get(node, 0) > limit:
                check(False, f"revision {revision_of(o)} raised {node} to {used[node]}, above "
                      f"its max {limit}", {k: v for k, v in held.items() if v})
    check(worst["root"] > limits["root"] - 4,
          f"the quota was used up, and no commit raised quota usage above max (worst {worst} of {limits})", worst)


def check_runs(sims, jobs, exactly_once=True):
    """The members' own logs: every pod of every job ran to its end, on one member, once."""
    runs = {}
    for sim in sims:
        for r in sim.runs():
            runs.setdefault(r["jobUid"], []).append((sim.name, r))
    for job in jobs:
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        mine = runs.get(uid, [])
        members = {m for m, _ in mine}
        pods = sum(s.get("replicas", 1) for s in job["spec"]["pytorchReplicaSpecs"].values())
        if len(members) > 1:
            check(False, f"{name} ran on one member", mine)
        if len({r["podUid"] for _, r in mine}) != pods or (exactly_once and len(mine) != pods):
            check(False, f"each of the {pods} pods of {name} ran exactly once", mine)
    check(True, f"{len(jobs)} jobs ran exactly once, each on one member "
          f"({sum(map(len, runs.values()))} runs of pods)")


def check_no_leftovers(fleet, sims):
    """Deletes every job; then no member holds anything of the hub's."""
    for namespace in {o["metadata"]["namespace"] for o in fleet.client.items("pytorchjobs")}:
        fleet.client.call("DELETE", "/apis/kubeflow.org/v1/namespaces/" + namespace +
                          "/pytorchjobs")
    watches = [fleet.watch(plural, client=sim.client)
               for sim in sims for plural in ("pytorchjobs", "pods")]
    for w in watches:
        w.await_state("nothing of the hub's is left", lambda objects: not objects)
    fleet.watch("pytorchjobs").await_state("all jobs are gone", lambda objects: not objects)
    fleet.watch("resourcebindings").await_state("all bindings are gone",
                                                lambda objects: not objects)
    used = until("the quota is free", lambda: [
        n for n in fleet.view("quota")["nodes"]
        if n["path"] == "root" and n["resources"]["nvidia.com/gpu"]["used"] == "0"])
    check(bool(used), "once the jobs are deleted nothing is left on members, and no quota is held",
          json.dumps(used)[:500])
