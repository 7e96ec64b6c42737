"""The program `attnscope`: the command line of the library, in this process."""

import signal
import sys

from attnscope import _core


def main() -> int:
    # As a program that a shell started: Python had its own answers to these.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_command_line(["attnscope", *sys.argv[1:]])
