"""Analyze the attention of a transformer checkpoint.

    import attnscope as asc

    model = asc.open("path")
    table = model.spectrum(matrix=["q", "k"], per_head=True)
    table.to_pandas()

Every command of the command line is a function of this module. Every command except `info` is also
a method of `Model`. `Model.info` is a dictionary: the model's metadata.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from attnscope._arrays import attention_rank
from attnscope._chart import Chart
from attnscope._commands import (
    ablate,
    attention,
    circuits,
    diff,
    directions,
    experts,
    export,
    info,
    lens,
    matrix,
    plan,
    predict,
    report,
    shrink,
    similarity,
    spectrum,
    weights,
)
from attnscope._core import version as __version__
from attnscope._edits import Edit
from attnscope._errors import (
    CheckpointWarning,
    Error,
    FormatError,
    IoError,
    NumericalError,
    UnsupportedError,
    UsageError,
)
from attnscope._guidance import no_attribute as _no_attribute
from attnscope._head_view import HeadView
from attnscope._hints import OF_PACKAGE as _OF_PACKAGE
from attnscope._model import Model, open
from attnscope.live_model._model import LiveModel, live
from attnscope._page import Page
from attnscope._table import Table

__all__ = [
    "Chart",
    "CheckpointWarning",
    "Edit",
    "Error",
    "FormatError",
    "HeadView",
    "IoError",
    "LiveModel",
    "Model",
    "NumericalError",
    "Page",
    "Table",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "ablate",
    "attention",
    "attention_rank",
    "circuits",
    "diff",
    "directions",
    "experts",
    "export",
    "info",
    "lens",
    "live",
    "matrix",
    "open",
    "plan",
    "predict",
    "report",
    "shrink",
    "similarity",
    "spectrum",
    "weights",
]

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise _no_attribute("attnscope", name, __all__, _OF_PACKAGE)
