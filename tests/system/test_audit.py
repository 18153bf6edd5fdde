#!/usr/bin/env python3
"""The audit log: who did what, as the policy wants it, and no secret in it."""

import base64
import json
import os
import signal

from muster_test import Failure, Fleet, check, main
from muster_test.client import until
from muster_test.users import newest, refused


def too_large_an_answer(fleet):
    """Asks for a page of a table that is larger than the hub puts together; its audit ID."""
    base = "/api/v1/namespaces/kube-public/configmaps"
    for i in range(66):
        fleet.client.call("POST", base, {"metadata": {"name": f"large-{i}"},
                                         "data": {"a": "x" * (1023 << 10)}})
    status, headers, text = fleet.client.raw(
        "GET", base + "?limit=500&includeObject=Object",
        headers={"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    check(status == 500 and json.loads(text)["reason"] == "InternalError",
          "an answer of more than 64 MiB is refused", status)
    return headers["Audit-Id"]


def story_audit(fleet):
    """The audit log says who did what, as the policy wants it, and holds no secret"""
    policy = fleet.path("policy.yaml")
    with open(policy, "w", encoding="ascii") as f:
        f.write("""apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  nonResourceURLs: ["/api*", "/openapi*", "/version"]
- level: RequestResponse
  verbs: [create, delete]
  resources: [{group: "", resources: [configmaps, secrets]}]
  namespaces: [default]
- level: Metadata
  namespaces: [default]
- level: Metadata
  verbs: [list]
  namespaces: [kube-public]
""")
    fleet.start_hub(config={"audit": {"policyFile": policy}})
    admin = newest(fleet)
    admin("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "ConfigMap",
                                      "metadata": {"name": "c"}, "data": {"a": "battery-staple"}})
    admin("create", "-f", "-", stdin={"apiVersion": "v1", "kind": "Secret",
                                      "metadata": {"name": "s"},
                                      "stringData": {"password": "correct-horse"}})
    refused(admin, "somebody without rights", "get", "pods", "-n", "default", "--as=eve",
            "--as-group=dev")
    fleet.client.raw("PUT", "/api/v1/namespaces/default/configmaps/c", {}, headers={
        "Impersonate-User": "eve", "Impersonate-Extra-Scopes": "v",
        "Impersonate-Extra-Acme.com%2Fteam": "t"})
    token = admin("create", "token", "default", "-n", "default").strip()
    admin("get", "nodes")
    _, headers, _ = fleet.client.raw("GET", "/api/v1/namespaces/default/configmaps/c")
    _, streamed, _ = fleet.client.raw(
        "GET", "/api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=1")
    big = too_large_an_answer(fleet)
    counted = fleet.client.metrics()
    fleet.hub.stop()
    path = os.path.join(fleet.hub.data, "audit.log")
    check(os.stat(path).st_mode & 0o777 == 0o600, "the log is the owner's alone")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    check("correct-horse" not in text and token not in text and
          base64.b64encode(b"correct-horse").decode() not in text, "no secret is in it")
    events = [json.loads(line) for line in text.splitlines()]

    def find(resource, verb):
        found = [e for e in events if e["verb"] == verb and
                 e.get("objectRef", {}).get("resource") == resource]
        if len(found) != 1:
            raise Failure(f"{len(found)} events of {verb} {resource}")
        return found[0]
    stages = {stage: [e for e in events if e["stage"] == stage]
              for stage in ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")}
    check([(e["auditID"], e["responseStatus"]["code"]) for e in stages["Panic"]] == [(big, 500)],
          "an answer that could not be made is a panic", stages["Panic"])
    check(sum(map(len, stages.values())) == len(events) and
          {e["auditID"] for e in stages["RequestReceived"]} ==
          {e["auditID"] for e in stages["ResponseComplete"] + stages["Panic"]} and
          not [e for e in stages["RequestReceived"] if "responseStatus" in e] and
          [(e["auditID"], e["responseStatus"]["code"]) for e in stages["ResponseStarted"]] ==
          [(streamed["Audit-Id"], 200)], "every stage of a request, the watch's three", stages)
    events = stages["ResponseComplete"]
    e = find("configmaps", "create")
    check(e["level"] == "RequestResponse" and e["requestObject"]["data"] and
          e["responseObject"]["metadata"]["uid"] and e["responseStatus"]["code"] == 201 and
          e["user"]["username"] == "muster-admin" and e["sourceIPs"] == ["127.0.0.1"] and
          e["userAgent"].startswith("kubectl/"), "a request with both bodies", e)
    e = find("secrets", "create")
    check(e["level"] == "Metadata" and "requestObject" not in e, "a Secret without", e)
    e = find("pods", "list")
    check(e["responseStatus"]["code"] == 403 and e["impersonatedUser"]["username"] == "eve" and
          e["user"]["username"] == "muster-admin" and
          e["annotations"]["authorization.k8s.io/decision"] == "forbid", "a refusal", e)
    e = find("configmaps", "update")
    check(e["impersonatedUser"]["extra"] == {"scopes": ["v"], "acme.com/team": ["t"]},
          "and what else is known of the user", e)
    e = find("serviceaccounts", "create")
    check(e["objectRef"]["subresource"] == "token" and "responseObject" not in e, "a token", e)
    ids = [e["auditID"] for e in events]
    check(ids.count(headers["Audit-Id"]) == 1 and ids.count(streamed["Audit-Id"]) == 1,
          "the answers' Audit-Id is the event's", dict(headers), ids)
    check(4 <= counted["apiserver_audit_event_total"] <= 2 * len(events) + 3 and
          counted["muster_audit_events_dropped_total"] == 0, "events are counted")
    check(not [e for e in events if e.get("objectRef", {}).get("resource") == "nodes"],
          "what no rule matches is not there")
    fleet.restart_hub()


def story_audit_policies(fleet):
    """The audit policy is read again on SIGHUP, when it is one"""
    policy, log = fleet.path("policy.yaml"), None

    def write(*lines):
        with open(policy, "w", encoding="ascii") as f:
            f.write("\n".join(["apiVersion: audit.k8s.io/v1", "kind: Policy", *lines, ""]))

    def logged(name):
        with open(log, encoding="utf-8") as f:
            return [(e["stage"], e["level"]) for e in map(json.loads, f)
                    if e.get("objectRef", {}).get("name") == name]

    def look(name, seen):
        """What the log says about a GET of that name, once the log has come to its end."""
        fleet.client.raw("GET", f"/api/v1/namespaces/default/configmaps/{name}")
        fleet.client.raw("GET", "/api/v1/namespaces/default/secrets/" + name + "-end")
        until("the log has come so far", lambda: ("ResponseComplete", "Metadata") in
              logged(name + "-end"))
        check(logged(name) == seen, f"{name}: {seen}", logged(name))
    end = '- {level: Metadata, resources: [{group: "", resources: [secrets]}]}'
    write("omitStages: [RequestReceived]", "rules:", end, "- level: Metadata")
    fleet.start_hub(config={"audit": {"policyFile": policy}})
    log = os.path.join(fleet.hub.data, "audit.log")
    look("one", [("ResponseComplete", "Metadata")])
    write("rules:", end, "- {level: Request, omitStages: [ResponseStarted]}")
    fleet.hub.signal(signal.SIGHUP)
    until("it is reloaded", lambda: "configuration reloaded" in fleet.hub.tail())
    look("two", [("RequestReceived", "Request"), ("ResponseComplete", "Request")])
    for i, (words, lines) in enumerate((("rules[0].omitStages is not valid",
                                      ("rules:", "- {level: None, omitStages: [Later]}")),
                                     ("rules[1].level is not valid",
                                      ("rules:", end, "- level: Everything")),
                                     ("stages: unknown field", ("stages: []", "rules:", "- level: None")))):
        write(*lines)
        fleet.hub.signal(signal.SIGHUP)
        until("it is refused", lambda: words in fleet.hub.tail())
        check("the audit policy is not valid; nothing reloaded" in fleet.hub.tail(),
              f"refused aloud: {words}")
        look(f"after-{i}", [("RequestReceived", "Request"), ("ResponseComplete", "Request")])
    write("rules:", end)
    fleet.hub.signal(signal.SIGHUP)
    until("it is reloaded", lambda: fleet.hub.tail().count("configuration reloaded") == 2)
    look("three", [])


if __name__ == "__main__":
    main(globals(), Fleet)
