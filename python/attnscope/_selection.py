"""Selected rows and columns of a table, and their texts."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np

from numpy.typing import NDArray

from attnscope._errors import UsageError, UsageTypeError
from attnscope._plural import counted
from attnscope._rows import Row, flat, scope_of, unknown
from attnscope._values import role

Predicate = Callable[[Row], Any]
Mask = NDArray[np.bool_]

_SETS = (list, set, frozenset, range, np.ndarray)
MOST_CELL = 24  # letters of a text in a printed table


def is_mask(value: Any) -> TypeGuard[Mask | list[bool]]:
    """Return whether a value selects rows by truth values, one per row."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, (bool, np.bool_)) for one in value)
    return isinstance(value, np.ndarray) and value.dtype == np.bool_


def rows_of_mask(mask: Mask | list[bool], rows: int) -> list[int]:
    """Return the numbers of the rows that a mask selects. Nulls select none."""
    truths = np.ma.filled(mask, False) if np.ma.isMaskedArray(mask) else np.asarray(mask)
    if truths.shape != (rows,):
        raise UsageError(f"a mask of shape {truths.shape} for a table of {counted(rows, 'row')}")
    return [int(row) for row in np.flatnonzero(truths)]


def _wanted(name: str, value: Any) -> Any:
    """Return the values that a column may have, as a list; or one value."""
    if isinstance(value, (*_SETS, tuple)) and not (name == "shape" and isinstance(value, tuple)):
        return [_wanted(name, one) for one in value]
    return role(value) if name == "matrix" and isinstance(value, str) else value


def test_of(predicate: Predicate | None, where: Mapping[str, Any], names: list[str]) -> Predicate:
    """Return a function that tests a row."""
    if predicate is not None and not callable(predicate):
        kind = type(predicate).__name__
        raise UsageTypeError(
            f"filter: expected a function of a row or columns as keywords, such as filter(layer=0), not {kind}"
        )
    for name in where:
        if name not in names:
            raise unknown(name, names)
    wanted = {name: _wanted(name, value) for name, value in where.items()}

    def matches(row: Row) -> bool:
        for name, value in wanted.items():
            if row[name] not in value if isinstance(value, list) else row[name] != value:
                return False
        return predicate is None or bool(predicate(row))

    return matches


def _parts(column: str, heads: list[str]) -> list[int | None]:
    """Return the CSV columns of a table's column: one, or those of a list's entries."""
    if column in heads:
        return [heads.index(column)]
    start = len(column) + 1
    found: list[int | None] = [
        at for at, head in enumerate(heads)
        if head.startswith(f"{column}_") and head[start : start + 1].isdecimal()
    ]
    return found or [None]


def csv_of(text: str, columns: list[str], rows: int) -> str:
    """Select columns of a CSV text, which may have more rows for what was skipped."""
    heads, *lines = csv.reader(io.StringIO(text, newline=""))
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    scoped = [name for name in columns if name == "scope" and name not in heads]
    places = [(name, at) for name in columns for at in _parts(name, heads)]
    writer.writerow([name if at is None else heads[at] for name, at in places])
    for line in lines[:rows]:
        row = {name: value or None for name, value in zip(heads, line, strict=True)}
        missing = scope_of(row) if scoped else ""
        writer.writerow(
            [(missing if name == "scope" else "") if at is None else line[at] for name, at in places]
        )
    return out.getvalue()


def json_of(text: str, names: list[str]) -> str:
    """Select columns of a JSON report. Its rows become flat."""
    report = json.loads(text)
    report["rows"] = [flat(row, names) for row in report["rows"]]
    return json.dumps(report, ensure_ascii=False, indent=1) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        value = "|".join(str(one.get("text")) for one in value)  # tokens
    if isinstance(value, (list, np.ndarray)):
        return f"{len(value)} values"
    text = str(value).replace("\n", " ")
    return text if len(text) <= MOST_CELL else text[: MOST_CELL - 1] + "…"


def lines_of(rows: Iterator[Row], names: list[str]) -> list[str]:
    """Print rows as aligned columns."""
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(names))]
    return ["  ".join(map(str.rjust, line, widths)).rstrip() for line in cells]
