#!/usr/bin/env python3
"""Check that comments and documentation name only existing files.

    tools/check_file_names.py

Paths below our folders (tools/check_layers.py, features/*/fields.cpp) are looked up from the repository's root, attnscope/,
python/ and web/. Names and paths of C++ or TypeScript sources (checkpoint.cpp, gguf/gguf_file.h) are looked up in every
folder. {name} and <name> match any name. Prints each file that does not exist, and then exits with 1.
"""

import itertools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = (".github", "attnscope", "benchmarks", "cmake", "docs", "fuzz", "packaging", "python", "rust", "tests", "tools", "web")
ABOVE = ("", "attnscope/", "python/", "web/")
NOT_OURS = {"node_modules", "build", "dist", "target", "__pycache__", "corpus"}
DATA = ("tests/data/", "tests/golden/", "docs/schema/", "web/package-lock.json", "CHANGELOG.md")
READ = {".h", ".cpp", ".py", ".pyi", ".ts", ".rs", ".md", ".txt", ".cmake", ".yml", ".sh", ""}

ALLOWED = {
    "embedded_page.cpp",  # written by the build
    "NAME.cpp", "tools/check_NAME.py", "a.cpp", "a.ts", "measures_golden_test.cpp", "_test.cpp",  # examples of names
    "docs/gguf.md", "ggml/include/ggml.h", "ggml/src/ggml-common.h", "ggml-org/llama.cpp", "src/llama-vocab.cpp",  # files of ggml and llama.cpp
    "transformer.h",  # tensors of a layer: transformer.h.0
}

PATH = re.compile(r"(?<![\w./:*-])((?:" + "|".join(map(re.escape, (*FOLDERS, "features"))) +
                  r")/(?:[\w./*<>-]|\{[\w,]+\})*\.(?:h|cpp|py|ts|js|json|md|txt|sh|cmake|css|html|toml|yml|rs|safetensors))\b")
SOURCE = re.compile(r"(?<![\w./:*{}<>@$-])((?:[\w.-]+/)*[\w-]+\.(?:h|cpp|ts))(?![\w/(*<{-]|\.\w)")
READS = re.compile(r'\s*#\s*include|.*\bfrom "')  # checked by the compiler


def files():
    """Return the paths of all files of the project."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in FOLDERS:
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file() and not NOT_OURS & set(path.relative_to(ROOT).parts)]
    return {str(path.relative_to(ROOT)) for path in found}


def spelled_out(name):
    """Return the patterns that a name expands to: awq.cpp and gptq.cpp for {awq,gptq}.cpp."""
    parts = re.split(r"\{([\w,]+)\}", re.sub(r"<[^>]*>|\{\w+\}", "*", name))
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ("".join(choice) for choice in itertools.product(*choices))


def exists(name):
    return all(any(next(ROOT.glob(above + each), None) for above in ABOVE) for each in spelled_out(name))


def faults_of(file, endings):
    for number, line in enumerate((ROOT / file).read_text().splitlines(), start=1):
        if READS.match(line):
            continue
        wrong = [path for path in PATH.findall(line) if not exists(path)]
        wrong += [source for source in SOURCE.findall(PATH.sub("", line)) if source not in endings]
        yield from (f"{file}:{number}: {name} does not exist" for name in wrong if name not in ALLOWED)


def main():
    ours = files()
    endings = {file.split("/", depth)[-1] for file in ours for depth in range(file.count("/") + 1)}
    read = [file for file in sorted(ours) if pathlib.Path(file).suffix in READ and not file.startswith(DATA)]
    faults = [fault for file in read for fault in faults_of(file, endings)]
    for fault in faults:
        print(fault)
    print(f"{len(read)} files checked, {len(faults)} errors")
    return 1 if faults or not read else 0


if __name__ == "__main__":
    sys.exit(main())
