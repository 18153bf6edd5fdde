#!/usr/bin/env python3
"""Members that are killed, that hang, and whose connections are cut in the middle of a request."""

import statistics
import threading
import time

from stories import check_no_leftovers, check_quota, check_runs, over, parameter, quota, seeded

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.validators import validate
from muster_test.watch import condition, is_true, key_of

JOBS = parameter("JOBS", 100)
KILLS = parameter("KILLS", 12)
SAMPLES = parameter("SAMPLES", 30)


def hub_watches(fleet):
    return [fleet.watch(p) for p in ("pytorchjobs", "queueunits", "resourcebindings")]


def all_succeed(jobs, n, deadline=120):
    jobs.await_state(f"{n} jobs are over", lambda objects: len(objects) == n and
                     all(map(over, objects.values())), deadline)
    failed = [o["metadata"]["name"] for o in jobs.objects.values() if not is_true(o, "Succeeded")]
    check(not failed, f"all {n} jobs succeeded", failed)
    return list(jobs.objects.values())


def story_killed_member(fleet):
    """A member is killed and comes back, again and again: every job still runs exactly once"""
    random = seeded("sizes and moments")
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=2)]) for i in range(3)]
    fleet.join(*sims)
    limits = quota(fleet.client, 24)
    watches = hub_watches(fleet)
    jobs, units = watches[0], watches[1]

    def submit():
        for i in range(JOBS):
            fleet.client.create(make.pytorch_job(
                f"job-{i:03d}", f"team-{'ab'[i % 2]}", workers=random.randrange(4),
                duration=f"{random.randrange(200, 1500)}ms"))
            gap.wait(KILLS * 0.5 / JOBS)
    gap = threading.Event()
    submitter = threading.Thread(target=submit, daemon=True)
    submitter.start()
    moment = threading.Event()
    for _ in range(KILLS):
        moment.wait(random.uniform(0.05, 0.6))
        sim = random.choice(sims)
        sim.kill()
        moment.wait(random.uniform(0, 0.4))
        sim.start()
    submitter.join(120)
    check(not submitter.is_alive(), f"{KILLS} kills of members, {JOBS} jobs submitted meanwhile")
    final = all_succeed(jobs, JOBS)
    check_runs(sims, final)
    check_quota(units.events, units.listed, {key_of(o): o for o in final}, limits)
    validate(fleet.client, watches)
    check_no_leftovers(fleet, sims)


def latencies(fleet, jobs, name, n):
    """Seconds from the request to Running as a watch of the hub tells it, one job after the
    other, on the members m1 and m2."""
    out = []
    for i in range(n):
        job = make.pytorch_job(f"{name}-{i}", workers=0, gpus=0, duration="50ms",
                               labels={"to": "healthy"})
        start = len(jobs.events)
        began = time.monotonic()
        fleet.client.create(job)
        wanted = ("default", f"{name}-{i}")
        seen = jobs.await_event("it runs", lambda kind, o: key_of(o) == wanted and
                                condition(o, "Running"), start=start)
        at = next(t for t, (_, o) in zip(jobs.times[start:], jobs.events[start:]) if o is seen)
        out.append(at - began)
    return out


def story_hung_member(fleet):
    """A member hangs (accepts, never answers): the others' latencies do not move"""
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=2)]) for i in range(3)]
    proxy = fleet.put_proxy(sims[0])
    fleet.join(*sims)
    healthy = make.policy("healthy", queue=False, clusterAffinity={"clusterNames": ["m1", "m2"]})
    healthy["spec"]["resourceSelectors"][0]["labelSelector"] = {"matchLabels": {"to": "healthy"}}
    sick = make.policy("sick", queue=False, clusterAffinity={"clusterNames": ["m0"]})
    sick["spec"]["resourceSelectors"][0]["labelSelector"] = {"matchLabels": {"to": "sick"}}
    fleet.client.create(healthy, sick)
    jobs = fleet.watch("pytorchjobs")
    latencies(fleet, jobs, "warm", 5)
    before = latencies(fleet, jobs, "before", SAMPLES)
    fleet.client.create(make.pytorch_job("there", workers=1, duration="3s",
                                         labels={"to": "sick"}))
    jobs.await_object("there", "runs", lambda o: is_true(o, "Running"))
    proxy.tell("hang")
    stuck = [make.pytorch_job(f"stuck-{i}", workers=1, duration="100ms", labels={"to": "sick"})
             for i in range(10)]
    fleet.client.create(*stuck)
    hung = latencies(fleet, jobs, "hung", SAMPLES)
    a, b = (statistics.median(x) * 1000 for x in (before, hung))
    # Twice the noise of a busy machine; one blocking call would cost seconds.
    check(b < a * 1.5 + 20, f"median {a:.1f} ms before, {b:.1f} ms while m0 hangs", before, hung)
    check(max(hung) < 2 * max(before) + 0.5, f"slowest {max(before) * 1000:.0f} ms before, "
          f"{max(hung) * 1000:.0f} ms while it hangs")
    clusters = fleet.watch("clusters")
    clusters.await_object("m0", "not Ready", lambda o: not is_true(o, "Ready"), namespace="")
    check(True, "its Cluster says that it is not Ready: " +
          condition(clusters.objects["", "m0"], "Ready")["message"])
    hung = latencies(fleet, jobs, "later", SAMPLES)
    check(statistics.median(hung) * 1000 < a * 1.5 + 20,
          f"median {statistics.median(hung) * 1000:.1f} ms once it is known to be gone")
    proxy.tell("pass")
    final = all_succeed(jobs, 5 + 3 * SAMPLES + 11)
    check_runs(sims, final)


def story_cut_connections(fleet):
    """Connections are cut in the middle of requests and of answers: no job runs twice"""
    fleet.start_hub()
    sim = fleet.start_sim("m0", [make.node("gpu", count=4)])
    proxy = fleet.put_proxy(sim)
    fleet.join(sim)
    watches = hub_watches(fleet)
    jobs = watches[0]
    cuts = 0
    for side in ("client", "server"):
        for n in (1, 40, 150, 400, 900, 1500, 2100, 2700, 3500):
            for i in range(3):  # one of three is the create
                proxy.tell(f"cut {side} {n + 700 * i}")
                name = f"{side}-{n}-{i}"
                fleet.client.create(make.pytorch_job(name, workers=1, duration="50ms"))
                jobs.await_object(name, "succeeds", lambda o: is_true(o, "Succeeded"))
                cuts += 1
    done = int(proxy.tell("stats").split()[-1])
    check(done > cuts // 2, f"{done} connections were cut under {cuts} jobs")
    check_runs([sim], all_succeed(jobs, cuts))
    validate(fleet.client, watches)


if __name__ == "__main__":
    main(globals(), Fleet)
