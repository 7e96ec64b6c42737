"""Opening of a module, with a layout if attnscope does not know its architecture."""

import pathlib
import tempfile
from typing import Any, NamedTuple

from attnscope import _core
from attnscope._arrays import readable
from attnscope._errors import UnsupportedError
from attnscope._memory import InMemory, open_in_memory
from attnscope._wrapped import refused


class Opened(NamedTuple):
    core: _core.OpenModel
    folder: Any  # keeps the file of a suggested layout, None without one


def open_module(memory: InMemory, layout: str, config: str) -> Opened:
    """Open the weights of a module. The layout of an unknown architecture is suggested by names.

    `config`: the content of the module's own config.json, from which the layout is made.

    A suggested layout is used only if nothing about the forward pass is ambiguous. A run verifies
    the number of heads and their size.
    """
    if layout:
        return Opened(open_in_memory(memory, layout), None)
    try:
        return Opened(open_in_memory(memory, ""), None)
    except UnsupportedError as error:
        if "is not known" not in str(error.problem):
            raise
        problem = f"{memory.name}: {error.problem}"
    tensors = [(name, readable(array)) for name, array in memory.tensors.items()]
    offer = _core.suggested_layout(tensors, config)
    hint = "describe it in a layout file, and pass it with layout"
    if offer is None:
        raise refused(problem, hint)
    text, doubts = offer
    if doubts:
        raise refused(f"{problem}, and its tensor names do not tell how it runs: {doubts[0]}", hint)
    folder = tempfile.TemporaryDirectory(prefix="attnscope-")
    path = pathlib.Path(folder.name) / "layout.json"
    path.write_text(text, encoding="utf-8")
    return Opened(open_in_memory(memory, str(path)), folder)
