"""A short run of the fuzzer with fixed calls, in a separate process."""

import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.long


def test_no_call_ends_the_process() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/fuzz_python.py",
         "--seed", "1", "--calls", "150", "--seconds", "3600"],
        capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 1: 150 calls, 0 faults" in done.stdout
