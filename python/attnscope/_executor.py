"""Computation of work items in other processes, with any concurrent.futures executor."""

import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from attnscope._errors import Error, UsageTypeError
from attnscope._worker import ModelFiles, compute

BETWEEN_LOOKS = 0.1  # seconds
MOST_BREAKS = 3

# An interrupt from the terminal also ends the workers. After this time the run knows whether it
# has been interrupted.
UNTIL_STOP_IS_KNOWN = 0.5  # seconds


def _alike(pool: ProcessPoolExecutor) -> ProcessPoolExecutor:
    """Make a new pool like a broken one, from its private attributes: there is no public way."""
    made = vars(pool)
    more = {}
    if made.get("_max_tasks_per_child") is not None:  # Python 3.10 does not have it
        more["max_tasks_per_child"] = made["_max_tasks_per_child"]
    return ProcessPoolExecutor(
        made["_max_workers"], made["_mp_context"], made["_initializer"], made["_initargs"], **more
    )


class Elsewhere:
    """Sends items to an executor. Each calling thread waits for its own item.

    A process pool is broken as soon as one of its processes dies. A new pool replaces it for the
    rest of the run, and runs all unfinished items again.
    """

    def __init__(
        self, executor: Executor, files_of: Callable[[str], ModelFiles], threads: int
    ) -> None:
        self._executor = executor
        self._files_of = files_of
        self._threads = threads
        self._run = uuid4().hex
        self._lock = Lock()  # guards the attributes below
        self._watcher: Thread | None = None
        self._new_pools: list[ProcessPoolExecutor] = []
        self._breaks = 0  # since the last finished item
        self._over = Event()
        self._stopped: Future[None] = Future()

    def __enter__(self) -> "Elsewhere":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._watcher is not None:
            self._watcher.join()
        for pool in self._new_pools:
            pool.shutdown(wait=False, cancel_futures=True)

    def warn(self, stacklevel: int) -> None:
        """Warn if worker processes died."""
        deaths = len(self._new_pools)
        if deaths:
            warnings.warn(
                f"worker processes died {deaths} time{'s' if deaths > 1 else ''} (out of memory?): "
                "a new pool computed their items again",
                RuntimeWarning,
                stacklevel + 1,
            )

    def __call__(self, model: str, item: str, stopped: Callable[[], bool]) -> str | None:
        """Return the serialized outcomes of an item. None: the run is being stopped."""
        self._watch(stopped)
        files = self._files_of(model)
        while not self._stopped.done():
            executor = self._executor
            try:
                future: Any = executor.submit(compute, self._run, files, self._threads, item)
                if not isinstance(future, Future):  # wait() would leave the others locked
                    kind = type(future).__name__
                    raise UsageTypeError(f"executor: its submit() returned {kind}, not a Future")
                wait((future, self._stopped), return_when=FIRST_COMPLETED)
                if future.done():
                    outcome = future.result()
                    self._breaks = 0
                    if isinstance(outcome, Error):
                        raise outcome
                    if not isinstance(outcome, str):
                        kind = type(outcome).__name__
                        raise UsageTypeError(f"executor: its worker returned {kind}, not outcomes")
                    return outcome
                future.cancel()
            except BrokenProcessPool as error:
                if not isinstance(executor, ProcessPoolExecutor):
                    raise
                wait((self._stopped,), timeout=UNTIL_STOP_IS_KNOWN)
                self._replace(executor, error)
        return None

    def _watch(self, stopped: Callable[[], bool]) -> None:
        """Start one thread that checks for a stop request, on behalf of all waiting threads."""

        def look() -> None:
            while not self._over.wait(BETWEEN_LOOKS) and not stopped():
                pass
            self._stopped.set_result(None)

        with self._lock:
            if self._watcher is None:
                self._watcher = Thread(target=look, daemon=True)
                self._watcher.start()

    def _replace(self, broken: ProcessPoolExecutor, error: BrokenProcessPool) -> None:
        with self._lock:
            if self._executor is not broken or self._stopped.done():
                return
            self._breaks += 1
            if self._breaks >= MOST_BREAKS:
                raise BrokenProcessPool(
                    f"worker processes died {MOST_BREAKS} times in a row before any of them "
                    "finished an item; if they run out of memory, use fewer workers"
                ) from error
            self._executor = _alike(broken)
            self._new_pools.append(self._executor)
