#!/usr/bin/env python3
"""No room: a full map and a full disk. Reads go on, writes get 507, and writing works again without
a restart once there is room."""

import concurrent.futures
import errno
import os
import subprocess

from load import Keeper, stop_keepers
from stories import FaultFleet, check_runs, over

from muster_test import Client, StatusError, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.programs import Hub, Program
from muster_test.story import Skip
from muster_test.watch import is_true


def config_map(name, kilobytes=100):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": name, "namespace": "default"}, "data": {"x": os.urandom(512 * kilobytes).hex()}}


def fill(fleet, most, kilobytes):
    """Creates objects until the hub refuses; their names and the refusal."""
    names = []
    for i in range(most):
        try:
            fleet.client.create(config_map(f"filler-{i}", kilobytes))
            names.append(f"filler-{i}")
        except StatusError as error:
            return names, error
    raise AssertionError(f"never full after {most} objects")


def reads_go_on(fleet, names):
    check(fleet.client.find("configmaps", names[0]) is not None, "a GET goes on")
    check(len(fleet.client.items("configmaps", "default")) >= len(names), "a LIST goes on")


def refuses_with_status(error):
    s = error.status
    check(error.code == 507 and s.get("kind") == "Status" and s.get("code") == 507 and
          s.get("message") and "/" not in s["message"], f"a write gets 507: {s.get('message')}", error.code, error.body)


def concurrent_reads(fleet, n):
    """More of them at a time than before, so that their snapshots take new slots."""
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: fleet.client.items("configmaps"), range(n)))
    check(True, f"{n} reads at a time are answered")


def accepts(fleet, name):
    try:
        fleet.client.create(config_map(name))
        return True
    except StatusError as error:
        if error.code != 507:
            raise
        return False


def story_full_map(fleet):
    """The store's map is full; deleting objects makes room"""
    fleet.start_hub(config={"store": {"mapSize": "16Mi"}})
    fleet.trimmed = True  # a full store gives up its log first
    fleet.watch("configmaps")
    fleet.watch("configmaps", labelSelector="keeper=yes", name="kept")
    keeper = Keeper(fleet.client, "keeper", 1, gap=0)
    keeper.start()
    # The oldest rows of the log are small: dropping a few of them gives no room.
    until("its log is long", lambda: keeper.acknowledged >= 1500)
    names, error = fill(fleet, 400, 100)
    refuses_with_status(error)
    reads_go_on(fleet, names)
    pid = fleet.hub.process.pid
    for name in names[: len(names) * 3 // 4]:
        fleet.client.delete("configmaps", name)
    check(True, "deletions are still taken")
    until("a write is taken again", lambda: accepts(fleet, "later"), pause=0.2)
    check(fleet.hub.process.pid == pid and fleet.hub.alive(), "writes work again, without a restart")
    fleet.hub.kill()
    fleet.restart_hub()
    stop_keepers(fleet.client, [keeper])
    check(keeper.refused > 0, f"{keeper.refused} of its calls were refused, and had no effect")
    left = {o["metadata"]["name"] for o in fleet.client.items("configmaps", "default")
            if o["metadata"]["name"] not in keeper.names}
    check({"later", *names[len(names) * 3 // 4:]} <= left and
          not left & set(names[: len(names) * 3 // 4]), "a restart finds what was acknowledged",
          sorted(left))


class Disk(Program):
    """A small disk of its own: a mount that only a process that it holds, and those put under it,
    can see."""

    def __init__(self, directory, path, megabytes):
        mount = f"mount -t tmpfs -o size={megabytes}m,mode=0700 tmpfs {path}"
        probe = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True)
        if probe.returncode:
            raise Skip("no private mounts here: " + probe.stderr.decode().strip())
        super().__init__("disk", directory, [
            "unshare", "--mount", "sh", "-c",
            f"{mount} && echo ready && trap 'exit 0' TERM && while read -r line; do :; done"])
        self.path = path

    def put_under(self, other):
        """From its next start on."""
        other.command = ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", *other.command]

    def inside(self, name=""):
        return f"/proc/{self.process.pid}/root{self.path}/{name}"

    def fill(self, leave):
        room = os.statvfs(self.inside())
        with open(self.inside("ballast"), "wb") as f:
            f.write(b"x" * (room.f_bavail * room.f_frsize - leave))

    def fill_up(self):
        full = os.open(self.inside("ballast"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            while True:
                os.write(full, b"x" * 4096)
        except OSError as why:
            check(why.errno == errno.ENOSPC, "then the disk is filled to the last block")
        finally:
            os.close(full)

    def empty(self):
        os.unlink(self.inside("ballast"))


def story_full_disk(fleet):
    """The disk is full; jobs stop, and go on when somebody makes room on it"""
    hub = Hub(fleet.path("hub"))
    os.makedirs(hub.data)
    disk = fleet.run(Disk(fleet.path("disk"), hub.data, 240))
    disk.put_under(hub)
    fleet.hub = fleet.run(hub)
    fleet.client = Client(hub.kubeconfig)
    sim = fleet.start_sim("m0", [make.node("gpu", count=2)])
    fleet.join(sim)
    fleet.watch("configmaps")
    jobs = fleet.watch("pytorchjobs")
    # One runs on the member while the hub has no room for news of it.
    fleet.client.create(make.pytorch_job("before", duration="4s"))
    jobs.await_object("before", "runs", lambda o: is_true(o, "Running"))

    # The hub refuses while 64 MiB are left, so that it can still tidy up.
    disk.fill(leave=66 << 20)
    names, error = fill(fleet, 200, 1000)
    refuses_with_status(error)
    disk.fill_up()
    check(not accepts(fleet, "none"), "a write still gets 507")
    fleet.client.delete("configmaps", names[0])
    check(fleet.client.find("configmaps", names[0]) is None, "a deletion is taken")
    names = names[1:]
    reads_go_on(fleet, names)
    disk.empty()
    until("a write is taken again", lambda: accepts(fleet, "later"), pause=0.2)
    check(fleet.hub.alive(), "once there is room, writes work again without a restart")
    fleet.client.create(make.pytorch_job("after", duration="100ms"))
    for name in ("before", "after"):
        jobs.await_object(name, "is over", over)
    check_runs([sim], list(jobs.objects.values()))


def story_starts_on_a_full_disk(fleet):
    """A hub that starts on a full disk reads, refuses writes, and goes on once there is room"""
    hub = Hub(fleet.path("hub"))
    # Everything of its own is on that disk, as on a small machine.
    hub.command[hub.command.index(hub.kubeconfig)] = os.path.join(hub.data, "kubeconfig")
    os.makedirs(hub.data)
    disk = fleet.run(Disk(fleet.path("disk"), hub.data, 200))
    disk.put_under(hub)
    fleet.hub = fleet.run(hub)
    hub.kubeconfig = disk.inside("kubeconfig")
    fleet.client = Client(hub.kubeconfig)
    sim = fleet.start_sim("m0", [make.node("gpu", count=2)])
    fleet.join(sim)
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("running", duration="4s"),
                        make.pytorch_job("waiting", suspend=True), config_map("old", 1))
    jobs.await_object("running", "runs", lambda o: is_true(o, "Running"))
    hub.kill()
    disk.fill_up()
    fleet.restart_hub()
    check(hub.alive(), "it starts on a disk without a free block")
    reads_go_on(fleet, ["old"])
    try:
        fleet.client.create(config_map("refused", 1))
        check(False, "a write is refused")
    except StatusError as error:
        refuses_with_status(error)
    concurrent_reads(fleet, 200)
    hub.kill()
    fleet.restart_hub()
    check(not accepts(fleet, "refused"), "and after another restart it still does")
    disk.empty()
    until("a write is taken", lambda: accepts(fleet, "later"), pause=0.2)
    fleet.client.create(make.pytorch_job("after", duration="100ms"))
    for name in ("running", "after"):
        jobs.await_object(name, "is over", over)


if __name__ == "__main__":
    main(globals(), FaultFleet)
