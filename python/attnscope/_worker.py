"""Code that an executor's workers run. Each worker opens the models and keeps them open."""

from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from attnscope import _core
from attnscope._errors import Error


class ModelFiles(NamedTuple):
    """Everything that another process needs to open a model."""

    name: str  # a path or a Hugging Face hub name
    layout: str  # path of a layout file, or ""
    remote: bool  # read from the hub without caching


_opening = Lock()  # threads of one worker that need the same model open it only once


@lru_cache(maxsize=16)
def _opened(run: str, files: ModelFiles) -> _core.OpenModel:
    """Open a model once per run, because files may change between runs."""
    return _core.open_model(*files, None)


def compute(run: str, files: ModelFiles, threads: int, item: str) -> str | Error:
    """Compute one item of a run and return its serialized outcomes.

    An error of the library is returned, because each executor wraps raised exceptions differently.
    """
    try:
        with _opening:
            model = _opened(run, files)
        return _core.compute_item(item, model, threads)
    except Error as error:
        return error
