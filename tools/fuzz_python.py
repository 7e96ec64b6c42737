#!/usr/bin/env python3
"""Call the Python package with arbitrary arguments, and check that no call ends the process.

    python tools/fuzz_python.py [--seconds 60] [--seed N] [--calls N] [--only NUMBER]

The seed and the number of a call determine it completely. Calls run one after the other in a child process, which announces each
call first. If the child dies or a call does not return, the call is printed with the command that repeats it, and a new child
continues after it. Exceptions with incomprehensible messages are errors too. Needs the built package and NumPy. Exits with 1 if
there were errors.
"""

import argparse
import faulthandler
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_MEMORY = 6 << 30  # per process: larger requests are refused, and that must not end the process either
MOST_FILE = 64 << 20
MOST_SECONDS = 120  # per call, on a busy machine
CALLS_A_PROCESS = 400  # also tests that the process can exit


def calls(seed, first, last, log):
    """Make the calls, in the child process."""
    sys.path.insert(0, str(ROOT / "tools"))
    from fuzz_python_calls import Caller

    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE, MOST_FILE))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    faulthandler.enable()
    caller = Caller(ROOT)
    for number in range(first, last):
        chance = random.Random(f"{seed}/{number}")
        call, text = caller.plan(chance)
        os.pwrite(log, f"{number}\n{text}\n\0".encode(errors="backslashreplace")[:4000], 0)
        fault = caller.make(call, chance)
        if fault:
            print(f"call {number}: {text[:300]}\n  {fault}", flush=True)
    os.pwrite(log, f"{last}\nthe end of the process\n\0".encode(), 0)


class Process:
    """A child process that makes calls of the seed, starting at a number."""

    def __init__(self, seed, first, last, folder):
        self.log = folder / "log"
        self.log.write_bytes(b"")
        self.faults, self.errors = ((folder / name).open("w+") for name in ("faults", "errors"))
        own = folder / "calls"
        own.mkdir(exist_ok=True)
        descriptor = os.open(self.log, os.O_RDWR)
        environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub"), "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--process", str(seed), str(first), str(last), str(descriptor)], cwd=own, env=environment,
            pass_fds=[descriptor], stdin=subprocess.DEVNULL, stdout=self.faults, stderr=self.errors, start_new_session=True)
        os.close(descriptor)

    def at(self):
        """Return the number and the text of the current call."""
        number, _, text = self.log.read_bytes().partition(b"\0")[0].decode(errors="replace").partition("\n")
        return int(number or -1), text.strip()

    def watch(self, until):
        """Wait for the end of the process. Return how it ended, or None."""
        number, since = -1, time.monotonic()
        while self.process.poll() is None:
            time.sleep(0.05)
            now = self.at()[0]
            if now != number:
                number, since = now, time.monotonic()
            if time.monotonic() > until:
                self.kill()
                return None
            if time.monotonic() - since > MOST_SECONDS:
                self.process.send_signal(signal.SIGABRT)  # faulthandler prints the traceback
                time.sleep(1)
                self.kill()
                return f"does not return within {MOST_SECONDS} s"
        self.kill()  # child processes
        code = self.process.returncode
        return None if code == 0 else f"ends the process: {signal.Signals(-code).name if code < 0 else f'exit code {code}'}"

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def printed(self, ended):
        """Return the errors that the process found. If it died, return its last output."""
        text = ""
        for file in (self.faults, self.errors) if ended else (self.faults,):
            file.seek(0)
            text += file.read()
        return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    parser.add_argument("--calls", type=int, default=10**9)
    parser.add_argument("--only", type=int)
    parser.add_argument("--process", nargs=4, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.process:
        return calls(*given.process)
    first, end = (0, given.calls) if given.only is None else (given.only, given.only + 1)
    until = time.monotonic() + given.seconds
    faults, number = 0, first
    while number < end and time.monotonic() < until:
        with tempfile.TemporaryDirectory(prefix="fuzz-python-") as name:
            process = Process(given.seed, number, min(number + CALLS_A_PROCESS, end), pathlib.Path(name))
            ended = process.watch(until)
            at, text = process.at()
            printed = process.printed(ended)
        faults += ("\n" + printed).count("\ncall ")
        if printed:
            print(printed[-6000:], flush=True)
        if ended:
            faults += 1
            print(f"{ended}: call {at} (--seed {given.seed} --only {at}): {text[:1500]}", flush=True)
        if ended and at < number:
            sys.exit("the calls cannot be made: error in the fuzzer itself")
        number = at + 1 if ended else max(at, number)
    print(f"seed {given.seed}: {number - first} calls, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
