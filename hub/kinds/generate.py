#!/usr/bin/env python3
"""Turns the YAML schema files of this folder into static C tables.

usage: generate.py OUT.c INDEX.yaml PROTOBUF_FIELDS.txt FILE.yaml...

A file describes one kind, types that kinds share, or both. README.md in this folder has the
language. Everything is resolved here, so that the program holds no names to look up: a type is a
node in one array, a kind a struct kind. Any mistake in a file ends the build with its place.
"""
import json
import re
import sys

import yaml

SCALARS = {
    # name: (schema type, format)
    "any": ("ANY", "PLAIN"),
    "string": ("STRING", "PLAIN"),
    "time": ("STRING", "DATE_TIME"),
    "microTime": ("STRING", "MICRO_TIME"),
    "bytes": ("STRING", "BYTE"),
    "dnsLabel": ("STRING", "DNS_LABEL"),
    "dnsSubdomain": ("STRING", "DNS_SUBDOMAIN"),
    "dns1035": ("STRING", "DNS1035"),
    "qualifiedName": ("STRING", "QUALIFIED"),
    "labelValue": ("STRING", "LABEL_VALUE"),
    "int32": ("INTEGER", "INT32"),
    "int64": ("INTEGER", "INT64"),
    "number": ("NUMBER", "PLAIN"),
    "bool": ("BOOLEAN", "PLAIN"),
    "intOrString": ("INT_OR_STRING", "PLAIN"),
    "quantity": ("QUANTITY", "PLAIN"),
}
KIND_KEYS = {"kind", "type", "served", "scope", "plural", "singular", "shortNames", "categories",
             "status", "job", "mirrored", "strategic", "unconditionalUpdate", "columns", "hooks",
             "subresources", "about", "definitions", "types", "sameShape", "singly",
             "definable"}
# Where protobuf_fields.txt has the types of these OpenAPI prefixes, and under which other names.
PACKAGES = {"io.k8s.api.core.v1": "core", "io.k8s.api.batch.v1": "batch",
            "io.k8s.api.coordination.v1": "coord", "io.k8s.api.events.v1": "events",
            "io.k8s.api.rbac.v1": "rbac", "io.k8s.api.scheduling.v1": "sched",
            "io.k8s.apimachinery.pkg.apis.meta.v1": "meta"}
OTHER_NAMES = {"OptionalObjectReference": "core.ConfigMapEnvSource",
               "ResourceClaimReference": "core.ResourceClaim", "TemplateMeta": "meta.ObjectMeta"}
HOOKS = ("default_object", "validate", "digest", "cells", "convert")
MAX_FIELDS = 64


class Mistake(Exception):
    pass


def c_str(s):
    """A C string literal; descriptions may hold any UTF-8."""
    return "NULL" if s is None else json.dumps(s, ensure_ascii=False)


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def version_rank(version):
    """Best first, as kind_version_cmp() in hub/kube/kind_set.h."""
    m = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if not m:
        raise Mistake(f"not a version: {version}")
    stage = {None: 0, "beta": 1, "alpha": 2}[m.group(2)]
    return stage, -int(m.group(1)), -int(m.group(3) or 0)


def read_unsaid(path):
    """{message: {field: whether it is written even when it is zero}}, of the Go types in that file;
    without pointers, whose zero value is one."""
    with open(path, encoding="utf-8") as f:
        text = "".join(line for line in f if not line.startswith("#"))
    messages, inline = {}, {}
    for entry in re.split(r"\n(?=\w)", text.strip()):
        name, _, fields = entry.partition(":")
        words = [f.split() for f in fields.split(",") if f.strip()]
        messages[name] = {w[1]: w[2][-1] == "!" for w in words if w[2][0] != "*"}
        inline[name] = [w[2].rstrip("!") for w in words if w[1] == "^"]
    for name, fields in messages.items():
        for other in inline[name]:
            fields.update(messages[other])
    return messages


class Node:
    """One struct schema."""

    def __init__(self, **kw):
        self.name = None
        self.about = ""
        self.fields = []  # (name, node index, about, default, strategy, merge_key, native)
        self.required = 0
        self.defaulted = 0
        self.native = 0
        self.unsaid = 0
        self.structs = 0
        self.has_native = False
        self.items = None
        self.enum = None
        self.list_keys = None
        self.pattern = None
        self.minimum = self.maximum = None
        self.lengths = [0, 0, 0, 0]
        self.type = "ANY"
        self.format = "PLAIN"
        self.list_type = "ATOMIC"
        self.flags = set()
        self.__dict__.update(kw)

    def key(self):
        return repr(sorted(self.__dict__.items(), key=lambda kv: kv[0]))


class Tables:
    def __init__(self, files, unsaid):
        self.files = files
        self.unsaid = unsaid  # see read_unsaid()
        self.nodes = []
        self.by_key = {}
        self.named = {}  # (file, type name) -> node index
        self.shared = {}  # type name -> file, for files without a kind
        for path, doc in files.items():
            if "kind" not in doc:
                for name in doc.get("types", {}):
                    if name in self.shared:
                        raise Mistake(f"{path}: type {name} is in {self.shared[name]} too")
                    self.shared[name] = path

    def add(self, node):
        """An unnamed node, once for all equal ones."""
        key = node.key()
        if key not in self.by_key:
            self.by_key[key] = len(self.nodes)
            self.nodes.append(node)
        return self.by_key[key]

    def resolve(self, path, name):
        if name in self.files[path].get("types", {}):
            return self.named_type(path, name)
        if name in self.shared:
            return self.named_type(self.shared[name], name)
        raise Mistake(f"{path}: unknown type {name}")

    def named_type(self, path, name):
        if (path, name) in self.named:
            return self.named[path, name]
        doc = self.files[path]
        body = doc["types"][name]
        if isinstance(body, str):  # an alias with its own constraints
            index, *_ = self.expression(f"{path}: {name}", path, body)
            self.named[path, name] = index
            return index
        node = Node(type="OBJECT")
        index = len(self.nodes)
        self.nodes.append(node)
        self.named[path, name] = index
        prefix = doc.get("definitions")
        if not prefix:
            raise Mistake(f"{path}: named types need `definitions`")
        node.name = f"{prefix}.{name}"
        self.fill(path, name, node, body)
        return index

    def fill(self, path, name, node, body):
        node.about = body.get("_about", "").strip()
        if not node.about:
            raise Mistake(f"{path}: {name} has no _about")
        if body.get("_open"):
            node.flags.add("KEEP_UNKNOWN")
        if body.get("_atomic"):
            node.flags.add("ATOMIC_MAP")
        fields = []
        for key, text in body.items():
            if key in ("_about", "_open", "_atomic"):
                continue
            required = key.endswith("!")
            fields.append((key.rstrip("!"), required, text))
        fields.sort(key=lambda f: f[0].encode())
        if len({f[0] for f in fields}) < len(fields):
            raise Mistake(f"{path}: {name} has a field twice")
        if len(fields) > MAX_FIELDS:
            raise Mistake(f"{path}: {name} has more than {MAX_FIELDS} fields")
        package = PACKAGES.get(self.files[path].get("definitions"))
        unsaid = self.unsaid.get(OTHER_NAMES.get(name, f"{package}.{name}"), {})
        for i, (field, required, text) in enumerate(fields):
            where = f"{path}: {name}.{field}"
            index, about, default, strategy, merge_key, native = self.expression(where, path, text)
            node.fields.append((field, index, about, default, strategy, merge_key, native))
            node.required |= required << i
            node.defaulted |= (default is not None) << i
            node.native |= (default is not None or native is not None) << i
            below = self.nodes[index]
            scalar = below.type in ("STRING", "INTEGER", "BOOLEAN") and below.format not in ("DATE_TIME", "MICRO_TIME")
            many = below.type in ("ARRAY", "MAP") and not (required or "NULLABLE" in below.flags)
            # what is written anyway is still filled in
            dropped = field in unsaid and (not unsaid[field] or native is not None)
            by_key = required and below.list_type == "MAP"
            node.structs |= (package is not None and field in unsaid
                             and (by_key or below.type == "OBJECT"
                                  and "ATOMIC_MAP" not in below.flags)) << i
            node.unsaid |= (package is not None and dropped and (scalar or many)) << i

    def expression(self, where, path, text):
        """`TYPE modifiers -- text` -> (node, text, default, strategy, key, native default)."""
        if not isinstance(text, str):
            raise Mistake(f"{where}: not a string: {text!r}")
        head, _, about = text.partition(" -- ")
        words = re.findall(r'(?:"[^"]*"|[^\s"])+', head)
        node = self.type_node(where, path, words[0])
        mods = {}
        for word in words[1:]:
            k, _, v = word.partition("=")
            mods[k] = v
        default, strategy, merge_key, native = None, None, None, None
        if mods and isinstance(node, int):
            # Modifiers of the field itself are fine on a named type; others would change it.
            if set(mods) - {"default", "native"}:
                copy = Node(**self.nodes[node].__dict__)
                if copy.name:
                    raise Mistake(f"{where}: {sorted(mods)} on named type {copy.name}")
                copy.flags = set(copy.flags)
                copy.lengths = list(copy.lengths)
                node = copy
        for k, v in mods.items():
            if k == "default":
                default = self.default_text(where, node, v)
            elif k == "native":
                native = self.default_text(where, node, v)
            elif k == "min":
                node.minimum = int(v)
            elif k == "max":
                node.maximum = int(v)
            elif k == "enum":
                node.enum = tuple(v.replace('""', "").split("|"))
            elif k == "pattern":
                node.pattern = v.strip('"')
            elif k in ("minLength", "maxLength", "minItems", "maxItems"):
                node.lengths[("minLength", "maxLength", "minItems", "maxItems").index(k)] = int(v)
            elif k == "key":
                node.list_type, node.list_keys = "MAP", tuple(v.split(","))
            elif k == "set":
                node.list_type = "SET"
            elif k == "merge":
                strategy, merge_key = "merge", v or None
            elif k == "mergeKeys":
                strategy, merge_key = "merge,retainKeys", v or None
            elif k == "retainKeys":
                strategy = "retainKeys"
            elif k == "atomic":
                node.flags.add("ATOMIC_MAP")
            elif k == "nullable":
                node.flags.add("NULLABLE")
            elif k == "notNegative":
                node.flags.add("NOT_NEGATIVE")
            elif k == "ruled":
                node.flags.add("RULED")
            elif k == "lax":
                node.flags.add("LAX_KEYS")
            elif k == "open":
                node.flags.add("KEEP_UNKNOWN")
            else:
                raise Mistake(f"{where}: unknown modifier {k}")
        index = node if isinstance(node, int) else self.add(node)
        return index, about.strip(), default, strategy, merge_key, native

    def default_text(self, where, node, v):
        node = self.nodes[node] if isinstance(node, int) else node
        try:
            value = json.loads(v)
        except ValueError:
            value = v
        if node.type in ("STRING", "QUANTITY") and not isinstance(value, (str, type(None))):
            value = v
        return json.dumps(value, separators=(",", ":"))

    def type_node(self, where, path, text):
        """A fresh Node for inline types, an index for named ones."""
        m = re.fullmatch(r"(list|map)\((.*)\)", text)
        if m:
            inner = self.type_node(where, path, m.group(2))
            items = inner if isinstance(inner, int) else self.add(inner)
            return Node(type="ARRAY" if m.group(1) == "list" else "MAP", items=items)
        if text in SCALARS:
            kind, fmt = SCALARS[text]
            node = Node(type=kind, format=fmt)
            if kind == "ANY":
                node.flags.add("KEEP_UNKNOWN")
            return node
        if text == "object":
            return Node(type="OBJECT", flags={"KEEP_UNKNOWN"})
        if not re.fullmatch(r"[A-Z]\w*", text):
            raise Mistake(f"{where}: not a type: {text}")
        return self.resolve(path, text)

    def root(self, path):
        """The node of the kind itself: its type plus apiVersion, kind and metadata."""
        doc = self.files[path]
        body = dict(doc["types"][doc["kind"]])
        body["apiVersion"] = "string -- Versioned schema of this object: group/version."
        body["kind"] = "string -- The REST resource that this object represents."
        if "metadata!" not in body:
            body.setdefault("metadata", "ObjectMeta default={} -- Standard object metadata.")
        doc["types"][doc["kind"]] = body
        return self.named_type(path, doc["kind"])

    def mark_native(self):
        """Finds the types that have native defaults in them or below; types may recur."""
        todo = [i for i, n in enumerate(self.nodes) if any(f[6] is not None for f in n.fields)]
        users = {}
        for i, node in enumerate(self.nodes):
            for below in [f[1] for f in node.fields] + [node.items]:
                users.setdefault(below, []).append(i)
        while todo:
            i = todo.pop()
            if not self.nodes[i].has_native:
                self.nodes[i].has_native = True
                todo += users.get(i, [])

    # -- output --

    def write_strings(self, out, what, i, items):
        out.append(f"static const char *const {what}_{i}[] = {{"
                   + ", ".join(c_str(s) for s in items) + ", NULL};")

    def write(self, out):
        n = len(self.nodes)
        out.append(f"static const struct schema nodes[{n}];")
        for i, node in enumerate(self.nodes):
            if node.enum is not None:
                self.write_strings(out, "enum", i, node.enum)
            if node.list_keys is not None:
                self.write_strings(out, "keys", i, node.list_keys)
            if node.fields:
                out.append(f"static const struct schema_field fields_{i}[] = {{")
                for name, index, about, default, strategy, merge_key, native in node.fields:
                    tail = f", {c_str(strategy)}, {c_str(merge_key)}" if strategy else ""
                    if native is not None:
                        tail += f", .native_json = {c_str(native)}"
                    out.append(f"\t{{{c_str(name)}, &nodes[{index}], {c_str(about)}, "
                               f"{c_str(default)}{tail}}},")
                out.append("};")
        out.append(f"static const struct schema nodes[{n}] = {{")
        for i, node in enumerate(self.nodes):
            out.append(self.node_text(i, node))
        out.append("};")

    def node_text(self, i, node):
        flags = set(node.flags)
        parts = [f".type = SCHEMA_{node.type}"]
        if node.format != "PLAIN":
            parts.append(f".format = SCHEMA_{node.format}")
        if node.name:
            parts.append(f".name = {c_str(node.name)}")
        if node.about:
            parts.append(f".description = {c_str(node.about)}")
        if node.fields:
            parts.append(f".fields = fields_{i}, .n_fields = {len(node.fields)}")
        if node.required:
            parts.append(f".required = 0x{node.required:x}u")
        if node.defaulted:
            parts.append(f".defaulted = 0x{node.defaulted:x}u")
        if node.native:
            parts.append(f".native = 0x{node.native:x}u")
        if node.structs:
            parts.append(f".structs = 0x{node.structs:x}u")
        if node.unsaid:
            parts.append(f".unsaid = 0x{node.unsaid:x}u")
        if node.items is not None:
            parts.append(f".items = &nodes[{node.items}]")
        if node.enum is not None:
            parts.append(f".enumeration = enum_{i}")
        if node.list_keys is not None:
            parts.append(f".list_keys = keys_{i}")
        if node.list_type != "ATOMIC":
            parts.append(f".list_type = SCHEMA_LIST_{node.list_type}")
        if node.pattern is not None:
            parts.append(f".pattern = {c_str(node.pattern)}")
        if node.minimum is not None:
            flags.add("HAS_MIN")
            parts.append(f".minimum = {node.minimum}")
        if node.maximum is not None:
            flags.add("HAS_MAX")
            parts.append(f".maximum = {node.maximum}")
        if node.has_native:
            parts.append(".has_native = true")
        for k, v in zip(("min_length", "max_length", "min_items", "max_items"), node.lengths):
            if v:
                parts.append(f".{k} = {v}")
        if flags:
            parts.append(".flags = " + " | ".join(f"SCHEMA_{f}" for f in sorted(flags)))
        return "\t{" + ", ".join(parts) + "},"


class Kinds:
    """The struct kind of every (group/version, set) and the sets."""

    def __init__(self, tables, groups):
        self.tables = tables
        self.groups = groups
        self.sets = {"hub": [], "sim": []}

    def write_names(self, out, var, items):
        if not items:
            return "NULL"
        out.append(f"static const char *const {var}[] = {{"
                   + ", ".join(c_str(s) for s in items) + ", NULL};")
        return var

    def write_columns(self, out, var, doc, path):
        columns = doc.get("columns", [])
        if not columns:
            return
        out.append(f"static const struct kind_column {var}_columns[] = {{")
        for c in columns:
            unknown = set(c) - {"name", "type", "format", "path", "about", "wide"}
            if unknown:
                raise Mistake(f"{path}: column keys {sorted(unknown)}")
            out.append(f"\t{{{c_str(c['name'])}, {c_str(c['type'])}, {c_str(c.get('format', ''))}, "
                       f"{c_str(c.get('path'))}, {c_str(c.get('about', ''))}, "
                       f"{1 if c.get('wide') else 0}}},")
        out.append("};")

    def write_subresources(self, out, var, doc):
        subs = doc.get("subresources", [])
        if not subs:
            return
        names = [self.write_names(out, f"{var}_verbs_{i}", s["verbs"]) for i, s in enumerate(subs)]
        out.append(f"static const struct kind_subresource {var}_subresources[] = {{")
        for s, verbs in zip(subs, names):
            group, _, version = s.get("api", "v1").rpartition("/")
            out.append(f"\t{{{c_str(s['name'])}, {c_str(group)}, {c_str(version)}, "
                       f"{c_str(s['kind'])}, {verbs}}},")
        out.append("};")

    def write_kind(self, out, path, doc, root):
        unknown = set(doc) - KIND_KEYS
        if unknown:
            raise Mistake(f"{path}: unknown keys {sorted(unknown)}")
        kind = doc["kind"]
        plural = doc.get("plural", kind.lower() + "s")
        first = doc["served"][0]["api"]
        base = snake(kind) + ("_" + snake(first.split("/")[0].split(".")[0]) if "." in first else "")
        # beside the stored version, or a question's other version, in a file of its own
        if ("convert" in doc.get("hooks", {}) or doc.get("sameShape")
                or doc.get("type") == "TYPE_ASKED"):
            base += "_" + first.rpartition("/")[2]
        short = self.write_names(out, f"{base}_short", doc.get("shortNames"))
        categories = self.write_names(out, f"{base}_categories", doc.get("categories"))
        self.write_columns(out, base, doc, path)
        self.write_subresources(out, base, doc)
        for n, served in enumerate(doc["served"]):
            group, _, version = served["api"].rpartition("/")
            if group not in self.groups:
                raise Mistake(f"{path}: group {group} is not in the index")
            in_sets = served["in"]
            if isinstance(in_sets, list):
                in_sets = {s: "ALL" for s in in_sets}
            by_verbs = {}
            for name, verbs in in_sets.items():
                by_verbs.setdefault(verbs, []).append(name)
            for verbs, names in by_verbs.items():
                var = f"kind_{base}_{n}_{verbs.lower()}"
                self.one(out, var, doc, base, group, version, plural, short, categories, verbs,
                         root, n)
                for name in names:
                    key = (self.groups.index(group), plural, version_rank(version), n)
                    self.sets[name].append((key, var))

    def one(self, out, var, doc, base, group, version, plural, short, categories, verbs, root, n):
        hooks = doc.get("hooks", {})
        unknown = set(hooks) - set(HOOKS)
        if unknown:
            raise Mistake(f"{doc['kind']}: unknown hooks {sorted(unknown)}")
        scope = {"Namespaced": "NAMESPACED", "Cluster": "CLUSTER"}[doc.get("scope", "Namespaced")]
        columns = doc.get("columns", [])
        subs = doc.get("subresources", [])
        singular = doc.get("singular", doc["kind"].lower())
        first_group = doc["served"][0]["api"].rpartition("/")[0]
        lines = [
            f"\t.type = {doc['type']},",
            f"\t.group = {c_str(group)}, .version = {c_str(version)}, .kind = {c_str(doc['kind'])},",
            f"\t.plural = {c_str(plural)}, .singular = {c_str(singular)},",
            # kubectl warns whenever two groups claim one short name; versions share it.
            f"\t.short_names = {short if group == first_group else 'NULL'}, "
            f".categories = {categories},",
            f"\t.scope = KIND_{scope}, .verbs = KIND_VERBS_{verbs},",
            f"\t.schema = &nodes[{root}],",
        ]
        for key, member in (("status", "has_status"), ("job", "is_job"), ("mirrored", "mirrored"),
                            ("strategic", "strategic"),
                            ("unconditionalUpdate", "unconditional_update"),
                            ("singly", "singly"), ("definable", "definable")):
            if doc.get(key):
                lines.append(f"\t.{member} = true,")
        if doc.get("sameShape") or n > 0:
            lines.append("\t.same_shape = true,")
        if columns:
            lines.append(f"\t.columns = {base}_columns, .n_columns = {len(columns)},")
        if subs:
            lines.append(f"\t.subresources = {base}_subresources, .n_subresources = {len(subs)},")
        lines += [f"\t.{hook} = {hooks[hook]}," for hook in HOOKS if hook in hooks]
        out.append(f"static const struct kind {var} = {{")
        out += lines
        out.append("};")

    def write_sets(self, out):
        for name, members in self.sets.items():
            out.append(f"static const struct kind *const {name}_kinds[] = {{")
            out += [f"\t&{var}," for _, var in sorted(members)]
            out.append("};")
            out.append(f"const struct kind_set kinds_table_{name} = "
                       f"{{{name}_kinds, {len(members)}}};")


def not_run(entries):
    """A file for each kind that is known by name only."""
    files = {}
    for e in entries:
        kind = e["kind"]
        files[f"index.yaml: {kind}"] = {
            "kind": kind, "type": "TYPE_NOT_RUN", "scope": e.get("scope", "Namespaced"),
            "plural": e.get("plural", kind.lower() + "s"), "definitions": "dev.muster.notrun",
            "served": [{"api": e["api"], "in": {"hub": "NONE"}}],
            "definable": e.get("definable", False),
            "types": {kind: {"_about": "Not run here.", "_open": True}}}
    return files


def asked(entries):
    """A file for each resource and version that holds nothing and answers under a subresource."""
    files = {}
    for e in entries:
        kind = e["kind"]
        for api in e["apis"]:
            files[f"index.yaml: {kind} {api}"] = {
                "kind": kind, "type": "TYPE_ASKED", "scope": e["scope"],
                "definitions": "dev.muster.asked." + api.rpartition("/")[2],
                "subresources": [{"name": e["subresource"], "api": api, "kind": e["answer"],
                                  "verbs": ["get"]}],
                "served": [{"api": api, "in": {"hub": "NONE"}}],
                "types": {kind: {"_about": "Asked under a subresource.", "_open": True}}}
    return files


def generate(index_path, fields_path, paths):
    with open(index_path, encoding="utf-8") as f:
        index = yaml.safe_load(f)
    files = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            files[path.rsplit("/", 1)[-1]] = yaml.safe_load(f)
    files.update(not_run(index.get("notRun", [])))
    files.update(asked(index.get("asked", [])))
    tables = Tables(files, read_unsaid(fields_path))
    kinds = Kinds(tables, index["groups"])
    roots = {path: tables.root(path) for path, doc in files.items() if "kind" in doc}
    out = ["/* Generated by hub/kinds/generate.py; edit the YAML files there. */",
           '#include "kinds/hooks.h"', '#include "kinds/kinds_table.h"', '#include "kinds/types.h"',
           '#include "kube/schema.h"', ""]
    tables.mark_native()
    tables.write(out)
    for path in sorted(roots):
        kinds.write_kind(out, path, files[path], roots[path])
    kinds.write_sets(out)
    return "\n".join(out) + "\n"


def main(argv):
    if len(argv) < 5:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        text = generate(argv[2], argv[3], argv[4:])
    except (Mistake, KeyError, yaml.YAMLError) as e:
        print(f"generate.py: {e!r}", file=sys.stderr)
        return 1
    with open(argv[1], "w", encoding="utf-8") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
