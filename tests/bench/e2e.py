#!/usr/bin/env python3
"""The whole way: kubectl's own requests to a real hub over TLS, and simulated members behind it.

Prints one JSON row per figure. Submit times are taken before the request is sent, start times
when a watch on the member shows the copy unsuspended; both clocks are this process's.
"""

import json
import os
import shutil
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from muster_test import objects  # noqa: E402
from muster_test.client import Client, url_of  # noqa: E402
from muster_test.programs import Fleet  # noqa: E402

failed = False


def row(metric, value, unit, target=0, at_most=True, floor=0):
    global failed
    ok = not target or (value <= target if at_most else value >= target)
    failed = failed or not ok
    print(json.dumps({"name": "e2e", "metric": metric, "value": value, "unit": unit, "floor": floor,
                      "target": target, "ok": ok}), flush=True)


class Starts:
    """When each job was first seen unsuspended on any member."""

    def __init__(self, sims):
        self.at, self.changed = {}, threading.Condition()
        for sim in sims:
            opened = threading.Event()
            threading.Thread(target=self.read, args=(sim, opened), daemon=True).start()
            opened.wait(20)

    def read(self, sim, opened):
        connection = Client(sim.kubeconfig).connect(timeout=600)
        connection.request("GET", url_of("pytorchjobs") + "?watch=true")
        answer = connection.getresponse()
        opened.set()
        while line := answer.readline():
            event = json.loads(line)
            job = event["object"]
            if event["type"] == "DELETED" or job["spec"].get("runPolicy", {}).get("suspend"):
                continue
            with self.changed:
                self.at.setdefault(job["metadata"]["name"], time.perf_counter())
                self.changed.notify_all()

    def wait(self, names, deadline):
        with self.changed:
            return self.changed.wait_for(lambda: all(n in self.at for n in names), deadline)


def submit(client, names, gap):
    sent = {}
    for name in names:
        sent[name] = time.perf_counter()
        client.create(objects.pytorch_job(name, workers=0, gpus=0, duration="0.1s"))
        if gap:
            time.sleep(gap)  # an idle hub is what is measured: the pace is the scenario
    return sent


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p))]


def rest(directory):
    fleet = Fleet(os.path.join(directory, "rest"))
    hub = fleet.start_hub()
    row("resident_after_start", hub.resident()[0] / 1048576, "MiB", 20)
    fleet.close()


def latency(directory):
    fleet = Fleet(os.path.join(directory, "latency"))
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [objects.node("n", count=8)]) for i in range(3)]
    fleet.join(*sims)
    starts = Starts(sims)
    names = [f"job-{i}" for i in range(200)]
    sent = submit(fleet.client, names, 0.02)
    if not starts.wait(names, 60):
        raise SystemExit("not every job started")
    waits = [(starts.at[n] - sent[n]) * 1000 for n in names]
    row("submit_to_unsuspended_p50", percentile(waits, 0.5), "ms", 10)
    row("submit_to_unsuspended_p99", percentile(waits, 0.99), "ms", 50)
    fleet.close()


def burst(directory):
    fleet = Fleet(os.path.join(directory, "burst"))
    fleet.start_hub()
    sims = [fleet.start_sim(f"m{i}", [objects.node("n", count=16)]) for i in range(10)]
    fleet.join(*sims)
    starts = Starts(sims)
    names = [f"job-{i}" for i in range(1000)]
    began = time.perf_counter()
    parts = [names[i::8] for i in range(8)]
    threads = [threading.Thread(target=submit, args=(Client(fleet.hub.kubeconfig), p, 0))
               for p in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    row("burst_1000_submitted", time.perf_counter() - began, "s")
    if not starts.wait(names, 60):
        raise SystemExit("not every job started")
    row("burst_1000_started_on_10_members", max(starts.at.values()) - began, "s", 3)
    fleet.close()


def main():
    directory = tempfile.mkdtemp(prefix="muster-bench-")
    try:
        for scenario in (rest, latency, burst):
            scenario(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
