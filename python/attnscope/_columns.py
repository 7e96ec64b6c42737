"""Columns of a table as NumPy arrays: views of the library's buffers if possible."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Buffers = dict[str, Any]
"""A column as _core returns it: type, length, valid, values, offsets, children."""


def valid_of(column: Buffers) -> NDArray[np.bool_] | None:
    """Return the mask of values that are not null. None: no value is null."""
    if column["valid"] is None:
        return None
    return np.unpackbits(column["valid"], count=column["length"], bitorder="little").view(np.bool_)


def _objects(values: list[Any]) -> NDArray[np.object_]:
    """Make an object array of values that NumPy might otherwise interpret as another axis."""
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
    """Return an array per value. Inner lists of equal sizes become additional axes."""
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
    """Return the column as an array.

    Nulls have unspecified values in numeric arrays, and are None in object arrays.
    """
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
    """Return the column as an array.

    A null is NaN in a float column. Integer and boolean columns with nulls become masked arrays.
    """
    values, valid = values_of(column), valid_of(column)
    if valid is None or values.dtype == object:
        return values
    if values.dtype.kind == "f":
        return np.where(valid, values, values.dtype.type("nan"))
    masked: NDArray[Any] = np.ma.MaskedArray(values, mask=~valid)
    return masked


def pandas_array(column: Buffers) -> Any:
    """Return the column as an array of pandas. Scalar columns never have the dtype object."""
    import pandas

    values, valid = values_of(column), valid_of(column)
    if column["type"] == "text":
        return pandas.array(values, dtype="string")
    missing = None if valid is None else ~np.asarray(valid)
    if column["type"] == "boolean":
        return pandas.arrays.BooleanArray(
            values.copy(), np.zeros(len(values), dtype=bool) if missing is None else missing
        )
    if missing is not None and values.dtype.kind == "i":
        return pandas.arrays.IntegerArray(values, missing)
    if column["type"] == "null":
        return np.full(column["length"], np.nan)
    return array_of(column)
