"""Arrays of a .safetensors file in memory."""

import json
import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_TYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
}


def arrays_of(content: Bytes) -> dict[str, NDArray[Any]]:
    """Return views of the file's tensors, by name. NumPy has no bfloat16: these become float32."""
    size = int(content[:8].view("<u8")[0])
    header = json.loads(content[8 : 8 + size].tobytes())
    header.pop("__metadata__", None)
    data = content[8 + size :]
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        own = data[begin:end]
        if entry["dtype"] == "BF16":
            values = (own.view("<u2").astype("<u4") << 16).view("<f4")
        else:
            values = own.view(_TYPES[entry["dtype"]])
        arrays[name] = values.reshape(entry["shape"])
    return arrays


def write_arrays(arrays: dict[str, NDArray[Any]], file: pathlib.Path) -> None:
    """Write arrays of the dtypes that arrays_of() returns, in this order."""
    header: dict[str, Any] = {}
    end = 0
    for name, array in arrays.items():
        dtype = next(name for name, own in _TYPES.items() if own == array.dtype)
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            out.write(np.ascontiguousarray(array).data)


def by_text(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arrays with those of several texts, NAME.0, NAME.1, ..., as a list NAME."""
    grouped: dict[str, Any] = {}
    for name, array in arrays.items():
        whole, _, number = name.rpartition(".")
        if number.isdigit():
            grouped.setdefault(whole, []).append(array)
        else:
            grouped[name] = array
    return grouped
