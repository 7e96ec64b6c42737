#!/usr/bin/env python3
"""Holds the #include lines of attnscope/ against the table of modules in docs/architecture.md.

A module may include itself and what the table allows; the JSON, HTTP, LAPACK and SQLite libraries stay out of
headers, and kernels and calls of LAPACK inside numerics/. The import lines of the page are held against the table of
folders in web/README.md likewise. Exits 1 with a line for each fault. Needs nothing but Python.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

MAY_INCLUDE = {
    "core": set(),
    "tensor": {"core"},
    "checkpoint": {"core", "tensor"},
    "hub": {"core", "tensor", "checkpoint"},
    "model": {"core", "tensor", "checkpoint"},
    "numerics": {"core", "tensor"},
    "tokens": {"core", "checkpoint"},
    "forward": {"core", "tensor", "checkpoint", "model", "numerics", "tokens"},
    "rewrite": {"core", "tensor", "checkpoint", "model", "numerics"},
    "smaller": {"core", "tensor", "checkpoint", "model", "numerics", "tokens", "forward", "rewrite"},
    "results": {"core"},
    "analysis": {"core", "numerics", "results"},
    "store": {"core", "results"},
    "run": {"core", "tensor", "checkpoint", "model", "numerics", "results", "store"},
    "output": {"core", "results"},
    "page": {"core", "results", "output"},
}
MAY_INCLUDE["analyses"] = set(MAY_INCLUDE) - {"hub", "output", "page"}
MAY_INCLUDE["commands"] = set(MAY_INCLUDE)
MAY_INCLUDE["serve"] = set(MAY_INCLUDE)
MAY_INCLUDE["cli"] = set(MAY_INCLUDE)

# No type of a library in a public header; <nlohmann/json_fwd.hpp> names types without defining them.
ONLY_IN_SOURCES = re.compile(
    r"<(nlohmann/json\.hpp|fmt/.*|cblas\.h|openblas_config\.h|sqlite3\.h|xxhash\.h|httplib\.h|curl/.*|openssl/.*)>"
)
ONLY_IN_NUMERICS = re.compile(
    r'<(cblas\.h|openblas_config\.h|lapacke?\.h|hwy/.*)>|"attnscope/numerics/((\w+/)?kernels/.*|lapack(_calls)?\.h)"'
)
ONLY_IN_STORE = re.compile(r"<sqlite3\.h>")
ONLY_IN_CORE = re.compile(r"<xxhash\.h>")
ONLY_IN_SERVE = re.compile(r"<httplib\.h>")
ONLY_IN_HUB = re.compile(r"<(curl|openssl)/.*>")

PAGE = ROOT / "web/src"
SHAPES, DRAWS = "views/<view>/", "views/<view>/{view,*_panel}.ts"
MAY_IMPORT = {
    "data/": set(),
    "chart/": {"data/"},
    "shaping/": {"data/", "chart/"},
    "findings/": {"data/", "chart/", "shaping/"},
    "page/": {"data/", "chart/", "shaping/"},
    "live/": {"data/", "shaping/", "page/"},
    SHAPES: {"data/", "chart/", "shaping/"},
}
MAY_IMPORT[DRAWS] = set(MAY_IMPORT)
IMPORT = re.compile(
    r'^(?:import\s+(?:[^;"]*?\bfrom\s+)?|export\s+(?:type\s+)?[{*][^;"]*?\bfrom\s+)"([^"]+)"|\bimport\("([^"]+)"\)', re.MULTILINE
)


def faults_of(path):
    module = path.relative_to(ROOT / "attnscope").parts[0]
    if module not in MAY_INCLUDE:
        yield f"module '{module}' is not in the table"
        return
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        include = re.match(r'\s*#\s*include\s+(<[^>]+>|"([^"]+)")', line)
        if not include:
            continue
        own, library = include.group(2), include.group(1)
        if own is not None:
            parts = own.split("/")
            if parts[0] != "attnscope" or not (ROOT / own).is_file():
                yield f"line {number}: {library} is no path from the repository's root"
            elif parts[1] != module and parts[1] not in MAY_INCLUDE[module]:
                yield f"line {number}: {module} may not include {parts[1]}"
        if path.suffix == ".h" and ONLY_IN_SOURCES.fullmatch(library):
            yield f"line {number}: {library} in a header"
        if module != "numerics" and ONLY_IN_NUMERICS.fullmatch(library):
            yield f"line {number}: {library} outside numerics"
        if module != "store" and ONLY_IN_STORE.fullmatch(library):
            yield f"line {number}: {library} outside store"
        if module != "core" and ONLY_IN_CORE.fullmatch(library):
            yield f"line {number}: {library} outside core"
        if module != "serve" and ONLY_IN_SERVE.match(library):
            yield f"line {number}: {library} outside serve"
        if module != "hub" and ONLY_IN_HUB.match(library):
            yield f"line {number}: {library} outside hub"


def page_row(path):
    """The row of the page's table that a file belongs to; None: it stands above the table and may import all of it."""
    parts = path.relative_to(PAGE).parts
    if len(parts) == 1 or parts == ("views", "views.ts"):
        return None
    if parts[0] != "views":
        return parts[0] + "/"
    return DRAWS if path.stem == "view" or path.stem.endswith("_panel") else SHAPES


def import_fault(path, imported):
    """What is wrong with an import; None where nothing is."""
    row = page_row(path)
    if not imported.startswith("."):
        return None if row == "chart/" else "libraries are for chart/ alone"
    target = path.parent.joinpath(imported).resolve()
    target = target if target.is_file() else target.with_name(target.name + ".ts")
    if not target.is_file():
        return "there is no such file"
    other = page_row(target)
    if row is None:
        return None
    if row != other and other not in MAY_IMPORT[row]:
        return f"{row} may not import {target.relative_to(PAGE)}"
    siblings = other in (SHAPES, DRAWS) and path.parent != target.parent
    return "views share what is in shaping/ or page/, and import no other view" if siblings else None


def page_faults(path):
    if page_row(path) not in {None, *MAY_IMPORT}:
        yield f"folder '{page_row(path)}' is not in the table"
        return
    text = path.read_text()
    for found in IMPORT.finditer(text):
        imported = found.group(1) or found.group(2)
        fault = import_fault(path, imported)
        if fault:
            yield f'line {text.count(chr(10), 0, found.start()) + 1}: "{imported}": {fault}'


def documented_table():
    """The rows | `core/` | ... | may include | of docs/architecture.md, which must say the same."""
    above = []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        row = re.match(r"\| `(\w+)/` \|.*\| ([^|]+) \|$", line)
        if row:
            names = set(re.findall(r"\w+", row.group(2))) - {"nothing"}
            if row.group(1) not in MAY_INCLUDE:  # the heading
                continue
            yield row.group(1), set(above) if row.group(2) == "all above" else names
            above.append(row.group(1))


def documented_page_table():
    """The rows | `data/` | ... | may import | of web/README.md."""
    above = set()
    for line in (ROOT / "web/README.md").read_text().splitlines():
        row = re.match(r"\| `([^`]+)` \|.*\| ([^|]+) \|$", line)
        if row:
            named, allowed = row.groups()
            yield named, set(above) if allowed == "all above" else {f"{each}/" for each in re.findall(r"\w+", allowed)} - {"nothing/"}
            above.add(named)


def table_faults(where, verb, documented, table):
    for row in sorted({*documented, *table}):
        if documented.get(row) != table.get(row):
            yield f"{where}: says that {row} may {verb} {documented.get(row)}, not {table.get(row)}"


def main():
    count = 0
    faults = []
    for path in sorted((ROOT / "attnscope").rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            count += 1
            faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in faults_of(path)]
    for path in sorted(PAGE.rglob("*.ts")):
        count += 1
        faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in page_faults(path)]
    faults += table_faults("docs/architecture.md", "include", dict(documented_table()), MAY_INCLUDE)
    faults += table_faults("web/README.md", "import", dict(documented_page_table()), MAY_IMPORT)
    for fault in faults:
        print(fault)
    print(f"{count} files checked, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
