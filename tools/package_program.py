#!/usr/bin/env python3
"""Makes a tarball of the program that needs nothing of a system but its C library.

    package_program.py PROGRAM SHARE FOLDER

SHARE: the folder of the build with the manual page and completions. Into FOLDER goes attnscope-VERSION-SYSTEM.tar.gz:
bin/attnscope, the shared libraries that it was linked with (lib/, found from the program by its place, wherever it is unpacked),
share/, an example, and the licences of everything in it. archives.txt beside PROGRAM names what was linked statically
(cmake/archives.cmake). Needs patchelf, dpkg, cargo, and the package nanobind for licences.
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

from wheel_licences import HEADERS, ROOT, crate_licences, debian_licences, document, package_of, page_licences

# The C library's own, which belong to the system: they and its loader are of one version.
OF_SYSTEM = re.compile(r"(ld-linux|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl)\.so)")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def libraries_of(program):
    """Name and path of each shared library beside the system's."""
    found = re.findall(r"(\S+) => (/\S+)", output("ldd", program))
    return [(name, pathlib.Path(path).resolve()) for name, path in found if not OF_SYSTEM.match(name)]


def newest_glibc(files):
    """The version of the C library that these files need."""
    versions = {tuple(map(int, version.split("."))) for file in files
                for version in re.findall(r"GLIBC_([\d.]+)", output("objdump", "-T", file))}
    return ".".join(map(str, max(versions)))


def add_program(program, folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "lib").mkdir()
    ours = folder / "bin/attnscope"
    shutil.copy(program, ours)
    subprocess.run(["strip", ours], check=True)
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/../lib", ours], check=True)
    archives = (program.parent / "archives.txt").read_text().splitlines()
    packages = [package_of(pathlib.Path(path).resolve()) for path in archives]
    for name, path in libraries_of(program):
        target = folder / "lib" / name
        shutil.copy(path, target)
        target.chmod(0o755)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", target], check=True)
        packages.append(package_of(path))
    return packages


def add_share(share, folder):
    places = {"attnscope.1": "man/man1/attnscope.1", "attnscope.bash": "bash-completion/completions/attnscope",
              "attnscope.zsh": "zsh/site-functions/_attnscope", "attnscope.fish": "fish/vendor_completions.d/attnscope.fish"}
    for name, place in places.items():
        target = folder / "share" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(share / name, target)


def plain(entry):
    """The same bytes, whoever packs them and when."""
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
        components = [*debian_licences(packages + HEADERS), *crate_licences(), *page_licences()]
        (folder / "THIRD_PARTY_LICENSES.txt").write_text(document(components))
        glibc = newest_glibc([folder / "bin/attnscope", *(folder / "lib").iterdir()])
        path = target / f"{name}.tar.gz"
        with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(folder, name, filter=plain)
        beside = len(list((folder / "lib").iterdir()))
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB, needs glibc {glibc}, {beside} libraries beside the program, "
          f"licences of {len(components)} components")


if __name__ == "__main__":
    main()
