"""Flavor assignment (reference 2.5): which flavors a workload would get, now."""
from dataclasses import dataclass, field

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
# What an assignment as a whole can be.
ASSIGN_NO_FIT, ASSIGN_PREEMPT, ASSIGN_DEFERRED, ASSIGN_FIT = range(4)
WORST, BEST = (NO_FIT, 10**9), (FIT, 0)

SEVERITY = ["", "TopologyPlacementFailed", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor"]


def more_severe(a, b):
    return a if SEVERITY.index(a) >= SEVERITY.index(b) else b


def mode_of(preemption_mode):
    if preemption_mode == NO_FIT:
        return ASSIGN_NO_FIT
    return ASSIGN_FIT if preemption_mode == FIT else ASSIGN_PREEMPT


@dataclass
class Choice:
    flavor: str
    mode: int
    borrow: int
    tried: int = 0


@dataclass
class Progress:
    """Where the scan of flavors stopped, for the next attempt."""
    tried: list  # per pod set: resource -> index of the last flavor tried, -1: start again
    generation: int
    cycle: int
    shape: tuple

    def pending(self):
        return any(i != -1 for tried in self.tried for i in tried.values())


@dataclass
class Assigned:
    """One pod set."""
    name: str
    count: int
    requests: dict
    flavors: dict = field(default_factory=dict)  # resource -> Choice
    reasons: list = field(default_factory=list)
    attempts: dict = field(default_factory=dict)  # flavor -> (mode, why no fit)

    def mode(self):
        if not self.reasons:
            return ASSIGN_FIT
        return min((c.mode for c in self.flavors.values()), default=ASSIGN_NO_FIT)


@dataclass
class Assignment:
    pod_sets: list
    progress: Progress
    forced: int = None  # set when it is decided otherwise (DeferredFit)

    def mode(self):
        if self.forced is not None:
            return self.forced
        return min((p.mode() for p in self.pod_sets), default=ASSIGN_NO_FIT)

    def borrow(self):
        return max([c.borrow for p in self.pod_sets for c in p.flavors.values()], default=0)

    def uses(self):
        out = {}
        for p in self.pod_sets:
            for resource, choice in p.flavors.items():
                if p.requests.get(resource, 0):
                    cell = (choice.flavor, resource)
                    out[cell] = out.get(cell, 0) + p.requests[resource]
        return out

    def need_preemption(self):
        return {(c.flavor, r) for p in self.pod_sets for r, c in p.flavors.items()
                if c.mode == ASSIGN_PREEMPT}

    def no_fit_reason(self, queue):
        """Over flavors of a group the mildest, over groups and pod sets the most severe."""
        overall = ""
        for p in self.pod_sets:
            if p.mode() != ASSIGN_NO_FIT:
                continue
            if not p.attempts:
                overall = more_severe(overall, "NoMatchingFlavor")
                continue
            by_group = {}
            for flavor, (mode, why) in p.attempts.items():
                if mode != ASSIGN_NO_FIT:
                    continue
                for i, g in enumerate(queue.groups):
                    if flavor in g.flavors:
                        old = by_group.get(i)
                        if old is None or SEVERITY.index(why) < SEVERITY.index(old):
                            by_group[i] = why
            for why in by_group.values():
                overall = more_severe(overall, why)
        return overall


def tolerated(taint, tolerations):
    for t in tolerations:
        if t.get("effect") and t["effect"] != taint["effect"]:
            continue
        if t.get("key") and t["key"] != taint["key"]:
            continue
        if t.get("operator", "Equal") == "Exists":
            return True
        if t.get("key") and t.get("value", "") == taint.get("value", ""):
            return True
    return False


def expression_matches(e, labels):
    value = labels.get(e["key"])
    if e["operator"] == "In":
        return value in e["values"]
    if e["operator"] == "NotIn":
        return value not in e["values"]
    if e["operator"] == "Exists":
        return value is not None
    if e["operator"] == "DoesNotExist":
        return value is None
    raise ValueError(e["operator"])


def eligible(flavor, pod_set):
    for taint in flavor.taints:
        if taint["effect"] in ("NoSchedule", "NoExecute") and \
                not tolerated(taint, pod_set.tolerations + flavor.tolerations):
            return "taint"
    # Only keys that this flavor defines are looked at.
    for key, value in pod_set.selector.items():
        if key in flavor.labels and flavor.labels[key] != value:
            return "affinity"
    terms = []
    for term in pod_set.affinity:
        known = [e for e in term if e["key"] in flavor.labels]
        if not known:
            return None  # an empty term matches everything, and terms are ORed
        terms.append(known)
    if terms and not any(all(expression_matches(e, flavor.labels) for e in t) for t in terms):
        return "affinity"
    return None


def preferred(a, b, preference):
    """Whether granular mode a is better than b."""
    if a[0] == NO_FIT or b[0] == NO_FIT:
        return a[0] != NO_FIT
    if (a[0] == NO_CANDIDATES) != (b[0] == NO_CANDIDATES):
        return b[0] == NO_CANDIDATES
    by_mode = a[0] > b[0] if a[0] != b[0] else None
    by_level = a[1] < b[1] if a[1] != b[1] else None
    order = [by_mode, by_level]
    if preference == "PreemptionOverBorrowing":
        order.reverse()
    return next((x for x in order if x is not None), False)


def go_on(mode, queue):
    """Whether the next flavor is tried after this one."""
    if mode[0] in (NO_FIT, NO_CANDIDATES):
        return True
    if mode[0] in (PREEMPT, RECLAIM) and queue.when_can_preempt == "TryNextFlavor":
        return True
    return mode[1] > 0 and queue.when_can_borrow == "TryNextFlavor"


class Assigner:
    """`oracle(cell, amount)` answers (mode, borrow level) by really searching victims."""

    def __init__(self, forest, workload, options, oracle, generation=0, cycle=0, pinned=None):
        self.forest, self.wl, self.options, self.oracle = forest, workload, options, oracle
        self.queue = forest.queues[workload.queue]
        self.generation, self.cycle = generation, cycle
        self.pinned = pinned  # per pod set: resource -> flavor, when an assignment is redone

    def assign(self, counts=None):
        counts = counts or [p.count for p in self.wl.pod_sets]
        progress = Progress([], self.generation, self.cycle, self.wl.shape())
        result = Assignment([], progress)
        own = []
        for pod_set, count in zip(self.wl.pod_sets, counts):
            own.append({r: v * count for r, v in pod_set.requests.items()})
            if self.queue.group_of("pods"):
                own[-1]["pods"] = count
        done = {}
        for i in range(len(own)):
            if i in done:
                continue
            together = self.together(i)
            out = Assigned("", 0, {})
            for k in together:
                for r, v in own[k].items():
                    out.requests[r] = out.requests.get(r, 0) + v
            result.pod_sets = list(done.values())
            failed = not self.assign_pod_sets(together, out, result.uses())
            for k in together:
                done[k] = Assigned(self.wl.pod_sets[k].name, counts[k], own[k], {
                    r: c for r, c in out.flavors.items() if r in own[k]}, out.reasons, out.attempts)
            if failed:
                break
        result.pod_sets = [done[k] for k in sorted(done)]
        progress.tried = [{r: c.tried for r, c in done[k].flavors.items()} if k in done else {}
                          for k in range(len(own))]
        return result

    def together(self, i):
        """The pod sets that share their flavors with this one, which is the first of them."""
        sets = self.wl.pod_sets
        return [k for k in range(i, len(sets))
                if k == i or (sets[i].group and sets[k].group == sets[i].group)]

    def assign_pod_sets(self, together, out, before):
        for resource in sorted(out.requests):
            group = self.queue.group_of(resource)
            if group is None and (out.requests[resource] == 0 or self.options.ignore_undeclared):
                continue
            if resource in out.flavors:
                continue  # chosen with its group
            if group is None:
                out.flavors, out.reasons, out.attempts = {}, ["not covered"], {}
                return False
            chosen, reasons, attempts = self.find_flavor(together, out.requests, resource, group,
                                                         before)
            for flavor, (mode, why) in attempts.items():
                old = out.attempts.get(flavor)
                out.attempts[flavor] = (mode, why) if old is None else \
                    (min(mode, old[0]), more_severe(old[1], why))
            if attempts:
                for flavor, (mode, why) in list(out.attempts.items()):
                    if flavor in group.flavors and flavor not in attempts:
                        out.attempts[flavor] = (ASSIGN_NO_FIT, "NoMatchingFlavor")
            if not chosen:
                out.flavors, out.reasons = {}, reasons
                return False
            out.flavors.update(chosen)
            out.reasons += reasons
        return True

    def first_flavor(self, i, resource, group):
        last = self.wl.last
        if not self.options.flavor_fungibility or last is None or i >= len(last.tried):
            return 0
        # An edit may have taken flavors away.
        return (last.tried[i].get(resource, -1) + 1) % len(group.flavors)

    def find_flavor(self, together, requests, resource, group, before):
        i = together[0]
        requests = {r: v for r, v in requests.items() if r in group.resources}
        best, best_mode, tried = {}, WORST, -1
        reasons, attempts = [], {}
        for index in range(self.first_flavor(i, resource, group), len(group.flavors)):
            tried = index
            name = group.flavors[index]
            if self.pinned and self.pinned[i].get(resource) != name:
                reasons.append("pinned elsewhere")
                continue
            flavor = self.forest.flavors.get(name)
            why = "unknown" if flavor is None else next(filter(None, (
                eligible(flavor, self.wl.pod_sets[k]) for k in together)), None)
            if why:
                reasons.append(why)
                attempts[name] = (ASSIGN_NO_FIT, "NoMatchingFlavor")
                continue
            choices, worst, no_fit = {}, BEST, ""
            for r in sorted(requests):
                cell = (name, r)
                mode, borrow, why = self.fits(cell, before.get(cell, 0), requests[r])
                if why is not None:
                    reasons.append(why)
                    no_fit = more_severe(no_fit, why)
                if preferred(worst, (mode, borrow), self.queue.preference):
                    worst = (mode, borrow)
                if worst[0] != NO_FIT:
                    choices[r] = Choice(name, mode_of(mode), borrow)
            attempts[name] = (mode_of(worst[0]), no_fit)
            if self.options.flavor_fungibility:
                if not go_on(worst, self.queue):
                    best, best_mode = choices, worst
                    break
                if preferred(worst, best_mode, self.queue.preference):
                    best, best_mode = choices, worst
            elif worst[0] > best_mode[0]:
                best, best_mode = choices, worst
                if worst[0] == FIT:
                    break
        # Kueue leaves 0 there with FlavorFungibility off, so that nothing is ever parked; nobody
        # can want that.
        last = tried == len(group.flavors) - 1 or not self.options.flavor_fungibility
        for choice in best.values():
            choice.tried = -1 if last else tried
        # Kueue asks the mode that it ranks by, which under PreemptionOverBorrowing may be that of a
        # resource that fits while another does not; then its entry is skipped for ever.
        if best and all(c.mode == ASSIGN_FIT for c in best.values()):
            reasons = []
        return best, reasons, attempts

    def fits(self, cell, before, amount):
        """(mode, borrow level, why not at once) of one flavor-resource."""
        value = before + amount
        queue = self.queue
        if value > self.forest.potential(("q", queue.name), cell):
            return NO_FIT, 0, "ExceedsMaxQuota"
        level, smaller = self.forest.level_that_fits(queue.name, cell, value)
        if value <= self.forest.available(queue.name, cell):
            return FIT, level, None
        while_borrowing = queue.borrow_policy != "Never" or \
            (self.options.fair_sharing and queue.reclaim != "Never")
        if self.forest.nominal(("q", queue.name), cell) >= value or smaller or while_borrowing:
            mode, after = self.oracle(cell, value)
            return mode, after, ""
        return NO_FIT, level, "WaitingForQuota"
