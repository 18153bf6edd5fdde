#!/usr/bin/env python3
"""What jobs need on a member: brought there, kept up to date, removed with the last copy, and never
anybody else's overwritten."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import is_true


def config_map(value):
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "settings", "namespace": "default"}, "data": {"key": value}}


def secret(value):
    return {"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {"name": "token", "namespace": "default"}, "data": {"t": value}}


def a_job(name, **pod):
    return make.batch_job(name, volumes=[
        {"name": "s", "configMap": {"name": "settings"}},
        {"name": "t", "secret": {"secretName": "token"}}], **pod)


def story_dependencies_follow(fleet):
    """A ConfigMap and a Secret reach the member, follow changes, and go with the last copy"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu")])
    fleet.join(sim)
    fleet.client.create(config_map("one"), secret("b25l"), a_job("first", duration="300s"),
                        a_job("second", duration="300s"))
    jobs = fleet.watch("jobs")
    for name in ("first", "second"):
        jobs.await_object(name, "runs", lambda o: o.get("status", {}).get("active"))
    maps, secrets = (fleet.watch(k, client=sim.client) for k in ("configmaps", "secrets"))
    check(sim.client.get("configmaps", "settings")["data"] == {"key": "one"},
          "the ConfigMap is on the member")
    fleet.client.patch("configmaps", "settings", {"data": {"key": None, "other": "two"}})
    fleet.client.patch("secrets", "token", {"data": {"t": "dHdv"}})
    maps.await_object("settings", "changed", lambda o: o["data"] == {"other": "two"})
    secrets.await_object("token", "changed", lambda o: o["data"] == {"t": "dHdv"})
    check(True, "changes at the hub reach the member's ConfigMap and Secret")
    fleet.hub.kill()
    fleet.restart_hub()
    fleet.client.delete("jobs", "first", propagationPolicy="Background")
    fleet.watch("jobs").await_gone("first")
    check(sim.client.find("configmaps", "settings"), "one copy gone: the other's are still there")
    fleet.client.delete("jobs", "second", propagationPolicy="Background")
    maps.await_gone("settings")
    secrets.await_gone("token")
    check(fleet.client.find("configmaps", "settings"), "the last copy gone: so are they; the "
          "hub keeps its own")


def story_foreign_objects_stay(fleet):
    """A foreign object or PriorityClass of the name keeps jobs away, and is left as it is"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu")])
    fleet.join(sim)
    sim.client.create(config_map("theirs"), make.priority_class("high", 5))
    fleet.client.create(config_map("ours"), secret("b25l"), make.priority_class("high", 1000),
                        a_job("mapped"), make.batch_job("classy", priorityClassName="high"))
    for name, words in (("mapped", 'ConfigMap "settings"'), ("classy", 'PriorityClass "high"')):
        def told(n=name, w=words):
            verdicts = fleet.why(n, kind="job").get("clusters", [])
            return [v for v in verdicts if v["verdict"] == "Conflict" and w in v["message"]]
        v = until(f"{name} has the verdict", told)[0]
        check(True, f"{name} is not sent there: {v['message']}; {v['remedy']}")
    check(sim.client.get("configmaps", "settings")["data"] == {"key": "theirs"} and
          sim.client.items("jobs") == [], "nothing on the member was touched")
    binding = fleet.client.get("resourcebindings", "mapped-job")
    scheduled = binding["status"]["conditions"][0]
    check(scheduled["reason"] == "Conflict" and "settings" in scheduled["message"],
          f"the binding says it: {scheduled['message']}", scheduled)
    sim.client.delete("configmaps", "settings")
    fleet.watch("jobs").await_object("mapped", "completes", lambda o: is_true(o, "Complete"))
    check(True, "once the foreign one is gone the job runs, without anybody's asking")


if __name__ == "__main__":
    main(globals(), Fleet)
