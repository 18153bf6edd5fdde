"""protobuf_fields.txt -> C tables: python3 protobuf_generate.py OUTPUT INPUT"""

import re
import sys

TYPES = {"s": "STRING", "b": "BYTES", "i": "INTEGER", "o": "BOOLEAN", "T": "TIME",
         "U": "MICRO_TIME", "Q": "QUANTITY", "X": "INT_OR_STRING", "R": "RAW", "V": "FIELDS_V1",
         "E": "EXTRA_VALUE", "d": "DOUBLE", "J": "JSON"}


def read(path):
    """{message: [(number, name, flags, type)]}"""
    messages = {}
    text = "".join(l for l in open(path, encoding="utf-8") if not l.startswith("#"))
    for entry in re.split(r"\n(?=\w)", text.strip()):
        name, fields = entry.split(":", 1)
        messages[name] = []
        for field in fields.split(",") if fields.strip() else []:
            number, json_name, kind = field.split()
            flags = []
            if kind.endswith("!"):
                kind, _ = kind[:-1], flags.append("KEEP")
            for prefix, flag in (("[]", "LIST"), ("{}", "MAP"), ("*", "KEEP"), ("|", "EITHER")):
                if kind.startswith(prefix):
                    kind, _ = kind[len(prefix):], flags.append(flag)
            if json_name == "^":
                flags.append("INLINE")
            messages[name].append((int(number), json_name, flags, kind))
    return messages


def main(output, path):
    messages = read(path)
    index = {name: i for i, name in enumerate(messages)}
    with open(output, "w", encoding="utf-8") as out:
        out.write('#include "api/protobuf_table.h"\n\n')
        for name, fields in messages.items():
            if not fields:
                continue
            out.write("static const struct protobuf_field f_%s[] = {\n" % name.replace(".", "_"))
            for number, json_name, flags, kind in fields:
                bits = " | ".join("PROTOBUF_" + f for f in flags) or "0"
                out.write('\t{%d, PROTOBUF_%s, %s, %d, "%s"},\n'
                          % (number, TYPES.get(kind, "MESSAGE"), bits,
                             0 if kind in TYPES else index[kind], json_name))
            out.write("};\n")
        out.write("const struct protobuf_message protobuf_messages[] = {\n")
        for name, fields in messages.items():
            table = "f_" + name.replace(".", "_") if fields else "NULL"
            out.write('\t{"%s", %s, %d},\n' % (name, table, len(fields)))
        out.write("};\nconst size_t protobuf_n_messages = %d;\n" % len(messages))


main(sys.argv[1], sys.argv[2])
