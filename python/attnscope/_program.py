"""The program `attnscope`: the library's command line in this process."""

import os
import signal
import sys
from typing import Any

from attnscope import _core

SIGNALLED = 128
"""The exit code of an interrupted run is this number plus the signal."""


def main() -> int:
    # Restore the default signal handling of a command-line program. Python had replaced it.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    code = _core.run_command_line(["attnscope", *sys.argv[1:]], open_live)
    if code > SIGNALLED:
        os._exit(code)  # with PyTorch, the interpreter takes seconds to end
    return code


def open_live(*given: Any, **named: Any) -> Any:
    from attnscope.live_model import _command_line  # only with --device, because it is slow

    return _command_line.open_live(*given, **named)
