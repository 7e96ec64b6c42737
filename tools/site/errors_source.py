"""Reads the error messages that have a fix (a hint) from the sources: each place that makes an Error, or calls a function that
makes one."""

import re

from program_help import ROOT

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
HINT = re.compile(r"(?<!\w)\.hint =")
SET_LATER = re.compile(r"\w\.hint =([^;]*);")
# A function or lambda whose last parameter is the hint.
TAKES_HINT = re.compile(r"(?:void (?:\w+::)?(\w+)|const auto (\w+) = \[&?\])\(([^()]*\bhint)\b[^()]*\)")


def closing(text, start):
    """Return the position of the bracket that closes the one before `start`."""
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


def opening(text, at):
    """Return the position of the innermost open bracket before `at`. Assume that brackets within literals are balanced."""
    depth = 0
    while at > 0:
        at -= 1
        if text[at] in ")}":
            depth += 1
        elif text[at] in "({":
            if depth == 0:
                return at
            depth -= 1
    return 0


def parts(body):
    """Yield the arguments between commas, ignoring commas within brackets and literals."""
    start = at = 0
    while at < len(body):
        if body[at] == '"':
            at = LITERAL.match(body, at).end() - 1
        elif body[at] in "({":
            at = closing(body, at + 1)
        elif body[at] == ",":
            yield body[start:at].strip()
            start = at + 1
        at += 1
    yield body[start:].strip()


def words(expression):
    """Return the literals of an expression, with an ellipsis for each value that is filled in at run time."""
    pieces, at = [], 0
    for literal in LITERAL.finditer(expression):
        if re.search(r"\w", expression[at:literal.start()]):
            pieces.append("…")
        pieces.append(literal[1].replace('\\"', '"').replace("\\n", " "))
        at = literal.end()
    if pieces and re.search(r"\w", expression[at:]):
        pieces.append("…")
    text = "".join(pieces).replace("{…}", "--…")
    text = re.sub(r"\{(\w+)\}", lambda name: "--" + name[1].replace("_", "-"), text)
    return text.replace("{{", "{").replace("}}", "}").strip()


def kind_near(text, at):
    """Return the last error kind that is named in the 600 characters before `at`."""
    named = re.findall(r"ErrorKind::(\w+)", text[max(0, at - 600):at])
    return named[-1] if named else "io"


def made_here(text):
    """Yield kind, problem and hint of each Error that is built in place. Hub errors have kind io."""
    for found in HINT.finditer(text):
        start = opening(text, found.start()) + 1
        fields = dict(re.split(r"\s=\s+", part[1:], maxsplit=1) for part in parts(text[start:closing(text, start)])
                      if re.match(r"\.\w+\s=\s", part))
        if words(fields["hint"]):
            yield kind_near(text, start), words(fields.get("problem", "")), words(fields["hint"])
    for found in SET_LATER.finditer(text):
        yield kind_near(text, found.end()), "", words(found[1])


def made_by_functions(text, functions, ambiguous):
    """Yield kind, problem and hint of each call of a function that takes a hint. If a file has a function with the name of a
    shared one, the call counts only if its problem argument contains words."""
    for name, (problem, hint, kind) in functions.items():
        for call in re.finditer(rf"(?<![\w:.]){name}\(", text):
            given = list(parts(text[call.end():closing(text, call.end())]))
            if len(given) == hint + 1 and (words(given[problem]) or name not in ambiguous):
                named = re.match(r"ErrorKind::(\w+)", given[0])
                yield named[1] if named else kind, words(given[problem]), words(given[hint])


def functions_in(text):
    """Map the name of each function that takes a hint to the indexes of its problem and hint parameters and its error kind."""
    found = {}
    for function in TAKES_HINT.finditer(text):
        names = [re.findall(r"\w+", parameter)[-1] for parameter in function[3].split(",")]
        kind = re.search(r"ErrorKind::(\w+)", text[function.end():function.end() + 400])
        found[function[1] or function[2]] = (names.index("problem"), len(names) - 1, kind[1] if kind else "format")
    return found


def messages():
    """Return kind, problem and hint of each distinct message that has a hint in words."""
    sources = [path.read_text() for path in sorted((ROOT / "attnscope").rglob("*.cpp"))]
    shared, found = {}, set()
    for header in (ROOT / "attnscope").rglob("*.h"):
        shared |= functions_in(header.read_text())
    for text in sources:
        ambiguous = {name for name in shared if re.search(rf"(?:void |auto ){name}\b", text)}
        found.update(made_here(text), made_by_functions(text, shared | functions_in(text), ambiguous))
    return sorted(message for message in found if re.search(r"[a-z]{3}", message[2]))
