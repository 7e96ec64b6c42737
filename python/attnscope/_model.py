"""Models that stay open."""

import builtins
import json
import os
from functools import cached_property
from typing import Any

from attnscope._commands import ModelCommands
from attnscope._run import open_core
from attnscope._values import Path


class Model(ModelCommands):
    """A checkpoint whose files stay open; every command is a method of it.

    Copies and pickles of it open the same files again.
    """

    def __init__(self, path: Path, *, layout: Path | None = None) -> None:
        self._core = open_core(os.fspath(path), "" if layout is None else os.fspath(layout))

    @property
    def name(self) -> str:
        """What rows call it."""
        return self._core.name

    @property
    def path(self) -> str:
        return self._core.path

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Architecture, layers, heads, widths: what reports say of each model."""
        facts: dict[str, Any] = json.loads(self._core.facts)
        return facts

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self._core.path, self._core.layout)

    def __repr__(self) -> builtins.str:
        return f"attnscope.open({self.path!r})"


def _reopened(path: str, layout: str) -> Model:
    return Model(path, layout=layout or None)


def open(path: Path, *, layout: Path | None = None) -> Model:
    """Opens a folder with config.json and weights, or a weights file beside its config.json.

    `layout`: a JSON file that describes the checkpoint, in place of config.json.
    """
    return Model(path, layout=layout)
