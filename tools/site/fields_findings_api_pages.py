"""Fields, findings, the HTTP API, the Python API and errors, each from where it is described."""

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
    parts = ["# Fields\n", f"What every field of every report means: {len(by_name)} names. `attnscope explain NAME` says the same.\n"]
    for name in sorted(by_name):
        parts.append(f"## {name}\n")
        parts.append(table(["in", "type", "unit", "is", "more"], [
            [cell(place(field)), cell(FORMS.get(field["form"], field["form"].replace("_", " ") + ", ") + field["type"]),
             cell(field["unit"] or ""), cell(field["meaning"]), f"[{field['where'].split('#')[1]}](../{field['where']})"]
            for field in by_name[name]]))
    return "\n".join(parts)


def guards_in_words():
    """Guard and null of each finding that docs/findings.md has in words, by its name."""
    found = {}
    for line in (ROOT / "docs/findings.md").read_text().splitlines():
        if line.startswith("| **"):
            names, guard, null = [part.strip() for part in line.split("|")[1:4]]
            for name in re.findall(r"\*\*(.*?)\*\*", names):
                found[name.replace(" ", "_")] = (guard, null)
    return found


def guard_lines(source):
    """The conditions under which a finding says nothing, and the constants that they name."""
    constants = re.findall(r"^(?:/\*\* (.*?) \*/\n)?(?:export )?const (k\w+) = (.*?);$", source, re.MULTILINE)
    guards = re.findall(r"if \(([^;]*)\)\s+return undefined;", source)
    return constants, [" ".join(guard.split()) for guard in guards]


def findings_page():
    folder = ROOT / "web/src/findings"
    kinds = re.findall(r'import \{ claim as (\w+) \} from "\./(\w+)";', (folder / "claims.ts").read_text())
    in_words = guards_in_words()
    parts = ["# Findings\n",
             "The sentences of a report's overview: what each is about, and its guard, the condition under which it is not said. "
             "Each names, in the sentence, the value that chance or random weights would give. "
             "What was done to refute them: [findings](../findings.md).\n"]
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
            parts.append(f"Guard: {guard}. Beside it: {null}.\n")
        parts.append("Not said if:\n")
        parts += [f"- {code(guard)}" for guard in guards]
        parts += [f"- where {code(f'{constant} = {value}')}" + (f": {cell(comment)}" if comment else "")
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
        yield table(["parameter", "in", "type", "is"], [
            [code(each["name"]), each["in"], schema_words(each.get("schema", {})), cell(each.get("description", ""))]
            for each in described["parameters"]])
    for media, body in described.get("requestBody", {}).get("content", {}).items():
        yield f"Takes {code(media)}: {schema_words(body.get('schema', {}))}\n"
    yield table(["status", "type", "is"], [
        [code(status), ", ".join(f"{code(media)} {schema_words(body['schema']) if 'schema' in body else ''}"
                                 for media, body in answer.get("content", {}).items()), cell(answer["description"])]
        for status, answer in described["responses"].items()])


def http_page(api):
    parts = ["# HTTP API\n", f"{cell(api['info']['description'].replace('docs/http.md', 'its guide'))} "
             "Drawn from [openapi.json](../openapi.json); how it is used: [the live page and its API](../http.md).\n"]
    for path, methods in api["paths"].items():
        for method, described in methods.items():
            parts += operation(path, method, described)
    for name, schema in api["components"]["schemas"].items():
        parts.append(f"## {name}\n")
        if schema.get("description"):
            parts.append(cell(schema["description"]) + "\n")
        needed = schema.get("required", [])
        if schema.get("properties"):
            parts.append(table(["property", "type", "is"], [
                [code(key) + (" (needed)" if key in needed else ""), schema_words(value), cell(value.get("description", ""))]
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
    parts = ["# Python API\n", "From the package's docstrings; how it is used: [Python](../python.md).\n"]
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
