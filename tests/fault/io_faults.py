"""The other side of io_faults.c: arms faults of a running program's files and reads what came of
them."""

import errno
import mmap
import os
import struct

WRITE, SYNC = 1, 2
LAYOUT = struct.Struct("=IIIIqQQq64s")


class IoFaults:
    """A fault of the next, or the n-th, write or sync of a file. `environment` is what the program
    must be started with."""

    def __init__(self, path):
        with open(path, "wb") as f:
            f.write(bytes(LAYOUT.size))
        with open(path, "r+b") as f:
            self.shared = mmap.mmap(f.fileno(), LAYOUT.size)
        options = os.environ.get("ASAN_OPTIONS", "")
        self.environment = {
            "LD_PRELOAD": os.environ["IO_FAULTS_LIBRARY"], "IO_FAULTS": path,
            # The library may come before AddressSanitizer's: it brings no allocator.
            "ASAN_OPTIONS": options + (":" if options else "") + "verify_asan_link_order=0"}

    def arm(self, suffix, calls, nth=1, error=errno.EIO, sticky=True):
        """error=0: a short write."""
        self.disarm()
        LAYOUT.pack_into(self.shared, 0, 0, error, sticky, 0, nth, 0, 0, 0, suffix.encode())
        struct.pack_into("=I", self.shared, 0, calls)  # last: now it counts

    def disarm(self):
        struct.pack_into("=I", self.shared, 0, 0)

    def injected(self):
        return LAYOUT.unpack_from(self.shared)[6]

    def struck_at(self):
        """When the first call failed, by time.monotonic(); None: not yet."""
        at = LAYOUT.unpack_from(self.shared)[7]
        return at / 1e9 if at else None
