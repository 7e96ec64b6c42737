"""Fixtures: models and the command-line program."""

import os
import pathlib
import shutil
import signal

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def pytest_configure() -> None:
    """Let tests interrupt runs: a job in the background ignores SIGINT, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def gpt2() -> str:
    return str(ROOT / "examples/shakespeare-gpt2")


@pytest.fixture(scope="session")
def llama() -> str:
    return str(ROOT / "examples/shakespeare-llama")


@pytest.fixture(scope="session")
def program() -> str:
    """Return the path of the program whose results are the expected ones."""
    built = os.environ.get("ATTNSCOPE_PROGRAM", str(ROOT / "build/release/attnscope"))
    found = shutil.which(built)
    if found is None:
        pytest.skip(f"no program at {built}: run ./dev build")
    return found
