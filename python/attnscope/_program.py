"""The program `attnscope`: the library's command line in this process."""

import signal
import sys

from attnscope import _core


def main() -> int:
    # Restore the default signal handling of a command-line program. Python had replaced it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_command_line(["attnscope", *sys.argv[1:]])
