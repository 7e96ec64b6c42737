#!/usr/bin/env python3
"""Checks options and counts in the documentation and in `explain` against the program.

    tools/check_docs.py BINARY

- `explain`: every option that a field or row kind requires appears in the help of its command;
- README.md, CONTRIBUTING.md and docs/: every option in code appears in the help of the command before it, or of any command;
- counts in words ("six questions") match the number of files.

Exits with 1 and prints a line for each error."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13)))
# Other programs in the documentation, whose options are not checked.
OTHERS = {"pip", "pipx", "uv", "cmake", "ctest", "git", "python", "python3", "npm", "npx", "docker", "mpirun", "srun", "sbatch", "curl",
          "dev", "dask", "conda", "brew", "apt-get", "clang-format", "node", "pytest", "rustup", "cargo", "setarch", "taskset",
          "sqlite3", "duckdb", "huggingface-cli", "hf", "torchrun", "qemu", "numactl", "tools", "benchmarks", "tmux", "jq", "#SBATCH"}


def output(binary, *arguments):
    return subprocess.run([binary, *arguments], check=True, capture_output=True, text=True).stdout


def options_of_commands(binary):
    commands = re.findall(r"^  ([a-z]+)  ", output(binary, "--help"), re.MULTILINE)
    found = {name: set(OPTION.findall(output(binary, name, "--help"))) for name in commands}
    found[""] = set(OPTION.findall(output(binary, "--help")))
    return found


def check_explain(binary, options):
    fields = json.loads(output(binary, "explain", "--format", "json"))["fields"]
    for name in sorted({field["name"] for field in fields}):
        for block in output(binary, "explain", name).split("\n\n"):
            places = re.search(r"^  in: (.*)$", block, re.MULTILINE)[1].split(", ")
            needs = re.findall(r"only with (--[a-z0-9-]+)", block)
            for place in places:
                words = place.split(" of ")[-1].split(" ")
                command = words[0] if words[0] in options else ""
                for option in needs + OPTION.findall(place):
                    if command and option not in options[command]:
                        yield f"explain {name}: {command} has no {option}"


def code_of(text):
    """Yield lines of fenced blocks, with continued lines joined, and inline code."""
    fences = re.split(r"^```.*$", text, flags=re.MULTILINE)
    for block in fences[1::2]:
        yield from block.replace("\\\n", " ").splitlines()
    for prose in fences[0::2]:
        yield from (code.replace("\n", " ") for code in re.findall(r"`([^`]+)`", prose))


def check_options(path, options):
    every = set().union(*options.values())
    for code in code_of(path.read_text()):
        code = code.split(" #")[0]
        for part in re.split(r"[|;&]+ ", code):
            words = part.split()
            programs = {word.removeprefix("./").split("/")[0] for word in words}
            if programs & OTHERS or any(word.endswith((".py", ".sh")) for word in words):
                continue
            command = ""
            if "attnscope" in words:
                command = next((word for word in words[words.index("attnscope") + 1:] if word in options), "")
            elif words and words[0] in options:
                command = words[0]
            known = options[command] | {"--help"} if command else every
            for option in OPTION.findall(part):
                if option not in known:
                    yield f"{path.relative_to(ROOT)}: {command or 'no command'} has {option}: {part.strip()[:100]}"


def counts():
    """Yield a pattern that finds a count in the documentation, and the true count."""
    questions = len([page for page in (ROOT / "docs/notebooks").glob("*.md") if page.name != "README.md"])
    yield r"(\w+) questions\b(?=\]| that people ask)", questions


def check_counts(path):
    text = path.read_text()
    for pattern, count in counts():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            said = WORDS.get(found[1].lower(), int(found[1]) if found[1].isdigit() else None)
            if said is not None and said != count:
                yield f"{path.relative_to(ROOT)}: '{found[0]}' should be {count}"


def main():
    binary = sys.argv[1]
    options = options_of_commands(binary)
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    faults = list(check_explain(binary, options))
    for path in paths:
        faults += check_options(path, options)
        faults += check_counts(path)
    print("\n".join(faults) or f"options and counts in {len(paths)} pages and in explain agree with the program")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
