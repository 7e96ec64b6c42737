"""Models in memory: modules, state dicts, arrays by name."""

import itertools
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from attnscope import _core
from attnscope._arrays import is_array, readable
from attnscope._errors import UsageTypeError, usage_errors
from attnscope._sharded import refuse_sharded
from attnscope._values import checked
from attnscope._wrapped import adapted_module, refused, unties_embeddings, unwrapped_name, with_adapters

WRAPPERS = ("_orig_mod.", "module.")
"""Prefixes that torch.compile and data parallelism add to every tensor name."""

_numbers = itertools.count(1)


class InMemory(NamedTuple):
    """Everything needed to open a model in memory."""

    tensors: Mapping[str, Any]
    config: str | None
    tokenizer: str | None
    name: str
    tokenizer_config: str | None = None


def is_in_memory(model: Any) -> bool:
    return isinstance(model, Mapping) or hasattr(model, "state_dict")


def _config_text(config: Any) -> str | None:
    """Return the text of config.json from a str, a mapping, or a transformers configuration."""
    if config is None or isinstance(config, str):
        return config
    if hasattr(config, "to_json_string"):
        return str(config.to_json_string(use_diff=False))
    return json.dumps(dict(config))


def _tokenizer_text(tokenizer: Any) -> str | None:
    """Return the text of tokenizer.json from a str, or from a transformers or tokenizers object."""
    if tokenizer is None or isinstance(tokenizer, str):
        return tokenizer
    fast = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(fast, "to_str"):
        raise UsageTypeError("tokenizer: expected a fast tokenizer or the text of a tokenizer.json")
    return str(fast.to_str())


def _tokenizer_config(tokenizer: Any) -> str | None:
    """Return the chat template and special tokens of a tokenizer of transformers, as in its config."""
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, Mapping):
        template = [{"name": str(name), "template": str(text)} for name, text in template.items()]
    elif not isinstance(template, str):
        return None
    special = getattr(tokenizer, "special_tokens_map", None)
    tokens = {key: text for key, text in dict(special or {}).items() if isinstance(text, str)}
    return json.dumps(tokens | {"chat_template": template})


def name_of_live(model: Any, config: Any) -> str:
    name = getattr(config, "name_or_path", "") or getattr(config, "_name_or_path", "")
    last = re.split(r"[/\\]", str(name).rstrip("/\\"))[-1]
    return last or ("model" if isinstance(model, Mapping) else type(model).__name__)


def _unwrapped(tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    for wrapper in WRAPPERS:
        if tensors and all(name.startswith(wrapper) for name in tensors):
            return _unwrapped({name[len(wrapper) :]: one for name, one in tensors.items()})
    return tensors


def module_of(model: Any) -> Any:
    """Return the module of transformers inside a TransformerLens bridge. Others are returned."""
    kind = type(model).__name__
    if kind.startswith("HookedTransformer") or kind.startswith("HookedEncoder"):
        name = getattr(getattr(model, "cfg", None), "model_name", "NAME")
        raise refused(
            f"{kind} has weights in the layout of TransformerLens",
            f'pass the transformers module, or open the checkpoint that it was made of, as in attnscope.open("{name}")',
        )
    original = getattr(model, "original_model", None)
    if not hasattr(original, "state_dict"):
        return model
    if getattr(model, "compatibility_mode", False):
        raise refused(
            f"{kind} in compatibility mode has changed weights",
            "open it before enable_compatibility_mode()",
        )
    return original


def _as_saved(model: Any, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the tensors under the names of `save_pretrained`, which some modules do not have.

    transformers stacks experts when it loads a model, for example. Its function returns views of
    the stacked tensors. A model that was dequantized keeps its own names.
    """
    if not isinstance(getattr(type(model), "base_model_prefix", None), str):
        return tensors
    try:
        from transformers.core_model_loading import revert_weight_conversion
    except ImportError:  # a version that does not convert weights
        return tensors
    try:
        saved = dict(revert_weight_conversion(model, dict(tensors)))
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
        return tensors
    # After loading with dequantization, its function returns names of quantized tensors.
    is_dequantized = any(name.endswith(("_blocks", "_scales")) for name in saved.keys() - tensors.keys())
    return tensors if is_dequantized else saved


def _is_real(tensor: Any) -> bool:
    return str(getattr(tensor, "dtype", "")) in ("torch.float32", "torch.bfloat16", "torch.float16")


def in_memory(model: Any, config: Any, tokenizer: Any, name: str | None) -> InMemory:
    refuse_sharded(model)
    if isinstance(model, Mapping):
        tensors = model
    else:
        model = adapted_module(module_of(model))
        tensors = model.state_dict()
        if not isinstance(tensors, Mapping):
            raise UsageTypeError(f"state_dict(): expected a dict, not {type(tensors).__name__}")
        if config is None:
            config = getattr(getattr(model, "_orig_mod", model), "config", None)
        tensors = _as_saved(model, with_adapters(model, tensors))
    for key in tensors:
        if not isinstance(key, str):
            raise UsageTypeError(f"expected a str as tensor name, not {type(key).__name__}")
    if any(".base_layer." in key or ".modules_to_save." in key for key in tensors):
        raise refused(
            f"{type(model).__name__} has PEFT adapters that are not merged",
            'open the model that merge_and_unload() returns, or open "BASE+ADAPTER"',
        )
    if type(model).__module__.startswith("transformers.") and any(
        key.endswith(".weight_scale") and _is_real(tensors.get(key.removesuffix("_scale")))
        for key in tensors
    ):
        raise refused(
            f"{type(model).__name__} has unpacked weights whose scales are applied at run time",
            "open its files",
        )
    if name is not None and not isinstance(name, str):
        raise UsageTypeError(f"name: expected a str, not {type(name).__name__}")
    text = _config_text(config)
    if text is not None and unties_embeddings(model):
        text = json.dumps(json.loads(text) | {"tie_word_embeddings": False})
    return InMemory(
        {unwrapped_name(key): one for key, one in _unwrapped(tensors).items()},
        text,
        _tokenizer_text(tokenizer),
        name or name_of_live(model, config),
        _tokenizer_config(tokenizer),
    )


def open_in_memory(model: InMemory, layout: str) -> _core.OpenModel:
    if model.config is None and not layout:
        raise UsageTypeError("config: missing: a model in memory needs the content of its config.json, as a dict")
    for keyword, text in (("config", model.config), ("tokenizer", model.tokenizer)):
        if text is not None:
            checked(keyword, text, is_path=False)
    checked("name", model.name, is_path=True)
    checked("layout", layout, is_path=True)
    # The number makes the name unique, so that a command can take two models of the same name.
    name = f"memory-{next(_numbers)}/{model.name}"
    tensors = []
    for tensor, array in model.tensors.items():
        checked("tensor", tensor, is_path=False)
        if not is_array(array):
            raise UsageTypeError(f"tensor '{tensor}': expected an array, not {type(array).__name__}")
        if getattr(array, "is_meta", False):
            raise refused(f"tensor '{tensor}' has no values", "load the model without offloading its weights")
        tensors.append((tensor, readable(array)))
    with usage_errors():
        return _core.open_in_memory(name, tensors, model.config, model.tokenizer, model.tokenizer_config, layout)
