"""JSON objects to Kubernetes' protobuf bodies, by the hub's own table of fields (which
tests/differential/wire holds against Go's types)."""

import base64
import datetime
import json
import os
import re
import struct

FIELDS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../../hub/kinds/protobuf_fields.txt")
PACKAGES = {"v1": "core", "batch/v1": "batch", "autoscaling/v1": "autoscaling",
            "scheduling.k8s.io/v1": "sched", "coordination.k8s.io/v1": "coord",
            "events.k8s.io/v1": "events", "authorization.k8s.io/v1": "authz",
            "authentication.k8s.io/v1": "authn",
            "rbac.authorization.k8s.io/v1": "rbac", "apiextensions.k8s.io/v1": "apiext"}
EITHER = {"JSONSchemaPropsOrArray": {dict: "schema", list: "jSONSchemas"},
          "JSONSchemaPropsOrBool": {dict: "schema", bool: "allows"},
          "JSONSchemaPropsOrStringArray": {dict: "schema", list: "property"}}


def read_tables():
    """{message: [(number, name, type)]}"""
    with open(FIELDS, encoding="utf-8") as f:
        text = "".join(line for line in f if not line.startswith("#"))
    tables = {}
    for entry in re.split(r"\n(?=\w)", text.strip()):
        name, fields = entry.split(":", 1)
        tables[name] = [(int(n), field, kind.rstrip("!")) for n, field, kind in
                        (f.split() for f in fields.split(",") if f.strip())]
    return tables


TABLES = read_tables()


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """One field: an integer, text or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def moment(text):
    t = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return field(1, int(t.timestamp())) + field(2, t.microsecond * 1000)


def whole_or_text(v):
    if isinstance(v, int):
        return field(1, 0) + field(2, v) + field(3, "")
    return field(1, 1) + field(2, 0) + field(3, v)


def one(number, kind, v):
    """A value that is neither in a list nor in a map."""
    if kind in ("i", "o"):
        return field(number, int(v))
    if kind == "d":
        return varint(number << 3 | 1) + struct.pack("<d", v)
    if kind.startswith("|"):
        name = kind[1:]
        v = {EITHER[name.split(".")[1]][type(v)]: v}
        return field(number, message(name, v))
    simple = {"s": lambda: v.encode(), "b": lambda: base64.b64decode(v), "T": lambda: moment(v),
              "U": lambda: moment(v), "Q": lambda: field(1, str(v)),
              "J": lambda: field(1, json.dumps(v)), "X": lambda: whole_or_text(v),
              "E": lambda: b"".join(field(1, x) for x in v)}
    return field(number, simple[kind]() if kind in simple else message(kind, v))


def message(name, value):
    out, known = b"", set()
    for number, key, kind in TABLES[name]:
        kind = kind.lstrip("*")
        if key == "^":
            inner = {k: value[k] for _, k, _ in TABLES[kind] if k in value}
            known.update(inner)
            out += field(number, message(kind, inner))
            continue
        known.add(key)
        v = value.get(key)
        if v is None:
            continue
        if kind.startswith("[]"):
            out += b"".join(one(number, kind[2:], item) for item in v)
        elif kind.startswith("{}"):
            out += b"".join(field(number, field(1, k) + one(2, kind[2:], item))
                            for k, item in v.items())
        else:
            out += one(number, kind, v)
    unknown = set(value) - known - {"apiVersion", "kind"}
    if unknown:
        raise ValueError("%s has no field %s" % (name, unknown))
    return out


def envelope(version, kind, raw):
    return b"k8s\0" + field(1, field(1, version) + field(2, kind)) + field(2, raw) + \
        field(3, "") + field(4, "")


def encode(o):
    """The body of an object, as a typed client sends it."""
    package = "meta" if o["kind"] == "DeleteOptions" else PACKAGES[o["apiVersion"]]
    return envelope(o["apiVersion"], o["kind"], message(package + "." + o["kind"], o))
