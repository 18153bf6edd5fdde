"""Shadow times for quota (quota-tree/kueue_shadow.h; EASY backfill, reliability-performance.md E.1):
when those who starve would be admitted, if everybody kept his quota until his end and nobody new
came. Every moment at which somebody ends is tried, the first one first."""
import copy
from dataclasses import dataclass

import preempt
from assign import ASSIGN_FIT, Assigner
from spec import Workload


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
