"""Measures of arrays that are in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope import _core, _describe
from attnscope._run import table_of
from attnscope._table import Table
from attnscope._values import text_of

OF_ARRAYS = ("energy", "rank", "values", "threads")
"""Keywords of `spectrum` that have a meaning for an array."""


def is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def readable(array: Any) -> Any:
    """What DLPack gives without complaint, and in this machine's memory: the array itself, unless
    it needs a copy for that."""
    if hasattr(array, "detach"):
        array = array.detach()
        return array if array.device.type == "cpu" else array.cpu()
    if isinstance(array, np.ndarray):
        if not array.dtype.isnative or any(step < 0 for step in array.strides):
            return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return array


def _real(array: Any) -> Any:
    """Real numbers, where NumPy's are whole ones."""
    if isinstance(array, np.ndarray) and array.dtype.kind in "iub":
        return array.astype(np.float64)
    return readable(array)


def spectrum_of(array: Any, given: dict[str, Any]) -> Table:
    """The spectrum of one matrix. `given`: keywords of the command."""
    arguments = []
    for name, parameter in _describe.parameters("spectrum").items():
        text = None if name == "models" else text_of(parameter, given.get(name))
        if text is None:
            continue
        if name not in OF_ARRAYS:
            raise TypeError(f"{name} has no meaning for an array")
        arguments.append((name, text))
    return table_of(_core.spectrum_of(_real(array), arguments))


def attention_rank(maps: Any, energy: float = 0.9) -> NDArray[np.int64]:
    """How many singular values hold the share `energy` of the sum of their squares, of each map.

    `maps`: (..., T, T), of any library that speaks DLPack. The result has the shape (...).
    """
    if not 0 < energy < 1:
        raise ValueError(f"energy: a share between 0 and 1 is needed, not {energy!r}")
    if not is_array(maps):
        raise TypeError(f"maps: an array is needed, not {type(maps).__name__}")
    array = np.asarray(np.from_dlpack(_real(maps)), dtype=np.float32)
    if array.ndim < 2:
        raise ValueError("maps: an array of shape (..., T, T) is needed")
    flat = np.ascontiguousarray(array).reshape(-1, *array.shape[-2:])
    if not np.isfinite(flat).all():
        raise ValueError("maps: hold NaN or Inf")
    ranks = np.array(_core.attention_rank(flat, energy), dtype=np.int64)
    return ranks.reshape(array.shape[:-2])
