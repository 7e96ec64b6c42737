#!/usr/bin/env python3
"""Add the licenses of all bundled components to a wheel.

    wheel_licenses.py WHEEL LIBRARY

WHEEL: a wheel repaired by auditwheel, which is rewritten. LIBRARY: the built module, which names the shared libraries.
Needs dpkg, cargo, web/node_modules, and the packages wheel and nanobind. Exits with 1 if a license is not found.
"""

import importlib.metadata
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Debian packages with code that is compiled in, but not as shared libraries.
HEADERS = ["nlohmann-json3-dev", "libcpp-httplib-dev", "libhwy-dev", "libfmt-dev"]
NAMES = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright|ofl)", re.IGNORECASE)


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def texts_in(folder):
    return [path.read_text(errors="replace") for path in sorted(folder.iterdir())
            if path.is_file() and NAMES.match(path.name)]


def package_of(path):
    """Return the Debian package of a library. /lib is a link to /usr/lib, and dpkg knows only one of the two paths."""
    for known in (str(path), str(path).removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", known], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"no package contains {path}")


def debian_packages(library, vendored):
    """Return the Debian packages of the shared libraries in the wheel. auditwheel has added a hash to the libraries' names."""
    paths = [pathlib.Path(path).resolve() for path in re.findall(r"=> (/\S+)", output("ldd", library))]
    of_name = {path.name: path for path in paths}
    return [package_of(of_name[re.sub(r"-[0-9a-f]{8}(?=[.])", "", name, count=1)]) for name in vendored]


def debian_licenses(packages):
    for package in sorted(set(packages)):
        text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace")
        version = output("dpkg-query", "-W", "-f", "${Version}\n", package).split()[0]
        yield f"{package} {version}", [text]


def crate_licenses():
    metadata = json.loads(output("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform",
                                 re.search("host: (.*)", output("rustc", "-vV"))[1],
                                 "--manifest-path", str(ROOT / "rust/Cargo.toml")))
    for crate in metadata["packages"]:
        if crate["source"] is None:
            continue
        texts = texts_in(pathlib.Path(crate["manifest_path"]).parent)
        yield f"{crate['name']} {crate['version']}", texts or [f"License: {crate['license']}\n"]


def page_licenses():
    """Yield the licenses of the npm packages in the bundled page."""
    folders = output("npm", "ls", "--prefix", str(ROOT / "web"), "--omit=dev", "--all", "--parseable").split()
    for folder in map(pathlib.Path, folders[1:]):
        package = json.loads((folder / "package.json").read_text())
        yield f"{package['name']} {package['version']}", texts_in(folder)


def python_licenses():
    distribution = importlib.metadata.distribution("nanobind")
    texts = [path.locate().read_text() for path in distribution.files if NAMES.match(path.name)]
    yield f"nanobind {distribution.version}", texts


def document(components):
    """Return each license text once, with the names of all components that use it."""
    names_of = {}
    for name, texts in components:
        if not texts:
            sys.exit(f"no license found for {name}")
        for text in texts:
            names_of.setdefault(text.strip(), []).append(name)
    line = "=" * 100
    return "\n\n".join(f"{line}\n{', '.join(names)}\n{line}\n\n{text}" for text, names in names_of.items()) + "\n"


def main():
    wheel, library = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        output(sys.executable, "-m", "wheel", "unpack", "--dest", scratch, wheel)
        (folder,) = pathlib.Path(scratch).iterdir()
        vendored = [path.name for path in folder.glob("*.libs/*")]
        packages = debian_packages(library, vendored)
        components = [*debian_licenses(packages + HEADERS), *python_licenses(), *crate_licenses(), *page_licenses()]
        (licenses,) = folder.glob("*.dist-info/licenses")
        (licenses / "THIRD_PARTY_LICENSES.txt").write_text(document(components))
        output(sys.executable, "-m", "wheel", "pack", "--dest-dir", str(pathlib.Path(wheel).parent), str(folder))
    print(f"licenses of {len(components)} components in {pathlib.Path(wheel).name}")


if __name__ == "__main__":
    main()
