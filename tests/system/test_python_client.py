#!/usr/bin/python3
"""Kubernetes' Python client, as Debian packages it (python3-kubernetes), as a ServiceAccount's token
lets it in: CRUD, watches that resume over a restart of the hub, leader election."""

import datetime
import json
import logging
import threading

from muster_test import Failure, Fleet, check, main
from muster_test import objects as make
from muster_test.client import until
from muster_test.story import DEADLINE, Skip

try:
    import kubernetes
    import urllib3
    from kubernetes import dynamic
    from kubernetes.client.rest import ApiException
    from kubernetes.leaderelection import electionconfig, leaderelection
    from kubernetes.leaderelection.leaderelectionrecord import LeaderElectionRecord
except ImportError:
    kubernetes = None

RBAC = "rbac.authorization.k8s.io"
JOBS = ("kubeflow.org", "v1", "default", "pytorchjobs")
RULES = [
    {"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["*"]},
    {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
     "verbs": ["get", "create", "update"]},
]


def start_hub(fleet):
    """The hub, and its administrator's client; Skip where the package is not installed."""
    if not kubernetes:
        raise Skip("python3-kubernetes is not installed")
    logging.disable(logging.WARNING)  # it tells every attempt to reach a hub that restarts
    fleet.start_hub()
    return kubernetes.config.new_client_from_config(fleet.hub.kubeconfig)


def let_in(fleet, admin, name):
    """A ServiceAccount with a Role of its own in `default`: a client with its token, and no more
    than that."""
    core = kubernetes.client.CoreV1Api(admin)
    core.create_namespaced_service_account("default", {"metadata": {"name": name}})
    rbac = kubernetes.client.RbacAuthorizationV1Api(admin)
    rbac.create_namespaced_role("default", {"metadata": {"name": name}, "rules": RULES})
    rbac.create_namespaced_role_binding("default", {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    token = core.create_namespaced_service_account_token(
        name, "default", {"spec": {"expirationSeconds": 3600}}).status.token
    config = kubernetes.client.Configuration()
    config.host = fleet.hub.url
    config.ssl_ca_cert = admin.configuration.ssl_ca_cert
    config.api_key = {"authorization": "Bearer " + token}
    return kubernetes.client.ApiClient(config)


def refused(what, code, call, *args, **kw):
    try:
        answer = call(*args, **kw)
    except ApiException as error:
        check(error.status == code, f"{what}: {code}", error)
        return error
    raise Failure(f"{what} was not refused: {answer}")


def job(name, duration="60s", **more):
    return make.pytorch_job(name, workers=0, duration=duration, cpu="1", gpus=0, **more)


def story_crud(fleet):
    """PyTorchJobs, Jobs and ConfigMaps: created, read, listed, changed, deleted; refusals are told"""
    admin = start_hub(fleet)
    user = let_in(fleet, admin, "notebook")
    custom = kubernetes.client.CustomObjectsApi(user)

    made = custom.create_namespaced_custom_object(*JOBS, job("train", labels={"team": "blue"}))
    check(made["metadata"]["uid"] and
          made["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"] == 1, "a PyTorchJob is made")
    refused("made again", 409, custom.create_namespaced_custom_object, *JOBS, job("train"))
    bad = job("bad")
    bad["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Perhaps"
    error = refused("a bad field", 422, custom.create_namespaced_custom_object, *JOBS, bad)
    check("restartPolicy" in error.body, "the field is named", error.body)
    patched = custom.patch_namespaced_custom_object(
        *JOBS, "train", {"metadata": {"labels": {"team": "green"}}})
    check(patched["metadata"]["labels"] == {"team": "green"}, "patched", patched["metadata"])
    listed = custom.list_namespaced_custom_object(*JOBS, label_selector="team=green")
    check([o["metadata"]["name"] for o in listed["items"]] == ["train"], "listed by label")
    old = custom.get_namespaced_custom_object(*JOBS, "train")
    changed = dict(old, metadata=dict(old["metadata"], labels={"team": "red"}))
    custom.replace_namespaced_custom_object(*JOBS, "train", changed)
    refused("replaced from a stale reading", 409, custom.replace_namespaced_custom_object, *JOBS,
            "train", changed)
    done = custom.delete_namespaced_custom_object(*JOBS, "train")
    check(done["kind"] in ("Status", "PyTorchJob"), "deleted", done)
    until("the job is gone", lambda: not custom.list_namespaced_custom_object(*JOBS)["items"])
    refused("read when gone", 404, custom.get_namespaced_custom_object, *JOBS, "train")
    everything_typed(user)
    the_dynamic_client(user)
    error = refused("nothing beyond the Role", 403,
                    kubernetes.client.CoreV1Api(user).list_namespaced_secret, "default")
    status = json.loads(error.body)
    check('cannot list resource "secrets"' in status["message"] and
          status["details"]["kind"] == "secrets", "in Kubernetes' words", status)


def everything_typed(user):
    """Typed answers: the client refuses an object that lacks a required field."""
    core = kubernetes.client.CoreV1Api(user)
    meta = kubernetes.client.V1ObjectMeta(generate_name="settings-")
    made = core.create_namespaced_config_map(
        "default", kubernetes.client.V1ConfigMap(metadata=meta, data={"a": "1"}))
    name = made.metadata.name
    check(name.startswith("settings-") and
          isinstance(made.metadata.creation_timestamp, datetime.datetime), "a ConfigMap is made")
    core.patch_namespaced_config_map(name, "default", {"data": {"b": "2"}})
    core.patch_namespaced_config_map(name, "default",
                                     [{"op": "remove", "path": "/data/a"}])
    check(core.read_namespaced_config_map(name, "default").data == {"b": "2"},
          "a mapping is a merge to it, a list a JSON patch")
    status = core.delete_namespaced_config_map(name, "default")
    check(status.status == "Success", "and deleted", status)

    batch = kubernetes.client.BatchV1Api(user)
    body = make.batch_job("count", duration="60s", cpu="1", gpus=0)
    made = batch.create_namespaced_job("default", body)
    check(made.spec.completion_mode == "NonIndexed" and made.spec.template.spec.containers[0].name
          == "main", "a Job is made with its defaults", made.spec)
    batch.patch_namespaced_job("count", "default", {"spec": {"parallelism": 2}})
    check(batch.read_namespaced_job_status("count", "default").spec.parallelism == 2,
          "and its status read")
    batch.delete_namespaced_job("count", "default", propagation_policy="Background")
    until("the Job is gone", lambda: not batch.list_namespaced_job("default").items)
    made = [core.create_namespaced_config_map("default", {"metadata": {
        "name": f"page-{i}", "labels": {"page": "yes"}}}) for i in range(5)]
    page, seen = core.list_namespaced_config_map("default", limit=2, label_selector="page"), []
    while True:
        seen += [o.metadata.name for o in page.items]
        if not page.metadata._continue:
            break
        page = core.list_namespaced_config_map("default", limit=2, label_selector="page",
                                               _continue=page.metadata._continue)
    check(seen == [o.metadata.name for o in made], "listed in pages", seen)
    core.delete_collection_namespaced_config_map("default", label_selector="page")
    check(not core.list_namespaced_config_map("default", label_selector="page").items,
          "and deleted together")


def the_dynamic_client(user):
    api = dynamic.DynamicClient(user)
    jobs = api.resources.get(api_version="kubeflow.org/v1", kind="PyTorchJob")
    check(jobs.name == "pytorchjobs" and jobs.namespaced, "the dynamic client discovers")
    made = jobs.create(body=job("found"), namespace="default")
    jobs.patch(body={"metadata": {"labels": {"a": "b"}}}, name="found", namespace="default",
               content_type="application/merge-patch+json")
    first = next(iter(jobs.watch(namespace="default", timeout=5)))
    check(first["type"] == "ADDED" and first["object"].metadata.labels.a == "b" and
          first["object"].metadata.uid == made.metadata.uid, "patches and watches", first)
    jobs.delete(name="found", namespace="default")


class Reader:
    """Watches in a thread as a notebook would, and over every broken connection goes on after the
    last revision that it saw."""

    def __init__(self, user, call, *args):
        self.user, self.call, self.args = user, call, args
        listed = self.call(*args)
        meta = listed["metadata"] if isinstance(listed, dict) else listed.metadata
        self.revision = meta["resourceVersion"] if isinstance(meta, dict) else \
            meta.resource_version
        self.seen, self.changed = [], threading.Condition()
        self.breaks, self.error, self.over = 0, None, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.over.is_set():
                self.read()
        except Exception as why:  # the story tells it
            self.error = why

    def read(self):
        watch = kubernetes.watch.Watch()
        try:
            for event in watch.stream(self.call, *self.args, resource_version=self.revision,
                                      timeout_seconds=60):
                meta = event["raw_object"]["metadata"]
                self.revision = meta["resourceVersion"]
                with self.changed:
                    self.seen.append((event["type"], meta["name"], event["raw_object"]))
                    self.changed.notify_all()
                if self.over.is_set():
                    return
        except urllib3.exceptions.HTTPError:  # gone, or not there again yet
            self.breaks += 1
            self.over.wait(0.05)

    def await_event(self, kind, name, matches=lambda o: True):
        def came():
            return any(k == kind and n == name and matches(o) for k, n, o in self.seen)
        with self.changed:
            if not self.changed.wait_for(came, DEADLINE):
                raise Failure(f"no {kind} of {name}: {self.error} "
                              f"{[(k, n) for k, n, _ in self.seen]}")

    def names(self, kind):
        return [n for k, n, _ in self.seen if k == kind]


def succeeded(o):
    return any(c["type"] == "Succeeded" and c["status"] == "True"
               for c in o.get("status", {}).get("conditions", []))


def story_watches_resume(fleet):
    """A watch goes on after the last revision it saw, over restarts and kills of the hub"""
    admin = start_hub(fleet)
    fleet.join(fleet.start_sim("member", [make.node("gpu", gpus=0)]))
    user = let_in(fleet, admin, "notebook")
    custom = kubernetes.client.CustomObjectsApi(user)
    core = kubernetes.client.CoreV1Api(user)
    maps = Reader(user, core.list_namespaced_config_map, "default")
    jobs = Reader(user, custom.list_namespaced_custom_object, *JOBS)

    custom.create_namespaced_custom_object(*JOBS, job("train", duration="1s"))
    jobs.await_event("MODIFIED", "train", succeeded)
    check(True, "a job is seen from its creation to its success")
    for turn, end in enumerate((fleet.hub.stop, fleet.hub.kill) * 2):
        core.create_namespaced_config_map("default", {"metadata": {"name": f"before-{turn}"}})
        end()
        fleet.restart_hub()
        # What happens before the reader is back is what a resumed watch must replay.
        core.create_namespaced_config_map("default", {"metadata": {"name": f"after-{turn}"}})
        core.delete_namespaced_config_map(f"before-{turn}", "default")
        maps.await_event("DELETED", f"before-{turn}")
    expected = [f"{when}-{turn}" for turn in range(4) for when in ("before", "after")]
    check(maps.names("ADDED") == expected, "each creation was seen once, in order",
          maps.names("ADDED"))
    check(maps.names("DELETED") == [f"before-{turn}" for turn in range(4)], "and each deletion")
    check(maps.breaks >= 2, "over broken connections", maps.breaks)
    custom.create_namespaced_custom_object(*JOBS, job("again", duration="1s"))
    jobs.await_event("MODIFIED", "again", succeeded)
    check(jobs.names("ADDED") == ["train", "again"], "jobs as well, without one twice",
          jobs.names("ADDED"))
    for reader in (maps, jobs):
        reader.over.set()
    custom.delete_namespaced_custom_object(*JOBS, "again")
    core.create_namespaced_config_map("default", {"metadata": {"name": "last"}})
    for reader in (maps, jobs):
        reader.thread.join(DEADLINE)
        check(not reader.thread.is_alive() and reader.error is None, "a reader ends well",
              reader.error)


class LeaseLock:
    """A resource lock on a Lease; this version of the library brings only one on a ConfigMap."""

    def __init__(self, user, name, identity):
        self.api = kubernetes.client.CoordinationV1Api(user)
        self.name, self.namespace, self.identity = name, "default", identity
        self.lease = None

    def get(self, name, namespace):
        try:
            self.lease = self.api.read_namespaced_lease(name, namespace)
        except ApiException as error:
            return False, error
        spec = self.lease.spec
        return True, LeaderElectionRecord(spec.holder_identity, str(spec.lease_duration_seconds),
                                          str(spec.acquire_time), str(spec.renew_time))

    def spec(self, record):
        def moment(text):
            at = datetime.datetime.fromisoformat(text)
            return at if at.tzinfo else at.astimezone()
        return kubernetes.client.V1LeaseSpec(
            holder_identity=record.holder_identity,
            lease_duration_seconds=int(record.lease_duration),
            acquire_time=moment(record.acquire_time), renew_time=moment(record.renew_time))

    def attempt(self, call):
        try:
            call()
            return True
        except ApiException as error:
            check(error.status in (403, 409), f"{self.identity} is told {error.status}", error)
            return False

    def create(self, name, namespace, election_record):
        body = kubernetes.client.V1Lease(metadata={"name": name}, spec=self.spec(election_record))
        return self.attempt(lambda: self.api.create_namespaced_lease(namespace, body))

    def update(self, name, namespace, updated_record):
        self.lease.spec = self.spec(updated_record)
        return self.attempt(lambda: self.api.replace_namespaced_lease(name, namespace, self.lease))


class Candidate:
    def __init__(self, lock):
        self.lock, self.leads, self.stopped = lock, threading.Event(), threading.Event()
        config = electionconfig.Config(lock, lease_duration=3, renew_deadline=2, retry_period=1,
                                       onstarted_leading=self.leads.set,
                                       onstopped_leading=self.stopped.set)
        threading.Thread(target=leaderelection.LeaderElection(config).run, daemon=True).start()


def story_leader_election(fleet):
    """Of two candidates for a Lease one leads; when it may not renew any more, the other takes over"""
    admin = start_hub(fleet)
    users = {name: let_in(fleet, admin, name) for name in ("anna", "bert")}
    leases = kubernetes.client.CoordinationV1Api(admin)
    anna = Candidate(LeaseLock(users["anna"], "leader", "anna"))
    check(anna.leads.wait(DEADLINE), "the first leads")
    bert = Candidate(LeaseLock(users["bert"], "leader", "bert"))

    def renewed(since, times):
        def probe():
            lease = leases.read_namespaced_lease("leader", "default")
            return int(lease.metadata.resource_version) > int(since) + times and lease
        return until("the lease is renewed", probe)
    first = leases.read_namespaced_lease("leader", "default")
    lease = renewed(first.metadata.resource_version, 1)
    check(lease.spec.holder_identity == "anna" and not bert.leads.is_set() and
          lease.spec.acquire_time == first.spec.acquire_time and
          lease.spec.renew_time > first.spec.renew_time,
          "it renews its lease to the microsecond, and the second waits", lease.spec)
    kubernetes.client.RbacAuthorizationV1Api(admin).delete_namespaced_role_binding(
        "anna", "default")
    check(anna.stopped.wait(DEADLINE), "without the right to renew it stops leading")
    check(bert.leads.wait(DEADLINE), "and the second takes over")
    lease = leases.read_namespaced_lease("leader", "default")
    check(lease.spec.holder_identity == "bert", "as the Lease says", lease.spec)

    stale = leases.read_namespaced_lease("leader", "default")
    renewed(stale.metadata.resource_version, 0)
    refused("a stale update of the Lease", 409, leases.replace_namespaced_lease, "leader",
            "default", stale)
    kubernetes.client.RbacAuthorizationV1Api(admin).delete_namespaced_role_binding(
        "bert", "default")
    check(bert.stopped.wait(DEADLINE), "and so the second")


if __name__ == "__main__":
    main(globals(), Fleet)
