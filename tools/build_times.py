#!/usr/bin/env python3
"""Build the program from scratch and print the total CPU seconds and the ten most expensive steps.

    build_times.py [FOLDER]            build in FOLDER (build/times), which is emptied first
    build_times.py note FILE COMMAND...   run one step of a build and record its CPU seconds; called by CMake

Downloads from registries (npm packages, crates) count if they are not cached yet. Needs only Python.
"""

import pathlib
import re
import resource
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def cpu_seconds_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def step_of(command):
    """Return the output of a command, or else its words without options and folders."""
    if "-o" in command:
        return command[command.index("-o") + 1]
    return " ".join(pathlib.Path(word).name for word in command if not word.startswith("-"))[:60]


def note(file, *command):
    code = subprocess.call(command)
    with open(file, "a") as notes:  # one write per line, so that steps that end at the same time do not mix
        notes.write(f"{cpu_seconds_of_children():.3f}\t{step_of(command)}\n")
    return code


def name_of(step):
    """Shorten modules/CMakeFiles/attnscope_rows.dir/Unity/unity_attnscope_rows_0_cxx.cxx.o to "rows, batch 0"."""
    batch = re.search(r"(\w+)\.dir/Unity/unity_(?:\w+_)?(\d+)_cxx\.cxx\.o$", step)
    if batch:
        return f"{batch[1].removeprefix('attnscope_')}, batch {batch[2]}"
    return re.sub(r"^.*\.dir/", "", step).removesuffix(".o")


def build(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    notes = folder / "times.txt"
    configure = ["cmake", "--preset", "release", "-B", str(folder), f"-DATTNSCOPE_CARGO_FOLDER={folder}/cargo",
                 f"-DATTNSCOPE_BUILD_TIMES={notes}"]
    subprocess.run(configure, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    compile_all = ["cmake", "--build", str(folder), "--target", "attnscope", "--parallel"]
    subprocess.run(compile_all, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    steps = [line.split("\t", 1) for line in notes.read_text().splitlines()]
    return cpu_seconds_of_children(), sorted(((float(seconds), name_of(step)) for seconds, step in steps), reverse=True)


def main():
    if sys.argv[1:2] == ["note"]:
        return note(*sys.argv[2:])
    total, steps = build(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/times").resolve())
    print(f"{total:.0f} CPU seconds to build the program from scratch; the most expensive of {len(steps)} steps:")
    for seconds, step in steps[:10]:
        print(f"{seconds:7.1f}  {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
