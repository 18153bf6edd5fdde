#!/usr/bin/env python3
"""The disk breaks: a write or a sync of the store fails. The hub ends at once, nothing is
acknowledged any more, and a restart on a good disk finds everything that was."""

import errno
import os
import signal
import time

from io_faults import SYNC, WRITE, IoFaults
from load import Keeper, Submitter, stop_keepers
from stories import FaultFleet, all_succeed, check_runs, parameter, seeded

from muster_test import check, main
from muster_test import objects as make
from muster_test.story import Skip, slowness

ROUNDS = parameter("ROUNDS", 10)
TRUTH, MIRROR = "/store/data.mdb", "/mirror/data.mdb"
AT_ONCE = 3  # seconds on an idle machine; a sanitizer build takes its time to look for leaks
KINDS = (  # file, calls, error (0: a short write), later calls fail too
    (TRUTH, SYNC, errno.EIO, True),
    (TRUTH, WRITE, errno.EIO, True),
    (TRUTH, SYNC, errno.EIO, False),
    (TRUTH, WRITE, errno.EIO, False),
    (TRUTH, WRITE | SYNC, errno.EIO, True),
    (TRUTH, WRITE, 0, False),
    (MIRROR, WRITE, errno.EIO, True),
    (TRUTH, WRITE, errno.EROFS, True),
)


def describe(kind, nth):
    suffix, calls, error, sticky = kind
    what = {WRITE: "write", SYNC: "sync", WRITE | SYNC: "write or sync"}[calls]
    return (f"{what} {nth} of {suffix.split('/')[1]} "
            f"{'fails with ' + errno.errorcode[error] if error else 'is short'}"
            f"{' and all behind it' if sticky else ''}")


def break_disk(fleet, faults, keepers, kind, nth):
    """Arms the fault; the hub must end by itself, and start again."""
    faults.arm(kind[0], kind[1], nth, kind[2], kind[3])
    status = fleet.hub.await_end()
    took = time.monotonic() - faults.struck_at()
    faults.disarm()
    check(status not in (0, -signal.SIGKILL) and status > 0 and took < AT_ONCE * slowness(),
          f"{describe(kind, nth)}: the hub ended with status {status} after {took:.2f} s", status,
          took, fleet.hub.tail())
    late = [k.last_acknowledged for k in keepers if k.last_acknowledged[0] > faults.struck_at()]
    if kind[0] == TRUTH:
        check(not late, "    and acknowledged nothing that was asked for after it", late,
              faults.struck_at())
    fleet.restart_hub()


def story_broken_disk(fleet):
    """An I/O error of the store ends the hub at once; a restart finds all that was acknowledged"""
    if "IO_FAULTS_LIBRARY" not in os.environ:
        raise Skip("no io_faults library in this build")
    random = seeded("moments")
    faults = IoFaults(fleet.path("io-faults"))
    fleet.start_hub(environment=faults.environment)
    sim = fleet.start_sim("m0", [make.node("gpu", count=2)])
    fleet.join(sim)
    jobs = fleet.watch("pytorchjobs")
    for plural in ("configmaps", "resourcebindings"):
        fleet.watch(plural)
    fleet.watch("configmaps", labelSelector="keeper=yes", name="kept")
    keepers = [Keeper(fleet.client, f"keeper-{i}", random.random()) for i in range(3)]
    wanted = [make.pytorch_job(f"job-{i:03d}", workers=1, duration="200ms")
              for i in range(3 * ROUNDS)]
    submitter = Submitter(fleet.client, wanted, 0.2)
    for load in (*keepers, submitter):
        load.start()
    for i in range(ROUNDS):
        break_disk(fleet, faults, keepers, KINDS[i % len(KINDS)], random.randrange(1, 40))
    stop_keepers(fleet.client, keepers)
    submitter.finish()
    check_runs([sim], all_succeed(jobs, len(wanted)))


if __name__ == "__main__":
    main(globals(), FaultFleet)
