"""Attention statistics of a live module: hooks collect its attention maps while it runs."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from attnscope import _describe
from attnscope._arrays import is_array
from attnscope._errors import UsageError, UsageTypeError, error_of
from attnscope._saved_maps import SavedMaps
from attnscope._interception import Interception, Weights
from attnscope._user_maps import measure_maps
from attnscope._memory import name_of_live
from attnscope._meter import Meter, as_numpy, hash_of
from attnscope._padding import Padding
from attnscope._modules import batches_of, call, eager, is_module, module_in, not_eager, tensors_of, tokenized
from attnscope._sharded import refuse_sharded
from attnscope._stacks import Layers
from attnscope._table import Table
from attnscope._values import text_of

OF_LIVE = ("energy", "exclude_first_token", "layers", "threads", "memory", "store")
"""Keywords of `attention` that are supported for live modules and maps."""

OWN = ("models", "inputs", "maps", "mask", "sinks", "name")
"""Keywords that only live modules and maps take."""

PATTERN = ".hook_pattern"
"""End of the names of modules that TransformerLens passes attention weights through."""


def gives_maps(models: Any, maps: Any) -> bool:
    """Return whether the input is a live module, or maps without a model."""
    return is_module(models) or (models is None and maps is not None)


def positional_maps(models: Any, maps: Any) -> tuple[Any, Any]:
    """Return models and maps, if maps were passed in the place of models.

    The maps are the output of a transformers model, or its attentions: a tuple of arrays
    (N, H, T, T), one per layer. They can also be one array (L, H, T, T) or (L, N, H, T, T).
    """
    if models is None and maps is not None:
        return None, _of_layers("maps", maps)
    if maps is not None or models is None or is_module(models):
        return models, maps
    if isinstance(models, Mapping) and "logits" in models or hasattr(models, "last_hidden_state"):
        given = getattr(models, "attentions", None)
        if not is_array(given) and (not given or all(one is None for one in given)):
            raise UsageError(
                "models: this output has no attentions: run with output_attentions=True, "
                'and load the model with attn_implementation="eager"'
            )
        models = given
    found = _of_layers("models", models)
    return (models, maps) if found is models else (None, found)


def _of_layers(name: str, given: Any) -> Any:
    """Return pairs of a layer and its maps, if they are one array or one array per layer."""
    if is_array(given):
        if given.ndim not in (4, 5):
            raise UsageError(
                f"{name}: expected maps (L, H, T, T) or (L, N, H, T, T), not an array of shape "
                f"{tuple(given.shape)}"
            )
        return [(layer, given[layer]) for layer in range(int(given.shape[0]))]
    if not isinstance(given, (list, tuple)) or (isinstance(given, list) and not given):
        return given
    if not all(one is None or is_array(one) for one in given):
        return given
    pairs = [(layer, one) for layer, one in enumerate(given) if one is not None]
    if not pairs:
        raise UsageError(
            f"{name}: no attentions: load the model with attn_implementation=\"eager\", "
            "and run it with output_attentions=True"
        )
    return pairs


def attention_of(given: dict[str, Any]) -> Table:
    """Compute rows from a live module or from maps. `given`: keywords of the command."""
    if is_module(given["models"]) and given["inputs"] is None and given["text"] is not None:
        given = {**given, "inputs": given["text"], "text": None}
    arguments = []
    for name, parameter in _describe.parameters("attention").items():
        text = None if name in OWN else text_of(parameter, given.get(name))
        if text is None:
            continue
        if name not in OF_LIVE:
            raise UsageTypeError(f"{name}: not supported for a live module or maps")
        arguments.append((name, text))
    if is_module(given["models"]):
        if given["mask"] is not None:
            raise UsageTypeError("mask: not supported with a live module, which provides it itself")
        if given["maps"] is not None and not isinstance(given["maps"], bool):
            raise UsageTypeError("maps: with a live module, expected True: the module provides the maps")
        refuse_sharded(given["models"])
        inputs = tokenized(given["models"], given["tokenizer"], given["inputs"])
        tokenizer = given["tokenizer"]
        if tokenizer is None:
            tokenizer = getattr(given["models"], "tokenizer", None)
        saved = SavedMaps(bool(given["maps"]))
        return _of_module(given, module_in(given["models"]), inputs, arguments, saved, tokenizer)
    if given["inputs"] is not None:
        raise UsageTypeError("inputs: only supported with a live module")
    if given["layers"] is not None:
        raise UsageTypeError("layers: not supported for maps: pass only the maps of the layers that you want")
    return measure_maps(given["maps"], given["mask"], given["sinks"], given["name"], arguments)


def text_in_place_of_inputs(inputs: Any, text: Any) -> tuple[Any, Any]:
    """Return inputs and text, if a text for a checkpoint was passed in the place of inputs."""
    return (None, inputs) if text is None else (inputs, text)


def refuse_live(**given: Any) -> None:
    """Raise if a checkpoint is given keywords that only live modules and maps take."""
    for name, value in given.items():
        if value is not None:
            raise UsageTypeError(f"{name}: only supported with a live module or maps")


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


def _is_pattern(name: str, output: Any) -> bool:
    """Return whether a module is TransformerLens' hook point of the attention weights."""
    return name.endswith(PATTERN) and is_array(output) and output.ndim == 4


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
        self.calls = Interception(module, self._computed)

    def start(self, batch: Any) -> None:
        self._layers.start()
        self._gave = set()
        self._padding = Padding(tensors_of(batch), self._layers.has_encoder)

    @property
    def padding(self) -> Padding:
        return self._padding

    def hook(self, name: str) -> Any:
        def look(part: Any, args: Any, kwargs: Any, output: Any) -> Any:
            call = self.calls.leave(name)
            # A module that contains an attention module returns the same maps again.
            if call.given or any(gave.startswith(name + ".") for gave in self._gave):
                return None
            if _is_pattern(name, output):
                self._gave.add(name)
                self.calls.give(Weights(output, output.shape[2] != output.shape[3], False, {}))
                return None
            place = _maps_in(output) if name else None
            if place is not None:
                self._gave.add(name)
                self._take(name, part, kwargs, _members(output)[place])
                # Replace the maps in the output, so that the model does not keep them in memory.
                ours = type(part).__module__.startswith("transformers.")
                return _without(output, place) if ours else None
            weights = call.of_softmax()
            if weights is not None:
                self._computed(name, part, weights)
            return None

        return look

    def _computed(self, name: str, part: Any, weights: Weights) -> None:
        self._gave.add(name)
        self._take(name, part, weights.masks, weights.maps, weights.cross, weights.sinks)

    def _take(
        self, name: str, part: Any, kwargs: Mapping[str, Any], maps: Any, cross: bool = False,
        with_sinks: bool = False,
    ) -> None:
        across = kwargs.get("key_value_states") is not None or maps.shape[2] != maps.shape[3]
        cross = cross or across or self._layers.is_cross(name)
        stack = self._layers.stack_of(name, cross)
        layer = self._layers.number_of(name, stack)
        queries, keys = self._padding.kept(stack.name, cross, maps.shape, kwargs)
        sinks = self._sinks
        if sinks is None:
            named = any("sink" in one for one, _ in part.named_parameters(recurse=False))
            sinks = with_sinks or named
        self._meter.put(stack, layer, name or type(part).__name__, maps, cross, sinks, queries, keys)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Install the hooks, without dropout and gradients. Restore everything afterwards."""
        trained = [part for _, part in self._module.named_modules() if getattr(part, "training", False)]
        with ExitStack() as stack:
            for name, part in self._module.named_modules():
                # The last hook of a pattern sees what other hooks have changed.
                first = not name.endswith(PATTERN)
                handle = part.register_forward_hook(self.hook(name), prepend=first, with_kwargs=True)
                stack.callback(handle.remove)
                stack.callback(part.register_forward_pre_hook(self._enter(name), prepend=True).remove)
            if trained:
                self._module.eval()
                stack.callback(_set_training, trained)
            torch = sys.modules.get("torch")
            if torch is not None:
                stack.enter_context(torch.no_grad())
            stack.enter_context(self.calls.watching())
            yield

    def _enter(self, name: str) -> Any:
        def enter(part: Any, args: Any) -> None:
            self.calls.enter(name, part)

        return enter


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
    given: Mapping[str, Any], module: Any, inputs: Any, arguments: list[tuple[str, str]], saved: SavedMaps,
    tokenizer: Any,
) -> Table:
    batches = batches_of(module, inputs)
    tensors = [array for batch in batches for array in tensors_of(batch).values()]
    if not tensors:
        raise UsageTypeError('inputs: contain no tensors: call the tokenizer with return_tensors="pt"')
    meter = Meter(
        arguments,
        "inputs",
        _facts_of(module, given["name"]),
        sum(int(next(iter(tensors_of(batch).values())).shape[0]) for batch in batches),
        hash_of(as_numpy(array) for array in tensors),
        saved,
    )
    saved.start(tensors_of(batches[0]), tokenizer)
    watch = Watch(module, meter, given["sinks"])
    with eager(module), watch.watching():
        left = not_eager(module)
        for batch in batches:
            watch.start(batch)
            call(module, batch)
            meter.notes += [note for note in watch.padding.notes() if note not in meter.notes]
    meter.notes += watch.calls.notes
    if not meter.has_maps:
        raise _no_maps(module, left)
    table = meter.table()
    if given["maps"]:
        table.arrays.update(saved.arrays())
        table.tokens = saved.texts()
    table._maps_of = lambda _layer: saved.view(str(table.models[0]["name"]))
    return table


def _no_maps(module: Any, kinds: list[str]) -> Exception:
    kind = type(module).__name__
    problem = f"{kind} returned no attention maps"
    hint = (
        "one of its submodules must return its output and maps (N, H, T, S), or call PyTorch's "
        "scaled_dot_product_attention"
    )
    if kinds:
        problem = f"{kind} computes attention with {' and '.join(kinds)}, which returns no maps"
        hint = 'call model.set_attn_implementation("eager"), or pass attn_implementation="eager" to from_pretrained'
    return error_of("unsupported", f"{problem} ({hint})", {"problem": problem, "hint": hint})
