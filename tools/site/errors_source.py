"""The messages that end a command and say what to do, read from the sources: where an Error is made, or a function that makes it
is called."""

import re

from program_help import ROOT

LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
HINT = re.compile(r"(?<!\w)\.hint =")
SET_LATER = re.compile(r"\w\.hint =([^;]*);")
# A function or lambda whose last parameter is what to do.
TAKES_HINT = re.compile(r"(?:void (?:\w+::)?(\w+)|const auto (\w+) = \[&?\])\(([^()]*\bhint)\b[^()]*\)")


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


def opening(text, at):
    """The place of the bracket within which `at` is. Literals before it are even in quotes, and brackets in them come in pairs."""
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
    """What commas separate, outside of brackets and literals."""
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
    """The literals of an expression; what is filled in when it runs is an ellipsis."""
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
    """The kind that is named last before `at`, in the same function."""
    named = re.findall(r"ErrorKind::(\w+)", text[max(0, at - 600):at])
    return named[-1] if named else "io"


def made_here(text):
    """Of each Error whose parts stand in the source: kind, problem, hint. Those of the hub are of kind io."""
    for found in HINT.finditer(text):
        start = opening(text, found.start()) + 1
        fields = dict(re.split(r"\s=\s+", part[1:], maxsplit=1) for part in parts(text[start:closing(text, start)])
                      if re.match(r"\.\w+\s=\s", part))
        if words(fields["hint"]):
            yield kind_near(text, start), words(fields.get("problem", "")), words(fields["hint"])
    for found in SET_LATER.finditer(text):
        yield kind_near(text, found.end()), "", words(found[1])


def made_by_functions(text, functions, ambiguous):
    """Of each call of a function that takes a hint: kind, problem, hint. A file may call its own by the name of a shared one; of
    such a call only its words tell which it is."""
    for name, (problem, hint, kind) in functions.items():
        for call in re.finditer(rf"(?<![\w:.]){name}\(", text):
            given = list(parts(text[call.end():closing(text, call.end())]))
            if len(given) == hint + 1 and (words(given[problem]) or name not in ambiguous):
                named = re.match(r"ErrorKind::(\w+)", given[0])
                yield named[1] if named else kind, words(given[problem]), words(given[hint])


def functions_in(text):
    """Name of each function that takes a hint: the places of problem and hint among its parameters, and the kind of its errors."""
    found = {}
    for function in TAKES_HINT.finditer(text):
        names = [re.findall(r"\w+", parameter)[-1] for parameter in function[3].split(",")]
        kind = re.search(r"ErrorKind::(\w+)", text[function.end():function.end() + 400])
        found[function[1] or function[2]] = (names.index("problem"), len(names) - 1, kind[1] if kind else "format")
    return found


def messages():
    """Kind, problem and hint of each message that has a hint in words, each once."""
    sources = [path.read_text() for path in sorted((ROOT / "attnscope").rglob("*.cpp"))]
    shared, found = {}, set()
    for header in (ROOT / "attnscope").rglob("*.h"):
        shared |= functions_in(header.read_text())
    for text in sources:
        ambiguous = {name for name in shared if re.search(rf"(?:void |auto ){name}\b", text)}
        found.update(made_here(text), made_by_functions(text, shared | functions_in(text), ambiguous))
    return sorted(message for message in found if re.search(r"[a-z]{3}", message[2]))
