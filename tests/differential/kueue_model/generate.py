#!/usr/bin/env python3
"""usage: generate.py FIRST_SEED COUNT [STEPS [kueue] [wide] [checks [onFlavors]] [starving]]

With `kueue` Kueue's own rules alone: nobody is held, and an entry may be admitted to what the
victims of its cycle still hold. The engine admits it when they are gone, so that a scenario ends
where that happens (reference 5, item 5); until then the engine decides as Kueue. (Everywhere a
victim goes behind all others while its preemptor waits beside it, which Kueue does not ask.) With `wide` also what is rarer: gates of order, groups of pod sets, AdmissionFairSharing, cohorts that
move, quotas without an end, and the place of who must retry. With `checks` queues have
AdmissionChecks, which become Ready, say Retry or reject, and users deactivate workloads; with
`onFlavors` some are for some flavors alone. With `starving` it is asked between steps when some of
a tree who wait would have their quota ("shadows": "WL TIME FLAVOR RESOURCE AMOUNT ..." or "WL
never"), who of those that lend it could take back the most ("lenders": the names that may be told,
none for nobody), and who may be charged what before that ("asks": one answer for each that waits,
"yes", "no", or "either" where the engine may be careful; with "take" it is charged). (Scenarios of
a seed stay as they are without these.)
Random scenarios as JSON lines, with what the model decides after each step. A line is one
operation; "expect" says what must be seen when cycles have run until nothing moves:
  decisions  in order within each cohort tree: "TREE|admit WL POD_SET*COUNT:RESOURCE=FLAVOR,..."
             or "TREE|preempt WL VICTIM/REASON ..." (only victims that were not evicted before)
  waits      "WL REASON|REASON" of everybody whom its own last attempts left waiting
  usage      "NODE FLAVOR RESOURCE AMOUNT", amounts above zero, queues and cohorts
  shares     "QUEUE SHARE" as status.fairSharing shows it (fair sharing only)
  counts     "QUEUE PENDING RESERVING ADMITTED"
  order      "QUEUE WL WL ..." pending workloads in their order
"""
import json
import random
import sys

import shadow
from hub import Hub
from spec import HOLDS, UNLIMITED, Flavor, Group, Node, Options, PodSet, Queue, Quota, Workload

TAINT = {"key": "spot", "value": "yes", "effect": "NoSchedule"}


def put(line):
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")


class Over(Exception):
    """The scenario ends here: Hub.run() is restless, or somebody overtook victims."""


class Scenario:
    def __init__(self, seed, steps, kueue=False, wide=False, checks=False, starving=False,
                 per_flavor=False):
        self.kueue, self.wide, self.checks, self.starving = kueue, wide, checks, starving
        self.oracle = random.Random(seed)  # of what changes nothing
        self.asker = random.Random("asks %d" % seed)  # of what came later
        self.per_flavor = per_flavor
        self.checks_of = {}  # queue -> its checks
        self.seed, self.rng, self.steps = seed, random.Random(seed), steps
        self.hub, self.time, self.serial = Hub(), 1000, 0
        self.told = {}  # what may have been said last of whom

    def chance(self, p):
        return self.rng.random() < p

    def rare(self, p):
        """A chance that scenarios without `wide` have not."""
        return self.wide and self.rng.random() < p

    # objects
    def options(self):
        o = Options()
        o.fair_sharing = self.chance(0.35)
        if o.fair_sharing and self.chance(0.5):
            o.fair_strategies = self.rng.choice([("LessThanInitialShare",),
                                                 ("LessThanOrEqualToFinalShare",)])
        for gate, p in (("partial_admission", 0.05), ("flavor_fungibility", 0.05),
                        ("equivalence_hashing", 0.15), ("preempt_within_nominal", 0.15),
                        ("prioritize_non_borrowing", 0.15), ("recompute_on_overlap", 0.15),
                        ("preserve_scan_progress", 0.1), ("ignore_undeclared", -1)):
            if p < 0:
                o.ignore_undeclared = self.chance(0.1)
            elif self.chance(p):
                setattr(o, gate, False)
        o.freed_counts_when_gone = not self.kueue
        o.priority_sorting_within_cohort = not self.rare(0.15)
        o.prioritize_preemptors = self.rare(0.2)
        self.hub.options = o
        put({"op": "options", "seed": self.seed, **{k: v for k, v in vars(o).items()}})

    def flavor(self, name):
        f = Flavor(name, {"kind": name} if self.chance(0.7) else {},
                   [TAINT] if self.chance(0.15) else [],
                   [{"key": "spot", "operator": "Exists"}] if self.chance(0.1) else [])
        self.hub.edited(self.hub.flavors, name, f)
        put({"op": "flavor", "name": name, "labels": f.labels, "taints": f.taints,
             "tolerations": f.tolerations})

    def quota(self, in_cohort, most=10):
        nominal = self.rng.choice([0, 2, 4, 4, 6, 8, most, most])
        if self.rare(0.03):
            nominal = UNLIMITED
        borrowing = self.rng.choice([None, None, None, 2, 4, 8]) if in_cohort else None
        lending = self.rng.randint(0, min(nominal, most)) if in_cohort and self.chance(0.2) \
            else None
        return Quota(nominal, borrowing, lending)

    def groups(self, in_cohort, p=1.0):
        if not self.chance(p):
            return []
        names = list(self.flavors)
        groups = []
        resources = [["cpu", "memory"], ["gpu"]] if self.two_groups else \
            [["cpu", "memory"] if self.memory else ["cpu"]]
        if self.pods:
            resources[0] = resources[0] + ["pods"]
        for i, covered in enumerate(resources):
            mine = names if not self.two_groups else (names[:-1] if i == 0 else names[-1:])
            mine = self.rng.sample(mine, self.rng.randint(1, len(mine)))
            groups.append(Group(covered, mine, {
                (f, r): self.quota(in_cohort, 20 if r in ("memory", "pods") else 10)
                for f in mine for r in covered}))
        return groups

    def group_lines(self, groups):
        return [{"resources": g.resources, "flavors": g.flavors, "quotas": [
            [g.quotas[(f, r)].nominal, g.quotas[(f, r)].borrowing, g.quotas[(f, r)].lending]
            for f in g.flavors for r in g.resources]} for g in groups]

    def cohort(self, name, parent):
        c = Node(name, parent, self.groups(parent is not None, 0.5),
                 self.rng.choice([1.0, 1.0, 1.0, 2.0, 0.5, 0.0]))
        self.hub.edited(self.hub.cohorts, name, c)
        put({"op": "cohort", "name": name, "parent": parent, "weight": c.weight,
             "groups": self.group_lines(c.groups), "expect": self.expect()})

    def queue(self, name):
        parent = self.rng.choice([None] + self.cohort_names * 5) if self.cohort_names else None
        any_policy = ["Never", "LowerPriority", "Any", "Any"]
        q = Queue(name, parent, self.groups(parent is not None),
                  self.rng.choice([1.0, 1.0, 1.0, 2.0, 0.5, 0.0]))
        q.strategy = self.rng.choice(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"])
        q.stopped = self.chance(0.04)
        q.within = self.rng.choice(["Never", "LowerPriority", "LowerPriority", "LowerOrNewerEqualPriority"])
        q.reclaim = self.rng.choice(any_policy)
        if self.local_queues:
            q.admission_fair_sharing, q.reclaim = True, "Never"
        if q.reclaim != "Never" and self.chance(0.4):
            q.borrow_policy = "LowerPriority"
            q.threshold = self.rng.choice([None, 0, 1, 2])
        q.when_can_borrow = self.rng.choice(["MayStopSearch", "TryNextFlavor"])
        q.when_can_preempt = self.rng.choice(["MayStopSearch", "TryNextFlavor"])
        if q.when_can_borrow == q.when_can_preempt == "TryNextFlavor":
            q.preference = self.rng.choice(["BorrowingOverPreemption", "PreemptionOverBorrowing"])
        if self.checks:
            q.checks = self.checks_of.setdefault(
                name, self.with_flavors(self.rng.choice([[], ["budget"], ["budget", "licence"]])))
        self.hub.edited(self.hub.queues, name, q)
        put({"op": "queue", "name": name, "cohort": parent, "weight": q.weight,
             "checks": [{"name": c, "flavors": f} for c, f in q.checks.items()],
             "strategy": q.strategy, "stopped": q.stopped, "within": q.within,
             "reclaim": q.reclaim, "borrow_policy": q.borrow_policy, "threshold": q.threshold,
             "when_can_borrow": q.when_can_borrow, "when_can_preempt": q.when_can_preempt,
             "admission_fair_sharing": q.admission_fair_sharing,
             "preference": q.preference, "groups": self.group_lines(q.groups),
             "expect": self.expect()})

    def with_flavors(self, checks):
        """name -> its onFlavors; empty for all."""
        return {c: self.asker.sample(self.flavors, self.asker.randint(
            0, len(self.flavors))) if self.per_flavor else [] for c in checks}

    def pod_set(self, name, names):
        requests = {"cpu": self.rng.choice([1, 1, 2, 2, 3, 5])}
        if self.chance(0.4 if self.memory or self.two_groups else 0.02):
            requests["memory"] = self.rng.randint(0, 5)
        if self.two_groups and self.chance(0.4):
            requests["gpu"] = self.rng.randint(0, 3)
        count = self.rng.choice([1, 1, 1, 1, 2])
        p = PodSet(name, count, requests)
        if self.chance(0.06):
            p.selector = {"kind": self.rng.choice(names)}
        elif self.chance(0.05):
            p.affinity = [[{"key": self.rng.choice(["kind", "zone"]),
                            "operator": self.rng.choice(["In", "NotIn"]),
                            "values": [self.rng.choice(names)]}]]
        if self.chance(0.3):
            p.tolerations = [{"key": "spot", "operator": "Equal", "value": "yes"}]
        return p

    def add(self):
        names = list(self.hub.flavors)
        sets = [self.pod_set("main" if i == 0 else "more", names)
                for i in range(1 if self.chance(0.75) else 2)]
        if self.chance(0.2):
            sets[0].count = self.rng.randint(2, 5)
            sets[0].min_count = self.rng.randint(1, sets[0].count)
        if len(sets) > 1 and self.rare(0.3):
            for p in sets:
                p.group = "g"
        self.serial += 1
        name = "w%d" % self.serial
        w = Workload(name, self.rng.choice(sorted(self.hub.queues)), self.rng.randint(0, 3),
                     self.time, sets, uid="u%03d" % self.rng.randint(0, 999) + name)
        w.local = self.local(w.queue) if self.local_queues else 0
        self.hub.add(w)
        put({"op": "add", "name": name, "uid": w.uid, "queue": w.queue, "priority": w.priority,
             "local": w.local, "created": w.created, "pod_sets": [
                 {"name": p.name, "count": p.count, "min_count": p.min_count or 0,
                  "requests": p.requests, "selector": p.selector, "affinity": p.affinity,
                  "group": p.group,
                  "tolerations": p.tolerations} for p in sets], "expect": self.expect()})

    def local(self, queue):
        """One of a queue's three LocalQueues: numbers are of one queue each."""
        return 3 * sorted(self.hub.queues).index(queue) + self.rng.randint(1, 3)

    # steps
    def consume(self):
        """A sample of what a LocalQueue consumed."""
        queue = self.rng.choice(sorted(self.hub.queues))
        local, usage = self.local(queue), self.rng.randint(0, 9)
        self.hub.usage.setdefault(queue, {})[local] = usage
        put({"op": "usage", "queue": queue, "local": local, "usage": usage,
             "expect": self.expect()})

    def move_cohort(self):
        """To another parent, or to none; never below itself."""
        name = self.rng.choice(sorted(self.cohort_objects))
        forest = self.hub.forest()
        parents = [c for c in self.cohort_names
                   if c in forest.cohorts and ("c", name) not in [("c", c)] + forest.path(("c", c))]
        self.cohort_objects[name] = self.rng.choice(parents + [None])
        return self.cohort(name, self.cohort_objects[name])

    def pick(self, *states):
        found = sorted(w.name for w in self.hub.workloads.values() if w.state in states)
        return self.rng.choice(found) if found else None

    def answer(self, name):
        """Controllers of checks write what they found."""
        w = self.hub.workloads[name]
        states = ["Ready"] * 4 + ["Pending", "Retry", "Retry", "Rejected"] \
            if w.state == "reserving" else ["Ready", "Ready", "Retry", "Rejected"]
        changes = {c: (self.rng.choice(states), self.time - self.rng.randint(0, 3),
                       self.rng.choice([0, 4, 10, 30])) for c in w.checks if self.chance(0.8)}
        self.hub.say(name, changes, self.time)
        self.act("checks", name, now=self.time, checks=[
            {"name": c, "state": state, "since": since, "after": after}
            for c, (state, since, after) in w.checks.items()])

    def step_checks(self):
        """A step of checks or of spec.active; whether there was one."""
        waiting = self.pick("reserving" if self.chance(0.8) else "admitted")
        if waiting and self.hub.workloads[waiting].checks and self.chance(0.5):
            self.answer(waiting)
            return True
        off = sorted(w.name for w in self.hub.workloads.values() if not w.active)
        if off and self.chance(0.1):
            name = self.rng.choice(off)
            self.hub.activate(name)
            self.act("activate", name)
            return True
        name = self.pick("pending", "parked", "held", "admitted", "reserving", "evicted")
        if name and name not in off and self.chance(0.03):
            self.hub.deactivate(name)
            self.act("deactivate", name)
            return True
        return False

    def ask_shadows(self):
        """When up to three of one tree would have their quota, if holders ended at some time."""
        hub, rng, forest = self.hub, self.oracle, self.hub.forest()
        waiting = sorted(w.name for w in hub.workloads.values()
                         if w.state in ("pending", "parked", "held") and forest.active(w.queue))
        if not waiting:
            return
        root = forest.root(("q", hub.workloads[rng.choice(waiting)].queue))
        waiting = [n for n in waiting if forest.root(("q", hub.workloads[n].queue)) == root]
        waits = [(n, rng.choice([None, 5, 20])) for n in rng.sample(waiting, min(3, len(waiting)))]
        ends = {w.name: self.time + rng.randint(-5, 40) for w in hub.running() if rng.random() < 0.8}
        times = shadow.cast(hub, waits, ends, self.time)
        if times is None:
            return
        scenes = shadow.scenes(hub, waits, times, ends)
        lenders = [s.lenders() if s.at is not None else [] for s in scenes]
        put({"op": "starving", "now": self.time, "ends": ends, "lenders": lenders,
             "asks": self.ask_who_passes(scenes),
             "waits": [{"name": n} if limit is None else {"name": n, "limit": limit}
                       for n, limit in waits],
             "shadows": [" ".join([name, "never" if at is None else str(at)] + [
                 "%s %s %d" % (cell[0], cell[1], v) for cell, v in sorted(uses.items()) if v])
                         for name, at, uses in times]})

    def ask_who_passes(self, scenes):
        """Others would be charged something of theirs: may they be, before each of those?"""
        hub, rng, asks = self.hub, self.asker, []
        now = hub.forest()
        wanted = sorted({cell for s in scenes for cell, v in s.uses.items() if v})
        for _ in range(rng.randint(1, 6)):
            queue = rng.choice(sorted(hub.queues))
            cells = sorted(now.cells(("q", queue)))
            if not cells:
                continue
            common = [c for c in cells if c in wanted]
            picked = rng.sample(cells, min(len(cells), rng.choice([1, 1, 2])))
            if common and rng.random() < 0.8:
                picked = [rng.choice(common)] + [c for c in picked if c not in common][:1]
            uses = {c: rng.randint(0, 9) for c in picked}
            end = None if rng.random() < 0.6 else self.time + rng.randint(0, 60)
            says = [s.lets(now, queue, uses, end) for s in scenes]
            take = all(x == "yes" for x in says) and rng.random() < 0.5 and \
                now.root(("q", queue)) == now.root(("q", scenes[0].queue))
            asks.append({"queue": queue, "uses": [[*c, v] for c, v in sorted(uses.items())],
                         "lets": says, **({} if end is None else {"end": end}),
                         **({"take": True} if take else {})})
            if take:
                for s in scenes:
                    s.took(queue, uses, end)
                now = now.charged(queue, uses)
        return asks

    def act(self, op, name, **more):
        put({"op": op, "name": name, **more, "expect": self.expect()})

    def step(self):
        self.time += self.rng.randint(1, 5)
        evicted = self.pick("evicted")
        if evicted and self.chance(0.5):
            hold = self.chance(0.1) and not self.kueue and not self.checks
            listed = self.chance(0.5)
            order = self.time if self.rare(0.4) and not self.checks else None
            self.hub.released(evicted, hold, listed, order, self.time)
            return self.act("released", evicted, hold=hold, listed=listed, now=self.time,
                            **({} if order is None else {"order": order}))
        if self.checks and self.step_checks():
            return None
        if self.local_queues and self.chance(0.15):
            return self.consume()
        if self.cohort_objects and self.rare(0.06):
            return self.move_cohort()
        what = self.rng.random()
        if what < 0.65:
            return self.add()
        if what < 0.75:
            name = self.pick("admitted")
            if name:
                self.hub.remove(name)
                return self.act("remove", name)
        if what < 0.79:
            name = self.pick("pending", "parked")
            if name:
                self.hub.remove(name)
                return self.act("remove", name)
        if what < 0.82 and not self.kueue and not self.checks:
            name = self.pick("pending", "parked")
            if name:
                listed = self.chance(0.5)
                self.hub.hold(name, listed)
                return self.act("hold", name, listed=listed)
        if what < 0.85:
            name = self.pick("held")
            if name and not self.checks:
                self.hub.unhold(name)
                return self.act("unhold", name)
        if what < 0.88:
            name = self.pick("pending", "parked")
            if name:
                priority = (self.hub.workloads[name].priority + self.rng.randint(1, 3)) % 4
                self.hub.set_priority(name, priority)
                return self.act("priority", name, priority=priority)
        if what < 0.91:
            name = self.pick("admitted")
            if name:
                self.hub.evict(name)
                return self.act("evict", name)
        if what < 0.96:
            return self.queue(self.rng.choice(sorted(self.hub.queues)))
        if what < 0.98 and self.cohort_objects:
            name = self.rng.choice(sorted(self.cohort_objects))
            return self.cohort(name, self.cohort_objects[name])
        return self.add()

    def expect(self):
        hub = self.hub
        hub.look_back(self.time)
        decisions = hub.run(self.time)
        if hub.restless or hub.overtaken:
            raise Over
        forest = hub.forest()

        def tree(name):
            return forest.root(("q", hub.workloads[name].queue))[1]
        lines = []
        for d in decisions:
            if d[0] == "admit":
                sets = [" %s*%d:%s" % (p.name, n, ",".join("%s=%s" % x for x in sorted(f.items())))
                        for p, n, f in zip(hub.workloads[d[1]].pod_sets, d[3], d[2])]
                lines.append("%s|admit %s%s" % (tree(d[1]), d[1], "".join(sets)))
            else:
                lines.append("%s|preempt %s%s" % (
                    tree(d[1]), d[1], "".join(" %s/%s" % v for v in d[2])))
        nodes = [("q", q) for q in sorted(hub.queues)] + [("c", c) for c in sorted(forest.cohorts)]
        used = {c for uses in forest.held.values() for c in uses}
        out = {"decisions": sorted(lines, key=lambda x: x.split("|")[0]), "time": self.time}
        # What nobody tried again is told as it was.
        self.told = {name: said if name in hub.attempted else said | self.told.get(name, set())
                     for name, said in hub.told_idle.items()}
        out["waits"] = ["%s %s" % (w.name, "|".join(sorted(self.told[w.name])))
                        for _, w in sorted(hub.workloads.items())
                        if w.state in ("pending", "parked") and w.told]
        out["usage"] = ["%s %s %s %d" % (n[1], c[0], c[1], forest.usage(n, c)) for n in nodes
                        for c in sorted(used | forest.cells(n)) if forest.usage(n, c)]
        if hub.options.fair_sharing:
            out["shares"] = ["%s %d" % (n[1], forest.share(n).status()) for n in nodes
                             if n[0] == "q"]
        pending = {q: [w for w in hub.workloads.values() if w.queue == q and
                       w.state in ("pending", "parked", "held") and w.listed]
                   for q in hub.queues}
        holding = {q: [w for w in hub.workloads.values() if w.queue == q and w.state in HOLDS]
                   for q in hub.queues}
        out["counts"] = ["%s %d %d %d" % (q, len(pending[q]), len(holding[q]), sum(
            w.admitted for w in holding[q])) for q in sorted(hub.queues)]
        out["order"] = [" ".join([q] + [w.name for w in hub.sort(q, pending[q])])
                        for q in sorted(hub.queues)]
        return out

    def run(self):
        self.options()
        self.two_groups, self.pods = self.chance(0.25), self.chance(0.12)
        self.memory = self.chance(0.4)
        self.local_queues = self.rare(0.2)
        self.flavors = ["red", "blue", "gold"][:self.rng.randint(2 if self.two_groups else 1, 3)]
        for f in self.flavors:
            self.flavor(f)
        shape = self.rng.choice([0, 1, 1, 1, 2, 3, 3, 4])
        self.cohort_names = ["root", "left", "right", "deep"][:shape] + \
            (["other"] if self.chance(0.15) else [])
        parents = {"root": None, "left": "root", "right": "root", "deep": "left", "other": None}
        self.cohort_objects = {}
        for name in self.cohort_names:
            if parents[name] or self.chance(0.5):
                self.cohort_objects[name] = parents[name]
                self.cohort(name, parents[name])
        for i in range(self.rng.randint(2, 5)):
            self.queue("cq%d" % i)
        for _ in range(self.steps):
            self.step()
            if self.starving and self.oracle.random() < 0.4:
                self.ask_shadows()


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    for seed in range(first, first + count):
        try:
            Scenario(seed, steps, *(mode in sys.argv[4:]
                                    for mode in ("kueue", "wide", "checks", "starving",
                                                 "onFlavors"))).run()
        except Over:
            pass


if __name__ == "__main__":
    main()
