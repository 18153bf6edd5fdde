"""Admission checks and deactivation (reference 2.8): what a Workload's checks bring about, and when
who was evicted for them comes back."""


class Checked:
    """The part of the hub that looks at checks."""

    def begin_checks(self, w):
        """It has quota: that is an admission once those checks of its queue are Ready that are for
        one of the flavors that it was assigned; none is for who got none."""
        assigned = {f for flavors in w.flavors for f in flavors.values()}
        w.checks = {name: ("Pending", 0, 0)
                    for name, on in self.queues[w.queue].checks.items()
                    if (assigned & set(on) if on else assigned)}
        w.admitted = not w.checks
        w.state = "admitted" if w.admitted else "reserving"
        w.evicted_as, w.requeue_at = "", 0
        # An eviction that sent it to the back is over.
        w.queue_order = w.created

    def say(self, name, changes, now):
        """Their controllers wrote: check -> (state, last transition, requeue after)."""
        w = self.workloads[name]
        w.checks.update(changes)
        states = [state for state, _, _ in w.checks.values()]
        if w.state == "evicted":
            return
        if "Rejected" in states:
            self.deactivate(name)
        elif "Retry" in states:
            w.requeue_at = max([w.requeue_at] + [
                since + after for state, since, after in w.checks.values() if state == "Retry"])
            w.queue_order = now
            self.evict(name, "AdmissionCheck")
        elif w.state == "reserving" and all(s == "Ready" for s in states):
            w.state, w.admitted = "admitted", True

    def deactivate(self, name):
        """spec.active becomes false."""
        w = self.workloads[name]
        w.active, w.requeue_at = False, 0
        if w.state in ("reserving", "admitted"):
            self.evict(name, "Deactivated")
        elif w.state != "evicted":
            self.hold(name, False)

    def activate(self, name):
        """... and true: its requeueState begins anew."""
        w = self.workloads[name]
        w.active, w.requeue_at = True, 0
        if w.state == "held":
            self.unhold(name)

    def keep_back(self, w, now):
        """It gave its quota back: it may have to wait outside its queue's heap."""
        w.checks, w.admitted = {}, False
        if not w.active:
            self.hold(w.name, False)
        elif w.requeue_at > now:
            self.hold(w.name, True)

    def look_back(self, now):
        """Back-offs end."""
        for w in self.workloads.values():
            if w.state == "held" and w.active and 0 < w.requeue_at <= now:
                w.requeue_at = 0
                self.unhold(w.name)
