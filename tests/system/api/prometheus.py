"""A strict reader of Prometheus' text format 0.0.4: what promtool would refuse is refused."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z")
TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


def read_labels(text):
    labels, at = {}, 0
    while at < len(text):
        m = LABEL.match(text, at)
        if not m:
            raise ValueError("labels: " + text[at:])
        if m[1] in labels:
            raise ValueError("label %s twice" % m[1])
        labels[m[1]] = m[2]
        at = m.end()
        if m[3] == "," and at == len(text):
            raise ValueError("labels end with a comma: " + text)
    return labels


def family_of(name, types):
    """The family that a sample belongs to: histograms have three names."""
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) == "histogram":
            return base
    return name


class Metrics:
    def __init__(self, text):
        self.types, self.samples = {}, {}
        helps, closed, current = set(), set(), None
        if not text.endswith("\n"):
            raise ValueError("no newline at the end")
        for line in text[:-1].split("\n"):
            if line.startswith("# "):
                _, word, name, rest = line.split(" ", 3)
                if not NAME.match(name) or word not in ("HELP", "TYPE"):
                    raise ValueError(line)
                if word == "HELP":
                    if name in helps:
                        raise ValueError("second HELP of " + name)
                    helps.add(name)
                    continue
                if name in self.types or rest not in TYPES:
                    raise ValueError(line)
                self.types[name] = rest
                continue
            m = SAMPLE.match(line)
            if not m:
                raise ValueError("not a sample: %r" % line)
            name, labels, value = m[1], read_labels(m[2] or ""), float(m[3])
            family = family_of(name, self.types)
            if family not in self.types or family not in helps:
                raise ValueError("no TYPE or no HELP before " + line)
            if family != current:
                if family in closed:
                    raise ValueError("samples of %s are not together" % family)
                closed.add(current)
                current = family
            if self.types[family] == "counter" and not (value >= 0 and math.isfinite(value)):
                raise ValueError(line)
            key = (name, tuple(sorted(labels.items())))
            if key in self.samples:
                raise ValueError("twice: " + line)
            self.samples[key] = value
        self.check_histograms()

    def check_histograms(self):
        for family, kind in self.types.items():
            if kind != "histogram":
                continue
            series = {}
            for (name, labels), value in self.samples.items():
                if name == family + "_bucket":
                    rest = tuple(l for l in labels if l[0] != "le")
                    le = dict(labels)["le"]
                    series.setdefault(rest, []).append((float(le), value))
            for rest, buckets in series.items():
                buckets.sort()
                counts = [v for _, v in buckets]
                if counts != sorted(counts) or buckets[-1][0] != math.inf:
                    raise ValueError("buckets of %s%s" % (family, rest))
                if self.samples[(family + "_count", rest)] != counts[-1]:
                    raise ValueError("count of %s%s" % (family, rest))
                self.samples[(family + "_sum", rest)]

    def sum(self, name, **labels):
        """Over all series that have these labels."""
        return sum(v for (n, have), v in self.samples.items()
                   if n == name and labels.items() <= dict(have).items())
