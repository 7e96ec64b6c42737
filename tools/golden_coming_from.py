#!/usr/bin/env python3
"""Evaluate the expressions of docs/coming-from.md for the other libraries, and write their values.

    pip install transformer-lens bertviz weightwatcher
    python tools/golden_coming_from.py [--check]

Writes tests/python/coming_from.json, with which tests/python/test_coming_from.py compares the expressions for attnscope.
Of arrays, at most 200 evenly spaced numbers are written. With --check, writes nothing, and exits with 1 if values differ.
"""

import json
import pathlib
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/coming-from.md"
GOLDEN = ROOT / "tests/python/coming_from.json"
MOST = 200  # written numbers of an array
THEIRS, OURS = 0, 1  # the blocks of a section

ROW = re.compile(r"^\| ([^|`]+) \| `([^`|]+)` \| `([^`|]+)` \|$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Row:
    """What two expressions return."""

    what: str
    theirs: str
    ours: str


@dataclass
class Section:
    """One library: the code that defines the names of its expressions and of ours, and the rows of its table."""

    title: str
    blocks: list[str]
    rows: list[Row]


def sections() -> list[Section]:
    """Return the sections of the page."""
    found = []
    for part in PAGE.read_text().split("\n## ")[1:]:
        rows = [Row(*cells) for cells in ROW.findall(part)]
        assert len(rows) == len(re.findall(r"^\|", part, re.MULTILINE)) - 2, "a row is not understood"
        found.append(Section(part.partition("\n")[0], BLOCK.findall(part), rows))
    return found


def names_of(section: Section, side: int) -> dict[str, Any]:
    """Run the code of one side. Return the names that it defines."""
    names: dict[str, Any] = {"np": np}
    exec(section.blocks[side], names)
    return names


def digest(value: Any) -> dict[str, Any]:
    """Return texts unchanged, and of an array its shape and evenly spaced numbers."""
    if isinstance(value, str) or isinstance(value, list) and value and isinstance(value[0], str):
        return {"shape": None, "values": value}
    array = np.asarray(value.detach() if hasattr(value, "detach") else value, dtype=np.float64)
    step = max(1, -(-array.size // MOST))
    return {"shape": list(array.shape), "values": array.ravel()[::step].tolist()}


def values_of_theirs() -> dict[str, Any]:
    import torch

    torch.set_grad_enabled(False)
    found = {}
    for section in sections():
        names = names_of(section, THEIRS)
        found[section.title] = {row.what: digest(eval(row.theirs, names)) for row in section.rows}
    return found


def main() -> None:
    found = values_of_theirs()
    if "--check" not in sys.argv:
        GOLDEN.write_text(json.dumps(found, ensure_ascii=False) + "\n")
        return
    expected = json.loads(GOLDEN.read_text())
    assert [*found] == [*expected]
    for title, values in found.items():
        assert [*values] == [*expected[title]], title
        for what, value in values.items():
            known = expected[title][what]
            if value["shape"] is None:
                assert value == known, what
            else:
                np.testing.assert_allclose(value["values"], known["values"], rtol=1e-4, atol=1e-5, err_msg=what)


if __name__ == "__main__":
    main()
