"""How fuzz_python.py makes calls, and which results are errors."""

import contextlib
import gc
import os
import signal
import threading
import traceback
import warnings

import attnscope as asc
from fuzz_python_arguments import Asked
from fuzz_python_values import Hostile

EXPECTED = (asc.Error, TypeError, ValueError, KeyError, IndexError, OverflowError, MemoryError, OSError, RecursionError, BufferError,
            ImportError, Hostile, KeyboardInterrupt)


class Caller(Asked):
    def __init__(self, root):
        super().__init__(root)
        signal.signal(signal.SIGALRM, self._raise)

    @staticmethod
    def _raise(*_):
        raise Hostile

    def plan(self, chance):
        """Return a call without arguments, and its description."""
        kinds = [self.command] * 10 + [self.array, self.maps, self.opening, self.opening, self.core, self.core, self.table]
        call, text = chance.choice(kinds)(chance)
        if chance.random() < 0.08:
            inner, delay = call, chance.choice([1e-4, 1e-3, 1e-2, 0.1])
            call, text = lambda: self._interrupted(inner, delay), f"interrupted after {delay}: {text}"
        elif chance.random() < 0.04:
            inside = call
            call, text = lambda: self._in_threads(inside), f"in threads: {text}"
        elif chance.random() < 0.02:
            child = call
            call, text = lambda: self._in_a_child(child), f"in a child: {text}"
        return call, text

    def make(self, call, _):
        """Return the error of a call, or None."""
        try:
            with warnings.catch_warnings(), contextlib.suppress(StopIteration):
                warnings.simplefilter("ignore")
                call()
        except EXPECTED as error:
            text = self._said(error)
            if isinstance(error, asc.Error) and "\n" in text.strip():
                return f"message of more than one line: {text!r}"
            if "incompatible function arguments" in text and "in core" not in text:
                return f"message about internals: {text!r}"
        except BaseException:
            return traceback.format_exc()[-1500:]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            if _.random() < 0.05:
                gc.collect()
        return None

    @staticmethod
    def _said(error):
        try:
            return str(error)
        except Exception:  # str() of strange objects
            return ""

    # ---- How calls are made -----------------------------------------------------------------------

    @staticmethod
    def _interrupted(call, delay):
        signal.setitimer(signal.ITIMER_REAL, delay)
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @staticmethod
    def _in_threads(call):
        def quiet():
            with contextlib.suppress(BaseException):
                call()

        threads = [threading.Thread(target=quiet) for _ in range(3)]
        for thread in threads:
            thread.start()
        call()
        for thread in threads:
            thread.join()

    @staticmethod
    def _in_a_child(call):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                call()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            raise SystemError(f"the child ended with status {status}")
