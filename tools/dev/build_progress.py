#!/usr/bin/env python3
"""Run a build and show its progress: build_progress.py LOG COMMAND...

All output of the command is written to LOG. A terminal shows one line with the last finished step, such as
"[37/71] Building CXX object ...". If the output is a pipe, the line is printed once per minute. Exits with the command's exit code.
"""

import os
import re
import selectors
import shutil
import subprocess
import sys
import time

SECONDS_BETWEEN_LINES = 60  # if the output is a pipe
STEP = re.compile(rb"\[\d+/\d+\] .*")


class Display:
    def __init__(self, stream):
        self.stream = stream
        self.terminal = stream.isatty()
        self.start = self.printed = time.monotonic()

    def show(self, step):
        if self.terminal:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"\r\033[K{step[:width]}")
        elif time.monotonic() - self.printed >= SECONDS_BETWEEN_LINES:
            self.printed = time.monotonic()
            minutes = round((self.printed - self.start) / 60)
            self.stream.write(f"   {step.split(' ')[0]} after {minutes} min\n")
        self.stream.flush()

    def clear(self):
        if self.terminal:
            self.stream.write("\r\033[K")
            self.stream.flush()


def main():
    log_path, *command = sys.argv[1:]
    display = Display(sys.stdout)
    step = "[0/?] starting"
    with open(log_path, "wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as build:
        pipe = build.stdout.fileno()
        os.set_blocking(pipe, False)
        selector = selectors.DefaultSelector()
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            if selector.select(timeout=1):
                output = os.read(pipe, 1 << 16)
                if not output:
                    break
                log.write(output)
                log.flush()
                if steps := STEP.findall(output):
                    step = steps[-1].decode(errors="replace")
            display.show(step)  # also during one long step
        display.clear()
        return build.wait()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
