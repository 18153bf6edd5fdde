"""Cohort math (reference 2.4) and fair shares (2.7), each number computed anew from the leaves."""
import math

from spec import UNLIMITED


def add(a, b):
    """Sums saturate: anything with Unlimited is Unlimited."""
    if a == UNLIMITED or b == UNLIMITED:
        return UNLIMITED
    return max(-2**63, min(UNLIMITED, a + b))


def sub(a, b):
    if a == UNLIMITED:
        return 0 if b == UNLIMITED else UNLIMITED
    if b == UNLIMITED:
        return -2**63
    return max(-2**63, min(UNLIMITED, a - b))


class Share:
    """A dominant resource share with the workload's usage added."""

    def __init__(self, weight, ratio, resource, borrowed):
        self.weight, self.ratio, self.resource, self.borrowed = weight, ratio, resource, borrowed

    @property
    def borrowing(self):
        return bool(self.borrowed)

    def infinite(self):
        return self.weight == 0 and self.ratio != 0

    def value(self):
        if self.ratio == 0:
            return 0.0
        return math.inf if self.weight == 0 else self.ratio / self.weight

    def status(self):
        return UNLIMITED if self.infinite() else math.ceil(self.value())

    def borrows_on(self, requests):
        return any(requests.get(cell, 0) > 0 for cell in self.borrowed)


def compare(a, b):
    def sign(x, y):
        return (x > y) - (x < y)
    if a.infinite() and b.infinite():
        return sign(a.ratio, b.ratio)
    if a.infinite():
        return 1
    if b.infinite():
        return -1
    return sign(a.value(), b.value())


class Forest:
    """Cohorts, queues, and what the queues hold now: `held` is queue -> {cell: amount}."""

    def __init__(self, flavors, cohorts, queues, held):
        self.flavors, self.queues, self.held = flavors, queues, held
        self.beside = {}  # node -> {cell: amount}: charged there by nobody in particular
        self.cohorts = dict(cohorts)
        for node in [*queues.values(), *cohorts.values()]:
            if node.parent and node.parent not in self.cohorts:
                from spec import Node
                self.cohorts[node.parent] = Node(node.parent)  # named only: no limits
        self.quotas = {("q", n): q.quotas() for n, q in queues.items()}
        self.quotas.update({("c", n): c.quotas() for n, c in self.cohorts.items()})

    # the tree
    def node(self, name):
        return self.queues[name[1]] if name[0] == "q" else self.cohorts[name[1]]

    def parent(self, name):
        p = self.node(name).parent
        return ("c", p) if p else None

    def path(self, name):
        """Ancestors, parent first."""
        out = []
        p = self.parent(name)
        while p:
            out.append(p)
            p = self.parent(p)
        return out

    def root(self, name):
        path = self.path(name)
        return path[-1] if path else name

    def child_cohorts(self, name):
        return [("c", c.name) for _, c in sorted(self.cohorts.items())
                if c.parent and ("c", c.parent) == name]

    def child_queues(self, name):
        return [("q", q.name) for _, q in sorted(self.queues.items())
                if q.parent and ("c", q.parent) == name]

    def subtree_queues(self, name):
        out = self.child_queues(name)
        for c in self.child_cohorts(name):
            out += self.subtree_queues(c)
        return out

    def in_cycle(self, name):
        seen = set()
        while name:
            if name in seen:
                return True
            seen.add(name)
            name = self.parent(name)
        return False

    def height(self, name):
        kids = self.child_cohorts(name)
        active = [q for q in self.child_queues(name) if self.active(q[1])]
        tall = 1 if kids or active else 0
        return max([tall] + [self.height(c) + 1 for c in kids])

    def active(self, queue):
        q = self.queues[queue]
        if q.stopped or self.in_cycle(("q", queue)):
            return False
        return all(f in self.flavors for g in q.groups for f in g.flavors)

    # quotas
    def quota(self, name, cell):
        return self.quotas[name].get(cell)

    def nominal(self, name, cell):
        q = self.quota(name, cell)
        return q.nominal if q else 0

    def borrowing_limit(self, name, cell):
        q = self.quota(name, cell)
        return q.borrowing if q else None

    def children(self, name):
        return self.child_cohorts(name) + self.child_queues(name) if name[0] == "c" else []

    def subtree(self, name, cell):
        total = self.nominal(name, cell)
        for child in self.children(name):
            total = add(total, sub(self.subtree(child, cell), self.local(child, cell)))
        return total

    def local(self, name, cell):
        q = self.quota(name, cell)
        if not q or q.lending is None:
            return 0
        return max(0, sub(self.subtree(name, cell), q.lending))

    def usage(self, name, cell):
        beside = self.beside.get(name, {}).get(cell, 0)
        if name[0] == "q":
            return add(self.held.get(name[1], {}).get(cell, 0), beside)
        return add(sum(max(0, sub(self.usage(c, cell), self.local(c, cell)))
                       for c in self.children(name)), beside)

    def local_available(self, name, cell):
        return max(0, sub(self.local(name, cell), self.usage(name, cell)))

    def raw_available(self, name, cell):
        up = self.parent(name)
        if not up:
            return sub(self.subtree(name, cell), self.usage(name, cell))
        from_parent = self.raw_available(up, cell)
        limit = self.borrowing_limit(name, cell)
        if limit is not None:
            local = self.local(name, cell)
            stored = sub(self.subtree(name, cell), local)
            used = max(0, sub(self.usage(name, cell), local))
            from_parent = min(from_parent, add(sub(stored, used), limit))
        return add(self.local_available(name, cell), from_parent)

    def available(self, queue, cell):
        return max(0, self.raw_available(("q", queue), cell))

    def potential(self, name, cell):
        up = self.parent(name)
        if not up:
            return self.subtree(name, cell)
        most = add(self.local(name, cell), self.potential(up, cell))
        limit = self.borrowing_limit(name, cell)
        if limit is not None:
            most = min(most, add(self.subtree(name, cell), limit))
        return most

    def borrows_with(self, name, cell, amount=0):
        return self.subtree(name, cell) < add(self.usage(name, cell), amount)

    def within_quota(self, name, cells):
        return not any(self.borrows_with(name, cell) for cell in cells)

    def level_that_fits(self, queue, cell, amount):
        """Height of the lowest subtree that holds `amount` more in its quota, and whether one
        smaller than the whole tree does."""
        me = ("q", queue)
        if not self.parent(me):
            return 0, False
        if not self.borrows_with(me, cell, amount):
            return 0, True
        rest = sub(amount, self.local_available(me, cell))
        for up in self.path(me):
            if not self.borrows_with(up, cell, rest):
                return self.height(up), self.parent(up) is not None
            rest = sub(rest, self.local_available(up, cell))
        return self.height(self.root(me)), False

    # what is held
    def charged(self, queue, uses, sign=1):
        """The same forest with `uses` charged (or released) at `queue`."""
        held = {q: dict(u) for q, u in self.held.items()}
        mine = held.setdefault(queue, {})
        for cell, amount in uses.items():
            mine[cell] = mine.get(cell, 0) + sign * amount
        return self.holding(held)

    def holding(self, held):
        """The same objects, other charges."""
        f = Forest.__new__(Forest)
        f.flavors, f.cohorts, f.queues, f.quotas = \
            self.flavors, self.cohorts, self.queues, self.quotas
        f.held, f.beside = held, self.beside
        return f

    def charged_beside(self, beside):
        """The same forest with these amounts charged at nodes, cohorts among them."""
        f = self.holding(self.held)
        f.beside = beside
        return f

    def fits(self, queue, uses):
        return all(self.available(queue, cell) >= v for cell, v in uses.items())

    # fair sharing
    def cells(self, name):
        """Every flavor-resource that a node of this subtree names."""
        out = set(self.quotas[name])
        for child in self.children(name):
            out |= self.cells(child)
        return out

    def share(self, name):
        weight = self.node(name).weight
        up = self.parent(name)
        borrowed = {}
        if up:
            for cell in self.cells(name):
                over = sub(self.usage(name, cell), self.subtree(name, cell))
                if over > 0:
                    borrowed[cell] = over
        if not borrowed:
            return Share(weight, 0, "", [])
        per_resource, lendable = {}, {}
        for (_, resource), over in borrowed.items():
            per_resource[resource] = add(per_resource.get(resource, 0), over)
        for cell in self.cells(self.root(name)):
            lendable[cell[1]] = add(lendable.get(cell[1], 0), self.potential(up, cell))
        ratio, dominant = 0.0, ""
        for resource in sorted(per_resource):
            if lendable.get(resource, 0) > 0:
                r = float(per_resource[resource]) * 1000.0 / float(lendable[resource])
                if r > ratio:
                    ratio, dominant = r, resource
        return Share(weight, ratio, dominant, list(borrowed))
