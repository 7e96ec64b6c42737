"""How long a program takes on a machine that others use too."""

import contextlib
import os
import pathlib
import time

ENVIRONMENT = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
"""Of a process that imports this."""


def _waits() -> dict[str, int]:
    """For how many nanoseconds each thread of this process has waited for a processor."""
    found = {}
    for thread in pathlib.Path("/proc/self/task").glob("*/schedstat"):
        with contextlib.suppress(OSError):  # of a thread that has ended
            found[thread.parent.name] = int(thread.read_text().split()[1])
    return found


class GivenTime:
    """Counts the seconds of this process from now on, less those for which it had no processor: of
    several threads that waited for one, the one that did so longest counts."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._before = _waits()

    def seconds(self) -> float:
        passed = time.monotonic() - self._start
        waits = [waited - self._before.get(thread, 0) for thread, waited in _waits().items()]
        return passed - max(waits, default=0) * 1e-9
