#!/usr/bin/env python3
"""Check the words of the project's prose: see "Words" in CONTRIBUTING.md.

    check_words.py [FILE ...]    all tracked files and new commit subjects, or only these files

Reads documentation, help, field meanings, legends, errors, the page's text, docstrings and comments. Reports terms
that are not used in the field, constructions that are hard to read, British spelling, and sentences of more than 30
words. Commit subjects are checked from the commit that added this file. Code, quotations and generated files are
exempt. A line with the marker `words: ok` is exempt and counts toward ALLOWED, the limit of such lines. Lower the
limit when you remove a marker.
"""

import argparse
import ast
import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALLOWED = 39
LONGEST = 30  # words of a sentence

TERMS = re.compile(
    r"\b(foret\w+|likeliest|anew|dear(er|est)?|hostile|swallow\w*|mend(s|ed)?|kin|in work|one back|parks? on"
    r"|makes? up for|even attention|random numbers'|replaced in one step|speak another|in the eyes of|whose doing"
    r"|is worth|are worth|beside|ending of|faults? (of|in)|promised|many machines|ways? out|on and on|goes on|thrice"
    r"|to the full)\b",
    re.IGNORECASE,
)
EXEMPT = re.compile(r"page fault|segmentation fault|fault injection", re.IGNORECASE)
PATTERNS = [
    (re.compile(r"(?<!there )\bis no (?!longer|more|less)", re.IGNORECASE), "write “is not a”"),
    (re.compile(r"\bless (the|its|that|1)\b", re.IGNORECASE), "write “minus”"),
    (re.compile(r"\b(bytes|tokens|rows|lines) a (token|layer|head|model)\b", re.IGNORECASE), "write “per”"),
    (
        re.compile(
            r"\b(\w*colour\w*|cent(red|res?)|behaviour\w*|neighbour\w*|favour\w*|grey\w*|analys(e|ed|er|ers|ing)"
            r"|(quant|normal|general|initial|serial|factor|optim|recogn|summar|regular|token|organ|util|visual|parametr"
            r"|material|special|categor|emphas|final|maxim|minim|penal|polar|random|stabil|standard|synchron|diagonal"
            r"|orthogonal|linear|real|character|symmetr|vector|local|neutral)i(s(e|ed|er|ers|es|ing|ation|ations))"
            r"|labell(ed|ing)|modell(ed|ing)|licence|artefacts?|catalogue)\b",
            re.IGNORECASE,
        ),
        "US spelling",
    ),
]
OPENING = re.compile(r"^(of|where|instead:) ", re.IGNORECASE)
SUBJECT = re.compile(r"^([\w./-]+: )?(Say|Hold|Let|Tell|Mend) ")

# Generated files, files of other projects, and data.
SKIPPED = re.compile(r"generated|package-lock|^tests/data/|^fuzz/corpus/|^LICENSE|^tools/check_words\.py$|^tests/python/test_words\.py$")


class Passage(NamedTuple):
    line: int
    text: str
    kind: str  # docs, string, docstring or comment


def markdown_passages(text: str) -> Iterator[Passage]:
    """Yield paragraphs, list items, headings and table cells."""
    fence, block, start = False, [], 1
    for number, line in enumerate(text.split("\n") + [""], 1):
        if re.match(r"^\s*(```|~~~)", line):
            fence = not fence
            line = ""
        elif fence:
            continue
        if re.match(r"^\s*\|", line):
            for cell in re.split(r"(?<!\\)\|", line):
                yield Passage(number, cell.strip(), "docs")
            line = ""
        bullet = re.match(r"^\s*([-*+]|\d+\.|#+|>|\[\^?\w+\]:)\s+", line)
        if (not line.strip() or bullet) and block:
            yield Passage(start, " ".join(block), "docs")
            block = []
        line = line[bullet.end() :] if bullet else line
        if line.strip():
            if not block:
                start = number
            block.append(line.strip())


def comment_and_string_passages(text: str, strings: bool) -> Iterator[Passage]:
    """Yield comments of C++ or TypeScript, and string literals if `strings`."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`", re.DOTALL
    )
    comment: list[str] = []
    literal: list[str] = []
    comment_start = literal_start = last_end = 0
    for match in token.finditer(text):
        between = text[last_end : match.start()]
        number = text.count("\n", 0, match.start()) + 1
        if match[0].startswith("//"):
            new_block = between.strip() != "" or between.count("\n") > 1 or match[0].strip("/ ").startswith(("- ", "@"))
            if comment and new_block:
                yield Passage(comment_start, " ".join(comment), "comment")
                comment = []
            if not comment:
                comment_start = number
            comment.append(match[0].lstrip("/< ").strip())
        elif match[0].startswith("/*"):
            yield Passage(number, re.sub(r"\n\s*\*?", " ", match[0].strip("/*")), "comment")
        elif strings:
            if literal and between.strip():
                yield Passage(literal_start, "".join(literal), "string")
                literal = []
            if not literal:
                literal_start = number
            body = match[0][match[0].index('"' if match[0][0] == "R" else match[0][0]) + 1 : -1]
            body = re.sub(r"\$\{[^}]*\}", "X", body) if match[0][0] == "`" else body
            literal.append(body.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'"))
        last_end = match.end()
    if comment:
        yield Passage(comment_start, " ".join(comment), "comment")
    if literal:
        yield Passage(literal_start, "".join(literal), "string")


def python_passages(text: str, strings: bool) -> Iterator[Passage]:
    """Yield docstrings and comments, and other string literals of several words if `strings`."""
    tree = ast.parse(text)
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
                docstrings.add(id(first.value))
                yield from markdown_at(first.value.lineno, first.value.value)
    if strings:
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                if node.value.count(" ") > 2:
                    yield Passage(node.lineno, node.value, "string")
    block: list[str] = []
    start = last = 0
    for item in tokenize.generate_tokens(io.StringIO(text).readline):
        if item.type == tokenize.COMMENT:
            if block and item.start[0] != last + 1:
                yield Passage(start, " ".join(block), "comment")
                block = []
            if not block:
                start = item.start[0]
            last = item.start[0]
            block.append(item.string.lstrip("#! ").strip())
    if block:
        yield Passage(start, " ".join(block), "comment")


def markdown_at(line: int, text: str) -> Iterator[Passage]:
    text = re.sub(r"(?m)^\s*>>> .*$|^\s*\.\.\. .*$", "", text)
    for passage in markdown_passages(text):
        yield Passage(line + passage.line - 1, passage.text, "docstring")


def hash_comment_passages(text: str) -> Iterator[Passage]:
    """Yield whole-line comments of shell, CMake, YAML and TOML."""
    block, start = [], 1
    for number, line in enumerate(text.split("\n") + [""], 1):
        match = re.match(r"^\s*# ?(?!!)(.*)", line)
        if match and match[1].strip():
            if not block:
                start = number
            block.append(match[1].strip())
        elif block:
            yield Passage(start, " ".join(block), "comment")
            block = []


def passages(path: pathlib.Path) -> Iterator[Passage]:
    """Yield the prose of a file."""
    text = path.read_text("utf-8")
    interface = not path.parts[0] in ("tests", "fuzz", "benchmarks") and "tests" not in path.parts
    if path.suffix == ".md":
        yield from markdown_passages(text)
    elif path.suffix in (".cpp", ".h", ".cu", ".mm"):
        yield from comment_and_string_passages(text, interface)
    elif path.suffix in (".ts", ".css", ".mjs", ".js", ".rs"):
        yield from comment_and_string_passages(text, interface and path.suffix == ".ts")
    elif path.suffix in (".py", ".pyi"):
        yield from python_passages(text, interface)
    elif path.suffix in (".sh", ".cmake", ".yml", ".yaml", ".toml") or path.name in ("dev", "CMakeLists.txt"):
        yield from hash_comment_passages(text)


def prose(text: str) -> str:
    """Return the text without code, quotations and link targets."""
    text = re.sub(r"``[^`]*``|`[^`]*`", "CODE", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"https?://\S+", "URL", text)
    text = re.sub(r"“[^”]*”", "QUOTE", text)
    return EXEMPT.sub("", text)


def sentences(text: str) -> list[str]:
    text = re.sub(r"\b(e\.g|i\.e|et al|vs|cf|Fig|Eq|approx|No)\.", r"\1", text)
    return re.split(r"(?<=[.!?])[\s*_)\"]+(?=\S)|\n+", text)


def errors_in(text: str, help_line: bool) -> Iterator[str]:
    clean = prose(text)
    for match in TERMS.finditer(clean):
        yield f"“{match[0]}” is not a term of the field"
    for pattern, fix in PATTERNS:
        for match in pattern.finditer(clean):
            yield f"“{match[0]}”: {fix}"
    if help_line and OPENING.search(clean):
        yield f"begins with “{clean.split()[0]}”: begin with the noun or verb"
    for sentence in sentences(clean):
        count = len([word for word in sentence.split() if re.search(r"[A-Za-z]", word)])
        if count > LONGEST:
            yield f"a sentence of {count} words: “{sentence.strip()[:60]}…”"


READ = {".md", ".cpp", ".h", ".ts", ".css", ".mjs", ".js", ".rs", ".py", ".pyi", ".sh", ".cmake", ".yml", ".yaml", ".toml"}


def check_file(path: pathlib.Path) -> tuple[list[str], int]:
    if path.suffix not in READ and path.name not in ("dev", "CMakeLists.txt"):
        return [], 0
    lines = path.read_text("utf-8").split("\n")
    allowed = sum("words: ok" in line for line in lines)
    errors = []
    for number, text, kind in passages(path):
        if kind == "string" and len(text.split()) < 3:
            continue
        if "words: ok" in text or "words: ok" in lines[number - 1]:
            continue
        help_line = kind == "string" and path.suffix == ".cpp"
        errors += [f"{path}:{number}: {error}" for error in errors_in(text, help_line)]
    return errors, allowed


def check_commits() -> list[str]:
    """Return errors in the subjects of all commits since this file was added."""
    git = ["git", "log", "--format=%H", "--diff-filter=A", "--", "tools/check_words.py"]
    added = subprocess.run(git, capture_output=True, text=True, check=False).stdout.split()
    if not added:
        return []  # not in a clone, or in a shallow one
    log = ["git", "log", "--no-merges", "--format=%s", f"{added[-1]}..HEAD"]
    errors = []
    for subject in subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines():
        if SUBJECT.search(subject):
            errors.append(f"commit “{subject}”: use another verb")
        if len(subject) > 60:
            errors.append(f"commit “{subject}”: longer than 60 characters")
    return errors


def tracked_files() -> list[pathlib.Path]:
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    return [pathlib.Path(name) for name in listed if name and not SKIPPED.search(name) and pathlib.Path(name).is_file()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    files = parser.parse_args().files
    errors, allowed = [], 0
    if not files:
        os.chdir(ROOT)
    for path in files or tracked_files():
        found, exempt = check_file(path)
        errors += found
        allowed += exempt
    if not files:
        errors += check_commits()
    if allowed > ALLOWED:
        errors.append(f"{allowed} lines have the marker `words: ok`, more than {ALLOWED}")
    print("\n".join(errors) if errors else f"no errors; {allowed} exempt lines")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
