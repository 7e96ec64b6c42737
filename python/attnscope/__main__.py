"""Run the program with `python -m attnscope`, for environments without `attnscope` on the PATH."""

import sys

from attnscope._program import main

sys.exit(main())
