"""Values of a table as an array by layer and head, and as named numbers."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnscope import _describe
from attnscope._errors import UsageError, UsageTypeError
from attnscope._rows import of_shape

if TYPE_CHECKING:
    from attnscope._rows import Row
    from attnscope._table import Table

_IN_CELL = ("model", "stack", "matrix", "circuit", "expert", "component", "sequence")
"""Columns that can distinguish rows of one layer and head."""

_OF_ONE_ROW = (
    "scope",
    "kind",
    "layer",
    "receiver_layer",
    "head",
    "receiver_head",
    "direction",
    "singular_vector",
    "sign",
)
"""Columns that state what a row describes, in commands whose rows begin in other ways."""


def _number(row: "Row", name: str) -> float:
    value = row[name]
    if value is None:
        return math.nan
    if not isinstance(value, (bool, int, float)):
        raise UsageTypeError(f"{name}: expected a column of numbers")
    return float(value)


def _hint(rows: list["Row"]) -> str:
    """Return how to select one of the rows of a cell."""
    for name in _IN_CELL:
        values = list(dict.fromkeys(row.get(name) for row in rows))
        if len(values) > 1:
            first = next(value for value in values if value is not None)
            return f"select one with table.filter({name}={first!r})"
    return "select rows with table.filter(...)"


def _patched(table: "Table", name: str) -> NDArray[np.float64]:
    """Return one number of each patched activation as an array (layers, [heads,] positions).

    Without the last axis if all positions are patched together.
    """
    rows = list(table._whole_rows())
    if len({row["model"] for row in rows}) > 1 or len({row["component"] for row in rows}) != 1:
        raise UsageError(f"{name}: rows of several components: {_hint(rows)}")
    places = list(dict.fromkeys((row["position"], row["token"]) for row in rows))
    heads = max(-1 if row["head"] is None else row["head"] for row in rows) + 1
    layers = max(row["layer"] for row in rows) + 1
    known = table.models[0].get("layers") if table.models else None
    out = np.full((max(layers, known or 0), max(heads, 1), len(places)), np.nan)
    for row in rows:
        place = places.index((row["position"], row["token"]))
        out[row["layer"], row["head"] or 0, place] = _number(row, name)
    together = places == [(None, None)]
    return out.squeeze(tuple(([] if heads else [1]) + ([2] if together else [])))


def grid(table: "Table", name: str) -> NDArray[np.float64]:
    """Return one number of each head as an array (layers, heads)."""
    if table._report.kind == "ablate_patching":
        return _patched(table, name)
    cells: dict[tuple[int, int], Row] = {}
    for row in table._whole_rows():
        if row.get("head") is None or row.get("layer") is None:
            continue
        cell = (row["layer"], row["head"])
        if cell in cells:
            raise UsageError(
                f"{name}: several rows of layer {cell[0]}, head {cell[1]}: {_hint([cells[cell], row])}"
            )
        cells[cell] = row
    if not cells:
        raise UsageError(f"{name}: the table has no rows of heads: table[{name!r}] is its column")
    layers = [model.get("layers") for model in table.models]
    known = [number for number in layers if isinstance(number, int)]
    shape = [max(layer for layer, _ in cells) + 1, max(head for _, head in cells) + 1]
    if len(known) == 1:
        shape[0] = max(shape[0], known[0])
    out = np.full(shape, np.nan)
    for cell, row in cells.items():
        out[cell] = _number(row, name)
    return out


def _place(name: str, value: Any) -> str:
    return f"{name}_{value}" if isinstance(value, int) else str(value)


def scalars(table: "Table") -> dict[str, float]:
    """Return every number of the table under a name such as attention/entropy/layer_0/head_3."""
    kinds = _describe.command(table.command)["kinds"]
    own = [kind for kind in kinds if kind["name"] == table._report.kind]
    fields: list[dict[str, Any]] = own[0]["fields"] if own else []
    places = [field["name"] for field in fields if field["is_place"]]
    own_names = [field["name"] for field in fields]
    others = [name for name in (*_IN_CELL, *_OF_ONE_ROW) if name in own_names]
    places += [name for name in others if name not in places]
    # The head comes last: `head` is before `matrix` in some rows.
    places.sort(key=lambda name: name in ("head", "receiver_head"))
    rows = list(table._whole_rows())
    if len({row.get("model") for row in rows}) < 2:
        places = [name for name in places if name != "model"]
    columns = [
        name
        for name in table.columns
        if name not in (*places, "model") and not of_shape(name)
        and table._column(name)["type"] in ("number", "boolean")
    ]
    out: dict[str, float] = {}
    for row in rows:
        # A row of `ablate` also states that its component is a head.
        path = [
            _place(name, row[name])
            for name in places
            if row.get(name) is not None and row[name] != "head"
        ]
        for name in columns:
            if row[name] is None:
                continue
            called = "/".join([table.command, name, *path])
            if called in out:
                raise UsageError(f"{called}: several rows: select some with table.filter(...)")
            out[called] = float(row[name])
    return out
