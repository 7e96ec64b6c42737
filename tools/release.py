#!/usr/bin/env python3
"""Prepare a release: release.py set VERSION | check | sbom PROGRAM FOLDER | checksums FOLDER.

CMakeLists.txt defines the version. `set` writes it to all files that contain it, and dates the section of CHANGELOG.md.
`check` exits with 1 if two files differ. `sbom` writes a software bill of materials (CycloneDX) of the program and the
wheel. `checksums` writes SHA256SUMS.
"""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

from wheel_licenses import HEADERS, ROOT, output, package_of

NUMBER = r"(\d+\.\d+\.\d+)"
# Where the version stands, the first being the one that counts.
PLACES = {"CMakeLists.txt": rf"project\(attnscope VERSION {NUMBER}", "CITATION.cff": rf"^version: {NUMBER}$",
          "python/attnscope/_core.pyi": rf"^version: str = '{NUMBER}'$",
          "packaging/conda-forge/recipe.yaml": rf'^  version: "{NUMBER}"$',
          "packaging/homebrew/attnscope.rb": rf"attnscope-{NUMBER}\.tar\.gz"}
UNRELEASED = "## Unreleased"


def found(name):
    match = re.search(PLACES[name], (ROOT / name).read_text(), re.MULTILINE)
    if not match:
        sys.exit(f"{name}: no version is there")
    return match


def check():
    version = found("CMakeLists.txt")[1]
    wrong = [f"{name}: version {found(name)[1]} is not {version}, CMakeLists.txt's" for name in PLACES
             if found(name)[1] != version]
    sys.exit("\n".join(wrong) or None)


def set_version(version):
    if not re.fullmatch(NUMBER, version):
        sys.exit(f"{version}: a version is three numbers")
    changes = ROOT / "CHANGELOG.md"
    text = changes.read_text()
    section = re.search(rf"^{UNRELEASED}\n+(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if not section or not section[1].strip():
        sys.exit(f"CHANGELOG.md: nothing stands under '{UNRELEASED}'")
    today = datetime.date.today().isoformat()
    for name in PLACES:
        match, path = found(name), ROOT / name
        whole = path.read_text()
        path.write_text(whole[:match.start(1)] + version + whole[match.end(1):])
    citation = ROOT / "CITATION.cff"
    whole = re.sub(r"^date-released: .*\n", "", citation.read_text(), flags=re.MULTILINE)
    citation.write_text(re.sub(r"^(version: .*)$", rf'\1\ndate-released: "{today}"', whole, flags=re.MULTILINE))
    changes.write_text(text.replace(UNRELEASED, f"## {version}, {today}", 1))


def component(kind, name, version):
    return {"type": "library", "name": name, "version": version, "purl": f"pkg:{kind}/{name}@{version}"}


def components(program):
    libraries = re.findall(r"=> (/\S+)", output("ldd", program))
    packages = {package_of(pathlib.Path(path).resolve()) for path in libraries}
    for package in sorted(packages | set(HEADERS)):
        yield component("deb/debian", package, output("dpkg-query", "-W", "-f", "${Version}\n", package).split()[0])
    metadata = json.loads(output("cargo", "metadata", "--format-version", "1", "--locked",
                                 "--manifest-path", str(ROOT / "rust/Cargo.toml")))
    for crate in metadata["packages"]:
        if crate["source"]:
            yield component("cargo", crate["name"], crate["version"])
    folders = output("npm", "ls", "--prefix", str(ROOT / "web"), "--omit=dev", "--all", "--parseable").split()[1:]
    for folder in folders:
        package = json.loads((pathlib.Path(folder) / "package.json").read_text())
        yield component("npm", package["name"].replace("@", "%40"), package["version"])
    (nanobind,) = re.findall(r"nanobind==(\S+)", (ROOT / "tools/wheel_requirements.txt").read_text())
    yield component("pypi", "nanobind", nanobind)


def sbom(program, folder):
    version = found("CMakeLists.txt")[1]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": {"type": "application", "name": "attnscope", "version": version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": list(components(program))}
    path = pathlib.Path(folder) / f"attnscope-{version}.cdx.json"
    path.write_text(json.dumps(bill, indent=1) + "\n")
    print(f"{path}: {len(bill['components'])} components")


def checksums(folder):
    files = sorted(path for path in pathlib.Path(folder).iterdir() if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (pathlib.Path(folder) / "SHA256SUMS").write_text("".join(lines))


def main():
    actions = {"set": set_version, "check": check, "sbom": sbom, "checksums": checksums}
    if len(sys.argv) < 2 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    actions[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}: {error.stderr}")
