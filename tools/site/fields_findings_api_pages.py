"""Writes the pages of fields, findings, the HTTP API and the Python API, each from its source."""

import inspect
import re

from markdown import cell, code, fenced, table
from program_help import ROOT

FORMS = {"single": "", "list": "list of ", "by_threshold": "by threshold, "}
PARTS = {"rows": "rows of", "models": "models of", "parameters": "parameters of", "skipped": "skipped of"}


def place(field):
    if field["command"] is None:
        return "every report"
    option = f" --{field['option'].replace('_', '-')}" if field["option"] else ""
    if field["asked"]:
        option = f" with {field['asked']}"
    return f"{PARTS.get(field['part'], field['part'] + ' of')} {field['command']}{option}"


def fields_page(fields):
    by_name = {}
    for field in fields:
        by_name.setdefault(field["name"], []).append(field)
    parts = ["# Fields\n", f"The meaning of every field of every report ({len(by_name)} names). `attnscope explain NAME` prints the same text.\n"]
    for name in sorted(by_name):
        parts.append(f"## {name}\n")
        parts.append(table(["in", "type", "unit", "meaning", "definition"], [
            [cell(place(field)), cell(FORMS.get(field["form"], field["form"].replace("_", " ") + ", ") + field["type"]),
             cell(field["unit"] or ""), cell(field["meaning"]), f"[{field['where'].split('#')[1]}](../{field['where']})"]
            for field in by_name[name]]))
    return "\n".join(parts)


def guards_in_words():
    """Map each finding in the table of docs/findings.md to its guard and baseline in words."""
    found = {}
    for line in (ROOT / "docs/findings.md").read_text().splitlines():
        if line.startswith("| **"):
            names, guard, null = [part.strip() for part in line.split("|")[1:4]]
            for name in re.findall(r"\*\*(.*?)\*\*", names):
                found[name.replace(" ", "_")] = (guard, null)
    return found


def guard_lines(source):
    """Return the constants of a finding's source, and the conditions under which the finding is not shown."""
    constants = re.findall(r"^(?:/\*\* (.*?) \*/\n)?(?:export )?const (k\w+) = (.*?);$", source, re.MULTILINE)
    guards = re.findall(r"if \(([^;]*)\)\s+return undefined;", source)
    return constants, [" ".join(guard.split()) for guard in guards]


def findings_page():
    folder = ROOT / "web/src/findings"
    kinds = re.findall(r'import \{ claim as (\w+) \} from "\./(\w+)";', (folder / "claims.ts").read_text())
    in_words = guards_in_words()
    parts = ["# Findings\n",
             "The sentences in the overview of a report: the subject of each, and the conditions under which it is not shown. "
             "Each sentence names its baseline: the value expected by chance or from random weights. "
             "How the findings were tested: [findings](../findings.md).\n"]
    for name, file in kinds:
        source = (folder / f"{file}.ts").read_text()
        head = re.match(r"((?:// .*\n)+)", source)
        constants, guards = guard_lines(source)
        if not head or not guards:
            raise SystemExit(f"web/src/findings/{file}.ts: no comment at its head, or no guard")
        parts.append(f"## {name.replace('_', ' ').capitalize()}\n")
        parts.append(cell(" ".join(line[3:] for line in head[1].splitlines())) + "\n")
        if name in in_words:
            guard, null = in_words[name]
            parts.append(f"Shown if: {guard}. Baseline: {null}.\n")
        parts.append("Not shown if:\n")
        parts += [f"- {code(guard)}" for guard in guards]
        parts += [f"- with {code(f'{constant} = {value}')}" + (f": {cell(comment)}" if comment else "")
                  for comment, constant, value in constants]
        parts.append("")
    return "\n".join(parts)


def schema_words(schema):
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if schema.get("enum"):
        return ", ".join(code(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return "list of " + schema_words(schema.get("items", {}))
    kinds = schema.get("type", "any")
    return code(" or ".join(kinds) if isinstance(kinds, list) else kinds)


def operation(path, method, described):
    yield f"## {method.upper()} {path}\n"
    yield cell(described["summary"]) + "\n"
    if described.get("parameters"):
        yield table(["parameter", "in", "type", "meaning"], [
            [code(each["name"]), each["in"], schema_words(each.get("schema", {})), cell(each.get("description", ""))]
            for each in described["parameters"]])
    for media, body in described.get("requestBody", {}).get("content", {}).items():
        yield f"Request body, {code(media)}: {schema_words(body.get('schema', {}))}\n"
    yield table(["status", "type", "meaning"], [
        [code(status), ", ".join(f"{code(media)} {schema_words(body['schema']) if 'schema' in body else ''}"
                                 for media, body in answer.get("content", {}).items()), cell(answer["description"])]
        for status, answer in described["responses"].items()])


def http_page(api):
    parts = ["# HTTP API\n", f"{cell(api['info']['description'].replace('docs/http.md', 'its guide'))} "
             "Generated from [openapi.json](../openapi.json). Guide: [the server and its API](../http.md).\n"]
    for path, methods in api["paths"].items():
        for method, described in methods.items():
            parts += operation(path, method, described)
    for name, schema in api["components"]["schemas"].items():
        parts.append(f"## {name}\n")
        if schema.get("description"):
            parts.append(cell(schema["description"]) + "\n")
        needed = schema.get("required", [])
        if schema.get("properties"):
            parts.append(table(["property", "type", "meaning"], [
                [code(key) + (" (required)" if key in needed else ""), schema_words(value), cell(value.get("description", ""))]
                for key, value in schema["properties"].items()]))
        elif "properties" not in schema:
            parts.append(schema_words(schema) + "\n")
    return "\n".join(parts)


def documented(name, value, heading):
    text = inspect.getdoc(value) or ""
    try:
        signature = str(inspect.signature(value))
    except (TypeError, ValueError):
        signature = ""
    parts = [f"{heading} {name}\n"]
    if callable(value) and signature and not inspect.isclass(value):
        parts.append(fenced(re.sub(r", (?=\w+:)", ",\n    ", name.split(".")[-1] + signature), "python"))
    return "\n".join([*parts, fenced(text) if "\n" in text else cell(text) + "\n"])


def python_page():
    import attnscope
    parts = ["# Python API\n", "Generated from the docstrings of the package. Guide: [Python](../python.md).\n"]
    for name in attnscope.__all__:
        value = getattr(attnscope, name)
        if name.startswith("_"):
            continue
        parts.append(documented(name, value, "##"))
        if inspect.isclass(value) and not issubclass(value, (Exception, Warning)):
            for member, held in inspect.getmembers(value):
                if not member.startswith("_") and (inspect.isfunction(held) or isinstance(held, property)):
                    parts.append(documented(f"{name}.{member}", held, "###"))
    return "\n".join(parts)
