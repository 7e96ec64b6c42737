#!/usr/bin/env python3
"""Check the #include lines of attnscope/ against the table in docs/architecture.md.

A file may include its own folder and what the table allows. The measures, fields and tables of a feature must be testable
without a model. Directly or indirectly they include only base/, rows/, features/ and, for measures, numerics/.
A feature includes another feature only through the headers in SHARED_HEADERS. Headers of JSON, HTTP, LAPACK and SQLite
libraries stay out of headers, and kernels and LAPACK calls stay in numerics/. A forward declaration of a type counts as
an #include of its header. The import lines of the page are checked against the table in web/README.md. Exits with 1
and prints a line for each error. Needs only Python.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

MAY_INCLUDE = {
    "base": set(),
    "tensor": {"base"},
    "checkpoint": {"base", "tensor"},
    "rows": {"base", "tensor"},
    "hub": {"base", "tensor", "checkpoint"},
    "model": {"base", "tensor", "checkpoint"},
    "adapters": {"base", "tensor", "checkpoint", "model", "numerics"},
    "inputs": {"base", "tensor", "checkpoint"},
    "numerics": {"base", "tensor"},
    "forward": {"base", "tensor", "checkpoint", "model", "inputs", "numerics"},
    "interventions": {"base", "tensor", "checkpoint", "model", "inputs", "numerics", "forward"},
    "engine": {"base", "tensor", "checkpoint", "rows", "model", "numerics"},
    "page": {"base", "rows"},
}
BELOW_FEATURES = set(MAY_INCLUDE) - {"page"}
MAY_INCLUDE["features/framework"] = BELOW_FEATURES - {"forward", "interventions"}
MAY_INCLUDE["features/common"] = BELOW_FEATURES | {"features/framework"}
MAY_INCLUDE["features"] = BELOW_FEATURES | {"features/framework", "features/common"}
MAY_INCLUDE["features/report"] = MAY_INCLUDE["features"] | {"page", "features"}
MAY_INCLUDE["serve"] = set(MAY_INCLUDE)
MAY_INCLUDE["cli"] = set(MAY_INCLUDE)

# Headers of features that others may use: measures of spectra, weights and circuits, and the lists of all features.
SHARED_HEADERS = {
    "features/all_commands.h",
    "features/all_tables.h",
    "features/circuits/measures.h",
    "features/spectrum/measures.h",
    "features/weights/measures.h",
}
# The lists of all commands, row kinds and tables include every feature.
LISTS = re.compile(r"features/(all_commands|all_row_kinds|all_tables)\.(h|cpp)")

OF_ROWS = re.compile(r"features/(?!report/|export/)\w+/(\w+_)?(measures|fields|table)\.(h|cpp)")

# Public headers use no library types. <nlohmann/json_fwd.hpp> names types without defining them.
ONLY_IN_SOURCES = re.compile(
    r"<(nlohmann/json\.hpp|fmt/.*|cblas\.h|openblas_config\.h|sqlite3\.h|xxhash\.h|httplib\.h|curl/.*|openssl/.*)>"
)
ONLY_IN = {
    "numerics": re.compile(
        r'<(cblas\.h|openblas_config\.h|lapacke?\.h|hwy/.*)>|"attnscope/numerics/((\w+/)?kernels/.*|lapack/lapack(_calls)?\.h)"'
    ),
    "engine/store": re.compile(r"<sqlite3\.h>"),
    "base": re.compile(r"<xxhash\.h>"),
    "serve": re.compile(r"<httplib\.h>"),
    "hub": re.compile(r"<(curl|openssl)/.*>"),
}

DEFINITION = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: : [^;{]*)?\s*\{", re.MULTILINE)

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


def row_of(file):
    """Return the table row of a file of attnscope/."""
    parts = file.split("/")
    if parts[0] != "features":
        return parts[0]
    folder = "/".join(parts[:2])
    return folder if folder in MAY_INCLUDE else "features"


def includes_of(text):
    """Yield the line number, the included name with its delimiters, and the path of a project file or None."""
    for number, line in enumerate(text.splitlines(), start=1):
        include = re.match(r'\s*#\s*include\s+(<[^>]+>|"([^"]+)")', line)
        if include:
            yield number, include.group(1), include.group(2)


def include_error(file, own):
    """Return the error of including another file of attnscope/, or None."""
    row, other = row_of(file), row_of(own)
    same = file.split("/")[:2] == own.split("/")[:2] if row == "features" else row == other
    if same or own in SHARED_HEADERS or LISTS.fullmatch(file) or other in MAY_INCLUDE[row]:
        return None
    return f"{row} may not include {own}"


def defined_types():
    """Return the files of attnscope/ that define each class, struct and enum at namespace scope."""
    files = {}
    for path in (ROOT / "attnscope").rglob("*"):
        if path.suffix in {".h", ".cpp"}:
            for name in DEFINITION.findall(path.read_text()):
                files.setdefault(name, []).append(str(path.relative_to(ROOT / "attnscope")))
    return files


def declared_faults(path, types):
    """Yield errors for forward declarations of types whose headers the file may not include."""
    file = str(path.relative_to(ROOT / "attnscope"))
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        declaration = re.match(r"(?:class|struct|enum class) (\w+);", line)
        owners = types.get(declaration.group(1), []) if declaration else []
        if owners and all(include_error(file, owner) for owner in owners):
            yield f"line {number}: {row_of(file)} may not declare {declaration.group(1)} of {owners[0]}"


def faults_of(path):
    file = str(path.relative_to(ROOT / "attnscope"))
    if row_of(file) not in MAY_INCLUDE:
        yield f"folder '{row_of(file)}' is not in the table"
        return
    for number, library, own in includes_of(path.read_text()):
        if own is not None:
            parts = own.split("/")
            if parts[0] != "attnscope" or not (ROOT / own).is_file():
                yield f"line {number}: {library} is not a path from the repository's root"
                continue
            error = include_error(file, own.removeprefix("attnscope/"))
            if error:
                yield f"line {number}: {error}"
        if path.suffix == ".h" and ONLY_IN_SOURCES.fullmatch(library):
            yield f"line {number}: {library} in a header"
        for folder, libraries in ONLY_IN.items():
            if not file.startswith(folder + "/") and libraries.match(library):
                yield f"line {number}: {library} outside {folder}"


def reached(path, seen):
    """Return every project file that a file includes, directly or indirectly."""
    for _, _, own in includes_of(path.read_text()):
        if own is not None and own not in seen and (ROOT / own).is_file():
            seen.add(own)
            reached(ROOT / own, seen)
    return seen


def row_faults(path):
    """Yield errors in measures, fields and tables."""
    kind = OF_ROWS.fullmatch(str(path.relative_to(ROOT / "attnscope")))
    if not kind:
        return
    allowed = {"base", "tensor", "rows", "features"} | ({"numerics"} if kind.group(2) == "measures" else set())
    for own in sorted(reached(path, set())):
        if own.split("/")[1] not in allowed:
            yield f"{kind.group(2)} reach {own}"


def page_row(path):
    """Return the table row of a page file. None: it is above the table and may import everything."""
    parts = path.relative_to(PAGE).parts
    if len(parts) == 1 or parts == ("views", "views.ts"):
        return None
    if parts[0] != "views":
        return parts[0] + "/"
    return DRAWS if path.stem == "view" or path.stem.endswith("_panel") else SHAPES


def import_fault(path, imported):
    """Return the error of an import, or None."""
    row = page_row(path)
    if not imported.startswith("."):
        return None if row == "chart/" else "only chart/ may import libraries"
    target = path.parent.joinpath(imported).resolve()
    target = target if target.is_file() else target.with_name(target.name + ".ts")
    if not target.is_file():
        return "file does not exist"
    other = page_row(target)
    if row is None:
        return None
    if row != other and other not in MAY_IMPORT[row]:
        return f"{row} may not import {target.relative_to(PAGE)}"
    siblings = other in (SHAPES, DRAWS) and path.parent != target.parent
    return "a view may not import another view: move shared code to shaping/ or page/" if siblings else None


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
    """Yield errors in the rows | `base/` | ... | may include | of docs/architecture.md."""
    above = []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        row = re.match(r"\| `([\w/]+)/` \|.*\| ([^|]+) \|$", line)
        if row and row.group(1) in MAY_INCLUDE:
            names = set(re.findall(r"[\w/]+", row.group(2))) - {"nothing"}
            yield row.group(1), set(above) if row.group(2) == "all above" else names
            above.append(row.group(1))


def documented_page_table():
    """Yield errors in the rows | `data/` | ... | may import | of web/README.md."""
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
            yield f"{where}: {row} may {verb} {documented.get(row)}, but the tool's table has {table.get(row)}"


def main():
    count = 0
    faults = []
    types = defined_types()
    for path in sorted((ROOT / "attnscope").rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            count += 1
            faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in [*faults_of(path), *declared_faults(path, types), *row_faults(path)]]
    for path in sorted(PAGE.rglob("*.ts")):
        count += 1
        faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in page_faults(path)]
    faults += table_faults("docs/architecture.md", "include", dict(documented_table()), MAY_INCLUDE)
    faults += table_faults("web/README.md", "import", dict(documented_page_table()), MAY_IMPORT)
    for fault in faults:
        print(fault)
    print(f"{count} files checked, {len(faults)} errors")
    return 1 if faults or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
