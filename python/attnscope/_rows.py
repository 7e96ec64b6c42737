"""Rows of a table as flat dicts, with the names of its columns."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from attnscope._errors import UsageKeyError
from attnscope._guidance import nearest

SHAPE = "shape"
"""The one field that is a tuple in a row, and two columns: shape_0 and shape_1."""

MOST_NEAR = 4  # names in an error


def unknown(name: object, names: Iterable[str]) -> UsageKeyError:
    """Return the error for a name that is none of these, with the names that begin with it."""
    known = list(names)
    near = [one for one in known if one.startswith(f"{name}_")]
    if near:
        more = ", …" if len(near) > MOST_NEAR else ""
        return UsageKeyError(f"{name}: use {' or '.join(map(repr, near[:MOST_NEAR]))}{more}")
    meant = nearest(name, known) if isinstance(name, str) else None
    guess = f" (did you mean '{meant}'?)" if meant else ""
    return UsageKeyError(f"{name}{guess}; columns: {', '.join(known)}")


class Row(dict[str, Any]):
    """A row: a dict whose keys are the names of the table's columns."""

    def __missing__(self, name: object) -> Any:
        raise unknown(name, self)


_SCOPES = {"head": "head", "matrix": "matrix", "circuit": "matrix", "layer": "layer"}


def scope_of(row: Mapping[str, Any]) -> str:
    """Return what the row describes, as in the column `scope`."""
    for name, scope in _SCOPES.items():
        if row.get(name) is not None:
            return scope
    return "model"


def _leaves(record: Mapping[str, Any], outer: str) -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{outer}{name}_")
        else:
            yield f"{outer}{name}", value


def names_of(columns: Iterable[str]) -> list[str]:
    """Return the keys of rows: the columns, with one key for the shape."""
    return list(dict.fromkeys(SHAPE if of_shape(name) else name for name in columns))


def of_shape(column: str) -> bool:
    return column in (f"{SHAPE}_0", f"{SHAPE}_1")


def flat(record: Mapping[str, Any], names: Iterable[str]) -> Row:
    """Make a row with these keys from a record of the library, which may have nested records."""
    leaves = dict(_leaves(record, ""))
    shape = leaves.get(SHAPE)
    if isinstance(shape, np.ndarray):
        leaves[SHAPE] = tuple(shape.tolist())
    if "scope" not in leaves:
        leaves["scope"] = scope_of(leaves)
    return Row((name, leaves.get(name)) for name in names)


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal. NaN equals NaN."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _equal_arrays(np.asarray(one), np.asarray(other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return list(one) == list(other) and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other) or (one != one and other != other)


def _equal_arrays(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if object in (one.dtype, other.dtype):
        return all(map(equal, one.ravel().tolist(), other.ravel().tolist()))
    is_float = "f" in (one.dtype.kind, other.dtype.kind)
    return bool(np.array_equal(one, other, equal_nan=is_float))
