"""Models that a program has in memory: modules, state dicts, arrays by name."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnscope import _core
from attnscope._arrays import is_array, readable
from attnscope._values import checked

WRAPPERS = ("_orig_mod.", "module.")
"""What torch.compile and data parallelism put before every name."""

_numbers = itertools.count(1)


class InMemory(NamedTuple):
    """What a model in memory is opened from."""

    tensors: Mapping[str, Any]
    config: str | None
    tokenizer: str | None
    name: str


def is_in_memory(model: Any) -> bool:
    return isinstance(model, Mapping) or hasattr(model, "state_dict")


def _config_text(config: Any) -> str | None:
    """That of a config.json: of a text, a mapping, or a configuration of transformers."""
    if config is None or isinstance(config, str):
        return config
    if hasattr(config, "to_json_string"):
        return str(config.to_json_string(use_diff=False))
    return json.dumps(dict(config))


def _tokenizer_text(tokenizer: Any) -> str | None:
    """That of a tokenizer.json: of a text, or of a tokenizer of transformers or tokenizers."""
    if tokenizer is None or isinstance(tokenizer, str):
        return tokenizer
    fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(fast, "to_str"):
        raise TypeError("tokenizer: a fast tokenizer or the text of a tokenizer.json is needed")
    return str(fast.to_str())


def name_of_live(model: Any, config: Any) -> str:
    name = getattr(config, "name_or_path", "") or getattr(config, "_name_or_path", "")
    last = re.split(r"[/\\]", str(name).rstrip("/\\"))[-1]
    return last or ("model" if isinstance(model, Mapping) else type(model).__name__)


def _unwrapped(tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    for wrapper in WRAPPERS:
        if tensors and all(name.startswith(wrapper) for name in tensors):
            return _unwrapped({name[len(wrapper) :]: one for name, one in tensors.items()})
    return tensors


def in_memory(model: Any, config: Any, tokenizer: Any, name: str | None) -> InMemory:
    if isinstance(model, Mapping):
        tensors = model
    else:
        tensors = model.state_dict()
        if config is None:
            config = getattr(getattr(model, "_orig_mod", model), "config", None)
    for key in tensors:
        if not isinstance(key, str):
            raise TypeError(f"the name of a tensor is a str, not {type(key).__name__}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name: a str is needed, not {type(name).__name__}")
    return InMemory(
        _unwrapped(tensors),
        _config_text(config),
        _tokenizer_text(tokenizer),
        name or name_of_live(model, config),
    )


def open_in_memory(model: InMemory, layout: str) -> _core.OpenModel:
    if model.config is None and not layout:
        raise TypeError("config: a model in memory needs what its config.json says, as a dict")
    for keyword, text in (("config", model.config), ("tokenizer", model.tokenizer)):
        if text is not None:
            checked(keyword, text, is_path=False)
    checked("name", model.name, is_path=True)
    checked("layout", layout, is_path=True)
    # Of numbers apart, so that commands can take two models of one name.
    name = f"memory-{next(_numbers)}/{model.name}"
    tensors = []
    for tensor, array in model.tensors.items():
        checked("tensor", tensor, is_path=False)
        if not is_array(array):
            raise TypeError(f"tensor '{tensor}': an array is needed, not {type(array).__name__}")
        tensors.append((tensor, readable(array)))
    return _core.open_in_memory(name, tensors, model.config, model.tokenizer, layout)
