"""Shadow times for quota (quota-tree/kueue_shadow.h; EASY backfill, reliability-performance.md E.1):
when those who starve would be admitted, if everybody kept his quota until his end and nobody new
came. Every moment at which somebody ends is tried, the first one first. And who may be started
before them: each is charged beside what is held at the shadow time, and it must still fit."""
import copy
from dataclasses import dataclass

import preempt
from assign import ASSIGN_FIT, Assigner
from cohorts import sub
from spec import UNLIMITED, Workload


@dataclass
class Held:
    queue: str
    uses: dict
    end: int  # None: nobody knows
    holder: Workload = None  # None: quota kept for one that waits


def would_take(hub, w, held):
    """What it would be charged beside these; None when it would not be admitted."""
    by_queue = {}
    for h in held:
        mine = by_queue.setdefault(h.queue, {})
        for cell, amount in h.uses.items():
            mine[cell] = mine.get(cell, 0) + amount
    forest = hub.forest().holding(by_queue)
    fresh = copy.copy(w)
    fresh.last = None
    scene = preempt.Scene(forest, [h.holder for h in held if h.holder], hub.options, hub.usages())
    a = Assigner(forest, fresh, hub.options, preempt.oracle(scene, fresh)).assign()
    return a.uses() if a.mode() == ASSIGN_FIT else None


def cast(hub, waiting, ends, now):
    """waiting: (name, how long it will hold its quota, or None), in their order; ends: when holders
    end. Returns (name, when or None, uses); None when somebody would be admitted at one moment and
    not at a later one: his pod sets take each other's flavors then, or he would rather preempt. The
    engine searches by halves, and may find the later time."""
    held = [Held(w.queue, w.uses, ends.get(w.name), w) for w in hub.running()]
    out = []
    for name, limit in waiting:
        w = hub.workloads[name]
        moments = sorted({now} | {h.end for h in held if h.end is not None and h.end > now})
        takes = [would_take(hub, w, [h for h in held if h.end is None or h.end > moment])
                 for moment in moments]
        fits = [uses is not None for uses in takes]
        if fits != sorted(fits):
            return None
        if not any(fits):
            out.append((name, None, {}))
            continue
        at = fits.index(True)
        out.append((name, moments[at], takes[at]))
        # For those behind it its quota is gone from now on, until it ends.
        held.append(Held(w.queue, takes[at], None if limit is None else moments[at] + limit))
    return out


class Waiting:
    """One of cast()'s: who has a shadow time (or None), and what is held then."""

    def __init__(self, queue, at, uses, forest):
        self.queue, self.at, self.uses, self.forest = queue, at, uses, forest
        self.taken = False  # somebody passed it since it was cast

    def sides(self, forest):
        """Children of its ancestors that are not its ancestors: what they may take back."""
        path = [("q", self.queue)] + forest.path(("q", self.queue))
        return [c for below, above in zip(path, path[1:]) for c in forest.children(above)
                if c != below]

    def lenders_use_theirs(self, forest):
        """Every side uses what its own quota leaves it of the cells in question. One that has them
        without an end never takes what others need: where it lends, there is no end either."""
        beside = {}
        for side in self.sides(forest):
            rooms = {cell: sub(forest.subtree(side, cell), forest.usage(side, cell))
                     for cell, v in self.uses.items() if v}
            beside[side] = {cell: room for cell, room in rooms.items() if 0 < room < UNLIMITED}
        return forest.charged_beside(beside), beside

    def lenders(self):
        """The names that may be told as the one that could take back the most; empty when it fits
        even if all of them do."""
        filled, beside = self.lenders_use_theirs(self.forest)
        if filled.fits(self.queue, self.uses):
            return []
        sums = {side: sum(rooms.values()) for side, rooms in beside.items()}
        return sorted(side[1] for side, n in sums.items() if n == max(sums.values()))

    def fits_beside(self, queue, uses):
        """In the cells of `uses`: what a lender took of others is another matter."""
        after = self.forest.charged(queue, uses)
        if not self.lenders():
            after, _ = self.lenders_use_theirs(after)
        return after.fits(self.queue, {cell: self.uses[cell] for cell in uses})

    def side_of(self, forest, queue):
        """The last node on the other's path before it meets this one's; None: they never do, or
        it is the same queue."""
        mine = [("q", self.queue)] + forest.path(("q", self.queue))
        theirs = [("q", queue)] + forest.path(("q", queue))
        if theirs[-1] != mine[-1] or queue == self.queue:
            return None
        return [n for n in theirs if n not in mine][-1]

    def lets(self, now, queue, uses, end):
        """Whether these may be charged to the queue until `end` (None: nobody knows): "yes", "no",
        or "either" where the engine may be careful: it does not look below the place where the two
        paths meet, nor twice at what was let before. `now`: what is held now."""
        if self.at is None:
            return "no" if queue == self.queue else "yes"
        if end is not None and end <= self.at or \
                now.root(("q", queue)) != now.root(("q", self.queue)):
            return "yes"
        side = self.side_of(now, queue)
        after = now.charged(queue, uses)
        count = {cell: v for cell, v in uses.items() if v and self.uses.get(cell) and
                 (side is None or after.borrows_with(side, cell))}
        if not count:
            return "yes"
        if not self.fits_beside(queue, count):
            return "no"
        below = [("q", queue)] + now.path(("q", queue))
        below = below[:below.index(side) + 1] if side else []
        careful = self.taken or any(now.local(n, cell) for n in below for cell in count)
        return "either" if careful else "yes"

    def took(self, queue, uses, end):
        """They were charged."""
        self.taken = True
        if self.at is not None and (end is None or end > self.at):
            self.forest = self.forest.charged(queue, uses)


def scenes(hub, waiting, times, ends):
    """The Waiting of each that cast() has looked at, in its order."""
    held = [Held(w.queue, w.uses, ends.get(w.name), w) for w in hub.running()]
    out = []
    for (name, limit), (_, at, uses) in zip(waiting, times):
        queue = hub.workloads[name].queue
        by_queue = {}
        for h in held:
            if at is None or h.end is None or h.end > at:
                mine = by_queue.setdefault(h.queue, {})
                for cell, amount in h.uses.items():
                    mine[cell] = mine.get(cell, 0) + amount
        out.append(Waiting(queue, at, uses, hub.forest().holding(by_queue)))
        if at is not None:
            held.append(Held(queue, uses, None if limit is None else at + limit))
    return out
