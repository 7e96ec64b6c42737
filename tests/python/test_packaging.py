"""What pip builds, and which wheels a release has."""

import pathlib
import re
import sys
from typing import Any

import pytest

if sys.version_info < (3, 11):
    pytest.skip("tomllib needs Python 3.11", allow_module_level=True)

import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]


def test_a_failed_build_names_what_it_needs() -> None:
    message = SETTINGS["scikit-build"]["messages"]["after-failure"]
    assert "./dev setup" in message and "docs/building.md" in message
    needed = (ROOT / "docs/building.md").read_text().partition("Tests, benchmarks")[0]
    for name in re.findall(r"(?:CMake|cargo|Node) [\d.]*\d", message):
        assert name in needed
    assert len(re.findall(r"(?:CMake|cargo|Node) [\d.]*\d", message)) == 3


def test_objects_are_kept_from_one_build_to_the_next() -> None:
    assert SETTINGS["scikit-build"]["build-dir"].startswith("build/")


def test_wheels_of_a_release() -> None:
    wheels = SETTINGS["cibuildwheel"]
    assert {"cp311-*", "cp312-*"} <= {*wheels["build"]}
    assert SETTINGS["scikit-build"]["wheel"]["py-api"] == "cp312"  # one wheel for 3.12 and newer
    assert wheels["manylinux-x86_64-image"] == wheels["manylinux-aarch64-image"]
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    jobs = re.search(r"^  wheels:\n(.*?)^  \w", workflow, re.MULTILINE | re.DOTALL)
    assert jobs is not None and "cibuildwheel" in jobs[1]
    assert re.search(r"os: \[ubuntu-24.04, ubuntu-24.04-arm, ", jobs[1])
