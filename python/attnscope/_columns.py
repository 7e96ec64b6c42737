"""Columns of a table as NumPy arrays: views of the library's own buffers wherever they can be."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Buffers = dict[str, Any]
"""What _core gives of a column: type, length, valid, values, offsets, children."""


def valid_of(column: Buffers) -> NDArray[np.bool_] | None:
    """Which values are there; None: all."""
    if column["valid"] is None:
        return None
    return np.unpackbits(column["valid"], count=column["length"], bitorder="little").view(np.bool_)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    """Of values that NumPy might take for one more axis."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _texts(column: Buffers) -> list[str]:
    offsets = column["offsets"].tolist()
    whole: bytes = column["values"]
    return [whole[begin:end].decode() for begin, end in zip(offsets, offsets[1:], strict=False)]


def _same_size(offsets: NDArray[np.int64]) -> int | None:
    sizes = np.diff(offsets)
    return int(sizes[0]) if len(sizes) and (sizes == sizes[0]).all() else None


def _lists(column: Buffers) -> list[Any]:
    """An array for each value. Inner lists of equal sizes are its further axes."""
    child = column["children"]["item"]
    offsets = column["offsets"]
    shape: tuple[int, ...] = ()
    scale = 1
    while child["type"] == "list":
        size = _same_size(child["offsets"])
        if size is None:
            items = array_of(child)
            return [items[a:b] for a, b in zip(offsets, offsets[1:], strict=False)]
        shape, scale, child = (*shape, size), scale * size, child["children"]["item"]
    items = array_of(child)
    return [
        items[begin * scale : end * scale].reshape(-1, *shape)
        for begin, end in zip(offsets, offsets[1:], strict=False)
    ]


def _records(column: Buffers) -> list[Any]:
    fields = {name: array_of(child) for name, child in column["children"].items()}
    return [{name: values[at] for name, values in fields.items()} for at in range(column["length"])]


def values_of(column: Buffers) -> NDArray[Any]:
    """The column as an array, its nulls filled with whatever the buffer holds there; None among
    objects."""
    kind = column["type"]
    if kind == "number":
        numbers: NDArray[Any] = column["values"]
        return numbers
    if kind == "boolean":
        bits = np.unpackbits(column["values"], count=column["length"], bitorder="little")
        return bits.view(np.bool_)
    if kind == "null":
        return np.full(column["length"], None)
    makers = {"text": _texts, "list": _lists, "record": _records}
    array = _objects(makers[kind](column))
    valid = valid_of(column)
    if valid is not None:
        array[~valid] = None
    return array


def array_of(column: Buffers) -> NDArray[Any]:
    """The column as an array: NaN where a real number is null, and a masked array where a whole
    number or a truth is."""
    values, valid = values_of(column), valid_of(column)
    if valid is None or values.dtype == object:
        return values
    if values.dtype.kind == "f":
        return np.where(valid, values, values.dtype.type("nan"))
    masked: NDArray[Any] = np.ma.MaskedArray(values, mask=~valid)
    return masked
