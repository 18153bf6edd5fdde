#!/usr/bin/env python3
"""JobSet's node-selector strategy through kubectl: nodes that their user labels for each child Job,
at the member, as JobSet's own script does it."""

from muster_test import Fleet, check, main
from muster_test import objects as make
from muster_test.watch import condition, is_true

LABEL = "alpha.jobset.sigs.k8s.io/namespaced-job"
TAINT = "alpha.jobset.sigs.k8s.io/no-schedule"


def story_a_job_set_goes_where_its_user_labelled_nodes(fleet):
    """It waits and says so, starts when each of its Jobs has nodes, and stays on them"""
    fleet.start_hub()
    sim = fleet.start_sim("c1", [make.node("n", count=5, gpus=0, cpu="4")])
    fleet.join(sim)
    k = [one for one in fleet.kubectls() if one.version == "PATH"][0]
    at_member = {"KUBECONFIG": sim.kubeconfig}
    bindings = fleet.watch("resourcebindings")
    sets = fleet.watch("jobsets")
    job = make.job_set("gang", replicas=2, pods=2, gpus=0, cpu="3", duration="3s")
    job["metadata"]["annotations"] = {
        "alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.example.com/rack",
        "alpha.jobset.sigs.k8s.io/node-selector": "true"}
    k("apply", "-f", "-", stdin=job)
    bindings.await_object("gang-jobset", "does not fit", lambda o: (
        condition(o, "Scheduled") or {}).get("status") == "False")
    why = fleet.muster("why", "jobset/gang").stdout
    check("c1" in why and "no node has the labels that its pods require" in why,
          "muster why tells what nodes lack", why)

    homes = {0: ("n-3", "n-1"), 1: ("n-0", "n-4")}
    for i, nodes in homes.items():
        k("taint", "node", *nodes, f"{TAINT}=true:NoSchedule", env=at_member)
        k("label", "node", *nodes, f"{LABEL}=default_gang-w-{i}", env=at_member)
    sets.await_object("gang", "completes", lambda o: is_true(o, "Completed"))
    runs = {i: sorted(r["node"] for r in sim.runs() if r["pod"].startswith(f"gang-w-{i}-"))
            for i in homes}
    check(runs == {i: sorted(nodes) for i, nodes in homes.items()},
          "each Job's pods ran on the nodes that were labelled for it", runs)
    copy = sim.client.get("jobsets", "gang")
    check("nodeSelector" not in copy["spec"]["replicatedJobs"][0]["template"]["spec"]["template"][
        "spec"], "JobSet's controller holds them there, not the hub", copy)


if __name__ == "__main__":
    main(globals(), Fleet)
