"""Who has to go (reference 2.6 classical, 2.7 fair sharing)."""
from assign import NO_CANDIDATES, PREEMPT, RECLAIM
from cohorts import compare

WITHIN, RECLAMATION = "InClusterQueue", "InCohortReclamation"
FAIR, WHILE_BORROWING = "InCohortFairSharing", "InCohortReclaimWhileBorrowing"


class Scene:
    """What a search works on: a forest, and who holds quota in it."""

    def __init__(self, forest, running, options, usage=None):
        self.forest, self.running, self.options = forest, list(running), options
        self.usage = usage or {}  # queue -> LocalQueue -> what it consumed

    def without(self, *workloads):
        forest = self.forest
        for w in workloads:
            forest = forest.charged(w.queue, w.uses, -1)
        gone = {w.name for w in workloads}
        return Scene(forest, [w for w in self.running if w.name not in gone], self.options,
                     self.usage)

    def with_usage(self, queue, uses, sign=1):
        return Scene(self.forest.charged(queue, uses, sign), self.running, self.options,
                     self.usage)


def allowed(policy, preemptor, candidate):
    if policy == "Any":
        return True
    if policy == "LowerPriority":
        return candidate.priority < preemptor.priority
    if policy == "LowerOrNewerEqualPriority":
        return candidate.priority < preemptor.priority or (
            candidate.priority == preemptor.priority and
            candidate.queue_order > preemptor.queue_order)
    return False


def order_of(own_queue, usage=None):
    """Evicted first, others' queues before the own one, the heavier LocalQueue's where they share
    fairly, low priority, newest reservation, uid."""
    return lambda w: (w.state != "evicted", w.queue == own_queue, -(usage or {}).get(w.local, 0),
                      w.priority, -w.reserved_at, w.uid)


def uses_any(workload, cells):
    return any(cell in workload.uses for cell in cells)


def targets(scene, wl, uses, cells):
    """Victims, as [(workload, reason)], that let `uses` in; `cells` are those that lack room."""
    if scene.options.fair_sharing:
        return fair(scene, wl, uses, cells)
    return classical(scene, wl, uses, cells)


def oracle(scene, wl):
    """Answers for the flavor assigner whether preemption frees one cell."""
    def ask(cell, amount):
        victims = targets(scene, wl, {cell: amount}, {cell})
        after = scene.without(*[v for v, _ in victims]).forest
        level, _ = after.level_that_fits(wl.queue, cell, amount)
        if not victims:
            return NO_CANDIDATES, level
        own = any(v.queue == wl.queue for v, _ in victims)
        return (PREEMPT if own else RECLAIM), level
    return ask


def room(scene, wl, uses, borrowing):
    f = scene.forest
    for cell, amount in uses.items():
        if not borrowing and f.borrows_with(("q", wl.queue), cell, amount):
            return False
        if amount > f.available(wl.queue, cell):
            return False
    return True


def fill_back(scene, wl, uses, victims, borrowing):
    """From the last but one to the first: who can stay after all? The last takes the place of
    one that stays."""
    i = len(victims) - 2
    while i >= 0:
        others = victims[:i] + victims[i + 1:]
        if room(scene.without(*[v for v, _ in others]), wl, uses, borrowing):
            victims[i] = victims[-1]
            victims.pop()
        i -= 1
    return victims


# classical

def quantities_fit(forest, node, requests):
    """Whether the node's quota holds them, and what is left to ask of the parent."""
    fits = all(not forest.borrows_with(node, cell, v) for cell, v in requests.items())
    rest = {cell: max(0, v - forest.local_available(node, cell)) for cell, v in requests.items()}
    return fits, rest


class Candidate:
    def __init__(self, workload, ancestor, kind):
        self.workload, self.ancestor, self.kind = workload, ancestor, kind

    @property
    def reason(self):
        return {"same": WITHIN, "hierarchical": RECLAMATION, "no-borrowing": RECLAMATION,
                "borrowing": WHILE_BORROWING}[self.kind]


def kind_of(queue, wl, candidate, advantage):
    if advantage:
        return "hierarchical"
    if queue.borrow_policy == "Never" or candidate.priority >= wl.priority:
        return "no-borrowing"
    if queue.threshold is not None and candidate.priority > queue.threshold:
        return "no-borrowing"
    return "borrowing"


def collect_others(scene, wl, uses, cells):
    """Candidates of other queues: (with hierarchical advantage, without)."""
    forest, queue = scene.forest, scene.forest.queues[wl.queue]
    hierarchical, by_priority = [], []
    me = ("q", wl.queue)
    if not forest.parent(me) or queue.reclaim == "Never":
        return hierarchical, by_priority

    def visit(cohort, top, skip, advantage, out):
        for child in forest.child_cohorts(cohort):
            if child != skip and not forest.within_quota(child, cells):
                visit(child, top, skip, advantage, out)
        for child in forest.child_queues(cohort):
            if child == me or not forest.active(child[1]) or forest.within_quota(child, cells):
                continue
            for w in scene.running:
                if w.queue == child[1] and uses_any(w, cells) and allowed(queue.reclaim, wl, w):
                    out.append(Candidate(w, top, kind_of(queue, wl, w, advantage)))

    advantage, rest = quantities_fit(forest, me, uses)
    previous = None
    for top in forest.path(me):
        visit(top, top, previous, advantage, hierarchical if advantage else by_priority)
        fits, rest = quantities_fit(forest, top, rest)
        advantage = advantage or fits
        previous = top
    return hierarchical, by_priority


def valid(scene, wl, candidate, cells, borrowing):
    w = candidate.workload
    if w.queue == wl.queue:
        return True
    if borrowing and candidate.kind == "no-borrowing":
        return False
    forest = scene.forest
    if forest.within_quota(("q", w.queue), cells):
        return False
    for up in forest.path(("q", w.queue)):
        if up == candidate.ancestor:
            return True
        if forest.within_quota(up, cells):
            return False
    return True


def classical(scene, wl, uses, cells):
    forest, queue = scene.forest, scene.forest.queues[wl.queue]
    same = [Candidate(w, None, "same") for w in scene.running
            if w.queue == wl.queue and uses_any(w, cells) and allowed(queue.within, wl, w)]
    hierarchical, by_priority = collect_others(scene, wl, uses, cells)
    lists, key = [], order_of(wl.queue, scene.usage.get(wl.queue))
    for part in (hierarchical, by_priority, same):
        lists.append(sorted(part, key=lambda c: key(c.workload)))
    ordered = [c for part in lists for c in part if c.workload.state == "evicted"] + \
              [c for part in lists for c in part if c.workload.state != "evicted"]

    forbidden = queue.borrow_policy == "Never"
    under = all(forest.usage(("q", wl.queue), cell) < forest.nominal(("q", wl.queue), cell)
                for cell in cells)
    if not (hierarchical or by_priority) or (forbidden and not under):
        attempts = [True]
    elif forbidden and not hierarchical:
        attempts = [False, True]
    else:
        attempts = [True, False]
    for borrowing in attempts:
        victims, now = [], scene
        for c in ordered:
            if not valid(now, wl, c, cells, borrowing):
                continue
            now = now.without(c.workload)
            victims.append((c.workload, c.reason))
            if room(now, wl, uses, borrowing):
                return fill_back(scene, wl, uses, victims, borrowing)
    return []


# fair sharing

class Tournament:
    """Walks from the root into the child with the highest share (TargetClusterQueueOrdering)."""

    def __init__(self, wl, candidates, forest):
        self.wl, self.pruned = wl, set()
        self.me = ("q", wl.queue)
        self.ancestors = set(forest.path(self.me))
        self.waiting = {}
        for w in candidates:
            self.waiting.setdefault(("q", w.queue), []).append(w)

    def next_queue(self, forest):
        if not forest.parent(self.me):
            more = self.me not in self.pruned and self.waiting.get(self.me)
            return self.me if more else None
        root = forest.root(self.me)
        while root not in self.pruned:
            found = self.descend(forest, root)
            if found:
                return found
        return None

    def descend(self, forest, cohort):
        best_queue, best_queue_share = None, None
        for q in forest.child_queues(cohort):
            if q in self.pruned or not forest.active(q[1]):
                continue
            share = forest.share(q)
            if (not share.borrowing and q != self.me) or not self.waiting.get(q):
                self.pruned.add(q)
                continue
            c = 1 if best_queue is None else compare(share, best_queue_share)
            if c == 0:
                key = order_of(self.wl.queue)
                if key(self.waiting[q][0]) < key(self.waiting[best_queue][0]):
                    best_queue = q
            elif c > 0:
                best_queue, best_queue_share = q, share
        best_cohort, best_cohort_share = None, None
        for k in forest.child_cohorts(cohort):
            if k in self.pruned:
                continue
            share = forest.share(k)
            if not share.borrowing and k not in self.ancestors:
                self.pruned.add(k)
            elif best_cohort is None or compare(share, best_cohort_share) >= 0:
                best_cohort, best_cohort_share = k, share
        if best_queue is None and best_cohort is None:
            self.pruned.add(cohort)
            return None
        if best_queue is None or (best_cohort is not None and
                                  compare(best_cohort_share, best_queue_share) >= 0):
            return self.descend(forest, best_cohort)
        return best_queue


def almost_common(forest, own, other):
    """The two nodes just below the lowest common ancestor."""
    mine, theirs = [("q", own)] + forest.path(("q", own)), [other] + forest.path(other)
    common = next(n for n in theirs if n in mine)
    return mine[mine.index(common) - 1], theirs[theirs.index(common) - 1]


def fair(scene, wl, uses, cells):
    options, queue = scene.options, scene.forest.queues[wl.queue]
    forest, me = scene.forest, ("q", wl.queue)
    candidates = [w for w in scene.running
                  if w.queue == wl.queue and uses_any(w, cells) and allowed(queue.within, wl, w)]
    if forest.parent(me) and queue.reclaim != "Never":
        for q in forest.subtree_queues(forest.root(me)):
            if q == me or not forest.active(q[1]) or forest.within_quota(q, cells):
                continue
            candidates += [w for w in scene.running if w.queue == q[1] and uses_any(w, cells) and
                           allowed(queue.reclaim, wl, w)]
    if not candidates:
        return []
    candidates.sort(key=order_of(wl.queue, scene.usage.get(wl.queue)))

    victims = []
    # Shares are those with the incoming workload.
    state = {"now": scene.with_usage(wl.queue, uses)}

    def take(w, reason):
        state["now"] = state["now"].without(w)
        victims.append((w, reason))
        return room(state["now"].with_usage(wl.queue, uses, -1), wl, uses, True)

    def first_rule():
        retry = []
        tournament = Tournament(wl, candidates, forest)
        within_nominal = options.preempt_within_nominal and \
            state["now"].forest.within_quota(me, cells)
        while True:
            now = state["now"].forest
            q = tournament.next_queue(now)
            if q is None:
                return False, retry
            waiting = tournament.waiting[q]
            if q == me or within_nominal:
                if take(waiting.pop(0), WITHIN if q == me else RECLAMATION):
                    return True, retry
                continue
            mine, theirs = almost_common(now, wl.queue, q)
            new, old = now.share(mine), now.share(theirs)
            while waiting:
                w = waiting.pop(0)
                left = now.charged(w.queue, w.uses, -1).share(theirs)
                if options.fair_strategies[0] == "LessThanOrEqualToFinalShare":
                    passed = compare(new, left) <= 0
                else:
                    passed = compare(new, old) < 0
                if passed:
                    if take(w, FAIR):
                        return True, retry
                    break
                retry.append(w)

    def second_rule(retry):
        tournament = Tournament(wl, retry, forest)
        while True:
            now = state["now"].forest
            q = tournament.next_queue(now)
            if q is None:
                return False
            mine, theirs = almost_common(now, wl.queue, q) if q != me else (me, me)
            w = tournament.waiting[q].pop(0)
            if compare(now.share(mine), now.share(theirs)) < 0 and take(w, FAIR):
                return True
            tournament.pruned.add(q)

    fits, retry = first_rule()
    if not fits and len(options.fair_strategies) > 1:
        fits = second_rule(retry)
    if not fits:
        return []
    return fill_back(scene, wl, uses, victims, True)
