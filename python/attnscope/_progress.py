"""Progress line in a terminal or in a notebook cell."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

BEFORE_THE_FIRST = 0.5  # seconds: shorter runs show no line


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def line(name: str, done: int, total: int, seconds: float, left: float | None) -> str:
    """Format a line such as `name:  42%|████▏     | 60/144 [00:03<00:04, 20.00/s]`."""
    share = done / total if total else 0
    eighths = int(share * 80)
    bar = "█" * (eighths // 8) + ("" if eighths == 80 else " ▏▎▍▌▋▊▉"[eighths % 8])
    rate = f"{done / seconds:.2f}/s" if done and seconds else "?/s"
    rest = _clock(left) if left is not None else "?"
    return f"{name}: {share:4.0%}|{bar:<10}| {done}/{total} [{_clock(seconds)}<{rest}, {rate}]"


def _notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class ProgressLine:
    """Shows a line during a run and removes it at the end."""

    def __init__(self, name: str, wanted: bool | None) -> None:
        self._name = name
        self._in_notebook = _notebook()
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._enabled = wanted if wanted is not None else on_terminal or self._in_notebook
        self._handle: Any = None
        self._shown = 0
        self._start = time.monotonic()

    def __enter__(self) -> Callable[..., None] | None:
        return self._show if self._enabled else None

    def _show(
        self, done: int, total: int, _bytes: int, _all_bytes: int, seconds: float, left: float | None
    ) -> None:
        if time.monotonic() - self._start < BEFORE_THE_FIRST:
            return
        text = line(self._name, done, total, seconds, left)
        if self._in_notebook:
            self._show_in_notebook(text)
        else:
            sys.stderr.write("\r" + text.ljust(self._shown))
            sys.stderr.flush()
        self._shown = len(text)

    def _show_in_notebook(self, text: str) -> None:
        from IPython import display as ipython

        display: Any = ipython.display  # IPython does not type it
        content = {"text/plain": text}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._shown:
            return
        if self._in_notebook:
            self._handle.update({"text/plain": ""}, raw=True)
        else:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
