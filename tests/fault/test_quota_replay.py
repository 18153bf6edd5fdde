#!/usr/bin/env python3
"""The replay of quota finds usage above max, in rows and in what ran."""

import unittest

from quota_replay import Tree, check_replay, check_runs_within, quantity

from muster_test import objects as make
from muster_test.story import Failure

GPU = "nvidia.com/gpu"
TREE = Tree(make.quota_tree(make.quota_node("root", {}, {GPU: "4"}, children=[
    make.quota_node("a", {}, {GPU: "3", "kube-queue/max-jobs": "2"}, ["team-a"]),
    make.quota_node("b", {}, {GPU: "3"}, ["team-b"])])))


def unit(name, phase, gpus, namespace="team-a", kind="MODIFIED", revision=7):
    return kind, {"metadata": {"namespace": namespace, "name": name + "-pytorchjob-rb-qu",
                               "resourceVersion": str(revision)},
                  "spec": {"request": {GPU: str(gpus)}}, "status": {"phase": phase}}


class Units:
    def __init__(self, *events):
        self.listed, self.events = [], list(events)


class Sim:
    def __init__(self, *runs):
        self.name, self.lines = "m0", [dict(zip(("jobUid", "start", "end"), r)) for r in runs]

    def runs(self):
        return self.lines


def job(uid, namespace="team-a", gpus=2):
    j = make.pytorch_job(uid, namespace, workers=0, gpus=gpus)
    j["metadata"]["uid"] = uid
    return j


class Replay(unittest.TestCase):
    def above(self, *events):
        with self.assertRaises(Failure) as caught:
            check_replay(TREE, Units(*events), {})
        self.assertIn("above max", str(caught.exception))

    def test_usage_at_max_is_right(self):
        check_replay(TREE, Units(unit("x", "Enqueued", 3), unit("x", "Dequeued", 3),
                                 unit("y", "Dequeued", 1, "team-b"), unit("x", "Succeed", 3),
                                 unit("z", "Running", 3), unit("z", "Running", 3, kind="DELETED"),
                                 unit("y", "Failed", 1, "team-b")), {})

    def test_a_leaf_above_its_max_is_found(self):
        self.above(unit("x", "Dequeued", 2), unit("y", "Dequeued", 2))

    def test_a_parent_above_its_max_is_found(self):
        self.above(unit("x", "Dequeued", 3), unit("y", "Running", 2, "team-b"))

    def test_too_many_jobs_are_found(self):
        self.above(*(unit(n, "Dequeued", 0) for n in "xyz"))

    def test_a_release_in_a_later_row_than_the_charge_is_found(self):
        self.above(unit("x", "Dequeued", 3), unit("y", "Dequeued", 1), unit("x", "Succeed", 3))

    def test_what_is_held_at_the_end_is_found(self):
        with self.assertRaises(Failure):
            check_replay(TREE, Units(unit("x", "Dequeued", 3), unit("y", "Running", 1, "team-b")),
                         {})

    def test_a_unit_that_asks_for_less_than_its_job_is_found(self):
        with self.assertRaises(Failure):
            check_replay(TREE, Units(unit("x", "Dequeued", 1)), {("team-a", "x"): job("x")})

    def test_pods_that_ran_at_once_are_summed(self):
        jobs = [job("x"), job("y")]
        check_runs_within(TREE, [Sim(("x", 0, 10)), Sim(("y", 10, 20))], jobs)
        with self.assertRaises(Failure):
            check_runs_within(TREE, [Sim(("x", 0, 10)), Sim(("y", 9, 20))], jobs)

    def test_quantities(self):
        self.assertEqual([quantity(q) * 1000 for q in ("2", "1500m", "1Ki", "2k")],
                         [2000, 1500, 1024000, 2000000])


if __name__ == "__main__":
    unittest.main()
