#!/usr/bin/env python3
"""Compare the output of two builds of attnscope byte by byte.

    tools/same_output.py OLD_BINARY NEW_BINARY
    tools/same_output.py OLD_BINARY NEW_BINARY --only 'circuits .*--composition' --allow intended.txt

Runs every command with every option (same_output_cases.py) on the examples, tests/data and ../shared/models if it exists. It also
uses generated files (same_output_files.py): difficult numbers, malformed files. Each case runs in a folder of the same
name for both. Compares stdout, stderr, exit codes, and the files left behind. For stores it compares the file names, and
the output of `export` and of second runs. Progress lines are not compared, because they depend on the time.

Each line of the --allow file specifies intended differences:

    REGEX OF THE COMMAND :: REGEX OF EVERY LINE THAT DIFFERS :: REASON

A differing line is shown as "-stdout: …" or "+exit: 4". Write `within 1e-12` as the second part to allow only numbers to
differ, each by no more than that relative or absolute amount.

Exits with 1 if there are differences that are not allowed. Needs only Python.
"""

import argparse
import collections
import concurrent.futures
import difflib
import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time

import same_output_cases
import same_output_files

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT_SECONDS = 120
TERMINAL_WIDTH = 110
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


# ---- Running ------------------------------------------------------------------------------------

def open_terminal():
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST  # as written: no carriage return is added before a line feed
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, TERMINAL_WIDTH, 0, 0))
    return ours, theirs


def read_all(descriptor):
    text = b""
    while True:
        try:
            block = os.read(descriptor, 65536)
        except OSError:  # a terminal without input
            block = b""
        if not block:
            return text
        text += block


def run(binary, command, folder):
    """Return the output by name of the stream."""
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": "/nonexistent", "LC_ALL": "C.UTF-8",
                   "TERM": "xterm-256color", **command.environment}
    # Use files, so that neither stream can fill up while the other one is read.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        ours, theirs = open_terminal() if command.terminal else (None, None)
        process = subprocess.Popen(["attnscope"] + command.words, executable=binary, cwd=folder, env=environment,
                                   stdin=subprocess.DEVNULL, stdout=theirs if command.terminal else out, stderr=err)
        if command.terminal:
            os.close(theirs)
            out.write(read_all(ours))
            os.close(ours)
        try:
            code = str(process.wait(timeout=TIMEOUT_SECONDS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = f"none within {TIMEOUT_SECONDS} s"
        out.seek(0)
        err.seek(0)
        return {"exit": code.encode(), "stderr": err.read(), "stdout": out.read()}


def left_files(folder):
    """Return file contents by name. For stores, which contain times, return only the name."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_symlink() and path.is_file():
            is_store = ".sqlite" in path.name
            files[f"file {path.relative_to(folder)}"] = b"" if is_store else path.read_bytes()
    return files


class Runner:
    def __init__(self, old, new, root):
        self.old, self.new, self.root = old, new, root

    def outputs(self, binary, case, folder):
        """Run each command of the case in a new folder. Return their outputs."""
        folder.mkdir(parents=True)
        for name in ("data", "examples", "shared", "made"):
            if (self.root / name).exists():
                (folder / name).symlink_to(self.root / name)
        outputs = []
        for step in case:
            if isinstance(step, int):  # damages the store
                for wal in folder.glob("rows.sqlite-*"):
                    wal.unlink()
                os.truncate(folder / "rows.sqlite", step)
                continue
            outputs.append(run(self.old if step.by_old else binary, step, folder))
        outputs[-1].update(left_files(folder))
        shutil.rmtree(folder)
        return outputs

    def compare(self, number, case):
        """Return pairs of a command's text and both sides' streams, for each command with differences."""
        folder = self.root / "cases" / str(number)
        commands = [step for step in case if not isinstance(step, int)]
        before = self.outputs(self.old, case, folder)
        after = self.outputs(self.new, case, folder)
        return [(" ; ".join(map(str, commands[:at + 1])), old, new)
                for at, (old, new) in enumerate(zip(before, after)) if old != new]


# ---- Printing differences -----------------------------------------------------------------------

# Show escape sequences instead of sending them to the terminal.
VISIBLE = {code: f"\\x{code:02x}" for code in [*range(9), *range(11, 32), 127]}


def lines_of(streams, name):
    if name not in streams:
        return ["(none)"]
    return streams[name].decode("utf-8", "backslashreplace").translate(VISIBLE).split("\n")


def differing_lines(old, new):
    """Return "-stream: line" and "+stream: line" for all differences."""
    found = []
    for stream in sorted(set(old) | set(new)):
        sides = [lines_of(side, stream) for side in (old, new)]
        if sides[0] == sides[1]:
            continue
        matcher = difflib.SequenceMatcher(None, *sides, autojunk=False)
        for kind, *ranges in matcher.get_opcodes():
            gone, come = sides[0][ranges[0]:ranges[1]], sides[1][ranges[2]:ranges[3]]
            if kind == "equal":
                continue
            for before, after in zip(gone, come):  # sorts lines that may correspond next to each other
                found += [f"-{stream}: {before}", f"+{stream}: {after}"]
            found += [f"-{stream}: {line}" for line in gone[len(come):]]
            found += [f"+{stream}: {line}" for line in come[len(gone):]]
    return found


def number_distance(old, new):
    """Return the largest difference of numbers, relative or absolute, whichever is smaller. None: other text differs too."""
    if set(old) != set(new):
        return None
    largest = 0.0
    for stream in old:
        texts = [side[stream].decode("utf-8", "backslashreplace") for side in (old, new)]
        if texts[0] == texts[1]:
            continue
        if stream == "exit" or len({re.sub(" +", " ", NUMBER.sub("#", text)) for text in texts}) > 1:
            return None
        for before, after in zip(*(map(float, NUMBER.findall(text)) for text in texts)):
            if before != after:
                largest = max(largest, abs(before - after) / max(1.0, abs(before), abs(after)))
    return largest


def shortened(line, other, most=150):
    """Return the part of a long line around its first difference from another line."""
    if len(line) <= most:
        return line
    same = len(os.path.commonprefix([line[1:], other[1:]]))
    begin = max(0, min(same - most // 2, len(line) - most))
    return line[0] + ("…" if begin else "") + line[1 + begin:begin + most] + "…"


def print_difference(command, lines, distance):
    print(f"$ {command}")
    if distance is not None:
        print(f"    only numbers, by at most {distance:.2g}")
    for at, line in enumerate(lines[:6]):
        print("    " + shortened(line, lines[at ^ 1] if at ^ 1 < len(lines) else ""))
    if len(lines) > 6:
        print(f"    … {len(lines) - 6} more lines")
    print(flush=True)


class Allowed:
    """One line of the --allow file."""

    def __init__(self, text):
        parts = [part.strip() for part in text.split(" :: ")]
        if len(parts) != 3:
            sys.exit(f"same_output.py: not COMMAND :: LINES :: REASON: {text}")
        self.command, self.reason = re.compile(parts[0]), parts[2]
        within = re.fullmatch(r"within (\S+)", parts[1])
        self.distance = float(within[1]) if within else None
        self.lines = None if within else re.compile(parts[1])

    def covers(self, command, lines, distance):
        if not self.command.search(command):
            return False
        if self.lines is None:
            return distance is not None and distance <= self.distance
        return all(self.lines.search(line) for line in lines)


def read_allowed(path):
    lines = path.read_text().splitlines() if path else []
    return [Allowed(line) for line in lines if line.strip() and not line.startswith("#")]


# ---- Main program -------------------------------------------------------------------------------

def prepare(root):
    shared = ROOT.parent / "shared/models"
    for name, path in {"data": ROOT / "tests/data", "examples": ROOT / "examples", "shared": shared}.items():
        if path.is_dir():
            (root / name).symlink_to(path)
        else:
            print(f"skipping {path}: does not exist")
    same_output_files.make_files(root / "made", ROOT / "tests/data")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--only", metavar="REGEX", help="only cases with a command that matches REGEX")
    parser.add_argument("--allow", metavar="FILE", type=pathlib.Path, help="file of intended differences")
    parser.add_argument("--help-texts", action="store_true", help="also compare help, completions and the manual page")
    parser.add_argument("--list", action="store_true", help="print the commands without running them")
    parser.add_argument("--show", metavar="N", type=int, default=100, help="maximum number of printed differences (default: 100)")
    parser.add_argument("-j", metavar="N", dest="jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    allowed = read_allowed(arguments.allow)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attnscope-same-output-") as folder:
        root = pathlib.Path(folder)
        prepare(root)
        cases = list(same_output_cases.all_cases(root, arguments.help_texts))
        if arguments.only:
            only = re.compile(arguments.only)
            cases = [case for case in cases if any(only.search(str(step)) for step in case)]
        count = sum(not isinstance(step, int) for case in cases for step in case)
        if arguments.list:
            print("\n".join(" ; ".join(map(str, case)) for case in cases))
            return 0
        runner = Runner(arguments.old.resolve(), arguments.new.resolve(), root)
        intended, used, unexpected = collections.Counter(), set(), 0
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for number, differences in enumerate(pool.map(runner.compare, range(len(cases)), cases), start=1):
                if sys.stderr.isatty() and (number % 50 == 0 or number == len(cases)):
                    print(f"\r{number} of {len(cases)} cases", end="\n" * (number == len(cases)), file=sys.stderr)
                for command, old, new in differences:
                    lines, distance = differing_lines(old, new), number_distance(old, new)
                    rule = next((rule for rule in allowed if rule.covers(command, lines, distance)), None)
                    if rule:
                        intended[rule.reason] += 1
                        used.add(rule)
                        continue
                    unexpected += 1
                    if unexpected <= arguments.show:
                        print_difference(command, lines, distance)
    for reason, times in intended.most_common():
        print(f"intended, {times} times: {reason}")
    for rule in allowed:
        if rule not in used:
            print(f"allowed but did not occur: {rule.command.pattern}: {rule.reason}")
    print(f"{count} commands in {len(cases)} cases, {time.monotonic() - start:.0f} s: "
          f"{unexpected} unexpected and {intended.total()} intended differences")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
