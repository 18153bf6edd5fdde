#!/usr/bin/env python3
"""The hub is killed at random moments, again and again, while jobs are submitted and run."""

import threading
import time

from stories import (check_no_leftovers, check_quota, check_runs, over, parameter, quota,
                     seeded)

from muster_test import Fleet, StatusError, check, main
from muster_test import objects as make
from muster_test.client import Unreachable
from muster_test.validators import validate
from muster_test.watch import key_of

JOBS = parameter("JOBS", 200)
KILLS = parameter("KILLS", 50)


class Submitter(threading.Thread):
    """Creates jobs one after the other; what the hub does not answer is asked again until it is
    created or was created before. Remembers what was acknowledged."""

    def __init__(self, client, jobs, seconds):
        super().__init__(daemon=True)
        self.client, self.jobs = client, jobs
        self.gap, self.pause = seconds / len(jobs), threading.Event()
        self.acknowledged, self.error, self.retries = {}, None, 0

    def run(self):
        try:
            for job in self.jobs:
                self.submit(job)
                self.pause.wait(self.gap)
        except Exception as error:
            self.error = error

    def submit(self, job):
        while True:
            try:
                o = self.client.create(job)
                self.acknowledged[key_of(o)] = o
                return
            except Unreachable:
                self.retries += 1
                self.pause.wait(0.02)
            except StatusError as error:
                if error.code == 409:  # the lost answer was a yes
                    return
                if error.code not in (429, 500, 503, 504):
                    raise
                self.pause.wait(0.05)


def story_killed_hub(fleet):
    """Jobs on 3 members under a loop of kill -9 of the hub: nothing lost, nothing twice"""
    random = seeded("sizes and moments")
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=4)]) for i in range(3)]
    fleet.join(*sims)
    limits = quota(fleet.client, 15)
    first = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("first", "team-a", gpus=0))
    first.await_object("first", "is over", over, "team-a")
    watches = [fleet.watch(plural, name=plural) for plural in
               ("pytorchjobs", "queueunits", "resourcebindings", "events")]
    jobs, units = watches[0], watches[1]
    watches += [fleet.watch("pytorchjobs", namespace="team-a", name="jobs of team-a"),
                fleet.watch("pytorchjobs", labelSelector="colour=red", name="red jobs")]
    listed = list(units.listed)

    wanted = [make.pytorch_job(f"job-{i:03d}", f"team-{'ab'[i % 2]}", workers=random.randrange(4),
                               duration=f"{random.randrange(100, 1500)}ms",
                               labels={"colour": random.choice(["red", "blue"])})
              for i in range(JOBS)]
    submitters = [Submitter(fleet.client, wanted[i::4], KILLS * 0.4) for i in range(4)]
    for s in submitters:
        s.start()
    began = time.monotonic()
    moment = threading.Event()
    for _ in range(KILLS):
        moment.wait(random.uniform(0.01, 0.6))
        fleet.hub.kill()
        fleet.restart_hub()
    check(True, f"{KILLS} kills in {time.monotonic() - began:.0f} s")
    for s in submitters:
        s.join(120)
        if s.error:
            raise s.error
    acknowledged = {k: o for s in submitters for k, o in s.acknowledged.items()}
    check(len(acknowledged) > JOBS // 2, f"{len(acknowledged)} of {JOBS} creations were "
          f"acknowledged, {sum(s.retries for s in submitters)} calls were cut")

    stored = {key_of(o): o for o in fleet.client.items("pytorchjobs")}
    lost = [k for k, o in acknowledged.items() if k not in stored or
            stored[k]["metadata"]["uid"] != o["metadata"]["uid"]]
    check(not lost, "no acknowledged job is lost", lost)
    jobs.await_state("all jobs are over", lambda objects: len(objects) == JOBS + 1 and
                     all(map(over, objects.values())), deadline=240)
    final = fleet.client.items("pytorchjobs")
    failed = [o["metadata"]["name"] for o in final if o["status"]["conditions"][-1]["type"] !=
              "Succeeded"]
    check(not failed, f"all {JOBS} jobs succeeded", failed)
    check_runs(sims, final)
    units.await_state("every unit is over", lambda objects: not any(
        o["status"]["phase"] in ("Dequeued", "Running") for o in objects.values()))
    check_quota(units.events, listed, {key_of(o): o for o in final}, limits)
    validate(fleet.client, watches)
    check_no_leftovers(fleet, sims)


if __name__ == "__main__":
    main(globals(), Fleet)
