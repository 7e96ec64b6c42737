"""Runs a command: run_once.py RESULT COMMAND...; seconds and the most memory at once (MiB) go to RESULT.

A process of its own, and a small one: a process's peak begins with that of the one which starts it.
"""

import os
import sys
import time

start = time.monotonic()
process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
with open(sys.argv[1], "w") as result:
    result.write(f"{time.monotonic() - start} {usage.ru_maxrss / 1024}")
sys.exit(os.waitstatus_to_exitcode(status) != 0)
