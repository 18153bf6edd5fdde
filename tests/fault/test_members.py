#!/usr/bin/env python3
"""Members that are killed, that hang, and whose connections are cut in the middle of a request."""

import threading
import time

from load import Submitter, check_acknowledged_jobs, random_jobs
from stories import (FaultFleet, all_succeed, check_no_leftovers, check_quota, check_runs,
                     parameter, quota, seeded)

from muster_test import check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.story import slowness
from muster_test.watch import condition, is_true, key_of

JOBS = parameter("JOBS", 200)
KILLS = parameter("MEMBER_KILLS", 50)
SAMPLES = parameter("SAMPLES", 30)


def story_killed_member(fleet):
    """A member is killed and comes back, again and again: every job still runs exactly once"""
    random = seeded("sizes and moments")
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=4)]) for i in range(3)]
    fleet.join(*sims)
    tree = quota(fleet.client, 24, jobs=6)
    jobs, units, *_ = [fleet.watch(p) for p in (
        "pytorchjobs", "queueunits", "resourcebindings", "clusters", "events")]
    for sim in sims:
        fleet.watch("pytorchjobs", client=sim.client, name="pytorchjobs of " + sim.name)
    wanted = random_jobs(random, JOBS, longest=800)
    submitters = [Submitter(fleet.client, wanted[i::2], KILLS * 0.8 / JOBS) for i in range(2)]
    for s in submitters:
        s.start()
    moment = threading.Event()
    for _ in range(KILLS):
        moment.wait(random.uniform(0, 0.4))
        sim = random.choice(sims)
        sim.kill()
        moment.wait(random.choice([0, 0, random.uniform(0, 0.5)]))
        sim.start()
    check(True, f"{KILLS} kills of members")
    for s in submitters:
        s.finish()
    check_acknowledged_jobs(fleet.client, submitters, JOBS)
    final = all_succeed(jobs, JOBS)
    check_runs(sims, final)
    check_quota(units, final, tree, sims)
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


def percentiles(samples):
    ordered = sorted(samples)
    return "p50 {:.0f} ms, p99 {:.0f} ms".format(*(
        ordered[min(len(ordered) - 1, len(ordered) * p // 100)] * 1000 for p in (50, 99)))


def check_not_slower(before, samples, when):
    """All but a few are no slower than twice what was seen before: one blocking call to the hung
    member would cost each of them seconds."""
    bound = 2 * max(before) + 0.1 * min(slowness(), 10)
    slow = [s for s in samples if s > bound]
    check(len(slow) <= len(samples) // 15,
          f"{when}: {percentiles(samples)}; {len(slow)} of {len(samples)} took longer than "
          f"{bound * 1000:.0f} ms", sorted(before), sorted(samples))


def policy_for(name, clusters):
    p = make.policy(name, queue=False, clusterAffinity={"clusterNames": clusters})
    p["spec"]["resourceSelectors"][0]["labelSelector"] = {"matchLabels": {"to": name}}
    return p


def story_hung_member(fleet):
    """A member hangs (accepts, never answers): the others' latencies do not move"""
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [make.node("gpu", count=2)]) for i in range(3)]
    proxy = fleet.put_proxy(sims[0])
    fleet.join(*sims)
    fleet.client.create(policy_for("healthy", ["m1", "m2"]), policy_for("sick", ["m0"]))
    jobs, clusters = fleet.watch("pytorchjobs"), fleet.watch("clusters")
    latencies(fleet, jobs, "warm", 5)
    before = latencies(fleet, jobs, "before", SAMPLES)
    check(True, f"before: {percentiles(before)} from a request to Running, one job at a time")
    running = make.pytorch_job("there", workers=1, duration="3s", labels={"to": "sick"})
    doomed = make.pytorch_job("doomed", workers=1, duration="60s", labels={"to": "sick"})
    fleet.client.create(running, doomed)
    for name in ("there", "doomed"):
        jobs.await_object(name, "runs", lambda o: is_true(o, "Running"))
    proxy.tell("hang")
    # Orders of every sort wait for its answer: creations, and a deletion.
    fleet.client.delete("pytorchjobs", "doomed")
    fleet.client.create(*(make.pytorch_job(f"stuck-{i}", workers=1, duration="100ms",
                                           labels={"to": "sick"}) for i in range(10)))
    check_not_slower(before, latencies(fleet, jobs, "hung", SAMPLES), "while m0 hangs")
    clusters.await_object("m0", "not Ready", lambda o: not is_true(o, "Ready"), namespace="")
    check(True, "its Cluster says that it is not Ready: " +
          condition(clusters.objects["", "m0"], "Ready")["message"])
    check_not_slower(before, latencies(fleet, jobs, "later", SAMPLES),
                     "once it is known to be gone")
    check(fleet.client.find("pytorchjobs", "doomed") is not None,
          "a job there that was deleted stays until its copy is proven gone")
    proxy.tell("pass")
    jobs.await_gone("doomed")
    check_runs(sims, all_succeed(jobs, 5 + 3 * SAMPLES + 11), local=1)  # the doomed one
    check_no_leftovers(fleet, sims, with_quota=False)


# A create is about 2,500 bytes behind 300 of TLS; its answer is a little more. Some of the cuts
# hit before, some behind it: handshakes, the PATCH that starts the copy, events of a watch.
CUTS = (1, 40, 150, 400, 700, 1100, 1500, 1900, 2300, 2700, 3500, 5000)


def requests(sim, verb, code):
    """How many the member has answered so."""
    return sum(v for k, v in sim.client.metrics().items() if
               k.startswith("apiserver_request_total{") and f'verb="{verb}"' in k
               and f'code="{code}' in k)


def story_cut_connections(fleet):
    """Connections are cut in the middle of a create and of its answer: no job runs twice"""
    fleet.start_hub()
    sim = fleet.start_sim("m0", [make.node("gpu", count=4)])
    proxy = fleet.put_proxy(sim)
    fleet.join(sim)
    jobs = fleet.watch("pytorchjobs")
    for plural in ("resourcebindings", "events"):
        fleet.watch(plural)
    found, absent, n = requests(sim, "GET", "200"), requests(sim, "GET", "404"), 0
    for side in ("client", "server"):
        for at in CUTS:
            proxy.tell(f"cut {side} {at}")
            name = f"{side}-{at}"
            fleet.client.create(make.pytorch_job(name, workers=1, duration="50ms"))
            jobs.await_object(name, "succeeds", lambda o: is_true(o, "Succeeded"))
            n += 1
    done = int(proxy.tell("stats").split()[-1])
    check(done > n // 2, f"{done} connections were cut under {n} jobs")
    found, absent = requests(sim, "GET", "200") - found, requests(sim, "GET", "404") - absent
    check(absent > 0 and found > 0, f"what became of a cut call was asked: {absent:.0f} times it had "
          f"not arrived, {found:.0f} times it had")
    check(requests(sim, "POST", "201") == n, "the member created each job once",
          requests(sim, "POST", "201"))
    check_runs([sim], all_succeed(jobs, n))
    check_no_leftovers(fleet, [sim], with_quota=False)


if __name__ == "__main__":
    main(globals(), FaultFleet)
