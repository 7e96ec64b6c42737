"""The types of the package: mypy accepts the calls that run, and refuses calls that do not."""

import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import attnscope as asc
import typed_calls

CALLS = pathlib.Path(typed_calls.__file__)


def test_mypy_accepts_what_runs(gpt2: str, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("mypy")
    # From the root, whose configuration is strict: the check of all files has filled mypy's cache there.
    command = [sys.executable, "-m", "mypy", "--strict", str(CALLS)]
    done = subprocess.run(command, cwd=CALLS.parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (pathlib.Path(asc.__file__).parent / "py.typed").exists()  # else a user's mypy ignores the types
    tables = list(typed_calls.accepted(gpt2, tmp_path))
    assert all(len(table) for table in tables) and (tmp_path / "rows.csv").stat().st_size > 0


def test_calls_that_mypy_refuses_do_not_run(gpt2: str) -> None:
    model = asc.open(gpt2)
    refused: list[Callable[[], Any]] = [
        lambda: model.spectrum(5),  # type: ignore[arg-type]
        lambda: model.spectrum("q", layers=1.5),  # type: ignore[arg-type]
        lambda: model.similarity("q", head_matrix={0, 1}),  # type: ignore[arg-type]
        lambda: model.attention(typed_calls.TEXT, sequences=1.5),  # type: ignore[arg-type]
        lambda: model.attention({"one", "another"}),
    ]
    for call in refused:
        with pytest.raises(TypeError) as error:
            call()
        assert isinstance(error.value, asc.UsageError)
