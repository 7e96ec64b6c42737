"""Reads the commands, options and examples of the program from its --help."""

import hashlib
import pathlib
import re
import shlex
import subprocess
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ITEM = re.compile(r"^  (\S.*?)(?: {2,}(\S.*))?$")


class Command(NamedTuple):
    name: str
    summary: str
    usage: str
    arguments: list[tuple[str, str]]  # positional arguments and their meanings
    options: dict[str, list[tuple[str, str]]]  # by the heading of their group
    examples: list[str]  # command lines


class Program:
    """The program as built. Its digest is the key of all cached output."""

    def __init__(self, path):
        self.path = pathlib.Path(path).resolve()
        self.digest = hashlib.sha256(self.path.read_bytes()).hexdigest()

    def text(self, *words):
        return subprocess.run([self.path, *words], check=True, capture_output=True, text=True, cwd=ROOT).stdout

    def version(self):
        return self.text("--version").split()[1]

    def commands(self):
        listed = items(sections(self.text("--help"))["Commands:"])
        return [self.command(name, summary) for name, summary in listed]

    def command(self, name, summary):
        parts = sections(self.text(name, "--help"))
        examples = [line.strip() for line in parts.get("Examples:", [])]
        head = parts[""]
        groups = {heading.rstrip(":"): items(lines) for heading, lines in parts.items() if heading not in ("", "Examples:")}
        usage = next(line for line in head if line.startswith("Usage: ")).removeprefix("Usage: ")
        return Command(name, summary, usage, items(line for line in head if line.startswith("  ")),
                       groups, examples)


def sections(help_text):
    """Return lines by their heading."""
    heading, found = "", {"": []}
    for line in help_text.splitlines():
        if re.fullmatch(r"[A-Z]\w+( \([a-z ]+\))?:", line):
            heading = line
            found[heading] = []
        elif line:
            found[heading].append(line)
    return found


def items(lines):
    """Return names and meanings, joining the lines into which help wraps them."""
    found = []
    for line in lines:
        start = ITEM.match(line)
        if start and not line.startswith("   "):
            found.append([start[1], start[2] or ""])
        elif found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(name, meaning) for name, meaning in found]


def words_of(line):
    """Return the arguments of a command line, without the program's name and a redirection of its output."""
    return shlex.split(line.split(" > ")[0])[1:]
