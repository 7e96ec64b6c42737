"""Writes the validation page from the tests."""

import json
import re

from markdown import cell, code, table
from program_help import ROOT

TEST = re.compile(r"^TEST(?:_F|_P)?\(", re.MULTILINE)
AGAINST = re.compile(r"\b(against|planted|by hand|agree|NumPy|LAPACK|transformers)\b")


def head_comment(text, mark):
    lines = []
    for line in text.splitlines():
        if not line.startswith(mark):
            break
        lines.append(line.removeprefix(mark).strip())
    return " ".join(lines)


def tolerances(text):
    """Return the tolerances in a test file, as written there."""
    found = re.findall(r"\b\w*tolerance\w* =\s*([^;]+);", text)
    found += re.findall(r"EXPECT_NEAR\([^;]*?,\s*([\d.e-]+)\)", text)
    return sorted({" ".join(each.split()) for each in found if len(each) < 90})


def numbers_in(value):
    if isinstance(value, dict):
        return sum(map(numbers_in, value.values()))
    if isinstance(value, list):
        return sum(map(numbers_in, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def counted():
    """Yield each kind of check with its count."""
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp")}
    yield "C++ tests, many of them with tables of cases", sum(len(TEST.findall(text)) for text in texts.values())
    golden = [json.loads(path.read_text()) for path in (ROOT / "tests/golden").rglob("*.json")]
    yield "reference values from independent computations (tests/golden)", sum(map(numbers_in, golden))
    python = [path.read_text() for path in (ROOT / "tests/python").glob("*.py")]
    yield "tests of the Python package", sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in python)
    page = [path.read_text() for path in (ROOT / "web/tests").rglob("*.test.ts")]
    yield "tests of the report page, in Node and Chromium", sum(len(re.findall(r"^\s*test\(", text, re.MULTILINE)) for text in page)
    yield "fuzzed parsers, each with a corpus", len(list((ROOT / "fuzz/corpus").iterdir()))
    yield "tiny checkpoints, one for each tensor layout", len({path.parent for path in (ROOT / "tests/data").rglob("config.json")})


def write(path):
    parts = ["# Validation\n",
             "This page is generated from the tests. Tests compare every number with an independent computation: "
             "float64 NumPy on the weights of transformers' modules, LAPACK, a planted answer, or the definition itself. "
             "Tolerances are derived from dimension, rounding and norm. "
             "Definitions: [measures](metrics.md).\n",
             "## Number of checks\n", table(["check", "count"], [[cell(what), f"{count:,}"] for what, count in counted()]),
             "`./dev test --all` runs all of them, and runs the C++ tests again under AddressSanitizer and UBSan.\n",
             "## References by module\n"]
    for folder in sorted(path for path in (ROOT / "tests").iterdir() if path.is_dir()):
        rows = []
        for source in sorted(folder.rglob("*_test.cpp")):
            text = source.read_text()
            head = head_comment(text, "//")
            if AGAINST.search(head):
                rows.append([cell(str(source.relative_to(folder)).removesuffix("_test.cpp").replace("/", ": ").replace("_", " ")), cell(head), str(len(TEST.findall(text))),
                             ", ".join(map(code, tolerances(text)[:3]))])
        if rows:
            parts += [f"### {folder.name.replace('_', ' ').capitalize()}\n", table(["tested", "description", "tests", "tolerances"], rows)]
    path.write_text("\n".join(parts))
