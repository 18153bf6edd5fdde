#!/usr/bin/env python3
"""What members say about jobs and their pods is read at the hub."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.watch import is_true


def story_describe_shows_the_members_events(fleet):
    """kubectl describe of a job at the hub shows what the member says of it and of its pods"""
    fleet.start_hub()
    sim = fleet.start_sim("east", [make.node("gpu")])
    fleet.join(sim)
    fleet.client.create(make.pytorch_job("train", workers=3, duration="1s"))
    fleet.watch("pytorchjobs").await_object("train", "succeeds", lambda o: is_true(o, "Succeeded"))
    uid = fleet.client.get("pytorchjobs", "train")["metadata"]["uid"]

    def about(o):
        return [e for e in fleet.client.items("events", "default")
                if e["involvedObject"]["uid"] == o]
    def scheduled():
        return [e for e in about(uid) if e["reason"] == "Scheduled" and e["count"] == 4]
    e = until("the pods' events are the job's, counted", scheduled)[0]
    check(e["message"].startswith("Pod train-") and e["source"]["component"] ==
          "default-scheduler", f"4 times {e['reason']}: {e['message']}", e)
    theirs = [e for e in sim.client.items("events", "default")
              if e["involvedObject"]["kind"] == "PyTorchJob"]
    ours = until("the member's events of the copy are the hub's object's", lambda: [
        e for e in about(uid) if e["metadata"]["name"] in [t["metadata"]["name"] for t in theirs]
    ] if theirs else [])
    check({e["source"]["component"] for e in ours} == {e["source"]["component"] for e in theirs},
          f"their source is kept: {ours[0]['source']}", ours)
    for kubectl in fleet.kubectls():
        text = kubectl("describe", "pytorchjob", "train")
        check("Scheduled" in text and "Pod train-" in text and "ScheduleBindingSucceed" in text,
              f"kubectl {kubectl.version} describe shows hub's and member's events", text)
        text = kubectl("describe", "pod", "train-worker-0")
        check("default-scheduler" in text, f"kubectl {kubectl.version} describes the pod", text)
    lists = sim.lists()
    fleet.hub.kill()
    fleet.restart_hub()
    fleet.client.create(make.pytorch_job("again", workers=0, duration="1s"))
    fleet.watch("pytorchjobs").await_object("again", "succeeds", lambda o: is_true(o, "Succeeded"))
    check(sim.lists() == lists, "the stream of events resumes without a list after a kill", lists,
          sim.lists())


if __name__ == "__main__":
    main(globals(), Fleet)
