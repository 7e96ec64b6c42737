"""What the program says of itself: its commands, their options and examples, from --help."""

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
    arguments: list[tuple[str, str]]  # what stands in place of an option, and what it means
    options: list[tuple[str, str]]
    examples: list[str]  # command lines


class Program:
    """The program as built. Its digest is the key of everything that it was asked."""

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
        usage = next(line for line in head if line.startswith("Usage: ")).removeprefix("Usage: ")
        return Command(name, summary, usage, items(line for line in head if line.startswith("  ")),
                       items(parts["Options:"]), examples)


def sections(help_text):
    """Lines by the heading that they stand under."""
    heading, found = "", {"": []}
    for line in help_text.splitlines():
        if re.fullmatch(r"[A-Z]\w+:", line):
            heading = line
            found[heading] = []
        elif line:
            found[heading].append(line)
    return found


def items(lines):
    """A name and its meaning each, put together again from the lines into which help breaks them."""
    found = []
    for line in lines:
        start = ITEM.match(line)
        if start and not line.startswith("   "):
            found.append([start[1], start[2] or ""])
        elif found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(name, meaning) for name, meaning in found]


def words_of(line):
    """The words of a command line, without its own name and what the shell would do with its output."""
    return shlex.split(line.split(" > ")[0])[1:]
