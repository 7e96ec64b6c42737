#!/usr/bin/env python3
"""Find the tests that match a name: find_tests.py NAME

NAME is one of these:
- a suite (EnergyRank), a test (EnergyRank.OfTheIdentityIsExactAtTies), or a pattern with * (Spectrum*);
- a test file or folder (tests/features/spectrum, tests/python/test_table.py, web/tests/unit);
- a source file or folder, which selects its tests (attnscope/features/spectrum/measures.cpp);
- a check that ctest runs (layers).

Prints one line per program to run:
    gtest PROGRAM FILTER | pytest FILE | vitest PROJECT FILE | ctest NAME
"""

import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\s*(\w+)\s*,\s*(\w+)", re.MULTILINE)
CHECK = re.compile(r"add_test\(NAME (\w+)")


def program_of(file):
    return file.relative_to(TESTS).parts[0] + "_tests"


def lines_of_files(files):
    """Yield one line per test program, with the tests of the files."""
    filters = {}
    for file in sorted(files):
        for suite in sorted({suite for suite, _ in TEST.findall(file.read_text())}):
            # TEST_P adds "Instance/" before the name of a suite, and TYPED_TEST adds "/0" after it.
            filters.setdefault(program_of(file), []).extend([f"{suite}.*", f"*/{suite}.*", f"{suite}/*"])
    return [f"gtest {program} {':'.join(names)}" for program, names in filters.items()]


def tests_of_path(path):
    """Yield the lines for a file or folder of the repository; none if it has no tests."""
    path = path.resolve()
    if not path.is_relative_to(ROOT):
        return []
    top = path.relative_to(ROOT).parts[:1]
    if top == ("attnscope",):
        mirror = TESTS / path.relative_to(ROOT / "attnscope")
        if path.is_dir():
            return tests_of_path(mirror) if mirror.exists() else []
        # measures.h and measures.cpp match measures_test.cpp and measures_golden_test.cpp. Without a match, all tests of the folder run.
        own = list(mirror.parent.glob(f"{mirror.stem}*_test.cpp"))
        return lines_of_files(own or mirror.parent.glob("*_test.cpp"))
    relative = path.relative_to(ROOT)
    if relative.is_relative_to("python") or relative.is_relative_to("tests/python"):
        return [f"pytest {relative if 'tests' in relative.parts else 'tests/python'}"]
    if relative.is_relative_to("web"):
        for project in ("unit", "browser", "site"):
            if relative.is_relative_to(f"web/tests/{project}"):
                return [f"vitest {project} {relative.relative_to('web')}"]
        mirror = pathlib.Path("tests/unit") / relative.relative_to("web/src") if relative.is_relative_to("web/src") else None
        return [f"vitest unit {mirror.with_suffix('')}"] if mirror else ["vitest unit tests/unit"]
    if top == ("tests",):
        return lines_of_files(path.rglob("*_test.cpp") if path.is_dir() else [path])
    return []


def tests_of_name(name):
    """Yield the lines for a suite or a test."""
    suite_pattern, _, test_pattern = name.partition(".")
    found = {}
    for file in sorted(TESTS.rglob("*_test.cpp")):
        for suite, test in TEST.findall(file.read_text()):
            if fnmatch.fnmatchcase(suite, suite_pattern) and fnmatch.fnmatchcase(test, test_pattern or "*"):
                end = test_pattern or "*"
                found.setdefault(program_of(file), {})[suite] = [f"{suite}.{end}", f"*/{suite}.{end.rstrip('*')}*", f"{suite}/*.{end}"]
    return [f"gtest {program} {':'.join(sum(suites.values(), []))}" for program, suites in found.items()]


def tests_of_check(name):
    return [f"ctest {name}"] if name in CHECK.findall((TESTS / "CMakeLists.txt").read_text()) else []


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    name = sys.argv[1]
    candidates = [ROOT / name, TESTS / name, ROOT / "attnscope" / name]
    lines = next((lines for path in candidates if path.exists() if (lines := tests_of_path(path))), None)
    lines = lines or tests_of_name(name) or tests_of_check(name)
    if not lines:
        sys.exit(f"./dev: no test matches '{name}'; pass a suite, a test, a file or a folder, such as tests/features/spectrum")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
