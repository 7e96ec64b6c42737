"""Live modules: the module inside a wrapper, its input, and the switch to eager attention."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attnscope._arrays import is_array
from attnscope._errors import UsageError, UsageTypeError

Batch = Any
"""The input of one call: a dict, a tensor, or a tuple of the positional arguments."""


def is_module(value: Any) -> bool:
    """Return whether the value is callable and has named submodules for hooks."""
    return callable(value) and hasattr(value, "named_modules")


def _is_nnsight(model: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == "nnsight" for kind in type(model).__mro__)


def module_in(model: Any) -> Any:
    """Return the module inside an nnsight model or a compiled or parallel module, or the module itself."""
    if _is_nnsight(model) and hasattr(model, "_module"):
        if not getattr(model, "dispatched", True):
            model.dispatch()  # as nnsight does at the first trace: loads the weights
        return module_in(model._module)
    if hasattr(model, "_orig_mod"):
        return module_in(model._orig_mod)
    if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
        return module_in(model.module)
    return model


def is_multihead(module: Any) -> bool:
    """Return whether the module is PyTorch's own multi-head attention."""
    return any(kind.__module__ == "torch.nn.modules.activation" for kind in type(module).__mro__)


def _required(module: Any) -> int:
    """Return how many arguments the module's forward call needs."""
    found = inspect.signature(type(module).forward).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.default is one.empty and one.kind in positional for one in found) - 1  # self


def tokenized(model: Any, tokenizer: Any, inputs: Any) -> Any:
    """Convert texts to one batch per text, with the tokenizer of the model. Others are returned."""
    texts = [inputs] if isinstance(inputs, str) else inputs
    if not isinstance(texts, (list, tuple)) or not texts or not isinstance(texts[0], str):
        return inputs
    for text in texts:
        if not isinstance(text, str):
            raise UsageTypeError(f"inputs: expected a list of texts, but one is {type(text).__name__}")
    if tokenizer is None and hasattr(model, "to_tokens"):
        return [{"input": model.to_tokens(text)} for text in texts]  # TransformerLens
    tokenizer = getattr(model, "tokenizer", None) if tokenizer is None else tokenizer
    if not callable(tokenizer):
        raise UsageTypeError("tokenizer: missing: pass the tokenizer of transformers for these texts")
    accepted = inspect.signature(type(module_in(model)).forward).parameters
    takes_all = any(one.kind is one.VAR_KEYWORD for one in accepted.values())
    return [
        {
            name: value
            for name, value in tokenizer(text, return_tensors="pt").items()
            if name in ("input_ids", *accepted) or takes_all
        }
        for text in texts
    ]


def batches_of(module: Any, inputs: Any) -> list[Batch]:
    """Return the inputs of each call. A tuple is one call if the module needs several tensors."""
    if inputs is None:
        raise UsageTypeError("inputs: missing: pass the arguments of the module's forward call")
    if isinstance(inputs, Mapping) or is_array(inputs):
        return [inputs]
    is_call = isinstance(inputs, tuple) and len(inputs) > 0 and all(map(is_array, inputs))
    if is_call and _required(module) > 1:
        return [inputs]
    if isinstance(inputs, (str, bytes)) or not hasattr(inputs, "__iter__"):
        raise UsageTypeError(_expected(inputs))
    batches = list(inputs)
    for batch in batches:
        if isinstance(batch, tuple) and batch and all(map(is_array, batch)):
            continue
        if not isinstance(batch, Mapping) and not is_array(batch):
            raise UsageTypeError(_expected(batch))
    if not batches:
        raise UsageError("inputs: empty list")
    return batches


def _expected(value: Any) -> str:
    return f"inputs: expected a dict, a tensor, a text or a list of these, not {type(value).__name__}"


def tensors_of(batch: Batch) -> dict[str, Any]:
    """Return the arrays of a batch that have axes, by name."""
    if isinstance(batch, tuple):
        named: Mapping[str, Any] = {str(at): one for at, one in enumerate(batch)}
    else:
        named = batch if isinstance(batch, Mapping) else {"": batch}
    return {name: value for name, value in named.items() if is_array(value) and value.ndim > 0}


def call(module: Any, batch: Batch) -> None:
    """Call the module on a batch, on its own device."""
    device = getattr(next(iter(module.parameters()), None), "device", None)
    moved: dict[int, Any] = {}  # a tensor that is passed twice stays one tensor

    def there(value: Any) -> Any:
        if device is None or not hasattr(value, "to"):
            return value
        return moved.setdefault(id(value), value.to(device))

    if is_multihead(module) and not isinstance(batch, tuple):
        named = dict(batch) if isinstance(batch, Mapping) else {"query": batch}
        key = named.setdefault("key", named.get("query"))
        named.setdefault("value", key)
        batch = named
    if not isinstance(batch, Mapping):
        module(*map(there, batch if isinstance(batch, tuple) else (batch,)))
        return
    named = {name: there(value) for name, value in batch.items()}
    accepted = inspect.signature(type(module).forward).parameters
    if "input_ids" in named and "input_ids" not in accepted and "input" in accepted:
        named["input"] = named.pop("input_ids")  # TransformerLens
    named.pop("output_attentions", None)
    if "use_cache" in accepted:
        named.setdefault("use_cache", False)
    if "output_attentions" in accepted:
        named["output_attentions"] = True
    module(**named)


def _with_parts(config: Any) -> Iterator[Any]:
    yield config
    for name in getattr(config, "sub_configs", ()):
        part = getattr(config, name, None)
        if part is not None:
            yield from _with_parts(part)


def _configs_of(module: Any) -> list[Any]:
    """Return the configurations that choose how transformers computes attention, outer ones first."""
    parts = (module, *(part for _, part in module.named_modules()))
    found = (one for part in parts for one in _with_parts(getattr(part, "config", None)))
    known = {id(one): one for one in found if getattr(one, "_attn_implementation", None) is not None}
    return list(known.values())


def not_eager(module: Any) -> list[str]:
    """Return the attention implementations of transformers in the module that return no maps."""
    kinds = {str(config._attn_implementation) for config in _configs_of(module)}
    return sorted(kinds - {"eager"})


@contextmanager
def eager(module: Any) -> Iterator[None]:
    """Compute attention of transformers models with its eager functions. Restore the choice."""
    before = [(config, config._attn_implementation) for config in _configs_of(module)]
    try:
        if not_eager(module):
            for _, part in module.named_modules():
                if hasattr(part, "set_attn_implementation"):
                    part.set_attn_implementation("eager")
        yield
    finally:
        # The setter of a configuration also sets its parts, which follow in the list.
        for config, kind in before:
            if config._attn_implementation != kind:
                config._attn_implementation = kind
