"""Live models: `asc.live`."""

import json
import os
from typing import Any

from attnscope._errors import UsageTypeError
from attnscope._memory import in_memory, open_in_memory
from attnscope._model import Model
from attnscope._modules import is_module, module_in
from attnscope.live_model._device import device_of
from attnscope.live_model._items import LiveItems


class LiveModel(Model):
    """A PyTorch model whose forward passes run where the module is. Its weights stay in place."""

    def __init__(self, module: Any, tokenizer: Any, name: str | None) -> None:
        inner = module_in(module)
        if tokenizer is None:
            tokenizer = getattr(module, "tokenizer", None)
        memory = in_memory(module, None, tokenizer, name)
        if memory.config is None:
            raise UsageTypeError("module: has no config: expected a model of transformers")
        memory = memory._replace(config=_config_of(memory.config, inner))
        super().__init__(open_in_memory(memory, ""), memory)
        self.module = inner
        self._tensors = memory.tensors

    def _live_items(self, threads: int | None) -> LiveItems:
        threads = threads or os.cpu_count() or 1
        return LiveItems(self.module, self._tensors, self._core, threads)

    def __repr__(self) -> str:
        return f"<attnscope.LiveModel {self.name} on {device_of(self.module)}>"


def _config_of(text: str, module: Any) -> str:
    """Add what numbers depend on, so that a store keeps them apart from those of files."""
    config = json.loads(text)
    config["attnscope_live"] = {
        "device": device_of(module).type,
        "dtypes": sorted({str(one.dtype) for one in module.parameters()}),
        "attention": getattr(getattr(module, "config", None), "_attn_implementation", None),
    }
    return json.dumps(config)


def live(
    model: Any, tokenizer: Any = None, *, name: str | None = None, **options: Any
) -> LiveModel:
    """Use a PyTorch model whose forward passes run where the module is: on a GPU, for example.

    - model: a module of transformers; or a folder or Hugging Face hub name, which transformers
      loads
    - tokenizer: a fast tokenizer, for commands that take a text (default: the one of the folder or
      hub name)
    - name: the name of the model in rows
    - options: for a folder or hub name: `device`, and the keywords of `from_pretrained`, such as
      `dtype` and `device_map`

    The module is not changed. Its weights are copied to CPU memory if they are on another device.
    """
    from attnscope.live_model._loading import loaded

    if not is_module(model):
        model, tokenizer = loaded(model, tokenizer, options)
    elif options:
        raise UsageTypeError(f"{next(iter(options))}: only supported with a folder or hub name")
    return LiveModel(model, tokenizer, name)
