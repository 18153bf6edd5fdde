"""The nine properties that every watch must have (etcd's robustness tests name them), checked over
what a Watch recorded.

The model is the history of a resource as the hub's log tells it to a fresh watch that begins where
the test began. The watches under test ran through restarts, on live feeds and catch-ups, with and
without selectors; what they heard must be what the model says they should have.

    filter        only objects that match, or that did until now
    ordered       revisions rise
    unique        no revision twice, over all sessions
    reliable      nothing is missing between two events that were heard
    atomic        a list at a revision is the model at that revision: commits are seen whole
    resumable     the first event of a session is the model's first behind where it began
    bookmarkable  behind a bookmark of N come only revisions above N
    is_create     ADDED for what the watch did not know, MODIFIED for what it did
    previous      DELETED carries the object as it was last
"""

import concurrent.futures
import json
import time

from .client import url_of
from .story import DEADLINE, Failure
from .watch import key_of, revision_of

IGNORED_IN_LAST_STATE = ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds",
                         "finalizers", "generation")


class Model:
    """Every event of a resource after revision `start`, from the log, up to what is there now."""

    trimmed = False  # the log may have lost some of what it tells

    def __init__(self, client, plural, start, items):
        self.plural = plural
        self.state = {key_of(o): o for o in items}
        self.until = int(client.list(plural)["metadata"]["resourceVersion"])
        self.events = []
        end = time.monotonic() + DEADLINE
        at = start
        while at < self.until:
            at = self.read(client, at)
            if time.monotonic() > end:
                raise Failure(f"the log of {plural} leads to {at} only, not to {self.until}")
        self.events = [(kind, o) for kind, o in self.events if revision_of(o) <= self.until]

    def read(self, client, after):
        """A watch of one second; the revision of the bookmark that ends it."""
        _, _, text = client.raw("GET", url_of(self.plural), watch="true", resourceVersion=after,
                                allowWatchBookmarks="true", timeoutSeconds="1")
        for line in text.splitlines():
            event = json.loads(line)
            kind, o = event["type"], event["object"]
            if kind == "ERROR":
                raise Failure(f"the log of {self.plural} cannot be read from {after}: {o}")
            after = revision_of(o)
            if kind != "BOOKMARK":
                self.events.append((kind, o))
        return after

    @classmethod
    def heard(cls, w):
        """From a watch that never failed, where the log was trimmed meanwhile."""
        self = cls.__new__(cls)
        self.plural, self.until, self.trimmed = w.plural, w.revision, True
        self.state = {key_of(o): o for o in w.listed}
        self.events = list(w.events)
        return self

    def at(self, revision):
        """{key: object} as of a revision."""
        objects = dict(self.state)
        for kind, o in self.events:
            if revision_of(o) > revision:
                break
            if kind == "DELETED":
                objects.pop(key_of(o), None)
            else:
                objects[key_of(o)] = o
        return objects


def revisions(objects):
    return {key_of(o): revision_of(o) for o in objects}


def selected(w):
    """Whether an object is one that the watch asked for."""
    labels = dict(p.split("=", 1) for p in w.params.get("labelSelector", "").split(",") if p)
    fields = dict(p.split("=", 1) for p in w.params.get("fieldSelector", "").split(",") if p)

    def matches(o):
        meta = o["metadata"]
        return ((not w.namespace or meta.get("namespace") == w.namespace) and
                all((meta.get("labels") or {}).get(k) == v for k, v in labels.items()) and
                all(meta.get(k.split(".")[1]) == v for k, v in fields.items()))
    return matches


def expected(w, model, matches):
    """The events that the watch should hear: (type, revision, key)."""
    known = {k for k, o in model.at(w.first).items() if matches(o)}
    out = []
    for kind, o in model.events:
        if revision_of(o) <= w.first:
            continue
        key = key_of(o)
        if kind != "DELETED" and matches(o):
            out.append(("MODIFIED" if key in known else "ADDED", revision_of(o), key))
            known.add(key)
        elif key in known:
            out.append(("DELETED", revision_of(o), key))
            known.discard(key)
    return out


def filter_(w, model, matches):
    known = {k for k, o in model.at(w.first).items() if matches(o)}
    for kind, o in w.events:
        if kind == "DELETED":
            if key_of(o) not in known:
                return kind, o
            known.discard(key_of(o))
        elif not matches(o):
            return kind, o
        else:
            known.add(key_of(o))
    return None


def ordered(w, model, matches):
    for s in w.sessions:
        for (before, a), (kind, b) in zip(s.events, s.events[1:]):
            both = before != "BOOKMARK" and kind != "BOOKMARK"
            if revision_of(a) > revision_of(b) or (both and revision_of(a) == revision_of(b)):
                return before, revision_of(a), kind, revision_of(b)
    return None


def unique(w, model, matches):
    seen = set()
    for kind, o in w.events:
        if revision_of(o) in seen:
            return kind, o
        seen.add(revision_of(o))
    return None


def reliable(w, model, matches):
    heard = [(kind, revision_of(o), key_of(o)) for kind, o in w.events]
    should = [e for e in expected(w, model, matches) if e[1] <= w.revision]
    heard_revisions = {e[1] for e in heard}
    missing = [e for e in should if e[1] not in heard_revisions]
    invented = {e[1] for e in heard} - {e[1] for e in should}
    if missing or any(r <= model.until for r in invented):
        return "missing", missing[:5], "not in the log", sorted(invented)[:5]
    return None


def resumable(w, model, matches):
    should = expected(w, model, matches)
    for s in w.sessions:
        first = next((revision_of(o) for kind, o in s.events if kind != "BOOKMARK"), None)
        if first is None or first > model.until:
            continue
        wanted = next((e[1] for e in should if e[1] > s.after), None)
        if first != wanted:
            return "after", s.after, "heard", first, "wanted", wanted
    return None


def bookmarkable(w, model, matches):
    for s in w.sessions:
        mark = 0
        for kind, o in s.events:
            if kind == "BOOKMARK":
                mark = max(mark, revision_of(o))
            elif revision_of(o) <= mark:
                return mark, kind, o
    return None


def is_create(w, model, matches):
    known = {k for k, o in model.at(w.first).items() if matches(o)}
    for kind, o in w.events:
        key = key_of(o)
        if (kind == "ADDED") == (key in known) and kind != "DELETED":
            return kind, o
        (known.discard if kind == "DELETED" else known.add)(key)
    return None


def previous(w, model, matches):
    last = {k: o for k, o in model.at(w.first).items() if matches(o)}

    def core(o):
        meta = {k: v for k, v in o["metadata"].items() if k not in IGNORED_IN_LAST_STATE}
        return dict(o, metadata=meta)
    for kind, o in w.events:
        if kind == "DELETED" and core(last.get(key_of(o), o)) != core(o):
            return last.get(key_of(o)), o
        if kind == "DELETED":
            last.pop(key_of(o), None)
        else:
            last[key_of(o)] = o
    return None


def atomic(client, model):
    """Lists at revisions of the past are the model at them."""
    past = [revision_of(o) for _, o in model.events]
    for r in past[:: max(1, len(past) // 20)]:
        code, _, text = client.raw("GET", url_of(model.plural), resourceVersion=str(r),
                                   resourceVersionMatch="Exact")
        if code == 410 and model.trimmed:
            continue
        if code != 200:
            return r, code, text[:300]
        listed, wanted = revisions(json.loads(text)["items"]), revisions(model.at(r).values())
        if listed != wanted:
            return r, {k: (listed.get(k), wanted.get(k)) for k in {*listed, *wanted}
                       if listed.get(k) != wanted.get(k)}
    return None


# All but atomic, which is about lists: (watch, model, matches) -> None, or what is wrong.
VALIDATORS = {"filter": filter_, "ordered": ordered, "unique": unique, "reliable": reliable,
              "resumable": resumable, "bookmarkable": bookmarkable, "is-create": is_create,
              "previous value": previous}


def validate(client, watches, trimmed=False):
    """Checks all nine over watches of one API server; they are stopped by it. Of each resource the
    one that began first must be without a selector. trimmed: the log may have lost its beginning;
    then the first watch is the model of the others."""
    by_resource = {}
    for w in watches:
        by_resource.setdefault(w.plural, []).append(w)
    # Reading the log takes a second each, of waiting.
    with concurrent.futures.ThreadPoolExecutor(len(by_resource)) as pool:
        for done in [pool.submit(validate_resource, client, plural, group, trimmed)
                     for plural, group in by_resource.items()]:
            done.result()
    return sum(len(w.events) for w in watches), sum(len(w.sessions) for w in watches)


def validate_resource(client, plural, group, trimmed):
    oldest = min((w for w in group if not w.params and not w.namespace),
                 key=lambda w: w.first)  # it knows every object as of then
    if trimmed:
        oldest.stop()
    model = (Model.heard(oldest) if trimmed else
             Model(client, plural, oldest.first, oldest.listed))
    for w in group:
        await_all(w, model)
        w.stop()
        validate_one(w, model)
    found = atomic(client, model)
    if found:
        raise Failure(f"lists of {plural} are not atomic: {found!r}"[:4000])


def await_all(w, model):
    """Until it heard everything that it should have: one that lags for ever is not reliable."""
    should = expected(w, model, selected(w))
    if should and not w.stopped:
        w.await_revision(should[-1][1])


def validate_one(w, model):
    if w.errors:
        raise Failure(f"the watch of {w.name} ended: {w.errors}")
    matches = selected(w)
    for name, validator in VALIDATORS.items():
        found = validator(w, model, matches)
        if found:
            raise Failure(f"the watch of {w.name} is not {name}: {found!r}"[:4000])
