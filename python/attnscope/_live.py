"""Attention statistics of a live module: hooks collect its attention maps while it runs."""

import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from attnscope import _describe
from attnscope._arrays import is_array
from attnscope._errors import UsageError, UsageTypeError, error_of
from attnscope._user_maps import measure_maps
from attnscope._memory import name_of_live
from attnscope._meter import Meter, as_numpy, hash_of
from attnscope._padding import Padding
from attnscope._stacks import Layers, is_cross
from attnscope._table import Table
from attnscope._values import text_of

OF_LIVE = ("energy", "exclude_first_token", "layers", "threads", "memory", "store")
"""Keywords of `attention` that are supported for live modules and maps."""

OWN = ("models", "inputs", "maps", "mask", "sinks", "name")
"""Keywords that only live modules and maps take."""


def is_module(value: Any) -> bool:
    """Return whether the value is callable and has named submodules for hooks."""
    return callable(value) and hasattr(value, "named_modules")


def gives_maps(models: Any, maps: Any) -> bool:
    """Return whether the input is a live module, or maps without a model."""
    return is_module(models) or (models is None and maps is not None)


def positional_maps(models: Any, maps: Any) -> tuple[Any, Any]:
    """Return models and maps, if maps were passed in the place of models.

    The maps are the output of a transformers model, or its attentions: a tuple of arrays
    (N, H, T, T), one per layer. They can also be one array (L, H, T, T) or (L, N, H, T, T).
    """
    if maps is not None or models is None or is_module(models):
        return models, maps
    if isinstance(models, Mapping) and "logits" in models or hasattr(models, "last_hidden_state"):
        given = getattr(models, "attentions", None)
        if given is None:
            raise UsageError("models: this output has no attentions: run with output_attentions=True")
        models = given
    if is_array(models):
        if models.ndim not in (4, 5):
            raise UsageError(
                "models: expected maps (L, H, T, T) or (L, N, H, T, T), not an array of shape "
                f"{tuple(models.shape)}"
            )
        return None, [(layer, models[layer]) for layer in range(int(models.shape[0]))]
    several = isinstance(models, (list, tuple)) and len(models) > 0
    if several and all(one is None or is_array(one) for one in models):
        return None, [(layer, one) for layer, one in enumerate(models) if one is not None]
    return models, maps


def attention_of(given: dict[str, Any]) -> Table:
    """Compute rows from a live module or from maps. `given`: keywords of the command."""
    arguments = []
    for name, parameter in _describe.parameters("attention").items():
        text = None if name in OWN else text_of(parameter, given.get(name))
        if text is None:
            continue
        if name not in OF_LIVE:
            raise UsageTypeError(f"{name}: not supported for a live module or maps")
        arguments.append((name, text))
    if is_module(given["models"]):
        for name in ("maps", "mask"):
            if given[name] is not None:
                raise UsageTypeError(f"{name}: not supported with a live module, which provides it itself")
        return _of_module(given["models"], given["inputs"], given["sinks"], given["name"], arguments)
    if given["inputs"] is not None:
        raise UsageTypeError("inputs: only supported with a live module")
    if given["layers"] is not None:
        raise UsageTypeError("layers: not supported for maps: pass only the maps of the layers that you want")
    return measure_maps(given["maps"], given["mask"], given["sinks"], given["name"], arguments)


def refuse_live(**given: Any) -> None:
    """Raise if a checkpoint is given keywords that only live modules and maps take."""
    for name, value in given.items():
        if value is not None:
            raise UsageTypeError(f"{name}: only supported with a live module or maps")


def _batches(inputs: Any) -> list[Any]:
    if inputs is None:
        raise UsageTypeError("inputs: missing: pass the arguments of the module's forward call")
    batches = [inputs] if isinstance(inputs, Mapping) or is_array(inputs) else list(inputs)
    for batch in batches:
        if not isinstance(batch, Mapping) and not is_array(batch):
            kind = type(batch).__name__
            raise UsageTypeError(f"inputs: expected a dict, a tensor or a list of these, not {kind}")
    if not batches:
        raise UsageError("inputs: empty list")
    return batches


def _tensors_of(batch: Any) -> dict[str, Any]:
    named = batch if isinstance(batch, Mapping) else {"": batch}
    return {name: value for name, value in named.items() if is_array(value) and value.ndim > 0}


def _check_eager(module: Any) -> None:
    """Raise if no module of a transformers model uses eager attention, which returns maps."""
    kinds = set()
    for part in (module, *(part for _, part in module.named_modules())):
        kinds.add(getattr(getattr(part, "config", None), "_attn_implementation", None))
    kinds.discard(None)
    if not kinds or "eager" in kinds:
        return
    problem = f"{type(module).__name__} computes attention with {' and '.join(sorted(map(str, kinds)))}"
    hint = 'call model.set_attn_implementation("eager"), or pass attn_implementation="eager" to from_pretrained'
    raise error_of(
        "unsupported",
        f"{problem}, which returns no maps ({hint})",
        {"problem": f"{problem}, which returns no maps", "hint": hint},
    )


def _members(output: Any) -> list[Any]:
    if isinstance(output, Mapping):
        return list(output.values())
    return list(output) if isinstance(output, (tuple, list)) else []


def _maps_in(output: Any) -> int | None:
    """Return the index of the maps (N, H, T, S) in a module's output. None: it has no maps."""
    members = _members(output)
    first = members[0] if members else None
    if first is None or not is_array(first) or first.ndim < 2:
        return None
    for place in range(len(members) - 1, 0, -1):
        maps = members[place]
        if not is_array(maps) or maps.ndim != 4 or "float" not in str(maps.dtype):
            continue
        if maps.shape[0] != first.shape[0] or 0 in tuple(maps.shape):
            continue
        # Keys, values and position biases also have four axes, but their rows are not probabilities.
        # NaN passes this test: the analysis reports it.
        last_query = maps[0, 0, -1]
        if not bool((last_query < 0).any()) and not bool((last_query == 0).all()):
            return place
    return None


def _without(output: Any, place: int) -> Any:
    """Replace the maps in an output by None, as transformers modules return it for sdpa."""
    if isinstance(output, tuple) and type(output) is tuple:
        return (*output[:place], None, *output[place + 1 :])
    return output


def _set_training(parts: list[Any]) -> None:
    for part in parts:
        part.training = True


class Watch:
    """Hooks that collect attention maps from the outputs of a module's submodules."""

    def __init__(self, module: Any, meter: Meter, sinks: bool | None) -> None:
        config = getattr(module, "config", None)
        self._module = module
        self._meter = meter
        self._layers = Layers(module.named_modules(), getattr(config, "num_hidden_layers", None))
        self._sinks = sinks
        self._padding = Padding({}, self._layers.has_encoder)
        self._gave: set[str] = set()

    def start(self, batch: Any) -> None:
        self._layers.start()
        self._gave = set()
        self._padding = Padding(_tensors_of(batch), self._layers.has_encoder)

    @property
    def padding(self) -> Padding:
        return self._padding

    def hook(self, name: str) -> Any:
        def look(part: Any, args: Any, kwargs: Any, output: Any) -> Any:
            # A module that contains an attention module returns the same maps again.
            if any(gave.startswith(name + ".") for gave in self._gave) or name == "":
                return None
            place = _maps_in(output)
            if place is None:
                return None
            self._gave.add(name)
            self._take(name, part, kwargs, _members(output)[place])
            # Replace the maps in the output, so that the model does not keep them in memory.
            ours = type(part).__module__.startswith("transformers.")
            return _without(output, place) if ours else None

        return look

    def _take(self, name: str, part: Any, kwargs: Mapping[str, Any], maps: Any) -> None:
        across = kwargs.get("key_value_states") is not None or maps.shape[2] != maps.shape[3]
        cross = is_cross(name) or across
        stack = self._layers.stack_of(name, cross)
        layer = self._layers.number_of(name, stack)
        queries, keys = self._padding.kept(stack.name, cross, maps.shape, kwargs)
        sinks = self._sinks
        if sinks is None:
            sinks = any("sink" in one for one, _ in part.named_parameters(recurse=False))
        self._meter.put(stack, layer, name, maps, cross, sinks, queries, keys)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Install the hooks, without dropout and gradients. Restore everything afterwards."""
        trained = [part for _, part in self._module.named_modules() if getattr(part, "training", False)]
        with ExitStack() as stack:
            for name, part in self._module.named_modules():
                handle = part.register_forward_hook(self.hook(name), prepend=True, with_kwargs=True)
                stack.callback(handle.remove)
            if trained:
                self._module.eval()
                stack.callback(_set_training, trained)
            torch = sys.modules.get("torch")
            if torch is not None:
                stack.enter_context(torch.no_grad())
            yield


def _call(module: Any, batch: Any) -> None:
    device = getattr(next(iter(module.parameters()), None), "device", None)

    def there(value: Any) -> Any:
        return value.to(device) if device is not None and hasattr(value, "to") else value

    if not isinstance(batch, Mapping):
        module(there(batch))
        return
    named = {name: there(value) for name, value in batch.items()}
    named.pop("output_attentions", None)
    named.setdefault("use_cache", False)
    accepted = inspect.signature(module.forward).parameters
    if "use_cache" not in accepted and "use_cache" not in batch:
        del named["use_cache"]
    if "output_attentions" in accepted:
        named["output_attentions"] = True
    module(**named)


def _facts_of(module: Any, name: str | None) -> dict[str, Any]:
    config = getattr(module, "config", None)
    widths = (getattr(config, width, None) for width in ("hidden_size", "d_model", "n_embd", "dim"))
    return {
        "name": name or name_of_live(module, config),
        "architecture": getattr(config, "model_type", None) or type(module).__name__,
        "parameters": sum(int(one.numel()) for one in module.parameters()),
        "width": next((width for width in widths if isinstance(width, int)), None),
    }


def _of_module(
    module: Any, inputs: Any, sinks: bool | None, name: str | None, arguments: list[tuple[str, str]]
) -> Table:
    batches = _batches(inputs)
    _check_eager(module)
    tensors = [array for batch in batches for array in _tensors_of(batch).values()]
    if not tensors:
        raise UsageTypeError("inputs: contain no tensors")
    meter = Meter(
        arguments,
        "inputs",
        _facts_of(module, name),
        sum(int(next(iter(_tensors_of(batch).values())).shape[0]) for batch in batches),
        hash_of(as_numpy(array) for array in tensors),
    )
    watch = Watch(module, meter, sinks)
    with watch.watching():
        for batch in batches:
            watch.start(batch)
            _call(module, batch)
            meter.notes += [note for note in watch.padding.notes() if note not in meter.notes]
    if not meter.has_maps:
        raise error_of(
            "unsupported",
            f"{type(module).__name__} returned no attention maps: one of its submodules must return "
            "its output and maps (N, H, T, S)",
            {"problem": f"{type(module).__name__} returned no attention maps"},
        )
    return meter.table()
