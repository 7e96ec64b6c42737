"""What a worker of an executor runs: it opens models itself, and keeps them open."""

from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from attnscope import _core
from attnscope._errors import Error


class ModelFiles(NamedTuple):
    """What another process opens a model by."""

    name: str  # a path, or a name of the hub
    layout: str  # the path of a layout file, or ""
    remote: bool  # it is read on the hub


_opening = Lock()  # threads of one worker that need the same model open it once


@lru_cache(maxsize=16)
def _opened(run: str, files: ModelFiles) -> _core.OpenModel:
    """Anew for each run: files may have changed since the last one."""
    return _core.open_model(*files, None)


def compute(run: str, files: ModelFiles, threads: int, item: str) -> str | Error:
    """The outcomes of one item of a run, as a text.

    An error of the library is a result too: executors wrap what is raised each in its own way.
    """
    try:
        with _opening:
            model = _opened(run, files)
        return _core.compute_item(item, model, threads)
    except Error as error:
        return error
