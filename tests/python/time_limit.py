"""Run time of a program on a machine with other load."""

import contextlib
import os
import pathlib
import time

ENVIRONMENT = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
"""Environment of a process that imports this module."""


def _waits() -> dict[str, int]:
    """Return the nanoseconds that each thread of this process has waited for a processor."""
    found = {}
    for thread in pathlib.Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # the thread has ended
            found[thread.parent.name] = int(thread.read_text().split()[1])
    return found


class GivenTime:
    """Counts the seconds of this process from now on, minus the time without a processor.

    If several threads waited, the longest wait is subtracted."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._before = _waits()

    def seconds(self) -> float:
        passed = time.monotonic() - self._start
        waits = [waited - self._before.get(thread, 0) for thread, waited in _waits().items()]
        return passed - max(waits, default=0) * 1e-9
