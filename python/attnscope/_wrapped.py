"""Wrappers of modules: names without them, the module inside, and the weights that it computes with.

PEFT adapters that are not merged, modules quantized by bitsandbytes, compiled modules and bridges
of TransformerLens keep the weights of transformers under other names or in other forms.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attnscope._errors import error_of
from attnscope._modules import module_in

_WRAPPERS = re.compile(r"(^|\.)(_orig_mod|_original_component|base_layer|original_module|modules_to_save\.[^.]+)(?=\.|$)")


def unwrapped_name(name: str) -> str:
    """Remove what wrappers add to the name of a module or tensor."""
    return _WRAPPERS.sub("", name).removeprefix(".")


def is_of(value: Any, package: str) -> bool:
    """Return whether a class of the value is defined in the package."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(value).__mro__)


def refused(problem: str, hint: str) -> Exception:
    return error_of("unsupported", f"{problem} ({hint})", {"problem": problem, "hint": hint})


def adapted_module(model: Any) -> Any:
    """Return the module of transformers inside a PEFT model, with its adapters. Others are returned.

    A compiled PEFT model is not compiled any more.
    """
    inner = module_in(model)
    if not is_of(inner, "peft") or not hasattr(inner, "get_base_model"):
        return model
    kinds = [getattr(one, "peft_type", None) for one in inner.peft_config.values()]
    names = ", ".join(str(getattr(kind, "value", kind)) for kind in kinds)
    if getattr(inner.active_peft_config, "is_prompt_learning", False):
        raise refused(f"PEFT adapter {names}: it changes the input, not the weights", "open the base model")
    base = inner.get_base_model()
    if not any(_is_adapter(part) for part in base.modules()):
        raise refused(f"PEFT adapter {names}: it cannot be merged into weights", "open the base model")
    return adapted_module(base)


def _is_adapter(part: Any) -> bool:
    """Return whether PEFT has put the module around one of the model's."""
    is_layer = hasattr(part, "base_layer") and hasattr(part, "merge")
    return is_of(part, "peft") and (is_layer or hasattr(part, "unload_and_optionally_merge_module"))


def _adapted(model: Any) -> Iterator[tuple[str, Any]]:
    """Return the outermost modules that PEFT has put around others, by path."""
    done: tuple[str, ...] = ()
    for path, part in model.named_modules():
        if not path.startswith(done or ("\0",)) and _is_adapter(part):
            done += (f"{path}.",)
            yield path, part


def with_adapters(model: Any, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the tensors with the adapters of PEFT merged, in copies of the adapted ones."""
    parts = dict(_adapted(model)) if hasattr(model, "named_modules") else {}
    if not parts:
        return tensors
    inside = tuple(f"{path}." for path in parts)
    out = {name: one for name, one in tensors.items() if not name.startswith(inside)}
    for path, part in parts.items():
        out.update({f"{path}.{name}": one for name, one in _merged(path, part).items()})
    return out


def unties_embeddings(model: Any) -> bool:
    """Return whether adapters change only one of two matrices that were tied."""
    table = getattr(model, "get_input_embeddings", lambda: None)()
    return table is not None and _is_adapter(table) != _is_adapter(model.get_output_embeddings())


def _merged(path: str, part: Any) -> dict[str, Any]:
    """Return the tensors of an adapted module with its active adapters merged."""
    if any(is_of(one, "bitsandbytes") for one in part.modules()):
        return _of_linear(path, part)
    made = copy.deepcopy(part)
    try:
        if hasattr(made, "unload_and_optionally_merge_module"):
            made = made.unload_and_optionally_merge_module(merge=True, safe_merge=False, adapter_names=None)
        else:
            if not made.disable_adapters and not made.merged:
                made.merge()
            made = made.get_base_layer()
    except (NotImplementedError, ValueError, AttributeError) as error:
        problem = f"module '{path}': its PEFT adapter cannot be merged: {str(error).partition(chr(10))[0]}"
        raise refused(problem, "open the base model") from error
    return {name: one.detach() for name, one in made.state_dict().items()}


def _of_linear(path: str, part: Any) -> dict[str, Any]:
    """Return the weight of an adapted module whose base is quantized, from its outputs.

    PEFT would quantize the merged weight again, which the module does not do.
    """
    import torch

    layer: Any = part.get_base_layer() if hasattr(part, "get_base_layer") else None
    if not hasattr(layer, "in_features"):
        raise refused(f"module '{path}': its PEFT adapter is on a quantized module", "open the base model")
    float_one = next(one for one in part.parameters() if one.is_floating_point())
    kind = {"dtype": float_one.dtype, "device": layer.weight.device}
    was_training = [one for one in part.modules() if one.training]
    try:
        part.eval()
        with torch.no_grad():
            zero = part(torch.zeros(1, layer.in_features, **kind))
            columns = part(torch.eye(layer.in_features, **kind)) - zero
    finally:
        for one in was_training:
            one.training = True
    out = {"weight": columns.T.contiguous()}
    return out if layer.bias is None else {**out, "bias": zero[0]}
