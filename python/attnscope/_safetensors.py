"""Arrays of a .safetensors file in memory."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8")}


def arrays_of(content: Bytes) -> dict[str, NDArray[Any]]:
    """Return views of the file's tensors, by name."""
    size = int(content[:8].view("<u8")[0])
    header = json.loads(content[8 : 8 + size].tobytes())
    header.pop("__metadata__", None)
    data = content[8 + size :]
    arrays: dict[str, NDArray[Any]] = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        arrays[name] = data[begin:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays
