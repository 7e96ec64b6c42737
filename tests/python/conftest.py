"""Where tests find models and the command line."""

import os
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def gpt2() -> str:
    return str(ROOT / "examples/shakespeare-gpt2")


@pytest.fixture(scope="session")
def llama() -> str:
    return str(ROOT / "examples/shakespeare-llama")


@pytest.fixture(scope="session")
def program() -> str:
    """The command line that results are held against."""
    built = os.environ.get("ATTNSCOPE_PROGRAM", str(ROOT / "build/release/attnscope"))
    found = shutil.which(built)
    if found is None:
        pytest.skip(f"no program at {built}: ./dev build makes it")
    return found
