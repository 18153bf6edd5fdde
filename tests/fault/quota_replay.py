"""Was quota ever exceeded? Two answers that know nothing of the hub's own arithmetic: a replay of
the QueueUnits' history, row by row as it was committed, and the hours that pods really ran on
members. Both sum what is held over an ElasticQuotaTree, anew and naively for every step."""

from fractions import Fraction

from muster_test import check
from muster_test.watch import key_of, revision_of

HOLDING = ("Reserved", "Dequeued", "Running")
JOBS = "kube-queue/max-jobs"
SUFFIXES = {"m": Fraction(1, 1000), "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
            "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def quantity(text):
    number = str(text).rstrip("kKMGTim")
    return Fraction(number) * SUFFIXES[str(text)[len(number):]]


class Tree:
    """The nodes of an ElasticQuotaTree: {name: (max, names up to the root)}."""

    def __init__(self, tree):
        self.max, self.path, self.leaf_of = {}, {}, {}
        self.add(tree["spec"]["root"], ())

    def add(self, node, above):
        name = node["name"]
        self.max[name] = {r: quantity(q) for r, q in (node.get("max") or {}).items()}
        self.path[name] = (name, *above)
        for namespace in node.get("namespaces") or ():
            self.leaf_of[namespace] = name
        for child in node.get("children") or ():
            self.add(child, self.path[name])

    def usage(self, held):
        """{(node, resource): sum}; held: iterable of (namespace, {resource: amount})."""
        used = {}
        for namespace, request in held:
            for node in self.path[self.leaf_of[namespace]]:
                for resource, amount in (*request.items(), (JOBS, 1)):
                    used[node, resource] = used.get((node, resource), 0) + amount
        return used

    def above_max(self, used, before):
        """What a step raised above its max (what was above it before, and fell, is no fault)."""
        return [(node, resource, int(amount)) for (node, resource), amount in used.items()
                if resource in self.max[node] and amount > self.max[node][resource] and
                amount > before.get((node, resource), 0)]


class Highest:
    """The most that each limited resource was used."""

    def __init__(self, tree):
        self.tree, self.most = tree, {}

    def note(self, used):
        for key, amount in used.items():
            if key[1] in self.tree.max[key[0]]:
                self.most[key] = max(self.most.get(key, 0), amount)

    def __str__(self):
        return ", ".join(f"{node} {resource.split('/')[-1]} {amount} of "
                         f"{self.tree.max[node][resource]}"
                         for (node, resource), amount in sorted(self.most.items()))


def gpus_of_pod(spec):
    limits = spec["template"]["spec"]["containers"][0]["resources"].get("limits", {})
    return int(limits.get("nvidia.com/gpu", "0"))


def gpus_of(job):
    return sum(s.get("replicas", 1) * gpus_of_pod(s)
               for s in job["spec"]["pytorchReplicaSpecs"].values())


def check_replay(tree, units, jobs):
    """units: a Watch of QueueUnits from before the first job, which all nine validators find
    right; jobs: {key: job}, to see that a unit asks for what its job asks for."""
    held, before, highest = {}, {}, Highest(tree)
    for kind, o in [("ADDED", o) for o in units.listed] + units.events:
        key = key_of(o)
        request = {r: quantity(q) for r, q in o["spec"].get("request", {}).items()}
        job = jobs.get((key[0], key[1].removesuffix("-pytorchjob-rb-qu")))
        if job and request.get("nvidia.com/gpu", 0) != gpus_of(job):
            check(False, f"{key} asks for the job's GPUs", request, gpus_of(job))
        if kind != "DELETED" and o.get("status", {}).get("phase") in HOLDING:
            held[key] = (key[0], request)
        else:
            held.pop(key, None)
        used = tree.usage(held.values())
        if above := tree.above_max(used, before):
            check(False, f"revision {revision_of(o)} raised no usage above max", above, list(held))
        highest.note(used)
        before = used
    check(not held, "at the end no unit holds quota", list(held))
    check(highest.most.get(("root", "nvidia.com/gpu"), 0) > tree.max["root"]["nvidia.com/gpu"] - 4,
          f"{len(units.events)} rows replayed: quota was used up, and no commit raised usage above "
          f"max ({highest})", str(highest))


def check_runs_within(tree, sims, jobs):
    """The pods that ran at the same moment, by the members' own clocks, fit the quota too."""
    by_uid = {j["metadata"]["uid"]: j for j in jobs}
    steps = []
    for sim in sims:
        for run in sim.runs():
            job = by_uid.get(run["jobUid"])
            if job:
                steps += [(run["start"], 1, run, job), (run["end"], 0, run, job)]
    steps.sort(key=lambda s: s[:2])  # at one moment, ends come first
    running, highest = {}, Highest(tree)
    for _, starts, run, job in steps:
        uid, namespace = job["metadata"]["uid"], job["metadata"]["namespace"]
        each = gpus_of_pod(next(iter(job["spec"]["pytorchReplicaSpecs"].values())))
        _, amount = running.get(uid, (namespace, {"nvidia.com/gpu": 0, "pods": 0}))
        amount = {"nvidia.com/gpu": amount["nvidia.com/gpu"] + (each if starts else -each),
                  "pods": amount["pods"] + (1 if starts else -1)}
        running[uid] = (namespace, amount)
        if not amount["pods"]:
            del running[uid]
        if starts:
            used = tree.usage(running.values())
            if above := tree.above_max(used, {}):
                check(False, f"what ran at {run['start']} fits the quota", above, running)
            highest.note(used)
    check(bool(steps), f"at no moment ran more than max on the members ({highest})")
