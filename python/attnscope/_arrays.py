"""Analyses of arrays in memory."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnscope import _core, _describe
from attnscope._errors import UsageError, UsageTypeError, usage_errors
from attnscope._guidance import guided
from attnscope._run import is_open, table_of
from attnscope._table import Table
from attnscope._values import text_of

OF_ARRAYS = ("energy", "rank", "values", "threads")
"""Keywords of `spectrum` that are supported for an array."""


def is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def names_models(value: Any) -> bool:
    """Return whether the value is a model or a list of models, and not numbers."""
    if isinstance(value, (list, tuple)):
        return not value or names_models(value[0]) and not isinstance(value[0], (list, tuple))
    is_module = hasattr(value, "state_dict")
    return isinstance(value, (str, bytes, os.PathLike)) or is_open(value) or is_module


def readable(array: Any) -> Any:
    """Return an array in CPU memory that DLPack can export; copy only if necessary."""
    if hasattr(array, "detach"):
        array = array.detach()
        device = getattr(getattr(array, "device", None), "type", "cpu")
        return array if device == "cpu" else array.cpu()
    if isinstance(array, np.ndarray):
        if not array.dtype.isnative or any(step < 0 for step in array.strides):
            return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return array


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _as_numpy(value: Any) -> NDArray[Any] | None:
    """Convert to NumPy, without a copy if possible. None: NumPy does not support the dtype."""
    if is_array(value) and not isinstance(value, np.ndarray):
        try:
            return np.from_dlpack(value)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return None
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"expected numbers in rows of equal length: {_line(error)}") from None


def _real(value: Any) -> Any:
    """Convert any value that `numpy.asarray` accepts to an array of real numbers."""
    if np.ma.is_masked(value):
        raise UsageError("the array has masked values: fill them first")
    value = readable(value)
    array = _as_numpy(value)
    if array is None:
        return value
    kind = array.dtype.kind
    if kind == "f" and array.dtype.itemsize <= 8:
        return readable(array)
    if kind == "O" and array.ndim == 0:
        raise UsageTypeError(f"expected a matrix of numbers, not {type(value).__name__}")
    # NumPy would parse a string in an object array as a number.
    texts = kind == "O" and any(isinstance(item, (str, bytes)) for item in array.flat)
    if kind not in "fiubOV" or array.dtype.type is np.void or texts:
        raise UsageTypeError(f"expected real numbers, not {'strings' if texts else array.dtype}")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UsageTypeError(f"expected real numbers: {_line(error)}") from None


def spectrum_of(array: Any, given: dict[str, Any]) -> Table:
    """Compute the spectrum of one matrix. `given`: keywords of the command."""
    arguments = []
    for name, parameter in _describe.parameters("spectrum").items():
        text = None if name == "models" else text_of(parameter, given.get(name))
        if text is None:
            continue
        if name not in OF_ARRAYS:
            raise UsageTypeError(f"{name}: not supported for an array")
        arguments.append((name, text))
    with usage_errors():
        return table_of(_core.spectrum_of(_real(array), arguments))


@guided
def attention_rank(maps: Any, energy: float = 0.9) -> NDArray[np.int64]:
    """Return the energy rank of each attention map.

    The energy rank is the number of singular values needed for the share `energy` of the sum of
    their squares. `maps` has shape (..., T, T): anything that `numpy.asarray` accepts, or an array
    of any library that supports DLPack. The result has shape (...).
    """
    if not 0 < energy < 1:
        raise UsageError(f"energy: expected a number between 0 and 1, not {energy!r}")
    try:
        numbers = _real(maps)
    except (TypeError, ValueError) as error:
        raise type(error)(f"maps: {error}") from None
    if not isinstance(numbers, np.ndarray):  # for example PyTorch's bfloat16, which float() widens
        numbers = _as_numpy(numbers.float() if hasattr(numbers, "float") else numbers)
    if numbers is None:
        raise UsageTypeError(f"maps: expected a dtype that NumPy supports, not {type(maps).__name__}")
    array = np.asarray(numbers, dtype=np.float32)
    if array.ndim < 2:
        raise UsageError("maps: expected an array of shape (..., T, T)")
    flat = np.ascontiguousarray(array).reshape(-1, *array.shape[-2:])
    if not np.isfinite(flat).all():
        raise UsageError("maps: contain NaN or Inf")
    with usage_errors():
        ranks = np.array(_core.attention_rank(flat, energy), dtype=np.int64)
    return ranks.reshape(array.shape[:-2])
