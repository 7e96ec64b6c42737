"""An interrupt ends a run within a second, and other threads run during a run."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import attnscope as asc
from time_limit import ENVIRONMENT


def test_keyboard_interrupt() -> None:
    """Use a separate process, so that the interrupt does not reach the test runner."""
    code = textwrap.dedent("""
        import os, signal, threading, time
        import numpy
        import attnscope
        from time_limit import GivenTime
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        array = numpy.random.default_rng(1).standard_normal((6000, 6000))
        sent = []
        def interrupt():
            time.sleep(1)
            sent.append(GivenTime())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            attnscope.spectrum(array, threads=1)
        except KeyboardInterrupt:
            print(sent[0].seconds(), flush=True)
            os._exit(0)
        os._exit(1)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=600, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1


def test_exception_in_progress_ends_the_run(gpt2: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from attnscope import _progress

    class Failed(Exception):
        pass

    def fail(*_: object) -> None:
        raise Failed

    monkeypatch.setattr(_progress.ProgressLine, "_show", fail)
    model = asc.open(gpt2)
    with pytest.raises(Failed):
        for _ in range(5):  # a short run may end before it reports progress
            model.attention(induction=True, sequences=300, progress=True)


def test_other_threads_run_during_a_run() -> None:
    array = np.random.default_rng(1).standard_normal((1500, 1500))
    counted = 0
    over = threading.Event()

    def count() -> None:
        nonlocal counted
        while not over.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    asc.spectrum(array, threads=1)
    over.set()
    thread.join()
    assert counted > 5


def test_threads_share_a_model(gpt2: str) -> None:
    model = asc.open(gpt2)
    expected = model.spectrum(matrix="q").to_json()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: model.spectrum(matrix="q").to_json(), range(8)))
    assert found == [expected] * 8


def test_forked_process_can_run(gpt2: str) -> None:
    model = asc.open(gpt2)
    expected = model.spectrum(matrix="q").to_json()
    child = os.fork()
    if child == 0:
        os._exit(0 if model.spectrum(matrix="q").to_json() == expected else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert signal.getsignal(signal.SIGINT) is not None
