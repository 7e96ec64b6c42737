#!/usr/bin/env python3
"""Make a tarball of the program that needs only the system's C library.

    package_program.py PROGRAM SHARE FOLDER

SHARE: the build folder with the manual page and completions. Writes attnscope-VERSION-SYSTEM.tar.gz to FOLDER, with
bin/attnscope, share/, an example, and the licenses of all components. The file archives.txt next to PROGRAM lists what was linked
into it (cmake/archives.cmake). Needs dpkg, cargo, and the package nanobind for licenses. Exits with 1 if the program needs
another library.
"""

import gzip
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from wheel_licenses import HEADERS, ROOT, crate_licenses, debian_licenses, document, package_of, page_licenses

# Libraries of the C library, which belong to the system and must match its loader.
OF_SYSTEM = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl)\.so)")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def newest_glibc(program):
    """Return the version of the C library that the program needs."""
    versions = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", output("objdump", "-T", program))}
    return ".".join(map(str, max(versions)))


def add_program(program, folder):
    more = [name for name in re.findall(r"NEEDED +(\S+)", output("objdump", "-p", program)) if not OF_SYSTEM.match(name)]
    if more:
        sys.exit(f"{program} needs {', '.join(more)}: link it with static libraries")
    (folder / "bin").mkdir(parents=True)
    ours = folder / "bin/attnscope"
    shutil.copy(program, ours)
    subprocess.run(["strip", ours], check=True)
    archives = (program.parent / "archives.txt").read_text().splitlines()
    return [package_of(pathlib.Path(path).resolve()) for path in archives]


def add_share(share, folder):
    places = {"attnscope.1": "man/man1/attnscope.1", "attnscope.bash": "bash-completion/completions/attnscope",
              "attnscope.zsh": "zsh/site-functions/_attnscope", "attnscope.fish": "fish/vendor_completions.d/attnscope.fish"}
    for name, place in places.items():
        target = folder / "share" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(share / name, target)


def plain(entry):
    """Make the archive reproducible: the same bytes for every user and time."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main():
    program, share, target = map(pathlib.Path, sys.argv[1:])
    version = output(program, "--version").split()[1]
    name = f"attnscope-{version}-{platform.system().lower()}-{platform.machine()}"
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / name
        packages = add_program(program.resolve(), folder)
        add_share(share, folder)
        shutil.copytree(ROOT / "examples/shakespeare-gpt2", folder / "examples/shakespeare-gpt2")
        for text in ("LICENSE", "CHANGELOG.md", "CITATION.cff"):
            shutil.copy(ROOT / text, folder)
        components = [*debian_licenses(packages + HEADERS), *crate_licenses(), *page_licenses()]
        (folder / "THIRD_PARTY_LICENSES.txt").write_text(document(components))
        glibc = newest_glibc(folder / "bin/attnscope")
        path = target / f"{name}.tar.gz"
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(folder, name, filter=plain)
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB, needs glibc {glibc} and nothing else, "
          f"licenses of {len(components)} components")


if __name__ == "__main__":
    main()
