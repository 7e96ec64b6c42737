"""Live models: `asc.live`."""

import json
import os
from typing import Any

from attnscope._errors import UsageTypeError
from attnscope._memory import in_memory
from attnscope._model import Model
from attnscope._modules import is_module
from attnscope._values import Path, checked
from attnscope.live_model._device import device_of
from attnscope.live_model._items import LiveItems
from attnscope.live_model._layouts import open_module
from attnscope.live_model._server import ServedItems, Server
from attnscope.live_model._wrappers import module_to_run


class LiveModel(Model):
    """A PyTorch model whose forward passes run where the module is. Its weights stay in place."""

    def __init__(self, module: Any, tokenizer: Any, name: str | None, layout: str = "") -> None:
        if tokenizer is None:
            tokenizer = getattr(module, "tokenizer", None)
        inner = module_to_run(module)
        memory = in_memory(inner, None, tokenizer, name)
        if memory.config is None and not layout:
            raise UsageTypeError(
                "module: has no config: expected a model of transformers, or a layout file in layout"
            )
        config = memory.config or "{}"
        memory = memory._replace(config=_config_of(config, inner))
        core, self._folder = open_module(memory, layout, config)
        super().__init__(core, memory)
        self.module = inner
        self._tensors = memory.tensors

    def _live_items(self, threads: int | None) -> LiveItems:
        threads = threads or os.cpu_count() or 1
        stacks = [stack.get("stack", "") for stack in self._stacks]
        return LiveItems(self.module, self._tensors, self._core, stacks, threads)

    def serve(
        self,
        *,
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
        store: Path | None = None,
        threads: int | None = None,
    ) -> Server:
        """Serve the page of the model, whose analyses run where the module is.

        Returns at once. A notebook shows a link to the page. `stop()` of the result ends the server.

        - port: port to listen on (default: a free one)
        - host: address to listen on; addresses that other machines can reach require a token
        - token: access token, a part of the address (default: none, or a random one for such a host)
        - store: a SQLite file that keeps results
        - threads: number of threads (default: all cores)
        """
        given: dict[str, Any] = {"port": port, "host": host, "token": token, "store": store, "threads": threads}
        texts = [
            (name, checked(name, os.fsdecode(value) if name == "store" else str(value), name == "store"))
            for name, value in given.items()
            if value is not None
        ]
        return Server(self._core, ServedItems(self._live_items(threads)), texts)

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
    model: Any,
    tokenizer: Any = None,
    *,
    name: str | None = None,
    layout: Path | None = None,
    **options: Any,
) -> LiveModel:
    """Use a PyTorch model whose forward passes run where the module is: on a GPU, for example.

    - model: a module of transformers, also with PEFT adapters, quantized by bitsandbytes, compiled,
      or in a TransformerLens bridge; or a folder or Hugging Face hub name, which transformers loads.
      "BASE+ADAPTER" adds a PEFT adapter
    - tokenizer: a fast tokenizer, for commands that take a text (default: the one of the folder or
      hub name)
    - name: the name of the model in rows
    - layout: a JSON file that describes a module of an unknown architecture (docs/formats.md)
    - options: for a folder or hub name: `device`, and the keywords of `from_pretrained`, such as
      `dtype` and `device_map`

    The module is not changed. Its weights are copied to CPU memory if they are on another device.
    """
    from attnscope.live_model._loading import loaded

    if not is_module(model):
        model, tokenizer = loaded(model, tokenizer, options)
    elif options:
        raise UsageTypeError(f"{next(iter(options))}: only supported with a folder or hub name")
    described = "" if layout is None else os.fsdecode(layout)
    return LiveModel(model, tokenizer, name, described)
