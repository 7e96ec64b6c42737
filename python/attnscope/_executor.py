"""Work items in other processes, through any executor of concurrent.futures."""

import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from attnscope._errors import Error
from attnscope._worker import ModelFiles, compute

BETWEEN_LOOKS = 0.1  # seconds
MOST_BREAKS = 3

# An interrupt of the terminal ends workers too: it is known by then that the run is to stop.
UNTIL_STOP_IS_KNOWN = 0.5  # seconds


def _alike(pool: ProcessPoolExecutor) -> ProcessPoolExecutor:
    """A new pool in place of one that is broken, which tells nobody how it was made."""
    made = vars(pool)
    more = {}
    if made.get("_max_tasks_per_child") is not None:  # Python 3.10 has none
        more["max_tasks_per_child"] = made["_max_tasks_per_child"]
    return ProcessPoolExecutor(
        made["_max_workers"], made["_mp_context"], made["_initializer"], made["_initargs"], **more
    )


class Elsewhere:
    """Sends items to an executor, and waits for each on the thread that asks for it.

    A pool of processes is broken as soon as one of them dies. A new one takes its place for the
    rest of the run, where all that was not finished runs again.
    """

    def __init__(
        self, executor: Executor, files_of: Callable[[str], ModelFiles], threads: int
    ) -> None:
        self._executor = executor
        self._files_of = files_of
        self._threads = threads
        self._run = uuid4().hex
        self._lock = Lock()  # guards what follows
        self._watcher: Thread | None = None
        self._new_pools: list[ProcessPoolExecutor] = []
        self._breaks = 0  # since an item was finished
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
        """Says so where processes have died."""
        deaths = len(self._new_pools)
        if deaths:
            warnings.warn(
                f"worker processes died {deaths} time{'s' if deaths > 1 else ''} (for want of "
                "memory?): what they were at was computed again, by a new pool",
                RuntimeWarning,
                stacklevel + 1,
            )

    def __call__(self, model: str, item: str, stopped: Callable[[], bool]) -> str | None:
        """The text of an item's outcomes; None where the run is to stop."""
        self._watch(stopped)
        files = self._files_of(model)
        while not self._stopped.done():
            executor = self._executor
            try:
                future: Any = executor.submit(compute, self._run, files, self._threads, item)
                if not isinstance(future, Future):  # wait() would keep the lock of the others
                    kind = type(future).__name__
                    raise TypeError(f"executor: its submit() gave {kind}, not a Future")
                wait((future, self._stopped), return_when=FIRST_COMPLETED)
                if future.done():
                    outcome = future.result()
                    self._breaks = 0
                    if isinstance(outcome, Error):
                        raise outcome
                    if not isinstance(outcome, str):
                        kind = type(outcome).__name__
                        raise TypeError(f"executor: its worker gave {kind}, not outcomes")
                    return outcome
                future.cancel()
            except BrokenProcessPool as error:
                if not isinstance(executor, ProcessPoolExecutor):
                    raise
                wait((self._stopped,), timeout=UNTIL_STOP_IS_KNOWN)
                self._replace(executor, error)
        return None

    def _watch(self, stopped: Callable[[], bool]) -> None:
        """One thread looks whether the run is to stop, for all that wait."""

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
                    "finished an item; where the system ends them for want of memory, use fewer "
                    "workers"
                ) from error
            self._executor = _alike(broken)
            self._new_pools.append(self._executor)
