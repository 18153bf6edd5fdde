"""What the fault stories share: a fleet whose every watch is checked, its quota, and the checks
when the dust has settled."""

import concurrent.futures
import os
import random

from muster_test import Fleet, check
from muster_test import objects as make
from muster_test.client import until
from muster_test.validators import validate
from muster_test.watch import is_true, key_of

from quota_replay import Tree, check_replay, check_runs_within


def parameter(name, default):
    """A size: MUSTER_FAULT_NAME, else the default, which is what the suite has time for (or, with
    MUSTER_FAULT_SOAK=N, N times as much)."""
    return int(os.environ.get("MUSTER_FAULT_" + name,
                              default * int(os.environ.get("MUSTER_FAULT_SOAK", "1"))))


def seeded(name):
    """Randomness that a failure tells how to repeat."""
    seed = int(os.environ.get("MUSTER_FAULT_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"    MUSTER_FAULT_SEED={seed} ({name})", flush=True)
    return random.Random(seed)


class FaultFleet(Fleet):
    """A Fleet that closes only when the nine validators hold for every watch that a story had, of
    the hub as of the members."""

    def __init__(self, directory):
        super().__init__(directory)
        self.trimmed = False  # the story makes the hub throw away the beginning of its log

    def watch(self, plural, namespace=None, client=None, **params):
        """The first one of each resource is without a selector: the others are measured by it."""
        of = client or self.client
        chosen = namespace or {k for k in params if k != "name"}
        if chosen and not any(w.plural == plural and w.client is of and not w.params and
                              not w.namespace for w in self.watches):
            super().watch(plural, client=of)
        return super().watch(plural, namespace, client, **params)

    def close(self):
        groups = {}
        for w in self.watches:
            groups.setdefault(w.client.path, []).append(w)
        with concurrent.futures.ThreadPoolExecutor(len(groups) or 1) as pool:
            done = [d.result() for d in [
                pool.submit(validate, group[0].client, group, self.trimmed)
                for group in groups.values()]]
        events, sessions = sum(d[0] for d in done), sum(d[1] for d in done)
        check(events > 0, f"the nine validators hold for all {len(self.watches)} watches: {events} "
              f"events in {sessions} sessions")
        super().close()


def over(o):
    return is_true(o, "Succeeded") or is_true(o, "Failed")


def quota(client, gpus, leaves=("a", "b"), jobs=4):
    """A namespace per leaf; each may hold two thirds of the GPUs, together not more than all, and
    the first leaf so many jobs at a time."""
    client.create(*(make.namespace("team-" + leaf) for leaf in leaves))
    most = {"nvidia.com/gpu": str(gpus), "kube-queue/max-jobs": "1000"}
    each = {"nvidia.com/gpu": str(gpus * 2 // 3)}
    few = {**each, "kube-queue/max-jobs": str(jobs)}
    tree = client.create(make.quota_tree(make.quota_node("root", most, most, children=[
        make.quota_node(leaf, {}, each if i else few, ["team-" + leaf])
        for i, leaf in enumerate(leaves)])))
    client.create(*(make.policy(namespace="team-" + leaf) for leaf in leaves))
    return Tree(tree)


def all_succeed(jobs, n, deadline=240):
    """Waits until so many jobs are there and over; returns them."""
    jobs.await_state(f"{n} jobs are over", lambda objects: len(objects) == n and
                     all(map(over, objects.values())), deadline)
    failed = [o["metadata"]["name"] for o in jobs.objects.values() if not is_true(o, "Succeeded")]
    check(not failed, f"all {n} jobs succeeded", failed)
    return list(jobs.objects.values())


def check_runs(sims, jobs, local=0):
    """The members' own logs: every pod of every job ran to its end, on one member, once. local: how
    many jobs the members had of their own."""
    runs = {}
    for sim in sims:
        for r in sim.runs():
            runs.setdefault(r["jobUid"], []).append((sim.name, r))
    for job in jobs:
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        mine = runs.pop(uid, [])
        pods = sum(s.get("replicas", 1) for s in job["spec"]["pytorchReplicaSpecs"].values())
        if len({member for member, _ in mine}) > 1:
            check(False, f"{name} ran on one member", mine)
        if len(mine) != pods or len({r["podUid"] for _, r in mine}) != pods:
            check(False, f"each of the {pods} pods of {name} ran exactly once", mine)
    check(len(runs) == local, f"{len(jobs)} jobs ran exactly once, each on one member, and nothing else ran",
          list(runs))


def check_quota(units, jobs, tree, sims):
    """No commit raised usage above max, and no member ran more."""
    units.await_state("every unit is over", lambda objects: not any(
        o["status"]["phase"] in ("Dequeued", "Running") for o in objects.values()))
    check_replay(tree, units, {key_of(o): o for o in jobs})
    check_runs_within(tree, sims, jobs)


def check_no_leftovers(fleet, sims, with_quota=True):
    """Deletes every job; then no member holds anything of the hub's."""
    for namespace in {o["metadata"]["namespace"] for o in fleet.client.items("pytorchjobs")}:
        fleet.client.call("DELETE", "/apis/kubeflow.org/v1/namespaces/" + namespace +
                          "/pytorchjobs")
    watches = [fleet.watch(plural, client=sim.client)
               for sim in sims for plural in ("pytorchjobs", "pods")]
    for w in watches:
        w.await_state("nothing of the hub's is left", lambda objects: not objects)
    fleet.watch("pytorchjobs").await_state("all jobs are gone", lambda objects: not objects)
    for plural in ("resourcebindings", "queueunits"):
        fleet.watch(plural).await_state(plural + " are gone", lambda objects: not objects)
    if with_quota:
        until("the quota is free", lambda: all(
            n["resources"]["nvidia.com/gpu"]["used"] == "0" and n["jobs"]["used"] == 0
            if "jobs" in n else n["resources"]["nvidia.com/gpu"]["used"] == "0"
            for n in fleet.view("quota")["nodes"]))
    check(True, "once the jobs are deleted nothing is left on members" +
          (", and no quota is held" if with_quota else ""))
