"""Run a command and write its seconds and peak memory (MiB) to RESULT: run_once.py RESULT COMMAND...

This is a small separate process, because a child's peak memory starts at the peak of its parent.
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
