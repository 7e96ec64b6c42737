"""Images, audio features, edits and chats in memory, as temporary files that commands can read."""

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from attnscope._edits import write_edits
from attnscope._errors import Error, UsageError, UsageTypeError

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


def _chat_text(messages: Any) -> str:
    """Return messages, or a dict with messages and tools, as the JSON that `chat` takes."""
    if not isinstance(messages, (list, tuple, Mapping)):
        raise UsageTypeError(f"messages: expected a list of dicts with role and content, not {type(messages).__name__}")
    try:
        return json.dumps(messages, default=_plain)
    except ValueError as error:
        raise UsageTypeError(f"messages: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise UsageTypeError(f"messages: expected values that JSON has, not {type(value).__name__}")


def _remove_folder(error: Error, folder: str) -> None:
    """Name a temporary file only by what it holds, such as messages.json."""
    prefix = folder + os.sep
    error.args = tuple(part.replace(prefix, "") if isinstance(part, str) else part for part in error.args)
    if error.file is not None:
        error.file = error.file.removeprefix(prefix)


@contextlib.contextmanager
def in_files(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the keywords with arrays, images, edits and messages replaced by paths of temporary files."""
    named = [name for name in (*ARRAYS, "image", "edits") if not _is_path(given.get(name))]
    messages = given.get("messages")
    if not named and messages is None:
        yield {name: value for name, value in given.items() if name != "messages"}
        return
    with tempfile.TemporaryDirectory() as folder:
        keywords = dict(given)
        if messages is not None:
            if given.get("chat") is not None:
                raise UsageError("messages: not supported together with chat")
            chat = pathlib.Path(folder) / "messages.json"
            chat.write_text(_chat_text(messages))
            keywords["chat"] = str(chat)
        keywords.pop("messages", None)
        for name in named:
            file = pathlib.Path(folder) / f"{name}.{ENDINGS.get(name, 'npy')}"
            if name == "edits":
                write_edits(given[name], file)
            elif name == "image":
                _write_image(given[name], file)
            else:
                _write_array(name, given[name], file)
            keywords[name] = str(file)
        try:
            yield keywords
        except Error as error:
            _remove_folder(error, folder)
            raise
