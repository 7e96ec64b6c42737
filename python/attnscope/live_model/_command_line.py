"""`--device` of the command line: commands that run a model in PyTorch."""

import os
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from attnscope import _core
from attnscope._errors import UnsupportedError, UsageError, error_of
from attnscope.live_model._commands import live_items
from attnscope.live_model._model import live

OWN = ("device", "dtype", "format", "out", "quiet", "progress", "csv_escape_formulas")
"""Parameters that do not change how a model runs."""


def open_live(
    command: str,
    given: Sequence[str],
    models: Sequence[str],
    *,
    device: str,
    dtype: str,
    layout: str,
    threads: int,
) -> tuple[_core.OpenModel, Any]:
    """Open the model of a command. Return it, and what computes the items of the run."""
    if len(models) != 1:
        raise _of_device("runs a single model")
    for name in ("remote", "stack"):
        if name in given:
            raise _of_device(f"not supported with --{name}")
    quiet = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    for key, value in quiet.items():
        os.environ.setdefault(key, value)
    warnings.simplefilter("ignore")  # of PyTorch and transformers
    with suppress(ImportError):  # live() reports it
        from transformers.utils import logging

        logging.disable_progress_bar()
    options: dict[str, Any] = {"device": device} | ({"dtype": dtype} if dtype else {})
    model = live(models[0], layout=layout or None, **options)
    keywords = {"threads": threads or None} | {name: True for name in given if name not in OWN}
    try:
        items = live_items(command, keywords, [model])
    except UnsupportedError as error:  # it speaks of models in Python
        what = str(error).partition(": not supported on a live model")[0]
        if what == str(error):
            raise
        keyword, of, _ = what.partition(" of ")
        what = f"--{keyword.replace('_', '-')}" if of else what
        raise _of_device(f"not supported for {what}: leave it out to run on the CPU") from None
    return model._core, None if items is None else items.__enter__()


def _of_device(problem: str) -> UsageError:
    error = error_of("usage", f"device: {problem}", {"parameter": "device", "problem": problem})
    assert isinstance(error, UsageError)
    return error
