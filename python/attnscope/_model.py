"""Models that stay open."""

import builtins
import json
import os
from functools import cached_property
from typing import Any

from attnscope import _core, _html
from attnscope._commands import ModelCommands
from attnscope._memory import in_memory, is_in_memory, open_in_memory
from attnscope._run import name_of, open_core
from attnscope._values import Path


class Model(ModelCommands):
    """A checkpoint that stays open; every command is a method of it.

    Copies and pickles of one that is in files open the same files again.
    """

    def __init__(self, core: _core.OpenModel) -> None:
        self._core = core

    @property
    def name(self) -> str:
        """What rows call it."""
        return self._core.row_name

    @property
    def path(self) -> str:
        """The path or the name on the hub that it was opened by."""
        return self._core.name

    @cached_property
    def _stacks(self) -> list[dict[str, Any]]:
        facts: list[dict[str, Any]] = json.loads(self._core.facts)
        return facts

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Architecture, layers, heads, widths: what reports say of each model.

        Of a model of several stacks, an encoder and a decoder say: `stacks`, by their names.
        """
        if len(self._stacks) == 1:
            return self._stacks[0]
        return {"name": self.name, "stacks": {stack["stack"]: stack for stack in self._stacks}}

    def __reduce__(self) -> tuple[Any, ...]:
        if self._core.is_in_memory:
            raise TypeError("a model in memory cannot be sent elsewhere: save it, and open its path")
        return _reopened, (self._core.name, self._core.layout, self._core.is_remote)

    def _repr_html_(self) -> builtins.str:
        return _html.facts(self._stacks)

    def __repr__(self) -> builtins.str:
        return f"<attnscope.Model {self.path}>"


def _reopened(path: str, layout: str, remote: bool) -> Model:
    return Model(open_core(path, layout, remote, progress=None))


def open(
    model: Path | Any,
    *,
    layout: Path | None = None,
    config: Any = None,
    tokenizer: Any = None,
    name: str | None = None,
    remote: bool = False,
    progress: bool | None = None,
) -> Model:
    """Opens a model, whose commands are then methods.

    - model: a folder with config.json and weights, a weights file, or a name on the hub such as
      "gpt2" or "org/name@revision"; or weights that are in memory, which are read where they lie: a
      torch.nn.Module, a state dict, or arrays by the names that the checkpoint would give them
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - config: of weights in memory: what config.json would say, as a dict or a configuration of
      transformers (default: the module's own)
    - tokenizer: of weights in memory: a fast tokenizer, for commands that take a text
    - name: of weights in memory: what rows call the model
    - remote: of a name on the hub: read only what is needed, and keep nothing
    - progress: whether a line tells how far a download is (default: on a terminal and in a notebook)
    """
    described = "" if layout is None else os.fsdecode(layout)
    if is_in_memory(model):
        return Model(open_in_memory(in_memory(model, config, tokenizer, name), described))
    for keyword, value in (("config", config), ("tokenizer", tokenizer), ("name", name)):
        if value is not None:
            raise TypeError(f"{keyword}: only weights in memory take it")
    return Model(open_core(name_of(model), described, remote, progress))
