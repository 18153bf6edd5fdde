"""Watch streams in threads. A test awaits events; nothing is lost between two waits."""

import http.client
import json
import threading
import time
import urllib.parse

from .client import url_of
from .story import DEADLINE, Failure


def key_of(o):
    meta = o["metadata"]
    return meta.get("namespace", ""), meta["name"]


def revision_of(o):
    return int(o["metadata"]["resourceVersion"])


class Session:
    """One connection: where it began, and the events (with bookmarks) that came over it."""

    def __init__(self, after, state):
        self.after = after        # it asked for what comes after this revision
        self.state = dict(state)  # key -> object, as of then
        self.events = []


class Watch:
    """Lists, then watches, as an informer does. When the connection ends, it resumes after the
    last revision it saw; a 410 or any gap is for the validators to find, so it never lists
    again."""

    def __init__(self, client, plural, namespace=None, name="", **params):
        self.prepare(client, plural, namespace, name, params)
        listed = client.call("GET", self.path, **params)
        self.start(int(listed["metadata"]["resourceVersion"]), listed["items"])

    @classmethod
    def after(cls, client, plural, revision, items):
        """One that does not list: it begins behind a revision of the past, with its objects."""
        w = cls.__new__(cls)
        w.prepare(client, plural, None, "", {})
        w.start(revision, items)
        return w

    def prepare(self, client, plural, namespace, name, params):
        self.client, self.plural, self.namespace = client, plural, namespace
        self.name = name or plural
        self.params = params  # labelSelector, fieldSelector
        self.path = url_of(plural, namespace)
        self.changed = threading.Condition()
        self.events = []      # (type, object) without bookmarks, over all sessions
        self.times = []       # when each came: monotonic seconds
        self.objects = {}     # key -> object now
        self.sessions = []
        self.errors = []
        self.stopped = False
        self.connection = None

    def start(self, revision, items):
        self.first = self.revision = revision
        self.listed = items   # what was there when it began
        self.objects = {key_of(o): o for o in items}
        self.thread = threading.Thread(target=self.run, daemon=True, name="watch " + self.name)
        self.thread.start()

    def run(self):
        pause = threading.Event()
        while not self.stopped:
            try:
                self.session()
            except (OSError, http.client.HTTPException, ValueError):
                if self.stopped:
                    return
                self.client.reread()
            pause.wait(0.01)

    def session(self):
        params = dict(self.params, watch="true", allowWatchBookmarks="true",
                      resourceVersion=str(self.revision))
        connection = self.connection = self.client.connect()
        headers = {}
        if self.client.config.token:
            headers["Authorization"] = "Bearer " + self.client.config.token
        connection.request("GET", self.path + "?" + urllib.parse.urlencode(params),
                           headers=headers)
        connection.sock.settimeout(None)
        answer = connection.getresponse()
        if answer.status in (429, 503):  # it is going down, or busy: again
            answer.read()
            connection.close()
            return
        if answer.status != 200:
            self.fail((answer.status, answer.read()))
            return
        s = Session(self.revision, self.objects)
        with self.changed:
            self.sessions.append(s)
            self.changed.notify_all()
        while not self.stopped:
            line = answer.readline()
            if not line.endswith(b"\n"):  # cut in the middle, or the end
                break
            self.take(s, json.loads(line))
        connection.close()

    def take(self, s, event):
        kind, o = event["type"], event["object"]
        if kind == "ERROR":
            self.fail(o)
            return
        with self.changed:
            s.events.append((kind, o))
            self.revision = revision_of(o)
            if kind != "BOOKMARK":
                if kind == "DELETED":
                    self.objects.pop(key_of(o), None)
                else:
                    self.objects[key_of(o)] = o
                self.events.append((kind, o))
                self.times.append(time.monotonic())
            self.changed.notify_all()

    def fail(self, what):
        with self.changed:
            self.errors.append(what)
            self.stopped = True
            self.changed.notify_all()

    def await_state(self, what, holds, deadline=DEADLINE):
        """Waits until holds({key: object}) is true, and returns what it returned."""
        end = time.monotonic() + deadline
        with self.changed:
            while True:
                seen = holds(self.objects)
                if seen:
                    return seen
                if self.errors:
                    raise Failure(f"the watch of {self.name} ended: {self.errors}")
                left = end - time.monotonic()
                if left <= 0:
                    raise Failure(f"not within {deadline:.0f} s: {what}\n"
                                  f"{self.name}: {brief(self.objects)}")
                self.changed.wait(left)

    def await_object(self, name, what, holds, namespace="default", deadline=DEADLINE):
        """Waits until the object exists and holds(object); returns it."""
        def probe(objects):
            o = objects.get((namespace, name))
            return o if o is not None and holds(o) else None
        return self.await_state(f"{self.plural} {namespace}/{name}: {what}", probe, deadline)

    def await_gone(self, name, namespace="default", deadline=DEADLINE):
        self.await_state(f"{self.plural} {namespace}/{name} is gone",
                         lambda objects: (namespace, name) not in objects, deadline)

    def await_event(self, what, matches, deadline=DEADLINE, start=0):
        """Waits for the first event at or behind index start with matches(type, object); what was
        listed counts as ADDED before index 0."""
        end = time.monotonic() + deadline
        for o in self.listed if start == 0 else ():
            if matches("ADDED", o):
                return o
        i = start
        with self.changed:
            while True:
                while i < len(self.events):
                    if matches(*self.events[i]):
                        return self.events[i][1]
                    i += 1
                left = end - time.monotonic()
                if left <= 0 or self.errors:
                    raise Failure(f"not within {deadline:.0f} s: {what} {self.errors}")
                self.changed.wait(left)

    def await_revision(self, revision, deadline=DEADLINE):
        """Waits until an event or bookmark says that everything up to revision has come."""
        end = time.monotonic() + deadline
        with self.changed:
            while self.revision < revision:
                left = end - time.monotonic()
                if left <= 0 or self.errors:
                    raise Failure(f"{self.name}: at {self.revision}, wanted {revision} "
                                  f"{self.errors}")
                self.changed.wait(left)

    def await_resumed(self, sessions, deadline=DEADLINE):
        """Waits until it has more sessions than that."""
        end = time.monotonic() + deadline
        with self.changed:
            while len(self.sessions) <= sessions:
                left = end - time.monotonic()
                if left <= 0 or self.errors:
                    raise Failure(f"the watch of {self.name} did not resume {self.errors}")
                self.changed.wait(left)

    def history(self, name, namespace="default"):
        """What the object looked like, one after the other."""
        with self.changed:
            return [o for kind, o in self.events if key_of(o) == (namespace, name)]

    def stop(self):
        self.stopped = True
        connection = self.connection
        sock = connection.sock if connection else None
        if sock:
            try:
                sock.shutdown(2)
            except OSError:
                pass
        self.thread.join(DEADLINE)


def brief(objects):
    lines = []
    for (namespace, name), o in list(objects.items())[:20]:
        lines.append(f"{namespace}/{name} {json.dumps(o.get('status', {}))[:400]}")
    return "\n  ".join(lines)


def condition(o, kind):
    """The condition of that type, or {}."""
    for c in o.get("status", {}).get("conditions", []) or []:
        if c["type"] == kind:
            return c
    return {}


def is_true(o, kind):
    return condition(o, kind).get("status") == "True"
