"""The programs as processes, each with a directory and a log of its own, and Fleet: all of them."""

import glob
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

from .client import Client, Kubeconfig, until
from .kubectl import kubectls
from .story import DEADLINE, Failure, Skip
from .watch import Watch, is_true

NGHTTPX = "/usr/sbin/nghttpx"


def program(variable, default):
    """The path of a binary: from the environment, else from the build folder."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    build = os.environ.get("MUSTER_BUILD", os.path.join(root, "build"))
    return os.environ.get(variable, os.path.join(build, default))


def own_port():
    """A port for a program that comes back to it after a restart. Not one of those that the system
    gives away (port 0, and every outgoing connection): while the program is down, another of them
    would have it."""
    for _ in range(200):
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure("no port is free")


class Program:
    """A process that prints `ready` and ends with status 0 on SIGTERM."""

    def __init__(self, name, directory, command, environment=None):
        self.name, self.dir, self.command = name, directory, command
        self.environment = environment or {}  # beside what is inherited
        os.makedirs(directory, exist_ok=True)
        self.log = os.path.join(directory, name + ".log")
        self.process = None
        self.starts = 0

    def start(self):
        """Returns the words of the ready line."""
        self.launch()
        words = self.ready_line().split()
        if not words or words[0] != "ready":
            raise Failure(f"{self.name} did not start: {words} {self.tail()}")
        return words

    def launch(self):
        """Starts it without waiting until it is ready."""
        self.starts += 1
        # Appended to: after a kill the log must still tell what was before it.
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stderr=log,
                                            stdout=subprocess.PIPE, text=True,
                                            env=dict(os.environ, **self.environment))

    def ready_line(self):
        lines = []
        reader = threading.Thread(target=lambda: lines.append(self.process.stdout.readline()),
                                  daemon=True)
        reader.start()
        reader.join(DEADLINE)
        return lines[0] if lines else ""

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        """kill -9."""
        if self.process is None:
            return
        if self.alive():
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(DEADLINE)
        self.close_pipes()

    def close_pipes(self):
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except OSError:
                pass

    def await_end(self, deadline=DEADLINE):
        """Waits until it ended by itself; the exit status."""
        try:
            status = self.process.wait(deadline)
        except subprocess.TimeoutExpired as why:
            raise Failure(f"{self.name} did not end by itself\n{self.tail()}") from why
        self.close_pipes()
        return status

    def stop(self):
        """SIGTERM; seconds that it took. Status 0 or Failure: sanitizers speak through it."""
        began = time.monotonic()
        if not self.alive():
            raise Failure(f"{self.name} ended by itself with status {self.process.returncode}\n"
                          f"{self.tail()}")
        self.process.terminate()
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired as why:
            raise Failure(f"{self.name} did not end on SIGTERM") from why
        self.close_pipes()
        if status != 0:
            raise Failure(f"{self.name} ended with status {status}\n{self.tail()}")
        return time.monotonic() - began

    def signal(self, number):
        self.process.send_signal(number)

    def resident(self):
        """Bytes of VmRSS and of private memory."""
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as f:
            fields = dict(line.split(":", 1) for line in f if ":" in line and "-" not in line[:9])
        def kib(name):
            return int(fields[name].split()[0]) * 1024
        return kib("Rss"), kib("Private_Clean") + kib("Private_Dirty")

    def tail(self, lines=60):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                return "".join(f.readlines()[-lines:])
        except OSError:
            return ""


class Hub(Program):
    def __init__(self, directory, options=(), config=None, environment=None):
        self.data = os.path.join(directory, "data")
        self.kubeconfig = os.path.join(directory, "kubeconfig")
        command = [program("MUSTERD", "musterd"), "--data-dir", self.data, "--kubeconfig-out",
                   self.kubeconfig, "--listen", f"127.0.0.1:{own_port()}", *options]
        os.makedirs(directory, exist_ok=True)
        if config:
            path = os.path.join(directory, "config.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(json.dumps(config))  # JSON is YAML
            command += ["--config", path]
        super().__init__("hub", directory, command, environment)

    def start(self):
        words = super().start()
        self.url = words[1]
        return words


class Sim(Program):
    """One member cluster."""

    def __init__(self, directory, name, nodes, options=()):
        self.data = os.path.join(directory, "data")
        self.kubeconfig = os.path.join(directory, "kubeconfig")
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, "nodes.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\n---\n".join(json.dumps(n) for n in nodes))
        command = [program("MUSTER_SIM", "member-sync/sim/muster-sim"), "--name", name, "--nodes",
                   path, "--data-dir", self.data, "--kubeconfig-out", self.kubeconfig,
                   "--listen", f"127.0.0.1:{own_port()}", *options]
        super().__init__(name, directory, command)
        self.join_kubeconfig = self.kubeconfig

    def start(self):
        words = super().start()
        self.url = words[1]
        self.port = int(words[1].rsplit(":", 1)[1])
        self.client = Client(self.kubeconfig)
        return words

    def behind(self, port, token=False):
        """A kubeconfig that reaches it through another port. A front that ends TLS cannot pass a
        client certificate on, so then the token stands in."""
        c = Kubeconfig(self.kubeconfig)
        user = {"client-certificate-data": c.cert, "client-key-data": c.key}
        if token:
            with open(os.path.join(self.data, "pki", "admin.token"), encoding="ascii") as f:
                user = {"token": f.read().strip()}
        return write_kubeconfig(os.path.join(self.dir, f"kubeconfig-{port}"),
                                f"https://127.0.0.1:{port}", c.ca, user)

    def runs(self):
        """The lines of runs.jsonl."""
        path = os.path.join(self.data, "runs.jsonl")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines if line.endswith("\n")]

    def lists(self):
        """LIST requests since its start."""
        return self.client.requests_of("LIST")


def write_kubeconfig(path, server, ca, user):
    cluster = {"server": server}
    if ca:
        cluster["certificate-authority-data"] = ca
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "m",
              "clusters": [{"name": "m", "cluster": cluster}],
              "users": [{"name": "m", "user": user}],
              "contexts": [{"name": "m", "context": {"cluster": "m", "user": "m"}}]}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f, indent=1)  # one field a line, as Kubeconfig reads it
    return path


class Front(Program):
    """nghttpx before a simulator: HTTP/2 to the hub, HTTP/1.1 behind."""

    def __init__(self, directory, sim):
        if not os.path.exists(NGHTTPX):
            raise Skip("nghttpx (nghttp2-proxy) is not installed")
        pki = os.path.join(sim.data, "pki")
        self.port = own_port()
        super().__init__(sim.name + "-front", directory, [
            NGHTTPX, "--conf=/dev/null", "--no-ocsp", "--workers=1", f"--frontend=127.0.0.1,{self.port}",
            f"--backend=127.0.0.1,{sim.port};;proto=http/1.1;tls", "--insecure",
            "--frontend-read-timeout=1h", "--backend-read-timeout=1h",
            "--backend-connections-per-host=200", "--log-level=WARN",
            os.path.join(pki, "serving.key"), os.path.join(pki, "serving.crt")])

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stderr=log,
                                            stdout=subprocess.PIPE, text=True)

        def accepts():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", self.port)) == 0
        until(f"{self.name} accepts", accepts)
        return ["ready"]


class Proxy(Program):
    """fault_proxy before a simulator; tell() a command."""

    def __init__(self, directory, name, port):
        super().__init__(name, directory, [
            program("FAULT_PROXY", "tests/fault/fault_proxy"), "--to", f"127.0.0.1:{port}"])

    def start(self):
        words = super().start()
        self.port = int(words[1])
        return words

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer.startswith("error"):
            raise Failure(f"fault_proxy: {command}: {answer}")
        return answer


class Fleet:
    """A hub, its members, and clients of both. One per story; close() ends it in good order."""

    def __init__(self, directory):
        self.dir = directory
        self.hub = None
        self.sims = {}
        self.programs = []
        self.watches = []

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def run(self, p):
        self.programs.append(p)
        p.start()
        return p

    def start_hub(self, *options, config=None, environment=None):
        self.hub = self.run(Hub(self.path("hub"), options, config, environment))
        self.client = Client(self.hub.kubeconfig)
        return self.hub

    def restart_hub(self):
        """After a kill or a stop: the same data, the same port."""
        self.hub.start()
        self.client.reread()

    def start_sim(self, name, nodes, *options, time_scale=1):
        sim = Sim(self.path(name), name, nodes, ["--time-scale", str(time_scale), *options])
        self.sims[name] = sim
        return self.run(sim)

    def put_http2(self, sim):
        """A front of HTTP/2 before the simulator, for join()."""
        front = self.run(Front(self.path(sim.name + "-front"), sim))
        sim.join_kubeconfig = sim.behind(front.port, token=True)
        return front

    def put_proxy(self, sim):
        proxy = self.run(Proxy(self.path(sim.name + "-proxy"), sim.name + "-proxy", sim.port))
        sim.join_kubeconfig = sim.behind(proxy.port)
        return proxy

    def muster(self, *args, name="muster", check=True, stdin=None):
        """The command line: a finished process; `name` is what it was called as."""
        path = program("MUSTER", "deploy/cli/muster")
        done = subprocess.run([name, *args], executable=path, input=stdin, text=True,
                              capture_output=True, timeout=DEADLINE * 2,
                              env=dict(os.environ, KUBECONFIG=self.hub.kubeconfig))
        if check and done.returncode:
            raise Failure(f"{name} {' '.join(args)}: status {done.returncode}\n"
                          f"{done.stdout}{done.stderr}")
        return done

    def join(self, *sims):
        """Joins, and waits until each is Ready and its nodes and pods are known."""
        clusters = self.watch("clusters")
        for sim in sims:
            self.muster("join", sim.name, "--kubeconfig", sim.join_kubeconfig)
        for sim in sims:
            clusters.await_object(sim.name, "Ready", lambda o: is_true(o, "Ready"), namespace="")
        names = {s.name for s in sims}
        until("the members' nodes and pods are listed", lambda: names <= {
            c["name"] for c in self.view("clusters") if c["synced"] and c["nodes"]})

    def view(self, what):
        """An answer of muster.dev/v1alpha1: clusters, jobs, queues; quota as it is."""
        answer = self.client.call("GET", "/apis/muster.dev/v1alpha1/" + what)
        return answer.get("items", answer)

    def why(self, name, namespace="default", kind="pytorchjob"):
        return json.loads(self.muster("why", "-n", namespace, f"{kind}/{name}", "-o",
                                      "json").stdout)

    def watch(self, plural, namespace=None, client=None, **params):
        w = Watch(client or self.client, plural, namespace, **params)
        self.watches.append(w)
        return w

    def kubectls(self):
        home = self.path("home")
        os.makedirs(home, exist_ok=True)
        found = kubectls(self.hub.kubeconfig, home)
        if not found:
            raise Skip("no kubectl")
        return found

    def stop_watches(self):
        for w in self.watches:
            w.stop()

    def close(self):
        """Every program ends well; sanitizers say nothing."""
        self.stop_watches()
        for p in reversed(self.programs):
            if p.process is not None and not isinstance(p, Front):
                p.stop()
            else:
                p.kill()
        self.programs = []

    def kill(self):
        self.stop_watches()
        for p in self.programs:
            p.kill()

    def print_logs(self):
        for p in self.programs:
            if p.process is not None and p.process.poll() is not None:
                print(f"  {p.name} ended by itself with status {p.process.returncode}")
        for log in sorted(glob.glob(self.path("*", "*.log"))):
            with open(log, encoding="utf-8", errors="replace") as f:
                lines = f.readlines()
            if lines:
                print(f"  ==> {os.path.basename(log)}: the last of {len(lines)} lines")
                print("".join("    " + line for line in lines[-40:]), end="")


def most_at_once(runs):
    """How many pods of these lines of runs.jsonl ran at one moment, at the most."""
    steps = sorted([(r["end"], -1) for r in runs] + [(r["start"], 1) for r in runs])
    now = most = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most
