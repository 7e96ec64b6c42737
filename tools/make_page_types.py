#!/usr/bin/env python3
"""Writes web/src/data/generated_rows.ts: the rows of reports as types, from the descriptions of fields.

    tools/make_page_types.py [--check]

It reads docs/schema/attnscope-2.schema.json, which the program makes of those descriptions and which tests hold true
of what it prints. So the compiler knows which fields of a row may be null or absent. With --check nothing is
written, and the exit code is 1 where the file is not what it should be.
"""

import json
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCHEMA = ROOT / "docs/schema/attnscope-2.schema.json"
TYPES = ROOT / "web/src/data/generated_rows.ts"
COLUMNS = 140  # as the rest of the page has

HEAD = """// The rows that a report holds, which of their fields may be null, and which may be absent.
// Written by tools/make_page_types.py; change the descriptions of fields (attnscope/features/*/fields.cpp) instead.
import type { NumberList, NumberMatrix, ScaledSlice } from "./packed";
"""

KINDS = ("spectrum", "mla", "weights", "similarity", "head_overlap", "circuits", "composition", "attention",
         "induction", "experts", "routing", "directions", "lens", "lens_grid", "ablate", "plan", "plan_part", "diff")

# As ReportFile (attnscope/page/report_file.cpp) packs rows: the page adds these up itself, and a null that several
# rows share has a scale in each.
LEFT_OUT = ("cumulative_energy", "density")
SCALED = {"random_singular_values": "ScaledSlice | readonly number[] | null"}

NAMES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def union(types):
    return " | ".join(dict.fromkeys(types))


def list_type(items, indent):
    """Of lists, those of real numbers are packed."""
    if items.get("type") == "number":
        return "NumberList"
    if items.get("type") == "array" and "number" in type_of(items["items"], indent):
        return "NumberMatrix"
    entry = type_of(items, indent)
    return f"({entry})[]" if " " in entry else f"{entry}[]"


def type_of(schema, indent):
    if "enum" in schema:
        return union(json.dumps(choice) for choice in schema["enum"])
    if "anyOf" in schema:
        return union(type_of(each, indent) for each in schema["anyOf"])
    if schema["type"] == "array":
        return list_type(schema["items"], indent)
    if schema["type"] != "object":
        return NAMES[schema["type"]]
    if "properties" in schema:
        return "{\n" + members(schema, indent + "  ") + indent + "}"
    return f"Readonly<Record<string, {type_of(schema['additionalProperties'], indent)}>>"


def declared(name, optional, kind, indent):
    """A choice of many takes lines of their own, as the page's formatter has them."""
    line = f"{indent}{name}{optional}: {kind};\n"
    if len(line) <= COLUMNS + 1 or " | " not in kind:
        return line
    return f"{indent}{name}{optional}:\n" + "\n".join(f"{indent}  | {each}" for each in kind.split(" | ")) + ";\n"


def comment(text, indent):
    line = f"{indent}/** {text} */\n"
    if len(line) <= COLUMNS + 1:
        return line
    lines = textwrap.wrap(text, COLUMNS, initial_indent=f"{indent} * ", subsequent_indent=f"{indent} * ")
    return "\n".join([f"{indent}/**", *lines, f"{indent} */", ""])


def members(schema, indent):
    text = ""
    for name, field in schema["properties"].items():
        if name in LEFT_OUT:
            continue
        optional = "" if name in schema["required"] else "?"
        kind = SCALED.get(name) or type_of(field, indent)
        text += f"{comment(field['description'], indent)}" + declared(name, optional, kind, indent)
    return text


def interface(name, meaning, schema):
    return f"\n/** {meaning} */\nexport interface {name} {{\n{members(schema, '  ')}}}\n"


def source():
    kinds = json.loads(SCHEMA.read_text())["$defs"]
    text = HEAD
    for name in KINDS:
        camel = "".join(word.capitalize() for word in name.split("_"))
        text += interface(f"{camel}Row", kinds[name]["description"], kinds[name]["properties"]["rows"]["items"])
    text += interface("ModelFacts", "what is known of a model before it is analysed",
                      kinds["spectrum"]["properties"]["models"]["items"])
    return text + interface("Skipped", "what could not be analysed", kinds["skipped"])


def main():
    text = source()
    if "--check" not in sys.argv:
        TYPES.write_text(text)
    elif not TYPES.is_file() or TYPES.read_text() != text:
        sys.exit(f"{TYPES} is not what the descriptions of fields say: run tools/make_page_types.py")


if __name__ == "__main__":
    main()
