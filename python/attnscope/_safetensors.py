"""Arrays of a .safetensors file in memory."""

import json
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
