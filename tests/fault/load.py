"""Load that fault stories put on a hub, remembering what was acknowledged: the hub may be killed
under it at any moment."""

import random as randomness
import threading
import time

from muster_test import StatusError, check
from muster_test import objects as make
from muster_test.client import Unreachable, url_of
from muster_test.watch import key_of

PAUSE = 0.02


class Load(threading.Thread):
    """One client's calls, one after the other. A call without an answer is Unreachable: whether it
    took effect is unknown."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.client, self.pause = client, threading.Event()
        self.error, self.cut = None, 0

    def run(self):
        try:
            self.work()
        except Exception as error:  # told by finish()
            self.error = error

    def again(self, call):
        """Its answer, however often it must be asked; and whether an earlier try may have been
        heard."""
        unsure = False
        while True:
            try:
                return call(), unsure
            except Unreachable:
                unsure = True
                self.cut += 1
            except StatusError as error:
                if error.code not in (429, 500, 503, 504, 507):
                    error.unsure = unsure
                    raise
                unsure = unsure or error.code in (500, 504)
            self.pause.wait(PAUSE)

    def finish(self, deadline=120):
        self.join(deadline)
        if self.error:
            raise self.error
        check(not self.is_alive(), f"{type(self).__name__} is through; {self.cut} calls were cut")


class Submitter(Load):
    """Creates jobs, one every `gap` seconds."""

    def __init__(self, client, jobs, gap):
        super().__init__(client)
        self.jobs, self.gap = jobs, gap
        self.acknowledged = {}  # key -> object

    def work(self):
        for job in self.jobs:
            try:
                o, _ = self.again(lambda: self.client.create(job))
                self.acknowledged[key_of(o)] = o
            except StatusError as error:
                if error.code != 409 or not error.unsure:  # else the lost answer was a yes
                    raise
            self.pause.wait(self.gap)


def check_acknowledged_jobs(client, submitters, wanted):
    """No job whose creation was acknowledged is lost or was made anew."""
    acknowledged = {k: o for s in submitters for k, o in s.acknowledged.items()}
    stored = {key_of(o): o for o in client.items("pytorchjobs")}
    lost = [k for k, o in acknowledged.items() if k not in stored or
            stored[k]["metadata"]["uid"] != o["metadata"]["uid"]]
    check(len(acknowledged) > wanted // 2 and not lost,
          f"{len(acknowledged)} of {wanted} creations were acknowledged, and none is lost", lost)


class Keeper(Load):
    """Creates, changes and deletes ConfigMaps until it is stopped, and knows what each must look
    like: the last acknowledged value, or that of the one call behind it whose answer was lost."""

    def __init__(self, client, name, seed, objects=12, bytes_each=200, gap=0.01):
        super().__init__(client)
        self.prefix, self.random = name, randomness.Random(seed)
        self.names = [f"{name}-{i}" for i in range(objects)]
        self.bytes_each, self.gap = bytes_each, gap
        self.may_be = {n: {None} for n in self.names}  # None: not there
        self.acknowledged, self.refused, self.n, self.stopped = 0, 0, 0, False
        self.last_acknowledged = 0, None  # when that call began, and what it was about

    def work(self):
        while not self.stopped:
            self.step(self.random.choice(self.names))
            self.pause.wait(self.gap)

    def step(self, name):
        known = self.may_be[name]
        self.n += 1
        value = f"{self.n}-" + "x" * self.random.randrange(self.bytes_each)
        path = url_of("configmaps", "default", name)
        absent = None in known and len(known) == 1
        if not absent and self.random.random() < 0.15:
            value = None
        self.may_be[name] = {*known, value}
        began = time.monotonic()
        try:
            if absent:
                self.client.create(config_map(name, value))
            elif value is None:
                self.client.delete("configmaps", name)
            else:
                self.client.patch("configmaps", name, {"data": {"x": value}})
        except Unreachable:
            self.cut += 1
            self.settle(name)
        except StatusError as error:
            if error.code in (400, 404, 409, 422):
                raise  # something that was acknowledged is not there
            self.refused += 1
            if error.code in (429, 503, 507):
                self.may_be[name] = known  # these say that nothing was done
            self.settle(name)
        else:
            self.may_be[name] = {value}
            self.acknowledged += 1
            self.last_acknowledged = began, name

    def settle(self, name):
        """Asks what became of it: it must be one of what it may be."""
        while not self.stopped:
            o, _ = self.again(lambda: self.client.find("configmaps", name))
            self.check_one(name, o)
            self.may_be[name] = {value_of(o)}
            return

    def check_one(self, name, o):
        if value_of(o) not in self.may_be[name]:
            check(False, f"{name} is what was acknowledged", brief(value_of(o)),
                  list(map(brief, self.may_be[name])))

    def stop(self):
        self.stopped = True
        self.finish()

    def check(self, client):
        for name in self.names:
            self.check_one(name, client.find("configmaps", name))


def config_map(name, value):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "default", "labels": {"keeper": "yes"}}, "data": {"x": value}}


def value_of(o):
    return o["data"]["x"] if o else None


def brief(value):
    return value and value[:20]


def stop_keepers(client, keepers):
    for k in keepers:
        k.stop()
    for k in keepers:
        k.check(client)
    check(sum(k.acknowledged for k in keepers) > 0,
          f"{sum(k.acknowledged for k in keepers)} acknowledged creations, changes and deletions "
          "of other objects are all there")


def random_jobs(random, n, longest=1500):
    return [make.pytorch_job(f"job-{i:03d}", f"team-{'ab'[i % 2]}", workers=random.randrange(4),
                             duration=f"{random.randrange(100, longest)}ms",
                             labels={"colour": random.choice(["red", "blue"])})
            for i in range(n)]
