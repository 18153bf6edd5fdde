"""kubectl as a user runs it, in every version that tests/kubectl-versions finds."""

import json
import os
import subprocess

from .story import DEADLINE, Failure

# How often one command may run into the race that Kubectl.run() knows.
CLIENT_RACES = 5


class Kubectl:
    def __init__(self, version, path, kubeconfig, home):
        self.version, self.path = version, path
        # Discovery is cached under HOME: each fleet has one of its own.
        self.env = dict(os.environ, KUBECONFIG=kubeconfig, HOME=home)

    def run(self, *args, stdin=None, env=None):
        """The finished process. A connection that this client lost by itself is made again: up to
        1.33 it reads before all its streams exist, and takes the answer of a command that ends at
        once for one of an unknown stream (kubernetes/kubernetes#131189)."""
        for _ in range(CLIENT_RACES):
            done = subprocess.run([self.path, *args], input=stdin, text=True, capture_output=True,
                                  timeout=DEADLINE * 2, env=dict(self.env, **(env or {})))
            if "Unknown stream id" not in done.stderr:
                break
        return done

    def __call__(self, *args, stdin=None, env=None):
        """Its standard output; a failure is one."""
        if stdin is not None and not isinstance(stdin, str):
            stdin = json.dumps(stdin)
        done = self.run(*args, stdin=stdin, env=env)
        if done.returncode:
            raise Failure(f"kubectl {self.version} {' '.join(args)}: status {done.returncode}\n"
                          f"{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *args):
        """A kubectl that goes on (get -w); its lines come from .stdout."""
        return subprocess.Popen([self.path, *args], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env=self.env)


def kubectls(kubeconfig, home):
    """One per version; at least what is on PATH."""
    script = os.path.join(os.path.dirname(__file__), "..", "..", "kubectl-versions")
    lines = subprocess.run([script], capture_output=True, text=True, timeout=300).stdout
    found = [line.split(" ", 1) for line in lines.splitlines() if " " in line]
    return [Kubectl(version, path, kubeconfig, home) for version, path in found]
