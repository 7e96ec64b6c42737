"""Detection of weights that are split over processes, of which this process has only a part."""

from collections.abc import Iterable, Mapping
from typing import Any

from attnscope._errors import error_of

GATHER = (
    "on every process, gather the weights with get_model_state_dict(model, "
    "options=StateDictOptions(full_state_dict=True)) of torch.distributed.checkpoint.state_dict, and "
    "open the result with config=model.config; or save the model and open its path"
)
OF_ZERO = "open it inside deepspeed.zero.GatheredParameters, or save the model and open its path"


def _kind_of(tensor: Any) -> str | None:
    """Return what splits a tensor. None: this process has all of it."""
    if hasattr(tensor, "ds_id"):
        # GatheredParameters makes a parameter available for a while.
        is_here = getattr(getattr(tensor, "ds_status", None), "name", "") == "AVAILABLE"
        return None if is_here else "DeepSpeed ZeRO-3"
    if type(tensor).__name__ == "FlatParameter" or getattr(tensor, "_fsdp_flattened", False):
        return "FSDP"
    if hasattr(tensor, "placements") and hasattr(tensor, "to_local"):
        return "a DTensor of FSDP or tensor parallelism"
    return "a ShardedTensor of FSDP" if hasattr(tensor, "local_shards") else None


def _refuse(named: Iterable[tuple[str, Any]]) -> None:
    for name, tensor in named:
        kind = _kind_of(tensor)
        if kind is None:
            continue
        problem = f"tensor '{name}' is split over processes ({kind}), and this process has only a part"
        hint = OF_ZERO if "ZeRO" in kind else GATHER
        parts = {"tensor": name, "problem": problem, "hint": hint}
        raise error_of("unsupported", f"{problem}: {hint}", parts)


def refuse_sharded(model: Any) -> None:
    """Raise UnsupportedError if a module, or a dict of tensors, has only parts of some weights."""
    if isinstance(model, Mapping):
        _refuse((str(name), one) for name, one in model.items())
    elif hasattr(model, "named_parameters"):
        _refuse(model.named_parameters())
