#!/usr/bin/env python3
"""Holds the #include lines of attnscope/ against the table of modules in docs/architecture.md.

A module may include itself and what the table allows; the JSON, HTTP, LAPACK and SQLite libraries stay out of
headers, and kernels and calls of LAPACK inside numerics/. Exits 1 with a line for each fault. Needs nothing but Python.
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
    "results": {"core"},
    "analysis": {"core", "numerics", "results"},
    "store": {"core", "results"},
    "run": {"core", "tensor", "checkpoint", "model", "numerics", "results", "store"},
    "output": {"core", "results"},
    "page": {"core", "results", "output"},
}
MAY_INCLUDE["analyses"] = {"core", "tensor", "checkpoint", "model", "numerics", "tokens", "forward", "results", "analysis", "store", "run"}
MAY_INCLUDE["commands"] = set(MAY_INCLUDE)
MAY_INCLUDE["serve"] = set(MAY_INCLUDE)
MAY_INCLUDE["cli"] = set(MAY_INCLUDE)

# No type of a library in a public header; <nlohmann/json_fwd.hpp> names types without defining them.
ONLY_IN_SOURCES = re.compile(r"<(nlohmann/json\.hpp|fmt/.*|cblas\.h|openblas_config\.h|sqlite3\.h|xxhash\.h|httplib\.h|curl/.*|openssl/.*)>")
ONLY_IN_NUMERICS = re.compile(
    r'<(cblas\.h|openblas_config\.h|lapacke?\.h|hwy/.*)>|"attnscope/numerics/((\w+/)?kernels/.*|lapack(_calls)?\.h)"'
)
ONLY_IN_STORE = re.compile(r"<(sqlite3\.h|xxhash\.h)>")
ONLY_IN_SERVE = re.compile(r"<httplib\.h>")
ONLY_IN_HUB = re.compile(r"<(curl|openssl)/.*>")


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
        if module != "serve" and ONLY_IN_SERVE.match(library):
            yield f"line {number}: {library} outside serve"
        if module != "hub" and ONLY_IN_HUB.match(library):
            yield f"line {number}: {library} outside hub"


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


def main():
    count = 0
    faults = []
    for path in sorted((ROOT / "attnscope").rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            count += 1
            faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in faults_of(path)]
    documented = dict(documented_table())
    for module, allowed in MAY_INCLUDE.items():
        if documented.get(module) != allowed:
            faults.append(f"docs/architecture.md: says that {module} may include {documented.get(module)}, not {allowed}")
    for fault in faults:
        print(fault)
    print(f"{count} files checked, {len(faults)} faults")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
