"""Work items in other processes, through any executor of concurrent.futures."""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, wait
from functools import lru_cache

from attnscope import _core

BETWEEN_LOOKS = 0.1  # seconds

ModelFiles = tuple[str, str]
"""The path of a model, and that of its layout file or ''."""


@lru_cache(maxsize=8)
def _opened(path: str, layout: str) -> _core.OpenModel:
    """Opened by this process when its first item of the model comes, and kept."""
    return _core.open_model(path, layout, False, None)


def compute(models: Sequence[ModelFiles], threads: int, item: str) -> str:
    """What a worker runs: the outcomes of one item, as a text."""
    return _core.compute_item(item, [_opened(*files) for files in models], threads)


class Elsewhere:
    """Sends items to an executor, and waits for each on the thread that asks for it."""

    def __init__(self, executor: Executor, models: Sequence[ModelFiles], threads: int) -> None:
        self._executor = executor
        self._models = models
        self._threads = threads

    def __call__(self, item: str, stopped: Callable[[], bool]) -> str:
        future = self._executor.submit(compute, self._models, self._threads, item)
        while not wait([future], timeout=BETWEEN_LOOKS).done:
            if stopped():
                future.cancel()
                raise CancelledError
        return future.result()
