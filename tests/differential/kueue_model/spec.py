"""What Kueue's objects say: plain records, as reference/kueue.md section 1.3 names them.

Amounts are integers (milli-cpu, bytes, counts). A flavor-resource is the pair (flavor, resource).
"""
from dataclasses import dataclass, field
from typing import Optional

UNLIMITED = 2**63 - 1
# States of a workload that holds quota: its checks are not Ready yet; admitted; on its way out.
HOLDS = ("reserving", "admitted", "evicted")


@dataclass
class Options:
    """config.kueue.x-k8s.io and the feature gates, with the defaults of reference 1.8."""
    fair_sharing: bool = False
    fair_strategies: tuple = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    ignore_undeclared: bool = False
    partial_admission: bool = True
    flavor_fungibility: bool = True
    priority_sorting_within_cohort: bool = True
    prioritize_preemptors: bool = False
    equivalence_hashing: bool = True
    preempt_within_nominal: bool = True
    prioritize_non_borrowing: bool = True
    recompute_on_overlap: bool = True
    preserve_scan_progress: bool = True
    # Not Kueue's: an admission must also fit beside the victims that still run, so that no queue
    # is ever above its limit (Kueue admits as if the victims of the same cycle were gone).
    freed_counts_when_gone: bool = True


@dataclass
class Flavor:
    name: str
    labels: dict = field(default_factory=dict)
    taints: list = field(default_factory=list)       # {key, value, effect}
    tolerations: list = field(default_factory=list)  # {key, operator, value, effect}


@dataclass
class Quota:
    nominal: int
    borrowing: Optional[int] = None  # None: no limit
    lending: Optional[int] = None    # None: all of it may be lent


@dataclass
class Group:
    resources: list
    flavors: list
    quotas: dict  # (flavor, resource) -> Quota


@dataclass
class Node:
    """A Cohort or a ClusterQueue."""
    name: str
    parent: Optional[str] = None
    groups: list = field(default_factory=list)
    weight: float = 1.0

    def quotas(self):
        return {cell: q for g in self.groups for cell, q in g.quotas.items()}


@dataclass
class Queue(Node):
    strategy: str = "BestEffortFIFO"
    stopped: bool = False
    within: str = "Never"
    reclaim: str = "Never"
    borrow_policy: str = "Never"
    threshold: Optional[int] = None
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str = "BorrowingOverPreemption"
    admission_fair_sharing: bool = False
    checks: dict = field(default_factory=dict)  # AdmissionCheck -> its onFlavors; empty: all

    def group_of(self, resource):
        for g in self.groups:
            if resource in g.resources:
                return g
        return None


@dataclass
class PodSet:
    name: str
    count: int
    requests: dict  # of one pod
    min_count: Optional[int] = None
    selector: dict = field(default_factory=dict)
    affinity: list = field(default_factory=list)  # terms of [{key, operator, values}]
    tolerations: list = field(default_factory=list)
    group: str = ""  # podset-group-name


@dataclass
class Workload:
    name: str
    queue: str
    priority: int
    created: int
    pod_sets: list
    uid: str = ""
    queue_order: int = 0
    local: int = 0  # its LocalQueue
    # standing
    state: str = "pending"  # pending, parked, held, or one of HOLDS
    listed: bool = True     # counts as pending unless it holds quota
    uses: dict = field(default_factory=dict)     # cell -> amount, while it holds quota
    flavors: list = field(default_factory=list)  # of each pod set: resource -> flavor
    counts: list = field(default_factory=list)
    reserved_at: int = 0
    reason: str = ""  # QuotaReserved=False
    told: str = ""    # the same, when its own attempt said so
    last: object = None  # progress of the flavor scan (assign.Progress)
    # of its checks (checks.py)
    checks: dict = field(default_factory=dict)  # name -> (state, last transition, requeue after)
    admitted: bool = False  # all of them were Ready
    active: bool = True
    requeue_at: int = 0
    evicted_as: str = ""
    gone_for: object = None  # the one that preempted it since it was last admitted

    def shape(self):
        """What makes two workloads equally hopeless (reference 2.3, equivalence hashing)."""
        return (self.priority, tuple(
            (p.name, p.count, p.min_count, tuple(sorted(p.requests.items())),
             tuple(sorted(p.selector.items())), repr(p.affinity), repr(p.tolerations), p.group)
            for p in self.pod_sets))
