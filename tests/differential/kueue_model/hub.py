"""The whole cycle (reference 2.1 to 2.3, 2.8): queues, nomination, order, admission, requeue."""
from functools import cmp_to_key

import preempt
from assign import (ASSIGN_DEFERRED, ASSIGN_FIT, ASSIGN_NO_FIT, ASSIGN_PREEMPT, Assigner)
from checks import Checked
from cohorts import Forest, compare
from spec import HOLDS, Options


class Entry:
    def __init__(self, wl, assignment, victims):
        self.wl, self.assignment, self.victims = wl, assignment, victims
        self.status = "not nominated"  # or skipped, admitted, preempting
        self.requeue = ""              # why it goes back, as Kueue's RequeueReason
        self.reason = ""               # why it waits: QuotaReserved=False


class Hub(Checked):
    def __init__(self, options=None):
        self.options = options or Options()
        self.flavors, self.cohorts, self.queues, self.workloads = {}, {}, {}, {}
        self.generation = {}  # of a queue: grows when something may be freed
        self.sticky = {}      # queue -> the preemptor that waits for its victims
        self.preemptor = {}   # the same of StrictFIFO queues too, where nothing is sticky
        self.bulk = {}        # queue -> {shape: reason}: hopeless ones that are not tried
        self.usage = {}       # queue with AdmissionFairSharing -> LocalQueue -> consumed
        self.cycle = 0
        self.attempted = set()
        self.trying = {}      # queue -> (its head, tries since something changed)
        self.overtaken = False  # somebody was admitted to quota that victims still hold

    # the world
    def forest(self):
        held = {}
        for w in self.workloads.values():
            if w.state in HOLDS:
                mine = held.setdefault(w.queue, {})
                for cell, amount in w.uses.items():
                    mine[cell] = mine.get(cell, 0) + amount
        return Forest(self.flavors, self.cohorts, self.queues, held)

    def running(self):
        return [w for w in self.workloads.values() if w.state in HOLDS]

    def edited(self, objects, name, value=None):
        """Sets or deletes an object. Who waits in the trees that it is or was in is tried again
        (Kueue wakes the new one); everybody after an edit of a flavor."""
        touched = self.around(objects, name)
        if value is None:
            objects.pop(name, None)
        else:
            objects[name] = value
        for q in touched | self.around(objects, name):
            self.generation[q] = self.generation.get(q, 0) + 1
            self.wake_queue(q)

    def around(self, objects, name):
        """The queues in the tree of a queue or a cohort."""
        if objects is self.flavors:
            return set(self.queues)
        forest = self.forest()
        node = ("q" if objects is self.queues else "c", name)
        if name not in (forest.queues if node[0] == "q" else forest.cohorts):
            return set()
        root = forest.root(node)
        return {q[1] for q in ([root] if root[0] == "q" else forest.subtree_queues(root))}

    def wake_queue(self, queue):
        self.bulk[queue] = {}
        for w in self.workloads.values():
            if w.queue == queue and w.state == "parked":
                w.state = "pending"

    def wake_tree(self, queue):
        """Something was freed in this queue: all of its cohort tree is tried again."""
        forest = self.forest()
        if queue not in self.queues or forest.in_cycle(("q", queue)):
            return
        root = forest.root(("q", queue))
        for q in (forest.subtree_queues(root) if root[0] == "c" else [root]):
            self.wake_queue(q[1])

    # workloads
    def add(self, w):
        self.workloads[w.name] = w
        w.uid = w.uid or w.name
        w.queue_order = w.queue_order or w.created
        self.enqueue(w)

    def enqueue(self, w):
        w.last, w.told, w.listed = None, "", True
        w.state = "pending"
        if self.hopeless(w):
            w.state, w.reason = "parked", self.bulk[w.queue][w.shape()]

    def hopeless(self, w):
        return w.queue in self.queues and \
            self.queues[w.queue].strategy == "BestEffortFIFO" and \
            w.shape() in self.bulk.get(w.queue, {})

    def remove(self, name):
        """Finished or deleted."""
        w = self.workloads.pop(name)
        self.forget(w)
        if w.state in HOLDS:
            self.freed(w)

    def forget(self, w):
        for waiting in (self.sticky, self.preemptor):
            if waiting.get(w.queue) == w.name:
                del waiting[w.queue]

    def freed(self, w):
        self.generation[w.queue] = self.generation.get(w.queue, 0) + 1
        self.wake_tree(w.queue)

    def evict(self, name, reason=""):
        """By somebody else than the cycle; it holds its quota until released()."""
        w = self.workloads[name]
        w.state, w.evicted_as = "evicted", reason

    def released(self, name, hold=False, listed=False, order=None, now=0):
        """An evicted one has stopped; `order`: it goes to the back, as who must retry."""
        w = self.workloads[name]
        if order is not None:
            w.queue_order = order
        w.state, w.uses, w.flavors, w.counts = "pending", {}, [], []
        self.freed(w)
        self.enqueue(w)
        if hold:
            self.hold(name, listed)
        self.keep_back(w, now)

    def hold(self, name, listed):
        """`listed`: it goes on counting as pending (its requeueAt lies ahead)."""
        w = self.workloads[name]
        w.state, w.told, w.listed = "held", "", listed
        self.forget(w)  # it waits for no victims now

    def unhold(self, name):
        self.enqueue(self.workloads[name])

    def set_priority(self, name, priority):
        w = self.workloads[name]
        w.priority = priority
        if w.state in ("pending", "parked"):
            self.enqueue(w)

    # the cycle
    def in_order(self, queue):
        """The heap of a queue."""
        waiting = [w for w in self.workloads.values() if w.queue == queue and w.state == "pending"]
        return self.sort(queue, waiting)

    def sort(self, queue, waiting):
        usage = self.usages().get(queue, {})
        return sorted(waiting, key=lambda w: (
            usage.get(w.local, 0), self.sticky.get(queue) != w.name, -w.priority, w.queue_order,
            w.uid))

    def usages(self):
        return {q: self.usage.get(q, {}) for q in self.queues
                if self.queues[q].admission_fair_sharing}

    def run_cycle(self, now):
        """Returns what was decided: [("admit", name, flavors, counts) |
        ("preempt", name, [(victim, reason)])]."""
        self.cycle += 1
        self.now = now
        forest = self.forest()
        heads = []
        for q in sorted(self.queues):
            if forest.active(q):
                heads += self.in_order(q)[:1]
        entries = [self.nominate(w, forest) for w in heads]
        waiting = [w for w in heads if self.preemptor.get(w.queue) == w.name]
        for e in entries:
            # Apart from Kueue's order: a victim goes behind all while its preemptor is there.
            e.is_victim = any(e.wl.gone_for is w for w in waiting)
        decisions = []
        held, gone = forest, {}  # gone: victims of this cycle
        left = list(entries)
        while left:
            e = self.next_entry(left, held)
            left.remove(e)
            held = self.process(e, held, gone, decisions)
        for e in entries:
            if e.status != "admitted":
                self.requeue(e)
        return decisions

    def assigned(self, w, forest, pinned=None, running=None):
        if w.last is not None and self.outdated(w):
            w.last = None
        scene = preempt.Scene(forest, self.running() if running is None else running, self.options,
                              self.usages())
        assigner = Assigner(forest, w, self.options, preempt.oracle(scene, w),
                            self.generation.get(w.queue, 0), self.cycle, pinned)
        full = assigner.assign()
        if full.mode() == ASSIGN_FIT:
            return full, []
        if full.mode() == ASSIGN_PREEMPT:
            victims = preempt.targets(scene, w, full.uses(), full.need_preemption())
            if victims:
                return full, victims
        if self.options.partial_admission and any(p.min_count for p in w.pod_sets):
            found = self.reduced(w, assigner, scene)
            if found:
                return found
        return full, []

    def outdated(self, w):
        if self.options.preserve_scan_progress:
            if self.options.equivalence_hashing and w.last.shape != w.shape():
                return True
            if self.cycle - w.last.cycle <= 1:
                return False
        return self.generation.get(w.queue, 0) > w.last.generation

    def reduced(self, w, assigner, scene):
        """Partial admission: binary search over how many pods less."""
        deltas = [p.count - (p.min_count or p.count) for p in w.pod_sets]
        total = sum(deltas)
        if not total:
            return None

        def attempt(i):
            counts = [p.count - d * i // total for p, d in zip(w.pod_sets, deltas)]
            a = assigner.assign(counts)
            if a.mode() == ASSIGN_FIT:
                return a, []
            if a.mode() == ASSIGN_PREEMPT:
                victims = preempt.targets(scene, w, a.uses(), a.need_preemption())
                if victims:
                    return a, victims
            return None
        low, high, good, found = 0, total + 1, None, None
        while low < high:
            mid = (low + high) // 2
            r = attempt(mid)
            if r:
                good, found, high = mid, r, mid
            else:
                low = mid + 1
        return found if good == low else None

    def nominate(self, w, forest):
        assignment, victims = self.assigned(w, forest)
        w.last = assignment.progress
        return Entry(w, assignment, victims)

    def next_entry(self, left, forest):
        if self.options.fair_sharing:
            return self.fairest(left, forest)

        def key(e):
            priority = -e.wl.priority if self.options.priority_sorting_within_cohort else 0
            return (self.is_behind(e), e.is_victim, e.assignment.borrow(), priority, e.wl.queue_order, e.wl.uid)
        return min(left, key=key)

    def is_behind(self, e):
        """With the gate PrioritizePreemptorWorkloads whoever waits for no victims."""
        return self.options.prioritize_preemptors and \
            self.preemptor.get(e.wl.queue) != e.wl.name

    def fairest(self, left, forest):
        """A tournament in the tree of the first one left."""
        by_queue = {("q", e.wl.queue): e for e in left}
        first = min(by_queue)
        root = forest.root(first)
        if root == first:
            return by_queue[first]

        def less(a, b, cohort):
            """Whether a goes before b among the children of the cohort."""
            if self.is_behind(a) != self.is_behind(b):
                return 1 if self.is_behind(a) else -1
            if a.is_victim != b.is_victim:
                return 1 if a.is_victim else -1
            sa, sb = share(a, cohort), share(b, cohort)
            if self.options.prioritize_non_borrowing:
                ba, bb = sa.borrows_on(a.assignment.uses()), sb.borrows_on(b.assignment.uses())
                if ba != bb:
                    return -1 if bb else 1
            c = compare(sa, sb)
            if c:
                return c
            if self.options.priority_sorting_within_cohort and a.wl.priority != b.wl.priority:
                return b.wl.priority - a.wl.priority
            ka, kb = (a.wl.queue_order, a.wl.uid), (b.wl.queue_order, b.wl.uid)
            return (ka > kb) - (ka < kb)

        def share(e, cohort):
            after = forest.charged(e.wl.queue, e.assignment.uses())
            path = [("q", e.wl.queue)] + forest.path(("q", e.wl.queue))
            return after.share(path[path.index(cohort) - 1])

        def winner(cohort):
            candidates = [winner(c) for c in forest.child_cohorts(cohort)]
            candidates += [by_queue.get(q) for q in forest.child_queues(cohort)]
            candidates = [c for c in candidates if c]
            return min(candidates, key=cmp_to_key(lambda a, b: less(a, b, cohort))) \
                if candidates else None
        return winner(root)

    def process(self, e, held, gone, decisions):
        """Decides one entry; returns the forest with what it holds from now on."""
        w, queue = e.wl, self.queues[e.wl.queue]
        fits = self.fits(e, held, gone)
        if self.options.recompute_on_overlap and any(v.name in gone for v, _ in e.victims):
            self.recompute(e, held, gone)
            fits = self.fits(e, held, gone)
        mode, uses = e.assignment.mode(), e.assignment.uses()
        if mode == ASSIGN_NO_FIT:
            e.requeue, e.reason = "NoFit", e.assignment.no_fit_reason(queue)
            return held
        if mode == ASSIGN_PREEMPT and not e.victims:
            e.requeue, e.reason = "PreemptionNoCandidates", "WaitingForQuota"
            if queue.reclaim != "Any":
                return held.charged(w.queue, self.to_reserve(e, held))
            return held
        if mode == ASSIGN_DEFERRED:
            e.requeue, e.reason = "PendingPreemption", "WaitingForPreemptedWorkloads"
            w.last = None
            return held.charged(w.queue, uses)
        if any(v.name in gone for v, _ in e.victims) or not fits:
            e.status, e.reason = "skipped", "WaitingForQuota"
            if not self.options.preserve_scan_progress:
                w.last = None
            return held
        for v, _ in e.victims:
            gone[v.name] = v
        if mode == ASSIGN_PREEMPT:
            self.preempt(e, decisions)
        else:
            self.admit(e, decisions)
        return held.charged(w.queue, uses)

    def fits(self, e, held, gone):
        without = held
        merged = {**gone, **{v.name: v for v, _ in e.victims}}
        for v in merged.values():
            without = without.charged(v.queue, v.uses, -1)
        if not without.fits(e.wl.queue, e.assignment.uses()):
            return False
        if self.options.freed_counts_when_gone and e.assignment.mode() == ASSIGN_FIT:
            return self.forest().fits(e.wl.queue, e.assignment.uses())
        return True

    def recompute(self, e, held, gone):
        """Its victims overlap with those of an earlier entry: again, as if those were gone."""
        w = e.wl
        w.last = None
        pinned = [{r: c.flavor for r, c in p.flavors.items()} for p in e.assignment.pod_sets]
        pinned += [{}] * (len(w.pod_sets) - len(pinned))
        later = held
        for v in gone.values():
            later = later.charged(v.queue, v.uses, -1)
        e.assignment, e.victims = self.assigned(
            w, later, pinned, [r for r in self.running() if r.name not in gone])
        w.last = e.assignment.progress
        if e.assignment.mode() == ASSIGN_FIT:
            e.assignment.forced = ASSIGN_DEFERRED

    def to_reserve(self, e, held):
        out = {}
        for cell, v in e.assignment.uses().items():
            quota = held.quota(("q", e.wl.queue), cell)
            used = held.usage(("q", e.wl.queue), cell)
            if e.assignment.borrow() > 0:
                # Below zero where an edit left the queue above its limit: Kueue then writes less
                # at the queue alone, never above it (addUsage), so that no other queue gains.
                out[cell] = v if quota.borrowing is None else \
                    max(0, min(v, quota.nominal + quota.borrowing - used))
            else:
                out[cell] = max(0, min(v, quota.nominal - used))
        return out

    def preempt(self, e, decisions):
        new = [(v.name, why) for v, why in e.victims if v.state != "evicted"]
        for v, _ in e.victims:
            v.gone_for = v.gone_for or e.wl
            if v.state != "evicted":
                v.state, v.evicted_as = "evicted", "Preempted"
        e.requeue, e.reason = "PendingPreemption", "WaitingForPreemptedWorkloads"
        e.wl.last = None
        if new:
            decisions.append(("preempt", e.wl.name, new))

    def admit(self, e, decisions):
        w = e.wl
        self.overtaken = self.overtaken or not self.forest().fits(w.queue, e.assignment.uses())
        w.uses = e.assignment.uses()
        w.flavors = [{r: c.flavor for r, c in p.flavors.items()} for p in e.assignment.pod_sets]
        w.gone_for = None
        self.begin_checks(w)
        w.counts = [p.count for p in e.assignment.pod_sets]
        w.reserved_at, w.reason, w.told, w.last = self.now, "", "", None
        self.forget(w)
        e.status = "admitted"
        decisions.append(("admit", w.name, w.flavors, w.counts))

    def requeue(self, e):
        w, queue = e.wl, self.queues[e.wl.queue]
        w.reason = w.told = e.reason
        self.attempted.add(w.name)
        if e.status == "skipped" and not e.requeue:
            e.requeue = "FailedAfterNomination"
        if e.requeue == "PendingPreemption":
            # An edit of the strategy does not change what a preemptor is.
            self.sticky[w.queue] = w.name if queue.strategy == "BestEffortFIFO" else None
            self.preemptor[w.queue] = w.name
            self.trying.pop(w.queue, None)
        else:
            for waiting in (self.sticky, self.preemptor):
                if waiting.get(w.queue) == w.name:
                    waiting[w.queue] = None
        at_once = queue.strategy == "StrictFIFO" or \
            e.requeue in ("FailedAfterNomination", "PendingPreemption")
        if at_once or (w.last is not None and w.last.pending() and self.goes_on_trying(w)):
            return
        w.state, w.last = "parked", None
        if self.options.equivalence_hashing and queue.strategy == "BestEffortFIFO":
            self.bulk.setdefault(w.queue, {})[w.shape()] = e.reason
            for other in self.workloads.values():
                if other.queue == w.queue and other.state == "pending" and \
                        other.shape() == w.shape():
                    other.state, other.reason = "parked", e.reason

    def goes_on_trying(self, w):
        """Two pod sets may take turns in leaving flavors for ever. Kueue's queue is blocked then;
        here one gives up when every flavor has been first and nothing has changed meanwhile."""
        name, tries = self.trying.get(w.queue, (None, 0))
        tries = tries + 1 if name == w.name else 1
        self.trying[w.queue] = (w.name, tries)
        return tries <= 2 + sum(len(g.flavors) for g in self.queues[w.queue].groups)

    def run(self, now, most=200):
        """Cycles until nothing moves; all decisions in order. Afterwards told_idle has what each
        one's attempts said since the last decision, and attempted is who had one. `restless`: somebody with several pod sets
        goes round its flavors for ever (the head of a StrictFIFO queue, or one that waits for its
        victims); what comes next depends on the moment."""
        out, seen = [], []
        self.told_idle, self.trying, self.attempted = {}, {}, set()
        for _ in range(most):
            decided = self.run_cycle(now)
            out += decided
            if decided:
                seen, self.told_idle, self.trying = [], {}, {}
                continue
            for w in self.workloads.values():
                self.told_idle.setdefault(w.name, set()).add(w.told)
            mark = self.signature()
            if mark in seen:
                self.restless = len(seen) - seen.index(mark) > 1
                return out
            seen.append(mark)
        raise RuntimeError("no end")

    def signature(self):
        return (tuple(sorted((w.name, w.state, repr(w.last and w.last.tried))
                             for w in self.workloads.values())),
                tuple(sorted(self.sticky.items(), key=str)), tuple(sorted(self.trying.items())))

    def check(self):
        """What must hold after every step: nobody above a limit that no edit has lowered."""
        forest = self.forest()
        broken = []
        for node in [("q", q) for q in self.queues] + [("c", c) for c in forest.cohorts]:
            for cell in forest.cells(node):
                limit = forest.borrowing_limit(node, cell)
                if not forest.parent(node):
                    most = forest.subtree(node, cell)
                elif limit is not None:
                    most = forest.subtree(node, cell) + limit
                else:
                    continue
                if forest.usage(node, cell) > most:
                    broken.append((node, cell, forest.usage(node, cell), most))
        return broken
