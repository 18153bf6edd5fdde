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
from muster_test.watch import is_true
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
        return {j["metadata"]["name"]: (j["status"]["state"], j["status"]["cluster"],
                                        j["status"]["pods"]) for j in items}
    until("both, with how they stand", lambda: listed() == {
        "short": ("Succeeded", "east", 1), "long": ("Running", "east", 1)})
    table = fleet.muster("jobs", "--no-headers").stdout.splitlines()
    check(sorted(row.split()[1] for row in table) == ["long", "short"], "as in the table", table)
    check(fleet.muster("jobs", "-n", "kube-system", "--no-headers").stdout == "",
          "other namespaces have none")


def story_lists_are_kubernetes_lists(fleet):
    """-o json and -o yaml of what lists is a List of objects; colours are asked for, or on a terminal"""
    fleet.start_hub()
    fleet.join(fleet.start_sim("east", [make.node("gpu", gpus=8)]))
    fleet.client.create(make.namespace("team-a"), make.quota_tree(make.quota_node(
        "root", {}, {"nvidia.com/gpu": "8"}, children=[
            make.quota_node("a", {}, {"nvidia.com/gpu": "8"}, ["team-a"])])))
    jobs = fleet.watch("pytorchjobs")
    fleet.client.create(make.pytorch_job("train", workers=1, gpus=2, duration="600s"))
    jobs.await_object("train", "runs", lambda o: is_true(o, "Running"))
    for verb, kind in (("clusters", "ClusterSummary"), ("jobs", "JobSummary"),
                       ("queue", "QueueSummary"), ("quota", "QuotaNodeSummary")):
        shown = json.loads(fleet.muster(verb, "-o", "json").stdout)
        check(shown["kind"] == "List" and shown["apiVersion"] == "v1" and shown["items"] and all(
            o["kind"] == kind and o["apiVersion"] == "muster.dev/v1alpha1" and
            o["metadata"]["name"] and o["status"] for o in shown["items"]),
            f"muster {verb} -o json is a List of {kind}", shown)
        check(fleet.muster(verb, "-o", "yaml").stdout.startswith("apiVersion: v1\nkind: List\n"),
              f"and -o yaml")
    one = json.loads(fleet.muster("quota", "a", "-o", "json").stdout)["items"]
    check([o["metadata"]["name"] for o in one] == ["a"], "a quota node by its name", one)
    head, row = (x.split() for x in fleet.muster("jobs").stdout.splitlines())
    check(dict(zip(head, row))["GPU"] == "4/4", "accelerators held, of those asked for", head, row)
    escape = "\033[32mRunning\033[0m"
    check(escape in fleet.muster("jobs", "--color", "always").stdout and
          "\033" not in fleet.muster("jobs").stdout, "no colours on a pipe, unless asked for")
    terminal = Terminal(fleet, ["jobs", "-w"])
    until("colours on a terminal", lambda: escape in terminal.read())
    plain = Terminal(fleet, ["jobs", "-w", "--color", "never"])
    until("the picture", lambda: "Running" in plain.read())
    check("\033[32m" not in plain.written, "none with --color never")
    for t in (terminal, plain):
        t.close()
    check(fleet.muster("jobs", "--color", "mauve", check=False).returncode == 2, "bad usage is 2")


def story_a_job_by_its_name(fleet):
    """pods, logs and wait by the name of a job; their exit codes"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu", gpus=8)])
    fleet.join(sim)
    fleet.client.create(make.pytorch_job("good", workers=2, duration="1s"),
                        make.batch_job("bad", duration="100ms", exit_code=3),
                        make.pytorch_job("huge", workers=0, gpus=64),
                        make.batch_job("long", duration="600s"))

    def run(*args):
        done = fleet.muster(*args, check=False)
        return done.returncode, done.stdout + done.stderr
    check(run("wait", "long", "--for=placed")[0] == 0, "0: placed")
    check(run("wait", "job/long", "--for=running")[0] == 0, "0: it runs")
    code, said = run("wait", "good")
    check(code == 0 and "good: Succeeded on east" in said, "0: it is complete", code, said)
    check(run("wait", "bad")[0] == 7, "7: the job failed")
    code, said = run("wait", "huge", "--for=placed")
    check(code == 8 and "never fit" in said, "8: it can never be placed", code, said)
    check(run("wait", "long", "--timeout=1s")[0] == 6, "6: timed out")
    check(run("wait", "nobody")[0] == 3 and run("logs", "nobody")[0] == 3 and
          run("pods", "nobody")[0] == 3, "3: not found")
    check(run("wait")[0] == 2 and run("wait", "long", "--for=christmas")[0] == 2 and
          run("wait", "long", "--timeout=soon")[0] == 2 and run("pods")[0] == 2, "2: bad usage")
    shown = [x.split()[:6] for x in fleet.muster("pods", "good", "--no-headers").stdout.splitlines()]
    check(sorted(r[0] for r in shown) == ["good-master-0", "good-worker-0", "good-worker-1"] and
          all(r[3] == "Succeeded" and r[5] == "east" for r in shown), "muster pods", shown)
    listed = json.loads(fleet.muster("pods", "good", "-o", "json").stdout)
    check(listed["kind"] == "PodList" and len(listed["items"]) == 3, "-o json is the API's list")
    code, said = run("logs", "good")
    check(code == 0 and "pod good-master-0" in said and "exit code 0" in said,
          "muster logs: the master's", said)
    check("pod good-worker-1" in run("logs", "good", "--replica", "worker-1")[1], "--replica")
    said = run("logs", "good", "--all")[1]
    check(all(f"[good-{n}] " in said for n in ("master-0", "worker-0", "worker-1")), "--all", said)
    check(run("logs", "good", "--replica", "worker-9")[0] == 3, "3: no such replica")
    following = Terminal(fleet, ["logs", "long", "-f"])
    until("a log that is followed", lambda: "step 2 loss" in following.read())
    following.close()
    for shell in ("bash", "zsh", "fish"):
        check("__complete" in fleet.muster("completion", shell).stdout, f"completion {shell}")
    words = fleet.muster("__complete", "wa").stdout.split()
    check("wait" in words and "clusters" in words, "verbs complete", words)
    words = fleet.muster("__complete", "why", "").stdout.split()
    check("job/long" in words and "long" in words, "names of jobs complete", words)
    words = fleet.muster("unjoin", "", name="kubectl_complete-muster").stdout.split()
    check(words == ["east"], "kubectl muster unjoin <TAB>", words)
    done = subprocess.run(["bash", "-nc", fleet.muster("completion", "bash").stdout],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, "the script for bash is one", done.stderr)


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
