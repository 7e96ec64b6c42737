"""Every message of an error that says what to do, from the sources."""

import re

from markdown import cell, table
from program import ROOT

KINDS = {"usage": "How it was called", "io": "Files and the network", "format": "Files that are not what they should be",
         "unsupported": "What attnscope cannot do", "numerical": "Numbers"}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
FIELD = re.compile(r"\.(\w+) = ")


def closing(text, start):
    """The place of the bracket that closes the one before `start`."""
    depth, at = 1, start
    while depth and at < len(text):
        if text[at] == '"':
            at = LITERAL.match(text, at).end() - 1
        elif text[at] in "({":
            depth += 1
        elif text[at] in ")}":
            depth -= 1
        at += 1
    return at - 1


def words(expression):
    """The literals of an expression; what is filled in when it runs is an ellipsis."""
    pieces, at = [], 0
    for literal in LITERAL.finditer(expression):
        if re.search(r"\w", expression[at:literal.start()]):
            pieces.append("…")
        pieces.append(literal[1].replace('\\"', '"').replace("\\n", " "))
        at = literal.end()
    if pieces and re.search(r"\w", expression[at:]):
        pieces.append("…")
    text = re.sub(r"\{(\w+)\}", lambda name: "--" + name[1].replace("_", "-"), "".join(pieces))
    return text.replace("{{", "{").replace("}}", "}").strip()


def fields_of(body):
    starts = list(FIELD.finditer(body))
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(body)
        yield start[1], body[start.end():end]


def messages():
    """Kind, problem and hint of each error that has a hint in words."""
    for path in sorted((ROOT / "attnscope").rglob("*.cpp")):
        text = path.read_text()
        for start in re.finditer(r"Error\(\s*ErrorKind::(\w+),\s*", text):
            body = text[start.end():closing(text, start.end())]
            parts = dict(fields_of(body))
            if "hint" in parts and words(parts["hint"]):
                yield start[1], words(parts.get("problem", "")), words(parts["hint"])


def write(path):
    found = sorted(set(messages()))
    parts = ["# Errors and ways out\n",
             f"The {len(found)} messages that end a command and say what to do; … stands for names and numbers. "
             "A message is one line: where, what is wrong, and in brackets what to do.\n"]
    for kind, heading in KINDS.items():
        rows = [[cell(problem or "…"), cell(hint)] for of_kind, problem, hint in found if of_kind == kind]
        if rows:
            parts += [f"## {heading}\n", f"Exit codes and kinds: [formats](../formats.md#exit-codes); these are of kind `{kind}`.\n",
                      table(["message", "what to do"], rows)]
    path.write_text("\n".join(parts))
    return len(found)
