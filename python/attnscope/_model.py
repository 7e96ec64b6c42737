"""Open models."""

import builtins
import json
import os
from functools import cached_property
from typing import Any, Literal

from attnscope import _core, _html
from attnscope._commands import ModelCommands
from attnscope._errors import UsageTypeError
from attnscope._guidance import Hinted, Named, guided
from attnscope._hints import OF_MODELS
from attnscope._memory import InMemory, in_memory, is_in_memory, open_in_memory
from attnscope._run import name_of, open_core
from attnscope._table import Table
from attnscope._values import Batch, Layers, Names, Path, Positions, Texts


class Model(ModelCommands, Hinted):
    """An open checkpoint. Every command except `info` is a method.

    `info` is a property here; the command is `attnscope.info(model)`. A copied or unpickled model
    opens the same files again. A model in memory cannot be copied or pickled.
    """

    _hints = OF_MODELS

    def __init__(self, core: _core.OpenModel, memory: InMemory | None = None) -> None:
        if not isinstance(core, _core.OpenModel):
            raise UsageTypeError("Model: use attnscope.open(path)")
        self._core = core
        self._memory = memory

    @property
    def name(self) -> str:
        """The name of the model in rows."""
        return self._core.row_name

    @property
    def path(self) -> str:
        """The path or Hugging Face hub name that the model was opened with."""
        return self._core.name

    @cached_property
    def _stacks(self) -> list[dict[str, Any]]:
        stacks: list[dict[str, Any]] = json.loads(self._core.facts)
        return stacks

    @cached_property
    def info(self) -> dict[str, Any]:
        """Model metadata: architecture, number of layers and heads, sizes.

        For a model with several stacks (for example encoder and decoder), `stacks` maps the name
        of each stack to its metadata.
        """
        if len(self._stacks) == 1:
            return Named(self._stacks[0])
        stacks = {stack["stack"]: Named(stack) for stack in self._stacks}
        return Named({"name": self.name, "stacks": stacks})

    def run(
        self,
        text: Texts | None = None,
        *,
        activations: Names,
        tokens: Batch | None = None,
        layers: Layers | None = None,
        heads: Layers | None = None,
        positions: Positions | None = None,
        dtype: Literal["float32", "float16", "bfloat16"] | None = None,
        **others: Any,
    ) -> Table:
        """Run the model on a text and return activations by name, as `run(...).arrays[name]`.

        The same as `predict()` with `save=True`, which documents all keywords. With `save="FILE"`,
        activations are written to this .safetensors file and do not need memory.

        - activations: names in TransformerLens without "hook_": "resid_post", "z", "pattern", ...
          (docs/metrics.md lists them). The first axis is the layer, except of "final_norm" and
          "logits". For several texts, `arrays[name]` is a list with one array per text
        - layers, heads, positions: only these; for "k" and "v", key/value heads; for attention
          maps, query positions
        - dtype: element type (default: "float32"). Arrays of bfloat16 values have type float32
        """
        given = {
            "text": text,
            "tokens": tokens,
            "activations": activations,
            "layers": layers,
            "heads": heads,
            "positions": positions,
            "dtype": dtype,
        }
        return self.predict(**given, **({"save": True} | others))  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[Any, ...]:
        if self._core.is_in_memory:
            raise UsageTypeError("a model in memory cannot be pickled: save it and open its path")
        return _reopened, (self._core.name, self._core.layout, self._core.is_remote)

    def _repr_html_(self) -> builtins.str:
        return _html.facts(self._stacks)

    def __repr__(self) -> builtins.str:
        return f"<attnscope.Model {self.path}>"


def _reopened(path: str, layout: str, remote: bool) -> Model:
    return Model(open_core(path, layout, remote, progress=None))


@guided
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
    """Open a model, whose commands are then methods.

    - model: a folder with config.json and weights, a weights file, or a Hugging Face hub name such
      as "gpt2" or "org/name@revision". "BASE+ADAPTER" merges a PEFT adapter (a folder or a hub
      name) into the base when its weights are read. Or weights in memory, which are not copied: a
      torch.nn.Module, a state dict, or a dict from tensor names to arrays
    - layout: a JSON file that describes the checkpoint, instead of config.json
    - config: for weights in memory: the content of config.json, as a dict or a transformers
      configuration (default: the module's config)
    - tokenizer: for weights in memory: a fast tokenizer, for commands that take a text
    - name: for weights in memory: the name of the model in rows
    - remote: for hub models: fetch only the byte ranges needed; cache nothing
    - progress: show the progress of a download (default: on a terminal and in a notebook)
    """
    described = "" if layout is None else os.fsdecode(layout)
    if is_in_memory(model):
        memory = in_memory(model, config, tokenizer, name)
        return Model(open_in_memory(memory, described), memory)
    for keyword, value in (("config", config), ("tokenizer", tokenizer), ("name", name)):
        if value is not None:
            raise UsageTypeError(f"{keyword}: only supported for weights in memory")
    return Model(open_core(name_of(model), described, remote, progress))
