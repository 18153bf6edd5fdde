#!/usr/bin/env python3
"""Each of the validators finds what it is there for: histories with one thing wrong."""

import copy
import json
import unittest

from muster_test.story import Failure
from muster_test.validators import VALIDATORS, Model, atomic, selected, validate_one


def thing(name, revision, colour="red", value=0):
    return {"metadata": {"namespace": "default", "name": name, "resourceVersion": str(revision),
                         "labels": {"colour": colour}}, "data": value}


# What happened: revision 10 was there at the beginning.
BEGIN = [thing("a", 10)]
LOG = [("ADDED", thing("b", 11)), ("MODIFIED", thing("a", 12, value=1)),
       ("ADDED", thing("c", 14, "blue")), ("MODIFIED", thing("b", 15, value=2)),
       ("MODIFIED", thing("a", 16, "blue", value=1)), ("DELETED", thing("b", 18, value=2)),
       ("ADDED", thing("b", 20, value=3))]
# What a watch of what is red hears of it: a turned blue, so it is gone, and was last red.
RED = [LOG[0], LOG[1], LOG[3], ("DELETED", thing("a", 16, value=1)), LOG[5], LOG[6]]


class FakeSession:
    def __init__(self, after, events):
        self.after, self.events = after, events


class FakeWatch:
    """What a Watch recorded: sessions of (begin, [(type, object)])."""

    def __init__(self, sessions, **params):
        self.name = self.plural = "configmaps"
        self.namespace, self.params, self.errors = None, params, []
        self.first, self.listed = 10, BEGIN
        self.sessions = [FakeSession(after, events) for after, events in sessions]
        self.events = [e for s in self.sessions for e in s.events if e[0] != "BOOKMARK"]
        self.revision = max(int(o["metadata"]["resourceVersion"])
                            for s in self.sessions for _, o in s.events)


def bookmark(revision):
    return "BOOKMARK", {"metadata": {"resourceVersion": str(revision)}}


def model():
    m = Model.heard(FakeWatch([(10, LOG)]))
    m.trimmed = False
    return m


class FakeClient:
    """Answers a LIST at a revision with what the function says."""

    def __init__(self, items_at):
        self.items_at = items_at

    def raw(self, method, path, resourceVersion, resourceVersionMatch):
        return 200, {}, json.dumps({"items": self.items_at(int(resourceVersion))})


class Validators(unittest.TestCase):
    def finds(self, name, *sessions, **params):
        """That validator finds something wrong with a watch."""
        w = FakeWatch(sessions, **params)
        found = VALIDATORS[name](w, model(), selected(w))
        self.assertIsNotNone(found, f"{name} finds nothing")
        with self.assertRaises(Failure):
            validate_one(w, model())

    def test_nothing_is_wrong_with_a_right_history(self):
        validate_one(FakeWatch([(10, LOG)]), model())
        validate_one(FakeWatch([(10, RED)], labelSelector="colour=red"), model())
        validate_one(FakeWatch([(10, [*LOG[:3], bookmark(14)]), (14, LOG[3:])]), model())
        validate_one(FakeWatch([(10, LOG[:3]), (14, []), (14, [bookmark(14)]), (14, LOG[3:])]),
                     model())

    def test_filter_finds_an_object_that_does_not_match(self):
        self.finds("filter", (10, [*RED[:2], LOG[2], *RED[2:]]), labelSelector="colour=red")

    def test_filter_finds_a_deletion_of_what_never_matched(self):
        self.finds("filter", (10, [*RED, ("DELETED", thing("c", 21, "blue"))]),
                   labelSelector="colour=red")

    def test_ordered_finds_a_step_back(self):
        self.finds("ordered", (10, [LOG[1], LOG[0], *LOG[2:]]))

    def test_ordered_finds_a_bookmark_that_steps_back(self):
        self.finds("ordered", (10, [*LOG, bookmark(19)]))

    def test_unique_finds_a_repeat_over_sessions(self):
        self.finds("unique", (10, LOG[:3]), (14, [LOG[2], *LOG[3:]]))

    def test_reliable_finds_a_gap(self):
        self.finds("reliable", (10, [*LOG[:3], *LOG[4:]]))

    def test_reliable_finds_a_gap_between_sessions(self):
        self.finds("reliable", (10, LOG[:3]), (15, LOG[4:]))

    def test_reliable_finds_what_never_happened(self):
        self.finds("reliable", (10, [*LOG[:2], ("ADDED", thing("d", 13)), *LOG[2:]]))

    def test_resumable_finds_a_session_that_begins_too_late(self):
        self.finds("resumable", (10, LOG[:3]), (14, LOG[4:]))

    def test_resumable_finds_a_session_that_begins_too_early(self):
        self.finds("resumable", (10, LOG[:3]), (14, LOG[2:]))

    def test_bookmarkable_finds_an_event_behind_its_bookmark(self):
        self.finds("bookmarkable", (10, [*LOG[:2], bookmark(14), *LOG[2:]]))

    def test_is_create_finds_a_first_event_that_is_no_creation(self):
        self.finds("is-create", (10, [("MODIFIED", LOG[0][1]), *LOG[1:]]))

    def test_is_create_finds_a_second_creation(self):
        self.finds("is-create", (10, [LOG[0], ("ADDED", LOG[1][1]), *LOG[2:]]))

    def test_previous_value_finds_a_deletion_with_an_older_state(self):
        old = copy.deepcopy(LOG[5])
        old[1]["data"] = 0
        self.finds("previous value", (10, [*LOG[:5], old, LOG[6]]))

    def test_atomic_finds_a_list_that_mixes_two_revisions(self):
        m = model()
        self.assertIsNone(atomic(FakeClient(lambda r: list(m.at(r).values())), m))
        self.assertIsNotNone(atomic(FakeClient(lambda r: list(m.at(r + 1).values())), m))

    def test_an_error_of_the_stream_is_one(self):
        w = FakeWatch([(10, LOG)])
        w.errors = [(410, b"Expired")]
        with self.assertRaises(Failure):
            validate_one(w, model())

    def test_nine(self):
        self.assertEqual(len(VALIDATORS) + 1, 9)


if __name__ == "__main__":
    unittest.main()
