#!/usr/bin/env python3
"""The command line as people and scripts see it: live pictures, lines of changes, exit codes."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.programs import program


class Terminal:
    """A program on a terminal of a size; what it wrote, and the screen that this makes: the few
    sequences that a picture drawn in place needs."""

    def __init__(self, fleet, args, rows=24, columns=100, term="xterm"):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [program("MUSTER", "deploy/cli/muster"), *args], stdin=slave, stdout=slave,
            env=dict(os.environ, KUBECONFIG=fleet.hub.kubeconfig, TERM=term))
        os.close(slave)
        os.set_blocking(self.master, False)
        self.written, self.columns = "", columns

    def read(self):
        try:
            while data := os.read(self.master, 65536):
                self.written += data.decode()
        except (BlockingIOError, OSError):
            pass
        return self.written

    def screen(self):
        lines, at, column, text, i = [""], 0, 0, self.read(), 0
        while i < len(text):
            if text.startswith("\033[", i):
                end = i + 2
                while not text[end:end + 1].isalpha() and end < len(text):
                    end += 1
                count, what = text[i + 2:end], text[end:end + 1]
                if what == "A":
                    at = max(0, at - int(count or 1))
                elif what == "K":
                    lines[at] = lines[at][:column]
                elif what == "J" and not count:
                    lines[at] = lines[at][:column]
                    del lines[at + 1:]
                i = end + 1
                continue
            if text[i] == "\r":
                column = 0
            elif text[i] == "\n":
                at += 1
                lines += [""] * (at + 1 - len(lines))
            else:
                lines[at] = lines[at][:column].ljust(column) + text[i] + lines[at][column + 1:]
                column += 1
            i += 1
        return lines

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.master)


def story_live_picture(fleet):
    """-w on a terminal draws in place, without clearing the screen; on a pipe it tells changes"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu")])
    fleet.join(sim)
    small = Terminal(fleet, ["jobs", "-w"], rows=8, columns=60)
    top = Terminal(fleet, ["top"])
    dumb = Terminal(fleet, ["jobs", "-w", "--no-headers"], term="dumb")
    until("the first picture", lambda: any("NAMESPACE" in line for line in small.screen()))
    fleet.client.create(*[make.batch_job(f"job-{i}", duration="300s") for i in range(12)])

    def running():
        lines = top.screen()
        return lines if sum("Starting" in x or "Running" in x for x in lines) == 8 else None
    lines = until("eight jobs run in the picture, whose last change is not left out", running)
    check(lines[0].startswith("NAME") and lines[1].startswith("east") and
          sum(x.startswith("NAMESPACE") for x in lines) == 1, "members above jobs, once", lines)
    lines = until("the small terminal is full", lambda: small.screen()
                  if len(small.screen()) == 8 else None)
    check("more lines" in lines[6] and all(len(x) < 60 for x in lines),
          "a picture is cut to the terminal", lines)
    check("\033[2J" not in small.written + top.written, "the screen is never cleared")
    fleet.client.delete("jobs", "job-0", propagationPolicy="Background")
    until("a job that goes is told of on a dumb terminal", lambda: "DELETED" in dumb.read())
    check("\033" not in dumb.written and "ADDED" in dumb.written and
          "MODIFIED" in dumb.written, "no escapes there, a line for each change")
    for t in (small, top, dumb):
        t.close()


def story_json_has_what_the_table_has(fleet):
    """-o json has the same jobs as the table, finished ones too"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("cpu")])
    fleet.join(sim)
    fleet.client.create(make.batch_job("short", duration="1s"))
    fleet.client.create(make.batch_job("long", duration="300s"))

    def listed():
        items = json.loads(fleet.muster("jobs", "-o", "json").stdout)["items"]
        return {j["name"]: (j["status"], j["cluster"], j["pods"]) for j in items}
    until("both, with how they stand", lambda: listed() == {
        "short": ("Succeeded", "east", 1), "long": ("Running", "east", 1)})
    table = fleet.muster("jobs", "--no-headers").stdout.splitlines()
    check(sorted(row.split()[1] for row in table) == ["long", "short"], "as in the table", table)
    check(fleet.muster("jobs", "-n", "kube-system", "--no-headers").stdout == "",
          "other namespaces have none")


def story_exit_codes(fleet):
    """Exit codes tell what went wrong"""
    fleet.start_hub()

    def code(*args):
        return fleet.muster(*args, check=False).returncode
    for verb in ("jobs", "version"):
        done = fleet.muster(verb, check=False)
        check(done.returncode == 0, f"0: {verb} is ok", done.returncode, done.stdout, done.stderr)
    check(done.stdout.splitlines()[1].startswith("Hub Version: v1."), "both versions", done.stdout)
    check(code("nonsense") == 2 and code("why") == 2, "2: bad usage")
    check(code("why", "nobody") == 3, "3: not found")
    kubeconfig, fleet.hub.kubeconfig = fleet.hub.kubeconfig, fleet.path("none")
    check(code("jobs") != 0, "not 0 without a kubeconfig")
    fleet.hub.kubeconfig = kubeconfig
    fleet.hub.kill()
    check(code("jobs") == 5, "5: the hub is not reached")
    fleet.restart_hub()


if __name__ == "__main__":
    main(globals(), Fleet)
