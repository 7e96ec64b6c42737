"""Images, audio features and edits in memory, as temporary files that commands can read."""

import contextlib
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attnscope._edits import written
from attnscope._errors import UsageTypeError

ARRAYS = ("pixel_values", "features")
ENDINGS = {"image": "png", "edits": "json"}


def _is_path(value: Any) -> bool:
    return value is None or isinstance(value, (bool, str, bytes, os.PathLike))


def _write_array(name: str, value: Any, file: pathlib.Path) -> None:
    if hasattr(value, "detach"):  # a PyTorch tensor of any device and dtype
        value = value.detach().cpu().float()
    try:
        numbers = np.asarray(value)
    except (TypeError, ValueError):
        numbers = np.empty(0, dtype=object)
    if numbers.dtype.kind not in "fiu":
        raise UsageTypeError(f"{name}: expected a path or an array of real numbers, not {type(value).__name__}")
    np.save(file, np.ascontiguousarray(numbers, dtype=np.float32))


def _write_image(value: Any, file: pathlib.Path) -> None:
    if not callable(getattr(value, "save", None)):
        raise UsageTypeError(f"image: expected a path or a Pillow image, not {type(value).__name__}")
    value.save(file, format="PNG")


@contextlib.contextmanager
def in_files(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the keywords with arrays, images and edits replaced by paths of temporary files."""
    named = [name for name in (*ARRAYS, "image", "edits") if not _is_path(given.get(name))]
    if not named:
        yield dict(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        keywords = dict(given)
        for name in named:
            file = pathlib.Path(folder) / f"{name}.{ENDINGS.get(name, 'npy')}"
            if name == "edits":
                file.write_text(written(given[name]))
            elif name == "image":
                _write_image(given[name], file)
            else:
                _write_array(name, given[name], file)
            keywords[name] = str(file)
        yield keywords
