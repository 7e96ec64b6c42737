"""python -m attnscope: the program, where no folder of programs is on the path."""

import sys

from attnscope._program import main

sys.exit(main())
