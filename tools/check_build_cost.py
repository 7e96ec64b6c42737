#!/usr/bin/env python3
"""Compare the size of the compiler's input with a recorded budget: check_build_cost.py BUILD_FOLDER [--update]

CPU seconds of a build differ between machines, but the number of lines after preprocessing does not, and it determines most of
the time. cmake/build_budget.json has two numbers, in thousands of lines, for each size of batches: for the program and for its
tests. A change that needs more lines raises the numbers in the same commit and gives the reason in the commit message. --update writes
the measured numbers for the size of batches of this build folder.

The numbers depend on the system's headers, so they are compared only with the compiler that the file names.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = ROOT / "cmake/build_budget.json"
SPARE = 1.01  # updates of the distribution change its headers


def lines_of(entry):
    """Return the number of lines of a source including its headers, without line markers."""
    command = shlex.split(entry["command"])
    command[command.index("-o") + 1] = "-"
    command[command.index("-c")] = "-E"
    text = subprocess.run([*command, "-P"], cwd=entry["directory"], check=True, stdout=subprocess.PIPE).stdout
    return text.count(b"\n")


def measure(build):
    entries = json.loads((build / "compile_commands.json").read_text())
    groups = {"program": [], "tests": []}
    for entry in entries:
        output = entry["output"] if "output" in entry else entry["command"].split(" -o ")[1]
        if output.startswith(("modules/", "CMakeFiles/attnscope")):
            groups["program"].append(entry)
        elif output.startswith("tests/"):
            groups["tests"].append(entry)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return {name: round(sum(pool.map(lines_of, group)) / 1000) for name, group in groups.items()}


def compiler_of(build):
    command = shlex.split(json.loads((build / "compile_commands.json").read_text())[0]["command"])
    compiler = command[1] if command[0].endswith("ccache") else command[0]
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout.split("\n")[0]
    return " ".join(version.replace("c++", "g++").split(" ")[:3])


def batch_kilobytes(build):
    """Return ATTNSCOPE_BATCH_KILOBYTES of the build folder."""
    entry = "ATTNSCOPE_BATCH_KILOBYTES:STRING="
    lines = (build / "CMakeCache.txt").read_text().split("\n")
    return next(line.removeprefix(entry) for line in lines if line.startswith(entry))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    compiler = compiler_of(arguments.build)
    budget = json.loads(BUDGET.read_text()) if BUDGET.exists() else {}
    if not arguments.update and budget["compiler"] != compiler:
        print(f"skipped: the budget was measured with {budget['compiler']}, not {compiler}")
        return 0
    kilobytes, of_sizes = batch_kilobytes(arguments.build), budget.get("thousand_lines", {})
    if not arguments.update and kilobytes not in of_sizes:
        print(f"skipped: the budget has no number for batches of {kilobytes} kB")
        return 0
    measured = measure(arguments.build)
    if arguments.update:
        of_sizes = of_sizes if budget.get("compiler") == compiler else {}
        BUDGET.write_text(json.dumps({"compiler": compiler, "thousand_lines": of_sizes | {kilobytes: measured}}, indent=2) + "\n")
        return 0
    budgeted = of_sizes[kilobytes]
    over = {name: lines for name, lines in measured.items() if lines > budgeted[name] * SPARE}
    for name, lines in over.items():
        print(f"{name}: the compiler reads {lines} thousand lines, the budget is {budgeted[name]}. "
              "Include less, or raise cmake/build_budget.json in the same commit and give the reason "
              f"(tools/check_build_cost.py {arguments.build} --update).")
    if not over:
        print(", ".join(f"{name}: {lines} of {budgeted[name]} thousand lines" for name, lines in measured.items()))
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
