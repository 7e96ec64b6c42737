"""How each number is validated, from the tests themselves."""

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
    """The bounds that a file of tests names, as they are written there."""
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
    """Kinds of checks, with how many there are."""
    texts = {path: path.read_text() for path in (ROOT / "tests").rglob("*_test.cpp")}
    yield "tests in C++, many of them over tables of cases", sum(len(TEST.findall(text)) for text in texts.values())
    golden = [json.loads(path.read_text()) for path in (ROOT / "tests/golden").rglob("*.json")]
    yield "numbers of independent references that results are held against (tests/golden)", sum(map(numbers_in, golden))
    python = [path.read_text() for path in (ROOT / "tests/python").glob("*.py")]
    yield "tests of the Python package", sum(len(re.findall(r"^def test_", text, re.MULTILINE)) for text in python)
    page = [path.read_text() for path in (ROOT / "web/tests").rglob("*.test.ts")]
    yield "tests of the page, in Node and in Chromium", sum(len(re.findall(r"^\s*test\(", text, re.MULTILINE)) for text in page)
    yield "parsers under a fuzzer, each with a corpus", len(list((ROOT / "fuzz/corpus").iterdir()))
    yield "tiny checkpoints, one for each layout of tensors", len({path.parent for path in (ROOT / "tests/data").rglob("config.json")})


def write(path):
    parts = ["# Why to trust a number\n",
             "Made from the tests when this page was built. The rule: a number is held against something that was computed in "
             "another way (float64 NumPy on what transformers' own modules hold, LAPACK, a planted answer, a sum over the "
             "definition), and the tolerance is derived from dimension, rounding and norm. "
             "What the measures are: [what attnscope measures](metrics.md).\n",
             "## How much is checked\n", table(["checks", "count"], [[cell(what), f"{count:,}"] for what, count in counted()]),
             "All of it runs with `./dev test`, the tests in C++ a second time under AddressSanitizer and UBSan.\n",
             "## What is held against what\n"]
    for folder in sorted(path for path in (ROOT / "tests").iterdir() if path.is_dir()):
        rows = []
        for source in sorted(folder.rglob("*_test.cpp")):
            text = source.read_text()
            head = head_comment(text, "//")
            if AGAINST.search(head):
                rows.append([cell(str(source.relative_to(folder)).removesuffix("_test.cpp").replace("/", ": ").replace("_", " ")), cell(head), str(len(TEST.findall(text))),
                             ", ".join(map(code, tolerances(text)[:3]))])
        if rows:
            parts += [f"### {folder.name.replace('_', ' ').capitalize()}\n", table(["tests of", "held against", "tests", "tolerances"], rows)]
    path.write_text("\n".join(parts))
