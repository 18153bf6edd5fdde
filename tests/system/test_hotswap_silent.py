#!/usr/bin/env python3
"""Hot-swap when a kubelet is not heard any more: the pods on its node are deleted and do not end.
The member's clock is fifty times as fast as the hub's, so that its node is lost after a second."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from test_hotswap import events, kubectl, member_kubectl, running, told

LONG = "60000s"
SILENT = "muster.dev/sim-kubelet"
TOLERATED = [{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
              "tolerationSeconds": 1}]


def start(fleet, nodes, backoff_limit):
    """A gang of two that runs on a member; (kubectl at the member, the node that it loses)."""
    fleet.start_hub()
    sim = fleet.start_sim("gpu", [make.node("n", count=nodes)], time_scale=50)
    fleet.join(sim)
    k, member = kubectl(fleet), member_kubectl(fleet, sim)
    k("apply", "-f", "-", stdin=make.priority_class("urgent", 2000))
    job = make.job_set("urgent", pods=2, gpus=8, duration=LONG, priorityClassName="urgent",
                       tolerations=TOLERATED)
    job["spec"]["failurePolicy"] = {"maxRestarts": 3}
    job["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = backoff_limit
    k("apply", "-f", "-", stdin=job)
    until("it runs", lambda: sum(running(fleet, "urgent").values()) == 2)
    return member, sorted(running(fleet, "urgent"))[0]


def terminating(fleet):
    return [p["metadata"]["name"] for p in fleet.client.items("pods", "default")
            if "deletionTimestamp" in p["metadata"]]


def ready(member, node):
    return member("get", "node", node, "-o",
                  "jsonpath={.status.conditions[?(@.type=='Ready')].status}")


def story_a_gang_is_blocked_until_the_kubelet_is_back(fleet):
    """Its controller waits for a pod that does not end: the user is told, the node comes back"""
    member, node = start(fleet, 3, 0)
    member("annotate", "node", node, f"{SILENT}=silent")
    said = told(fleet, "urgent", "HotSwap")
    check(f"node {node} is not ready" in said and "spare nodes" in said, "room is kept", said)
    check(ready(member, node) == "Unknown" and "unreachable:NoExecute" in
          member("describe", "node", node), "the member's kubectl says that the node is lost")
    until("its pod is Terminating, as the hub shows it", lambda: terminating(fleet))
    [said] = until("the user is told after a minute", lambda: events(
        fleet, "urgent", "HotSwapBlocked"), deadline=150)
    check(node in said and "Terminating" in said and "out-of-service" in said,
          "what is in the way, and what an admin can do", said)
    check(terminating(fleet) and not events(fleet, "urgent", "HotSwapDone"),
          "the hub has deleted nothing by force")
    member("annotate", "node", node, f"{SILENT}-")
    told(fleet, "urgent", "HotSwapDone")
    until("it runs again", lambda: sum(running(fleet, "urgent").values()) == 2 and
          not terminating(fleet))
    until("the node is Ready", lambda: ready(member, node) == "True")
    jobs = fleet.watch("jobsets")
    jobs.await_object("urgent", "was restarted once, by its own controller",
                      lambda o: o["status"].get("restarts") == 1)


def story_a_controller_that_does_not_wait(fleet):
    """A Job with retries replaces the pod beside the one that does not end: it runs on"""
    member, node = start(fleet, 3, 6)
    member("annotate", "node", node, f"{SILENT}=silent")
    until("it runs again, on the spare node", lambda: sum(
        n for at, n in running(fleet, "urgent").items() if at != node) == 2)
    check(terminating(fleet) and not events(fleet, "urgent", "HotSwapBlocked"),
          "while its old pod is Terminating", terminating(fleet))
    member("annotate", "node", node, f"{SILENT}-")
    until("the old pod is gone", lambda: not terminating(fleet))
    check(sum(running(fleet, "urgent").values()) == 2, "and the two run on")


def story_a_node_that_stays_away_is_deleted(fleet):
    """No kubelet comes back: the admin deletes the node, and the gang goes on"""
    member, node = start(fleet, 3, 0)
    member("annotate", "node", node, f"{SILENT}=silent")
    told(fleet, "urgent", "HotSwap")
    until("its pod is Terminating", lambda: terminating(fleet))
    member("delete", "node", node)
    until("it runs again", lambda: sum(running(fleet, "urgent").values()) == 2 and
          node not in running(fleet, "urgent"))
    told(fleet, "urgent", "HotSwapDone")


if __name__ == "__main__":
    main(globals(), Fleet)
