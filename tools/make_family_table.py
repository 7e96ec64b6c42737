#!/usr/bin/env python3
"""Write the table of families into docs/models.md and docs/formats.md, between its two marker comments.

    python3 tools/make_family_table.py BINARY [--check]

The table is the output of `attnscope explain --families`. --check only checks that the files contain it.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("docs/models.md", "docs/formats.md")
PLACE = re.compile(r"(<!-- families: made by tools/make_family_table\.py -->\n\n).*?(\n<!-- end of families -->)", re.DOTALL)


def main() -> int:
    binary, *options = sys.argv[1:]
    table = subprocess.run([binary, "explain", "--families"], check=True, capture_output=True, text=True).stdout
    old = []
    for name in FILES:
        path = ROOT / name
        text = path.read_text()
        made, count = PLACE.subn(lambda found: found.group(1) + table + found.group(2), text)
        if count != 1:
            raise SystemExit(f"{name} has no markers for the table of families")
        if made == text:
            continue
        old.append(name)
        if "--check" not in options:
            path.write_text(made)
    if old and "--check" in options:
        print("outdated table of families in " + ", ".join(old) + ": run tools/make_family_table.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
