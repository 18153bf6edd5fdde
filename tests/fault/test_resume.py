#!/usr/bin/env python3
"""Streams go on where they were when the hub comes back: clients' watches from it, and its own from
the members."""

import threading

from stories import FaultFleet, check_runs, over

from muster_test import Watch, check, main
from muster_test import objects as make


def run_some(fleet, jobs, name, n=5):
    for i in range(n):
        fleet.client.create(make.pytorch_job(f"{name}-{i}", duration="200ms",
                                             labels={"odd": str(i % 2)}))
    for i in range(n):
        jobs.await_object(f"{name}-{i}", "is over", over)


def story_watches_resume(fleet):
    """Watches resume over restarts without 410, gap or repeat; members see no LIST"""
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=2)]) for i in range(3)]
    fleet.join(*sims)
    jobs = fleet.watch("pytorchjobs")
    run_some(fleet, jobs, "first")
    watches = [fleet.watch(p) for p in ("pytorchjobs", "resourcebindings", "events", "clusters",
                                        "pods", "nodes")]
    watches += [fleet.watch("pytorchjobs", labelSelector="odd=1", name="odd jobs"),
                fleet.watch("pytorchjobs", fieldSelector="metadata.name=stop-1", name="one job"),
                fleet.watch("pytorchjobs", namespace="default", name="jobs of default")]
    lists = [s.lists() for s in sims]
    check(all(lists), "each member was listed when it joined", lists)
    for how in ("stop", "kill", "stop", "kill"):
        name = f"{how}-{fleet.hub.starts}" if fleet.hub.starts > 2 else how
        # Jobs are on their way when it goes down, and members have news while it is down.
        for i in range(3):
            fleet.client.create(make.pytorch_job(f"{name}-busy-{i}", duration="700ms"))
        sessions = [len(w.sessions) for w in watches]
        getattr(fleet.hub, how)()
        sims[0].client.create(make.batch_job(name + "-meanwhile", gpus=0, duration="50ms"))
        fleet.restart_hub()
        run_some(fleet, jobs, name)
        for i in range(3):
            jobs.await_object(f"{name}-busy-{i}", "is over", over)
        for w in watches:
            w.await_resumed(sessions[watches.index(w)])
        check(True, f"after {how} and start every watch resumed by its revision, and jobs went on")
    check([s.lists() for s in sims] == lists, "no member saw a LIST since the first start",
          lists, [s.lists() for s in sims])
    check_runs(sims, list(jobs.objects.values()), local=4)


def story_slow_and_late_watches(fleet):
    """A watch that begins far in the past hears everything, in order, while more happens"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("m0", [make.node("gpu", count=2)]))
    jobs = fleet.watch("pytorchjobs")
    run_some(fleet, jobs, "first", 8)
    late, begin = [], int(jobs.first)

    def follow():
        for _ in range(8):
            late.append(Watch.after(fleet.client, "pytorchjobs", begin, jobs.listed))
    follower = threading.Thread(target=follow)
    follower.start()
    run_some(fleet, jobs, "second", 8)
    follower.join()
    fleet.watches += late
    fleet.hub.kill()
    fleet.restart_hub()
    run_some(fleet, jobs, "third", 4)


if __name__ == "__main__":
    main(globals(), FaultFleet)
