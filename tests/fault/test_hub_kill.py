#!/usr/bin/env python3
"""The hub is killed at random moments, again and again, while jobs are submitted and run."""

import threading
import time

from load import Keeper, Submitter, check_acknowledged_jobs, random_jobs, stop_keepers
from stories import (FaultFleet, all_succeed, check_no_leftovers, check_quota, check_runs, over,
                     parameter, quota, seeded)

from muster_test import check, main
from muster_test import objects as make

JOBS = parameter("JOBS", 200)
KILLS = parameter("KILLS", 50)
WHILE_STARTING = 0.2  # of the kills


def kill_and_start(fleet, random, moment):
    """Kills it at a random moment of its life, which may be while it starts."""
    fleet.hub.kill()
    while random.random() < WHILE_STARTING:
        fleet.hub.launch()
        moment.wait(random.uniform(0, 0.4))
        fleet.hub.kill()
    fleet.restart_hub()


def story_killed_hub(fleet):
    """Jobs on 3 members under a loop of kill -9 of the hub: nothing lost, nothing twice"""
    random = seeded("sizes and moments")
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=4)]) for i in range(3)]
    fleet.join(*sims)
    tree = quota(fleet.client, 15)
    first = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("first", "team-a", gpus=0))
    first.await_object("first", "is over", over, "team-a")
    jobs, units, *_ = [fleet.watch(plural, name=plural) for plural in (
        "pytorchjobs", "queueunits", "resourcebindings", "events", "clusters", "configmaps")]
    fleet.watch("pytorchjobs", namespace="team-a", name="jobs of team-a")
    fleet.watch("pytorchjobs", labelSelector="colour=red", name="red jobs")
    lists = [s.lists() for s in sims]

    wanted = random_jobs(random, JOBS)
    submitters = [Submitter(fleet.client, wanted[i::4], KILLS * 1.6 / JOBS) for i in range(4)]
    keepers = [Keeper(fleet.client, f"keeper-{i}", random.random()) for i in range(2)]
    for load in (*submitters, *keepers):
        load.start()
    began, moment = time.monotonic(), threading.Event()
    while fleet.hub.starts <= KILLS:
        moment.wait(random.uniform(0, 0.6))
        kill_and_start(fleet, random, moment)
    check(True, f"{fleet.hub.starts - 1} kills in {time.monotonic() - began:.0f} s")
    for s in submitters:
        s.finish()
    stop_keepers(fleet.client, keepers)

    check_acknowledged_jobs(fleet.client, submitters, JOBS)
    final = all_succeed(jobs, JOBS + 1)
    check_runs(sims, final)
    check_quota(units, final, tree, sims)
    check([s.lists() for s in sims] == lists, "no member saw a LIST after any of the restarts",
          lists, [s.lists() for s in sims])
    check_no_leftovers(fleet, sims)


if __name__ == "__main__":
    main(globals(), FaultFleet)
