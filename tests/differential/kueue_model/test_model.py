"""The model against numbers worked out by hand (reference 2.4 to 2.7)."""
import unittest

import shadow
from cohorts import Forest
from hub import Hub
from spec import Flavor, Group, Node, Options, PodSet, Queue, Quota, Workload

CPU = ("default", "cpu")


def group(nominal, borrowing=None, lending=None, flavor="default"):
    return [Group(["cpu"], [flavor], {(flavor, "cpu"): Quota(nominal, borrowing, lending)})]


def job(name, queue, cpu, priority=0, created=0, count=1, minimum=None):
    return Workload(name, queue, priority, created, [PodSet("main", count, {"cpu": cpu}, minimum)])


def hub(queues, cohorts=(), options=None, flavors=("default",)):
    h = Hub(options)
    for f in flavors:
        h.flavors[f] = Flavor(f)
    for c in cohorts:
        h.cohorts[c.name] = c
    for q in queues:
        h.queues[q.name] = q
    return h


class CohortMath(unittest.TestCase):
    def forest(self, held):
        # root r (nominal 5) has a (10, lends 4), b (10, borrows 3), c (0).
        return Forest({"default": Flavor("default")}, {"r": Node("r", None, group(5))}, {
            "a": Queue("a", "r", group(10, None, 4)),
            "b": Queue("b", "r", group(10, 3)),
            "c": Queue("c", "r", group(0)),
        }, {q: {CPU: v} for q, v in held.items()})

    def test_subtree_and_local_quota(self):
        f = self.forest({})
        # a keeps 10 - 4 = 6 for itself; r has 5 + 4 + 10 + 0 = 19.
        self.assertEqual(f.local(("q", "a"), CPU), 6)
        self.assertEqual(f.local(("q", "b"), CPU), 0)
        self.assertEqual(f.subtree(("c", "r"), CPU), 19)

    def test_available(self):
        f = self.forest({})
        # a: 6 of its own + all 19; b: min(19, 10 + 3); c: 19.
        self.assertEqual([f.available(q, CPU) for q in "abc"], [25, 13, 19])
        self.assertEqual(f.potential(("q", "b"), CPU), 13)
        f = self.forest({"a": 8, "c": 3})
        # Of a's 8 two are above its 6: r's usage is 2 + 3 = 5, 14 are left.
        self.assertEqual(f.usage(("c", "r"), CPU), 5)
        self.assertEqual([f.available(q, CPU) for q in "abc"], [14, 13, 14])

    def test_debt_lowers_what_siblings_may_take(self):
        f = self.forest({"b": 21})  # an edit has lowered b
        self.assertEqual([f.raw_available(("q", q), CPU) for q in "abc"], [6 - 2, -8, -2])
        self.assertEqual([f.available(q, CPU) for q in "abc"], [4, 0, 0])

    def test_level(self):
        f = self.forest({"a": 8})
        self.assertEqual(f.level_that_fits("a", CPU, 2), (0, True))
        self.assertEqual(f.level_that_fits("a", CPU, 3), (1, False))

    def test_share(self):
        f = self.forest({"c": 6})
        # 6 borrowed of 19 lendable: 315.78...; shown as its ceiling.
        self.assertAlmostEqual(f.share(("q", "c")).value(), 6000 / 19)
        self.assertEqual(f.share(("q", "c")).status(), 316)
        self.assertEqual(f.share(("q", "a")).status(), 0)
        self.assertEqual(f.share(("c", "r")).status(), 0)


class Cycle(unittest.TestCase):
    def test_borrowing_level_goes_before_priority(self):
        h = hub([Queue("a", "r", group(4)), Queue("b", "r", group(4))])
        h.add(job("big", "a", 6, priority=9, created=1))
        h.add(job("own", "b", 4, priority=0, created=2))
        self.assertEqual([d[1] for d in h.run_cycle(1)], ["own"])

    def test_within_queue_lowest_priority_newest_goes(self):
        h = hub([Queue("a", None, group(6), within="LowerPriority")])
        for i, n in enumerate(["x", "y", "z"]):
            h.add(job(n, "a", 2, created=i))
            h.run(i)
        h.add(job("p", "a", 2, priority=1, created=9))
        self.assertEqual(h.run(9), [("preempt", "p", [("z", "InClusterQueue")])])
        h.released("z")
        self.assertEqual([d[:2] for d in h.run(10)], [("admit", "p")])
        self.assertEqual(h.workloads["z"].state, "parked")

    def test_fill_back_spares_who_need_not_go(self):
        # 10 in use by 1 (newest first), 3, 6; 6 are asked: 1, 3, 6 go one by one, 1 and 3 stay.
        h = hub([Queue("a", None, group(10), within="LowerPriority")])
        for i, v in enumerate([6, 3, 1]):
            h.add(job("w%d" % v, "a", v, created=i))
            h.run(i)
        h.add(job("p", "a", 6, priority=1, created=9))
        self.assertEqual(h.run(9), [("preempt", "p", [("w6", "InClusterQueue")])])

    def test_reclaim_takes_from_who_borrows(self):
        h = hub([Queue("a", "r", group(4), reclaim="Any"), Queue("b", "r", group(4))])
        h.add(job("b1", "b", 4, priority=5, created=1))
        h.run(1)
        h.add(job("b2", "b", 4, priority=9, created=2))
        h.run(2)
        h.add(job("a1", "a", 4, priority=0, created=3))
        self.assertEqual(h.run(3), [("preempt", "a1", [("b1", "InCohortReclamation")])])

    def test_blocked_preemptor_holds_capacity_for_its_cycle(self):
        # a's head needs all of a but may preempt nobody; it keeps b from borrowing a's free 2.
        h = hub([Queue("a", "r", group(4), strategy="StrictFIFO"), Queue("b", "r", group(0))])
        h.add(job("a0", "a", 2, created=0))
        h.run(0)
        h.add(job("a1", "a", 4, created=1))
        h.add(job("b1", "b", 2, created=2))
        self.assertEqual(h.run(2), [])
        h.queues["a"].reclaim = "Any"
        self.assertEqual([d[1] for d in h.run(3)], ["b1"])

    def overtaking(self, options):
        # b1 holds 3 of a's 4, and a1 (2) preempts it; c1 takes the last one, and d1 fits beside
        # a1 and c1 once b1 is gone.
        h = hub([Queue("a", "r", group(4), reclaim="Any"), Queue("b", "r", group(0)),
                 Queue("c", "r", group(0)), Queue("d", "r", group(0))], options=options)
        h.add(job("b1", "b", 3, created=0))
        h.run(0)
        h.add(job("a1", "a", 2, created=1))
        h.add(job("c1", "c", 1, created=2))
        h.add(job("d1", "d", 1, created=3))
        return h, [d[:2] for d in h.run(3)]

    def test_kueue_admits_to_what_victims_of_the_cycle_still_hold(self):
        h, decided = self.overtaking(Options(freed_counts_when_gone=False))
        self.assertEqual(decided, [("preempt", "a1"), ("admit", "c1"), ("admit", "d1")])
        self.assertTrue(h.overtaken)
        self.assertEqual(h.forest().usage(("c", "r"), CPU), 5)

    def test_here_what_victims_hold_counts_until_they_are_gone(self):
        h, decided = self.overtaking(Options())
        self.assertEqual(decided, [("preempt", "a1"), ("admit", "c1")])
        self.assertFalse(h.overtaken)

    def test_an_edit_wakes_the_trees_that_it_touches(self):
        h = hub([Queue("a", "r", group(1)), Queue("b", "r", group(1)), Queue("c", None, group(1))])
        for q in "abc":
            h.add(job(q + "1", q, 3, created=1))
        h.run(1)
        self.assertEqual({w.state for w in h.workloads.values()}, {"parked"})
        h.edited(h.queues, "a", Queue("a", None, group(1)))
        self.assertEqual([h.workloads[n].state for n in ("a1", "b1", "c1")],
                         ["pending", "pending", "parked"])

    def test_partial_admission_takes_as_many_as_fit(self):
        h = hub([Queue("a", None, group(7))])
        h.add(job("p", "a", 1, count=10, minimum=2, created=1))
        self.assertEqual(h.run(1), [("admit", "p", [{"cpu": "default"}], [7])])

    def test_next_flavor_when_the_first_needs_preemption(self):
        g = [Group(["cpu"], ["x", "y"], {("x", "cpu"): Quota(4), ("y", "cpu"): Quota(4)})]
        h = hub([Queue("a", None, g, within="LowerPriority")], flavors=("x", "y"))
        h.add(job("w", "a", 4, created=1))
        h.run(1)
        h.add(job("p", "a", 4, priority=1, created=2))
        self.assertEqual(h.run(2), [("admit", "p", [{"cpu": "y"}], [1])])

    def test_fair_sharing_preempts_from_the_largest_share(self):
        fair = Options(fair_sharing=True)
        h = hub([Queue(n, "r", group(3), reclaim="Any") for n in "abc"], options=fair)
        for i in range(5):
            h.add(job("b%d" % i, "b", 1, created=10 + i))
            h.run(10 + i)
        for i in range(4):
            h.add(job("c%d" % i, "c", 1, created=20 + i))
            h.run(20 + i)
        # b borrows 2 of 9 and c 1 of 9; a's job is within its nominal 3: a reclamation from b.
        h.add(job("a0", "a", 1, created=30))
        self.assertEqual(h.run(30), [("preempt", "a0", [("b4", "InCohortReclamation")])])


class Checks(unittest.TestCase):
    def one_reserving(self, within="Never"):
        q = Queue("a", None, group(2), within=within)
        q.checks = {"budget": [], "licence": []}
        h = hub([q])
        h.add(job("old", "a", 2, created=1))
        h.run(1)
        h.add(job("new", "a", 2, created=2))
        h.run(2)
        return h, h.workloads["old"], h.workloads["new"]

    def go_round(self, h, now):
        h.released("old", now=now)
        h.look_back(now)
        return [d[:2] for d in h.run(now)]

    def test_a_reservation_is_an_admission_when_all_are_ready(self):
        h, old, _ = self.one_reserving()
        self.assertEqual((old.state, old.admitted), ("reserving", False))
        h.say("old", {"budget": ("Ready", 2, 0)}, 2)
        self.assertEqual(old.state, "reserving")
        h.say("old", {"licence": ("Ready", 3, 0)}, 3)
        self.assertEqual((old.state, old.admitted), ("admitted", True))

    def test_retry_waits_for_the_latest_and_goes_to_the_back(self):
        h, old, _ = self.one_reserving()
        # 3 + 4 = 7 and 5 + 10 = 15.
        h.say("old", {"budget": ("Retry", 3, 4), "licence": ("Retry", 5, 10)}, 6)
        self.assertEqual((old.requeue_at, old.queue_order), (15, 6))
        self.assertEqual(self.go_round(h, 6), [("admit", "new")])
        self.assertEqual((old.state, old.listed, old.checks), ("held", True, {}))
        h.look_back(14)
        self.assertEqual(old.state, "held")
        h.remove("new")
        h.look_back(15)
        self.assertEqual([d[:2] for d in h.run(15)], [("admit", "old")])
        self.assertEqual(old.queue_order, 1)

    def test_who_must_retry_stands_behind_who_came_later(self):
        h, old, _ = self.one_reserving()
        h.say("old", {"budget": ("Retry", 3, 0)}, 3)
        self.assertEqual(self.go_round(h, 3), [("admit", "new")])
        self.assertEqual([w.name for w in h.sort("a", h.workloads.values())], ["new", "old"])

    def test_a_rejection_outdoes_a_retry_and_lasts_until_it_is_active(self):
        h, old, _ = self.one_reserving()
        h.say("old", {"budget": ("Retry", 3, 5), "licence": ("Rejected", 3, 0)}, 3)
        self.assertEqual(self.go_round(h, 9), [("admit", "new")])
        self.assertEqual((old.state, old.listed, old.active), ("held", False, False))
        h.look_back(99)
        self.assertEqual(old.state, "held")
        h.activate("old")
        self.assertEqual(old.state, "pending")


class Shadows(unittest.TestCase):
    def test_who_waits_gets_his_one_after_the_other(self):
        h = hub([Queue("a", None, group(4))])
        for i, n in enumerate("xy"):
            h.add(job(n, "a", 2, created=i))
            h.run(i)
        h.add(job("p", "a", 3, created=2))
        h.add(job("q", "a", 2, created=3))
        h.run(3)
        ends = {"x": 10, "y": 20}
        # 1 of 4 would be left at 10; p ends at 25, and q fits beside it at no time before.
        self.assertEqual(shadow.cast(h, [("p", 5), ("q", None)], ends, 4),
                         [("p", 20, {CPU: 3}), ("q", 25, {CPU: 2})])
        self.assertEqual(shadow.cast(h, [("p", None), ("q", None)], ends, 4),
                         [("p", 20, {CPU: 3}), ("q", None, {})])
        # Ends that have passed count as now.
        self.assertEqual(shadow.cast(h, [("q", None)], ends, 12), [("q", 12, {CPU: 2})])

    def scene(self, queues, waits, ends, now):
        """The Waiting of p, who asks 8 of queue a."""
        h = hub(queues)
        for i, (queue, cpu) in enumerate(waits):
            h.add(job("h%d" % i, queue, cpu, created=i))
            h.run(i)
        h.add(job("p", "a", 8, created=9))
        h.run(9)
        times = shadow.cast(h, [("p", None)], ends, now)
        return h.forest(), shadow.scenes(h, [("p", None)], times, ends)[0]

    def test_who_ends_before_it_or_fits_beside_it_passes(self):
        # 4 of 10 end at 100: then 2 are left beside p.
        now, p = self.scene([Queue("a", None, group(10))], [("a", 4)], {"h0": 100}, 10)
        self.assertEqual((p.at, p.lenders()), (100, []))
        for cpu, end, says in ((2, None, "yes"), (3, None, "no"), (3, 101, "no"), (3, 100, "yes")):
            self.assertEqual(p.lets(now, "a", {CPU: cpu}, end), says)
        p.took("a", {CPU: 2}, None)
        self.assertEqual(p.lets(now.charged("a", {CPU: 2}), "a", {CPU: 1}, None), "no")

    def test_a_lender_takes_its_own_and_no_more(self):
        # a has 4, b 6: p borrows 4 of b's, who may take them; c has nothing.
        queues = [Queue("a", "r", group(4)), Queue("b", "r", group(6)), Queue("c", "r", group(0))]
        now, p = self.scene(queues, [("c", 5)], {"h0": 100}, 10)
        self.assertEqual((p.at, p.lenders()), (100, ["b"]))
        self.assertEqual(p.lets(now, "b", {CPU: 6}, None), "yes")
        self.assertEqual(p.lets(now, "b", {CPU: 7}, None), "no")
        self.assertEqual(p.lets(now, "c", {CPU: 2}, None), "yes")
        self.assertEqual(p.lets(now, "c", {CPU: 3}, None), "no")

    def test_below_a_lending_limit_the_engine_may_be_careful(self):
        # b keeps 4 of its 6 for itself: what is charged there reaches the cohort above those.
        queues = [Queue("a", "r", group(10)), Queue("b", "r", group(6, None, 2))]
        now, p = self.scene(queues, [("a", 6)], {"h0": 100}, 10)
        self.assertEqual(p.lets(now, "b", {CPU: 7}, None), "either")
        self.assertEqual(p.lets(now, "b", {CPU: 20}, None), "no")


class OnFlavors(unittest.TestCase):
    def test_a_check_is_for_who_is_assigned_one_of_its_flavors(self):
        groups = [Group(["cpu"], ["plain"], {("plain", "cpu"): Quota(9)}),
                  Group(["gpu"], ["cards"], {("cards", "gpu"): Quota(9)})]
        queue = Queue("a", None, groups)
        queue.checks = {"budget": ["cards"], "licence": []}
        h = hub([queue], flavors=("plain", "cards"))
        for name, sets in (("none", {}), ("cpu", {"cpu": 1}), ("zero", {"cpu": 1, "gpu": 0})):
            h.add(Workload(name, "a", 0, 0, [PodSet("main", 1, sets)]))
            h.run(0)
        self.assertEqual([sorted(h.workloads[n].checks) for n in ("none", "cpu", "zero")],
                         [[], ["licence"], ["budget", "licence"]])
        self.assertTrue(h.workloads["none"].admitted)


if __name__ == "__main__":
    unittest.main()
